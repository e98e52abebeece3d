//! The lines of a session that no model will ever see again, and how the other lines are linked without them.
//!
//! The messages outside the live window are dead, and so are the records attached to them. Records without a message on the path
//! (the model, titles, goals, file snapshots) configure the session and are kept; of snapshots of which only the newest counts,
//! only that one is kept.

use std::collections::BTreeSet;

use super::chain::{Chain, NONE};
use super::window::Window;
use crate::ids::IdSet;
use crate::scan::Value;
use crate::transcript::{ChangeSet, LineKind, LinkKind, Replace, Transcript};

/// The type of record of which the agent reads only the last.
const SNAPSHOT: &[u8] = b"attribution_snapshot";

/// The dead lines of a session.
///
/// Empty if the rest would contain no message.
pub(super) fn dead(transcript: &Transcript<'_>) -> ChangeSet {
    let chain = Chain::new(transcript);
    let path = chain.path();
    let window = Window::of(&chain, &path);
    if window.messages.is_empty() {
        return ChangeSet::default();
    }
    let on_path: IdSet<u32> = path.iter().copied().collect();
    let live: IdSet<u32> = path[window.begins..].iter().copied().collect();
    let is_snapshot = |line: u32| {
        let line = transcript.line(line);
        memchr::memmem::find(line, SNAPSHOT).is_some()
            && Value::of(line).field("subtype").string() == Some(SNAPSHOT)
    };
    let last_snapshot = path.iter().copied().rfind(|line| is_snapshot(*line));
    let mut lines = BTreeSet::new();
    for line in 0..transcript.links().len() as u32 {
        let first = chain.first_of(line);
        if first == NONE || !transcript.is_there(line) {
            continue;
        }
        let leaves = if live.contains(&first) {
            // The replaced record, whose id a summary took over.
            first != line && is_compaction(&chain, first)
        } else if speaks(&chain, first) {
            true
        } else if on_path.contains(&first) {
            transcript.lines()[first as usize].kind == LineKind::Mirror
                || is_snapshot(first) && Some(first) != last_snapshot
        } else {
            // A record that is not on the path is removed with the message that it is attached to.
            let stops = |above: &u32| speaks(&chain, *above) || on_path.contains(above);
            let above = chain.ancestry(first).skip(1).find(stops);
            above.is_some_and(|above| !live.contains(&above) && speaks(&chain, above))
        };
        if leaves {
            lines.insert(line);
        }
    }
    without(&chain, lines)
}

/// Whether a record is a message or a compaction.
fn speaks(chain: &Chain<'_, '_>, line: u32) -> bool {
    chain.link(line).role.is_some() || is_compaction(chain, line)
}

fn is_compaction(chain: &Chain<'_, '_>, line: u32) -> bool {
    matches!(chain.link(line).kind, LinkKind::Compaction(_))
}

/// Drops lines and gives the kept lines new parents.
pub(super) fn without(chain: &Chain<'_, '_>, removed: BTreeSet<u32>) -> ChangeSet {
    if removed.is_empty() {
        return ChangeSet::default();
    }
    let is_kept = |first: &u32| chain.lines_of(*first).any(|line| !removed.contains(&line));
    let mut replace = Vec::new();
    for (line, link) in (0u32..).zip(chain.transcript.links()) {
        let parent = chain.parent(line);
        if parent == NONE || removed.contains(&line) || is_kept(&parent) {
            continue;
        }
        let above = chain.ancestry(parent).find(is_kept);
        let above = above.map(|above| chain.id_of(above));
        replace.push(Replace::id(line, link.parent, above));
    }
    ChangeSet {
        replace,
        drop: removed,
        ..ChangeSet::default()
    }
}
