//! Words of the user that are not messages: what was typed while the agent was working.
//!
//! Claude Code records such words when they are queued, and sends them as an attachment or not at all. A message with the same
//! words counts as the same.

use super::gather::Gather;
use super::requests;
use crate::facts::{queued_on, queued_pictures};
use crate::scan::{Kind, Value};
use crate::transcript::Block;

/// Adds the words queued on the lines of the span.
pub(super) fn gather(gather: &mut Gather<'_, '_>) {
    let (transcript, conversation) = (gather.transcript, gather.conversation);
    let messages = &conversation.messages[gather.span.clone()];
    if transcript.links().is_empty() || messages.is_empty() {
        return;
    }
    let lines: Vec<u32> = messages
        .iter()
        .map(|m| conversation.first_line(m))
        .collect();
    let (Some(first), Some(last)) = (lines.iter().min(), lines.iter().max()) else {
        return;
    };
    for (line, text) in queued_on(transcript, *first..=*last) {
        let before = lines
            .partition_point(|other| *other < line)
            .saturating_sub(1);
        let message = gather.span.start + before;
        add(gather, &text, message as u32, line);
    }
}

/// Adds the user's words in an attachment.
pub(super) fn attached(gather: &mut Gather<'_, '_>, message: u32, block: &Block) {
    let bytes = gather.transcript.bytes(block.line, block.content);
    let [kind, prompt] = Value::of(bytes).fields(["type", "prompt"]);
    if kind.string() != Some(b"queued_command") {
        return;
    }
    // Plain words, or the blocks of a message.
    match prompt.kind() {
        Some(Kind::Array) => prompt.elements(|part| {
            let [text] = strings(part.raw(), ["text"]);
            add(gather, &text, message, block.line);
        }),
        _ => add(gather, &text_of(prompt), message, block.line),
    }
    let pictures = queued_pictures(gather.transcript, block);
    requests::describe(gather, &pictures, message, block.line);
}

fn add(gather: &mut Gather<'_, '_>, text: &str, message: u32, line: u32) {
    if is_event(text) {
        return;
    }
    // Notices of the agent itself are queued too.
    if text.trim_start().starts_with('<') {
        requests::add_echo(gather, text, message, line);
    } else {
        requests::add_once(gather, text, message, line);
    }
}

/// Whether a text is an event of a background task: some versions queue it as an object.
fn is_event(text: &str) -> bool {
    let ids = || strings(text.trim().as_bytes(), ["task_id", "task_type"]);
    text.starts_with('{') && ids().iter().all(|id| !id.is_empty())
}

/// The strings under `keys` of an object; empty if there is none.
fn strings<const N: usize>(raw: &[u8], keys: [&str; N]) -> [String; N] {
    Value::of(raw).fields(keys).map(text_of)
}

/// The text of a string; empty for anything else.
fn text_of(value: Value<'_>) -> String {
    let text = value.unescaped().unwrap_or_default();
    String::from_utf8_lossy(&text).into_owned()
}
