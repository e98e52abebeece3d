//! Lines with the parts that models read masked, so that the rest can be compared.

use crate::ids::{IdMap, IdSet};
use crate::scan::Span;

use super::side::Side;

/// How copies of results outside of messages are treated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mirrors {
    /// They are compared like all else.
    Compared,
    /// They are not: the results themselves differ.
    Ignored,
}

/// The parts of lines that are compared elsewhere.
#[derive(Debug)]
pub(super) struct Masks {
    spans: IdMap<u32, Vec<Span>>,
    /// The lines of live windows.
    pub(super) live: IdSet<u32>,
}

impl Masks {
    /// The masks for the lines of a side.
    pub(super) fn of(side: &Side<'_>, mirrors: Mirrors) -> Self {
        let transcript = &side.transcript;
        let mut spans: IdMap<u32, Vec<Span>> = IdMap::default();
        let mut live = IdSet::default();
        for conversation in &transcript.conversations {
            live.extend(conversation.all_lines());
            for (_, block) in conversation.all_blocks() {
                let block = transcript.block(block);
                spans.entry(block.line).or_default().push(block.value);
            }
        }
        match mirrors {
            Mirrors::Compared => {}
            Mirrors::Ignored => {
                for mirror in transcript.mirrors() {
                    spans.entry(mirror.line).or_default().push(mirror.value);
                }
                // A list of messages contains other messages.
                for unit in transcript.units() {
                    spans.entry(unit.line).or_default().push(unit.object);
                }
            }
        }
        Masks { spans, live }
    }

    /// The line with `0` in place of each of these parts; a run of adjacent parts becomes one.
    pub(super) fn masked(&self, side: &Side<'_>, line: u32) -> Vec<u8> {
        let bytes = side.transcript.line(line);
        let mut spans = self.spans.get(&line).cloned().unwrap_or_default();
        spans.sort_by_key(|span| (span.start, std::cmp::Reverse(span.len)));
        let mut out = Vec::with_capacity(bytes.len());
        let mut done = 0;
        for span in spans {
            let start = span.start as usize;
            if start < done || span.is_empty() {
                continue;
            }
            let between = &bytes[done..start];
            if !(done > 0
                && between
                    .iter()
                    .all(|b| *b == b',' || b.is_ascii_whitespace()))
            {
                out.extend_from_slice(between);
                out.push(b'0');
            }
            done = span.end();
        }
        out.extend_from_slice(&bytes[done..]);
        out
    }
}
