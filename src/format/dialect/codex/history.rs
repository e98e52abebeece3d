//! What of a rollout no model will ever see again.
//!
//! Items before a compaction that began anew, items but the user's words before one that kept these, and turns that were
//! taken back; with the events that tell of them. Headers, contexts, world states, what the agent tells a model anyway and
//! lines that nobody knows describe the session and stay.

use super::link::{Compactions, History};
use crate::transcript::{ChangeSet, LineKind, Transcript};

/// The dead lines of a rollout; none where nobody would speak without them.
pub(super) fn dead(transcript: &Transcript<'_>) -> ChangeSet {
    let History { now, taken_back } = History::of(transcript, Compactions::Apply);
    if now.live.is_empty() {
        return ChangeSet::default();
    }
    let mut is_live = vec![false; transcript.lines().len()];
    for unit in &now.live {
        is_live[transcript.units()[*unit].line as usize] = true;
    }
    // An empty history that was begun anew is what it says.
    for line in [now.restart, now.rebuilt].into_iter().flatten() {
        is_live[line as usize] = true;
    }
    let begins = now.rebuilt.max(now.restart).unwrap_or(0);
    let is_dead = |line: &u32| {
        let is_old = *line < begins;
        let mut back = taken_back.iter();
        is_old || back.any(|(first, last)| (first..=last).contains(&line))
    };
    let hangs = |line: &u32| match transcript.lines()[*line as usize].kind {
        LineKind::Message | LineKind::Mirror | LineKind::Control => !is_live[*line as usize],
        LineKind::Session | LineKind::Unknown | LineKind::Bad => false,
    };
    let lines = 0..transcript.lines().len() as u32;
    ChangeSet {
        drop: lines
            .filter(|line| transcript.is_there(*line))
            .filter(|line| hangs(line) && is_dead(line))
            .collect(),
        ..ChangeSet::default()
    }
}
