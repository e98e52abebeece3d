//! A transcript as users of the library see it: conversations, their messages and their blocks.
//!
//! A view of the model in `transcript`; never changes anything.

use std::borrow::Cow;

use super::{Policy, detect};
use crate::batch::each_transcript;
use crate::error::Result;
use crate::facts;
use crate::format::{Detector, Format, Warnings};
use crate::pipeline::Part;
use crate::policy;
use crate::tokens::{Estimator, Sizes};
use crate::transcript::{self, BlockKind, ConversationId, Outcome, Role, Typed};

/// Reads a transcript of any format. Tokens are counted as the preset `auto` counts them.
///
/// ```
/// use std::collections::BTreeMap;
///
/// let session = br#"{"role":"user","content":"Where is the error?"}
/// {"role":"assistant","content":"In the second line: a comma is missing."}
/// "#;
/// let transcript = ctxpack::read(session)?;
/// assert_eq!(transcript.format(), "anthropic");
///
/// let mut by_role = BTreeMap::new();
/// for conversation in transcript.conversations() {
///     for message in conversation.messages() {
///         *by_role.entry(message.role().name()).or_insert(0) += message.tokens();
///     }
/// }
/// assert_eq!(by_role.into_iter().collect::<Vec<_>>(), [("assistant", 9), ("user", 5)]);
/// # Ok::<(), ctxpack::Error>(())
/// ```
///
/// # Errors
/// [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported): the bytes are not in a supported format. A line that cannot be read
/// is not an error: it contributes no message.
pub fn read(bytes: &[u8]) -> Result<Transcript<'_>> {
    counted(bytes, &policy::preset("")?)
}

/// Reads a transcript of any format. Tokens are counted as `policy` counts them.
///
/// # Errors
/// As for [`read`].
pub fn read_with<'a>(bytes: &'a [u8], policy: &Policy) -> Result<Transcript<'a>> {
    counted(bytes, &policy.effective.policy)
}

fn counted<'a>(bytes: &'a [u8], policy: &policy::Policy) -> Result<Transcript<'a>> {
    let (format, layout) = detect(bytes)?;
    let estimator = Estimator::new(&policy.tokens)?;
    let mut pieces = Vec::new();
    each_transcript(bytes, layout, |bytes, first_line, part| {
        if part == Part::File || Detector::reads_conversation(format, bytes) {
            let transcript = format.read(bytes, first_line, &mut Warnings::default());
            pieces.push(Piece::new(transcript, first_line, part, &estimator));
        }
    });
    Ok(Transcript {
        format,
        estimator,
        pieces,
    })
}

/// A parsed transcript: its live conversations.
///
/// "Live" means what the model would see if the session went on: messages before a recorded compaction and on abandoned
/// branches do not count.
#[derive(Debug)]
pub struct Transcript<'a> {
    format: Format,
    estimator: Estimator,
    pieces: Vec<Piece<'a>>,
}

/// A whole file, or one line of a file with a conversation on each line.
#[derive(Debug)]
struct Piece<'a> {
    transcript: transcript::Transcript<'a>,
    first_line: u64,
    part: Part,
    /// For each conversation: its tokens, and those of each message.
    tokens: Vec<(u64, Vec<u64>)>,
}

impl<'a> Piece<'a> {
    fn new(
        transcript: transcript::Transcript<'a>,
        first_line: u64,
        part: Part,
        estimator: &Estimator,
    ) -> Self {
        let mut sizes = Sizes::new(estimator.clone());
        let tokens = transcript.conversations.iter().map(|conversation| {
            let messages = sizes.messages(&transcript, conversation);
            let total = estimator.total(messages.iter().copied());
            let messages = messages.into_iter().map(|size| estimator.tokens(size));
            (total, messages.collect())
        });
        Piece {
            tokens: tokens.collect(),
            transcript,
            first_line,
            part,
        }
    }
}

impl Transcript<'_> {
    /// The name of its format: `claude-code`, `codex`, `anthropic`, …
    pub fn format(&self) -> &'static str {
        self.format.name()
    }

    /// Its conversations: the main one first, then those of subagents; or one for each line, if a file contains many.
    pub fn conversations(&self) -> impl Iterator<Item = Conversation<'_>> {
        self.pieces.iter().flat_map(|piece| {
            let conversations = piece.transcript.conversations.iter().zip(&piece.tokens);
            conversations.map(|(conversation, (total, messages))| Conversation {
                piece,
                conversation,
                tokens: *total,
                messages,
                estimator: &self.estimator,
            })
        })
    }

    /// Estimated tokens of all conversations.
    pub fn tokens(&self) -> u64 {
        self.conversations().map(|c| c.tokens()).sum()
    }
}

/// A context window's worth of messages.
#[derive(Debug, Clone, Copy)]
pub struct Conversation<'t> {
    piece: &'t Piece<'t>,
    conversation: &'t transcript::Conversation,
    tokens: u64,
    messages: &'t [u64],
    estimator: &'t Estimator,
}

impl<'t> Conversation<'t> {
    /// `main`, the id of a subagent's conversation, or `line:7`; as in an [`Outcome`](crate::outcome::Outcome).
    pub fn id(&self) -> String {
        match self.piece.part {
            Part::File => self.conversation.id.to_string(),
            Part::Line => ConversationId::Line(self.piece.first_line).to_string(),
        }
    }

    /// Its estimated tokens.
    pub fn tokens(&self) -> u64 {
        self.tokens
    }

    /// Its messages, in the order in which the model sees them.
    pub fn messages(&self) -> impl Iterator<Item = Message<'t>> + use<'t> {
        let Conversation {
            piece,
            conversation,
            estimator,
            ..
        } = *self;
        let messages = conversation.messages.iter().zip(self.messages);
        messages.map(move |(message, tokens)| Message {
            piece,
            conversation,
            message,
            tokens: *tokens,
            estimator,
        })
    }
}

/// One message of a conversation.
#[derive(Debug, Clone, Copy)]
pub struct Message<'t> {
    piece: &'t Piece<'t>,
    conversation: &'t transcript::Conversation,
    message: &'t transcript::Message,
    tokens: u64,
    estimator: &'t Estimator,
}

impl<'t> Message<'t> {
    /// Who speaks.
    pub fn role(&self) -> Role {
        self.message.role
    }

    /// Whether a person wrote it: a user message that is not a tool result, an injected reminder or the echo of a command.
    pub fn is_typed(&self) -> bool {
        self.message.typed == Typed::Yes
    }

    /// The line on which it begins, from 1. A message may span several lines, and a line may hold several messages.
    pub fn line(&self) -> u64 {
        u64::from(self.conversation.first_line(self.message)) + self.piece.first_line
    }

    /// Its estimated tokens.
    pub fn tokens(&self) -> u64 {
        self.tokens
    }

    /// Its content blocks. String content is a single text block.
    pub fn blocks(&self) -> impl Iterator<Item = Block<'t>> + use<'t> {
        let Message {
            piece,
            conversation,
            message,
            estimator,
            ..
        } = *self;
        let blocks = conversation.blocks(message).iter();
        blocks.map(move |number| Block {
            piece,
            block: piece.transcript.block(*number),
            estimator,
        })
    }
}

/// One content block of a message.
#[derive(Debug, Clone, Copy)]
pub struct Block<'t> {
    piece: &'t Piece<'t>,
    block: &'t transcript::Block,
    estimator: &'t Estimator,
}

impl<'t> Block<'t> {
    /// What it is.
    pub fn kind(&self) -> BlockKind {
        self.block.kind
    }

    /// Its text; several texts are joined by line breaks. Invalid UTF-8 is replaced.
    pub fn text(&self) -> Cow<'t, str> {
        facts::block_text(&self.piece.transcript, self.block)
    }

    /// Its content as it is written in the transcript, in JSON: a call's input, a result's content, a text in its quotes.
    pub fn json(&self) -> &'t [u8] {
        let block = self.block;
        self.piece.transcript.bytes(block.line, block.content)
    }

    /// The tool that it calls. Empty for other blocks, and for results in formats that do not repeat the name.
    pub fn tool(&self) -> Cow<'t, str> {
        let block = self.block;
        String::from_utf8_lossy(self.piece.transcript.bytes(block.line, block.tool))
    }

    /// The id that ties a call to its result; empty for other blocks.
    pub fn call_id(&self) -> Cow<'t, str> {
        let block = self.block;
        String::from_utf8_lossy(self.piece.transcript.bytes(block.line, block.call_id))
    }

    /// Whether it is a result that reports a failed call.
    pub fn is_failed(&self) -> bool {
        self.block.outcome == Outcome::Failed
    }

    /// Its estimated tokens.
    pub fn tokens(&self) -> u64 {
        let size = self.estimator.block(&self.piece.transcript, self.block);
        self.estimator.tokens(size)
    }
}
