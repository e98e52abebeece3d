//! What a model sees of a session: the summary of the last compaction, and the messages after the one that it names.
//!
//! The agent reads messages in the order of the file and follows no links. If the message that a compaction names is missing, all
//! messages follow the summary.

use std::borrow::Cow;

use crate::format::shapes::joined_sessions::joined;
use crate::scan::{Value, unescape};
use crate::transcript::{
    BlockKind, Compaction, Conversation, ConversationId, LinkKind, Role, Transcript, Typed,
};

/// The live lines of a session.
#[derive(Debug, Default)]
pub(super) struct Window {
    /// The summary that it begins with.
    pub(super) summary: Option<u32>,
    /// The lines of all messages, in order, including those that are not sent.
    pub(super) messages: Vec<u32>,
    /// The number of messages at the beginning that are no longer sent.
    pub(super) begins: usize,
}

impl Window {
    pub(super) fn of(transcript: &Transcript<'_>) -> Self {
        let lines = || {
            let all = (0u32..).zip(transcript.links());
            all.filter(|(line, _)| transcript.is_there(*line))
        };
        let summary = LinkKind::Compaction(Compaction::Summary);
        let summary = lines().filter(|(_, link)| link.kind == summary).last();
        let messages = lines().filter(|(_, link)| link.kind == LinkKind::Node);
        let mut window = Window {
            summary: summary.map(|(line, _)| line),
            messages: messages.map(|(line, _)| line).collect(),
            begins: 0,
        };
        let Some(summary) = window.summary else {
            return window;
        };
        let anchor = Value::of(transcript.line(summary)).field("anchorMessage");
        let [id, index] = anchor.fields(["id", "index"]);
        let named = id.unescaped().filter(|id| !id.is_empty());
        let at = match named {
            Some(named) => window
                .messages
                .iter()
                .position(|line| id_of(transcript, *line) == named),
            None => index
                .number::<usize>()
                .filter(|index| *index < window.messages.len()),
        };
        window.begins = at.map_or(0, |at| at + 1);
        // Results whose calls are summarised are not sent.
        let is_results = |line: &u32| is_results(transcript, *line);
        while window.messages.get(window.begins).is_some_and(is_results) {
            window.begins += 1;
        }
        window
    }

    /// The lines that are sent, in order, and those between them.
    fn live(&self) -> Vec<u32> {
        let live = self.messages[self.begins..].iter();
        self.summary.into_iter().chain(live.copied()).collect()
    }
}

fn id_of<'t>(transcript: &'t Transcript<'_>, line: u32) -> Cow<'t, [u8]> {
    let id = transcript.links()[line as usize].id;
    unescape(transcript.bytes(line, id))
}

/// Whether a line holds results and nothing else.
pub(super) fn is_results(transcript: &Transcript<'_>, line: u32) -> bool {
    let mut blocks = transcript.blocks_of_line(line).peekable();
    blocks.peek().is_some() && blocks.all(|block| transcript.block(block).kind == BlockKind::Result)
}

/// The conversation of these lines.
fn conversation(transcript: &Transcript<'_>, lines: Vec<u32>) -> Conversation {
    let mut conversation = Conversation::new(ConversationId::Main);
    for line in lines.iter().copied() {
        let link = &transcript.links()[line as usize];
        let blocks: Vec<u32> = transcript.blocks_of_line(line).collect();
        let Some(role) = link.role.filter(|_| !blocks.is_empty()) else {
            continue;
        };
        let role = match role == Role::User && is_results(transcript, line) {
            true => Role::Tool,
            false => role,
        };
        let message = conversation.push(role, Default::default(), link.content);
        let message = &mut conversation.messages[message];
        message.is_summary = link.is_summary;
        message.typed = match link.is_injected || link.is_echo || link.is_summary {
            true => Typed::No,
            false => transcript.is_typed(role, &blocks),
        };
        conversation.extend(line, blocks);
    }
    conversation.path = lines;
    conversation
}

/// What a model would see of a session now.
pub(super) fn link(transcript: &Transcript<'_>) -> Conversation {
    let mut conversation = conversation(transcript, Window::of(transcript).live());
    conversation.spared = joined(transcript, "session_start", |line| line.field("id"));
    conversation
}

/// The whole conversation, without the summaries that compactions wrote.
pub(super) fn full_history(transcript: &Transcript<'_>) -> Conversation {
    conversation(transcript, Window::of(transcript).messages)
}
