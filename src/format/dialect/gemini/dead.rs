//! The lines of a session that no model will ever see again, and results that the agent would send a second time.
//!
//! Messages that were replaced, rewritten or rewound are dead, and so are lines that only record when the session was changed.
//! Headers and lines that describe the session are kept. Afterwards the agent must have the same messages in the same order, which
//! is checked by replaying the rest.

use std::collections::{BTreeMap, BTreeSet};

use super::history::{Entry, History, Omitted, Place, Replacements, replaces};
use super::window::Window;
use crate::format::shapes::splice::cuts;
use crate::scan::{Cursor, Kind, Span, Value};
use crate::transcript::{ChangeSet, LineKind, LinkKind, Transcript};

/// The dead lines, or none if the rest would contain no message.
pub(super) fn dead(transcript: &Transcript<'_>) -> ChangeSet {
    let history = History::of(transcript);
    let window = Window::of(transcript, &history);
    if window.messages.is_empty() {
        return ChangeSet::default();
    }
    let entries = history.entries.iter();
    let stay = entries.filter(|entry| !is_copy(transcript, &window, entry));
    let stay: Vec<usize> = stay.filter_map(|entry| entry.unit).collect();
    // The earlier copies of a rewritten message may be needed to hold its place: then they stay.
    let tries = [Again::Leaves, Again::Stays];
    let found = tries.into_iter().find_map(|again| {
        let omitted = omitted(transcript, &history, &window, again);
        let left = History::without(transcript, &omitted, Replacements::Apply);
        let left_units: Vec<usize> = left.entries.iter().filter_map(|entry| entry.unit).collect();
        (left_units == stay).then_some(omitted)
    });
    found.map_or_else(ChangeSet::default, |omitted| without(transcript, &omitted))
}

/// What happens to the earlier lines of a rewritten message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Again {
    Leaves,
    Stays,
}

fn omitted(
    transcript: &Transcript<'_>,
    history: &History<'_>,
    window: &Window,
    again: Again,
) -> Omitted {
    let mut omitted = Omitted::default();
    let mut stays: BTreeSet<Place> = BTreeSet::new();
    let entries = history.entries.iter();
    for entry in entries.filter(|entry| !is_copy(transcript, window, entry)) {
        stays.insert(entry.at);
        if again == Again::Stays {
            stays.insert(entry.place);
            stays.extend(entry.lines.iter().map(|line| Place {
                line: *line,
                item: None,
            }));
        }
    }
    let restart = history.restart.unwrap_or(0);
    let links = transcript.links();
    let mut last_time = None;
    for line in (0..links.len() as u32).filter(|line| transcript.is_there(*line)) {
        let link = &links[line as usize];
        let kind = transcript.lines()[line as usize].kind;
        if !link.id.is_empty() {
            if !stays.contains(&Place { line, item: None }) {
                omitted.lines.insert(line);
            }
        } else if link.kind == LinkKind::GoBack {
            omitted.lines.insert(line);
        } else if replaces(link) && line < restart {
            if !describes(transcript.line(line)) {
                omitted.lines.insert(line);
            }
        } else if !link.content.is_empty() {
            let list = Value::part(transcript.line(line), link.content);
            list.elements(|item| {
                let place = Place {
                    line,
                    item: Some(item.span().start),
                };
                let is_message = item.kind() == Some(Kind::Object) && item.field("id").is_there();
                if is_message && line >= restart && !stays.contains(&place) {
                    omitted.items.insert(place);
                }
            });
        } else if kind == LineKind::Mirror {
            if line < restart {
                omitted.lines.insert(line);
            }
            last_time = Some(line);
        }
    }
    // The agent shows the time on the last line that records a change, so that line stays.
    if let Some(last) = last_time {
        omitted.lines.remove(&last);
    }
    omitted
}

/// Whether all blocks of an entry are copies.
fn is_copy(transcript: &Transcript<'_>, window: &Window, entry: &Entry<'_>) -> bool {
    entry.unit.is_some_and(|unit| {
        let (first, end) = transcript.units()[unit].blocks;
        first < end && (first..end).all(|block| window.copies.contains_key(&block))
    })
}

/// Whether a `$set` of messages also sets keys that describe the session.
fn describes(line: &[u8]) -> bool {
    let set = Value::of(line).field("$set");
    let mut others = false;
    let read = Cursor::new(set.raw()).object(|key, c| {
        others |= !matches!(key, b"messages" | b"lastUpdated");
        c.skip().map(drop)
    });
    others || read.is_err()
}

/// The changes that remove `omitted` from the session.
pub(super) fn without(transcript: &Transcript<'_>, omitted: &Omitted) -> ChangeSet {
    let mut changes = ChangeSet {
        drop: omitted.lines.clone(),
        ..ChangeSet::default()
    };
    let mut lists: BTreeMap<u32, BTreeSet<u32>> = BTreeMap::new();
    for place in &omitted.items {
        if let Some(item) = place.item {
            lists.entry(place.line).or_default().insert(item);
        }
    }
    for (line, removed) in lists {
        let items = items_on(transcript, line);
        let cuts = cuts(&items, |at| removed.contains(&items[at].start));
        changes.remove(line, cuts);
    }
    changes
}

/// The items of the list on a line.
pub(super) fn items_on(transcript: &Transcript<'_>, line: u32) -> Vec<Span> {
    let mut items = Vec::new();
    let list = transcript.links()[line as usize].content;
    Value::part(transcript.line(line), list).elements(|item| items.push(item.span()));
    items
}
