//! Which lines of a session file form a live window.
//!
//! A window is found from the leaf by a walk to the root; then lines beside this path that are sent with it are added. A recorded
//! compaction ends the walk; the lines that it preserved come after its summary. Where two versions of the agent differ, everything
//! that either of them sends is live.
//!
//! The leaf is the last line of the file, as in all versions (2.1.112), or the line that a pointer names, in versions that follow
//! pointers (2.1.330). The latter stop there, even if the line has descendants; but if the last line of the file is one of these
//! descendants, it is the leaf.

use super::preserved::Preserved;
use super::tree::{Above, NONE, Tree};
use crate::ids::{IdMap, IdSet};
use crate::transcript::{BlockKind, Conversation, ConversationId, LinkKind, Role, Transcript};

/// The conversations of a session: the main one, then inline sidechains in the order of their first lines.
pub(super) fn link(transcript: &Transcript<'_>) -> Vec<Conversation> {
    conversations(transcript, |tree, lines, branch| tree.window(lines, branch))
}

/// The conversations of a session. `window` chooses the lines of each branch; it is called with the branch's chained lines.
pub(super) fn conversations(
    transcript: &Transcript<'_>,
    window: fn(&Tree<'_, '_>, &[u32], Branch) -> Window,
) -> Vec<Conversation> {
    let tree = Tree::new(transcript);
    let branches = tree.branches();
    let mut conversations = Vec::new();
    // A line is part of only one conversation; the main one comes first, and the agent follows its chain wherever it leads.
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
        if branch == Branch::Main {
            conversation.spared = tree.spared(&conversation);
        }
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
    /// The line from which it would continue.
    pub(super) leaf: Option<u32>,
    /// The lines among them that are beside the path.
    pub(super) gathered: IdSet<u32>,
    /// The window of an agent that does not follow pointers, if a pointer leads elsewhere.
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

    /// The window of a main conversation that continues at `leaf`.
    fn window_to(&self, leaf: u32, lines: &[u32]) -> Window {
        let mut path = self.walk(leaf, |_| false);
        self.restore_preserved(&mut path);
        self.gather(lines, leaf, path)
    }

    /// The line at which a branch would continue.
    pub(super) fn leaf_of(&self, lines: &[u32], branch: Branch) -> Option<u32> {
        match branch {
            Branch::Main => self.main_window(lines).leaf,
            Branch::Sidechain => self.last_node(lines),
        }
    }

    /// The path to a line of a branch, from where its window begins.
    pub(super) fn walk_of(&self, lines: &[u32], branch: Branch, leaf: u32) -> Vec<u32> {
        match branch {
            Branch::Main => self.walk(leaf, |_| false),
            // A subagent does not see the conversation that started it.
            Branch::Sidechain => self.walk(leaf, |line| {
                lines.binary_search(&self.parent(line)).is_err()
            }),
        }
    }

    /// The last line at which a conversation can continue: copies for viewers and unknown lines are on the path, but never its
    /// end.
    fn last_node(&self, lines: &[u32]) -> Option<u32> {
        lines
            .iter()
            .copied()
            .rfind(|line| self.link(*line).is_node())
    }

    /// The line at which the main conversation continues unless a pointer leads elsewhere.
    fn last(&self, lines: &[u32]) -> Option<u32> {
        let mut last = self.last_node(lines)?;
        if !self.is_spoken(last) {
            // The last node is a note without a parent, so the newest message is the end.
            last = lines.iter().copied().rfind(|line| self.speaks(*line))?;
        }
        // If lines are out of order, descendants of the last line may precede it: go to the last line in the file that has it as
        // its parent, and so on.
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

    /// Whether a line or one of its ancestors is a message.
    fn is_spoken(&self, line: u32) -> bool {
        let path = self.walk(line, |_| false);
        path.into_iter().any(|line| self.speaks(line))
    }

    /// The line that the last pointer names, if an agent continues there rather than at the end of the `newest` window.
    ///
    /// A pointer that names nothing cancels those before it, and so does a compaction. A line of the newest window (on its path,
    /// or a parallel call or result) leads to that window's end, unless the user went back to the line and has sent no message
    /// since.
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
            } else if link.is_node() && !link.is_sidechain {
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
        // After a compaction that preserved messages, the agent forgets the others before it, and goes back only to the end
        // of a branch.
        let preserved = Preserved::read(transcript.line(boundary));
        let goes_on = |l: &u32| self.parent(*l) == line && self.speaks(*l);
        let is_there = line > boundary || preserved.named().any(|named| named == id);
        let is_end = is_chosen || self.speaks(line) && !lines.iter().any(goes_on);
        (preserved.is_empty() || is_there && is_end).then_some(line)
    }

    /// The path to `leaf` from its root, from the last compaction, or from its nearest ancestor for which `is_end` holds.
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

    /// Inserts the lines that the compaction at the start of `path` preserved after the line that it names as the anchor.
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

    /// The window of a path, with the lines beside it: lines of the same API messages and results of their calls.
    ///
    /// They are inserted after the last line of their message on the path, as the agents do.
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
            // A result attached elsewhere is better than none.
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

    /// The answers of a path: the lines of each, keyed by its last line.
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

    /// The answer that a line of results is attached to, across other results and lines that are not messages; or [`NONE`].
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
