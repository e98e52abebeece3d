//! What of a session no model will ever see again, and how the rest hangs together without it.
//!
//! Dead are chained lines outside of every live window, with what hangs on them, and the sidechains of tasks that are dead.
//! Lines without a place in the chain (titles, snapshots, queue operations) describe the session and stay.

use std::collections::BTreeSet;

use super::preserved::Preserved;
use super::tree::{NONE, Tree};
use crate::ids::{IdMap, IdSet};
use crate::scan::{Cursor, Kind, Span, unescape};
use crate::transcript::{BlockKind, Conversation, ConversationId, Link, Marks, Transcript};

/// Dead lines, and links to mend when they leave.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Dead {
    /// The lines.
    pub lines: BTreeSet<u32>,
    /// Links of lines that stay to lines that leave.
    pub relinks: Vec<Relink>,
}

/// A link that names a line which leaves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Relink {
    /// The line that holds the link.
    pub line: u32,
    /// The link's value with its quotes.
    pub span: Span,
    /// The id that it shall name, as it stands between quotes; `None`: no line.
    pub to: Option<Vec<u8>>,
}

/// The dead lines of a session.
///
/// None where no line follows another, or where nobody speaks in the main conversation: such a file was not written by
/// an agent as it stands, and to take away all but its last line would be to guess.
pub(in super::super) fn dead(transcript: &Transcript<'_>) -> Dead {
    let tree = Tree::new(transcript);
    let follows = |line| tree.parent(line) != NONE;
    let speaks = |main: &Conversation| main.messages.iter().any(|m| !main.blocks(m).is_empty());
    // Lines at the end that could not be read have no links.
    if !(0..transcript.links().len() as u32).any(follows)
        || !transcript.conversations.first().is_some_and(speaks)
    {
        return Dead::default();
    }
    let mut live: BTreeSet<u32> = BTreeSet::new();
    for conversation in &transcript.conversations {
        if !is_of_dead_task(transcript, conversation) {
            live.extend(&conversation.path);
            live.extend(&conversation.mirrors);
        }
    }
    // What a live compaction names is looked for, even where the chain no longer leads there.
    let boundaries = live.iter().filter(|line| tree.has(**line, Marks::BOUNDARY));
    let preserved: Vec<Preserved> = boundaries
        .map(|line| Preserved::read(transcript.line(*line)))
        .collect();
    let named = preserved.iter().flat_map(Preserved::named);
    live.extend(named.filter_map(|id| tree.named(id)));
    let mut lines = dead_lines(&tree, &live);
    if lines.is_empty() {
        return Dead::default();
    }
    // Copies of requests repeat what leaves.
    let links = (0u32..).zip(transcript.links());
    let requests = links.filter(|(_, link)| link.marks.has(Marks::REQUEST));
    lines.extend(requests.map(|(line, _)| line));
    Dead {
        relinks: relinks(&tree, &lines, &live),
        lines,
    }
}

/// What speaks outside of every live window, and what hangs on that alone.
///
/// A line that says nothing stays with the live line that it hangs on. One that hangs on nothing leaves when something
/// dead hangs on it.
fn dead_lines(tree: &Tree<'_, '_>, live: &BTreeSet<u32>) -> BTreeSet<u32> {
    let speaks = |line: u32| {
        let is_compaction = tree.has(line, Marks::BOUNDARY) || tree.has(line, Marks::SUMMARY);
        is_compaction || tree.link(line).role.is_some()
    };
    let links = (0u32..).zip(tree.transcript.links());
    let outside = links.filter(|(line, link)| !link.id.is_empty() && !live.contains(line));
    let (mut dead, silent): (BTreeSet<u32>, BTreeSet<u32>) = outside
        .map(|(line, _)| line)
        .partition(|line| speaks(*line) || tree.comes_again(*line));
    let stops = |line: u32| live.contains(&line) || speaks(line);
    let mut known = IdMap::default();
    let roots: IdSet<u32> = dead
        .iter()
        .map(|line| tree.climb(*line, &mut known, stops))
        .filter(|above| above.stop == NONE)
        .map(|above| above.last)
        .collect();
    for line in silent {
        let above = tree.climb(line, &mut known, stops);
        let leaves = if above.stop == NONE {
            roots.contains(&above.last)
        } else {
            !live.contains(&above.stop)
        };
        if leaves {
            dead.insert(line);
        }
    }
    dead
}

/// The links of what stays that have to name another line when `dead` lines leave.
fn relinks(tree: &Tree<'_, '_>, dead: &BTreeSet<u32>, live: &BTreeSet<u32>) -> Vec<Relink> {
    let transcript = tree.transcript;
    let main = transcript.conversations.first();
    let leaf = main.and_then(|main| main.leaf);
    let links = || (0u32..).zip(transcript.links());
    let is_pointer = |(_, link): &(u32, &Link)| link.marks.has(Marks::LEAF);
    let last_pointer = links().filter(is_pointer).last().map(|(line, _)| line);
    let mut relinks = Vec::new();
    for (line, link) in links() {
        if link.parent.is_empty() || dead.contains(&line) {
            continue;
        }
        let named = tree.named(transcript.bytes(line, link.parent));
        let to = if link.marks.has(Marks::LEAF) {
            // The last one is followed: what its newest descendants are may change with those that leave.
            let is_followed = Some(line) == last_pointer && named != leaf;
            if named.is_none_or(|target| live.contains(&target) && !is_followed) {
                continue;
            }
            leaf
        } else {
            // A parent that is not there: with other neighbours another line might take its place, so from now on it is
            // the one that does, or none.
            if link.id.is_empty() || named.is_some_and(|parent| !dead.contains(&parent)) {
                continue;
            }
            tree.ancestry(line)
                .skip(1)
                .find(|line| !dead.contains(line))
        };
        let Span { start, len } = link.parent;
        relinks.push(Relink {
            line,
            span: Span {
                start: start - 1,
                len: len + 2,
            },
            to: to.map(|to| transcript.bytes(to, tree.link(to).id).to_vec()),
        });
    }
    relinks
}

/// Whether a sidechain is that of a task whose call has left the live windows.
///
/// Inline sidechains name no call: their first message is the task's prompt.
fn is_of_dead_task(transcript: &Transcript<'_>, conversation: &Conversation) -> bool {
    let (ConversationId::Sidechain(_), Some(first)) =
        (&conversation.id, conversation.messages.first())
    else {
        return false;
    };
    let Some(text) = conversation.blocks(first).first().and_then(|b| {
        let block = transcript.block(*b);
        transcript
            .texts(block)
            .first()
            .map(|text| unescape(transcript.bytes(block.line, text.span)))
    }) else {
        return false;
    };
    let live: IdSet<u32> = transcript
        .conversations
        .iter()
        .filter(|c| c.id != conversation.id)
        .flat_map(|c| c.path.iter().copied())
        .collect();
    let (mut called, mut called_live) = (false, false);
    for line in 0..transcript.lines().len() as u32 {
        for block in transcript.blocks_of_line(line).map(|b| transcript.block(b)) {
            let is_task = block.kind == BlockKind::Call
                && matches!(transcript.bytes(line, block.tool), b"Task" | b"Agent");
            if is_task
                && prompt(transcript.bytes(line, block.content))
                    .is_some_and(|prompt| prompt == text)
            {
                called = true;
                called_live |= live.contains(&line);
            }
        }
    }
    called && !called_live
}

/// The `prompt` of a task's input.
fn prompt(input: &[u8]) -> Option<std::borrow::Cow<'_, [u8]>> {
    let mut prompt = None;
    let read = Cursor::new(input).object(|key, c| {
        match (key, c.kind()?) {
            (b"prompt", Kind::String) => prompt = Some(c.string()?.span),
            _ => drop(c.skip()?),
        }
        Ok(())
    });
    read.ok()?;
    prompt.map(|span| unescape(span.of(input)))
}
