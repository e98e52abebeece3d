//! What could stand in a summary: typed units. Never decides which of them do.

use super::form::Row;
use super::names::{Names, NamesOf};

/// A statement that a summary may make.
#[derive(Debug)]
pub(super) struct Unit {
    pub(super) row: Row,
    /// Its place in time: the message, from 0.
    pub(super) message: u32,
    pub(super) claim: Claim,
    /// What it is worth besides its names.
    pub(super) base: f64,
    pub(super) says: Says,
    pub(super) names: NamesOf,
}

/// What a unit's text is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Says {
    /// A statement.
    Words,
    /// Names alone, which are told as far as nothing else tells them.
    Names,
}

/// Which part of a budget a unit has a claim to before all compete for the rest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Claim {
    /// All that the user wrote in one message: its number among the requests.
    Request(u32),
    /// A sentence of that message.
    Sentence(u32),
    /// A picture beside the words of that message.
    Picture(u32),
    /// What was said and done last.
    State,
    /// What is to be done.
    Plan,
    /// A file that was changed.
    Changed,
    /// A line of a summary that somebody wrote.
    Earlier,
    /// None.
    Free,
}

/// A message of the user.
#[derive(Debug)]
pub(super) struct Request {
    /// Its place in time: the message, from 0.
    pub(super) message: u32,
    pub(super) origin: Origin,
}

/// Where a message of the user was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Origin {
    /// In the span.
    Span,
    /// In an earlier summary.
    Earlier,
}

/// Everything that could stand in a summary of one span.
#[derive(Debug, Default)]
pub(super) struct Units {
    pub(super) units: Vec<Unit>,
    pub(super) names: Names,
    /// What each name is worth.
    pub(super) weights: Vec<f64>,
    pub(super) requests: Vec<Request>,
    /// The request that no other one of the conversation follows.
    pub(super) last_request: Option<u32>,
    /// The folder that paths may go from.
    pub(super) folder: Option<String>,
    /// Names that are still seen after the span.
    pub(super) seen_behind: Vec<u32>,
}
