//! A transcript becomes the sessions that were lived in it: for each, its messages in order, a plain line each.
//!
//! Recorded compactions are gone over: a policy that is replayed makes its own. Message objects (of unit formats) and
//! content blocks (of Claude Code) are copied byte for byte; several lines of one answer are one message. What the agent
//! sent along by itself becomes a user message in the reminder's tags that the agents put around it, behind the results of
//! the same request, where they send it. Nothing is decided here, and nothing is counted.

use crate::facts;
use crate::format::Format;
use crate::scan::{Cursor, Kind, RawLine, Span, lines};
use crate::text::push_json_string;
use crate::transcript::{
    BlockKind, Conversation, ConversationId, Marks, Message, Outcome, Role, Shape, Transcript,
    Typed,
};

/// A session as it was lived.
#[derive(Debug)]
pub struct Recording {
    /// `main`, a sidechain's id, or `line:7`.
    pub id: String,
    /// The format of the plain lines.
    pub format: Format,
    /// The plain lines, a message each.
    pub bytes: Vec<u8>,
    /// The messages, in their order.
    pub messages: Vec<Recorded>,
}

/// A message of a recording.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recorded {
    /// The line of the transcript on which it begins, from 1 in its file.
    pub line: u64,
    /// Whether a person wrote it.
    pub typed: Typed,
    /// Whether it answers a request.
    pub answers: Answers,
    /// Its plain line.
    pub(super) raw: RawLine,
}

/// Whether a message answers a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answers {
    /// A model gave it.
    Yes,
    /// Nobody was asked: it is no answer, or the agent made it up.
    No,
}

/// The sessions of a transcript that have messages. `line` is its number (from 1) where it is one line of a
/// conversation-per-line file, and `first_line` that of its first line in its file.
pub fn recordings(
    format: Format,
    transcript: &Transcript<'_>,
    first_line: u64,
    line: Option<u64>,
) -> Vec<Recording> {
    let conversations = format.lived(transcript);
    let lived = conversations.iter().filter(|c| !c.messages.is_empty());
    lived
        .map(|conversation| {
            let id = match line {
                Some(line) => ConversationId::Line(line).to_string(),
                None => conversation.id.to_string(),
            };
            let plain = match format {
                Format::Anthropic | Format::ClaudeCode | Format::Codex => Format::Anthropic,
                Format::OpenAi => Format::OpenAi,
            };
            let messages = in_order(transcript, conversation);
            let mut bytes = Vec::new();
            for message in &messages {
                push(format, transcript, conversation, message, &mut bytes);
                bytes.push(b'\n');
            }
            let raws: Vec<RawLine> = lines(&bytes).collect();
            let recorded = messages.iter().zip(raws).map(|(message, raw)| Recorded {
                line: u64::from(conversation.first_line(message)) + first_line,
                typed: message.typed,
                answers: answers(transcript, conversation, message),
                raw,
            });
            Recording {
                id,
                format: plain,
                messages: recorded.collect(),
                bytes,
            }
        })
        .collect()
}

impl Recording {
    /// The numbers (from 0) of the answers that were asked for.
    pub(super) fn answers(&self) -> impl Iterator<Item = usize> + '_ {
        let messages = self.messages.iter().enumerate();
        messages
            .filter(|(_, message)| message.answers == Answers::Yes)
            .map(|(number, _)| number)
    }
}

/// The messages in the order in which they were sent: results come before what the agent put beside them.
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
    let is_made_up = link.is_some_and(|link| link.marks.has(Marks::UNASKED));
    if message.role == Role::Assistant && !is_made_up {
        Answers::Yes
    } else {
        Answers::No
    }
}

/// Writes a message as a plain line.
fn push(
    format: Format,
    transcript: &Transcript<'_>,
    conversation: &Conversation,
    message: &Message,
    out: &mut Vec<u8>,
) {
    let lines = conversation.lines(message);
    match format {
        Format::Anthropic | Format::OpenAi => {
            out.extend_from_slice(transcript.bytes(lines[0], message.object));
        }
        Format::Codex => items(transcript, conversation, message, out),
        Format::ClaudeCode => {
            out.extend_from_slice(br#"{"role":"#);
            push_json_string(out, message.role.name());
            out.extend_from_slice(br#","content":"#);
            contents(transcript, conversation, message, out);
            let blocks = conversation.blocks(message);
            if message.typed == Typed::No && transcript.is_typed(message.role, blocks) == Typed::Yes
            {
                out.extend_from_slice(br#","isMeta":true"#);
            }
            let last = lines.last().filter(|_| message.role == Role::Assistant);
            let line = last.map_or(&b""[..], |line| transcript.line(*line));
            let stop = stop_reason(line);
            if !stop.is_empty() {
                let stop = stop.of(line);
                out.extend_from_slice(&[br#","stop_reason":""#, stop, b"\""].concat());
            }
            out.push(b'}');
        }
    }
}

/// Writes items of the Responses API as the message that says the same.
fn items(
    transcript: &Transcript<'_>,
    conversation: &Conversation,
    message: &Message,
    out: &mut Vec<u8>,
) {
    let blocks = conversation.blocks(message);
    // Results stand in the user's messages here.
    let role = match message.role {
        Role::Assistant => Role::Assistant,
        Role::User | Role::Tool | Role::System => Role::User,
    };
    out.extend_from_slice(br#"{"role":"#);
    push_json_string(out, role.name());
    out.extend_from_slice(br#","content":["#);
    for (n, block) in blocks.iter().enumerate() {
        if n > 0 {
            out.push(b',');
        }
        let block = transcript.block(*block);
        let bytes = |span: Span| transcript.bytes(block.line, span);
        let id = bytes(block.call_id);
        match block.kind {
            BlockKind::Text => {
                out.extend_from_slice(br#"{"type":"text","text":"#);
                push_json_string(out, &facts::said(transcript, block));
                out.push(b'}');
            }
            BlockKind::Image | BlockKind::Document => {
                let kind = if block.kind == BlockKind::Image {
                    "image"
                } else {
                    "document"
                };
                out.extend_from_slice(format!("{{\"type\":\"{kind}\",\"source\":").as_bytes());
                out.extend_from_slice(&[bytes(block.value), b"}"].concat());
            }
            BlockKind::Thinking => {
                out.extend_from_slice(br#"{"type":"thinking","thinking":"#);
                push_json_string(out, &facts::said(transcript, block));
                out.extend_from_slice(br#","signature":"-"}"#);
            }
            BlockKind::Call => {
                out.extend_from_slice(&[br#"{"type":"tool_use","id":""#, id].concat());
                let (name, input) = (bytes(block.tool), bytes(block.content));
                let input = if input.is_empty() { b"null" } else { input };
                out.extend_from_slice(&[br#"","name":""#, name, br#"","input":"#].concat());
                out.extend_from_slice(&[input, b"}"].concat());
            }
            BlockKind::Result => {
                let content = bytes(block.content);
                out.extend_from_slice(&[br#"{"type":"tool_result","tool_use_id":""#, id].concat());
                out.extend_from_slice(&[br#"","content":"#, content].concat());
                let is_error = block.outcome == Outcome::Failed;
                out.extend_from_slice(format!(",\"is_error\":{is_error}}}").as_bytes());
            }
            BlockKind::Redacted | BlockKind::Server | BlockKind::Attachment | BlockKind::Other => {
                out.extend_from_slice(bytes(block.value))
            }
        }
    }
    out.push(b']');
    if message.typed == Typed::No && transcript.is_typed(message.role, blocks) == Typed::Yes {
        out.extend_from_slice(br#","isMeta":true"#);
    }
    out.push(b'}');
}

/// A message's content: a string where it is one, else its blocks.
fn contents(
    transcript: &Transcript<'_>,
    conversation: &Conversation,
    message: &Message,
    out: &mut Vec<u8>,
) {
    let blocks = conversation.blocks(message);
    let is_bare = |number: u32| {
        let block = transcript.block(number);
        block.kind == BlockKind::Text
            && block.shape == Shape::String
            && block.value == block.content
    };
    if let [only] = blocks
        && is_bare(*only)
    {
        let block = transcript.block(*only);
        out.extend_from_slice(transcript.bytes(block.line, block.value));
        return;
    }
    out.push(b'[');
    for (n, number) in blocks.iter().enumerate() {
        if n > 0 {
            out.push(b',');
        }
        let block = transcript.block(*number);
        let value = transcript.bytes(block.line, block.value);
        if block.kind == BlockKind::Attachment {
            let reminder = format!(
                "<system-reminder>\n{}\n</system-reminder>",
                String::from_utf8_lossy(value)
            );
            out.extend_from_slice(br#"{"type":"text","text":"#);
            push_json_string(out, &reminder);
            out.push(b'}');
        } else if is_bare(*number) {
            out.extend_from_slice(br#"{"type":"text","text":"#);
            out.extend_from_slice(value);
            out.push(b'}');
        } else {
            out.extend_from_slice(value);
        }
    }
    out.push(b']');
}

/// Why the answer of a session line ended.
fn stop_reason(line: &[u8]) -> Span {
    let mut reason = Span::default();
    let read = Cursor::new(line).object(|key, c| {
        match (key, c.kind()?) {
            (b"message", Kind::Object) => drop(c.object(|key, c| {
                match (key, c.kind()?) {
                    (b"stop_reason", Kind::String) => reason = c.string()?.span,
                    _ => drop(c.skip()?),
                }
                Ok(())
            })?),
            _ => drop(c.skip()?),
        }
        Ok(())
    });
    // The line was read before; should it fail all the same, nothing is said.
    read.map_or(Span::default(), |_| reason)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::Warnings;

    /// The plain lines of each session, with the line of its first message and what is said about each message: `t`yped,
    /// `a`nswer.
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
