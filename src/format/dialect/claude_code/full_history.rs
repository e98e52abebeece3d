//! The whole conversation of a session file, as if nothing had been compacted: from the leaf to the very first line, across
//! the compactions that the agent recorded.
//!
//! A compaction is a new root and names the line before it. Where that line is missing, the newest line above the compaction
//! in the file is used instead. The messages that the compactions wrote are omitted: they repeat others. Abandoned branches
//! are omitted, too.

use super::link::{Branch, Window, conversations};
use super::tree::Tree;
use crate::ids::IdSet;
use crate::scan::Value;
use crate::transcript::{Conversation, Transcript};

/// The whole conversations of a session: the main one, then inline sidechains in the order of their first
/// lines.
pub(super) fn full_history(transcript: &Transcript<'_>) -> Vec<Conversation> {
    conversations(transcript, |tree, lines, branch| {
        tree.session(lines, branch)
    })
}

impl Tree<'_, '_> {
    /// The whole path of a branch. `lines` are the chained lines of the branch.
    fn session(&self, lines: &[u32], branch: Branch) -> Window {
        let Some(leaf) = self.leaf_of(lines, branch) else {
            return Window::default();
        };
        let mut seen = IdSet::default();
        let mut path = Vec::new();
        let mut from = Some(leaf);
        while let Some(at) = from {
            let walk = self.walk_of(lines, branch, at);
            let first = *walk.first().unwrap_or(&at);
            path.extend(walk.into_iter().rev().filter(|line| seen.insert(*line)));
            let is_compaction = self.link(first).is_boundary();
            from = is_compaction
                .then(|| self.before(first, lines, &seen))
                .flatten();
        }
        path.reverse();
        path.retain(|line| !self.link(*line).is_boundary() && !self.link(*line).is_summary);
        self.gather(lines, leaf, path)
    }

    /// The line before a compaction, unless the path already contains it.
    fn before(&self, boundary: u32, lines: &[u32], seen: &IdSet<u32>) -> Option<u32> {
        let line = Value::of(self.transcript.line(boundary));
        let named = line.field("logicalParentUuid").string();
        let named = named.and_then(|id| self.named(id));
        // The parent of the compaction repeats an answer.
        let is_above = |line: &u32| self.link(*line).is_node() && *line != self.parent(boundary);
        let above = &lines[..lines.partition_point(|line| *line < boundary)];
        let before = named.or_else(|| above.iter().copied().rfind(is_above));
        before.filter(|line| !seen.contains(line))
    }
}
