//! What of a session no model will ever see again, and how the rest hangs together without it.
//!
//! Dead is what speaks outside of the live window, with what hangs on that alone. Entries on the way to the leaf that say
//! nothing (a change of the model, a label, what an extension keeps) set up the session and stay.

use std::collections::BTreeSet;

use super::tree::{Chaining, FirstKept, NONE, Tree};
use crate::ids::IdSet;
use crate::transcript::{ChangeSet, Replace, Transcript};

/// The dead lines of a session.
///
/// None where nobody speaks, and none where the live chain breaks off at an entry that is not there (or could not be read)
/// and somebody spoke before: no model sees that any more, but a repaired line would bring it back.
pub(super) fn dead(transcript: &Transcript<'_>) -> ChangeSet {
    let main = transcript.conversations.first();
    if !main.is_some_and(|main| main.messages.iter().any(|m| !main.blocks(m).is_empty())) {
        return ChangeSet::default();
    }
    let tree = Tree::new(transcript);
    let path = tree.path();
    if breaks_off(&tree, &path) {
        return ChangeSet::default();
    }
    let live: IdSet<u32> = tree.window(&path).into_iter().collect();
    let on_path: IdSet<u32> = path.iter().copied().collect();
    let speaks = |line: u32| tree.link(line).role.is_some();
    let mut lines = BTreeSet::new();
    for line in 0..transcript.links().len() as u32 {
        let is_chained = tree.link(line).is_node()
            && (tree.chaining == Chaining::ByPlace || !tree.link(line).id.is_empty());
        if !is_chained || live.contains(&line) {
            continue;
        }
        let leaves = if speaks(line) {
            true
        } else {
            // A note beside the way leaves with what it hangs on.
            !on_path.contains(&line) && {
                let above = above(&tree, line, |above| {
                    speaks(above) || on_path.contains(&above)
                });
                above.is_some_and(|above| !live.contains(&above) && speaks(above))
            }
        };
        if leaves {
            lines.insert(line);
        }
    }
    without(&tree, &path, lines)
}

/// Whether what a model sees ends at a parent that is not there, with words before it.
fn breaks_off(tree: &Tree<'_, '_>, path: &[u32]) -> bool {
    let Some(first) = path.first().copied() else {
        return false;
    };
    let is_ended = tree.compaction(path).is_some_and(|at| {
        let line = path[at];
        let kept = tree.target(line, FirstKept::read(tree.transcript.line(line)));
        kept.is_some_and(|kept| path.contains(&kept))
    });
    let is_broken = tree.chaining == Chaining::ById
        && !tree.link(first).parent.is_empty()
        && tree.parent(first) == NONE;
    is_broken && !is_ended && (0..first).any(|line| tree.link(line).role.is_some())
}

/// The nearest line above another one that `is_it`.
fn above(tree: &Tree<'_, '_>, line: u32, is_it: impl Fn(u32) -> bool) -> Option<u32> {
    // No way is longer than the file; one that is has a loop.
    let parents = std::iter::successors(Some(line), |line| {
        Some(tree.parent(*line)).filter(|parent| *parent != NONE)
    });
    let mut parents = parents.take(tree.transcript.links().len() + 1).skip(1);
    parents.find(|line| is_it(*line))
}

/// Drops lines, with new parents and new first kept entries for what stays.
pub(super) fn without(tree: &Tree<'_, '_>, path: &[u32], leave: BTreeSet<u32>) -> ChangeSet {
    if leave.is_empty() {
        return ChangeSet::default();
    }
    let mut replace = Vec::new();
    let transcript = tree.transcript;
    let stays = |line: &u32| !leave.contains(line);
    let to = |line: Option<u32>| line.map(|line| tree.id_of(line));
    for (line, link) in (0u32..).zip(transcript.links()) {
        if leave.contains(&line) || !link.is_node() {
            continue;
        }
        let parent = tree.parent(line);
        if tree.chaining == Chaining::ById && parent != NONE && leave.contains(&parent) {
            let above = above(tree, line, |above| stays(&above));
            replace.push(Replace::id(line, link.parent, to(above)));
        }
        if !link.is_boundary() {
            continue;
        }
        let kept = FirstKept::read(transcript.line(line));
        match tree.chaining {
            Chaining::ByPlace => {
                let Some((span, number)) = kept.index else {
                    continue;
                };
                let before = tree
                    .entries()
                    .take(usize::try_from(number).unwrap_or(usize::MAX));
                let left = before.filter(|line| leave.contains(line)).count() as u64;
                if left > 0 {
                    replace.push(Replace::number(line, span, number - left));
                }
            }
            Chaining::ById => {
                let Some(span) = kept.id else { continue };
                let named = tree.named(transcript.bytes(line, span));
                let Some(named) = named.filter(|named| leave.contains(named)) else {
                    continue;
                };
                // The next one that stays, or none but those behind the compaction.
                let place = |wanted: u32| path.iter().position(|line| *line == wanted);
                let next = match (place(named), place(line)) {
                    (Some(from), Some(to)) if from < to => {
                        path[from..to].iter().copied().find(stays)
                    }
                    _ => None,
                };
                replace.push(Replace::id(line, span, to(Some(next.unwrap_or(line)))));
            }
        }
    }
    ChangeSet {
        replace,
        drop: leave,
        ..ChangeSet::default()
    }
}
