//! Which lines of a session file its agent went through: the way from the leaf to the very first line, across the
//! compactions that the agent made on it.
//!
//! A compaction begins a new root and says which line came before it. Where that line is not there, the newest one above it
//! in the file stands for it. What the compactions wrote themselves is left out: it repeats what is there. Abandoned
//! branches stay out, too.

use super::link::{Window, conversations};
use super::tree::Tree;
use crate::ids::IdSet;
use crate::scan::{Cursor, Kind, Span};
use crate::transcript::{Conversation, Marks, Transcript};

/// The conversations of a session as they were lived: the main one, then inline sidechains in the order of their first
/// lines.
pub(in super::super) fn lived(transcript: &Transcript<'_>) -> Vec<Conversation> {
    conversations(transcript, |tree, lines, is_main| {
        tree.session(lines, is_main)
    })
}

impl Tree<'_, '_> {
    /// The way of a branch, to where its window ends. `lines` are the chained lines of the branch.
    fn session(&self, lines: &[u32], is_main: bool) -> Window {
        let leaf = self.window(lines, is_main).leaf;
        // A subagent does not see the conversation that started it.
        let is_first = |line| !is_main && lines.binary_search(&self.parent(line)).is_err();
        let mut seen = IdSet::default();
        let mut walks = Vec::new();
        let mut from = leaf;
        while let Some(at) = from {
            let mut walk = self.walk(at, is_first);
            let first = walk.first().copied().unwrap_or(at);
            walk.retain(|line| seen.insert(*line));
            walks.push(walk);
            let is_compaction = self.has(first, Marks::BOUNDARY);
            from = is_compaction
                .then(|| self.before(first, lines, &seen))
                .flatten();
        }
        let mut path: Vec<u32> = walks.into_iter().rev().flatten().collect();
        path.retain(|line| !self.has(*line, Marks::BOUNDARY) && !self.has(*line, Marks::SUMMARY));
        let (lines, gathered) = self.gather(lines, path);
        Window {
            lines,
            leaf,
            gathered,
            ..Window::default()
        }
    }

    /// The line that came before a compaction, unless the way has been there.
    fn before(&self, boundary: u32, lines: &[u32], seen: &IdSet<u32>) -> Option<u32> {
        let line = self.transcript.line(boundary);
        let named = self.named(logical_parent(line).of(line));
        let is_above = |line: &u32| *line < boundary && self.has(*line, Marks::NODE);
        let before = named.or_else(|| lines.iter().copied().rfind(is_above));
        before.filter(|line| !seen.contains(line))
    }
}

/// The id that a compaction gives for the line before it.
fn logical_parent(line: &[u8]) -> Span {
    let mut parent = Span::default();
    let read = Cursor::new(line).object(|key, c| {
        match (key, c.kind()?) {
            (b"logicalParentUuid", Kind::String) => parent = c.string()?.span,
            _ => drop(c.skip()?),
        }
        Ok(())
    });
    // The line was read before; should it fail all the same, nothing is named.
    read.map_or(Span::default(), |_| parent)
}
