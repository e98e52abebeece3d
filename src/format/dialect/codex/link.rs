//! Which items of a rollout form the live window, and what messages they form.
//!
//! The file is scanned once, as the agent does when it resumes: a compaction replaces everything before it, and when the user went
//! back by some turns, the state before the first of these turns is restored, including compactions. Everything the agent answered
//! between two outputs is one message, with its reasoning and calls.

use std::iter;

use super::SUMMARY_BEGINS;
use crate::format::shapes::joined_sessions::joined;
use crate::format::shapes::splice::is_listed;
use crate::ids::IdSet;
use crate::scan::{Span, Value};
use crate::transcript::{
    BlockKind, Compaction, Conversation, ConversationId, LineKind, LinkKind, Role, Source,
    Transcript, Unit,
};

/// The conversation of a rollout.
pub(super) fn link(transcript: &Transcript<'_>) -> Vec<Conversation> {
    let History { live, .. } = History::of(transcript, Compactions::Apply);
    let mut conversation = conversation(transcript, &live);
    conversation.mirrors = mirrors(transcript, &conversation);
    conversation.spared = joined(transcript, "session_meta", |line| {
        line.field("payload").field("id")
    });
    vec![conversation]
}

/// The whole conversation: across compactions, without the items that they wrote.
pub(super) fn full_history(transcript: &Transcript<'_>) -> Vec<Conversation> {
    let History { mut live, .. } = History::of(transcript, Compactions::PassOver);
    live.retain(|unit| transcript.units()[*unit].role != Role::System);
    vec![conversation(transcript, &live)]
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
#[derive(Clone, Copy, Default)]
struct Seen {
    /// The last step of the units it sees.
    live: Option<usize>,
    /// The last step of the user's messages among them.
    words: Option<usize>,
    /// The last compaction that started a new history.
    restart: Option<u32>,
    /// The last compaction that kept the user's messages.
    rebuilt: Option<u32>,
}

/// A unit, and the step of the unit before it. States share their beginnings: a separate list for each turn would take memory
/// proportional to turns times units.
#[derive(Clone, Copy)]
struct Step {
    unit: usize,
    before: Option<usize>,
}

/// What a model sees at the end of a rollout, and how that came about.
pub(super) struct History {
    /// The units, in order.
    pub(super) live: Vec<usize>,
    /// The last compaction that started a new history.
    pub(super) restart: Option<u32>,
    /// The last compaction that kept the user's messages.
    pub(super) rebuilt: Option<u32>,
    /// The first and the last line of each range of turns that was rolled back.
    pub(super) rolled_back: Vec<(u32, u32)>,
}

impl History {
    pub(super) fn of(transcript: &Transcript<'_>, compactions: Compactions) -> Self {
        let mut walk = Walk::new(transcript);
        walk.all(compactions);
        let mut live: Vec<usize> = walk.units_up_to(walk.now.live).collect();
        live.reverse();
        History {
            live,
            restart: walk.now.restart,
            rebuilt: walk.now.rebuilt,
            rolled_back: walk.rolled_back,
        }
    }
}

/// A rollout that is read from its beginning to its end.
struct Walk<'t, 'a> {
    transcript: &'t Transcript<'a>,
    /// All steps of all states.
    steps: Vec<Step>,
    now: Seen,
    /// The first line of each turn, and what was seen before it.
    turns: Vec<(u32, Seen)>,
    rolled_back: Vec<(u32, u32)>,
}

impl<'t, 'a> Walk<'t, 'a> {
    fn new(transcript: &'t Transcript<'a>) -> Self {
        Walk {
            transcript,
            steps: Vec::new(),
            now: Seen::default(),
            turns: Vec::new(),
            rolled_back: Vec::new(),
        }
    }

    fn all(&mut self, compactions: Compactions) {
        let links = self.transcript.links();
        let units = self.transcript.units();
        let kind_of = |line: u32| links.get(line as usize).map(|link| link.kind);
        let mut next = 0;
        for line in 0..self.transcript.lines().len() as u32 {
            let first = next;
            while units.get(next).is_some_and(|unit| unit.line == line) {
                next += 1;
            }
            let kind = kind_of(line).unwrap_or_default();
            if kind == LinkKind::GoBack {
                self.go_back(line);
            } else if let LinkKind::Compaction(what) = kind
                && what != Compaction::Unreadable
            {
                if compactions == Compactions::Apply {
                    self.compact(line, what);
                    self.see(first..next);
                }
            } else {
                let begins = |unit| is_turn(unit) || is_of_an_agent(self.transcript, unit);
                if units[first..next].iter().any(begins) {
                    self.turns.push((line, self.now));
                }
                self.see(first..next);
            }
        }
    }

    fn see(&mut self, new: std::ops::Range<usize>) {
        for unit in new {
            self.now.live = self.step(unit, self.now.live);
            if is_turn(&self.transcript.units()[unit]) {
                self.now.words = self.step(unit, self.now.words);
            }
        }
    }

    fn step(&mut self, unit: usize, before: Option<usize>) -> Option<usize> {
        self.steps.push(Step { unit, before });
        Some(self.steps.len() - 1)
    }

    /// The units of a state, from the last one to the first.
    fn units_up_to(&self, last: Option<usize>) -> impl Iterator<Item = usize> {
        let steps = iter::successors(last, |step| self.steps[*step].before);
        steps.map(|step| self.steps[step].unit)
    }

    fn compact(&mut self, line: u32, what: Compaction) {
        if what == Compaction::Replacement {
            self.now = Seen {
                restart: Some(line),
                ..Seen::default()
            };
        } else {
            self.now.live = self.now.words;
            self.now.rebuilt = Some(line);
        }
    }

    /// Rolls back the number of turns that a line states.
    fn go_back(&mut self, line: u32) {
        let number = self.transcript.links()[line as usize].content;
        let number = std::str::from_utf8(self.transcript.bytes(line, number)).ok();
        let number: usize = number.and_then(|n| n.parse().ok()).unwrap_or(0);
        let at = self.turns.len().saturating_sub(number);
        let Some((mut first, mut before)) = self.turns.drain(at..).next() else {
            return;
        };
        // Messages that the agent inserted before the turn are removed with it, but not those that it inserted before the first
        // turn.
        if at > 0 {
            let units = self.transcript.units();
            let steps = iter::successors(before.live, |step| self.steps[*step].before);
            for step in steps.map(|step| self.steps[step]) {
                let unit = &units[step.unit];
                if unit.source != Source::Injected || is_of_an_agent(self.transcript, unit) {
                    break;
                }
                first = unit.line;
                before.live = step.before;
            }
        }
        self.now = before;
        self.rolled_back.push((first, line));
    }
}

/// Whether a unit begins a turn: every message with the user's role, except those that the agent inserted.
fn is_turn(unit: &Unit) -> bool {
    unit.role == Role::User && unit.source != Source::Injected
}

/// Whether a unit is a message from another agent, which begins a turn where turns are taken back, although the user did not write it.
fn is_of_an_agent(transcript: &Transcript<'_>, unit: &Unit) -> bool {
    unit.role == Role::User
        && unit.source == Source::Injected
        && Value::part(transcript.line(unit.line), unit.object)
            .field("type")
            .string()
            == Some(b"agent_message")
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
    let History { live, .. } = History::of(transcript, Compactions::Apply);
    messages(transcript, &live)
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

/// Whether a message is a summary. A summary next to messages that a compaction kept is recognised by the compaction's own message,
/// which repeats it, or by its beginning.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::{Format, Warnings};

    #[test]
    fn states_have_their_beginnings_in_common() {
        const LINES: usize = 500;
        let item = |kind: &str, payload: &str| {
            format!("{{\"timestamp\":\"t\",\"type\":\"{kind}\",\"payload\":{{{payload}}}}}\n")
        };
        let said = |n: usize| {
            let content = format!(r#"[{{"type":"input_text","text":"say {n}"}}]"#);
            let message = format!(r#""type":"message","role":"user","content":{content}"#);
            item("response_item", &message)
        };
        let mut text = item("session_meta", r#""id":"s","cwd":"/w""#);
        for n in 0..LINES {
            text += &said(n);
            // A compaction like that of the older agent: it keeps the user's messages.
            if n % 2 == 0 {
                text += &item("compacted", r#""message":"as it was""#);
            }
        }
        text += &item(
            "event_msg",
            r#""type":"thread_rolled_back","num_turns":200"#,
        );
        let transcript = Format::Codex.read(text.as_bytes(), 1, &mut Warnings::default());
        let mut walk = Walk::new(&transcript);
        walk.all(Compactions::Apply);
        assert_eq!(walk.turns.len(), LINES - 200);
        assert_eq!(
            walk.units_up_to(walk.now.words).count(),
            walk.turns.len() + walk.turns.len() / 2
        );
        assert!(walk.steps.len() <= 2 * transcript.units().len());
    }
}
