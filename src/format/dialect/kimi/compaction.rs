//! Writes a summary like the agent's own compaction with a kept tail: a `context.apply_compaction` before the first kept message,
//! which counts the messages that it covers, and a `token_counting.rebased`, which invalidates earlier counts.
//!
//! An earlier compaction that keeps messages from before itself stays before the new one. Summarised records after the new one are
//! removed at once: the agent would read them.

use std::collections::{BTreeMap, BTreeSet};

use super::chain::renumber;
use super::history::without;
use super::window::{Compactions, Entry, Window};
use crate::format::shapes::removal::{out_of_list, says};
use crate::format::shapes::splice::Summary;
use crate::ids::IdSet;
use crate::scan::Value;
use crate::text::push_json_string;
use crate::transcript::{BlockKind, ChangeSet, Conversation, LinkKind, Transcript};

/// Replaces the messages before `tail` with a summary. Without a summary, they are removed at once, since no record could tell the
/// agent to ignore them.
pub(super) fn splice(
    transcript: &Transcript<'_>,
    conversation: &Conversation,
    tail: usize,
    summary: Option<Summary<'_>>,
) -> Option<ChangeSet> {
    let window = Window::of(transcript, Compactions::Apply);
    let first = conversation.messages.get(tail);
    let first = first.map(|message| conversation.first_line(message));
    let is_first = |entry: &Entry| entry.lines.first().copied() == first;
    let old = match first {
        Some(_) => window.live.iter().position(is_first)?,
        None => window.live.len(),
    };
    let replaced = || {
        window
            .live
            .iter()
            .take(old)
            .flat_map(|entry| entry.lines.iter().copied())
    };
    let Some(summary) = summary else {
        return Some(without(transcript, replaced().collect()));
    };
    let end = transcript.lines().len() as u32;
    let after_last = window.compaction.map_or(0, |line| line + 1);
    let place = first.unwrap_or(end).max(after_last);
    let last = replaced().last()?;
    let [agent, time] = Value::of(transcript.line(last)).fields(["agentId", "time"]);
    let mut begin = Vec::new();
    if agent.string().is_some() {
        begin.extend([b",\"agentId\":", agent.raw()].concat());
    }
    let mut end = Vec::new();
    if time.number::<f64>().is_some() {
        end.extend([b",\"time\":", time.raw()].concat());
    }
    end.push(b'}');
    let record = |kind: &str, rest: &[u8]| {
        [
            format!("{{\"type\":\"{kind}\"").as_bytes(),
            &begin,
            rest,
            &end,
        ]
        .concat()
    };
    let mut says = b",\"summary\":".to_vec();
    push_json_string(&mut says, summary.text);
    let before = summary.tokens_before;
    says.extend_from_slice(
        format!(",\"compactedCount\":{old},\"tokensBefore\":{before},\"legacyTail\":true")
            .as_bytes(),
    );
    let tokens = tokens(summary.text);
    let counted = format!(",\"length\":1,\"tokens\":{tokens},\"measured\":false");
    let new = vec![
        record("context.apply_compaction", &says),
        record("token_counting.rebased", counted.as_bytes()),
    ];
    // Lines at the end that are not records have no links.
    let links = (0u32..).zip(transcript.links()).skip(place as usize);
    let stale = links
        .filter(|(_, link)| link.kind == LinkKind::Count)
        .map(|(line, _)| line);
    let drop: BTreeSet<u32> = replaced()
        .filter(|line| *line >= place)
        .chain(stale)
        .collect();
    let mut changes = ChangeSet {
        drop,
        insert: BTreeMap::from([(place, new)]),
        ..ChangeSet::default()
    };
    changes.drop.retain(|line| transcript.is_there(*line));
    renumber(transcript, &mut changes);
    Some(changes)
}

/// The tokens of a text, as the agent estimates them.
fn tokens(text: &str) -> usize {
    let ascii = text.bytes().filter(u8::is_ascii).count();
    ascii.div_ceil(4) + text.chars().filter(|c| !c.is_ascii()).count()
}

/// Removes blocks from a conversation, and the messages that have no other content. The agent's remark on a result is removed with
/// the result.
pub(super) fn removed(
    transcript: &Transcript<'_>,
    conversation: &Conversation,
    blocks: &IdSet<u32>,
) -> ChangeSet {
    let mut dropped = BTreeSet::new();
    let mut changes = ChangeSet::default();
    for line in conversation.all_lines().iter().copied() {
        let own = transcript.blocks_of_line(line);
        if !own.clone().any(|block| blocks.contains(&block)) {
            continue;
        }
        let is_result = |b: u32| transcript.block(b).kind == BlockKind::Result;
        let answers = own.clone().any(is_result);
        let speaks = |b: u32| !blocks.contains(&b) && says(transcript, transcript.block(b));
        if answers || !own.clone().any(speaks) {
            dropped.insert(line);
            continue;
        }
        let lists = lists(transcript, line);
        for list in lists {
            changes.remove(line, out_of_list(transcript, list, own.clone(), blocks));
        }
    }
    changes.extend(without(transcript, dropped));
    changes
}

/// The lists of a message: of its parts, and of its calls.
fn lists(transcript: &Transcript<'_>, line: u32) -> [crate::scan::Span; 2] {
    let message = Value::of(transcript.line(line)).field("message");
    message.fields(["content", "toolCalls"]).map(Value::span)
}
