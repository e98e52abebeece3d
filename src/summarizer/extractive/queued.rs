//! Words of the user that are not messages: what was typed while the agent was working.
//!
//! Claude Code records such words when they are queued, and sends them as an attachment or in a way that it does not record. A message
//! with the same words counts as the same.

use std::cell::OnceCell;

use super::gather::Gather;
use super::names::hash;
use super::requests;
use crate::facts::{block_text, queued_on, queued_pictures};
use crate::ids::IdSet;
use crate::scan::{Kind, Value};
use crate::transcript::{Block, BlockKind, Role, Transcript};

/// Adds the words queued on the lines of the span; in the main conversation also those queued after it that no message of the user
/// repeats, since no reader of the kept messages sees them.
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
    let end = match transcript.conversations.first() {
        Some(main) if std::ptr::eq(main, conversation) => u32::MAX,
        Some(_) | None => *last,
    };
    let repeated = OnceCell::new();
    for (line, text) in queued_on(transcript, *first..=end) {
        let repeated = || repeated.get_or_init(|| words_after(gather));
        if line > *last && repeated().contains(&hash(text.trim())) {
            continue;
        }
        let before = lines
            .partition_point(|other| *other < line)
            .saturating_sub(1);
        let message = gather.span.start + before;
        add(gather, &text, message as u32, line);
    }
}

/// The hashes of the user's words in messages after the span.
fn words_after(gather: &Gather<'_, '_>) -> IdSet<u64> {
    let (transcript, conversation) = (gather.transcript, gather.conversation);
    let mut words = IdSet::default();
    let mut note = |text: &str| {
        words.insert(hash(text.trim()));
    };
    for message in &conversation.messages[gather.span.end..] {
        for block in conversation.blocks(message) {
            let block = transcript.block(*block);
            match block.kind {
                BlockKind::Text if message.role == Role::User => {
                    note(&block_text(transcript, block))
                }
                BlockKind::Attachment => each_prompt(transcript, block, &mut note),
                BlockKind::Text
                | BlockKind::Call
                | BlockKind::Result
                | BlockKind::Image
                | BlockKind::Document
                | BlockKind::Thinking
                | BlockKind::Redacted
                | BlockKind::Server
                | BlockKind::Other => {}
            }
        }
    }
    words
}

/// Adds the user's words in an attachment.
pub(super) fn attached(gather: &mut Gather<'_, '_>, message: u32, block: &Block) {
    let transcript = gather.transcript;
    let mut is_queued = false;
    each_prompt(transcript, block, &mut |text| {
        is_queued = true;
        add(gather, text, message, block.line);
    });
    if is_queued {
        let pictures = queued_pictures(transcript, block);
        requests::describe(gather, &pictures, message, block.line);
    }
}

/// Calls `found` with each text of a queued command that an attachment holds.
fn each_prompt(transcript: &Transcript<'_>, block: &Block, found: &mut impl FnMut(&str)) {
    let bytes = transcript.bytes(block.line, block.content);
    let [kind, prompt] = Value::of(bytes).fields(["type", "prompt"]);
    if kind.string() != Some(b"queued_command") {
        return;
    }
    // Plain words, or the blocks of a message.
    match prompt.kind() {
        Some(Kind::Array) => prompt.elements(|part| {
            let [text] = strings(part.raw(), ["text"]);
            found(&text);
        }),
        _ => found(&text_of(prompt)),
    }
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
