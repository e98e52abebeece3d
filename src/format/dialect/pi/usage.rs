//! The tokens that a provider counted for the last answer, and what it would count now.
//!
//! The agent immediately compacts again when this figure shows that the window is full, and a compaction makes the figure wrong. So
//! it is reduced by the share of the window that was removed: first the tokens read from a cache, then those written to one, then
//! the rest, and always the total. Costs are history and stay as they are.

use crate::format::usage::{Share, lowered};
use crate::scan::Value;
use crate::transcript::{Answer, Conversation, Replace, Role, Transcript};

/// The parts of a recorded usage that fill the window, in the order in which they are reduced, and their total.
const NAMES: [&str; 4] = ["cacheRead", "cacheWrite", "input", "totalTokens"];

/// The corrected figures of the last answer, and of aborted ones after it, given the share of the window that is left.
pub(super) fn corrected(
    transcript: &Transcript<'_>,
    conversation: &Conversation,
    share: Share,
) -> Vec<Replace> {
    let mut figures = Vec::new();
    let link = |line: u32| &transcript.links()[line as usize];
    let lines = conversation.path.iter().rev().copied();
    for line in lines.filter(|line| link(*line).role == Some(Role::Assistant)) {
        figures.extend(answer(transcript, line, share));
        if link(line).answer == Answer::Given {
            break;
        }
    }
    figures
}

/// The figures of one answer.
fn answer(transcript: &Transcript<'_>, line: u32, share: Share) -> impl Iterator<Item = Replace> {
    let usage = Value::of(transcript.line(line)).within(&["message", "usage"]);
    let [parts @ .., total] = usage.fields(NAMES).map(Value::figure);
    let sum = || {
        let parts = parts.iter().flatten().map(|(_, value)| *value);
        parts.fold(0, u64::saturating_add)
    };
    let saved = share.saved(total.map_or_else(sum, |(_, total)| total));
    let parts = lowered(line, parts.into_iter().flatten(), saved);
    parts.chain(lowered(line, total, saved))
}
