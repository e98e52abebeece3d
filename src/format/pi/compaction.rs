//! A summary as pi writes it: a `compaction` entry at the end of the session, which names the first entry that is still sent.
//!
//! The agent adds it behind everything else and changes nothing before it; so do we. What it replaces is dead then, and
//! that leaves is for `history` to say. Its time is that of the last entry that stays: the agent takes what a provider
//! counted in an answer for old where the answer is no younger than the compaction.

use std::collections::BTreeSet;

use super::super::compaction::{Patch, Splice, Summary};
use super::super::removal::{out_of_list, says};
use super::history::{Mended, mended};
use super::tree::{Chaining, Tree};
use crate::ids::IdSet;
use crate::scan::Cursor;
use crate::text::push_json_string;
use crate::transcript::{Conversation, Transcript};

/// Puts a summary into a session; without one, what it would replace leaves at once, for nothing could tell an agent to
/// pass it over.
pub(in super::super) fn splice(
    transcript: &Transcript<'_>,
    conversation: &Conversation,
    tail: usize,
    summary: Option<Summary<'_>>,
) -> Option<Splice> {
    let tree = Tree::new(transcript);
    let window = &conversation.path;
    let first = conversation.messages.get(tail);
    let at = match first.map(|message| conversation.first_line(message)) {
        Some(line) => window.iter().position(|other| *other == line)?,
        None => window.len(),
    };
    let (gone, stays) = window.split_at(at);
    gone.first()?;
    let Some(summary) = summary else {
        let stays: IdSet<u32> = stays.iter().copied().collect();
        let path = tree.path();
        let goes = |line: &u32| tree.link(*line).role.is_some() && !stays.contains(line);
        let dropped: BTreeSet<u32> = path.iter().copied().filter(goes).collect();
        return Some(leaving(&tree, &path, dropped));
    };
    let mut splice = Splice::default();
    let leaf = conversation.leaf?;
    let time = window
        .iter()
        .rev()
        .find_map(|line| timestamp(transcript, *line));
    let mut out = Vec::with_capacity(summary.text.len() + 256);
    out.extend_from_slice(b"{\"type\":\"compaction\"");
    let id = match tree.chaining {
        Chaining::ByPlace => None,
        Chaining::ById => {
            let parent = tree.id_of(leaf);
            let id = id(&tree, parent, summary.text);
            out.extend_from_slice(format!(",\"id\":\"{id}\",\"parentId\":\"").as_bytes());
            out.extend_from_slice(parent);
            out.push(b'"');
            Some(id)
        }
    };
    if let Some(time) = time {
        out.extend_from_slice(b",\"timestamp\":");
        out.extend_from_slice(time);
    }
    out.extend_from_slice(b",\"summary\":");
    push_json_string(&mut out, summary.text);
    // Where nothing stays it names itself: nothing before it, but all that comes behind it.
    let kept = stays.first().copied();
    match &id {
        Some(id) => {
            out.extend_from_slice(b",\"firstKeptEntryId\":\"");
            out.extend_from_slice(kept.map_or(id.as_bytes(), |kept| tree.id_of(kept)));
            out.push(b'"');
        }
        None => {
            let before = tree.entries().take_while(|line| Some(*line) != kept);
            let number = before.count();
            out.extend_from_slice(format!(",\"firstKeptEntryIndex\":{number}").as_bytes());
        }
    }
    out.extend_from_slice(format!(",\"tokensBefore\":{}}}", summary.tokens_before).as_bytes());
    let end = transcript.lines().len() as u32;
    splice.inserted.insert(end, vec![out]);
    splice.id = id;
    Some(splice)
}

/// Takes blocks out of a session, and the entries that say nothing without them.
pub(in super::super) fn without(
    transcript: &Transcript<'_>,
    conversation: &Conversation,
    blocks: &IdSet<u32>,
) -> Splice {
    let tree = Tree::new(transcript);
    let mut patches = Vec::new();
    let mut dropped = BTreeSet::new();
    for line in conversation.all_lines().iter().copied() {
        let own = transcript.blocks_of_line(line);
        if !own.clone().any(|block| blocks.contains(&block)) {
            continue;
        }
        let speaks = |b: u32| !blocks.contains(&b) && says(transcript, transcript.block(b));
        if own.clone().any(speaks) {
            let content = transcript.links()[line as usize].content;
            patches.extend(out_of_list(transcript, line, content, own, blocks));
        } else {
            dropped.insert(line);
        }
    }
    let mut splice = leaving(&tree, &tree.path(), dropped);
    splice.patches.extend(patches);
    splice
}

/// These lines leave, and the rest holds together.
fn leaving(tree: &Tree<'_, '_>, path: &[u32], dropped: BTreeSet<u32>) -> Splice {
    let Mended { relinks, figures } = mended(tree, path, &dropped);
    let relinks = relinks.into_iter().map(|relink| Patch {
        line: relink.line,
        span: relink.span,
        with: match relink.to {
            Some(id) => [b"\"", id.as_slice(), b"\""].concat(),
            None => b"null".to_vec(),
        },
    });
    let figures = figures.into_iter().map(|figure| Patch {
        line: figure.line,
        span: figure.span,
        with: figure.value.to_string().into_bytes(),
    });
    Splice {
        patches: relinks.chain(figures).collect(),
        dropped,
        ..Splice::default()
    }
}

/// When an entry was written, as it stands with its quotes.
fn timestamp<'t>(transcript: &'t Transcript<'_>, line: u32) -> Option<&'t [u8]> {
    let bytes = transcript.line(line);
    let mut time = None;
    let read = Cursor::new(bytes).object(|key, c| {
        let value = c.skip()?;
        if key == b"timestamp" {
            time = Some(value);
        }
        Ok(())
    });
    // The line was read before; should it fail all the same, it says nothing.
    let time = read.ok().and(time)?.of(bytes);
    time.starts_with(b"\"").then_some(time)
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
