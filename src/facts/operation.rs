//! What a call does to a file, and what a file then holds.

use super::Place;
use super::lines::Lines;

/// What one call did to one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Operation {
    /// The call.
    pub call: Place,
    /// Its result, if there is one.
    pub result: Option<Place>,
    /// The path as the call writes it.
    pub written: String,
    /// What was to be done.
    pub what: What,
    /// Whether it was done.
    pub done: Done,
    /// Of a patch, the lines about this file.
    pub patch: Option<String>,
}

/// What is done to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum What {
    /// Its lines are looked at: those that the result shows, or those that were asked for.
    Read(Lines),
    /// Lines of it are looked for: those that match are shown, and nothing is said of the others.
    Search,
    /// It gets a new content.
    Write,
    /// Parts of it are replaced.
    Edit,
    /// It goes.
    Delete,
}

/// Whether something was done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Done {
    /// There is a result, and it says nothing to the contrary.
    Yes,
    /// The result says so.
    Failed,
    /// There is no result.
    Unanswered,
}

/// A part of a file that is replaced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replacement {
    /// What goes; empty for a new file.
    pub old: String,
    /// What comes.
    pub new: String,
    /// Which of the places where `old` stands.
    pub at: At,
}

/// Which of the places where a text stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum At {
    /// The only one.
    Once,
    /// The only one where it is whole lines.
    Lines,
    /// All of them.
    Everywhere,
}

/// What a file holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Content {
    /// Its text, or a part of it.
    pub text: String,
    /// Which lines these are.
    pub lines: Lines,
}
