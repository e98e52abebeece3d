//! What became of the lines that no model sees: before a compaction, on an abandoned branch, or not messages at all.
//!
//! Lines are aligned by their bytes, then by their ids, then by their places. Does not cover lines that are messages of a live
//! window: the rows cover these.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::transcript::LineKind;

use super::align::Alignment;
use super::mask::{Masks, Mirrors};
use super::side::{Side, hash};

/// What became of the lines outside of the live windows, as counts.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct LineCounts {
    /// Old lines with the same bytes in the new file.
    pub kept: u64,
    /// Old lines that are still there, with other bytes: a link was mended, a copy of a result cleared, a figure corrected.
    pub edited: u64,
    /// Old lines that are gone, in runs.
    pub dropped: Vec<LineRun>,
    /// Lines that only the new file has.
    pub inserted: u64,
    /// Lines of live messages that have changed in what no model reads: a link was mended, a figure corrected.
    pub mended: u64,
}

/// Consecutive lines of the old file that were dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct LineRun {
    /// The first one, from 1.
    pub line: u64,
    /// How many.
    pub lines: u64,
    /// How many of them are messages: dead ones.
    pub messages: u64,
}

impl LineCounts {
    /// Whether nothing has changed.
    pub fn is_same(&self) -> bool {
        self.edited == 0 && self.dropped.is_empty() && self.inserted == 0 && self.mended == 0
    }

    /// The number of dropped lines.
    pub fn lines_dropped(&self) -> u64 {
        self.dropped.iter().map(|run| run.lines).sum()
    }

    /// The number of dropped messages.
    pub fn messages_dropped(&self) -> u64 {
        self.dropped.iter().map(|run| run.messages).sum()
    }
}

/// Adds the lines of a transcript.
pub(super) fn count(before: &Side<'_>, after: &Side<'_>, counts: &mut LineCounts) {
    let alignment = aligned(before, after);
    let (masks, masks_now) = (
        Masks::of(before, Mirrors::Compared),
        Masks::of(after, Mirrors::Compared),
    );
    for (line, slot) in (0u32..).zip(before.transcript.lines()) {
        if masks.live.contains(&line) {
            let new = alignment.new_of(line as usize).map(|new| new as u32);
            counts.mended += u64::from(new.is_some_and(|new| {
                let is_other = before.transcript.line(line) != after.transcript.line(new);
                is_other
                    && messages_on(before, line) == messages_on(after, new)
                    && says_other(&masks.masked(before, line), &masks_now.masked(after, new))
            }));
            continue;
        }
        match alignment.new_of(line as usize) {
            Some(new) if before.transcript.line(line) == after.transcript.line(new as u32) => {
                counts.kept += 1
            }
            Some(_) => counts.edited += 1,
            None => {
                let messages = u64::from(slot.kind == LineKind::Message);
                let number = before.number(line);
                match counts.dropped.last_mut() {
                    Some(run) if run.line + run.lines == number => {
                        run.lines += 1;
                        run.messages += messages;
                    }
                    Some(_) | None => counts.dropped.push(LineRun {
                        line: number,
                        lines: 1,
                        messages,
                    }),
                }
            }
        }
    }
    let news = 0..after.transcript.lines().len();
    let added = news.filter(|line| {
        alignment.old_of(*line).is_none() && !masks_now.live.contains(&(*line as u32))
    });
    counts.inserted += added.count() as u64;
}

/// Whether two lines differ in content: whitespace between values does not count.
fn says_other(old: &[u8], new: &[u8]) -> bool {
    let value = |line| serde_json::from_slice::<Value>(line);
    old != new
        && match (value(old), value(new)) {
            (Ok(old), Ok(new)) => old != new,
            (Err(_), _) | (_, Err(_)) => true,
        }
}

/// Pairs the lines that are the same on both sides.
pub(super) fn aligned(before: &Side<'_>, after: &Side<'_>) -> Alignment {
    let lines = |side: &Side<'_>| 0..side.transcript.lines().len() as u32;
    let bytes = |side: &Side<'_>| -> Vec<Option<u64>> {
        let key = |line| Some(hash(&[side.transcript.line(line)]));
        lines(side).map(key).collect()
    };
    let ids = |side: &Side<'_>| -> Vec<Option<u64>> {
        let key = |line: u32| {
            let id = side.transcript.links().get(line as usize)?.id;
            let id = side.transcript.bytes(line, id);
            // A summary can have the id of a line that it replaces.
            let is_summary = side.transcript.links()[line as usize].is_summary;
            (!id.is_empty() && !is_summary).then(|| hash(&[id]))
        };
        lines(side).map(key).collect()
    };
    let mut alignment = Alignment::new(
        before.transcript.lines().len(),
        after.transcript.lines().len(),
    );
    alignment.pass(&bytes(before), &bytes(after));
    alignment.pass(&ids(before), &ids(after));
    let kind = |side: &Side<'_>, line: usize| side.transcript.lines()[line].kind;
    for gap in alignment.gaps() {
        let kinds = gap.old.clone().zip(gap.new.clone());
        let alike = kinds
            .clone()
            .all(|(old, new)| kind(before, old) == kind(after, new));
        if gap.old.len() == gap.new.len() && alike {
            kinds.for_each(|(old, new)| alignment.pair(old, new));
        }
    }
    alignment
}

/// The number of whole messages on a line, if a line can hold several.
fn messages_on(side: &Side<'_>, line: u32) -> usize {
    let units = side.transcript.units();
    let first = units.partition_point(|unit| unit.line < line);
    units[first..]
        .iter()
        .take_while(|unit| unit.line == line)
        .count()
}
