//! One side of a comparison: a transcript with its tokens, and the keys by which its lines, messages and blocks are found again.
//!
//! A key is a hash. It only finds candidates: their bytes decide whether two blocks are the same.

use std::hash::BuildHasher;

use foldhash::fast::FixedState;

use crate::facts::{self, Earlier, MessageOrigin, exchanges};
use crate::format::{Format, Warnings};
use crate::ids::IdMap;
use crate::policy::Tools;
use crate::scan::decoded;
use crate::tokens::{Estimator, Sizes};
use crate::transcript::{Block, BlockKind, Conversation, Message, Transcript};

/// The most characters that are kept as a message's first words.
const WORDS: usize = 200;

/// A transcript that is compared.
#[derive(Debug)]
pub(super) struct Side<'a> {
    pub(super) transcript: Transcript<'a>,
    first_line: u64,
    sizes: Sizes,
    measured: Vec<Measured>,
}

/// The measurements of a conversation's messages.
#[derive(Debug)]
struct Measured {
    tokens: Vec<u64>,
    origins: Vec<MessageOrigin>,
    tools: IdMap<u32, String>,
}

/// One conversation of a side.
#[derive(Debug, Clone, Copy)]
pub(super) struct Window<'s> {
    pub(super) transcript: &'s Transcript<'s>,
    pub(super) conversation: &'s Conversation,
    /// The tokens that each message adds to the window; they add up to those of the conversation.
    pub(super) tokens: &'s [u64],
    pub(super) origins: &'s [MessageOrigin],
    /// The tool of each result, as named by its call.
    tools: &'s IdMap<u32, String>,
    sizes: &'s Sizes,
    first_line: u64,
}

/// The key that finds a message on the other side, from the most to the least reliable.
#[derive(Debug, Clone, Copy)]
pub(super) enum Key {
    /// The id of its line, or else its content.
    Id,
    /// Its content, without the contents of results.
    Said,
    /// The ids of its calls and results.
    Calls,
    /// Its role, unless it is a summary.
    Role,
}

impl<'a> Side<'a> {
    /// Reads a transcript, whose first line has this number in its file.
    pub(super) fn read(
        format: Format,
        bytes: &'a [u8],
        first_line: u64,
        estimator: &Estimator,
        earlier: &Earlier,
    ) -> Self {
        let transcript = format.read(bytes, first_line, &mut Warnings::default());
        let mut sizes = Sizes::new(estimator.clone());
        let conversations = transcript.conversations.iter();
        let measured = conversations.map(|conversation| {
            let mut before = 0;
            let growth = sizes.growth(&transcript, conversation).into_iter();
            let results = exchanges(&transcript, conversation, &Tools::default());
            let results = results.iter().filter_map(|exchange| {
                let tool = exchange.tool(&transcript).into_owned();
                Some((exchange.result?.block, tool))
            });
            Measured {
                tokens: growth
                    .map(|now| now.saturating_sub(std::mem::replace(&mut before, now)))
                    .collect(),
                origins: earlier.origins(&transcript, conversation),
                tools: results.collect(),
            }
        });
        Side {
            measured: measured.collect(),
            transcript,
            first_line,
            sizes,
        }
    }

    /// A conversation, by its number.
    pub(super) fn window(&self, number: usize) -> Window<'_> {
        let measured = &self.measured[number];
        Window {
            transcript: &self.transcript,
            conversation: &self.transcript.conversations[number],
            tokens: &measured.tokens,
            origins: &measured.origins,
            tools: &measured.tools,
            sizes: &self.sizes,
            first_line: self.first_line,
        }
    }

    /// All conversations.
    pub(super) fn windows(&self) -> impl Iterator<Item = Window<'_>> {
        (0..self.measured.len()).map(|number| self.window(number))
    }

    /// The number of a line in its file, from 1.
    pub(super) fn number(&self, line: u32) -> u64 {
        self.first_line + u64::from(line)
    }
}

impl Window<'_> {
    /// The number of a line in its file, from 1.
    pub(super) fn number(&self, line: u32) -> u64 {
        self.first_line + u64::from(line)
    }

    /// The tokens of the content of a result, or of another block.
    pub(super) fn tokens_of(&self, number: u32) -> u64 {
        let block = self.transcript.block(number);
        let estimator = self.sizes.estimator();
        estimator.tokens(match block.kind {
            BlockKind::Result => self.sizes.result(self.transcript, number),
            BlockKind::Text
            | BlockKind::Image
            | BlockKind::Document
            | BlockKind::Thinking
            | BlockKind::Redacted
            | BlockKind::Call
            | BlockKind::Server
            | BlockKind::Attachment
            | BlockKind::Other => estimator.block(self.transcript, block),
        })
    }

    /// The tool of a call or a result, if its name is known.
    pub(super) fn tool(&self, number: u32) -> Option<String> {
        let block = self.transcript.block(number);
        match block.kind {
            BlockKind::Call | BlockKind::Result | BlockKind::Server => {}
            BlockKind::Text
            | BlockKind::Image
            | BlockKind::Document
            | BlockKind::Thinking
            | BlockKind::Redacted
            | BlockKind::Attachment
            | BlockKind::Other => return None,
        }
        let known = self.tools.get(&number).cloned();
        known.or_else(|| {
            let name = decoded(self.transcript.bytes(block.line, block.tool));
            (!name.is_empty()).then(|| name.into_owned())
        })
    }

    /// The keys of all messages.
    pub(super) fn keys(&self, key: Key) -> Vec<Option<u64>> {
        let messages = self.conversation.messages.iter().zip(self.origins);
        messages
            .map(|(message, origin)| match (key, origin) {
                (Key::Id, MessageOrigin::Session) => {
                    Some(self.id(message).unwrap_or_else(|| self.said(message)))
                }
                // A summary can have the id of a line that it replaces.
                (Key::Id | Key::Said, _) => Some(self.said(message)),
                (Key::Calls, _) => self.calls(message),
                (Key::Role, MessageOrigin::Session) => {
                    Some(hash(&[message.role.name().as_bytes()]))
                }
                (Key::Role, MessageOrigin::Summary | MessageOrigin::Acknowledgement) => None,
            })
            .collect()
    }

    /// The id of the line on which a message begins.
    fn id(&self, message: &Message) -> Option<u64> {
        let line = *self.conversation.lines(message).first()?;
        let id = self
            .transcript
            .bytes(line, self.transcript.links().get(line as usize)?.id);
        (!id.is_empty()).then(|| hash(&[b"id", id]))
    }

    fn said(&self, message: &Message) -> u64 {
        let blocks = self.conversation.blocks(message).iter();
        let blocks = blocks.map(|block| tied(self.transcript, self.transcript.block(*block)));
        blocks.fold(hash(&[message.role.name().as_bytes()]), |all, block| {
            hash(&[&all.to_le_bytes(), &block.to_le_bytes()])
        })
    }

    fn calls(&self, message: &Message) -> Option<u64> {
        let blocks = self.conversation.blocks(message).iter();
        let blocks = blocks.map(|block| self.transcript.block(*block));
        let mut tied = blocks
            .filter(|block| !block.call_id.is_empty())
            .map(|block| kind_and_id(self.transcript, block));
        let first = tied.next()?;
        Some(tied.fold(first, |all, block| {
            hash(&[&all.to_le_bytes(), &block.to_le_bytes()])
        }))
    }

    /// The first words of a message: of its text, or else of its call, or else of its result.
    pub(super) fn words(&self, message: &Message) -> String {
        let blocks = || {
            let blocks = self.conversation.blocks(message).iter();
            blocks.map(|block| self.transcript.block(*block))
        };
        let of = |kind: BlockKind| blocks().find(|block| block.kind == kind);
        let text = of(BlockKind::Text).or_else(|| of(BlockKind::Attachment));
        let text = text.map(|block| words(self.transcript, block));
        let text = text.filter(|words| !words.is_empty());
        text.unwrap_or_else(|| {
            let other = of(BlockKind::Call)
                .or_else(|| of(BlockKind::Result))
                .or_else(|| blocks().next());
            other
                .map(|block| words(self.transcript, block))
                .unwrap_or_default()
        })
    }
}

/// The first words of a block.
pub(super) fn words(transcript: &Transcript<'_>, block: &Block) -> String {
    let said = facts::beginning(transcript, block, WORDS);
    if !said.is_empty() {
        return said.into_owned();
    }
    match block.kind {
        // A call's input, as it is written.
        BlockKind::Call | BlockKind::Server | BlockKind::Attachment => {
            let raw = transcript.bytes(block.line, block.content);
            let start = &raw[..raw.len().min(WORDS * 4)];
            String::from_utf8_lossy(start).chars().take(WORDS).collect()
        }
        BlockKind::Text
        | BlockKind::Image
        | BlockKind::Document
        | BlockKind::Thinking
        | BlockKind::Redacted
        | BlockKind::Result
        | BlockKind::Other => format!("[{}]", block.kind.name()),
    }
}

/// The key of a block: for a result, its call.
pub(super) fn tied(transcript: &Transcript<'_>, block: &Block) -> u64 {
    match block.kind {
        BlockKind::Result => kind_and_id(transcript, block),
        BlockKind::Text
        | BlockKind::Image
        | BlockKind::Document
        | BlockKind::Thinking
        | BlockKind::Redacted
        | BlockKind::Call
        | BlockKind::Server
        | BlockKind::Attachment
        | BlockKind::Other => hash(&[block.kind.name().as_bytes(), value(transcript, block)]),
    }
}

/// A block's kind, with the id of its call.
pub(super) fn kind_and_id(transcript: &Transcript<'_>, block: &Block) -> u64 {
    let id = transcript.bytes(block.line, block.call_id);
    hash(&[block.kind.name().as_bytes(), id])
}

/// The bytes of a block.
pub(super) fn value<'t>(transcript: &'t Transcript<'_>, block: &Block) -> &'t [u8] {
    transcript.bytes(block.line, block.value)
}

/// A hash of several parts; the same in every run, so that rows are too.
pub(super) fn hash(parts: &[&[u8]]) -> u64 {
    FixedState::default().hash_one(parts)
}
