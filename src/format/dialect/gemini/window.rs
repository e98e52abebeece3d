//! What a model sees of a session: the messages that the agent sends when it resumes, each result once.
//!
//! A model message that contains results counts as two: what the model said, and a message with the results. Results that a user
//! message repeats are not counted again.

use std::collections::BTreeMap;

use super::history::{History, Omitted, Replacements};
use crate::ids::IdSet;
use crate::scan::{Span, Value};
use crate::transcript::{
    Block, BlockKind, Conversation, ConversationId, LineKind, Role, Source, Spared, Transcript,
};

/// The model's answer to a summary, as the agent's own compression writes it.
const ACKNOWLEDGEMENT: &str = "Got it. Thanks for the additional context!";

/// One message of the window.
#[derive(Debug)]
pub(super) struct Sent {
    /// The number of its entry.
    pub(super) entry: usize,
    /// The number of its unit.
    pub(super) unit: usize,
    pub(super) role: Role,
    pub(super) blocks: Vec<u32>,
}

/// The messages of the window, in order.
#[derive(Debug, Default)]
pub(super) struct Window {
    pub(super) messages: Vec<Sent>,
    /// Maps blocks to the message block that they repeat.
    pub(super) copies: BTreeMap<u32, u32>,
}

impl Window {
    /// The messages among these that are sent.
    pub(super) fn of(transcript: &Transcript<'_>, history: &History<'_>) -> Self {
        let mut window = Window::default();
        let content = |block: u32| {
            let block = transcript.block(block);
            transcript.bytes(block.line, block.content)
        };
        for (entry, of) in history.entries.iter().enumerate() {
            let Some(unit) = of.unit else { continue };
            let role = transcript.units()[unit].role;
            let (first, end) = transcript.units()[unit].blocks;
            if role == Role::Assistant {
                let (answer, answered) =
                    (first..end).partition(|block| is_said(transcript, unit, *block));
                window.push(entry, unit, Role::Assistant, answer);
                window.push(entry, unit, Role::Tool, answered);
                continue;
            }
            let (mut blocks, mut found) = (Vec::new(), IdSet::default());
            for block in first..end {
                match window.repeated(transcript, block, &found) {
                    Some(of) => {
                        found.insert(of);
                        // A repetition with different content is left alone: it is unknown which of the two counts.
                        if content(of) == content(block) {
                            window.copies.insert(block, of);
                        }
                    }
                    None => blocks.push(block),
                }
            }
            window.push(entry, unit, role, blocks);
        }
        window
    }

    /// The result in the last message that a block repeats, except those already `found` for other blocks of its message.
    fn repeated(
        &self,
        transcript: &Transcript<'_>,
        number: u32,
        found: &IdSet<u32>,
    ) -> Option<u32> {
        let block = transcript.block(number);
        let last = self
            .messages
            .last()
            .filter(|last| last.role == Role::Tool)?;
        let id = |block: &Block| transcript.bytes(block.line, block.call_id);
        let is_result = block.kind == BlockKind::Result && !block.call_id.is_empty();
        let mut results = last.blocks.iter().copied().filter(|_| is_result);
        results.find(|number| {
            let result = transcript.block(*number);
            let is_like = result.kind == BlockKind::Result && result.shape == block.shape;
            is_like && id(result) == id(block) && !found.contains(number)
        })
    }

    fn push(&mut self, entry: usize, unit: usize, role: Role, blocks: Vec<u32>) {
        if !blocks.is_empty() {
            self.messages.push(Sent {
                entry,
                unit,
                role,
                blocks,
            });
        }
    }

    /// Whether the first message is the agent's own summary, which the model acknowledges.
    fn begins_with_summary(&self, transcript: &Transcript<'_>) -> bool {
        let [first, second, ..] = self.messages.as_slice() else {
            return false;
        };
        let [answer] = second.blocks.as_slice() else {
            return false;
        };
        let answer = transcript.block(*answer);
        let roles = (first.role, second.role);
        roles == (Role::User, Role::Assistant)
            && answer.kind == BlockKind::Text
            && transcript.block_text(answer) == ACKNOWLEDGEMENT
    }

    fn conversation(self, transcript: &Transcript<'_>) -> Conversation {
        let is_summarised = self.begins_with_summary(transcript);
        let mut conversation = Conversation::new(ConversationId::Main);
        for (number, sent) in self.messages.iter().enumerate() {
            let unit = &transcript.units()[sent.unit];
            let content = match sent.role == unit.role {
                true => unit.content,
                false => Span::default(),
            };
            let message = conversation.push(sent.role, Span::default(), content);
            let message = &mut conversation.messages[message];
            message.is_summary = unit.source == Source::Summary || number == 0 && is_summarised;
            if unit.source == Source::Own && !message.is_summary {
                message.typed = transcript.is_typed(sent.role, &sent.blocks);
            }
            conversation.extend(unit.line, sent.blocks.iter().copied());
        }
        conversation.copies = self.copies;
        conversation.path = conversation.all_lines().to_vec();
        conversation.path.dedup();
        let lines: IdSet<u32> = conversation.path.iter().copied().collect();
        let mirrors = transcript.mirrors().iter().map(|mirror| mirror.line);
        conversation.mirrors = mirrors.filter(|line| lines.contains(line)).collect();
        conversation.mirrors.dedup();
        conversation
    }
}

/// Whether a block of an answer is the model's own text or call, rather than a tool's result.
fn is_said(transcript: &Transcript<'_>, unit: usize, block: u32) -> bool {
    let said = transcript.units()[unit].content;
    let block = transcript.block(block);
    match block.kind {
        BlockKind::Call => true,
        BlockKind::Result => false,
        BlockKind::Text
        | BlockKind::Image
        | BlockKind::Document
        | BlockKind::Thinking
        | BlockKind::Redacted
        | BlockKind::Server
        | BlockKind::Attachment
        | BlockKind::Other => said.start <= block.value.start && block.value.end() <= said.end(),
    }
}

/// The conversation of a session.
pub(super) fn conversation(transcript: &Transcript<'_>) -> Conversation {
    let history = History::of(transcript);
    let mut conversation = Window::of(transcript, &history).conversation(transcript);
    conversation.spared = other_session(transcript, &history);
    conversation
}

/// The header of another session than the first one, after messages.
fn other_session(transcript: &Transcript<'_>, history: &History<'_>) -> Option<Spared> {
    let mut units = transcript.units().iter();
    let begun = units.next()?.line;
    let session_of = |line: u32| {
        // Skip lines without the word: only headers are read twice.
        let text = transcript.line(line);
        memchr::memmem::find(text, b"\"projectHash\"")?;
        let [session, project] = Value::of(text).fields(["sessionId", "projectHash"]);
        session.string().filter(|_| project.is_there())
    };
    let lines = transcript.lines();
    let headers = (0..lines.len() as u32).filter(|line| {
        lines[*line as usize].kind == LineKind::Session && transcript.is_there(*line)
    });
    let mut sessions = headers.filter_map(|line| Some((line, session_of(line)?)));
    let (_, first) = sessions.next()?;
    let (line, _) = sessions.find(|(line, session)| *session != first && *line > begun)?;
    Some(match history.restart {
        Some(restart) if restart > line => Spared::OtherSession(line),
        Some(_) | None => Spared::Joined(line),
    })
}

/// The whole conversation: as if nothing had been replaced, without summaries.
pub(super) fn full_history(transcript: &Transcript<'_>) -> Conversation {
    let all = Replacements::PassOver;
    let mut history = History::without(transcript, &Omitted::default(), all);
    let units = transcript.units();
    history.entries.retain(|entry| {
        let is_summary = |unit: usize| units[unit].source == Source::Summary;
        !entry.unit.is_some_and(is_summary)
    });
    Window::of(transcript, &history).conversation(transcript)
}
