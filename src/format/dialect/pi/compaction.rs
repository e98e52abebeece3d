//! Writes a summary as pi does: a `compaction` entry, which names the first entry that is still sent.
//!
//! An agent that has the session open appends to the last entry that it knows, and sees only the ancestors of that entry. So the
//! compaction must be among these ancestors: it is inserted as the parent of the first kept entry. If no entry is kept, or an
//! earlier compaction follows the first kept entry, the compaction takes the place and the id of the entry that it replaces. In the
//! first version of the format, which has no ids, it comes last and counts entries: before it continues, the agent assigns ids to
//! the entries of such a file and rewrites it.
//!
//! The entries that it replaces are then dead; `history` decides what is removed. Its time is that of the last kept entry: the
//! agent considers a provider's count in an answer out of date if the answer is not newer than the compaction.

use std::collections::BTreeSet;

use super::history;
use super::tree::{Chaining, Tree};
use crate::format::shapes::removal::out_of_lines;
use crate::format::shapes::splice::{Splice, Summary};
use crate::ids::IdSet;
use crate::scan::{Span, Value};
use crate::text::push_json_string;
use crate::transcript::{ChangeSet, Conversation, Replace, Transcript};

/// Inserts a summary into a session. Without one, the old messages are removed at once, since no entry could tell the agent
/// to ignore them.
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
        // Entries without a message after the last message are kept.
        None => {
            let last = conversation.first_line(conversation.messages.last()?);
            window.iter().position(|other| *other == last)? + 1
        }
    };
    let (old, kept_lines) = window.split_at(at);
    old.first()?;
    let Some(summary) = summary else {
        let kept_lines: IdSet<u32> = kept_lines.iter().copied().collect();
        let is_removed = |line: &u32| tree.link(*line).role.is_some() && !kept_lines.contains(line);
        let dropped: BTreeSet<u32> = path.iter().copied().filter(is_removed).collect();
        return Some(history::without(&tree, &path, dropped).into());
    };
    let time = window
        .iter()
        .rev()
        .find_map(|line| timestamp(transcript, *line));
    let mut splice = Splice::default();
    let (place, chained, kept) = match tree.chaining {
        Chaining::ByPlace => {
            let kept = kept_lines.first().copied();
            let before = tree.entries().take_while(|line| Some(*line) != kept);
            let kept = format!("\"firstKeptEntryIndex\":{}", before.count());
            (
                transcript.lines().len() as u32,
                Vec::new(),
                kept.into_bytes(),
            )
        }
        Chaining::ById => {
            let kept = kept_lines.first().copied();
            let place = InsertionPoint::of(&tree, &path, kept, summary.text)?;
            // If no entry is kept, it names itself: then nothing before it is sent, but everything after it is.
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

/// Where a compaction is inserted.
struct InsertionPoint {
    /// The line before which it is inserted.
    line: u32,
    /// Its id, as written between quotes.
    id: Vec<u8>,
    /// Its parent, as a JSON value.
    parent: Vec<u8>,
    /// The new link of the entry whose parent it becomes, if that entry named a different parent.
    relink: Option<Replace>,
}

impl InsertionPoint {
    /// The place on the path to the leaf; `kept` is the first kept entry.
    fn of(tree: &Tree<'_, '_>, path: &[u32], kept: Option<u32>, text: &str) -> Option<Self> {
        let leaf = path.last().copied()?;
        let Some(kept) = kept else {
            return Some(InsertionPoint::instead_of(tree, leaf));
        };
        let earlier = tree.compaction(path).map(|at| path[at]);
        let from_the_end = path.iter().rev().take_while(|line| **line != kept);
        if let Some(earlier) = earlier
            && from_the_end.copied().any(|line| line == earlier)
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

    /// The place of an existing entry, whose descendants it takes over: of two entries with the same id, the later one counts.
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

/// Removes blocks from a session, and the entries that have no other content.
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

/// The timestamp of an entry, with the quotes.
fn timestamp<'t>(transcript: &'t Transcript<'_>, line: u32) -> Option<&'t [u8]> {
    let time = Value::of(transcript.line(line)).field("timestamp");
    time.string().map(|_| time.raw())
}

/// An unused id in the agent's form, derived from the content of its entry.
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
