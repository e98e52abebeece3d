//! What Claude Code requires of a session file to resume it, beyond what the API requires of the messages.
//!
//! The agent walks from a leaf to a root and silently ignores anything missing on the way: a parent that does not exist, a summary
//! that is not on the path. So each of these is an error here. Never looks at dates or at the order of lines, except for what comes
//! after the last compaction.

use crate::ids::{IdMap, IdSet};
use crate::scan::{Kind, Value};
use crate::transcript::{ConversationId, LineKind, Link, Role, Transcript};
use crate::verify::{Findings, Rule};

/// Checks the chain; the messages are checked before it.
pub(super) fn check(f: &mut Findings<'_, '_>) {
    let chain = Chain::new(f.transcript);
    let mut seen = IdSet::default();
    f.conversations(|f, conversation| {
        for line in conversation.all_lines() {
            chain.walk(f, *line, Rule::ChainParentMissing, &mut seen);
        }
    });
    f.within(&ConversationId::Main);
    chain.preserved(f, &seen);
    chain.dead_ends(f, &mut seen);
    chain.compaction(f);
    chain.ids(f);
}

/// How the lines of a session are linked.
struct Chain<'t, 'a> {
    transcript: &'t Transcript<'a>,
    /// The line of each uuid; if a uuid occurs twice, the last line.
    by_id: IdMap<&'t [u8], u32>,
    /// Lines that a model sees.
    live: IdSet<u32>,
    /// Compactions, in the order of the file, each with the lines that it names.
    boundaries: Vec<(u32, Vec<Named<'t>>)>,
    /// The last compaction that is not a sidechain's.
    last_boundary: Option<u32>,
    /// Lines that a compaction moves elsewhere: their parents are not followed.
    moved: IdSet<u32>,
    /// Whether all lines are sidechain lines: then they form the main conversation.
    all_aside: bool,
}

/// A line that a compaction names, by its uuid.
struct Named<'t> {
    id: &'t [u8],
    reach: Reach,
}

/// How the agent reaches a line that a compaction names.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reach {
    /// By its id, or as the end of a walk.
    Directly,
    /// By following the chain.
    ByChain,
}

impl<'t, 'a> Chain<'t, 'a> {
    fn new(transcript: &'t Transcript<'a>) -> Self {
        let chained = || {
            (0u32..)
                .zip(transcript.links())
                .filter(|(_, link)| !link.id.is_empty())
        };
        let mut chain = Chain {
            transcript,
            by_id: chained()
                .map(|(line, link)| (transcript.bytes(line, link.id), line))
                .collect(),
            live: transcript
                .conversations
                .iter()
                .flat_map(|c| c.all_lines().iter().copied())
                .collect(),
            boundaries: chained()
                .filter(|(_, link)| link.is_boundary())
                .map(|(line, _)| (line, named_by(transcript.line(line))))
                .collect(),
            last_boundary: None,
            moved: IdSet::default(),
            all_aside: chained().all(|(_, link)| link.is_sidechain),
        };
        let on_main = |(line, _): &&(u32, _)| chain.is_main(*line);
        chain.last_boundary = chain
            .boundaries
            .iter()
            .rfind(on_main)
            .map(|(line, _)| *line);
        let named = chain.boundaries.iter().flat_map(|(_, named)| named);
        let directly = named.filter(|named| named.reach == Reach::Directly);
        let moved = directly.filter_map(|named| chain.find(named.id));
        chain.moved = moved.collect();
        chain
    }

    fn link(&self, line: u32) -> &'t Link {
        &self.transcript.links()[line as usize]
    }

    fn find(&self, id: &[u8]) -> Option<u32> {
        self.by_id.get(id).copied()
    }

    fn is_main(&self, line: u32) -> bool {
        self.all_aside || !self.link(line).is_sidechain
    }

    /// Whether `line` comes after the last compaction.
    fn is_recent(&self, line: u32) -> bool {
        self.last_boundary.is_none_or(|boundary| line > boundary)
    }

    /// Follows the parents of `line` up to a root, a compaction or a line in `seen`; a parent that is not in the file breaks
    /// `rule`.
    fn walk(&self, f: &mut Findings<'t, 'a>, line: u32, rule: Rule, seen: &mut IdSet<u32>) {
        let mut at = line;
        while seen.insert(at) {
            let link = self.link(at);
            if link.is_boundary() || self.moved.contains(&at) || link.parent.is_empty() {
                return;
            }
            match self.find(self.transcript.bytes(at, link.parent)) {
                Some(parent) => at = parent,
                None => return f.error(rule, at, f.uuid(at)),
            }
        }
    }

    /// Checks that the lines that the compactions of live paths preserve exist.
    fn preserved(&self, f: &mut Findings<'t, 'a>, on_path: &IdSet<u32>) {
        for (line, named) in self
            .boundaries
            .iter()
            .filter(|(line, _)| on_path.contains(line))
        {
            let mut missing = IdSet::default();
            for Named { id, .. } in named {
                if self.find(id).is_none() && missing.insert(id) {
                    f.error(Rule::PreservedMissing, *line, id);
                }
            }
        }
    }

    /// Reports messages after the last compaction that no model sees because their chain is broken.
    fn dead_ends(&self, f: &mut Findings<'t, 'a>, seen: &mut IdSet<u32>) {
        for (number, line) in (0u32..).zip(self.transcript.lines()) {
            let is_lost = line.kind == LineKind::Message
                && !f.uuid(number).is_empty()
                && !self.live.contains(&number)
                && self.is_recent(number);
            if is_lost {
                self.walk(f, number, Rule::ChainBroken, seen);
            }
        }
    }

    /// Checks the last compaction: its boundary must be the parent of a line, and its summary must be sent.
    fn compaction(&self, f: &mut Findings<'t, 'a>) {
        let boundary = self.last_boundary.map(|line| (line, f.uuid(line)));
        let is_child_of =
            |line: u32, id: &[u8]| self.transcript.bytes(line, self.link(line).parent) == id;
        let links = || (0u32..).zip(self.transcript.links());
        if let Some((line, id)) = boundary
            && !links().any(|(child, link)| !link.id.is_empty() && is_child_of(child, id))
        {
            f.error(Rule::BoundaryAlone, line, id);
        }
        let belongs = |line| {
            self.is_main(line)
                && (self.is_recent(line) || boundary.is_some_and(|(_, id)| is_child_of(line, id)))
        };
        let summary = links()
            .filter(|(line, link)| link.is_summary && belongs(*line))
            .last();
        let Some((summary, link)) = summary else {
            return;
        };
        if !self.live.contains(&summary) {
            f.error(Rule::SummaryNotSent, summary, f.uuid(summary));
        } else if link.role != Some(Role::User)
            || link.content.is_empty()
            || link.parent.is_empty() && !link.is_root
            || !is_of_user(self.transcript.line(summary))
        {
            f.error(Rule::SummaryMalformed, summary, f.uuid(summary));
        }
    }

    /// Reports ids that occur twice, and a leaf that does not exist.
    fn ids(&self, f: &mut Findings<'t, 'a>) {
        let mut seen = IdSet::default();
        let mut leaf = None;
        for (line, link) in (0u32..).zip(self.transcript.links()) {
            let id = self.transcript.bytes(line, link.id);
            if !id.is_empty() && !seen.insert(id) {
                f.warning(Rule::DuplicateUuid, line, id);
            }
            if link.is_pointer() && !link.parent.is_empty() {
                leaf = Some((line, self.transcript.bytes(line, link.parent)));
            }
        }
        // Earlier pointers do not matter: the agent takes the last one.
        if let Some((line, id)) = leaf.filter(|(_, id)| self.find(id).is_none()) {
            f.warning(Rule::LeafMissing, line, id);
        }
    }
}

/// The uuids in `compactMetadata.preservedMessages` and `.preservedSegment` of a boundary line.
fn named_by<'t>(line: &'t [u8]) -> Vec<Named<'t>> {
    let metadata = Value::of(line).field("compactMetadata");
    let mut named = Vec::new();
    for (_, part) in metadata.in_order(["preservedMessages", "preservedSegment"]) {
        for (name, ids) in part.in_order(["uuids", "headUuid", "anchorUuid", "tailUuid"]) {
            let reach = match name {
                "uuids" | "headUuid" => Reach::Directly,
                _ => Reach::ByChain,
            };
            let mut push = |id: Value<'t>| {
                let id = id.string().filter(|id| !id.is_empty());
                named.extend(id.map(|id| Named { id, reach }));
            };
            match ids.kind() {
                Some(Kind::Array) => ids.elements(push),
                _ => push(ids),
            }
        }
    }
    named
}

/// Whether the message of a line has the user's role.
fn is_of_user(line: &[u8]) -> bool {
    Value::of(line).within(&["message", "role"]).string() == Some(b"user")
}
