//! Why lines outside of every live window may be needed after all.

use super::tree::{NONE, Tree};
use crate::ids::IdSet;
use crate::scan::Value;
use crate::transcript::{Conversation, Spared};

impl Tree<'_, '_> {
    /// Why no line of the session may be dropped, given its main conversation.
    pub(super) fn spared(&self, main: &Conversation) -> Option<Spared> {
        let first = *main.path.first()?;
        let broken = self.broken(first).map(Spared::BrokenChain);
        broken.or_else(|| {
            self.other_session(*main.path.last()?)
                .map(Spared::OtherSession)
        })
    }

    /// The line at which the chain to `first` breaks off, followed across compactions, if there are messages before it. A compaction
    /// replaced only what was sent then.
    fn broken(&self, first: u32) -> Option<u32> {
        let mut seen = IdSet::default();
        let mut root = first;
        while self.link(root).is_boundary() && seen.insert(root) {
            let line = Value::of(self.transcript.line(root));
            let before = self.named(line.field("logicalParentUuid").string()?)?;
            root = self.ancestry(before).last()?;
        }
        let link = self.link(root);
        let is_broken = !link.parent.is_empty() && self.parent(root) == NONE && !link.is_boundary();
        let is_beside = |line: u32| {
            let other = self.link(line);
            other.is_aside == link.is_aside && other.role.is_some()
        };
        (is_broken && (0..root).any(is_beside)).then_some(root)
    }

    /// The first line of a session that is not that of the line `last`: no branch of it. (A session that was continued under
    /// another id has one root.)
    fn other_session(&self, last: u32) -> Option<u32> {
        let root = self.ancestry(last).last();
        let session_of = |line: u32| {
            let line = Value::of(self.transcript.line(line));
            line.field("sessionId").raw()
        };
        let links = (0u32..).zip(self.transcript.links());
        let begins = links.filter(|(line, link)| {
            let is_root = !link.id.is_empty() && link.parent.is_empty();
            is_root && !link.is_aside && !link.is_boundary() && Some(*line) != root
        });
        let mut others = begins.map(|(line, _)| line).filter(|line| {
            let session = session_of(*line);
            !session.is_empty() && session != session_of(last)
        });
        others.next()
    }
}
