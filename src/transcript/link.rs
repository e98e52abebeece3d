//! How lines hang together, in formats whose lines name one another or change what was before them.

use super::Role;
use crate::scan::Span;

/// How a line hangs together with others. Spans are within the line.
#[derive(Debug, Clone, Copy, Default)]
pub struct Link {
    /// This line's own id.
    pub id: Span,
    /// The id of the line before it in its branch; of a pointer or a title, that of the line that it is about.
    pub parent: Span,
    /// The id of the API message that it is a part of.
    pub message: Span,
    /// The message's content value; of some kinds of lines, the value that they are about.
    pub content: Span,
    /// Who speaks, if anybody does.
    pub role: Option<Role>,
    /// What the line is in its chain.
    pub kind: LinkKind,
    /// Of an answer: whether a model gave it.
    pub answer: Answer,
    /// On a branch of its own: a subagent's conversation.
    pub is_aside: bool,
    /// Written by the agent in the user's name.
    pub is_injected: bool,
    /// Begins as an echo of a command or a reminder does.
    pub is_echo: bool,
    /// The summary that a compaction wrote.
    pub is_summary: bool,
    /// Says that no line comes before it.
    pub is_root: bool,
}

/// What a line is in its chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LinkKind {
    /// No conversation goes on at it: it describes the session, or is of a type that nobody here knows.
    #[default]
    Other,
    /// A conversation can go on at it.
    Node,
    /// The same, and it holds an attachment that is sent.
    Attachment,
    /// A compaction.
    Compaction(Compaction),
    /// The agent notes at which line the conversation goes on: `parent` names it.
    Pointer,
    /// The same, and the user went back to that line.
    ChosenPointer,
    /// The user went back by as many turns as `content` says.
    GoBack,
    /// Names the conversation that ends on the line that `parent` names.
    Title,
    /// A copy of a request.
    Request,
    /// Says in which folder the agent works from here on: `content`.
    Folder,
    /// Says what a provider has counted: `content`.
    Count,
}

/// What a compaction does to what was before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compaction {
    /// Ends it; the summary is on the next line.
    Boundary,
    /// Ends it; the line itself is the summary.
    Summary,
    /// Replaces it by the messages that the line holds.
    Replacement,
    /// Leaves the user's words of it, and adds a message.
    UserWords,
    /// Nothing: the agent cannot read it.
    Unreadable,
}

/// Whether a model gave an answer; the later one wins where two are said.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Answer {
    /// Yes, as far as is said.
    #[default]
    Given,
    /// No, or it broke off: its usage says nothing.
    Uncounted,
    /// No: it is an error of the API, which is not sent.
    ApiError,
}

impl Link {
    /// Whether a conversation can go on at the line.
    pub fn is_node(&self) -> bool {
        match self.kind {
            LinkKind::Node | LinkKind::Attachment => true,
            LinkKind::Compaction(what) => what != Compaction::Unreadable,
            LinkKind::Other
            | LinkKind::Pointer
            | LinkKind::ChosenPointer
            | LinkKind::GoBack
            | LinkKind::Title
            | LinkKind::Request
            | LinkKind::Folder
            | LinkKind::Count => false,
        }
    }

    /// Whether the line is a compaction that its agent takes for one.
    pub fn is_boundary(&self) -> bool {
        match self.kind {
            LinkKind::Compaction(what) => what != Compaction::Unreadable,
            LinkKind::Other
            | LinkKind::Node
            | LinkKind::Attachment
            | LinkKind::Pointer
            | LinkKind::ChosenPointer
            | LinkKind::GoBack
            | LinkKind::Title
            | LinkKind::Request
            | LinkKind::Folder
            | LinkKind::Count => false,
        }
    }

    /// Whether the line says at which one the conversation goes on.
    pub fn is_pointer(&self) -> bool {
        matches!(self.kind, LinkKind::Pointer | LinkKind::ChosenPointer)
    }
}

/// In whose name a message that stands whole on a line was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Source {
    /// Its speaker's.
    #[default]
    Own,
    /// The agent wrote it in the user's name.
    Injected,
    /// A compaction wrote it.
    Summary,
}
