//! Writes a summary as the agent's own compression does: a `$set` of messages, the first of which is the summary, as a user
//! message. The kept messages follow on their lines.
//!
//! If kept messages are in a list, as after every resumption, the summary becomes an item of that list; in a document, which has no
//! `$set`, it becomes a message before them. In both cases, the messages that it replaces are removed at once. Otherwise, `dead`
//! decides which lines are dead.

use std::collections::BTreeMap;

use super::dead::{self, items_on};
use super::history::{History, Omitted, Place};
use super::window::{Sent, Window};
use crate::format::shapes::splice::Summary;
use crate::scan::{Span, Value};
use crate::text::push_json_string;
use crate::transcript::{ChangeSet, Replace, Transcript};

/// Replaces the messages before `tail` with a summary or with nothing.
pub(super) fn splice(
    transcript: &Transcript<'_>,
    tail: usize,
    summary: Option<Summary<'_>>,
) -> Option<ChangeSet> {
    let history = History::of(transcript);
    let messages = Window::of(transcript, &history).messages;
    let last = messages[..tail.min(messages.len())].last()?;
    let last_line = transcript.units()[last.unit].line;
    let time = timestamp(transcript, &history, last.entry).unwrap_or_default();
    let item = summary.map(|summary| item(summary.text, &time));
    if transcript.is_document() {
        return in_document(transcript, &history, &messages, tail, item);
    }
    let items = || {
        [context(transcript, &history), item.clone()]
            .into_iter()
            .flatten()
            .collect()
    };
    let Some(first) = messages.get(tail) else {
        let place = transcript.lines().len() as u32;
        return Some(record(transcript, place, items()));
    };
    // What an answer said and the results on the same line stay together.
    if first.entry == last.entry {
        return None;
    }
    let (old, kept) = history.entries.split_at(first.entry);
    let Place { line, item: listed } = kept[0].place;
    let Some(listed) = listed else {
        // An old message that was rewritten after this place would come back.
        let stays_before = old.iter().all(|entry| entry.at.line < line);
        return (stays_before && last_line < line).then(|| record(transcript, line, items()));
    };
    let mut omitted = Omitted::default();
    for entry in old.iter().filter(|entry| entry.unit.is_some()) {
        omitted.items.insert(entry.place);
        omitted.lines.extend(&entry.lines);
    }
    omitted
        .items
        .retain(|place| place.line == line && place.item.is_some());
    let mut changes = dead::without(transcript, &omitted);
    if let Some(item) = item {
        changes.replace.push(Replace {
            line,
            span: Span::new(listed as usize, listed as usize),
            with: [&item[..], b","].concat(),
        });
    }
    // Check that the item is where the list has one: anything else was not a list.
    let items = items_on(transcript, line);
    items
        .iter()
        .any(|item| item.start == listed)
        .then_some(changes)
}

/// Replaces the messages before `tail` with `item` in a document. Messages that are not sent stay.
fn in_document(
    transcript: &Transcript<'_>,
    history: &History<'_>,
    messages: &[Sent],
    tail: usize,
    item: Option<Vec<u8>>,
) -> Option<ChangeSet> {
    let (old, kept) = messages.split_at(tail.min(messages.len()));
    let (last, first) = (old.last()?.entry, kept.first().map(|first| first.entry));
    // What an answer said and the results on the same line stay together.
    if first == Some(last) {
        return None;
    }
    let end = first.unwrap_or(history.entries.len());
    let place = first.map_or(transcript.after_messages(), |first| {
        history.entries[first].place.line
    });
    let old = history.entries[..end]
        .iter()
        .filter(|entry| entry.unit.is_some());
    Some(ChangeSet {
        drop: old.flat_map(|entry| entry.lines.iter().copied()).collect(),
        insert: item.into_iter().map(|item| (place, vec![item])).collect(),
        ..ChangeSet::default()
    })
}

/// The message of a summary.
fn item(text: &str, time: &str) -> Vec<u8> {
    let hash = blake3::hash(format!("{time}\n{text}").as_bytes()).to_hex();
    let mut out = b"{\"id\":\"ctxpack-summary-".to_vec();
    out.extend_from_slice(&hash.as_bytes()[..16]);
    out.extend_from_slice(b"\",\"timestamp\":");
    push_json_string(&mut out, time);
    out.extend_from_slice(b",\"type\":\"user\",\"content\":");
    push_json_string(&mut out, text);
    out.push(b'}');
    out
}

/// The context at the beginning of a session. The agent sends a new one, but only this one records the working folders.
fn context(transcript: &Transcript<'_>, history: &History<'_>) -> Option<Vec<u8>> {
    let first = history
        .entries
        .first()
        .filter(|entry| entry.unit.is_none())?;
    let items = items_on(transcript, first.at.line);
    let item = items
        .iter()
        .find(|item| Some(item.start) == first.at.item)?;
    let bytes = transcript.bytes(first.at.line, *item);
    memchr::memmem::find(bytes, b"<session_context>")?;
    Some(bytes.to_vec())
}

/// Inserts the new line before line `place`.
fn record(transcript: &Transcript<'_>, place: u32, items: Vec<Vec<u8>>) -> ChangeSet {
    let mut out = b"{\"$set\":{\"messages\":[".to_vec();
    out.extend_from_slice(&items.join(&b","[..]));
    out.push(b']');
    // The agent shows when a session was last changed, and sorts sessions by it.
    if let Some(time) = last_updated(transcript, place) {
        out.extend_from_slice(b",\"lastUpdated\":");
        push_json_string(&mut out, &time);
    }
    out.extend_from_slice(b"}}");
    ChangeSet {
        insert: BTreeMap::from([(place, vec![out])]),
        ..ChangeSet::default()
    }
}

/// The time of a message, or of the nearest before it that has one.
fn timestamp(transcript: &Transcript<'_>, history: &History<'_>, entry: usize) -> Option<String> {
    let mut before = history.entries[..=entry].iter().rev();
    before.find_map(|entry| {
        let unit = &transcript.units()[entry.unit?];
        let message = Value::part(transcript.line(unit.line), unit.object);
        text(message.field("timestamp"))
    })
}

/// When the session was last changed, according to the lines before `place`.
fn last_updated(transcript: &Transcript<'_>, place: u32) -> Option<String> {
    (0..place).rev().find_map(|line| {
        let bytes = transcript.line(line);
        memchr::memmem::find(bytes, b"\"lastUpdated\"")?;
        let [set, own] = Value::of(bytes).fields(["$set", "lastUpdated"]);
        text(set.field("lastUpdated")).or_else(|| text(own))
    })
}

/// The text of a non-empty string.
fn text(value: Value<'_>) -> Option<String> {
    let text = value.unescaped()?;
    Some(String::from_utf8_lossy(&text).into_owned()).filter(|text| !text.is_empty())
}
