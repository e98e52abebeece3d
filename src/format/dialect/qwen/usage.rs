//! The tokens that the agent believes to be in its window: the last figure on the chain, of an answer or of a compaction.
//!
//! It compacts at once when this figure shows that the window is full, and a compaction makes the figure wrong, so it is reduced by
//! the share of the window that was removed. The output that is part of a total stays.

use crate::format::usage::Share;
use crate::scan::{Span, Value};
use crate::transcript::{Conversation, Replace, Transcript};

/// The figures of an answer; the first that is not 0 counts, and the others change with it.
const OF_ANSWER: [&str; 3] = [
    "promptTokenCount",
    "totalTokenCount",
    "cachedContentTokenCount",
];

/// The corrected figures, given the share of the window that is left.
pub(super) fn corrected(
    transcript: &Transcript<'_>,
    conversation: &Conversation,
    share: Share,
) -> Vec<Replace> {
    let mut lines = conversation.path.iter().rev().copied();
    let Some((line, figures)) = lines.find_map(|line| Some((line, figures(transcript, line)?)))
    else {
        return Vec::new();
    };
    let saved = share.saved(figures[0].1);
    let lowered = figures
        .into_iter()
        .filter(|(_, value)| saved.min(*value) > 0);
    lowered
        .map(|(span, value)| Replace::number(line, span, value.saturating_sub(saved)))
        .collect()
}

/// The last figure on these lines.
pub(super) fn last(transcript: &Transcript<'_>, lines: &[u32]) -> Option<u64> {
    let mut lines = lines.iter().rev();
    lines.find_map(|line| Some(figures(transcript, *line)?[0].1))
}

/// The figures that the agent takes from a line, the decisive one first.
fn figures(transcript: &Transcript<'_>, line: u32) -> Option<Vec<(Span, u64)>> {
    let bytes = transcript.line(line);
    memchr::memmem::find(bytes, b"okenCount\"")?;
    let [kind, subtype, usage, payload] =
        Value::of(bytes).fields(["type", "subtype", "usageMetadata", "systemPayload"]);
    let figures: Vec<(Span, u64)> = match (kind.string()?, subtype.string()) {
        (b"assistant", _) => {
            let [prompt, total, cached] = usage.fields(OF_ANSWER).map(Value::figure);
            [prompt, total, cached].into_iter().flatten().collect()
        }
        (b"system", Some(b"chat_compression")) => {
            let new = payload.within(&["info", "newTokenCount"]).figure();
            new.into_iter().collect()
        }
        (_, _) => Vec::new(),
    };
    figures
        .first()
        .is_some_and(|(_, tokens)| *tokens > 0)
        .then_some(figures)
}
