//! What a model sees of a session: everything from the last compaction on, with the messages that it keeps, and each answer
//! followed by its results.
//!
//! The agent goes back from the newest message to the question of the last compaction that was answered with a summary. That
//! compaction may name an older message: all messages from that one on are kept, and follow the summary.

use crate::ids::IdSet;
use crate::scan::Span;
use crate::transcript::{
    Answer, BlockKind, Compaction, Conversation, ConversationId, LinkKind, Role, Source, Transcript,
};

/// The lines that the agent uses, in document order.
#[derive(Debug, Default)]
pub(super) struct Taken {
    pub(super) lines: Vec<u32>,
    /// The question of the last compaction and its summary, if there is one, as indices in `lines`.
    pub(super) compaction: Option<(usize, usize)>,
    /// Whether the compaction keeps the messages before its question, so that they are sent after its summary.
    keeps: bool,
}

impl Taken {
    /// The part of a session that the agent uses.
    pub(super) fn of(transcript: &Transcript<'_>) -> Self {
        let links = transcript.links();
        let mut answered: IdSet<&[u8]> = IdSet::default();
        let mut until: Option<&[u8]> = None;
        let mut taken = Taken::default();
        let mut question = None;
        for line in (0..links.len() as u32).rev() {
            let link = &links[line as usize];
            if link.role.is_none() {
                continue;
            }
            let id = transcript.bytes(line, link.id);
            taken.lines.push(line);
            if let Some(until) = until {
                if id == until {
                    break;
                }
                continue;
            }
            match link.kind {
                LinkKind::Compaction(Compaction::Summary) => {
                    answered.insert(transcript.bytes(line, link.parent));
                }
                LinkKind::Compaction(Compaction::Boundary) if answered.contains(id) => {
                    question = Some(line);
                    let tail = transcript.bytes(line, link.content);
                    if tail.is_empty() || tail == id {
                        break;
                    }
                    until = Some(tail);
                }
                _ => {}
            }
        }
        taken.lines.reverse();
        taken.keeps = until.is_some();
        let place = |line: u32| taken.lines.iter().position(|taken| *taken == line);
        taken.compaction = question.and_then(|question| {
            let id = transcript.bytes(question, links[question as usize].id);
            let is_answer = |line: &&u32| {
                let link = &links[**line as usize];
                link.is_summary && transcript.bytes(**line, link.parent) == id
            };
            let first = place(question)?;
            let summary = taken.lines[first..].iter().find(is_answer)?;
            Some((first, place(*summary)?))
        });
        taken
    }

    /// The same lines in the order in which they are sent.
    fn in_order(&self) -> Vec<u32> {
        match self.compaction {
            Some((question, summary)) if self.keeps => {
                let (lines, after) = self.lines.split_at(summary + 1);
                let (kept, compaction) = lines.split_at(question);
                [compaction, kept, after].concat()
            }
            Some(_) | None => self.lines.clone(),
        }
    }
}

/// The conversation of a session.
pub(super) fn conversation(transcript: &Transcript<'_>) -> Conversation {
    let taken = Taken::of(transcript);
    let summary = taken.compaction.map(|(_, summary)| taken.lines[summary]);
    let mut conversation = of_lines(transcript, &taken.in_order(), summary);
    conversation.path = taken.lines;
    let lines: IdSet<u32> = conversation.all_lines().iter().copied().collect();
    let mirrors = transcript.mirrors().iter().map(|mirror| mirror.line);
    conversation.mirrors = mirrors.filter(|line| lines.contains(line)).collect();
    conversation.mirrors.dedup();
    conversation
}

/// The whole conversation, without summaries.
pub(super) fn full_history(transcript: &Transcript<'_>) -> Conversation {
    let links = transcript.links();
    let lines = 0..links.len() as u32;
    let lines: Vec<u32> = lines
        .filter(|line| links[*line as usize].role.is_some() && !links[*line as usize].is_summary)
        .collect();
    of_lines(transcript, &lines, None)
}

fn of_lines(transcript: &Transcript<'_>, lines: &[u32], summary: Option<u32>) -> Conversation {
    let mut conversation = Conversation::new(ConversationId::Main);
    let links = transcript.links();
    for line in lines {
        let link = &links[*line as usize];
        if link.answer != Answer::Given {
            continue;
        }
        let units = transcript.units();
        let at = units.partition_point(|unit| unit.line < *line);
        let Some(unit) = units.get(at).filter(|unit| unit.line == *line) else {
            continue;
        };
        let is_summary = summary == Some(*line);
        let own = unit.blocks.0..unit.blocks.1;
        let (said, answered): (Vec<u32>, Vec<u32>) =
            own.partition(|block| transcript.block(*block).kind != BlockKind::Result);
        // A summary other than the last one is an answer like any other.
        let role = match (link.role, is_summary) {
            (_, true) => Role::User,
            (role, false) => role.unwrap_or(unit.role),
        };
        for (role, content, blocks) in [
            (role, unit.content, said),
            (Role::Tool, Span::default(), answered),
        ] {
            if blocks.is_empty() {
                continue;
            }
            let message = conversation.push(role, Span::default(), content);
            let message = &mut conversation.messages[message];
            message.is_summary = is_summary;
            if unit.source == Source::Own && !is_summary {
                message.typed = transcript.is_typed(role, &blocks);
            }
            conversation.extend(*line, blocks);
        }
    }
    conversation
}
