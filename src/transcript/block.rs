//! The contents of a line: blocks of messages, copies of results, and whole messages as units.
//!
//! PURE. Spans and small facts only; texts stay in the input's bytes.

use crate::scan::Span;

/// The role of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Role {
    /// `system`, `developer`
    System,
    /// `user`
    User,
    /// `assistant`
    Assistant,
    /// `tool`, `function`: OpenAI's results are messages of their own
    Tool,
}

impl Role {
    /// All roles.
    pub const ALL: [Role; 4] = [Role::System, Role::User, Role::Assistant, Role::Tool];

    /// The name in a message.
    pub fn name(self) -> &'static str {
        match self {
            Role::System => "system",
            Role::User => "user",
            Role::Assistant => "assistant",
            Role::Tool => "tool",
        }
    }
}

/// The kind of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum BlockKind {
    /// Text.
    Text,
    /// A picture.
    Image,
    /// A document.
    Document,
    /// Reasoning, with its signature.
    Thinking,
    /// Reasoning that only the provider can read.
    Redacted,
    /// A tool call.
    Call,
    /// A tool's result.
    Result,
    /// A call or a result of a tool that the provider runs; always kept unchanged.
    Server,
    /// Content that the agent added.
    Attachment,
    /// Anything else.
    Other,
}

impl BlockKind {
    /// Every kind.
    pub(crate) const ALL: [BlockKind; 10] = [
        BlockKind::Text,
        BlockKind::Image,
        BlockKind::Document,
        BlockKind::Thinking,
        BlockKind::Redacted,
        BlockKind::Call,
        BlockKind::Result,
        BlockKind::Server,
        BlockKind::Attachment,
        BlockKind::Other,
    ];

    /// The name in a report.
    pub const fn name(self) -> &'static str {
        match self {
            BlockKind::Text => "text",
            BlockKind::Image => "image",
            BlockKind::Document => "document",
            BlockKind::Thinking => "thinking",
            BlockKind::Redacted => "redacted_thinking",
            BlockKind::Call => "tool_call",
            BlockKind::Result => "tool_result",
            BlockKind::Server => "server_tool",
            BlockKind::Attachment => "attachment",
            BlockKind::Other => "other",
        }
    }
}

/// The JSON shape of a content value; replacing the content keeps its shape.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Shape {
    /// A JSON string.
    String,
    /// A list of blocks or parts.
    List,
    /// A list of parts as in the Responses API, where a text is `input_text`.
    Parts,
    /// No content, or `null`.
    Absent,
    /// Anything else.
    Other,
}

/// Whether a result reports that its call failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// No `is_error`, or a false one.
    Fine,
    /// `"is_error": true`
    Failed,
}

/// Who wrote a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Author {
    /// The author of its message.
    OfMessage,
    /// The agent's program, which added it to a person's words.
    Program,
}

/// One content block. Spans are within its line.
#[derive(Debug, Clone, Copy)]
pub struct Block {
    /// What it is.
    pub kind: BlockKind,
    /// How its content is written.
    pub shape: Shape,
    /// For a result: whether the call failed.
    pub outcome: Outcome,
    /// Who wrote it.
    pub author: Author,
    /// The number of pictures in the content.
    pub images: u8,
    /// The number of documents in the content.
    pub documents: u8,
    /// The number of other parts that are not text.
    pub others: u8,
    /// Its line.
    pub line: u32,
    /// The whole block; for a message whose content is a string, that string with its quotes.
    pub value: Span,
    /// What a replacement replaces: a result's content, a call's input, a text with its quotes.
    pub content: Span,
    /// The id that ties a call to its result, between the quotes.
    pub call_id: Span,
    /// A call's tool name, between the quotes; also a result's if the format repeats it.
    pub tool: Span,
    /// The length in bytes of a header in string content that describes the output after it (duration, exit status). The header
    /// stays when the output is replaced, and is not part of the output's text.
    pub header: u32,
    /// The range of its texts in the transcript's list; set by [`Record::block`].
    pub(crate) texts: (u32, u32),
}

impl Block {
    /// Whether its content has no texts.
    pub fn is_without_texts(&self) -> bool {
        self.texts.0 == self.texts.1
    }
}

/// A value outside of the messages that repeats a result.
#[derive(Debug, Clone, Copy)]
pub struct Mirror {
    /// The line that it is on.
    pub line: u32,
    /// The value.
    pub value: Span,
    /// The id of the call whose result it repeats; if empty, it repeats the result on the same line.
    pub of: Span,
}

/// Who wrote a whole message on a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Source {
    /// Whoever its role says.
    #[default]
    Own,
    /// The agent, in the user's name.
    Injected,
    /// A compaction.
    Summary,
}

/// A whole message on one line.
#[derive(Debug, Clone, Copy)]
pub struct Unit {
    /// Its role.
    pub role: Role,
    /// The line that it is on.
    pub line: u32,
    /// The message object.
    pub object: Span,
    /// Its content value.
    pub content: Span,
    /// The range of its blocks, by their numbers in the transcript.
    pub blocks: (u32, u32),
    /// Who wrote it.
    pub source: Source,
}

impl Block {
    /// Whether it is text that the author of its message wrote.
    pub fn is_words(&self) -> bool {
        self.kind == BlockKind::Text && self.author == Author::OfMessage
    }

    /// Creates an empty block of that kind.
    pub fn new(kind: BlockKind) -> Self {
        Block {
            kind,
            shape: Shape::Absent,
            outcome: Outcome::Fine,
            author: Author::OfMessage,
            images: 0,
            documents: 0,
            others: 0,
            line: 0,
            value: Span::default(),
            content: Span::default(),
            call_id: Span::default(),
            tool: Span::default(),
            header: 0,
            texts: (0, 0),
        }
    }
}
