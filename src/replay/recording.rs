//! The sessions that a transcript recorded: the messages of each in order, one plain line for each message.
//!
//! Skips recorded compactions: the replayed policy makes its own. Results come before other content of the same message, in the
//! order in which the agent sends them. Decides and counts nothing.

use super::plain;
use crate::format::{Format, Plain};
use crate::scan::{RawLine, lines};
use crate::text::put_on_one_line;
use crate::transcript::{
    Answer, BlockKind, Conversation, ConversationId, Message, Role, Transcript, Typed,
};

/// A recorded session.
#[derive(Debug)]
pub struct Recording {
    /// `main`, a sidechain's id, or `line:7`.
    pub id: String,
    /// The format of the plain lines.
    pub format: Format,
    /// The plain lines, one per message.
    pub bytes: Vec<u8>,
    /// The messages in order.
    pub messages: Vec<Recorded>,
}

/// A recorded message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recorded {
    /// The line of the transcript on which it begins, from 1 in its file.
    pub line: u64,
    /// Whether a person wrote it, so that it begins a turn; a picture and adjacent words are one message.
    pub typed: Typed,
    /// Whether it answers a request.
    pub answers: Answers,
    /// Its plain line.
    pub(super) raw: RawLine,
}

/// Whether a message answers a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answers {
    /// A model wrote it.
    Yes,
    /// No request was sent: it is not an answer, or the agent wrote it itself.
    No,
}

/// The sessions of a transcript, without empty ones. `line` is its number (from 1) if it is one line of a
/// conversation-per-line file; `first_line` is the number of its first line in the file.
pub fn recordings(
    format: Format,
    transcript: &Transcript<'_>,
    first_line: u64,
    line: Option<u64>,
) -> Vec<Recording> {
    let dialect = format.dialect();
    let format = match dialect.plain() {
        Plain::Objects(format) => format,
        Plain::Blocks | Plain::Other => Format::Anthropic,
    };
    let conversations = dialect.full_history(transcript);
    let with_messages = conversations.iter().filter(|c| !c.messages.is_empty());
    with_messages
        .map(|conversation| {
            let id = match line {
                Some(line) => ConversationId::Line(line).to_string(),
                None => conversation.id.to_string(),
            };
            let messages = in_order(transcript, conversation);
            let mut bytes = Vec::new();
            for message in &messages {
                let begins = bytes.len();
                plain::push(dialect, transcript, conversation, message, &mut bytes);
                // In a document, a value may span several lines.
                put_on_one_line(&mut bytes[begins..]);
                bytes.push(b'\n');
            }
            let raws: Vec<RawLine> = lines(&bytes).collect();
            let before = std::iter::once(None).chain(messages.iter().map(Some));
            let recorded = messages.iter().zip(before).zip(raws);
            let recorded = recorded.map(|((message, before), raw)| Recorded {
                line: u64::from(conversation.first_line(message)) + first_line,
                typed: match transcript.begins_turn_after(conversation, before, message) {
                    true => Typed::Yes,
                    false => Typed::No,
                },
                answers: answers(transcript, conversation, message),
                raw,
            });
            Recording {
                id,
                format,
                messages: recorded.collect(),
                bytes,
            }
        })
        .collect()
}

impl Recording {
    /// The numbers (from 0) of the messages that answer requests.
    pub(super) fn answers(&self) -> impl Iterator<Item = usize> + '_ {
        let messages = self.messages.iter().enumerate();
        messages
            .filter(|(_, message)| message.answers == Answers::Yes)
            .map(|(number, _)| number)
    }
}

/// The messages in the order in which they were sent: results come before other content.
fn in_order(transcript: &Transcript<'_>, conversation: &Conversation) -> Vec<Message> {
    let all_are = |message: &Message, kind: BlockKind| {
        let mut blocks = conversation.blocks(message).iter();
        blocks.len() > 0 && blocks.all(|block| transcript.block(*block).kind == kind)
    };
    let mut messages: Vec<Message> = Vec::with_capacity(conversation.messages.len());
    for message in &conversation.messages {
        let beside = |message: &&Message| all_are(message, BlockKind::Attachment);
        let passed = match all_are(message, BlockKind::Result) {
            true => messages.iter().rev().take_while(beside).count(),
            false => 0,
        };
        messages.insert(messages.len() - passed, *message);
    }
    messages
}

fn answers(transcript: &Transcript<'_>, conversation: &Conversation, message: &Message) -> Answers {
    let link = transcript
        .links()
        .get(conversation.first_line(message) as usize);
    let is_made_up = link.is_some_and(|link| link.answer != Answer::Given);
    if message.role == Role::Assistant && !is_made_up {
        Answers::Yes
    } else {
        Answers::No
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::Warnings;

    /// The plain lines of each session, with the line of its first message and a letter for each message: `t`yped, `a`nswer.
    fn plain(format: Format, text: &str, line: Option<u64>) -> Vec<(String, String, String)> {
        let transcript = format.read(text.as_bytes(), 1, &mut Warnings::default());
        let recordings = recordings(format, &transcript, 1, line).into_iter();
        recordings
            .map(|recording| {
                let mark = |message: &Recorded| match (message.typed, message.answers) {
                    (Typed::Yes, _) => format!("{}t", message.line),
                    (Typed::No, Answers::Yes) => format!("{}a", message.line),
                    (Typed::No, Answers::No) => format!("{}", message.line),
                };
                let marks: Vec<String> = recording.messages.iter().map(mark).collect();
                let bytes = String::from_utf8(recording.bytes).unwrap();
                (recording.id, bytes, marks.join(" "))
            })
            .collect()
    }

    #[test]
    fn values_of_several_lines_are_put_on_one() {
        let text = r#"{"info":{"id":"s"},"messages":[
{"info":{"id":"1","role":"user"},"parts":[{"type":"text","text":"go"}]},
{"info":{"id":"2","role":"assistant","parentID":"1"},"parts":[{"type":"tool","tool":"bash","callID":"c","state":{"status":"completed","input":{
  "command": "ls"
},"output":"a"}}]}]}"#;
        let expected = [
            r#"{"role":"user","content":[{"type":"text","text":"go"}]}"#,
            r#"{"role":"assistant","content":[{"type":"tool_use","id":"c","name":"bash","input":{   "command": "ls" }}]}"#,
            r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"c","content":"a"}]}"#,
        ];
        let expected = expected.map(|line| format!("{line}\n")).concat();
        assert_eq!(
            plain(Format::OpenCode, text, None),
            [("main".to_owned(), expected, "2t 3a 3".to_owned())]
        );
    }

    #[test]
    fn objects_are_copied_as_they_stand() {
        let text = r#"{"id":7,"messages":[ {"role":"user" ,"content":"\u0041"},{"role":"assistant","content":null,"x":1e2}]}"#;
        let expected = "{\"role\":\"user\" ,\"content\":\"\\u0041\"}\n{\"role\":\"assistant\",\"content\":null,\"x\":1e2}\n";
        assert_eq!(
            plain(Format::OpenAi, text, Some(7)),
            [("line:7".to_owned(), expected.to_owned(), "1t 1a".to_owned())]
        );
    }

    #[test]
    fn the_lines_of_an_answer_are_one_message_and_reminders_come_behind_results() {
        let line = |id: &str, parent: &str, rest: &str| {
            let parent = match parent {
                "" => "null".to_owned(),
                parent => format!("\"{parent}\""),
            };
            format!("{{\"uuid\":\"{id}\",\"parentUuid\":{parent},\"isSidechain\":false,{rest}}}\n")
        };
        let answer = |id: &str, block: &str| {
            format!(
                "\"type\":\"assistant\",\"message\":{{\"id\":\"{id}\",\"role\":\"assistant\",\"content\":[{block}],\"stop_reason\":\"tool_use\"}}"
            )
        };
        let text = line(
            "u",
            "",
            r#""type":"user","message":{"role":"user","content":"go"}"#,
        ) + &line(
            "m",
            "u",
            r#""type":"user","isMeta":true,"message":{"role":"user","content":"by itself"}"#,
        ) + &line("a", "m", &answer("1", r#"{"type":"text", "text":"so"}"#))
            + &line(
                "b",
                "a",
                &answer(
                    "1",
                    r#"{"type":"tool_use","id":"c","name":"Bash","input":{ }}"#,
                ),
            )
            + &line(
                "f",
                "b",
                r#""type":"attachment","attachment":{"type":"file","x":"\"y"}"#,
            )
            + &line(
                "r",
                "f",
                r#""type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"c","content":"z"}]}"#,
            )
            + &line(
                "e",
                "r",
                r#""type":"assistant","isApiErrorMessage":true,"message":{"id":"2","role":"assistant","content":"no"}"#,
            );
        let expected = [
            r#"{"role":"user","content":"go"}"#,
            r#"{"role":"user","content":"by itself","isMeta":true}"#,
            r#"{"role":"assistant","content":[{"type":"text", "text":"so"},{"type":"tool_use","id":"c","name":"Bash","input":{ }}],"stop_reason":"tool_use"}"#,
            r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"c","content":"z"}]}"#,
            r#"{"role":"user","content":[{"type":"text","text":"<system-reminder>\n{\"type\":\"file\",\"x\":\"\\\"y\"}\n</system-reminder>"}]}"#,
            r#"{"role":"assistant","content":"no"}"#,
        ];
        let expected = expected.map(|line| format!("{line}\n")).concat();
        assert_eq!(
            plain(Format::ClaudeCode, &text, None),
            [("main".to_owned(), expected, "1t 2 3a 6 5 7".to_owned())]
        );
    }
}
