//! Which lines of a session file form a live window.
//!
//! The leaf, the walk to the root, then what hangs off that path but is sent with it. A recorded compaction ends the
//! walk; what it says it preserved comes after its summary. Where two versions of the agent differ, what either of them
//! sends is live.
//!
//! The leaf: the last line of the file, as all versions have it (2.1.112), or the line that a pointer names, for those
//! that follow pointers (2.1.330). These stop there, whatever descends from it; where the last line does, that is the leaf.

use super::preserved::Preserved;
use super::tree::{Above, NONE, Tree};
use crate::ids::{IdMap, IdSet};
use crate::transcript::{BlockKind, Conversation, ConversationId, LinkKind, Role, Transcript};

/// The conversations of a session: the main one, then inline sidechains in the order of their first lines.
pub(super) fn link(transcript: &Transcript<'_>) -> Vec<Conversation> {
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
        conversation.beside = window.beside;
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
    /// The window of an agent that follows no pointers, where one leads elsewhere.
    pub(super) beside: Vec<u32>,
}

impl Tree<'_, '_> {
    /// The live window of a branch. `lines` are the chained lines of the branch.
    fn window(&self, lines: &[u32], branch: Branch) -> Window {
        if branch == Branch::Main {
            return self.main_window(lines);
        }
        let Some(leaf) = self.last_node(lines) else {
            return Window::default();
        };
        self.gather(lines, leaf, self.walk_of(lines, branch, leaf))
    }

    fn main_window(&self, lines: &[u32]) -> Window {
        let Some(last) = self.last(lines) else {
            return Window::default();
        };
        let newest = self.window_to(last, lines);
        match self.pointed(lines, &newest.lines) {
            Some(leaf) => Window {
                beside: newest.lines,
                ..self.window_to(leaf, lines)
            },
            None => newest,
        }
    }

    /// The window of a main conversation that goes on at `leaf`.
    fn window_to(&self, leaf: u32, lines: &[u32]) -> Window {
        let mut path = self.walk(leaf, |_| false);
        self.restore_preserved(&mut path);
        self.gather(lines, leaf, path)
    }

    /// The line at which a branch would go on.
    pub(super) fn leaf_of(&self, lines: &[u32], branch: Branch) -> Option<u32> {
        match branch {
            Branch::Main => self.main_window(lines).leaf,
            Branch::Sidechain => self.last_node(lines),
        }
    }

    /// What a line of a branch hangs on, from where its window begins down to it.
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
            .rfind(|line| self.link(*line).is_node())
    }

    /// The line at which the main conversation goes on unless a pointer leads elsewhere.
    fn last(&self, lines: &[u32]) -> Option<u32> {
        let mut last = self.last_node(lines)?;
        if !self.is_spoken(last) {
            // A note without a parent: the newest words are the end.
            last = lines.iter().copied().rfind(|line| self.speaks(*line))?;
        }
        // What descends from the last line stands before it where lines are out of order: the highest line that has it
        // as its parent, and so on.
        let mut newest: IdMap<u32, u32> = IdMap::default();
        for line in lines {
            newest.insert(self.parent(*line), *line);
        }
        let mut seen = IdSet::from_iter([last]);
        let (mut at, mut leaf) = (last, last);
        while let Some(child) = newest.get(&at).filter(|child| seen.insert(**child)) {
            at = *child;
            if self.link(at).is_node() {
                leaf = at;
            }
        }
        Some(leaf)
    }

    fn speaks(&self, line: u32) -> bool {
        self.link(line).role.is_some()
    }

    /// Whether somebody speaks on a line or above it.
    fn is_spoken(&self, line: u32) -> bool {
        let path = self.walk(line, |_| false);
        path.into_iter().any(|line| self.speaks(line))
    }

    /// The line that the last pointer names, where an agent goes on there and not at the end of the `newest` window.
    ///
    /// One that names nothing overrules those before it, and so does a compaction. A line of the newest window (on its
    /// path, or a parallel call or result) leads to that window's end, unless the user went back to the line and has
    /// said nothing since.
    fn pointed(&self, lines: &[u32], newest: &[u32]) -> Option<u32> {
        let transcript = self.transcript;
        let (mut pointer, mut boundary) = (None, None);
        for (line, link) in (0u32..).zip(transcript.links()) {
            if link.is_boundary() {
                (pointer, boundary) = (None, Some(line));
            } else if link.is_pointer() {
                let id = transcript.bytes(line, link.parent);
                let is_chosen = link.kind == LinkKind::ChosenPointer || pointer == Some((id, true));
                pointer = Some((id, is_chosen));
            } else if link.is_node() && !link.is_aside {
                pointer = pointer.map(|(id, _)| (id, false));
            }
        }
        let (id, is_chosen) = pointer?;
        let line = self.named(id).filter(|line| {
            self.link(*line).is_node()
                && lines.binary_search(line).is_ok()
                && self.is_spoken(*line)
                && (is_chosen || !newest.contains(line))
        })?;
        let Some(boundary) = boundary else {
            return Some(line);
        };
        // Behind a compaction that preserved messages the others before it are forgotten, and only the end of a branch
        // is gone back to.
        let preserved = Preserved::read(transcript.line(boundary));
        let goes_on = |l: &u32| self.parent(*l) == line && self.speaks(*l);
        let is_there = line > boundary || preserved.named().any(|named| named == id);
        let is_end = is_chosen || self.speaks(line) && !lines.iter().any(goes_on);
        (preserved.is_empty() || is_there && is_end).then_some(line)
    }

    /// To `leaf` from its root, from the last compaction, or from the first line above it that is an end.
    fn walk(&self, leaf: u32, is_end: impl Fn(u32) -> bool) -> Vec<u32> {
        let mut path = vec![leaf];
        let mut seen = IdSet::from_iter([leaf]);
        let mut at = leaf;
        while !is_end(at) && !self.link(at).is_boundary() {
            let parent = self.parent(at);
            if parent == NONE || !seen.insert(parent) {
                break;
            }
            path.push(parent);
            at = parent;
        }
        path.reverse();
        path
    }

    /// Puts what the compaction at the start of `path` says it preserved behind the line that it names as the anchor.
    fn restore_preserved(&self, path: &mut Vec<u32>) {
        let Some(boundary) = path
            .first()
            .copied()
            .filter(|line| self.link(*line).is_boundary())
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
        }
        let on_path: IdSet<u32> = path.iter().copied().collect();
        lines.retain(|line| !on_path.contains(line));
        let anchor =
            find(&preserved.anchor).and_then(|anchor| path.iter().position(|line| *line == anchor));
        let at = anchor.map_or(path.len().min(2), |anchor| anchor + 1);
        path.splice(at..at, lines);
    }

    /// The window of a path, with what hangs off it: lines of the same API messages and results of their calls.
    ///
    /// They come behind the last line of their message on the path, as the agents put them.
    pub(super) fn gather(&self, branch: &[u32], leaf: u32, path: Vec<u32>) -> Window {
        let leaf = Some(leaf);
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
        if siblings.is_empty() && answers.is_empty() {
            return Window {
                lines: path,
                leaf,
                ..Window::default()
            };
        }
        let mut gathered = IdSet::default();
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
        Window {
            lines,
            leaf,
            gathered,
            ..Window::default()
        }
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
