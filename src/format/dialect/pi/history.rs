//! The entries of a session that no model will ever see again, and how the other entries are linked without them.
//!
//! The messages outside the live window are dead, and so are the entries without a message that are attached to them. Such entries
//! on the path to the leaf (a model change, a label, data of an extension) configure the session and are kept.

use std::collections::BTreeSet;

use super::tree::{Chaining, FirstKept, Tree};
use crate::format::shapes::climb::{Above, NONE, climb};
use crate::ids::{IdMap, IdSet};
use crate::transcript::{ChangeSet, Replace, Transcript};

/// The dead lines of a session.
///
/// Empty if there is no message.
pub(super) fn dead(transcript: &Transcript<'_>) -> ChangeSet {
    let main = transcript.conversations.first();
    if !main.is_some_and(|main| main.messages.iter().any(|m| !main.blocks(m).is_empty())) {
        return ChangeSet::default();
    }
    let tree = Tree::new(transcript);
    let path = tree.path();
    let live: IdSet<u32> = tree.window(&path).into_iter().collect();
    let mover = tree.mover().map(|(line, _)| line);
    let on_path: IdSet<u32> = path.iter().copied().chain(mover).collect();
    let speaks = |line: u32| tree.link(line).role.is_some();
    let mut lines = BTreeSet::new();
    let mut known = IdMap::default();
    for line in 0..transcript.links().len() as u32 {
        let is_chained = tree.link(line).is_node()
            && (tree.chaining == Chaining::ByPlace || !tree.link(line).id.is_empty());
        if !is_chained || live.contains(&line) {
            continue;
        }
        let leaves = if speaks(line) {
            true
        } else {
            // An entry without a message that is not on the path is removed with the message that it is attached to.
            !on_path.contains(&line) && {
                let above = above(&tree, line, &mut known, |above| {
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

/// The nearest ancestor of a line that satisfies `is_it`. `known` caches the results, and is valid only for this `is_it`.
fn above(
    tree: &Tree<'_, '_>,
    line: u32,
    known: &mut IdMap<u32, Above>,
    is_it: impl Fn(u32) -> bool,
) -> Option<u32> {
    let above = climb(line, known, |line| tree.parent(line), is_it);
    Some(above.stop).filter(|line| *line != NONE)
}

/// Drops lines, and updates the parents and first kept entries that the kept entries name.
pub(super) fn without(tree: &Tree<'_, '_>, path: &[u32], removed: BTreeSet<u32>) -> ChangeSet {
    if removed.is_empty() {
        return ChangeSet::default();
    }
    let mut replace = Vec::new();
    let transcript = tree.transcript;
    let is_kept = |line: &u32| !removed.contains(line);
    let to = |line: Option<u32>| line.map(|line| tree.id_of(line));
    let mut known = IdMap::default();
    for (line, link) in (0u32..).zip(transcript.links()) {
        if removed.contains(&line) || !link.is_node() {
            continue;
        }
        let parent = tree.parent(line);
        if tree.chaining == Chaining::ById && parent != NONE && removed.contains(&parent) {
            let above = above(tree, line, &mut known, |above| is_kept(&above));
            replace.push(Replace::id(line, link.parent, to(above)));
        }
        if let Some((_, Some(span))) = tree.mover().filter(|(mover, _)| *mover == line)
            && let Some(leaf) = tree.leaf().filter(|leaf| removed.contains(leaf))
        {
            let above = above(tree, leaf, &mut known, |above| is_kept(&above));
            replace.push(Replace::id(line, span, to(above)));
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
                let removed_before = before.filter(|line| removed.contains(line)).count() as u64;
                if removed_before > 0 {
                    replace.push(Replace::number(line, span, number - removed_before));
                }
            }
            Chaining::ById => {
                let Some(span) = kept.id else { continue };
                let named = tree.named(transcript.bytes(line, span));
                let Some(named) = named.filter(|named| removed.contains(named)) else {
                    continue;
                };
                // The next kept entry; if there is none, only entries after the compaction are sent.
                let place = |wanted: u32| path.iter().position(|line| *line == wanted);
                let next = match (place(named), place(line)) {
                    (Some(from), Some(to)) if from < to => {
                        path[from..to].iter().copied().find(is_kept)
                    }
                    _ => None,
                };
                replace.push(Replace::id(line, span, to(Some(next.unwrap_or(line)))));
            }
        }
    }
    ChangeSet {
        replace,
        drop: removed,
        ..ChangeSet::default()
    }
}
