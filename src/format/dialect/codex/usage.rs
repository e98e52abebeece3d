//! The tokens that a provider counted, and what it would count now.
//!
//! Codex compacts before the next turn when the last count in the file shows that the window is full, whatever follows it. It never
//! looks at the totals of the whole session.

use crate::format::usage::Share;
use crate::scan::{Span, Value};
use crate::transcript::{Conversation, LinkKind, Message, Replace, Role, Transcript};

/// The corrected figures of the last count, given the share of the window that is left.
pub(super) fn corrected(transcript: &Transcript<'_>, share: Share) -> Vec<Replace> {
    let links = (0u32..).zip(transcript.links());
    let counts = links.filter(|(_, link)| link.kind == LinkKind::Count);
    let Some((line, link)) = counts.last() else {
        return Vec::new();
    };
    let [cached, input, total] = counted(transcript.line(line), link.content);
    let whole = total.or(input).map_or(0, |(_, value)| value);
    let saved = share.saved(whole);
    let lowered = |(span, value): (Span, u64)| {
        let by = saved.min(value);
        (by > 0).then(|| Replace::number(line, span, value - by))
    };
    let figures = [cached, input, total].into_iter().flatten();
    figures.filter_map(lowered).collect()
}

/// The tokens of the request that `message` answers: the first count after it, before the next answer.
pub(super) fn recorded(
    transcript: &Transcript<'_>,
    conversation: &Conversation,
    message: &Message,
) -> Option<u64> {
    let last = *conversation.lines(message).last()?;
    let units = transcript.units();
    let later = &units[units.partition_point(|unit| unit.line <= last)..];
    let next = later.iter().find(|unit| unit.role != Role::Tool);
    let end = next.map_or(transcript.lines().len() as u32, |unit| unit.line);
    let links = transcript.links();
    let is_count = |line: &u32| {
        let link = links.get(*line as usize);
        link.is_some_and(|link| link.kind == LinkKind::Count)
    };
    let line = (last + 1..end).find(is_count)?;
    let [_, input, _] = counted(transcript.line(line), links[line as usize].content);
    input.map(|(_, tokens)| tokens)
}

/// The size of the model's context window in tokens, from the last count that records one; 0 means none.
pub(super) fn context_window(transcript: &Transcript<'_>) -> Option<u64> {
    let links = transcript.links().iter().enumerate().rev();
    let mut counts = links.filter(|(_, link)| link.kind == LinkKind::Count);
    counts.find_map(|(line, link)| {
        let info = Value::part(transcript.line(line as u32), link.content);
        let (_, tokens) = info.field("model_context_window").figure()?;
        (tokens > 0).then_some(tokens)
    })
}

/// The figures of the last request in the `info` of a count. Tokens read from a cache are part of the input, which is part of the
/// total.
fn counted(line: &[u8], info: Span) -> [Option<(Span, u64)>; 3] {
    let usage = Value::part(line, info).field("last_token_usage");
    let figures = usage.fields(["cached_input_tokens", "input_tokens", "total_tokens"]);
    figures.map(Value::figure)
}
