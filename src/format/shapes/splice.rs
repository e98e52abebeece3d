//! How a summary takes the place of old messages, for formats that put whole messages on a line or in a list.
//!
//! The messages are removed, but system messages among them stay where they are; the summary is put before the first message
//! that is kept. The caller chooses the cut.

use std::collections::BTreeMap;

use crate::scan::Span;
use crate::text::push_json_string;
use crate::transcript::{ChangeSet, Conversation, Replace, Role, Transcript, Unit};

/// What takes the place of old messages.
#[derive(Debug, Clone, Copy)]
pub struct Summary<'s> {
    /// Who says it; a native record has no choice.
    pub role: Role,
    /// What it says.
    pub text: &'s str,
    /// The assistant's answer to it; "" = none.
    pub acknowledgement: &'s str,
    /// The live tokens of the conversation before, for records that say so.
    pub tokens_before: u64,
}

/// How a summary takes its place.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Splice {
    /// What changes.
    pub changes: ChangeSet,
    /// The id of the line that the conversation begins with afterwards, in formats whose lines have ids.
    pub begins: Option<String>,
}

/// Puts a summary, or nothing, in the place of the messages before `tail`, but for system messages.
pub(in crate::format) fn splice(
    transcript: &Transcript<'_>,
    conversation: &Conversation,
    tail: usize,
    summary: Option<Summary<'_>>,
) -> ChangeSet {
    let mut changes = ChangeSet::default();
    let mut records = Vec::new();
    if let Some(summary) = summary {
        records.push(record(summary.role, summary.text));
        if !summary.acknowledgement.is_empty() {
            records.push(record(Role::Assistant, summary.acknowledgement));
        }
    }
    // One unit a message, in the same order.
    let units = transcript.units();
    let goes = |number: usize| {
        let message = &conversation.messages[number];
        number < tail && message.role != Role::System
    };
    let last = (0..tail.min(units.len())).rfind(|number| goes(*number));
    let mut replaced = None;
    match (units.get(tail), last) {
        _ if records.is_empty() => {}
        (Some(first), _) if is_listed(transcript, first) => changes.replace.push(Replace {
            line: first.line,
            span: Span::new(first.object.start as usize, first.object.start as usize),
            with: records
                .iter()
                .flat_map(|r| [r, &b","[..]].concat())
                .collect(),
        }),
        (Some(first), _) => drop(changes.insert.insert(first.line, records)),
        // Nothing stays behind it: it stands where the last one stood.
        (None, Some(last)) if is_listed(transcript, &units[last]) => {
            replaced = Some(last);
            changes.replace.push(Replace {
                line: units[last].line,
                span: units[last].object,
                with: records.join(&b","[..]),
            });
        }
        (None, Some(last)) => drop(changes.insert.insert(units[last].line + 1, records)),
        (None, None) => return changes,
    }
    leave(transcript, &mut changes, |number| {
        goes(number) && Some(number) != replaced
    });
    changes
}

/// Takes messages out, by the numbers of their units: with their lines, or out of the list that they stand in.
pub(in crate::format) fn leave(
    transcript: &Transcript<'_>,
    changes: &mut ChangeSet,
    goes: impl Fn(usize) -> bool,
) {
    let units = transcript.units();
    let mut by_line: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
    for (number, unit) in units.iter().enumerate() {
        by_line.entry(unit.line).or_default().push(number);
    }
    for (line, on_line) in by_line {
        if !is_listed(transcript, &units[on_line[0]]) {
            if on_line.iter().all(|number| goes(*number)) {
                changes.drop.insert(line);
            }
            continue;
        }
        let objects: Vec<Span> = on_line.iter().map(|n| units[*n].object).collect();
        changes.remove(line, cuts(&objects, |at| goes(on_line[at])));
    }
}

/// The spans to take out of a list so that some of its items leave: each run of them with the comma behind it, or with the
/// one before it where nothing follows.
pub(in crate::format) fn cuts(items: &[Span], goes: impl Fn(usize) -> bool) -> Vec<Span> {
    let numbers: Vec<usize> = (0..items.len()).collect();
    let runs = numbers.chunk_by(|a, b| goes(*a) == goes(*b));
    let leaving = runs.filter(|run| goes(run[0]));
    leaving
        .map(|run| {
            let (first, end) = (run[0], run[run.len() - 1]);
            let begin = items[first].start as usize;
            match (items.get(end + 1), first.checked_sub(1)) {
                (Some(after), _) => Span::new(begin, after.start as usize),
                (None, Some(before)) => Span::new(items[before].end(), items[end].end()),
                (None, None) => Span::new(begin, items[end].end()),
            }
        })
        .collect()
}

/// Whether a message is one of a list on its line, and not the line itself.
pub(in crate::format) fn is_listed(transcript: &Transcript<'_>, unit: &Unit) -> bool {
    let line = transcript.line(unit.line);
    let blank = |bytes: &[u8]| bytes.iter().all(u8::is_ascii_whitespace);
    !blank(&line[..unit.object.start as usize]) || !blank(&line[unit.object.end()..])
}

/// A message of one text.
fn record(role: Role, text: &str) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len() + 64);
    out.extend_from_slice(b"{\"role\":");
    push_json_string(&mut out, role.name());
    out.extend_from_slice(b",\"content\":");
    push_json_string(&mut out, text);
    out.push(b'}');
    out
}
