//! The conversation as text for a model that summarises it, in rounds.
//!
//! PURE. If the text has to be shortened, whole rounds are left out: a user message, or an answer with the results of its calls.
//! Reasoning is omitted, since it is not part of the visible conversation; an image becomes a note.

use std::borrow::Cow;
use std::ops::Range;

use super::input::ascii_json;
use crate::facts::{block_text, exchanges};
use crate::ids::IdMap;
use crate::policy::{Input, Policy};
use crate::scan::unescape;
use crate::transcript::{
    Author, Block, BlockKind, Conversation, Message, Outcome, Role, Transcript,
};

/// Turns a round into the first one of a text: a JSON list begins with its bracket.
pub fn begun(round: &str) -> Cow<'_, str> {
    match round.strip_prefix(", ") {
        Some(rest) => Cow::Owned(format!("[{rest}")),
        None => Cow::Borrowed(round),
    }
}

/// The messages `span` of a conversation in the policy's input format; the oldest round first.
pub fn rounds(
    policy: &Policy,
    transcript: &Transcript<'_>,
    conversation: &Conversation,
    span: Range<usize>,
) -> Vec<String> {
    let messages = &conversation.messages[span];
    let messages = messages.iter().filter(|m| m.role != Role::System);
    let mut rounds: Vec<String> = Vec::new();
    match policy.summary.input {
        Input::AsciiJson => {
            for message in messages {
                let between = if rounds.is_empty() { "[" } else { ", " };
                let json = ascii_json(transcript, conversation, message);
                push(
                    &mut rounds,
                    starts(transcript, conversation, message),
                    between,
                    &json,
                );
            }
            if let Some(last) = rounds.last_mut() {
                last.push(']');
            }
        }
        Input::Blocks => {
            rounds = in_blocks(policy, transcript, conversation, messages);
        }
    }
    rounds
}

/// The whole text of a conversation, for looking up the names of a summary.
pub fn record(
    policy: &Policy,
    transcript: &Transcript<'_>,
    conversation: &Conversation,
) -> Vec<String> {
    in_blocks(
        policy,
        transcript,
        conversation,
        conversation.messages.iter(),
    )
}

fn in_blocks<'m>(
    policy: &Policy,
    transcript: &Transcript<'_>,
    conversation: &Conversation,
    messages: impl Iterator<Item = &'m Message>,
) -> Vec<String> {
    let mut rounds = Vec::new();
    let tools = tools(policy, transcript, conversation);
    for message in messages {
        let text = labelled(transcript, conversation, message, &tools);
        if !text.is_empty() {
            let starts = starts(transcript, conversation, message);
            push(&mut rounds, starts, "", &text);
        }
    }
    rounds
}

/// The tools of a conversation's results, keyed by block.
pub(super) fn tools(
    policy: &Policy,
    transcript: &Transcript<'_>,
    conversation: &Conversation,
) -> IdMap<u32, String> {
    let mut tools = IdMap::default();
    for exchange in exchanges(transcript, conversation, &policy.tools) {
        if let Some(result) = exchange.result {
            tools.insert(result.block, exchange.tool(transcript).into_owned());
        }
    }
    tools
}

/// Whether a message begins a round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Starts {
    Round,
    Nothing,
}

/// Whether a message starts a round. Results belong to the round of the answer with their calls.
pub(super) fn starts(
    transcript: &Transcript<'_>,
    conversation: &Conversation,
    message: &Message,
) -> Starts {
    let mut blocks = conversation.blocks(message).iter();
    let is_result = |block: &u32| transcript.block(*block).kind == BlockKind::Result;
    match message.role {
        Role::Tool => Starts::Nothing,
        Role::User if blocks.any(is_result) => Starts::Nothing,
        Role::User | Role::Assistant | Role::System => Starts::Round,
    }
}

pub(super) fn push(rounds: &mut Vec<String>, starts: Starts, between: &str, text: &str) {
    match rounds.last_mut() {
        Some(last) if starts == Starts::Nothing => {
            last.push_str(between);
            last.push_str(text);
        }
        Some(_) | None => rounds.push(format!("{between}{text}")),
    }
}

/// The blocks of a message as text, each under a label; empty if there is nothing to show.
fn labelled(
    transcript: &Transcript<'_>,
    conversation: &Conversation,
    message: &Message,
    tools: &IdMap<u32, String>,
) -> String {
    let mut out = String::new();
    for number in conversation.blocks(message) {
        if let Some(Told { label, text }) = told(transcript, message, *number, tools) {
            write(&mut out, &label, &text, transcript.block(*number));
        }
    }
    out
}

/// A block as text.
pub(super) struct Told<'t> {
    pub(super) label: String,
    pub(super) text: Cow<'t, str>,
}

/// Appends the text of a block, or its placeholder, under a label.
pub(super) fn write(out: &mut String, label: &str, text: &str, block: &Block) {
    out.push_str(&format!("[{}]\n", label.trim_end()));
    out.push_str(text.trim());
    if block.kind == BlockKind::Result && block.images > 0 {
        out.push_str("\n[image]");
    }
    out.push_str("\n\n");
}

/// A block as text; `None` for reasoning and for blank text.
pub(super) fn told<'t>(
    transcript: &'t Transcript<'_>,
    message: &Message,
    number: u32,
    tools: &IdMap<u32, String>,
) -> Option<Told<'t>> {
    let block = transcript.block(number);
    let (label, text) = match block.kind {
        BlockKind::Text if block.author == Author::Program => {
            ("attached".to_owned(), block_text(transcript, block))
        }
        BlockKind::Text => (
            message.role.name().to_owned(),
            block_text(transcript, block),
        ),
        BlockKind::Attachment => ("attached".to_owned(), block_text(transcript, block)),
        BlockKind::Call => {
            let tool = lossy(transcript, block, block.tool);
            (
                format!("call {tool}"),
                lossy(transcript, block, block.content).into(),
            )
        }
        BlockKind::Result => {
            let tool = tools.get(&number).map_or("", String::as_str);
            let failed = match block.outcome {
                Outcome::Fine => "",
                Outcome::Failed => ", failed",
            };
            (
                format!("result {tool}{failed}"),
                block_text(transcript, block),
            )
        }
        BlockKind::Image => ("image".to_owned(), "".into()),
        BlockKind::Document => ("document".to_owned(), "".into()),
        BlockKind::Thinking | BlockKind::Redacted => return None,
        BlockKind::Server | BlockKind::Other => (
            "other".to_owned(),
            lossy(transcript, block, block.value).into(),
        ),
    };
    let says_nothing = block.kind == BlockKind::Text && text.trim().is_empty();
    (!says_nothing).then_some(Told { label, text })
}

fn lossy(transcript: &Transcript<'_>, block: &Block, span: crate::scan::Span) -> String {
    let bytes = transcript.bytes(block.line, span);
    // A call's input is a JSON object, kept as it is, or a quoted JSON string; other values are the contents of a string.
    let bytes = match bytes {
        [b'{', ..] => bytes.into(),
        [b'"', inside @ .., b'"'] => unescape(inside),
        inside => unescape(inside),
    };
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The first `chars` characters of rounds, 0 meaning all, and how many rounds are not in them as a whole.
pub fn clipped(mut rounds: Vec<String>, chars: u64) -> (Vec<String>, u64) {
    if chars == 0 {
        return (rounds, 0);
    }
    let all = rounds.len();
    let mut left = usize::try_from(chars).unwrap_or(usize::MAX);
    let mut whole = 0;
    for round in &mut rounds {
        match round.char_indices().nth(left) {
            Some((end, _)) => {
                round.truncate(end);
                left = 0;
            }
            None => {
                left -= round.chars().count();
                whole += 1;
            }
        }
    }
    rounds.retain(|round| !round.is_empty());
    (rounds, (all - whole) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::{Format, Warnings};
    use crate::policy::preset;

    const SESSION: &str = concat!(
        r#"{"role":"user","content":"fix it"}"#,
        "\n",
        r#"{"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"s"},{"type":"text","text":"I look."},{"type":"tool_use","id":"1","name":"Bash","input":{"command":"ls \"a\""}}]}"#,
        "\n",
        r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"1","content":"b\nc","is_error":true}]}"#,
        "\n",
        r#"{"role":"assistant","content":"done é"}"#,
        "\n",
    );

    fn read(policy: &Policy) -> Vec<String> {
        let transcript = Format::Anthropic.read(SESSION.as_bytes(), 1, &mut Warnings::default());
        rounds(policy, &transcript, &transcript.conversations[0], 0..4)
    }

    #[test]
    fn an_answer_goes_with_its_results_and_reasoning_is_left_out() {
        let expected = [
            "[user]\nfix it\n\n",
            "[assistant]\nI look.\n\n[call Bash]\n{\"command\":\"ls \\\"a\\\"\"}\n\n[result Bash, failed]\nb\nc\n\n",
            "[assistant]\ndone é\n\n",
        ];
        assert_eq!(read(&preset("auto").unwrap()), expected);
    }

    #[test]
    fn the_arguments_of_a_call_are_given_as_the_model_wrote_them() {
        let call = r#"{"role":"assistant","content":null,"tool_calls":[{"id":"1","type":"function","function":{"name":"read","arguments":"{\"path\": \"a \\\"b\\\".rs\"}"}}]}"#;
        let transcript = Format::OpenAi.read(call.as_bytes(), 1, &mut Warnings::default());
        let policy = preset("auto").unwrap();
        let told = rounds(&policy, &transcript, &transcript.conversations[0], 0..1);
        assert_eq!(told, ["[call read]\n{\"path\": \"a \\\"b\\\".rs\"}\n\n"]);
    }

    #[test]
    fn what_is_beyond_the_first_characters_is_counted() {
        let rounds = read(&preset("auto").unwrap());
        let all = rounds.len() as u64;
        let user = "[user]\nfix it\n\n".to_owned();
        let clipped = |chars| clipped(rounds.clone(), chars);
        assert_eq!(clipped(18), (vec![user.clone(), "[as".to_owned()], all - 1));
        assert_eq!(clipped(15), (vec![user], all - 1));
        assert_eq!(clipped(0), (rounds.clone(), 0));
        assert_eq!(clipped(1_000_000), (rounds.clone(), 0));
    }

    #[test]
    fn json_input_is_one_list() {
        let policy = preset("reset").unwrap();
        let whole = read(&policy).concat();
        assert!(
            whole.starts_with(r#"[{"role": "user", "content": "fix it"}, {"role": "assistant""#)
        );
        assert!(
            whole.ends_with(r#", {"role": "assistant", "content": "done \u00e9"}]"#),
            "{whole}"
        );
    }
}
