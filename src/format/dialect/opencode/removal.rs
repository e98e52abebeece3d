//! Removes blocks: a part is removed with its call or its text, and a message without remaining content is removed as a whole.

use crate::format::shapes::splice::cuts;
use crate::ids::IdSet;
use crate::scan::{Span, Value};
use crate::transcript::{BlockKind, ChangeSet, Transcript};

/// Removes blocks from their messages.
pub(super) fn without(transcript: &Transcript<'_>, blocks: &IdSet<u32>) -> ChangeSet {
    let mut changes = ChangeSet::default();
    for unit in transcript.units() {
        let own = unit.blocks.0..unit.blocks.1;
        let removed: Vec<Span> = own
            .clone()
            .filter(|block| blocks.contains(block))
            .map(|block| transcript.block(block))
            // A result is inside the part of its call.
            .filter(|block| block.kind != BlockKind::Result)
            .map(|block| block.value)
            .collect();
        if removed.is_empty() {
            continue;
        }
        let stays = |number: u32| {
            let block = transcript.block(number);
            !blocks.contains(&number) && block.kind != BlockKind::Result
        };
        if !own.clone().any(stays) {
            changes.drop.insert(unit.line);
            continue;
        }
        let mut parts = Vec::new();
        let list = Value::part(transcript.line(unit.line), unit.content);
        list.elements(|part| parts.push(part.span()));
        changes.remove(
            unit.line,
            cuts(&parts, |at| {
                let part = parts[at];
                let is_in = |block: &Span| part.start <= block.start && block.end() <= part.end();
                removed.iter().any(is_in)
            }),
        );
    }
    changes
}
