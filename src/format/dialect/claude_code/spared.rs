//! Why lines outside of every live window may be needed after all.

use super::tree::{NONE, Tree};
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

    /// The first message whose parent is missing, with messages before it. Those that a compaction replaced count, too: it replaced
    /// only what was sent then.
    fn broken(&self, first: u32) -> Option<u32> {
        let links = (0u32..).zip(self.transcript.links());
        let is_aside = self.link(first).is_aside;
        let mut messages =
            links.filter(|(_, link)| link.role.is_some() && link.is_aside == is_aside);
        messages.next();
        let is_broken = |line: u32| self.parent(line) == NONE && !self.comes_again(line);
        let named = messages.filter(|(_, link)| !link.parent.is_empty() && !link.is_boundary());
        let mut broken = named.map(|(line, _)| line).filter(|line| is_broken(*line));
        broken.next()
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
