//! Which lines of a session file form a live window.
//!
//! The leaf, the walk to the root, then what hangs off that path but is sent with it. A recorded compaction ends the
//! walk; what it says it preserved comes after its summary. Where two versions of the agent differ, what either of them
//! sends is live.

use super::preserved::Preserved;
use super::tree::{Above, NONE, Tree};
use crate::ids::{IdMap, IdSet};
use crate::transcript::{BlockKind, Conversation, ConversationId, Link, Marks, Role, Transcript};

/// The conversations of a session: the main one, then inline sidechains in the order of their first lines.
pub(in super::super) fn link(transcript: &Transcript<'_>) -> Vec<Conversation> {
    conversations(transcript, |tree, lines, branch| tree.window(lines, branch))
}

/// The conversations of a session, with the lines of each branch that `window` chooses; it is given the branch's chained
/// lines.
pub(super) fn conversations(
    transcript: &Transcript<'_>,
    window: fn(&Tree<'_, '_>, &[u32], Branch) -> Window,
) -> Vec<Conversation> {
    let tree = Tree::new(transcript);
    let branches = tree.branches();
    let mut conversations = Vec::new();
    // A line is part of one conversation; the main one comes first, and the agent follows its chain wherever it leads.
    let mut taken: IdSet<u32> = IdSet::default();
    for (root, mut lines) in branches {
        lines.retain(|line| !taken.contains(line));
        if root.is_some() && lines.is_empty() {
            continue;
        }
        let (id, branch) = match root {
            None => (ConversationId::Main, Branch::Main),
            Some(root) => (
                ConversationId::Sidechain(tree.id_of(root)),
                Branch::Sidechain,
            ),
        };
        let window = window(&tree, &lines, branch);
        taken.extend(&window.lines);
        let mut conversation = tree.conversation(id, &window);
        conversation.mirrors = tree.mirrors(&lines, &window.lines);
        conversation.leaf = window.leaf;
        conversation.path = window.lines;
        conversation.gathered = window.gathered;
        conversations.push(conversation);
    }
    conversations
}

/// Which conversation a branch is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Branch {
    /// The one that the user sees.
    Main,
    /// A subagent's.
    Sidechain,
}

/// The live lines of a conversation.
#[derive(Default)]
pub(super) struct Window {
    /// In the order of the conversation.
    pub(super) lines: Vec<u32>,
    /// Where it would go on.
    pub(super) leaf: Option<u32>,
    /// Those of them that hang off the path.
    pub(super) gathered: IdSet<u32>,
}

impl Tree<'_, '_> {
    /// The live window of a branch. `lines` are the chained lines of the branch.
    fn window(&self, lines: &[u32], branch: Branch) -> Window {
        let Some(leaf) = self.leaf_of(lines, branch) else {
            return Window::default();
        };
        let mut path = self.walk_of(lines, branch, leaf);
        path.reverse();
        if branch == Branch::Main {
            self.restore_preserved(&mut path);
        }
        let (lines, gathered) = self.gather(lines, path);
        Window {
            lines,
            leaf: Some(leaf),
            gathered,
        }
    }

    /// The line at which a branch would go on.
    pub(super) fn leaf_of(&self, lines: &[u32], branch: Branch) -> Option<u32> {
        match branch {
            Branch::Main => self.leaf(lines),
            Branch::Sidechain => self.last_node(lines),
        }
    }

    /// From a line of a branch up to where its window begins.
    pub(super) fn walk_of(&self, lines: &[u32], branch: Branch, leaf: u32) -> Vec<u32> {
        match branch {
            Branch::Main => self.walk(leaf, |_| false),
            // A subagent does not see the conversation that started it.
            Branch::Sidechain => self.walk(leaf, |line| {
                lines.binary_search(&self.parent(line)).is_err()
            }),
        }
    }

    /// The last line at which a conversation can go on: viewers' copies and unknown lines are passed, never the end.
    fn last_node(&self, lines: &[u32]) -> Option<u32> {
        lines
            .iter()
            .copied()
            .rfind(|line| self.has(*line, Marks::NODE))
    }

    /// The line at which the model would go on.
    fn leaf(&self, lines: &[u32]) -> Option<u32> {
        let speaks = |line: &u32| self.link(*line).role.is_some();
        let last = self.last_node(lines)?;
        let last = if self.walk(last, |_| false).iter().any(speaks) {
            last
        } else {
            // Nobody speaks above it (a note without a parent): the newest words are the end.
            lines.iter().copied().rfind(speaks)?
        };
        // Only the very last pointer counts: one that names nothing overrules those before it, and so does a compaction.
        let links = (0u32..).zip(self.transcript.links());
        let rules = |(_, link): &(u32, &Link)| {
            let is_aside = link.marks.has(Marks::SIDECHAIN);
            link.marks.has(Marks::LEAF) || link.marks.has(Marks::BOUNDARY) && !is_aside
        };
        let pointed = links
            .filter(rules)
            .last()
            .filter(|(_, link)| link.marks.has(Marks::LEAF))
            .and_then(|(line, link)| self.named(self.transcript.bytes(line, link.parent)))
            .filter(|line| self.has(*line, Marks::NODE) && lines.binary_search(line).is_ok());
        let Some(pointed) = pointed.filter(|line| !self.ancestry(last).any(|l| l == *line)) else {
            return Some(last);
        };
        // On an older branch: its newest descendants, the highest line that has this one as its parent, and so on.
        let mut newest: IdMap<u32, u32> = IdMap::default();
        for line in lines {
            newest.insert(self.parent(*line), *line);
        }
        let mut seen = IdSet::from_iter([pointed]);
        let (mut at, mut leaf) = (pointed, pointed);
        while let Some(child) = newest.get(&at).filter(|child| seen.insert(**child)) {
            at = *child;
            if self.has(at, Marks::NODE) {
                leaf = at;
            }
        }
        Some(leaf)
    }

    /// From `leaf` to its root, to the last compaction, or up to and with the first line that is an end.
    fn walk(&self, leaf: u32, is_end: impl Fn(u32) -> bool) -> Vec<u32> {
        let mut path = vec![leaf];
        let mut seen = IdSet::from_iter([leaf]);
        let mut at = leaf;
        while !is_end(at) && !self.has(at, Marks::BOUNDARY) {
            let parent = self.parent(at);
            if parent == NONE || !seen.insert(parent) {
                break;
            }
            path.push(parent);
            at = parent;
        }
        path
    }

    /// Puts what the compaction at the start of `path` says it preserved behind the line that it names as the anchor.
    fn restore_preserved(&self, path: &mut Vec<u32>) {
        let Some(boundary) = path
            .first()
            .copied()
            .filter(|line| self.has(*line, Marks::BOUNDARY))
        else {
            return;
        };
        let preserved = Preserved::read(self.transcript.line(boundary));
        let find = |id: &Vec<u8>| self.named(id);
        let mut lines: Vec<u32> = preserved.ids.iter().filter_map(find).collect();
        if lines.is_empty()
            && let (Some(head), Some(tail)) = (find(&preserved.head), find(&preserved.tail))
        {
            lines = self.walk(tail, |line| line == head);
            lines.reverse();
        }
        let on_path: IdSet<u32> = path.iter().copied().collect();
        lines.retain(|line| !on_path.contains(line));
        let anchor =
            find(&preserved.anchor).and_then(|anchor| path.iter().position(|line| *line == anchor));
        let at = anchor.map_or(path.len().min(2), |anchor| anchor + 1);
        path.splice(at..at, lines);
    }

    /// Adds what hangs off the path: lines of the same API messages and results of their calls.
    ///
    /// They come behind the last line of their message on the path, as the agents put them.
    pub(super) fn gather(&self, branch: &[u32], path: Vec<u32>) -> (Vec<u32>, IdSet<u32>) {
        let on_path: IdSet<u32> = path.iter().copied().collect();
        let mut siblings: IdMap<&[u8], Vec<u32>> = IdMap::default();
        let mut below: IdMap<u32, Vec<u32>> = IdMap::default();
        let mut answers: IdMap<&[u8], u32> = IdMap::default();
        let mut callers = IdMap::default();
        let off_path = branch.iter().copied().filter(|l| !on_path.contains(l));
        for line in off_path {
            let link = self.link(line);
            match link.role {
                Some(Role::Assistant) if !link.message.is_empty() => {
                    let message = self.transcript.bytes(line, link.message);
                    siblings.entry(message).or_default().push(line);
                }
                Some(Role::User) => {
                    let mut ids = self.calls(line, BlockKind::Result).peekable();
                    if ids.peek().is_none() {
                        continue;
                    }
                    answers.extend(ids.map(|id| (id, line)));
                    let caller = self.caller(line, &mut callers);
                    below.entry(caller).or_default().push(line);
                }
                Some(Role::Assistant | Role::System | Role::Tool) | None => {}
            }
        }
        let mut gathered = IdSet::default();
        if siblings.is_empty() && answers.is_empty() {
            return (path, gathered);
        }
        let groups = self.groups(&path);
        let mut answered: IdSet<&[u8]> = path
            .iter()
            .flat_map(|line| self.calls(*line, BlockKind::Result))
            .collect();
        let mut lines = Vec::with_capacity(path.len());
        for line in path {
            lines.push(line);
            let Some(group) = groups.get(&line) else {
                continue;
            };
            let message = self.transcript.bytes(line, self.link(line).message);
            let others = siblings.remove(message).unwrap_or_default();
            let members = || group.iter().chain(&others).copied();
            let results = members().filter_map(|line| below.get(&line)).flatten();
            for other in others.iter().chain(results).copied() {
                if gathered.insert(other) {
                    lines.push(other);
                    answered.extend(self.calls(other, BlockKind::Result));
                }
            }
            // An answer that hangs elsewhere is better than none.
            for call in members().flat_map(|line| self.calls(line, BlockKind::Call)) {
                let answer = answers.get(call).filter(|_| answered.insert(call));
                if let Some(answer) = answer.filter(|answer| gathered.insert(**answer)) {
                    lines.push(*answer);
                }
            }
        }
        (lines, gathered)
    }

    /// The answers of a path: the lines of each, by its last line.
    fn groups(&self, path: &[u32]) -> IdMap<u32, Vec<u32>> {
        let mut open: IdMap<&[u8], Vec<u32>> = IdMap::default();
        let mut groups: IdMap<u32, Vec<u32>> = IdMap::default();
        for line in path.iter().copied() {
            let link = self.link(line);
            if link.role != Some(Role::Assistant) {
                continue;
            }
            if link.message.is_empty() {
                groups.insert(line, vec![line]);
            } else {
                let message = self.transcript.bytes(line, link.message);
                open.entry(message).or_default().push(line);
            }
        }
        groups.extend(
            open.into_values()
                .filter_map(|lines| Some((*lines.last()?, lines))),
        );
        groups
    }

    /// The answer that a line of results hangs on, over other results and lines that are no messages; or [`NONE`].
    fn caller(&self, line: u32, known: &mut IdMap<u32, Above>) -> u32 {
        let stops = |above| self.link(above).role.is_some() && !self.is_results(above);
        let stop = self.climb(line, known, stops).stop;
        if stop != NONE && self.link(stop).role == Some(Role::Assistant) {
            stop
        } else {
            NONE
        }
    }
}
