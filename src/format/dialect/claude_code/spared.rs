//! Why lines outside every live window may be needed after all.

use super::tree::{NONE, Tree};
use crate::ids::IdSet;
use crate::scan::Value;
use crate::transcript::{Conversation, Spared};

impl Tree<'_, '_> {
    /// Why no line of the session may be dropped, given its main conversation.
    pub(super) fn spared(&self, main: &Conversation) -> Option<Spared> {
        let root = self.beginning(*main.path.first()?);
        let broken = self.breaks_off(root).then_some(Spared::BrokenChain(root));
        broken.or_else(|| {
            let other = self.other_session(*main.path.last()?, root);
            other.map(Spared::OtherSession)
        })
    }

    /// Where the chain to `first` begins, followed across compactions: a compaction replaced only what was sent at the time.
    fn beginning(&self, first: u32) -> u32 {
        let mut seen = IdSet::default();
        let mut root = first;
        while self.link(root).is_boundary() && seen.insert(root) {
            let boundary = Value::of(self.transcript.line(root));
            let before = boundary.field("logicalParentUuid").string();
            let before = before.and_then(|id| self.named(id));
            // What is above an earlier compaction is not what it replaced.
            let above = before.and_then(|before| {
                let is_boundary = |line: &u32| self.link(*line).is_boundary();
                let nearest = self.ancestry(before).find(is_boundary);
                nearest.or_else(|| self.ancestry(before).last())
            });
            root = above.unwrap_or(root);
        }
        root
    }

    /// Whether a chain that begins at `root` breaks off there: its parent is missing, and there are messages before it.
    fn breaks_off(&self, root: u32) -> bool {
        let link = self.link(root);
        let is_broken = !link.parent.is_empty() && self.parent(root) == NONE && !link.is_boundary();
        let is_beside = |line: u32| {
            let other = self.link(line);
            other.is_sidechain == link.is_sidechain && other.role.is_some()
        };
        is_broken && (0..root).any(is_beside)
    }

    /// The first line of a session other than that of line `last`, whose chain begins at `root`; branches of that chain do not
    /// count. (A session that was continued under another id has one beginning.)
    fn other_session(&self, last: u32, root: u32) -> Option<u32> {
        let session_of = |line: u32| {
            let line = Value::of(self.transcript.line(line));
            line.field("sessionId").raw()
        };
        let links = (0u32..).zip(self.transcript.links());
        let begins = links.filter(|(line, link)| {
            let is_root = !link.id.is_empty() && link.parent.is_empty();
            is_root && !link.is_sidechain && !link.is_boundary() && *line != root
        });
        let own = session_of(last);
        let mut others = begins.map(|(line, _)| line).filter(|line| {
            let session = session_of(*line);
            !session.is_empty() && session != own
        });
        others.next()
    }
}
