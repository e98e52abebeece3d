//! Removes blocks from a session: parts from their messages, messages without other content from the history that contains them,
//! and lines without other content, relinking the lines that follow them.

use super::chain::Chain;
use super::history;
use super::window::units_on;
use crate::format::shapes::removal::{out_of_list, says};
use crate::format::shapes::splice::cuts;
use crate::ids::IdSet;
use crate::scan::{Span, Value};
use crate::transcript::{ChangeSet, Conversation, Transcript};
use std::collections::BTreeSet;

/// Removes blocks from a conversation.
pub(super) fn without(
    transcript: &Transcript<'_>,
    conversation: &Conversation,
    blocks: &IdSet<u32>,
) -> ChangeSet {
    let chain = Chain::new(transcript);
    let mut changes = ChangeSet::default();
    let mut dropped = BTreeSet::new();
    for line in conversation.path.iter().copied() {
        let mut silent: IdSet<u32> = IdSet::default();
        for unit in units_on(transcript, line) {
            let own = unit.blocks.0..unit.blocks.1;
            if !own.clone().any(|block| blocks.contains(&block)) {
                continue;
            }
            let speaks = |b: u32| !blocks.contains(&b) && says(transcript, transcript.block(b));
            if own.clone().any(speaks) {
                changes.remove(line, out_of_list(transcript, unit.content, own, blocks));
            } else {
                silent.insert(unit.object.start);
            }
        }
        if silent.is_empty() {
            continue;
        }
        if !chain.link(line).is_boundary() {
            dropped.insert(line);
            continue;
        }
        let mut items: Vec<Span> = Vec::new();
        let list = Value::part(transcript.line(line), chain.link(line).content);
        list.elements(|item| items.push(item.span()));
        changes.remove(line, cuts(&items, |at| silent.contains(&items[at].start)));
    }
    changes.extend(history::without(&chain, dropped));
    changes
}
