//! Writes a summary as the agent's own compaction does: a `compaction_state`, which names the last message that it covers.
//!
//! The last compaction of the file counts, wherever it is. Which lines are dead afterwards is decided in `history`: if the named
//! message is removed with them, the agent sends all remaining messages after the summary.

use std::collections::{BTreeMap, BTreeSet};

use super::history::{compactions, without};
use super::window::Window;
use crate::format::agent::id_of_copy;
use crate::format::shapes::removal::out_of_lines;
use crate::format::shapes::splice::Summary;
use crate::ids::IdSet;
use crate::scan::Value;
use crate::text::push_json_string;
use crate::transcript::{ChangeSet, Conversation, Replace, Transcript};

/// The number of bytes that the agent counts as a token.
const BYTES_PER_TOKEN: usize = 4;

/// Replaces the messages before `tail` with a summary. Without a summary, they are removed at once, since no record could tell the
/// agent to ignore them.
pub(super) fn splice(
    transcript: &Transcript<'_>,
    conversation: &Conversation,
    tail: usize,
    summary: Option<Summary<'_>>,
) -> Option<ChangeSet> {
    let window = Window::of(transcript);
    let first = conversation.messages.get(tail);
    let first = first.map(|message| conversation.first_line(message));
    let kept = match first {
        Some(first) => window.messages.iter().position(|line| *line == first)?,
        None => window.messages.len(),
    };
    let old = &window.messages[..kept];
    let Some(summary) = summary else {
        let mut removed: BTreeSet<u32> = old.iter().copied().collect();
        removed.extend(compactions(transcript));
        return Some(without(transcript, &window, removed));
    };
    let last_compaction = window.summary.map_or(0, |line| line + 1);
    let end = transcript.lines().len() as u32;
    let place = first.unwrap_or(end).max(last_compaction);
    let covered = old.last().copied();
    let link = |line: u32| &transcript.links()[line as usize];
    let anchor = covered.map_or(&[][..], |line| transcript.bytes(line, link(line).id));
    let model = covered.or(window.summary)?;
    let id = id_of_copy(&String::from_utf8_lossy(anchor), summary.text);
    let mut out = format!("{{\"type\":\"compaction_state\",\"id\":\"{id}\"").into_bytes();
    let time = Value::of(transcript.line(model)).field("timestamp");
    if time.string().is_some() {
        out.extend([b",\"timestamp\":", time.raw()].concat());
    }
    out.extend_from_slice(b",\"summaryText\":");
    push_json_string(&mut out, summary.text);
    let tokens = summary.text.len().div_ceil(BYTES_PER_TOKEN);
    out.extend_from_slice(
        format!(",\"summaryTokens\":{tokens},\"summaryKind\":\"llm_summary\"").as_bytes(),
    );
    if !anchor.is_empty() {
        out.extend([b",\"anchorMessage\":{\"id\":\"", anchor, b"\"}"].concat());
    }
    out.extend_from_slice(format!(",\"removedCount\":{}}}", old.len()).as_bytes());
    let mut changes = ChangeSet {
        insert: BTreeMap::from([(place, vec![out])]),
        ..ChangeSet::default()
    };
    if let Some(first) = first.filter(|first| !link(*first).parent.is_empty()) {
        let relinked = Replace::id(first, link(first).parent, Some(id.as_bytes()));
        changes.replace.push(relinked);
    }
    Some(changes)
}

/// Removes blocks from a conversation, and the messages that have no other content.
pub(super) fn removed(
    transcript: &Transcript<'_>,
    conversation: &Conversation,
    blocks: &IdSet<u32>,
) -> ChangeSet {
    let mut changes = out_of_lines(transcript, conversation.all_lines(), blocks);
    let dropped = std::mem::take(&mut changes.drop);
    changes.extend(without(transcript, &Window::of(transcript), dropped));
    changes
}
