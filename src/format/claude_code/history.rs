//! What of a session no model will ever see again, and how the rest hangs together without it.
//!
//! Dead are chained lines outside of every live window, with what hangs on them, and the sidechains of tasks that are dead.
//! Lines without a place in the chain (titles, snapshots, queue operations) describe the session and stay.

use std::collections::BTreeSet;

use super::tree::{NONE, Tree};
use crate::ids::IdSet;
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
    if !(0..transcript.lines().len() as u32).any(follows)
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
    let links = || (0u32..).zip(transcript.links());
    let is_dead = |(line, link): &(u32, &Link)| !link.id.is_empty() && !live.contains(line);
    let mut dead = Dead {
        lines: links().filter(is_dead).map(|(line, _)| line).collect(),
        relinks: Vec::new(),
    };
    if dead.lines.is_empty() {
        return dead;
    }
    // Copies of requests repeat what leaves.
    dead.lines.extend(
        links()
            .filter(|(_, link)| link.marks.has(Marks::REQUEST))
            .map(|(line, _)| line),
    );
    let last = transcript
        .conversations
        .first()
        .and_then(|main| main.path.last())
        .copied();
    let id = |line: u32| {
        transcript
            .bytes(line, transcript.links()[line as usize].id)
            .to_vec()
    };
    for (line, link) in
        links().filter(|(line, link)| !link.parent.is_empty() && !dead.lines.contains(line))
    {
        let to = if link.marks.has(Marks::LEAF) {
            let target = tree.named(transcript.bytes(line, link.parent));
            if target.is_none_or(|target| !dead.lines.contains(&target)) {
                continue;
            }
            last
        } else {
            let parent = tree.parent(line);
            if parent == NONE || !dead.lines.contains(&parent) {
                continue;
            }
            let ancestors = std::iter::successors(Some(parent), |line| {
                Some(tree.parent(*line)).filter(|line| *line != NONE)
            });
            // No chain is longer than the file; one that is has a loop.
            ancestors
                .take(transcript.lines().len())
                .find(|line| !dead.lines.contains(line))
        };
        let Span { start, len } = link.parent;
        let span = Span {
            start: start - 1,
            len: len + 2,
        };
        dead.relinks.push(Relink {
            line,
            span,
            to: to.map(id),
        });
    }
    dead
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
