//! The links between lines, in formats whose lines refer to each other or change what came before.

use super::Role;
use crate::scan::Span;

/// The links of a line to others. Spans are within the line.
#[derive(Debug, Clone, Copy, Default)]
pub struct Link {
    /// This line's own id.
    pub id: Span,
    /// The id of the previous line in its branch; for a pointer or a title, the id of the line it refers to.
    pub parent: Span,
    /// The id of its API message.
    pub message: Span,
    /// The message's content value; for some kinds of lines, the value they carry.
    pub content: Span,
    /// Its role, if it has one.
    pub role: Option<Role>,
    /// Its role in the chain.
    pub kind: LinkKind,
    /// For an answer, whether a model wrote it.
    pub answer: Answer,
    /// On a branch of its own: a subagent's conversation.
    pub is_sidechain: bool,
    /// Written by the agent in the user's name.
    pub is_injected: bool,
    /// Begins like an echo of a command or a reminder.
    pub is_echo: bool,
    /// The summary that a compaction wrote.
    pub is_summary: bool,
    /// Explicitly has no previous line.
    pub is_root: bool,
}

/// The role of a line in its chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LinkKind {
    /// None: it describes the session, or is of an unknown type.
    #[default]
    Other,
    /// A conversation can continue from it.
    Node,
    /// The same, with an attachment that is sent.
    Attachment,
    /// A compaction.
    Compaction(Compaction),
    /// A pointer to the line where the conversation continues: `parent` names it.
    Pointer,
    /// The same, after the user went back to that line.
    ChosenPointer,
    /// The user went back by the number of turns in `content`.
    GoBack,
    /// Names the conversation that ends on the line that `parent` names.
    Title,
    /// A copy of a request.
    Request,
    /// Sets the working folder from here on: `content`.
    Folder,
    /// Records what a provider counted: `content`.
    Count,
}

/// What a compaction does to the history before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compaction {
    /// Ends it; the summary is on the next line.
    Boundary,
    /// Ends it; the line itself is the summary.
    Summary,
    /// Replaces it with the messages on the line.
    Replacement,
    /// Keeps only the user's messages, and adds a message.
    UserWords,
    /// Nothing: the agent cannot read the line.
    Unreadable,
}

/// Whether a model wrote an answer; if several variants apply, the last one counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Answer {
    /// Yes, unless the line indicates otherwise.
    #[default]
    Given,
    /// No, or it broke off: its usage does not count.
    Uncounted,
    /// No: it is an error of the API, which is not sent.
    ApiError,
}

impl Link {
    /// Whether a conversation can continue from the line.
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

    /// Whether the line holds messages, or changes those before it; for agents that attach nothing.
    pub fn concerns_messages(&self) -> bool {
        match self.kind {
            LinkKind::Node | LinkKind::Compaction(_) | LinkKind::GoBack => true,
            LinkKind::Other
            | LinkKind::Attachment
            | LinkKind::Pointer
            | LinkKind::ChosenPointer
            | LinkKind::Title
            | LinkKind::Request
            | LinkKind::Folder
            | LinkKind::Count => false,
        }
    }

    /// Whether the line is a compaction that its agent recognises.
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

    /// Whether the line is a pointer to where the conversation continues.
    pub fn is_pointer(&self) -> bool {
        matches!(self.kind, LinkKind::Pointer | LinkKind::ChosenPointer)
    }
}
