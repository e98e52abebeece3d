//! Which lines of a session file form a live window.
//!
//! The leaf, the walk to the root, then what hangs off that path but was part of it: lines of the same API message and
//! results of parallel calls. A recorded compaction ends the walk; what it says it preserved comes after its summary.

use std::collections::BTreeMap;

use crate::ids::{IdMap, IdSet};
use crate::scan::{Cursor, Kind, Span};
use crate::transcript::{
    BlockKind, Conversation, ConversationId, Line, LineKind, Link, Marks, Role, Transcript, Typed,
};

/// No line.
pub(super) const NONE: u32 = u32::MAX;

/// The conversations of a session: the main one, then inline sidechains in the order of their first lines.
pub(in super::super) fn link(transcript: &Transcript<'_>) -> Vec<Conversation> {
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
        let id = match root {
            None => ConversationId::Main,
            Some(root) => ConversationId::Sidechain(tree.id_of(root)),
        };
        let live = tree.live(&lines, root.is_none());
        taken.extend(&live);
        let mut conversation = tree.conversation(id, &live);
        conversation.mirrors = tree.mirrors(&lines, &live);
        conversation.path = live;
        conversations.push(conversation);
    }
    conversations
}

/// The chained lines of a session and how they hang together.
pub(super) struct Tree<'t, 'a> {
    transcript: &'t Transcript<'a>,
    /// Of each line, the line that its `parentUuid` names.
    parents: Vec<u32>,
    by_id: IdMap<&'t [u8], u32>,
}

impl<'t, 'a> Tree<'t, 'a> {
    pub(super) fn new(transcript: &'t Transcript<'a>) -> Self {
        let mut by_id = IdMap::default();
        for (line, link) in (0u32..).zip(transcript.links()) {
            if !link.id.is_empty() {
                // A line written twice counts where it was written last.
                by_id.insert(transcript.bytes(line, link.id), line);
            }
        }
        let parents = (0u32..)
            .zip(transcript.links())
            .map(|(line, link)| {
                if link.id.is_empty() {
                    return NONE;
                }
                by_id
                    .get(transcript.bytes(line, link.parent))
                    .copied()
                    .unwrap_or(NONE)
            })
            .collect();
        Tree {
            transcript,
            parents,
            by_id,
        }
    }

    /// The line that a line's `parentUuid` names, or [`NONE`].
    pub(super) fn parent(&self, line: u32) -> u32 {
        self.parents[line as usize]
    }

    /// The line of that id.
    pub(super) fn named(&self, id: &[u8]) -> Option<u32> {
        self.by_id.get(id).copied()
    }

    fn link(&self, line: u32) -> &'t Link {
        &self.transcript.links()[line as usize]
    }

    fn line(&self, line: u32) -> &'t Line {
        &self.transcript.lines()[line as usize]
    }

    fn id_of(&self, line: u32) -> String {
        String::from_utf8_lossy(self.transcript.bytes(line, self.link(line).id)).into_owned()
    }

    fn has(&self, line: u32, marks: Marks) -> bool {
        self.link(line).marks.has(marks)
    }

    /// The chained lines of the main conversation (`None`) and of each sidechain by its first line.
    ///
    /// A file of nothing but sidechain lines is one conversation.
    fn branches(&self) -> BTreeMap<Option<u32>, Vec<u32>> {
        let chained = || {
            (0u32..)
                .zip(self.transcript.links())
                .filter(|(_, link)| !link.id.is_empty())
                .map(|(l, _)| l)
        };
        let all_aside = chained().all(|line| self.has(line, Marks::SIDECHAIN));
        let mut branches = BTreeMap::from([(None, Vec::new())]);
        let mut roots = IdMap::default();
        for line in chained() {
            let root = (!all_aside && self.has(line, Marks::SIDECHAIN))
                .then(|| self.root_aside(line, &mut roots));
            branches.entry(root).or_insert_with(Vec::new).push(line);
        }
        branches
    }

    /// The first line of the sidechain that `line` is on.
    fn root_aside(&self, line: u32, known: &mut IdMap<u32, u32>) -> u32 {
        let mut path = vec![line];
        let mut seen = IdSet::from_iter([line]);
        let root = loop {
            let last = path[path.len() - 1];
            if let Some(root) = known.get(&last) {
                break *root;
            }
            let parent = self.parents[last as usize];
            if parent == NONE || !self.has(parent, Marks::SIDECHAIN) || !seen.insert(parent) {
                break last;
            }
            path.push(parent);
        };
        known.extend(path.into_iter().map(|line| (line, root)));
        root
    }

    /// The live lines of a branch, in the order of the conversation. `lines` are the chained lines of the branch.
    fn live(&self, lines: &[u32], is_main: bool) -> Vec<u32> {
        let Some(leaf) = self.leaf(lines, is_main) else {
            return Vec::new();
        };
        let mut path = self.walk(leaf, NONE);
        if !is_main {
            // A subagent does not see the conversation that started it.
            let is_own = |line: &&u32| lines.binary_search(line).is_ok();
            path.truncate(path.iter().take_while(is_own).count());
        }
        path.reverse();
        if is_main {
            self.restore_preserved(&mut path);
        }
        self.gather(lines, path)
    }

    /// The line at which the model would go on.
    fn leaf(&self, lines: &[u32], is_main: bool) -> Option<u32> {
        let last = lines.last().copied()?;
        if !is_main {
            return Some(last);
        }
        let pointed = self
            .transcript
            .links()
            .iter()
            .enumerate()
            .rev()
            .find_map(|(line, link)| {
                let target = link
                    .marks
                    .has(Marks::LEAF)
                    .then(|| self.transcript.bytes(line as u32, link.parent))?;
                self.by_id
                    .get(target)
                    .copied()
                    .filter(|target| lines.binary_search(target).is_ok())
            });
        let Some(mut leaf) = pointed else {
            return Some(last);
        };
        // Newest descendants: the highest line that has this one as its parent, and so on.
        let mut newest: IdMap<u32, u32> = IdMap::default();
        for line in lines {
            newest.insert(self.parents[*line as usize], *line);
        }
        let mut seen = IdSet::from_iter([leaf]);
        while let Some(child) = newest.get(&leaf).filter(|child| seen.insert(**child)) {
            leaf = *child;
        }
        Some(leaf)
    }

    /// From `leaf` to its root, to the last compaction, or up to and with `end`.
    fn walk(&self, leaf: u32, end: u32) -> Vec<u32> {
        let mut path = vec![leaf];
        let mut seen = IdSet::from_iter([leaf]);
        let mut at = leaf;
        while at != end && !self.has(at, Marks::BOUNDARY) {
            let parent = self.parents[at as usize];
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
        let find = |id: &Vec<u8>| self.by_id.get(id.as_slice()).copied();
        let mut lines: Vec<u32> = preserved.ids.iter().filter_map(find).collect();
        if lines.is_empty()
            && let (Some(head), Some(tail)) = (find(&preserved.head), find(&preserved.tail))
        {
            lines = self.walk(tail, head);
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
    fn gather(&self, branch: &[u32], path: Vec<u32>) -> Vec<u32> {
        let on_path: IdSet<u32> = path.iter().copied().collect();
        let mut siblings: IdMap<&[u8], Vec<u32>> = IdMap::default();
        let mut results: IdMap<&[u8], Vec<u32>> = IdMap::default();
        for line in branch
            .iter()
            .copied()
            .filter(|line| !on_path.contains(line))
        {
            let link = self.link(line);
            match link.role {
                Some(Role::Assistant) if !link.message.is_empty() => {
                    siblings
                        .entry(self.transcript.bytes(line, link.message))
                        .or_default()
                        .push(line);
                }
                Some(Role::User) => {
                    for id in self.calls(line, BlockKind::Result) {
                        results.entry(id).or_default().push(line);
                    }
                }
                Some(Role::Assistant | Role::System | Role::Tool) | None => {}
            }
        }
        if siblings.is_empty() && results.is_empty() {
            return path;
        }
        let mut answered: IdSet<&[u8]> = path
            .iter()
            .flat_map(|line| self.calls(*line, BlockKind::Result))
            .collect();
        let mut parts: IdSet<Part<'_>> = path.iter().flat_map(|line| self.parts(*line)).collect();
        let mut order = Vec::with_capacity(path.len());
        let mut added = IdSet::default();
        for line in path {
            order.push(line);
            let link = self.link(line);
            if link.role != Some(Role::Assistant) {
                continue;
            }
            let mut group = vec![line];
            for other in siblings
                .remove(self.transcript.bytes(line, link.message))
                .unwrap_or_default()
            {
                // History that was written again has the same blocks under other ids: those are there already.
                if self.parts(other).any(|part| !parts.contains(&part)) {
                    parts.extend(self.parts(other));
                    group.push(other);
                    order.push(other);
                }
            }
            for caller in group {
                for id in self.calls(caller, BlockKind::Call) {
                    if !answered.insert(id) {
                        continue;
                    }
                    // Where history was written again the same id was answered twice: the one below this very call.
                    let candidates = results.get(id).map(Vec::as_slice).unwrap_or_default();
                    let below = candidates
                        .iter()
                        .rfind(|line| self.parents[**line as usize] == caller);
                    match below.or(candidates.last()) {
                        Some(answer) if added.insert(*answer) => order.push(*answer),
                        Some(_) => {}
                        None => drop(answered.remove(id)),
                    }
                }
            }
        }
        order
    }

    /// The call ids of a line's blocks of one kind.
    fn calls(&self, line: u32, kind: BlockKind) -> impl Iterator<Item = &'t [u8]> + use<'t, 'a> {
        let transcript = self.transcript;
        transcript.blocks_of_line(line).filter_map(move |b| {
            let block = transcript.block(b);
            (block.kind == kind && !block.call_id.is_empty())
                .then(|| transcript.bytes(line, block.call_id))
        })
    }

    /// What the blocks of an assistant line are, whatever their line's own id.
    fn parts(&self, line: u32) -> impl Iterator<Item = Part<'t>> + use<'t, 'a> {
        let transcript = self.transcript;
        let link = self.link(line);
        let blocks = if link.role == Some(Role::Assistant) {
            transcript.blocks_of_line(line)
        } else {
            0..0
        };
        let message = transcript.bytes(line, link.message);
        blocks.map(move |b| {
            let block = transcript.block(b);
            let what = if block.call_id.is_empty() {
                block.content
            } else {
                block.call_id
            };
            (message, block.kind, transcript.bytes(line, what))
        })
    }

    /// Forms messages of live lines.
    fn conversation(&self, id: ConversationId, live: &[u32]) -> Conversation {
        let mut groups: Vec<Group> = Vec::new();
        for line in live.iter().copied() {
            if self.line(line).kind != LineKind::Message {
                continue;
            }
            let link = self.link(line);
            let kind = self.group_kind(line, link);
            // Attachments stand between results; they don't end a group.
            let mut open = groups
                .iter_mut()
                .rev()
                .filter(|g| g.kind != GroupKind::Attachment);
            let joined = match kind {
                GroupKind::Results => open.next().filter(|g| g.kind == GroupKind::Results),
                GroupKind::Answer if !link.message.is_empty() => open
                    .find(|g| g.kind != GroupKind::Results)
                    .filter(|g| g.kind == GroupKind::Answer && self.same_message(g.lines[0], line)),
                GroupKind::Answer | GroupKind::Words | GroupKind::Attachment => None,
            };
            match joined {
                Some(group) => group.lines.push(line),
                None => groups.push(Group {
                    kind,
                    lines: vec![line],
                }),
            }
        }
        let mut conversation = Conversation::new(id);
        for Group { kind, lines } in groups {
            let role = if kind == GroupKind::Answer {
                Role::Assistant
            } else {
                Role::User
            };
            let content = if let [line] = lines[..] {
                self.link(line).content
            } else {
                Span::default()
            };
            let message = conversation.push(role, Span::default(), content);
            for line in &lines {
                conversation.extend(*line, self.transcript.blocks_of_line(*line));
            }
            let injected = [Marks::META, Marks::SUMMARY, Marks::ECHO];
            if kind == GroupKind::Words && !injected.iter().any(|mark| self.has(lines[0], *mark)) {
                let blocks: Vec<u32> = self.transcript.blocks_of_line(lines[0]).collect();
                conversation.messages[message].typed = self.transcript.is_typed(role, &blocks);
            } else {
                conversation.messages[message].typed = Typed::No;
            }
        }
        conversation
    }

    /// The mirrors of a branch that hang on live lines: a dead copy of a call has progress lines of its own.
    fn mirrors(&self, branch: &[u32], live: &[u32]) -> Vec<u32> {
        let live: IdSet<u32> = live.iter().copied().collect();
        let mut hangs_on_live: IdMap<u32, bool> = IdMap::default();
        let mut mirrors = Vec::new();
        for line in branch
            .iter()
            .copied()
            .filter(|line| self.line(*line).kind == LineKind::Mirror)
        {
            // Mirrors hang on mirrors; what the first of them hangs on decides.
            let mut path = vec![line];
            let mut seen = IdSet::from_iter([line]);
            let is_live = loop {
                let parent = self.parents[path[path.len() - 1] as usize];
                if let Some(known) = hangs_on_live.get(&parent) {
                    break *known;
                }
                let is_mirror = parent != NONE && self.line(parent).kind == LineKind::Mirror;
                if !is_mirror || !seen.insert(parent) {
                    break live.contains(&parent);
                }
                path.push(parent);
            };
            hangs_on_live.extend(path.into_iter().map(|line| (line, is_live)));
            if is_live {
                mirrors.push(line);
            }
        }
        mirrors
    }

    fn group_kind(&self, line: u32, link: &Link) -> GroupKind {
        if link.marks.has(Marks::ATTACHMENT) {
            return GroupKind::Attachment;
        }
        if link.role == Some(Role::Assistant) {
            return GroupKind::Answer;
        }
        let mut blocks = self.transcript.blocks_of_line(line).peekable();
        let only_results = blocks.peek().is_some()
            && blocks.all(|b| self.transcript.block(b).kind == BlockKind::Result);
        if only_results {
            GroupKind::Results
        } else {
            GroupKind::Words
        }
    }

    fn same_message(&self, a: u32, b: u32) -> bool {
        self.transcript.bytes(a, self.link(a).message)
            == self.transcript.bytes(b, self.link(b).message)
    }
}

/// A block of an assistant message: the message's id, its kind, and its call's id or its content.
type Part<'t> = (&'t [u8], BlockKind, &'t [u8]);

/// Lines that form one message.
struct Group {
    kind: GroupKind,
    lines: Vec<u32>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum GroupKind {
    Answer,
    Results,
    Words,
    Attachment,
}

/// What a recorded compaction says of the messages before it that stay in the window.
#[derive(Default)]
struct Preserved {
    anchor: Vec<u8>,
    ids: Vec<Vec<u8>>,
    head: Vec<u8>,
    tail: Vec<u8>,
}

impl Preserved {
    /// Reads `compactMetadata.preservedMessages` and `.preservedSegment` of a boundary line.
    fn read(line: &[u8]) -> Self {
        let mut preserved = Preserved::default();
        let mut c = Cursor::new(line);
        // The line was read before; should it fail all the same, nothing is preserved.
        let read = c.object(|key, c| match (key, c.kind()?) {
            (b"compactMetadata", Kind::Object) => c
                .object(|key, c| match (key, c.kind()?) {
                    (b"preservedMessages" | b"preservedSegment", Kind::Object) => {
                        c.object(|key, c| preserved.key(key, c)).map(drop)
                    }
                    _ => c.skip().map(drop),
                })
                .map(drop),
            _ => c.skip().map(drop),
        });
        if read.is_err() {
            return Preserved::default();
        }
        preserved
    }

    fn key(&mut self, key: &[u8], c: &mut Cursor<'_>) -> crate::scan::Parse<()> {
        let line = c.line();
        let id = |c: &mut Cursor<'_>| {
            let text = c.string_or_skip()?;
            Ok(text.map(|t| t.span.of(line).to_vec()).unwrap_or_default())
        };
        match (key, c.kind()?) {
            (b"anchorUuid", Kind::String) => self.anchor = id(c)?,
            (b"headUuid", Kind::String) => self.head = id(c)?,
            (b"tailUuid", Kind::String) => self.tail = id(c)?,
            (b"uuids", Kind::Array) => {
                let ids = &mut self.ids;
                c.array(|c| {
                    ids.push(id(c)?);
                    Ok(())
                })?;
            }
            _ => drop(c.skip()?),
        }
        Ok(())
    }
}
