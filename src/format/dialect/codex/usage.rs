//! What a provider counted, and what it would count now.
//!
//! Codex compacts before the next turn when the last count in the file says that the window is full, whatever stands behind
//! it. Its sums over the whole session are never looked at.

use crate::format::usage::Share;
use crate::scan::{Cursor, Kind, Span};
use crate::transcript::{Conversation, LinkKind, Message, Replace, Role, Transcript};

/// The figures of a request. What was read from a cache is a part of the input, and that of the total.
#[derive(Default)]
struct Counted {
    cached: Option<(Span, u64)>,
    input: Option<(Span, u64)>,
    total: Option<(Span, u64)>,
}

/// The last count, where only this share of the window is left.
pub(super) fn corrected(transcript: &Transcript<'_>, share: Share) -> Vec<Replace> {
    let links = (0u32..).zip(transcript.links());
    let counts = links.filter(|(_, link)| link.kind == LinkKind::Count);
    let Some((line, link)) = counts.last() else {
        return Vec::new();
    };
    let Counted {
        cached,
        input,
        total,
    } = counted(transcript.line(line), link.content);
    let whole = total.or(input).map_or(0, |(_, value)| value);
    let saved = share.saved(whole);
    let lowered = |(span, value): (Span, u64)| {
        let by = saved.min(value);
        (by > 0).then(|| Replace::number(line, span, value - by))
    };
    let figures = [cached, input, total].into_iter().flatten();
    figures.filter_map(lowered).collect()
}

/// The tokens of the request that `message` answers: the first count behind it, before the next answer.
pub(super) fn recorded(
    transcript: &Transcript<'_>,
    conversation: &Conversation,
    message: &Message,
) -> Option<u64> {
    let last = *conversation.lines(message).last()?;
    let units = transcript.units();
    let behind = &units[units.partition_point(|unit| unit.line <= last)..];
    let next = behind.iter().find(|unit| unit.role != Role::Tool);
    let end = next.map_or(transcript.lines().len() as u32, |unit| unit.line);
    let links = transcript.links();
    let is_count = |line: &u32| {
        let link = links.get(*line as usize);
        link.is_some_and(|link| link.kind == LinkKind::Count)
    };
    let line = (last + 1..end).find(is_count)?;
    let content = links[line as usize].content;
    counted(transcript.line(line), content)
        .input
        .map(|(_, tokens)| tokens)
}

/// The figures of the last request in the `info` of a count.
fn counted(line: &[u8], info: Span) -> Counted {
    let mut counted = Counted::default();
    let bytes = info.of(line);
    let at = |span: Span| {
        let number = std::str::from_utf8(span.of(bytes)).ok()?.parse().ok()?;
        let start = span.start + info.start;
        Some((Span { start, ..span }, number))
    };
    // The line was read before; should it fail all the same, nothing was counted.
    let read = Cursor::new(bytes).object(|key, c| match (key, c.kind()?) {
        (b"last_token_usage", Kind::Object) => c
            .object(|key, c| {
                let value = c.skip()?;
                match key {
                    b"cached_input_tokens" => counted.cached = at(value),
                    b"input_tokens" => counted.input = at(value),
                    b"total_tokens" => counted.total = at(value),
                    _ => {}
                }
                Ok(())
            })
            .map(drop),
        _ => c.skip().map(drop),
    });
    read.map(|_| counted).unwrap_or_default()
}
