//! The lines of a session that no model will ever see again, and how the other lines are linked without them.
//!
//! The messages that the last compaction summarised are dead, together with the records of how their turns ended, and so are
//! earlier compactions.

use std::collections::BTreeSet;

use super::window::Window;
use crate::ids::{IdMap, IdSet};
use crate::scan::Value;
use crate::transcript::{ChangeSet, LinkKind, Replace, Transcript};

/// The dead lines of a session, or none if the rest would contain no message.
pub(super) fn dead(transcript: &Transcript<'_>) -> ChangeSet {
    let window = Window::of(transcript);
    if window.summary.is_none() {
        return ChangeSet::default();
    }
    let mut removed: BTreeSet<u32> = window.messages[..window.begins].iter().copied().collect();
    let earlier = compactions(transcript).into_iter();
    removed.extend(earlier.filter(|line| Some(*line) != window.summary));
    without(transcript, &window, removed)
}

/// The lines of all compactions.
pub(super) fn compactions(transcript: &Transcript<'_>) -> Vec<u32> {
    let links = (0u32..).zip(transcript.links());
    let found = links.filter(|(line, link)| {
        matches!(link.kind, LinkKind::Compaction(_)) && transcript.is_there(*line)
    });
    found.map(|(line, _)| line).collect()
}

/// Drops messages, together with the records of how their turns ended, and relinks the others to the nearest kept ancestor, or else
/// to the summary.
pub(super) fn without(
    transcript: &Transcript<'_>,
    window: &Window,
    mut removed: BTreeSet<u32>,
) -> ChangeSet {
    if removed.is_empty() {
        return ChangeSet::default();
    }
    let links = transcript.links();
    let id_of = |line: u32| transcript.bytes(line, links[line as usize].id);
    let mut there: IdMap<&[u8], u32> = IdMap::default();
    let mut gone: IdMap<&[u8], u32> = IdMap::default();
    for (line, link) in (0u32..).zip(links).filter(|(_, link)| !link.id.is_empty()) {
        let map = if removed.contains(&line) {
            &mut gone
        } else {
            &mut there
        };
        map.entry(transcript.bytes(line, link.id)).or_insert(line);
    }
    let mut changes = ChangeSet::default();
    let summary = window.summary.filter(|line| !removed.contains(line));
    for (line, link) in (0u32..).zip(links) {
        let turn = transcript.bytes(line, link.message);
        if gone.contains_key(turn) && !there.contains_key(turn) {
            removed.insert(line);
        }
        let mut above = transcript.bytes(line, link.parent);
        if removed.contains(&line) || there.contains_key(above) || !gone.contains_key(above) {
            continue;
        }
        let mut seen: IdSet<&[u8]> = IdSet::default();
        while let Some(next) = gone.get(above).filter(|_| !there.contains_key(above)) {
            if !seen.insert(above) {
                break;
            }
            above = transcript.bytes(*next, links[*next as usize].parent);
        }
        let above = there
            .get(above)
            .copied()
            .or(summary)
            .filter(|above| *above != line);
        changes
            .replace
            .push(Replace::id(line, link.parent, above.map(id_of)));
    }
    changes
        .replace
        .extend(renumbered(transcript, window, &removed));
    changes.drop = removed;
    changes
}

/// Updates the number by which a compaction may name its last message: the number changes when messages before it are removed.
fn renumbered(
    transcript: &Transcript<'_>,
    window: &Window,
    removed: &BTreeSet<u32>,
) -> Option<Replace> {
    let line = window.summary.filter(|line| !removed.contains(line))?;
    let anchor = Value::of(transcript.line(line)).field("anchorMessage");
    let [id, index] = anchor.fields(["id", "index"]);
    let (span, index) = index
        .figure()
        .filter(|_| id.string().is_none_or(<[u8]>::is_empty))?;
    let covered = window
        .messages
        .iter()
        .take(usize::try_from(index).ok()?.saturating_add(1));
    let gone = covered.filter(|message| removed.contains(message)).count();
    // -1 names none.
    let index = i64::try_from(index).ok()? - gone as i64;
    let with = index.to_string().into_bytes();
    (gone > 0).then_some(Replace { line, span, with })
}
