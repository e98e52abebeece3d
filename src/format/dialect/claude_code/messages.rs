//! Builds messages from live lines.
//!
//! An answer is spread over lines, one block per line, and interleaved with the results of its calls. If a file contains a part
//! twice, the agent sends one of the two; the other is a copy.

use std::collections::BTreeMap;

use super::link::Window;
use super::tree::Tree;
use crate::format::shapes::blocks;
use crate::ids::{IdMap, IdSet};
use crate::scan::Span;
use crate::transcript::{
    BlockKind, Conversation, ConversationId, LineKind, Link, LinkKind, Role, Typed,
};

impl Tree<'_, '_> {
    /// Builds messages from live lines.
    pub(super) fn conversation(&self, id: ConversationId, window: &Window) -> Conversation {
        let mut groups: Vec<Group> = Vec::new();
        // The last group that is not an attachment (an attachment may stand between results and does not end a group), and the last
        // that is neither an attachment nor results.
        let (mut last, mut last_words) = (None, None);
        for line in window.lines.iter().copied() {
            if self.line(line).kind != LineKind::Message {
                continue;
            }
            let link = self.link(line);
            let kind = self.group_kind(line, link);
            let open = match kind {
                GroupKind::Results => last,
                GroupKind::Answer if !link.message.is_empty() => last_words,
                GroupKind::Answer | GroupKind::Words | GroupKind::Attachment => None,
            };
            let open = open.and_then(|open: usize| groups.get_mut(open));
            let joined = open.filter(|group| {
                let is_same =
                    || kind == GroupKind::Results || self.same_message(group.lines[0], line);
                group.kind == kind && is_same()
            });
            if let Some(group) = joined {
                group.lines.push(line);
                continue;
            }
            if kind != GroupKind::Attachment {
                last = Some(groups.len());
                last_words = last.filter(|_| kind != GroupKind::Results).or(last_words);
            }
            groups.push(Group {
                kind,
                lines: vec![line],
            });
        }
        let mut conversation = Conversation::new(id);
        conversation.copies = self.copies(window);
        for Group { kind, lines } in groups {
            let is_sent = |block: &u32| !conversation.copies.contains_key(block);
            let blocks_of = |line: u32| self.transcript.blocks_of_line(line).filter(is_sent);
            if lines
                .iter()
                .all(|line| window.gathered.contains(line) && blocks_of(*line).next().is_none())
            {
                continue;
            }
            let blocks: Vec<Vec<u32>> = lines.iter().map(|l| blocks_of(*l).collect()).collect();
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
            let first = self.link(lines[0]);
            let is_agents = first.is_injected || first.is_summary || first.is_echo;
            // Without the copies of results, a message may begin with different words than its line.
            let is_echo = || self.begins_as_echo(&blocks[0]);
            let typed = if kind == GroupKind::Words && !is_agents && !is_echo() {
                self.transcript.is_typed(role, &blocks[0])
            } else {
                Typed::No
            };
            let message = conversation.push(role, Span::default(), content);
            conversation.messages[message].typed = typed;
            conversation.messages[message].is_summary = first.is_summary;
            for (line, blocks) in lines.iter().zip(blocks) {
                conversation.extend(*line, blocks);
            }
        }
        conversation
    }

    fn begins_as_echo(&self, blocks: &[u32]) -> bool {
        let texts = blocks.iter().map(|b| self.transcript.block(*b));
        let mut texts =
            texts.flat_map(|b| self.transcript.texts(b).iter().map(move |text| (b, text)));
        texts.next().is_some_and(|(block, text)| {
            blocks::is_echo(self.transcript.bytes(block.line, text.span))
        })
    }

    /// The calls and results that are in the window twice, and the copy of each that is sent.
    ///
    /// If history was written again with the same API message ids, the agents send the texts of both copies, but each call and each
    /// result only once. Versions differ in which copy they take; here it is the one on the path, or else the first.
    fn copies(&self, window: &Window) -> BTreeMap<u32, u32> {
        let mut copies = BTreeMap::new();
        if window.gathered.is_empty() {
            return copies;
        }
        let mut sent: IdMap<(BlockKind, &[u8]), u32> = IdMap::default();
        let is_gathered = |line: &u32| window.gathered.contains(line);
        let on_path = window.lines.iter().filter(|line| !is_gathered(line));
        let off_path = window.lines.iter().filter(|line| is_gathered(line));
        for line in on_path.chain(off_path) {
            for b in self.transcript.blocks_of_line(*line) {
                let block = self.transcript.block(b);
                let is_tied = matches!(block.kind, BlockKind::Call | BlockKind::Result);
                if !is_tied || block.call_id.is_empty() {
                    continue;
                }
                let id = (block.kind, self.transcript.bytes(*line, block.call_id));
                let first = *sent.entry(id).or_insert(b);
                if first != b && is_gathered(line) {
                    copies.insert(b, first);
                }
            }
        }
        copies
    }

    /// The mirrors of a branch that are attached to live lines: a dead copy of a call has its own progress lines.
    pub(super) fn mirrors(&self, branch: &[u32], live: &[u32]) -> Vec<u32> {
        let live: IdSet<u32> = live.iter().copied().collect();
        let mut known = IdMap::default();
        let mut mirrors = Vec::new();
        for line in branch
            .iter()
            .copied()
            .filter(|line| self.line(*line).kind == LineKind::Mirror)
        {
            // A mirror may be attached to another mirror; the nearest ancestor that is not a mirror decides.
            let is_other = |above| self.line(above).kind != LineKind::Mirror;
            let is_live = live.contains(&self.climb(line, &mut known, is_other).stop);
            if is_live {
                mirrors.push(line);
            }
        }
        mirrors
    }

    fn group_kind(&self, line: u32, link: &Link) -> GroupKind {
        if link.kind == LinkKind::Attachment {
            return GroupKind::Attachment;
        }
        if link.role == Some(Role::Assistant) {
            return GroupKind::Answer;
        }
        if self.is_results(line) {
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
