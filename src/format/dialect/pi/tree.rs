//! How the entries of a session are linked, and which of them a model sees.
//!
//! The leaf is the last entry of the file, whatever its type, unless that is a `leaf` entry, which names it; the path leads from parent to parent up to a root. If there
//! is a compaction on the path, a model sees the summary of the last one, the entries from the one that it names, and those
//! after it. An edit among these leaves out the entry that it names; an entry stays with its edit, on the path.
//!
//! Never decides what may be removed: that is `history`.

use crate::format::shapes::climb::NONE;
use crate::ids::{IdMap, IdSet};
use crate::scan::{Span, Value};
use crate::transcript::{
    Conversation, ConversationId, LineKind, Link, Role, Spared, Transcript, Typed,
};

/// Which entry is the parent of another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Chaining {
    /// The entry before it; the first version of the format has no ids.
    ByPlace,
    /// The entry that it names.
    ById,
}

/// The entries of a session.
pub(super) struct Tree<'t, 'a> {
    pub(super) transcript: &'t Transcript<'a>,
    pub(super) chaining: Chaining,
    /// For each line, the line of its parent.
    parents: Vec<u32>,
    by_id: IdMap<&'t [u8], u32>,
}

/// The first entry before a compaction that is still sent, as the compaction records it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct FirstKept {
    /// Its id.
    pub(super) id: Option<Span>,
    /// In the first version: its number among the entries of the file, including the header, and the span of this number.
    pub(super) index: Option<(Span, u64)>,
}

impl FirstKept {
    /// Reads a compaction's line.
    pub(super) fn read(line: &[u8]) -> Self {
        let [id, index] = Value::of(line).fields(["firstKeptEntryId", "firstKeptEntryIndex"]);
        FirstKept {
            id: id.inside(),
            index: index.figure(),
        }
    }
}

impl<'t, 'a> Tree<'t, 'a> {
    pub(super) fn new(transcript: &'t Transcript<'a>) -> Self {
        let mut by_id = IdMap::default();
        for (line, link) in (0u32..).zip(transcript.links()) {
            if link.is_node() && !link.id.is_empty() {
                // A duplicate id belongs to the last entry that has it.
                by_id.insert(transcript.bytes(line, link.id), line);
            }
        }
        let mut tree = Tree {
            transcript,
            chaining: chaining(transcript, by_id.is_empty()),
            parents: Vec::with_capacity(transcript.links().len()),
            by_id,
        };
        let mut before = NONE;
        for (line, link) in (0u32..).zip(transcript.links()) {
            let parent = match tree.chaining {
                Chaining::ByPlace => before,
                Chaining::ById => {
                    let named = tree.named(transcript.bytes(line, link.parent));
                    named.unwrap_or(NONE)
                }
            };
            tree.parents.push(parent);
            if tree.is_entry(line) {
                before = line;
            }
        }
        tree
    }

    pub(super) fn link(&self, line: u32) -> &'t Link {
        &self.transcript.links()[line as usize]
    }

    /// The id of an entry, as written; empty in the first version.
    pub(super) fn id_of(&self, line: u32) -> &'t [u8] {
        match self.chaining {
            Chaining::ByPlace => b"",
            Chaining::ById => self.transcript.bytes(line, self.link(line).id),
        }
    }

    /// The entry of that id.
    pub(super) fn named(&self, id: &[u8]) -> Option<u32> {
        self.by_id.get(id).copied()
    }

    /// The line of an entry's parent, or [`NONE`].
    pub(super) fn parent(&self, line: u32) -> u32 {
        self.parents[line as usize]
    }

    /// Whether a conversation can continue at a line.
    pub(super) fn is_entry(&self, line: u32) -> bool {
        let is_named = match self.chaining {
            Chaining::ByPlace => true,
            Chaining::ById => self.named(self.id_of(line)) == Some(line),
        };
        self.link(line).is_node() && is_named
    }

    /// The entry at which the session continues: the last one, or the one that it moves the leaf to.
    pub(super) fn leaf(&self) -> Option<u32> {
        let last = self.last()?;
        let Some(target) = self.moves_leaf(last) else {
            return Some(last);
        };
        self.named(target.string().unwrap_or_default())
    }

    /// The last entry, if it only moves the leaf, and where it names the new one.
    pub(super) fn mover(&self) -> Option<(u32, Option<Span>)> {
        let last = self.last()?;
        Some((last, self.moves_leaf(last)?.inside()))
    }

    fn last(&self) -> Option<u32> {
        let lines = 0..self.transcript.links().len() as u32;
        lines.rev().find(|line| self.is_entry(*line))
    }

    /// To which entry a line moves the leaf, if that is what it does.
    fn moves_leaf(&self, line: u32) -> Option<Value<'t>> {
        if self.link(line).role.is_some() || !self.transcript.is_there(line) {
            return None;
        }
        let [kind, target] = Value::of(self.transcript.line(line)).fields(["type", "targetId"]);
        (kind.string() == Some(b"leaf")).then_some(target)
    }

    /// The path from the root to the leaf.
    pub(super) fn path(&self) -> Vec<u32> {
        let mut path = Vec::new();
        let mut seen = IdSet::default();
        let mut next = self.leaf();
        while let Some(at) = next.filter(|at| seen.insert(*at)) {
            path.push(at);
            next = Some(self.parent(at)).filter(|parent| *parent != NONE);
        }
        path.reverse();
        path
    }

    /// Why no line of the session may be dropped.
    fn spared(&self) -> Option<Spared> {
        let broken = self.broken().map(Spared::BrokenChain);
        broken.or_else(|| self.other_session().map(Spared::OtherSession))
    }

    /// The entry at which the path breaks off, if there are messages before it. A later compaction makes no difference: it replaced
    /// only what was sent at the time.
    fn broken(&self) -> Option<u32> {
        let root = self.path().first().copied()?;
        let is_broken = self.chaining == Chaining::ById
            && !self.link(root).parent.is_empty()
            && self.parent(root) == NONE;
        let is_any_before = || (0..root).any(|line| self.link(line).role.is_some());
        (is_broken && is_any_before()).then_some(root)
    }

    /// The second header, where another session begins.
    fn other_session(&self) -> Option<u32> {
        let is_header = |line: &u32| {
            self.transcript.lines()[*line as usize].kind == LineKind::Session
                && Value::of(self.transcript.line(*line))
                    .field("type")
                    .string()
                    == Some(b"session")
        };
        self.entries().filter(is_header).nth(1)
    }

    /// The index of the last compaction on a path.
    pub(super) fn compaction(&self, path: &[u32]) -> Option<usize> {
        path.iter().rposition(|line| self.link(*line).is_boundary())
    }

    /// The index on a path of the first entry that the compaction at index `compaction` keeps.
    pub(super) fn first_kept(&self, path: &[u32], compaction: usize) -> Option<usize> {
        let line = path[compaction];
        let target = self.target(line, FirstKept::read(self.transcript.line(line)))?;
        path[..compaction].iter().position(|line| *line == target)
    }

    /// The entry that a compaction on a line names.
    pub(super) fn target(&self, line: u32, kept: FirstKept) -> Option<u32> {
        match self.chaining {
            Chaining::ByPlace => {
                let (_, number) = kept.index?;
                self.entries().nth(usize::try_from(number).ok()?)
            }
            Chaining::ById => self.named(self.transcript.bytes(line, kept.id?)),
        }
    }

    /// The lines that count as entries when entries are numbered: all that could be read, including the header.
    pub(super) fn entries(&self) -> impl Iterator<Item = u32> + '_ {
        let lines = (0u32..).zip(self.transcript.lines());
        let read = lines.filter(|(number, line)| {
            self.transcript.is_there(*number) && line.kind != LineKind::Bad
        });
        read.map(|(number, _)| number)
    }

    /// The entries of a path that a model sees, in the order in which it sees them.
    pub(super) fn window(&self, path: &[u32]) -> Vec<u32> {
        let Some(at) = self.compaction(path) else {
            return path.to_vec();
        };
        let kept = self.first_kept(path, at).unwrap_or(at);
        let is_older = |line: &&u32| !self.link(**line).is_boundary();
        let kept = path[kept..at].iter().filter(is_older);
        let window = [path[at]].into_iter().chain(kept.copied());
        window.chain(path[at + 1..].iter().copied()).collect()
    }

    /// The entries that edits among these lines omit.
    fn omitted(&self, lines: &[u32]) -> IdSet<u32> {
        let edits = lines.iter().filter(|line| {
            let is_control = self.transcript.lines()[**line as usize].kind == LineKind::Control;
            is_control && self.link(**line).role.is_none()
        });
        let targets = edits.map(|line| self.transcript.bytes(*line, self.link(*line).message));
        let named = targets.filter(|target| !target.is_empty());
        named.filter_map(|target| self.named(target)).collect()
    }

    /// The messages of these entries.
    fn conversation(&self, lines: Vec<u32>) -> Conversation {
        let mut conversation = Conversation::new(ConversationId::Main);
        let omitted = self.omitted(&lines);
        for line in lines.iter().copied().filter(|line| !omitted.contains(line)) {
            let link = self.link(line);
            let is_message = self.transcript.lines()[line as usize].kind == LineKind::Message;
            let Some(role) = link.role.filter(|_| is_message) else {
                continue;
            };
            let blocks: Vec<u32> = self.transcript.blocks_of_line(line).collect();
            let message = conversation.push(role, Span::default(), link.content);
            let by_agent = link.is_injected || link.is_summary;
            conversation.messages[message].is_summary = link.is_summary;
            conversation.messages[message].typed = match role {
                Role::User if !by_agent => self.transcript.is_typed(role, &blocks),
                Role::User | Role::System | Role::Assistant | Role::Tool => Typed::No,
            };
            conversation.extend(line, blocks);
        }
        conversation.leaf = self.leaf();
        conversation.spared = self.spared();
        conversation.path = lines;
        conversation
    }
}

/// How entries find their parents: by the header's version, or else by whether they have ids.
fn chaining(transcript: &Transcript<'_>, without_ids: bool) -> Chaining {
    let mut lines = (0u32..).zip(transcript.lines());
    let header = lines.find(|(_, line)| line.kind == LineKind::Session);
    let Some((header, _)) = header.filter(|(line, _)| transcript.is_there(*line)) else {
        return if without_ids {
            Chaining::ByPlace
        } else {
            Chaining::ById
        };
    };
    match Value::of(transcript.line(header)).field("version").raw() {
        b"" | b"0" | b"1" | b"null" => Chaining::ByPlace,
        _ => Chaining::ById,
    }
}

/// What a model would see of a session now.
pub(super) fn link(transcript: &Transcript<'_>) -> Vec<Conversation> {
    let tree = Tree::new(transcript);
    let window = tree.window(&tree.path());
    vec![tree.conversation(window)]
}

/// The whole conversation: the path to the leaf, without the summaries that compactions wrote.
pub(super) fn full_history(transcript: &Transcript<'_>) -> Vec<Conversation> {
    let tree = Tree::new(transcript);
    let mut path = tree.path();
    path.retain(|line| !tree.link(*line).is_boundary());
    vec![tree.conversation(path)]
}
