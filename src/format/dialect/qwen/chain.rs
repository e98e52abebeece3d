//! How the records of a session are linked.
//!
//! The agent finds a parent by its id. Of records with the same id, the first determines their type and parent, and the parts of
//! the others are added to it. The history begins where a parent is missing. Never decides what a model sees: that is `window`.

use crate::ids::{IdMap, IdSet};
use crate::scan::Value;
use crate::transcript::{Link, Spared, Transcript};

/// No line.
pub(super) const NONE: u32 = u32::MAX;

/// The records of a session.
pub(super) struct Chain<'t, 'a> {
    pub(super) transcript: &'t Transcript<'a>,
    /// The first line of each id.
    by_id: IdMap<&'t [u8], u32>,
    /// The other lines with an id, keyed by the first.
    others: IdMap<u32, Vec<u32>>,
    /// The line at which the session continues.
    leaf: Option<u32>,
}

impl<'t, 'a> Chain<'t, 'a> {
    pub(super) fn new(transcript: &'t Transcript<'a>) -> Self {
        let mut chain = Chain {
            transcript,
            by_id: IdMap::default(),
            others: IdMap::default(),
            leaf: None,
        };
        for (line, link) in (0u32..).zip(transcript.links()) {
            if link.id.is_empty() || !link.concerns_messages() {
                continue;
            }
            let first = *chain
                .by_id
                .entry(transcript.bytes(line, link.id))
                .or_insert(line);
            if first != line {
                chain.others.entry(first).or_default().push(line);
            }
            chain.leaf = Some(first);
        }
        chain
    }

    pub(super) fn link(&self, line: u32) -> &'t Link {
        &self.transcript.links()[line as usize]
    }

    /// The id of a line, as written.
    pub(super) fn id_of(&self, line: u32) -> &'t [u8] {
        self.transcript.bytes(line, self.link(line).id)
    }

    /// The first line of that id.
    pub(super) fn named(&self, id: &[u8]) -> Option<u32> {
        self.by_id.get(id).copied()
    }

    /// The first line with the same id; [`NONE`] if this line is not a record.
    pub(super) fn first_of(&self, line: u32) -> u32 {
        match self.link(line).concerns_messages() {
            true => self.named(self.id_of(line)).unwrap_or(NONE),
            false => NONE,
        }
    }

    /// A record's lines: the given one, which is the first of its id, and the others.
    pub(super) fn lines_of(&self, first: u32) -> impl Iterator<Item = u32> + '_ {
        let others = self.others.get(&first).into_iter().flatten().copied();
        [first].into_iter().chain(others)
    }

    /// The first line of a line's parent, or [`NONE`].
    pub(super) fn parent(&self, line: u32) -> u32 {
        let parent = self.link(line).parent;
        self.named(self.transcript.bytes(line, parent))
            .unwrap_or(NONE)
    }

    /// The line itself and its ancestors, up to the root.
    pub(super) fn ancestry(&self, line: u32) -> impl Iterator<Item = u32> + '_ {
        let mut seen = IdSet::default();
        std::iter::successors(Some(line), |line| {
            Some(self.parent(*line)).filter(|parent| *parent != NONE)
        })
        .take_while(move |line| seen.insert(*line))
    }

    /// Why no line of the session may be dropped, given the path: it breaks off at a record whose parent is missing, with messages
    /// before it, or another session is in the file. A later compaction makes no difference: it replaced only what was sent at the
    /// time.
    pub(super) fn spared(&self, path: &[u32]) -> Option<Spared> {
        let (root, last) = (path.first().copied()?, path.last().copied()?);
        let is_broken = !self.link(root).parent.is_empty() && self.parent(root) == NONE;
        let is_any_before = || (0..root).any(|line| self.link(line).role.is_some());
        if is_broken && is_any_before() {
            return Some(Spared::BrokenChain(root));
        }
        self.other_session(root, last).map(Spared::OtherSession)
    }

    /// The first record of a session other than that of record `last`, whose path begins at `root`; other beginnings of the same
    /// session do not count. (A session that was continued under another id has one beginning.)
    fn other_session(&self, root: u32, last: u32) -> Option<u32> {
        let session_of = |line: u32| {
            let line = Value::of(self.transcript.line(line));
            line.field("sessionId").raw()
        };
        let links = (0u32..).zip(self.transcript.links());
        let begins = links.filter(|(line, link)| {
            let is_root = !link.id.is_empty() && link.parent.is_empty();
            link.concerns_messages() && is_root && *line != root
        });
        let own = session_of(last);
        let mut others = begins.map(|(line, _)| line).filter(|line| {
            let session = session_of(*line);
            !session.is_empty() && session != own
        });
        others.next()
    }

    /// The path from the root to the leaf, by first lines.
    pub(super) fn path(&self) -> Vec<u32> {
        let mut path: Vec<u32> = self
            .leaf
            .map(|leaf| self.ancestry(leaf).collect())
            .unwrap_or_default();
        path.reverse();
        path
    }
}
