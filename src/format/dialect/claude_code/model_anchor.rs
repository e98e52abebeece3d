//! An empty assistant line that preserves the session's model when no answer is kept.
//!
//! Version 2.1.330 takes the model from the newest answer on the chain, even across compactions; without an answer it uses its own
//! default. So the parent of a compaction becomes an empty copy of the last answer's line, which no model sees because it precedes
//! the compaction. The agent would not accept a copy with only calls and thinking, but accepts one with an empty list.

use super::tree::{NONE, Tree};
use crate::scan::Value;
use crate::transcript::{Answer, Conversation, Role, Transcript};

/// The line of the last answer from a model in a conversation, or among the ancestors of its lines.
pub(super) fn last_answer(transcript: &Transcript<'_>, conversation: &Conversation) -> Option<u32> {
    Tree::new(transcript).last_answer(&conversation.path)
}

impl Tree<'_, '_> {
    /// The line of the last answer from a model on a path, or else among the ancestors of the path.
    pub(super) fn last_answer(&self, path: &[u32]) -> Option<u32> {
        let above = path.first().into_iter();
        let above = above.flat_map(|first| self.ancestry(*first).skip(1));
        let mut lines = path.iter().rev().copied().chain(above);
        lines.find(|line| self.is_answer(*line))
    }

    /// The answer that is the parent of a compaction.
    pub(super) fn answer_above(&self, boundary: u32) -> Option<u32> {
        let above = Some(self.parent(boundary)).filter(|above| *above != NONE);
        above.filter(|above| self.is_answer(*above))
    }

    /// Whether another line names a line as its parent.
    pub(super) fn is_followed(&self, line: u32) -> bool {
        let id = |line: u32| self.transcript.bytes(line, self.link(line).id);
        let parent = |line: u32| self.transcript.bytes(line, self.link(line).parent);
        let mut lines = 0..self.transcript.links().len() as u32;
        lines.any(|other| !id(other).is_empty() && parent(other) == id(line))
    }

    /// Whether a line is an answer from a model rather than one that the agent wrote.
    pub(super) fn is_answer(&self, line: u32) -> bool {
        self.link(line).role == Some(Role::Assistant)
            && self.link(line).answer == Answer::Given
            && !self.link(line).is_sidechain
    }

    /// An answer's line as a root with this `id`, without content.
    pub(super) fn emptied(&self, line: u32, id: &str) -> Vec<u8> {
        let bytes = self.transcript.line(line);
        let [parent, own] = Value::of(bytes).fields(["parentUuid", "uuid"]);
        let mut parts = vec![
            (self.link(line).content, b"[]".to_vec()),
            (parent.span(), b"null".to_vec()),
            (own.span(), [b"\"", id.as_bytes(), b"\""].concat()),
        ];
        parts.retain(|(span, _)| !span.is_empty());
        parts.sort_by_key(|(span, _)| span.start);
        let mut out = Vec::new();
        let mut from = 0;
        for (span, with) in parts {
            out.extend_from_slice(&bytes[from..span.start as usize]);
            out.extend_from_slice(&with);
            from = span.end();
        }
        out.extend_from_slice(&bytes[from..]);
        out
    }
}
