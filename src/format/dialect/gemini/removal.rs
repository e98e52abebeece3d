//! Removes blocks from messages: calls with their results, and messages that are empty without them.

use super::dead;
use super::history::{History, Omitted};
use crate::format::shapes::splice::cuts;
use crate::ids::IdSet;
use crate::scan::{Span, Value};
use crate::transcript::{BlockKind, ChangeSet, Transcript, Unit};

/// Removes blocks from the messages that the agent has.
pub(super) fn without(transcript: &Transcript<'_>, blocks: &IdSet<u32>) -> ChangeSet {
    let history = History::of(transcript);
    let mut omitted = Omitted::default();
    let mut parts = ChangeSet::default();
    for entry in &history.entries {
        let Some(unit) = entry.unit.map(|unit| &transcript.units()[unit]) else {
            continue;
        };
        let own = unit.blocks.0..unit.blocks.1;
        if !own.clone().any(|block| blocks.contains(&block)) {
            continue;
        }
        let says = |number: u32| {
            let block = transcript.block(number);
            let mut texts = transcript.texts(block).iter();
            !blocks.contains(&number)
                && (block.kind != BlockKind::Text || texts.any(|text| !text.span.is_empty()))
        };
        if own.clone().any(says) {
            content(transcript, unit, blocks, &mut parts);
            tool_calls(transcript, unit, blocks, &mut parts);
        } else {
            // Remove its earlier occurrences too: otherwise it would come back.
            omitted.items.extend([entry.place, entry.at]);
            omitted.lines.extend(&entry.lines);
        }
    }
    let mut changes = dead::without(transcript, &omitted);
    changes.extend(parts);
    changes
}

/// The blocks of a unit in a list, with their values.
fn within(transcript: &Transcript<'_>, unit: &Unit, list: Span) -> Vec<(u32, Span)> {
    let is_in = |value: Span| list.start <= value.start && value.end() <= list.end();
    let own = unit.blocks.0..unit.blocks.1;
    let own = own.map(|block| (block, transcript.block(block).value));
    own.filter(|(_, value)| is_in(*value)).collect()
}

/// Removes the parts of the content.
fn content(transcript: &Transcript<'_>, unit: &Unit, blocks: &IdSet<u32>, changes: &mut ChangeSet) {
    let own = within(transcript, unit, unit.content);
    let mut items = Vec::new();
    let list = Value::part(transcript.line(unit.line), unit.content);
    list.elements(|item| items.push(item.span()));
    let is_removed = |at: usize| {
        let found = own.iter().find(|(_, value)| *value == items[at]);
        found.is_some_and(|(block, _)| blocks.contains(block))
    };
    changes.remove(unit.line, cuts(&items, is_removed));
}

/// Removes elements of `toolCalls`, or single results of them.
fn tool_calls(
    transcript: &Transcript<'_>,
    unit: &Unit,
    blocks: &IdSet<u32>,
    changes: &mut ChangeSet,
) {
    let message = Value::part(transcript.line(unit.line), unit.object);
    let mut calls = Vec::new();
    message
        .field("toolCalls")
        .elements(|call| calls.push((call.span(), call.field("result"))));
    let leaves = |at: usize| {
        let (call, _) = calls[at];
        let inner = within(transcript, unit, call);
        let is_call = |block: &u32| transcript.block(*block).kind == BlockKind::Call;
        match inner.iter().find(|(block, _)| is_call(block)) {
            Some((block, _)) => blocks.contains(block),
            None => !inner.is_empty() && inner.iter().all(|(block, _)| blocks.contains(block)),
        }
    };
    let spans: Vec<Span> = calls.iter().map(|(call, _)| *call).collect();
    changes.remove(unit.line, cuts(&spans, leaves));
    for (_, (_, result)) in calls.iter().enumerate().filter(|(at, _)| !leaves(*at)) {
        let own = within(transcript, unit, result.span());
        let mut items = Vec::new();
        result.elements(|item| items.push(item.span()));
        let is_removed = |at: usize| {
            let found = own.iter().find(|(_, value)| *value == items[at]);
            found.is_some_and(|(block, _)| blocks.contains(block))
        };
        changes.remove(unit.line, cuts(&items, is_removed));
    }
}
