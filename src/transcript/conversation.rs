//! A conversation: the messages of one context window.

use std::collections::BTreeMap;

use super::typed::{may_be_added, typed_in};
use super::{Author, Role, Source, Transcript};
use crate::ids::IdSet;
use crate::scan::{Span, Value};

/// Identifies a conversation in its transcript.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum ConversationId {
    /// The main conversation, which the user sees.
    Main,
    /// A subagent's, by the id of its first line.
    Sidechain(String),
    /// The conversation on that line (from 1) of a conversation-per-line file.
    Line(u64),
}

impl std::fmt::Display for ConversationId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            ConversationId::Main => f.write_str("main"),
            ConversationId::Sidechain(id) => f.write_str(id),
            ConversationId::Line(line) => write!(f, "line:{line}"),
        }
    }
}

/// Why lines that no model sees are not dead: they were not abandoned, and repairing the file would bring them back. Line numbers
/// start at 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spared {
    /// A message on this line names a parent that is not in the file, or could not be read, and there are messages before it.
    BrokenChain(u32),
    /// A session other than the one that continues begins on this line, as when two files were concatenated.
    OtherSession(u32),
    /// Likewise, but the lines of both are read as one session.
    Joined(u32),
}

/// How a summary is told from the other messages of its conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SummaryMark {
    /// By its record alone: a user may quote a summary.
    Record,
    /// By its first words, too: it is written as a message.
    #[default]
    Words,
}

/// Whether a person wrote a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Typed {
    /// Yes: a user message that is not a result, a reminder, the echo of a command, or content that an agent added.
    Yes,
    /// Anything else.
    No,
}

/// One message of a live window.
#[derive(Debug, Clone, Copy)]
pub struct Message {
    /// Its role.
    pub role: Role,
    /// Whether a person wrote it.
    pub typed: Typed,
    /// Whether the format itself says that it is a summary.
    pub is_summary: bool,
    /// The message object on its first line; empty if the message is spread over several lines.
    pub object: Span,
    /// The content value on its first line.
    pub content: Span,
    lines: (u32, u32),
    blocks: (u32, u32),
}

/// The live window of one conversation: what the model would see now, in the order in which it would see it.
#[derive(Debug, Clone)]
pub struct Conversation {
    /// Its id.
    pub id: ConversationId,
    /// Its messages; the first is number 1 in a report.
    pub messages: Vec<Message>,
    /// All live lines in the order of the conversation, including those that are not messages; empty if every line is live.
    pub path: Vec<u32>,
    /// The live lines that are not on the chain but are sent anyway.
    pub gathered: IdSet<u32>,
    /// The line from which it would continue, in formats whose lines form a tree.
    pub leaf: Option<u32>,
    /// Lines that another version of the agent would send instead. They are not part of the conversation, but are kept.
    pub beside: Vec<u32>,
    /// Lines that repeat live lines, sorted; the model does not see them.
    pub mirrors: Vec<u32>,
    /// Why lines of the session that no model sees must not be dropped.
    pub spared: Option<Spared>,
    /// How its summaries are told.
    pub marks: SummaryMark,
    /// Maps blocks on live lines to the message block that they repeat: the agent sends one of the two.
    pub copies: BTreeMap<u32, u32>,
    lines: Vec<u32>,
    blocks: Vec<u32>,
}

impl Conversation {
    /// A conversation without messages.
    pub fn new(id: ConversationId) -> Self {
        Conversation {
            id,
            messages: Vec::new(),
            path: Vec::new(),
            gathered: IdSet::default(),
            leaf: None,
            beside: Vec::new(),
            spared: None,
            marks: SummaryMark::default(),
            copies: BTreeMap::new(),
            mirrors: Vec::new(),
            lines: Vec::new(),
            blocks: Vec::new(),
        }
    }

    /// Begins a message, to which the lines added next belong.
    pub fn push(&mut self, role: Role, object: Span, content: Span) -> usize {
        let lines = (self.lines.len() as u32, self.lines.len() as u32);
        let blocks = (self.blocks.len() as u32, self.blocks.len() as u32);
        self.messages.push(Message {
            role,
            typed: Typed::No,
            is_summary: false,
            object,
            content,
            lines,
            blocks,
        });
        self.messages.len() - 1
    }

    /// Adds a line with some of its blocks to the current message.
    pub fn extend(&mut self, line: u32, blocks: impl IntoIterator<Item = u32>) {
        self.lines.push(line);
        self.blocks.extend(blocks);
        if let Some(message) = self.messages.last_mut() {
            message.lines.1 = self.lines.len() as u32;
            message.blocks.1 = self.blocks.len() as u32;
        }
    }

    /// The lines of a message, from 0, in order.
    pub fn lines(&self, message: &Message) -> &[u32] {
        &self.lines[message.lines.0 as usize..message.lines.1 as usize]
    }

    /// The numbers of the blocks of a message, in order.
    pub fn blocks(&self, message: &Message) -> &[u32] {
        &self.blocks[message.blocks.0 as usize..message.blocks.1 as usize]
    }

    /// All live lines, in the order of the conversation.
    pub fn all_lines(&self) -> &[u32] {
        &self.lines
    }

    /// Every block with the number of its message (from 0), in order.
    pub fn all_blocks(&self) -> impl Iterator<Item = (usize, u32)> + '_ {
        self.messages
            .iter()
            .enumerate()
            .flat_map(|(i, m)| self.blocks(m).iter().map(move |b| (i, *b)))
    }

    /// The line (from 0) on which a message begins.
    pub fn first_line(&self, message: &Message) -> u32 {
        self.lines(message).first().copied().unwrap_or(0)
    }
}

impl Transcript<'_> {
    /// Why lines that no model sees must not be dropped, if there is a reason.
    pub fn spared(&self) -> Option<Spared> {
        self.conversations
            .iter()
            .find_map(|conversation| conversation.spared)
    }

    /// The main conversation made of all messages, in formats with whole messages on a line: every message is live.
    pub fn conversation_of_units(&self) -> Conversation {
        let mut conversation = Conversation::new(ConversationId::Main);
        self.push_units(&mut conversation, 0);
        conversation
    }

    /// Adds the messages that the conversation does not have yet.
    pub fn extend_by_units(&mut self) {
        let mut conversations = std::mem::take(&mut self.conversations);
        match conversations.first_mut() {
            Some(conversation) => self.push_units(conversation, conversation.messages.len()),
            None => conversations.push(self.conversation_of_units()),
        }
        self.conversations = conversations;
    }

    fn push_units(&self, conversation: &mut Conversation, from: usize) {
        let mut blocks = Vec::new();
        for unit in &self.units()[from..] {
            blocks.clear();
            blocks.extend(unit.blocks.0..unit.blocks.1);
            let message = conversation.push(unit.role, unit.object, unit.content);
            if unit.source != Source::Injected {
                conversation.messages[message].typed = self.is_typed(unit.role, &blocks);
            }
            conversation.extend(unit.line, blocks.iter().copied());
        }
    }

    /// The message that a byte of a line belongs to: its conversation, and its number in it (from 0).
    pub fn message_at(&self, line: u32, byte: usize) -> Option<(&Conversation, usize)> {
        self.conversations.iter().find_map(|conversation| {
            let holds = |message: &Message| {
                let Span { start, len } = message.object;
                let inside = len == 0 || (start as usize..(start + len) as usize).contains(&byte);
                inside && conversation.lines(message).contains(&line)
            };
            conversation
                .messages
                .iter()
                .position(holds)
                .map(|number| (conversation, number))
        })
    }

    /// Whether a message of a conversation begins a turn: a person wrote it, and it does not continue the message right before it.
    /// (Agents store a picture in a request as a message of its own.)
    pub fn begins_turn(&self, conversation: &Conversation, message: usize) -> bool {
        let messages = &conversation.messages;
        let before = message.checked_sub(1).map(|before| &messages[before]);
        self.begins_turn_after(conversation, before, &messages[message])
    }

    /// The same for messages in another order, given the message before it.
    pub fn begins_turn_after(
        &self,
        conversation: &Conversation,
        before: Option<&Message>,
        message: &Message,
    ) -> bool {
        let goes_on = |before: &Message| {
            let is_picture = |message| self.is_picture(conversation, message);
            before.typed == Typed::Yes && (is_picture(before) || is_picture(message))
        };
        message.typed == Typed::Yes && !before.is_some_and(goes_on)
    }

    /// Whether a message consists only of pictures and documents.
    fn is_picture(&self, conversation: &Conversation, message: &Message) -> bool {
        use super::BlockKind::{Document, Image};
        let mut blocks = conversation.blocks(message).iter();
        blocks.len() > 0 && blocks.all(|block| matches!(self.block(*block).kind, Image | Document))
    }

    /// Whether an agent added the whole text: context from an editor, or the note that the user interrupted it.
    fn is_added(&self, block: u32) -> bool {
        let block = self.block(block);
        let first = self.texts(block).first();
        block.author == Author::Program
            || first.is_some_and(|text| may_be_added(self.bytes(block.line, text.span)))
                && typed_in(&self.block_text(block)).is_none()
    }

    /// Whether a part of a type that no reader knows may be what the user said: a recording, for instance.
    fn may_say_something(&self, block: u32) -> bool {
        let block = self.block(block);
        let value = Value::of(self.bytes(block.line, block.value));
        let kind = value.field("type").string();
        kind.is_some_and(|kind| !kind.starts_with(b"tool_") && !kind.starts_with(b"cache_"))
    }

    /// Whether a person wrote a message with these blocks, unless a flag says otherwise.
    pub fn is_typed(&self, role: Role, blocks: &[u32]) -> Typed {
        use super::BlockKind::{
            Attachment, Call, Document, Image, Other, Redacted, Result, Server, Text, Thinking,
        };
        if role != Role::User {
            return Typed::No;
        }
        let mut words = Typed::No;
        for block in blocks {
            match self.block(*block).kind {
                Text if self.is_added(*block) => {}
                Other if !self.may_say_something(*block) => {}
                Text | Image | Document | Other => words = Typed::Yes,
                Result | Call | Server => return Typed::No,
                // What is attached to words does not make them another's.
                Attachment | Thinking | Redacted => {}
            }
        }
        words
    }
}
