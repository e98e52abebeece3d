//! The records of a session that no model will ever see again.
//!
//! Messages that a compaction replaced, or that the user cleared or undid, are dead, together with the records that repeat them or
//! report their turns; so is every list of tools but the last, since the agent only logs these lists.

use std::collections::BTreeSet;

use super::chain::renumber;
use super::window::{Compactions, Window};
use crate::ids::IdMap;
use crate::scan::Value;
use crate::transcript::{
    BlockKind, ChangeSet, Compaction, LineKind, Link, LinkKind, Replace, Role, Transcript,
};

/// The dead records, or none if the rest would contain no message.
pub(super) fn dead(transcript: &Transcript<'_>) -> ChangeSet {
    let window = Window::of(transcript, Compactions::Apply);
    if window.lines().next().is_none() {
        return ChangeSet::default();
    }
    let links = transcript.links();
    let mut dropped = window.dead.clone();
    let names = Names::of(transcript, &dropped);
    if window.is_cut {
        let before = 0..begins(transcript, &window);
        dropped.extend(before.filter(|line| {
            let kind = links[*line as usize].kind;
            match transcript.lines()[*line as usize].kind {
                LineKind::Mirror => !names.knows(*line),
                LineKind::Control => matches!(
                    kind,
                    LinkKind::Other | LinkKind::Compaction(Compaction::Boundary)
                ),
                LineKind::Message | LineKind::Session | LineKind::Unknown | LineKind::Bad => false,
            }
        }));
    }
    dropped.extend(names.gone());
    let is_list = |line: &u32| links[*line as usize].kind == LinkKind::Request;
    let lists: Vec<u32> = (0..links.len() as u32).filter(is_list).collect();
    if let Some((_, earlier)) = lists.split_last() {
        dropped.extend(earlier);
    }
    dropped.retain(|line| transcript.is_there(*line));
    let mut changes = ChangeSet {
        drop: dropped,
        ..ChangeSet::default()
    };
    let counting = window.compaction.filter(|_| window.keeps_end);
    if let Some(line) = counting.filter(|line| !changes.drop.contains(line)) {
        changes
            .replace
            .extend(counts_none(transcript, line, &changes));
    }
    renumber(transcript, &mut changes);
    changes
}

/// The line at which the current part of the session begins: the last compaction if it kept the user's messages, otherwise the
/// first live line; in both cases including the prompt records right before it.
fn begins(transcript: &Transcript<'_>, window: &Window) -> u32 {
    let links = transcript.links();
    let last = window.compaction;
    let keeps_words = last.is_some_and(|line| {
        links[line as usize].kind == LinkKind::Compaction(Compaction::UserWords)
    });
    let from = match last.filter(|_| keeps_words) {
        Some(line) => line,
        None => window.lines().min().unwrap_or(0),
    };
    // The record of a prompt comes before its message, which older versions do not name.
    let is_prompt = |line: &u32| {
        let link = &links[*line as usize];
        link.role == Some(Role::User)
            && link.content.is_empty()
            && transcript.lines()[*line as usize].kind == LineKind::Mirror
            && transcript.is_there(*line)
    };
    let kind = |line: u32| transcript.lines()[line as usize].kind;
    let mut before = (0..from).rev().filter(|line| kind(*line) != LineKind::Bad);
    let mut begins = from;
    while let Some(line) = before.next().filter(is_prompt) {
        begins = line;
    }
    begins
}

/// A compaction counts messages from the beginning of the file: when those that it covers are removed, it covers none of the rest,
/// so its count becomes 0.
fn counts_none(transcript: &Transcript<'_>, line: u32, changes: &ChangeSet) -> Vec<Replace> {
    if changes.drop.is_empty() {
        return Vec::new();
    }
    let counts = Value::of(transcript.line(line)).fields(["compactedCount", "count"]);
    let counts = counts.into_iter().filter_map(Value::figure);
    counts
        .filter(|(_, count)| *count > 0)
        .map(|(span, _)| Replace::number(line, span, 0))
        .collect()
}

/// Identifies a message: by its call, its answer or its prompt.
type Name<'t> = (Role, &'t [u8]);

/// The messages that records repeat, and whether all of their lines are gone.
struct Names<'t, 'a> {
    transcript: &'t Transcript<'a>,
    is_gone: IdMap<Name<'t>, bool>,
}

impl<'t, 'a> Names<'t, 'a> {
    fn of(transcript: &'t Transcript<'a>, dropped: &BTreeSet<u32>) -> Self {
        let mut is_gone: IdMap<Name<'t>, bool> = IdMap::default();
        for (line, link) in (0u32..).zip(transcript.links()) {
            let is_message = transcript.lines()[line as usize].kind == LineKind::Message;
            if let Some(name) = name(transcript, line, link).filter(|_| is_message) {
                *is_gone.entry(name).or_insert(true) &= dropped.contains(&line);
            }
        }
        Names {
            transcript,
            is_gone,
        }
    }

    /// Whether the message that a record repeats is gone; `None` if it repeats none.
    fn is_gone(&self, line: u32) -> Option<bool> {
        let link = &self.transcript.links()[line as usize];
        let name = (link.role?, self.transcript.bytes(line, link.content));
        self.is_gone.get(&name).copied()
    }

    fn knows(&self, line: u32) -> bool {
        self.is_gone(line).is_some()
    }

    /// The records that repeat messages without any remaining line.
    fn gone(&self) -> impl Iterator<Item = u32> + '_ {
        let lines = 0..self.transcript.links().len() as u32;
        let is_copy = |line: &u32| self.transcript.lines()[*line as usize].kind == LineKind::Mirror;
        lines.filter(move |line| is_copy(line) && self.is_gone(*line) == Some(true))
    }
}

/// The name of the message that a record belongs to.
fn name<'t>(transcript: &'t Transcript<'_>, line: u32, link: &Link) -> Option<Name<'t>> {
    let role = link.role?;
    let id = match role {
        Role::Tool => {
            let block = transcript.blocks_of_line(line).next()?;
            let block = transcript.block(block);
            transcript.bytes(line, block.call_id)
        }
        Role::Assistant => transcript.bytes(line, link.content),
        Role::User | Role::System => transcript.bytes(line, link.id),
    };
    let is_named = match role {
        Role::Assistant => transcript.bytes(line, link.message) == b"step.end",
        Role::Tool | Role::User | Role::System => true,
    };
    (is_named && !id.is_empty()).then_some((role, id))
}

/// Drops records of messages, together with those that repeat them; a step without remaining content is removed as a whole.
pub(super) fn without(transcript: &Transcript<'_>, mut dropped: BTreeSet<u32>) -> ChangeSet {
    if dropped.is_empty() {
        return ChangeSet::default();
    }
    let window = Window::of(transcript, Compactions::Apply);
    let says = |line: &u32| {
        let mut blocks = transcript.blocks_of_line(*line);
        !dropped.contains(line) && blocks.any(|b| transcript.block(b).kind != BlockKind::Attachment)
    };
    let silent = window.live.iter().filter(|entry| {
        entry.lines.iter().any(|line| dropped.contains(line)) && !entry.lines.iter().any(says)
    });
    let silent: Vec<u32> = silent.flat_map(|entry| entry.lines.clone()).collect();
    dropped.extend(silent);
    let gone: Vec<u32> = Names::of(transcript, &dropped).gone().collect();
    dropped.extend(gone);
    // Counts record the number of messages they cover, so they become invalid.
    let links = (0u32..).zip(transcript.links());
    let counts =
        links.filter(|(line, link)| link.kind == LinkKind::Count && transcript.is_there(*line));
    dropped.extend(counts.map(|(line, _)| line));
    let mut changes = ChangeSet {
        drop: dropped,
        ..ChangeSet::default()
    };
    renumber(transcript, &mut changes);
    changes
}
