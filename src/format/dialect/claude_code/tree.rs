//! How the lines of a session are linked: which line is the parent of another, and which sidechain a line is on.
//!
//! The agents find a parent by its id. If no line has that id, they continue with the preceding line in the file, provided it was
//! written at most five seconds earlier. Lines that describe the session are outside the chain, even if they have ids; a line of an
//! unknown type is part of the chain, because a newer agent may follow the chain through it.
//!
//! Never decides what a model sees: that is `link`.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};

use crate::format::shapes::climb::climb;
pub(super) use crate::format::shapes::climb::{Above, NONE};
use crate::ids::IdMap;
use crate::scan::Value;
use crate::transcript::{BlockKind, Line, LineKind, Link, Transcript};

/// How much earlier the preceding line may have been written to still replace a missing parent (as both 2.1.112 and 2.1.330 behave:
/// 5.000 s is bridged, 5.100 s is not).
const BRIDGE: SignedDuration = SignedDuration::from_secs(5);

/// The chained lines of a session.
pub(super) struct Tree<'t, 'a> {
    pub(super) transcript: &'t Transcript<'a>,
    /// For each line, the line that it follows.
    parents: Vec<u32>,
    by_id: IdMap<&'t [u8], u32>,
}

impl<'t, 'a> Tree<'t, 'a> {
    pub(super) fn new(transcript: &'t Transcript<'a>) -> Self {
        let mut by_id = IdMap::default();
        for (line, link) in (0u32..).zip(transcript.links()) {
            if !link.id.is_empty() {
                // If a line was written twice, the last one counts.
                by_id.insert(transcript.bytes(line, link.id), line);
            }
        }
        let mut tree = Tree {
            transcript,
            parents: Vec::with_capacity(transcript.links().len()),
            by_id,
        };
        // The newest line so far in the main conversation and in the sidechains.
        let mut before = [NONE; 2];
        for (line, link) in (0u32..).zip(transcript.links()) {
            if link.id.is_empty() || tree.comes_again(line) {
                tree.parents.push(NONE);
                continue;
            }
            let before = &mut before[usize::from(link.is_sidechain)];
            let named = tree.named(transcript.bytes(line, link.parent));
            let parent = named.unwrap_or_else(|| {
                if link.parent.is_empty() {
                    NONE
                } else {
                    tree.bridge(*before, line)
                }
            });
            tree.parents.push(parent);
            *before = line;
        }
        tree
    }

    /// `before`, if it replaces the missing parent of `line`; otherwise [`NONE`].
    fn bridge(&self, before: u32, line: u32) -> u32 {
        if before == NONE {
            return NONE;
        }
        let (Some(earlier), Some(later)) = (self.timestamp(before), self.timestamp(line)) else {
            return NONE;
        };
        let gap = later.duration_since(earlier);
        if SignedDuration::ZERO <= gap && gap <= BRIDGE {
            before
        } else {
            NONE
        }
    }

    fn timestamp(&self, line: u32) -> Option<Timestamp> {
        let line = Value::of(self.transcript.line(line));
        let timestamp = std::str::from_utf8(line.field("timestamp").string()?);
        timestamp.ok()?.parse().ok()
    }

    pub(super) fn link(&self, line: u32) -> &'t Link {
        &self.transcript.links()[line as usize]
    }

    pub(super) fn line(&self, line: u32) -> &'t Line {
        &self.transcript.lines()[line as usize]
    }

    /// The line that a line follows, or [`NONE`].
    pub(super) fn parent(&self, line: u32) -> u32 {
        self.parents[line as usize]
    }

    /// The chained line of that id.
    pub(super) fn named(&self, id: &[u8]) -> Option<u32> {
        self.by_id.get(id).copied()
    }

    /// Whether a later line has the same id and therefore counts instead.
    pub(super) fn comes_again(&self, line: u32) -> bool {
        self.named(self.transcript.bytes(line, self.link(line).id)) != Some(line)
    }

    /// A line's own id, as a text for people.
    pub(super) fn id_of(&self, line: u32) -> String {
        String::from_utf8_lossy(self.transcript.bytes(line, self.link(line).id)).into_owned()
    }

    /// The line itself and its ancestors, up to the root.
    pub(super) fn ancestry(&self, line: u32) -> impl Iterator<Item = u32> + '_ {
        // No chain is longer than the file; a longer one has a loop.
        std::iter::successors(Some(line), |line| {
            Some(self.parent(*line)).filter(|parent| *parent != NONE)
        })
        .take(self.parents.len())
    }

    /// The call ids of a line's blocks of one kind.
    pub(super) fn calls(
        &self,
        line: u32,
        kind: BlockKind,
    ) -> impl Iterator<Item = &'t [u8]> + use<'t, 'a> {
        let transcript = self.transcript;
        transcript.blocks_of_line(line).filter_map(move |b| {
            let block = transcript.block(b);
            (block.kind == kind && !block.call_id.is_empty())
                .then(|| transcript.bytes(line, block.call_id))
        })
    }

    /// Whether a line holds only results.
    pub(super) fn is_results(&self, line: u32) -> bool {
        let mut blocks = self.transcript.blocks_of_line(line).peekable();
        self.line(line).kind == LineKind::Message
            && blocks.peek().is_some()
            && blocks.all(|b| self.transcript.block(b).kind == BlockKind::Result)
    }

    /// The chained lines of the main conversation (`None`) and of each sidechain by its first line.
    ///
    /// A file with only sidechain lines is one conversation. A line that is repeated later is on no branch.
    pub(super) fn branches(&self) -> BTreeMap<Option<u32>, Vec<u32>> {
        let chained = || {
            (0u32..)
                .zip(self.transcript.links())
                .filter(|(line, link)| !link.id.is_empty() && !self.comes_again(*line))
                .map(|(line, _)| line)
        };
        let all_aside = chained().all(|line| self.link(line).is_sidechain);
        let mut branches = BTreeMap::from([(None, Vec::new())]);
        let mut roots = IdMap::default();
        for line in chained() {
            let root = (!all_aside && self.link(line).is_sidechain)
                .then(|| self.root_aside(line, &mut roots));
            branches.entry(root).or_insert_with(Vec::new).push(line);
        }
        branches
    }

    /// The first line of the sidechain that `line` is on.
    fn root_aside(&self, line: u32, known: &mut IdMap<u32, Above>) -> u32 {
        self.climb(line, known, |above| !self.link(above).is_sidechain)
            .last
    }

    /// Walks from parent to parent up to a line that `stops` it. `known` caches the results, and is valid only for this `stops`.
    pub(super) fn climb(
        &self,
        line: u32,
        known: &mut IdMap<u32, Above>,
        stops: impl Fn(u32) -> bool,
    ) -> Above {
        climb(line, known, |line| self.parent(line), stops)
    }
}
