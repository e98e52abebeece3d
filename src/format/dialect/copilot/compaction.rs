//! Writes a summary as Copilot does: a `session.compaction_start` before the first kept message and, next to it, the
//! `session.compaction_complete` with the summary.
//!
//! The start event is needed: otherwise an earlier one that is still pending would decide what stays. A compaction that ended after
//! the first kept message would be applied after this one; it is removed, since its summary is part of what was summarised. A
//! subagent's conversation cannot record the place of a summary: the agent does not continue it.

use std::collections::BTreeSet;

use super::history::{self, is_compaction};
use super::window::is_message;
use crate::format::agent::id_of_copy;
use crate::format::shapes::removal::out_of_lines;
use crate::format::shapes::splice::{Splice, Summary};
use crate::ids::IdSet;
use crate::scan::Value;
use crate::text::push_json_string;
use crate::transcript::{
    ChangeSet, Compaction, Conversation, ConversationId, LinkKind, Message, Replace, Transcript,
};

/// Inserts a summary into a session. Without a summary, the old messages are removed at once, since no event could tell the agent
/// to ignore them.
pub(super) fn splice(
    transcript: &Transcript<'_>,
    conversation: &Conversation,
    tail: usize,
    summary: Option<Summary<'_>>,
) -> Option<Splice> {
    let (old, kept) = conversation
        .messages
        .split_at(tail.min(conversation.messages.len()));
    let last = conversation.lines(old.last()?).last().copied()?;
    let first = kept.first().map(|message| conversation.first_line(message));
    match (summary, &conversation.id) {
        (None, _) => Some(without_old(transcript, conversation, kept).into()),
        (Some(summary), ConversationId::Main) => {
            Some(with_summary(transcript, first, last, summary))
        }
        (Some(_), ConversationId::Sidechain(_) | ConversationId::Line(_)) => None,
    }
}

/// Removes the messages before those that are kept.
fn without_old(
    transcript: &Transcript<'_>,
    conversation: &Conversation,
    kept: &[Message],
) -> ChangeSet {
    let links = transcript.links();
    let kept = kept.iter().flat_map(|message| conversation.lines(message));
    let kept: BTreeSet<u32> = kept.copied().collect();
    let is_old = |line: &u32| match conversation.id {
        ConversationId::Main => {
            let link = &links[*line as usize];
            (is_message(link) && !link.is_sidechain || is_compaction(link)) && !kept.contains(line)
        }
        ConversationId::Sidechain(_) | ConversationId::Line(_) => {
            conversation.path.contains(line) && !kept.contains(line)
        }
    };
    let old = (0..links.len() as u32).filter(is_old).collect();
    history::without(transcript, old)
}

/// Inserts a compaction before the line `first`, or at the end; `last` is the last line that it replaces.
fn with_summary(
    transcript: &Transcript<'_>,
    first: Option<u32>,
    last: u32,
    summary: Summary<'_>,
) -> Splice {
    let links = transcript.links();
    let place = first.unwrap_or(transcript.lines().len() as u32);
    let mut changes = history::without(transcript, superseded(transcript, place));
    let parent = match first {
        // If the old parent was removed, its own new parent takes its place.
        Some(first) => {
            let link = &links[first as usize];
            let at = changes
                .replace
                .iter()
                .position(|r| r.line == first && r.span.end() == link.parent.end() + 1);
            match at.map(|at| changes.replace.remove(at)) {
                Some(replaced) => replaced.with,
                None => of_link(transcript.bytes(first, link.parent)),
            }
        }
        None => {
            let named = (0..links.len() as u32)
                .rev()
                .find(|line| !links[*line as usize].id.is_empty() && !changes.drop.contains(line));
            of_link(named.map_or(&[][..], |line| {
                transcript.bytes(line, links[line as usize].id)
            }))
        }
    };
    let [start, end] = ["start", "end"].map(|which| {
        let after = [which.as_bytes(), b" ", parent.as_slice()].concat();
        id_of_copy(&String::from_utf8_lossy(&after), summary.text)
    });
    if let Some(first) = first {
        let link = &links[first as usize];
        if !link.parent.is_empty() {
            changes
                .replace
                .push(Replace::id(first, link.parent, Some(end.as_bytes())));
        }
    }
    let mut data = format!(
        "{{\"success\":true,\"preCompactionTokens\":{},\"summaryContent\":",
        summary.tokens_before
    )
    .into_bytes();
    push_json_string(&mut data, summary.text);
    data.push(b'}');
    let time = timestamp(transcript, last);
    let begun = event("session.compaction_start", b"{}", &start, &time, &parent);
    let link = of_link(start.as_bytes());
    let done = event("session.compaction_complete", &data, &end, &time, &link);
    changes.insert.insert(place, vec![begun, done]);
    Splice {
        changes,
        begins: Some(end),
    }
}

/// The compactions that would be applied after a compaction at `place`.
fn superseded(transcript: &Transcript<'_>, place: u32) -> BTreeSet<u32> {
    let links = transcript.links();
    let later = (place..links.len() as u32).filter(|line| is_compaction(&links[*line as usize]));
    let later: Vec<u32> = later.collect();
    let is_summary =
        |line: &u32| links[*line as usize].kind == LinkKind::Compaction(Compaction::Summary);
    let last = later.iter().rposition(is_summary);
    later
        .into_iter()
        .take(last.map_or(0, |at| at + 1))
        .collect()
}

/// Removes blocks from a conversation, and the events that have no other content.
pub(super) fn without(
    transcript: &Transcript<'_>,
    conversation: &Conversation,
    blocks: &IdSet<u32>,
) -> ChangeSet {
    let mut changes = out_of_lines(transcript, conversation.all_lines(), blocks);
    let dropped = std::mem::take(&mut changes.drop);
    changes.extend(history::without(transcript, dropped));
    changes
}

/// An event in the agent's order of keys.
fn event(kind: &str, data: &[u8], id: &str, time: &[u8], parent: &[u8]) -> Vec<u8> {
    [
        format!("{{\"type\":\"{kind}\",\"data\":").as_bytes(),
        data,
        format!(",\"id\":\"{id}\",\"timestamp\":").as_bytes(),
        time,
        b",\"parentId\":",
        parent,
        b"}",
    ]
    .concat()
}

/// A link's id as a JSON value.
fn of_link(id: &[u8]) -> Vec<u8> {
    match id {
        b"" => b"null".to_vec(),
        id => [b"\"", id, b"\""].concat(),
    }
}

/// The timestamp of a line, or of the nearest line before it that has one, with its quotes.
fn timestamp(transcript: &Transcript<'_>, line: u32) -> Vec<u8> {
    let times = (0..=line).rev().find_map(|line| {
        let time = Value::of(transcript.line(line)).field("timestamp");
        time.string().map(|_| time.raw().to_vec())
    });
    times.unwrap_or(b"\"1970-01-01T00:00:00.000Z\"".to_vec())
}
