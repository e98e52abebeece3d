//! Which items of a rollout form the live window, and what messages they form.
//!
//! The file is scanned once, as the agent does when it resumes: a compaction replaces what was before it, and where the user
//! went back by some turns, the state before the first of these turns is restored, compactions included. What the agent
//! answered between two outputs is one message, reasoning and calls together.

use super::SUMMARY_BEGINS;
use crate::format::shapes::joined::joined;
use crate::format::shapes::splice::is_listed;
use crate::ids::IdSet;
use crate::scan::Span;
use crate::transcript::{
    BlockKind, Compaction, Conversation, ConversationId, LineKind, LinkKind, Role, Source,
    Transcript, Unit,
};

/// The conversation of a rollout.
pub(super) fn link(transcript: &Transcript<'_>) -> Vec<Conversation> {
    let History { now, .. } = History::of(transcript, Compactions::Apply);
    let mut conversation = conversation(transcript, &now.live);
    conversation.mirrors = mirrors(transcript, &conversation);
    conversation.spared = joined(transcript, "session_meta", |line| {
        line.field("payload").field("id")
    });
    vec![conversation]
}

/// The whole conversation: across compactions, without the items that they wrote.
pub(super) fn full_history(transcript: &Transcript<'_>) -> Vec<Conversation> {
    let History { mut now, .. } = History::of(transcript, Compactions::PassOver);
    now.live
        .retain(|unit| transcript.units()[*unit].role != Role::System);
    vec![conversation(transcript, &now.live)]
}

/// What happens to recorded compactions.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Compactions {
    /// They replace what was before them.
    Apply,
    /// They are ignored.
    PassOver,
}

/// What a model sees at some point of the file.
#[derive(Clone, Default)]
pub(super) struct Seen {
    /// The units, in order.
    pub(super) live: Vec<usize>,
    /// The last compaction that started a new history.
    pub(super) restart: Option<u32>,
    /// The last compaction that kept the user's messages.
    pub(super) rebuilt: Option<u32>,
}

/// What a model sees at the end of a rollout, and how that came about.
#[derive(Default)]
pub(super) struct History {
    pub(super) now: Seen,
    /// The first and the last line of turns that were taken back.
    pub(super) taken_back: Vec<(u32, u32)>,
}

impl History {
    pub(super) fn of(transcript: &Transcript<'_>, compactions: Compactions) -> Self {
        let links = transcript.links();
        let units = transcript.units();
        let kind_of = |line: u32| links.get(line as usize).map(|link| link.kind);
        // The state before each turn is saved only if the user went back somewhere.
        let may_go_back = links.iter().any(|link| link.kind == LinkKind::GoBack);
        let mut turns: Vec<(u32, Seen)> = Vec::new();
        let mut history = History::default();
        let mut next = 0;
        for line in 0..transcript.lines().len() as u32 {
            let first = next;
            while units.get(next).is_some_and(|unit| unit.line == line) {
                next += 1;
            }
            let kind = kind_of(line).unwrap_or_default();
            if kind == LinkKind::GoBack {
                history.go_back(transcript, line, &mut turns);
            } else if let LinkKind::Compaction(what) = kind
                && what != Compaction::Unreadable
            {
                if compactions == Compactions::Apply {
                    history.now.compact(units, line, first..next, what);
                }
            } else {
                let now = &mut history.now;
                if may_go_back && units[first..next].iter().any(is_turn) {
                    turns.push((line, now.clone()));
                }
                now.live.extend(first..next);
            }
        }
        history
    }

    /// Takes back the number of turns that a line states.
    fn go_back(&mut self, transcript: &Transcript<'_>, line: u32, turns: &mut Vec<(u32, Seen)>) {
        let number = transcript.bytes(line, transcript.links()[line as usize].content);
        let number = std::str::from_utf8(number).ok();
        let number: usize = number.and_then(|n| n.parse().ok()).unwrap_or(0);
        let at = turns.len().saturating_sub(number);
        let Some((mut first, mut before)) = turns.drain(at..).next() else {
            return;
        };
        // What the agent inserted before the turn is removed with it, but not what it inserted before the first turn.
        if at > 0 {
            let units = transcript.units();
            let is_injected = |unit: &&usize| units[**unit].source == Source::Injected;
            while let Some(unit) = before.live.last().filter(is_injected) {
                first = units[*unit].line;
                before.live.pop();
            }
        }
        self.now = before;
        self.taken_back.push((first, line));
    }
}

impl Seen {
    fn compact(
        &mut self,
        units: &[Unit],
        line: u32,
        own: std::ops::Range<usize>,
        what: Compaction,
    ) {
        if what == Compaction::Replacement {
            self.live.clear();
            (self.restart, self.rebuilt) = (Some(line), None);
        } else {
            self.live.retain(|unit| {
                let unit = &units[*unit];
                unit.role == Role::User && unit.source != Source::Injected
            });
            self.rebuilt = Some(line);
        }
        self.live.extend(own);
    }
}

/// Whether a unit begins a turn: every message with the user's role, except those that the agent inserted.
fn is_turn(unit: &Unit) -> bool {
    unit.role == Role::User && unit.source != Source::Injected
}

/// The units of each message: consecutive answers of the agent form one message.
pub(super) fn messages(transcript: &Transcript<'_>, live: &[usize]) -> Vec<Vec<usize>> {
    let units = transcript.units();
    let is_answer = |unit: &usize| units[*unit].role == Role::Assistant;
    let groups = live.chunk_by(|a, b| is_answer(a) && is_answer(b));
    groups.map(<[usize]>::to_vec).collect()
}

/// The units of each message of the live window.
pub(super) fn live_messages(transcript: &Transcript<'_>) -> Vec<Vec<usize>> {
    let History { now, .. } = History::of(transcript, Compactions::Apply);
    messages(transcript, &now.live)
}

fn conversation(transcript: &Transcript<'_>, live: &[usize]) -> Conversation {
    let units = transcript.units();
    let mut conversation = Conversation::new(ConversationId::Main);
    for group in messages(transcript, live) {
        let first = &units[group[0]];
        let content = if group.len() == 1 {
            first.content
        } else {
            Span::default()
        };
        let message = conversation.push(first.role, Span::default(), content);
        if first.source == Source::Own {
            let blocks: Vec<u32> = (first.blocks.0..first.blocks.1).collect();
            conversation.messages[message].typed = transcript.is_typed(first.role, &blocks);
        }
        conversation.messages[message].is_summary = is_summary(transcript, first);
        for unit in group.iter().map(|unit| &units[*unit]) {
            conversation.extend(unit.line, unit.blocks.0..unit.blocks.1);
        }
    }
    conversation.path = live.iter().map(|unit| units[*unit].line).collect();
    conversation.path.dedup();
    conversation
}

/// Whether a message is a summary. One beside messages that a compaction kept is recognised by the compaction's own message, which
/// repeats it, or by its beginning.
fn is_summary(transcript: &Transcript<'_>, unit: &Unit) -> bool {
    let Some(link) = transcript.links().get(unit.line as usize) else {
        return false;
    };
    let first = (unit.blocks.0..unit.blocks.1)
        .next()
        .map(|block| transcript.block(block));
    let begins = || {
        let words = first.filter(|block| block.kind == BlockKind::Text);
        words.is_some_and(|words| transcript.block_text(words).starts_with(SUMMARY_BEGINS))
    };
    let is_repeated = || {
        let message = transcript.bytes(unit.line, link.content);
        first.is_some_and(|block| transcript.bytes(block.line, block.content) == message)
    };
    let is_listed = link.kind == LinkKind::Compaction(Compaction::Replacement);
    link.is_summary || is_listed && unit.role == Role::User && (begins() || is_repeated())
}

/// The events that repeat the content of live calls and outputs.
fn mirrors(transcript: &Transcript<'_>, conversation: &Conversation) -> Vec<u32> {
    if transcript.mirrors().is_empty() {
        return Vec::new();
    }
    let live: IdSet<&[u8]> = conversation
        .all_blocks()
        .map(|(_, block)| transcript.block(block))
        .filter(|block| matches!(block.kind, BlockKind::Call | BlockKind::Result))
        .map(|block| transcript.bytes(block.line, block.call_id))
        .collect();
    let mirrors = transcript.mirrors().iter();
    let mut lines: Vec<u32> = mirrors
        .filter(|mirror| live.contains(transcript.bytes(mirror.line, mirror.of)))
        .map(|mirror| mirror.line)
        .collect();
    lines.dedup();
    lines
}

/// Whether the items of a rollout have no envelopes, judged by this one.
pub(super) fn is_bare(transcript: &Transcript<'_>, unit: &Unit) -> bool {
    transcript.lines()[unit.line as usize].kind == LineKind::Message && !is_listed(transcript, unit)
}
