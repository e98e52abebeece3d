//! The parts of a message that have changed: replaced results, edited texts, removed blocks.

use crate::facts;
use crate::policy::{Policy, Replacement};
use crate::settle::marker_of;
use crate::transcript::{Block, BlockKind};

use super::align::Alignment;
use super::record::{RecordedActions, fate_of};
use super::side::{Window, hash, kind_and_id, tied, value, words};
use super::{Change, Fate};

/// The changes between a message and its new version, given their numbers.
pub(super) fn changes(
    before: Window<'_>,
    after: Window<'_>,
    (from, to): (usize, usize),
    policies: &[Policy],
    told: &mut RecordedActions<'_>,
) -> Vec<Change> {
    let olds = before
        .conversation
        .blocks(&before.conversation.messages[from]);
    let news = after.conversation.blocks(&after.conversation.messages[to]);
    // Most messages have not changed at all.
    if olds.len() == news.len()
        && olds
            .iter()
            .zip(news)
            .all(|(a, b)| is_same(before, after, *a, *b))
    {
        return Vec::new();
    }
    let alignment = aligned(before, after, olds, news);
    let mut changes = Vec::new();
    for (at, old) in olds.iter().enumerate() {
        let new = alignment.new_of(at).map(|to| news[to]);
        if !new.is_some_and(|new| is_same(before, after, *old, new)) {
            let place = (from as u64 + 1, at as u64 + 1);
            changes.push(changed(before, after, (*old, new), place, policies, told));
        }
    }
    for (at, new) in news.iter().enumerate() {
        if alignment.old_of(at).is_none() {
            changes.push(inserted(after, *new, at as u64 + 1));
        }
    }
    changes
}

/// Which blocks of two messages are the same ones: by their bytes, then by their ids, then by their kinds.
fn aligned(before: Window<'_>, after: Window<'_>, olds: &[u32], news: &[u32]) -> Alignment {
    let mut alignment = Alignment::new(olds.len(), news.len());
    let passes: [fn(Window<'_>, &Block) -> u64; 3] = [
        |of, block| {
            hash(&[
                &tied(of.transcript, block).to_le_bytes(),
                value(of.transcript, block),
                of.transcript.bytes(block.line, block.tool),
            ])
        },
        |of, block| kind_and_id(of.transcript, block),
        |_, block| hash(&[block.kind.name().as_bytes()]),
    ];
    for key in passes {
        let keys = |of: Window<'_>, blocks: &[u32]| -> Vec<Option<u64>> {
            let blocks = blocks.iter().map(|block| of.transcript.block(*block));
            blocks.map(|block| Some(key(of, block))).collect()
        };
        alignment.pass(&keys(before, olds), &keys(after, news));
    }
    alignment
}

/// A part that says something else now, or is gone. `message` and `place` count from 1.
fn changed(
    before: Window<'_>,
    after: Window<'_>,
    (old, new): (u32, Option<u32>),
    (message, place): (u64, u64),
    policies: &[Policy],
    told: &mut RecordedActions<'_>,
) -> Change {
    let block = before.transcript.block(old);
    let line = before.number(block.line);
    let text = new.map(|new| after.transcript.block_text(after.transcript.block(new)));
    let seen = text
        .as_deref()
        .map_or(Fate::Dropped, |text| seen(block, text, policies));
    let action = match block.kind {
        BlockKind::Result if new.is_some() => told.claim(message, line, seen),
        _ => None,
    };
    Change {
        // If no policy here knows the text, the record decides what happened.
        fate: match (seen, action) {
            (Fate::Edited, Some(action)) => fate_of(action.kind).unwrap_or(seen),
            (seen, _) => seen,
        },
        part: block.kind.name().into(),
        place,
        line,
        tool: before.tool(old),
        tokens_before: before.tokens_of(old),
        tokens_after: new.map_or(0, |new| after.tokens_of(new)),
        reason: match new {
            Some(_) => action.map(|action| action.reason.clone()),
            None => told.why_gone(Fate::Dropped),
        },
        words: words(before.transcript, block),
        text: text.map(std::borrow::Cow::into_owned),
    }
}

/// A part that only the new message has.
fn inserted(after: Window<'_>, new: u32, place: u64) -> Change {
    let block = after.transcript.block(new);
    Change {
        fate: Fate::Inserted,
        part: block.kind.name().into(),
        place,
        line: after.number(block.line),
        tool: after.tool(new),
        tokens_before: 0,
        tokens_after: after.tokens_of(new),
        reason: None,
        words: words(after.transcript, block),
        text: Some(facts::block_text(after.transcript, block).into_owned()),
    }
}

/// Whether a model reads the same bytes in both.
fn is_same(before: Window<'_>, after: Window<'_>, old: u32, new: u32) -> bool {
    let (old, new) = (before.transcript.block(old), after.transcript.block(new));
    let tool = before.transcript.bytes(old.line, old.tool);
    // In some formats, the tool and the outcome are recorded outside the block.
    (old.kind, old.outcome) == (new.kind, new.outcome)
        && value(before.transcript, old) == value(after.transcript, new)
        && tool == after.transcript.bytes(new.line, new.tool)
}

/// What happened to a part that now says `text`.
fn seen(old: &Block, text: &str, policies: &[Policy]) -> Fate {
    if old.kind != BlockKind::Result {
        return Fate::Edited;
    }
    let mut known = policies
        .iter()
        .flat_map(|policy| policy.replacements_in(text));
    match known.next().map(|(kind, _)| kind) {
        Some(Replacement::Cleared | Replacement::Superseded) => Fate::Cleared,
        Some(Replacement::Demoted) => Fate::Demoted,
        Some(Replacement::Offloaded | Replacement::Unavailable) => Fate::Offloaded,
        None if marker_of(text).is_some() => Fate::Cleared,
        None => Fate::Edited,
    }
}

/// What happened to a message, judged by the part that saves the most.
pub(super) fn fate(changes: &[Change]) -> Fate {
    let saved = |change: &Change| change.tokens_before.saturating_sub(change.tokens_after);
    match changes {
        [] => Fate::Kept,
        changes => {
            let most = changes.iter().map(saved).max().unwrap_or_default();
            let first = changes.iter().find(|change| saved(change) == most);
            match first.map_or(Fate::Edited, |change| change.fate) {
                // The message is still there.
                Fate::Dropped | Fate::Inserted => Fate::Edited,
                fate => fate,
            }
        }
    }
}
