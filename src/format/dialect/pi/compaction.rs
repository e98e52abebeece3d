//! A summary as pi writes it: a `compaction` entry, which names the first entry that is still sent.
//!
//! An agent that has the session open goes on behind the last entry that it knows, and sees only what that one hangs on. So
//! the compaction stands on the way to that entry: before what stays, whose first entry hangs on it; where nothing stays,
//! and where an earlier compaction stands behind the first entry that stays, it takes the place and the id of the entry
//! that it replaces. In the first version, which has no ids, it comes last and counts entries: the agent gives such a file
//! ids, and writes it anew, before it goes on.
//!
//! What it replaces is dead then, and that leaves is for `history` to say. Its time is that of the last entry that stays:
//! the agent takes what a provider counted in an answer for old where the answer is no younger than the compaction.

use std::collections::BTreeSet;

use super::history;
use super::tree::{Chaining, Tree};
use crate::format::shapes::removal::out_of_lines;
use crate::format::shapes::splice::{Splice, Summary};
use crate::ids::IdSet;
use crate::scan::{Span, Value};
use crate::text::push_json_string;
use crate::transcript::{ChangeSet, Conversation, Replace, Transcript};

/// Puts a summary into a session; without one, what it would replace leaves at once, for nothing could tell an agent to
/// pass it over.
pub(super) fn splice(
    transcript: &Transcript<'_>,
    conversation: &Conversation,
    tail: usize,
    summary: Option<Summary<'_>>,
) -> Option<Splice> {
    let tree = Tree::new(transcript);
    let path = tree.path();
    let window = &conversation.path;
    let at = match conversation.messages.get(tail) {
        Some(first) => {
            let line = conversation.first_line(first);
            window.iter().position(|other| *other == line)?
        }
        // What says nothing behind the last message stays.
        None => {
            let last = conversation.first_line(conversation.messages.last()?);
            window.iter().position(|other| *other == last)? + 1
        }
    };
    let (gone, stays) = window.split_at(at);
    gone.first()?;
    let Some(summary) = summary else {
        let stays: IdSet<u32> = stays.iter().copied().collect();
        let goes = |line: &u32| tree.link(*line).role.is_some() && !stays.contains(line);
        let dropped: BTreeSet<u32> = path.iter().copied().filter(goes).collect();
        return Some(Splice {
            changes: history::without(&tree, &path, dropped),
            begins: None,
        });
    };
    let time = window
        .iter()
        .rev()
        .find_map(|line| timestamp(transcript, *line));
    let mut splice = Splice::default();
    let (place, chained, kept) = match tree.chaining {
        Chaining::ByPlace => {
            let kept = stays.first().copied();
            let before = tree.entries().take_while(|line| Some(*line) != kept);
            let kept = format!("\"firstKeptEntryIndex\":{}", before.count());
            (
                transcript.lines().len() as u32,
                Vec::new(),
                kept.into_bytes(),
            )
        }
        Chaining::ById => {
            let kept = stays.first().copied();
            let place = InsertionPoint::of(&tree, &path, kept, summary.text)?;
            // Where nothing stays it names itself: nothing before it, but all that comes behind it.
            let first = kept.map_or(place.id.as_slice(), |kept| tree.id_of(kept));
            let first = [b"\"firstKeptEntryId\":\"", first, b"\""].concat();
            let chained = [
                b"\"id\":\"",
                place.id.as_slice(),
                b"\",\"parentId\":",
                &place.parent,
                b",",
            ];
            splice.begins = Some(String::from_utf8_lossy(&place.id).into_owned());
            splice.changes.replace.extend(place.relink);
            (place.line, chained.concat(), first)
        }
    };
    let mut out = Vec::with_capacity(summary.text.len() + 256);
    out.extend_from_slice(b"{\"type\":\"compaction\",");
    out.extend_from_slice(&chained);
    if let Some(time) = time {
        out.extend_from_slice(b"\"timestamp\":");
        out.extend_from_slice(time);
        out.push(b',');
    }
    out.extend_from_slice(b"\"summary\":");
    push_json_string(&mut out, summary.text);
    out.push(b',');
    out.extend_from_slice(&kept);
    out.extend_from_slice(format!(",\"tokensBefore\":{}}}", summary.tokens_before).as_bytes());
    splice.changes.insert.insert(place, vec![out]);
    Some(splice)
}

/// Where a compaction stands.
struct InsertionPoint {
    /// The line that it comes before.
    line: u32,
    /// Its id, as it stands between quotes.
    id: Vec<u8>,
    /// What it hangs on, as a JSON value.
    parent: Vec<u8>,
    /// The link of what hangs on it from now on, where that named another entry.
    relink: Option<Replace>,
}

impl InsertionPoint {
    /// The place on the way to the leaf, where `kept` is the first entry that stays.
    fn of(tree: &Tree<'_, '_>, path: &[u32], kept: Option<u32>, text: &str) -> Option<Self> {
        let leaf = path.last().copied()?;
        let Some(kept) = kept else {
            return Some(InsertionPoint::instead_of(tree, leaf));
        };
        let earlier = tree.compaction(path).map(|at| path[at]);
        let behind = path.iter().rev().take_while(|line| **line != kept);
        if let Some(earlier) = earlier
            && behind.copied().any(|line| line == earlier)
        {
            return Some(InsertionPoint::instead_of(tree, earlier));
        }
        let link = tree.link(kept);
        if link.parent.is_empty() {
            return None;
        }
        let span = Span {
            start: link.parent.start - 1,
            len: link.parent.len + 2,
        };
        let parent = tree.transcript.bytes(kept, span).to_vec();
        let id = id(tree, &parent, text).into_bytes();
        Some(InsertionPoint {
            line: kept,
            relink: Some(Replace::id(kept, link.parent, Some(&id))),
            id,
            parent,
        })
    }

    /// The place of an entry, with all that hangs on it: of two with one id, the later one counts.
    fn instead_of(tree: &Tree<'_, '_>, line: u32) -> Self {
        let parent = tree.transcript.bytes(line, tree.link(line).parent);
        InsertionPoint {
            line: line + 1,
            id: tree.id_of(line).to_vec(),
            parent: match parent {
                b"" => b"null".to_vec(),
                parent => [b"\"", parent, b"\""].concat(),
            },
            relink: None,
        }
    }
}

/// Takes blocks out of a session, and the entries that say nothing without them.
pub(super) fn without(
    transcript: &Transcript<'_>,
    conversation: &Conversation,
    blocks: &IdSet<u32>,
) -> ChangeSet {
    let tree = Tree::new(transcript);
    let mut changes = out_of_lines(transcript, conversation.all_lines(), blocks);
    let dropped = std::mem::take(&mut changes.drop);
    changes.extend(history::without(&tree, &tree.path(), dropped));
    changes
}

/// When an entry was written, as it stands with its quotes.
fn timestamp<'t>(transcript: &'t Transcript<'_>, line: u32) -> Option<&'t [u8]> {
    let time = Value::of(transcript.line(line)).field("timestamp");
    time.string().map(|_| time.raw())
}

/// An id of the agent's form that no entry has, and that follows from what it stands for.
fn id(tree: &Tree<'_, '_>, parent: &[u8], text: &str) -> String {
    let ids = (0u32..).map(|number| {
        let mut hash = blake3::Hasher::new();
        hash.update(&number.to_le_bytes());
        hash.update(&(parent.len() as u64).to_le_bytes());
        hash.update(parent);
        hash.update(text.as_bytes());
        let mut hex = hash.finalize().to_hex().to_string();
        hex.truncate(8);
        hex
    });
    let mut free = ids.filter(|id| tree.named(id.as_bytes()).is_none());
    free.next().unwrap_or_default()
}
