//! How a summary takes the place of old messages, for formats that put whole messages on a line or in a list.
//!
//! The messages go, system messages among them stay where they are, and the summary stands before the first message that
//! stays. Never decides where that is.

use std::collections::{BTreeMap, BTreeSet};

use crate::ids::IdMap;
use crate::scan::Span;
use crate::text::push_json_string;
use crate::transcript::{Conversation, Role, Transcript, Unit};

/// A summary that is to take the place of the messages before `tail`, but for system messages.
#[derive(Debug, Clone, Copy)]
pub struct Summary<'s> {
    /// The first message that stays, from 0; the number of messages where none does.
    pub tail: usize,
    /// Who says it; a native record has no choice.
    pub role: Role,
    /// What it says.
    pub text: &'s str,
    /// The assistant's answer to it; "" = none.
    pub acknowledgement: &'s str,
    /// The live tokens of the conversation before, for records that say so.
    pub tokens_before: u64,
}

/// What is done to the lines of a transcript.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Splice {
    /// New lines, by the line that they come before.
    pub inserted: BTreeMap<u32, Vec<Vec<u8>>>,
    /// Lines that leave.
    pub dropped: BTreeSet<u32>,
    /// Changes within lines that stay.
    pub patches: Vec<Patch>,
    /// The id of the line that the conversation begins with from now on, in formats whose lines have one.
    pub id: Option<String>,
}

/// A part of a line, and what stands there afterwards.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Patch {
    /// The line.
    pub line: u32,
    /// What goes; may be empty.
    pub span: Span,
    /// What comes.
    pub with: Vec<u8>,
}

/// Puts a summary into a conversation of whole messages.
pub(super) fn splice(
    transcript: &Transcript<'_>,
    conversation: &Conversation,
    summary: Summary<'_>,
) -> Splice {
    let mut splice = Splice::default();
    let mut records = vec![record(summary.role, summary.text)];
    if !summary.acknowledgement.is_empty() {
        records.push(record(Role::Assistant, summary.acknowledgement));
    }
    // One unit a message, in the same order.
    let units = transcript.units();
    let goes = |number: usize| {
        let message = &conversation.messages[number];
        number < summary.tail && message.role != Role::System
    };
    let mut by_line: IdMap<u32, Vec<usize>> = IdMap::default();
    for (number, unit) in units.iter().enumerate() {
        by_line.entry(unit.line).or_default().push(number);
    }
    let last = (0..summary.tail.min(units.len())).rfind(|number| goes(*number));
    match (units.get(summary.tail), last.map(|last| &units[last])) {
        (Some(first), _) if is_listed(transcript, first) => splice.patches.push(Patch {
            line: first.line,
            span: Span::new(first.object.start as usize, first.object.start as usize),
            with: records
                .iter()
                .flat_map(|r| [r, &b","[..]].concat())
                .collect(),
        }),
        (Some(first), _) => drop(splice.inserted.insert(first.line, records)),
        // Nothing stays behind it: it stands where the last one stood.
        (None, Some(last)) if is_listed(transcript, last) => splice.patches.push(Patch {
            line: last.line,
            span: last.object,
            with: records.join(&b","[..]),
        }),
        (None, Some(last)) => drop(splice.inserted.insert(last.line + 1, records)),
        (None, None) => return splice,
    }
    let replaced = last.filter(|_| summary.tail >= units.len());
    let mut lines: Vec<u32> = by_line.keys().copied().collect();
    lines.sort_unstable();
    for line in lines {
        let on_line = &by_line[&line];
        let is_listed = is_listed(transcript, &units[on_line[0]]);
        if !is_listed {
            if on_line.iter().all(|number| goes(*number)) {
                splice.dropped.insert(line);
            }
            continue;
        }
        for run in on_line.chunk_by(|a, b| goes(*a) == goes(*b)) {
            let run: Vec<usize> = run
                .iter()
                .copied()
                .filter(|number| goes(*number) && Some(*number) != replaced)
                .collect();
            let (Some(first), Some(end)) = (run.first(), run.last()) else {
                continue;
            };
            let after = on_line.iter().copied().find(|number| number > end);
            let before = on_line.iter().copied().rfind(|number| number < first);
            let begins = |number: usize| units[number].object.start as usize;
            let ends = |number: usize| units[number].object.end();
            // With the comma behind it, or before it where nothing follows.
            let span = match (after, before) {
                (Some(after), _) => Span::new(begins(*first), begins(after)),
                (None, Some(before)) => Span::new(ends(before), ends(*end)),
                (None, None) => Span::new(begins(*first), ends(*end)),
            };
            splice.patches.push(Patch {
                line,
                span,
                with: Vec::new(),
            });
        }
    }
    splice
}

/// Whether a message is one of a list on its line, and not the line itself.
fn is_listed(transcript: &Transcript<'_>, unit: &Unit) -> bool {
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
