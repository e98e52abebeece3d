//! What a provider counted for the last answer of a conversation, and what it would count now.
//!
//! Agents compact again at once when this figure says that the window is full, and a compaction makes it wrong. It is
//! lowered by the share that has left, first where it was read from a cache, then where it was written to one, then in the rest.

use crate::format::usage::{Share, within};
use crate::scan::{Cursor, Parse, Span};
use crate::transcript::{Answer, Conversation, Replace, Role, Transcript};

/// The parts of a recorded usage that fill the window, in the order in which they are lowered.
const PARTS: [&[u8]; 3] = [
    b"cache_read_input_tokens",
    b"cache_creation_input_tokens",
    b"input_tokens",
];

/// The figures of the last answer, where only this share of the window is left.
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
        let bytes = transcript.line(*line);
        let mut parts = [None; PARTS.len()];
        // The line was read before; should it fail all the same, nothing is corrected.
        if read(&mut Cursor::new(bytes), &mut parts).is_err() {
            continue;
        }
        let recorded = parts.iter().flatten().map(|(_, value)| *value);
        let mut left = share.saved(recorded.fold(0, u64::saturating_add));
        for (span, value) in parts.into_iter().flatten() {
            let lowered = left.min(value);
            left -= lowered;
            if lowered > 0 {
                figures.push(Replace::number(*line, span, value - lowered));
            }
        }
    }
    figures
}

/// Finds the parts of `message.usage`, a span and a value each.
fn read(c: &mut Cursor<'_>, parts: &mut [Option<(Span, u64)>; PARTS.len()]) -> Parse<()> {
    let line = c.line();
    within(c, b"message", |c| {
        within(c, b"usage", |c| {
            c.object(|key, c| {
                let span = c.skip()?;
                if let Some(part) = PARTS.iter().position(|part| *part == key) {
                    let number = std::str::from_utf8(span.of(line))
                        .ok()
                        .and_then(|number| number.parse().ok());
                    parts[part] = number.map(|number| (span, number));
                }
                Ok(())
            })
            .map(drop)
        })
    })
}
