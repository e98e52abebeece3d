//! The tokens that a provider counted for the last answer of a conversation, and what it would count now.
//!
//! Agents immediately compact again when this figure shows that the window is full, and a compaction makes the figure wrong. So it
//! is reduced by the share of the window that was removed: first the tokens read from a cache, then those written to one, then the
//! rest.

use crate::format::usage::{Share, lowered};
use crate::scan::Value;
use crate::transcript::{Answer, Conversation, Replace, Role, Transcript};

/// The parts of a recorded usage that fill the window, in the order in which they are reduced.
const PARTS: [&str; 3] = [
    "cache_read_input_tokens",
    "cache_creation_input_tokens",
    "input_tokens",
];

/// The corrected figures of the last answer, given the share of the window that is left.
pub(super) fn corrected(
    transcript: &Transcript<'_>,
    conversation: &Conversation,
    share: Share,
) -> Vec<Replace> {
    let is_real = |line: &u32| transcript.links()[*line as usize].answer == Answer::Given;
    let last = conversation.messages.iter().rev().find(|message| {
        message.role == Role::Assistant && conversation.lines(message).iter().all(is_real)
    });
    let mut figures = Vec::new();
    for line in last
        .map(|message| conversation.lines(message))
        .unwrap_or_default()
    {
        let usage = Value::of(transcript.line(*line)).within(&["message", "usage"]);
        let parts = usage.fields(PARTS).map(Value::figure);
        let recorded = parts.iter().flatten().map(|(_, value)| *value);
        let saved = share.saved(recorded.fold(0, u64::saturating_add));
        figures.extend(lowered(*line, parts.into_iter().flatten(), saved));
    }
    figures
}
