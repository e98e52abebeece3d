//! The tokens that a provider counted for a request, and the model that answers; the agent records both beside the answer.

use crate::format::finish;
use crate::scan::Value;
use crate::transcript::{Conversation, LineKind, Message, Transcript};

/// The tokens of the request that `answer` answers: the last count before it, after the message before it.
pub(super) fn recorded(
    transcript: &Transcript<'_>,
    conversation: &Conversation,
    answer: &Message,
) -> Option<u64> {
    let first = conversation.first_line(answer);
    let is_message = |line: &u32| transcript.lines()[*line as usize].kind == LineKind::Message;
    let agent = |line: u32| {
        let link = &transcript.links()[line as usize];
        link.is_sidechain
            .then(|| transcript.bytes(line, link.message))
    };
    let mut before = (0..first).rev().take_while(|line| !is_message(line));
    before.find_map(|line| {
        let bytes = transcript.line(line);
        memchr::memmem::find(bytes, b"\"session.usage_record\"")?;
        if agent(line) != agent(first) {
            return None;
        }
        let [kind, data] = Value::of(bytes).fields(["type", "data"]);
        let is_count = kind.string() == Some(b"session.usage_record");
        let tokens = data.within(&["usage", "inputTokens"]).number()?;
        is_count.then_some(tokens)
    })
}

/// The model that was last chosen before a line.
pub(super) fn model_before(transcript: &Transcript<'_>, line: u32) -> Option<String> {
    let chosen = |line: u32| {
        let bytes = transcript.line(line);
        let link = transcript.links().get(line as usize)?;
        if link.is_sidechain || transcript.lines()[line as usize].kind != LineKind::Session {
            return None;
        }
        let [kind, data] = Value::of(bytes).fields(["type", "data"]);
        let name = match kind.string()? {
            b"session.model_change" => data.field("newModel"),
            b"session.start" | b"session.resume" => data.field("selectedModel"),
            _ => return None,
        };
        finish::string_of(name)
    };
    (0..line).rev().find_map(chosen)
}
