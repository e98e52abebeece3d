//! Replaces old messages with a summary, in formats with one JSON object per message.
//!
//! The messages are removed, except system messages, which stay where they are; the summary is inserted before the first
//! message that is kept. The caller chooses the cut.

use std::collections::BTreeMap;

use crate::scan::Span;
use crate::text::push_json_string;
use crate::transcript::{ChangeSet, Conversation, Replace, Role, Transcript, Unit};

/// The summary that replaces old messages.
#[derive(Debug, Clone, Copy)]
pub struct Summary<'s> {
    /// The role of its message. Ignored if the format has its own record type for summaries.
    pub role: Role,
    /// Its text.
    pub text: &'s str,
    /// The assistant's answer to it; empty for none.
    pub acknowledgement: &'s str,
    /// The live tokens of the conversation before the compaction, for records that store this number.
    pub tokens_before: u64,
}

/// The result of inserting a summary.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Splice {
    /// The changes to the transcript.
    pub changes: ChangeSet,
    /// The id of the line with which the conversation begins afterwards, in formats whose lines have ids.
    pub begins: Option<String>,
}

impl From<ChangeSet> for Splice {
    /// The result without the id of a first line.
    fn from(changes: ChangeSet) -> Self {
        Splice {
            changes,
            begins: None,
        }
    }
}

/// Replaces the messages before `tail`, except system messages, with a summary or with nothing.
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
    // One unit per message, in the same order.
    let units = transcript.units();
    let is_removed = |number: usize| {
        let message = &conversation.messages[number];
        number < tail && message.role != Role::System
    };
    let last = (0..tail.min(units.len())).rfind(|number| is_removed(*number));
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
        // No message is kept after the summary, so the summary replaces the last message.
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
    remove_messages(transcript, &mut changes, |number| {
        is_removed(number) && Some(number) != replaced
    });
    changes
}

/// Removes messages by the numbers of their units: as whole lines, or from the list that contains them.
pub(in crate::format) fn remove_messages(
    transcript: &Transcript<'_>,
    changes: &mut ChangeSet,
    is_removed: impl Fn(usize) -> bool,
) {
    let units = transcript.units();
    let mut by_line: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
    for (number, unit) in units.iter().enumerate() {
        by_line.entry(unit.line).or_default().push(number);
    }
    for (line, on_line) in by_line {
        if !is_listed(transcript, &units[on_line[0]]) {
            if on_line.iter().all(|number| is_removed(*number)) {
                changes.drop.insert(line);
            }
            continue;
        }
        let objects: Vec<Span> = on_line.iter().map(|n| units[*n].object).collect();
        changes.remove(line, cuts(&objects, |at| is_removed(on_line[at])));
    }
}

/// The spans to cut so that some items are removed from a list: each run of items with the comma after it, or with the comma before
/// it if nothing follows.
pub(in crate::format) fn cuts(items: &[Span], is_removed: impl Fn(usize) -> bool) -> Vec<Span> {
    let numbers: Vec<usize> = (0..items.len()).collect();
    let runs = numbers.chunk_by(|a, b| is_removed(*a) == is_removed(*b));
    let removed = runs.filter(|run| is_removed(run[0]));
    removed
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

/// Whether a message is one of a list on its line, rather than the whole line.
pub(in crate::format) fn is_listed(transcript: &Transcript<'_>, unit: &Unit) -> bool {
    let line = transcript.line(unit.line);
    let blank = |bytes: &[u8]| bytes.iter().all(u8::is_ascii_whitespace);
    !blank(&line[..unit.object.start as usize]) || !blank(&line[unit.object.end()..])
}

/// A message whose content is one text.
fn record(role: Role, text: &str) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len() + 64);
    out.extend_from_slice(b"{\"role\":");
    push_json_string(&mut out, role.name());
    out.extend_from_slice(b",\"content\":");
    push_json_string(&mut out, text);
    out.push(b'}');
    out
}
