//! Writes a summary as the agent's own compression does: a `chat_compression` record with the remaining history, which is just the
//! summary. The kept messages follow it on the chain.
//!
//! If kept messages are in the history of an earlier compaction, the summary becomes the first message of that history. If no
//! record is kept, the new one takes the id of the last one: an agent that has the session open continues from that id. It is
//! inserted before the line with this id, since the first of the two counts. Which lines are dead afterwards is decided in
//! `history`.

use std::collections::BTreeMap;

use super::chain::Chain;
use super::record::SUMMARISED;
use super::usage;
use super::window::Window;
use crate::format::agent::id_of_copy;
use crate::format::shapes::splice::{Summary, cuts};
use crate::scan::{Span, Value};
use crate::text::push_json_string;
use crate::transcript::{ChangeSet, Replace, Transcript};

/// The keys that a new record copies from another one, in the agent's order: those before its type, and those after it.
const IDENTITY: [&str; 2] = ["sessionId", "timestamp"];
const SURROUNDINGS: [&str; 5] = ["cwd", "version", "gitBranch", "agentId", "isSidechain"];

/// Replaces the messages before `tail` with a summary or with nothing.
pub(super) fn splice(
    transcript: &Transcript<'_>,
    tail: usize,
    summary: Option<Summary<'_>>,
) -> Option<ChangeSet> {
    let chain = Chain::new(transcript);
    let path = chain.path();
    let messages = Window::of(&chain, &path).messages;
    let (old, kept) = messages.split_at(tail.min(messages.len()));
    let last = old.last()?;
    let after = path.iter().position(|record| *record == last.record)? + 1;
    let next = match kept.first() {
        Some(first) if first.record == last.record => {
            let item = first.units[0].object;
            return Some(in_history(transcript, first.record, item, summary));
        }
        Some(first) => Some(first.record),
        // Records without a message after the last message are kept.
        None => path.get(after).copied(),
    };
    // If nothing follows, the new record takes the place of the last one.
    let (line, before) = match next {
        Some(next) => (next, chain.link(next)),
        None => (last.record, chain.link(last.record)),
    };
    let parent = match transcript.bytes(line, before.parent) {
        b"" => b"null".to_vec(),
        parent => [b"\"", parent, b"\""].concat(),
    };
    let text = summary.map_or("", |summary| summary.text);
    let mut changes = ChangeSet::default();
    let id = match next {
        Some(next) => {
            let id = id_of_copy(&String::from_utf8_lossy(chain.id_of(next)), text).into_bytes();
            for line in chain.lines_of(next) {
                let link = chain.link(line);
                if link.parent.is_empty() {
                    return None;
                }
                let relinked = Replace::id(line, link.parent, Some(&id));
                changes.replace.push(relinked);
            }
            id
        }
        None => chain.id_of(last.record).to_vec(),
    };
    let recorded = usage::last(transcript, &path);
    let model = transcript.line(last.record);
    let new = record(model, &id, &parent, recorded, summary);
    changes.insert = BTreeMap::from([(line, vec![new])]);
    Some(changes)
}

/// Replaces the messages of an earlier compaction's history before the one that begins at `first`.
fn in_history(
    transcript: &Transcript<'_>,
    line: u32,
    first: Span,
    summary: Option<Summary<'_>>,
) -> ChangeSet {
    let bytes = transcript.line(line);
    let mut items = Vec::new();
    let list = transcript.links()[line as usize].content;
    Value::part(bytes, list).elements(|item| items.push(item.span()));
    let mut changes = ChangeSet::default();
    changes.remove(line, cuts(&items, |at| items[at].start < first.start));
    let insertion = |at: u32, with: Vec<u8>| Replace {
        line,
        span: Span::new(at as usize, at as usize),
        with,
    };
    if let Some(summary) = summary {
        let item = [&message(summary.text)[..], b","].concat();
        changes.replace.push(insertion(first.start, item));
        let payload = Value::of(bytes).field("systemPayload");
        if payload.field(SUMMARISED).raw() != b"true" {
            let note = format!("\"{SUMMARISED}\":true,").into_bytes();
            changes
                .replace
                .push(insertion(payload.span().start + 1, note));
        }
    }
    changes
}

/// The message of a summary.
fn message(text: &str) -> Vec<u8> {
    let mut out = b"{\"role\":\"user\",\"parts\":[{\"text\":".to_vec();
    push_json_string(&mut out, text);
    out.extend_from_slice(b"}]}");
    out
}

/// The new record, with the keys that it shares with `model`. `recorded` is the number of tokens that the agent believes to be in
/// the window.
fn record(
    model: &[u8],
    id: &[u8],
    parent: &[u8],
    recorded: Option<u64>,
    summary: Option<Summary<'_>>,
) -> Vec<u8> {
    let mut out = [b"{\"uuid\":\"", id, b"\",\"parentUuid\":", parent].concat();
    let copy = |out: &mut Vec<u8>, names: &[&str]| {
        for name in names {
            let value = Value::of(model).field(name);
            if value.is_there() {
                out.extend([b",\"", name.as_bytes(), b"\":", value.raw()].concat());
            }
        }
    };
    copy(&mut out, &IDENTITY);
    out.extend_from_slice(b",\"type\":\"system\",\"provenance\":\"system\"");
    copy(&mut out, &SURROUNDINGS);
    out.extend_from_slice(b",\"subtype\":\"chat_compression\",\"systemPayload\":{");
    if let Some(tokens) = recorded {
        let info = format!(
            "\"info\":{{\"originalTokenCount\":{tokens},\"newTokenCount\":{tokens},\"newTokenCountIsEstimated\":true,\"compressionStatus\":1}},"
        );
        out.extend_from_slice(info.as_bytes());
    }
    if let Some(summary) = summary {
        out.extend_from_slice(format!("\"{SUMMARISED}\":true,").as_bytes());
        out.extend_from_slice(b"\"compressedHistory\":[");
        out.extend_from_slice(&message(summary.text));
    } else {
        out.extend_from_slice(b"\"compressedHistory\":[");
    }
    out.extend_from_slice(b"]}}");
    out
}
