//! The events of a session that no model will ever see again, and how the other events are linked without them.
//!
//! These are messages before the live window, with the events of their turns, and every system prompt but the last; the agent
//! neither compares system prompts with anything nor sends them. The user's words stay: the agent quotes them before the summary.
//! Subagents' events stay.

use std::collections::{BTreeMap, BTreeSet};

use super::window::{Compactions, Window};
use crate::transcript::{ChangeSet, LineKind, Link, LinkKind, Replace, Role, Transcript};

/// The dead lines of a session, or none if the rest would contain no message.
pub(super) fn dead(transcript: &Transcript<'_>) -> ChangeSet {
    let window = Window::of(transcript, Compactions::Apply);
    if window.live.is_empty() {
        return ChangeSet::default();
    }
    let links = transcript.links();
    let link = |line: u32| links.get(line as usize).copied().unwrap_or_default();
    let is_prompt = |line: &u32| {
        let link = link(*line);
        link.role == Some(Role::System) && !link.is_sidechain
    };
    let lines = 0..transcript.lines().len() as u32;
    let last_prompt = lines.clone().rev().find(is_prompt);
    let is_dead = |line: &u32| {
        let of = link(*line);
        if is_prompt(line) {
            return Some(*line) != last_prompt;
        }
        match transcript.lines()[*line as usize].kind {
            LineKind::Message | LineKind::Mirror | LineKind::Control => {
                *line < window.begins && !of.is_sidechain && !is_quoted(&of)
            }
            LineKind::Session | LineKind::Unknown | LineKind::Bad => false,
        }
    };
    let removed = lines
        .filter(|line| transcript.is_there(*line))
        .filter(is_dead);
    without(transcript, removed.collect())
}

/// Whether the agent quotes an event before its summary.
fn is_quoted(link: &Link) -> bool {
    link.role == Some(Role::User) && !link.is_injected && !link.is_summary
}

/// Drops lines and gives the kept lines new parents.
pub(super) fn without(transcript: &Transcript<'_>, removed: BTreeSet<u32>) -> ChangeSet {
    if removed.is_empty() {
        return ChangeSet::default();
    }
    let links = transcript.links();
    let id = |line: u32, link: &Link| transcript.bytes(line, link.id);
    let lines = || (0u32..).zip(links);
    let gone: BTreeMap<&[u8], u32> = lines()
        .filter(|(line, link)| removed.contains(line) && !link.id.is_empty())
        .map(|(line, link)| (id(line, link), line))
        .collect();
    let there: BTreeSet<&[u8]> = lines()
        .filter(|(line, _)| !removed.contains(line))
        .map(|(line, link)| id(line, link))
        .collect();
    let parent = |line: u32| transcript.bytes(line, links[line as usize].parent);
    let mut replace = Vec::new();
    for (line, link) in lines() {
        let named = parent(line);
        if removed.contains(&line) || !gone.contains_key(named) || there.contains(named) {
            continue;
        }
        // No chain is longer than the file; a longer one has a loop.
        let mut above = named;
        for _ in 0..links.len() {
            let Some(next) = gone.get(above) else { break };
            above = parent(*next);
        }
        let above = Some(above).filter(|above| !above.is_empty() && there.contains(above));
        replace.push(Replace::id(line, link.parent, above));
    }
    ChangeSet {
        replace,
        drop: removed,
        ..ChangeSet::default()
    }
}

/// Whether a line is a recorded compaction of the main conversation.
pub(super) fn is_compaction(link: &Link) -> bool {
    matches!(link.kind, LinkKind::Compaction(_)) && !link.is_sidechain
}
