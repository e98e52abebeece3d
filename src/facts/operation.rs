//! What a call does to a file, and the file's content afterwards.

use std::sync::Arc;

use super::exchanges::{FactLocation, InnerCall};
use super::lines::Lines;
use super::tools::Basis;

/// What one call did to one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Operation {
    /// The call.
    pub call: FactLocation,
    /// Its result, if there is one.
    pub result: Option<FactLocation>,
    /// The path as the call writes it.
    pub written: String,
    /// What the call does.
    pub what: FileAction,
    /// Whether it succeeded.
    pub done: Done,
    /// For a patch, its lines about this file.
    pub patch: Option<String>,
    /// How the call's effect is known.
    pub(super) basis: Basis,
    /// The call in a cell, if it is one.
    pub(super) inner: Option<Arc<InnerCall>>,
}

/// What is done to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileAction {
    /// Reads lines: those that the result shows, or those that the call requested.
    Read(Lines),
    /// Searches for lines: only those that match are shown.
    Search,
    /// Writes new content.
    Write,
    /// Replaces parts of the content.
    Edit,
    /// Deletes the file.
    Delete,
    /// Moves the file away, or renames it.
    MoveFrom,
    /// Makes the file the target of a move or copy.
    MoveTo,
    /// Has git restore the content of a commit or of the index.
    Revert,
    /// The same, with the earlier content kept in a stash.
    Stash,
    /// Applies the content of a stash.
    Unstash,
}

impl FileAction {
    /// Whether the action only reads.
    pub fn is_read_only(self) -> bool {
        match self {
            FileAction::Read(_) | FileAction::Search => true,
            FileAction::Write
            | FileAction::Edit
            | FileAction::Delete
            | FileAction::MoveFrom
            | FileAction::MoveTo
            | FileAction::Revert
            | FileAction::Stash
            | FileAction::Unstash => false,
        }
    }

    /// Whether the action changes a file in a way that git may have recorded.
    pub fn is_change(self) -> bool {
        match self {
            FileAction::Write
            | FileAction::Edit
            | FileAction::Delete
            | FileAction::MoveFrom
            | FileAction::MoveTo => true,
            FileAction::Read(_)
            | FileAction::Search
            | FileAction::Revert
            | FileAction::Stash
            | FileAction::Unstash => false,
        }
    }
}

/// Whether an operation succeeded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Done {
    /// There is a result that reports no failure.
    Yes,
    /// The result reports a failure.
    Failed,
    /// There is no result, or it may or may not report a failure.
    Unclear,
}

/// The replacement of a part of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replacement {
    /// The old text; empty for a new file.
    pub old: String,
    /// The new text.
    pub new: String,
    /// Which occurrences of `old`.
    pub at: Occurrences,
}

/// Which occurrences of a text are replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Occurrences {
    /// The only one.
    Once,
    /// The only one that consists of whole lines.
    Lines,
    /// The only one before anything of the call was replaced.
    Original,
    /// All of them.
    Everywhere,
}

/// The content of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Content {
    /// Its text, or a part of it.
    pub text: String,
    /// Which lines these are.
    pub lines: Lines,
}
