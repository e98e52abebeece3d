//! Writes a summary as Codex does: a `compacted` line whose `replacement_history` is the summary, followed by the kept items.
//!
//! The agent starts a new history with that line and sends its own context to the model again. The line belongs before the event
//! that begins the first kept turn: otherwise, a user who later rolled back to before that turn would also roll back the summary.
//! No agent resumes items without envelopes: there, a summary is a bare message, and what it replaces is removed. Which lines are
//! dead afterwards is decided in `history`.

use std::collections::{BTreeMap, BTreeSet};

use super::is_blank;
use super::link::{is_bare, live_messages};
use crate::format::shapes::splice::{Summary, cuts};
use crate::ids::IdSet;
use crate::scan::{Span, Value};
use crate::text::push_json_string;
use crate::transcript::{
    ChangeSet, Compaction, LineKind, LinkKind, Replace, Role, Transcript, Unit,
};

/// Replaces the messages before `tail` with a summary or with nothing.
pub(super) fn splice(
    transcript: &Transcript<'_>,
    tail: usize,
    summary: Option<Summary<'_>>,
) -> Option<ChangeSet> {
    let units = transcript.units();
    let messages = live_messages(transcript);
    let (old, stays) = messages.split_at(tail.min(messages.len()));
    let (opaque, removed): (Vec<usize>, Vec<usize>) = old
        .iter()
        .flatten()
        .partition(|unit| units[**unit].role == Role::System);
    let last = &units[*removed.last()?];
    let first = stays.first().map(|message| &units[message[0]]);
    let item = summary.map(|summary| item(summary.text));
    if is_bare(transcript, last) {
        let mut changes = remove_items(transcript, &removed.into_iter().collect());
        let place = first.map_or(last.line + 1, |unit| unit.line);
        if let Some(item) = item {
            changes.insert.insert(place, vec![item]);
        }
        return Some(changes);
    }
    if let Some(first) = first.filter(|unit| is_in_history(transcript, unit)) {
        // Some items that an earlier compaction kept are still kept: the summary is inserted before them, in its list. The
        // compaction's message, by which it is recognised, becomes the same text.
        let mut changes = remove_items(transcript, &removed.into_iter().collect());
        changes.drop.clear();
        if let Some((summary, item)) = summary.zip(item) {
            let mut message = Vec::new();
            push_json_string(&mut message, summary.text);
            let start = first.object.start as usize;
            let replaced = [
                (Span::new(start, start), [&item[..], b","].concat()),
                (transcript.links()[first.line as usize].content, message),
            ];
            changes.replace.extend(replaced.map(|(span, with)| Replace {
                line: first.line,
                span,
                with,
            }));
        }
        return Some(changes);
    }
    // Encrypted compactions, which only the provider can read, stay before the later items.
    let opaque = opaque.iter().map(|unit| {
        let Unit { line, object, .. } = units[*unit];
        transcript.bytes(line, object).to_vec()
    });
    let items: Vec<Vec<u8>> = opaque.chain(item).collect();
    let end = transcript.lines().len() as u32;
    let place = first.map_or(end, |unit| before_turn(transcript, unit.line));
    let record = record(transcript, last.line, place, &items, summary);
    Some(ChangeSet {
        insert: BTreeMap::from([(place, vec![record])]),
        ..ChangeSet::default()
    })
}

/// Removes blocks from a rollout, with their items.
pub(super) fn without(transcript: &Transcript<'_>, blocks: &IdSet<u32>) -> ChangeSet {
    let units = transcript.units().iter().enumerate();
    let removed = units.filter(|(_, unit)| {
        let mut own = unit.blocks.0..unit.blocks.1;
        own.any(|block| blocks.contains(&block))
    });
    remove_items(transcript, &removed.map(|(number, _)| number).collect())
}

/// Removes items: as whole lines, or from the replacement history that contains them.
fn remove_items(transcript: &Transcript<'_>, removed: &IdSet<usize>) -> ChangeSet {
    let mut changes = ChangeSet::default();
    let mut listed: BTreeMap<u32, BTreeSet<u32>> = BTreeMap::new();
    for unit in removed.iter().map(|unit| &transcript.units()[*unit]) {
        if is_in_history(transcript, unit) {
            let places = listed.entry(unit.line).or_default();
            places.insert(unit.object.start);
        } else {
            changes.drop.insert(unit.line);
        }
    }
    for (line, places) in listed {
        let items = items_on(transcript.line(line));
        let cuts = cuts(&items, |at| places.contains(&items[at].start));
        changes.remove(line, cuts);
    }
    changes
}

/// Whether an item is in the replacement history of a compaction.
fn is_in_history(transcript: &Transcript<'_>, unit: &Unit) -> bool {
    let link = transcript.links().get(unit.line as usize);
    link.is_some_and(|link| link.kind == LinkKind::Compaction(Compaction::Replacement))
}

/// The items of the replacement history on a line.
fn items_on(line: &[u8]) -> Vec<Span> {
    let mut items = Vec::new();
    let history = Value::of(line).within(&["payload", "replacement_history"]);
    history.elements(|item| items.push(item.span()));
    items
}

/// The line of the event that begins the turn of `line`, if no part of the conversation lies between the two; otherwise `line`.
fn before_turn(transcript: &Transcript<'_>, line: u32) -> u32 {
    let is_item = |line: &u32| transcript.lines()[*line as usize].kind == LineKind::Message;
    let mut above = (0..line).rev().take_while(|line| !is_item(line));
    above
        .find(|line| begins_turn(transcript.line(*line)))
        .unwrap_or(line)
}

fn begins_turn(line: &[u8]) -> bool {
    let kind = Value::of(line).within(&["payload", "type"]).string();
    matches!(kind, Some(b"task_started" | b"turn_started"))
}

/// A user message with this text.
fn item(text: &str) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len() + 128);
    out.extend_from_slice(
        br#"{"type":"message","role":"user","content":[{"type":"input_text","text":"#,
    );
    push_json_string(&mut out, text);
    out.extend_from_slice(b"}]}");
    out
}

/// The new line, with the time of the line `model`.
fn record(
    transcript: &Transcript<'_>,
    model: u32,
    place: u32,
    items: &[Vec<u8>],
    summary: Option<Summary<'_>>,
) -> Vec<u8> {
    let text = summary.map(|summary| summary.text).unwrap_or_default();
    let mut out = b"{\"timestamp\":\"".to_vec();
    out.extend_from_slice(&timestamp(transcript, model));
    out.push(b'"');
    // In files whose lines are numbered, the agent needs the last number.
    if let Some(last) = ordinal(transcript).filter(|_| is_last(transcript, place)) {
        out.extend_from_slice(format!(",\"ordinal\":{}", last + 1).as_bytes());
    }
    out.extend_from_slice(br#","type":"compacted","payload":{"message":"#);
    push_json_string(&mut out, text);
    out.extend_from_slice(br#","replacement_history":["#);
    out.extend_from_slice(&items.join(&b','));
    out.extend_from_slice(b"]}}");
    out
}

/// The time of a line, or of the nearest line before it that has one.
fn timestamp(transcript: &Transcript<'_>, line: u32) -> Vec<u8> {
    let times = (0..=line).rev().find_map(|line| {
        let time = Value::of(transcript.line(line)).field("timestamp").string();
        time.filter(|time| !time.is_empty())
    });
    times.unwrap_or(b"1970-01-01T00:00:00.000Z").to_vec()
}

/// Whether only blank lines follow this place.
fn is_last(transcript: &Transcript<'_>, place: u32) -> bool {
    let following = place..transcript.lines().len() as u32;
    following
        .filter(|line| transcript.is_there(*line))
        .all(|line| is_blank(transcript.line(line)))
}

/// The number of the last line with a number.
fn ordinal(transcript: &Transcript<'_>) -> Option<u64> {
    let lines = (0..transcript.lines().len() as u32).rev();
    let mut there = lines.filter(|line| transcript.is_there(*line));
    let last = there.find(|line| !is_blank(transcript.line(*line)))?;
    Value::of(transcript.line(last)).field("ordinal").number()
}
