//! The lines of a rollout that no model will ever see again.
//!
//! These are items before a compaction that starts a new history; items other than the user's messages before a compaction that
//! keeps those messages; and turns that were rolled back; each with its events. Headers, contexts, world states, messages that the
//! agent sends to a model anyway, and lines of unknown types describe the session and are kept.

use super::link::{Compactions, History};
use crate::transcript::{ChangeSet, LineKind, Transcript};

/// The dead lines of a rollout, or none if the rest would contain no message.
pub(super) fn dead(transcript: &Transcript<'_>) -> ChangeSet {
    let now = History::of(transcript, Compactions::Apply);
    if now.live.is_empty() {
        return ChangeSet::default();
    }
    let mut is_live = vec![false; transcript.lines().len()];
    for unit in &now.live {
        is_live[transcript.units()[*unit].line as usize] = true;
    }
    // The line of a compaction that forms the window is live, even if its history is empty.
    for line in [now.restart, now.rebuilt].into_iter().flatten() {
        is_live[line as usize] = true;
    }
    let begins = now.rebuilt.max(now.restart).unwrap_or(0);
    let rolled_back = merged(now.rolled_back);
    let is_dead = |line: &u32| {
        let next = rolled_back.partition_point(|(_, last)| last < line);
        let is_taken_back = || {
            rolled_back
                .get(next)
                .is_some_and(|(first, _)| first <= line)
        };
        *line < begins || is_taken_back()
    };
    let is_unseen = |line: &u32| match transcript.lines()[*line as usize].kind {
        LineKind::Message | LineKind::Mirror | LineKind::Control => !is_live[*line as usize],
        LineKind::Session | LineKind::Unknown | LineKind::Bad => false,
    };
    let lines = 0..transcript.lines().len() as u32;
    ChangeSet {
        drop: lines
            .filter(|line| transcript.is_there(*line))
            .filter(|line| is_unseen(line) && is_dead(line))
            .collect(),
        ..ChangeSet::default()
    }
}

/// Merges overlapping ranges of lines, each given by its first and last line. The ranges are sorted by their last line, and stay
/// so.
fn merged(ranges: Vec<(u32, u32)>) -> Vec<(u32, u32)> {
    let mut merged: Vec<(u32, u32)> = Vec::new();
    for (mut first, last) in ranges {
        while let Some((before, _)) = merged.pop_if(|(_, end)| *end >= first) {
            first = first.min(before);
        }
        merged.push((first, last));
    }
    merged
}
