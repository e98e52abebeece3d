//! The candidates for a summary: typed units. Others choose among them.

use std::borrow::Cow;

use super::form::{Row, Section};
use super::names::{Names, NamesOf};

/// A statement that a summary may contain.
#[derive(Debug)]
pub(super) struct Unit {
    pub(super) row: Row,
    /// The number of its message, from 0.
    pub(super) message: u32,
    pub(super) claim: Claim,
    /// Its value besides its names.
    pub(super) base: f64,
    /// Its value with regard to the instructions.
    pub(super) focus: f64,
    pub(super) kind: UnitKind,
    pub(super) names: NamesOf,
    /// The minimum number of bytes that distinguish a command from all others; 0 = it stays whole.
    pub(super) head: usize,
}

impl Unit {
    /// Whether its names occur among words of the transcript.
    pub(super) fn grounding(&self) -> Grounding {
        let words = || self.row.text.split_ascii_whitespace().nth(2).is_some();
        match self.kind {
            UnitKind::Statement if self.row.section != Section::Files && words() => {
                Grounding::Words
            }
            UnitKind::Statement | UnitKind::Names => Grounding::Alone,
        }
    }
}

/// Whether names occur among words of the transcript: at least three adjacent words, which say more than the name alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Grounding {
    Words,
    Alone,
}

/// The kind of a unit's text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum UnitKind {
    /// A statement.
    Statement,
    /// Names alone; only those that occur nowhere else are written.
    Names,
}

/// The part of a budget that a unit has a claim to before all units compete for the rest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Claim {
    /// A whole message of the user, by its index in the requests.
    Request(u32),
    /// A sentence of that message.
    Sentence(u32),
    /// A line of that message, which is long enough that it may be quoted in part.
    Pasted(u32),
    /// A picture next to the words of that message.
    Picture(u32),
    /// A question that the user answered in a few words.
    Asked,
    /// What was said and done last.
    State,
    /// What is to be done.
    Plan,
    /// A file that was changed.
    Changed,
    /// A line of a summary by another writer.
    Earlier,
    /// None.
    Free,
}

/// A message of the user.
#[derive(Debug)]
pub(super) struct Request {
    /// The number of its message, from 0.
    pub(super) message: u32,
    pub(super) origin: Origin,
    /// The length of its words.
    pub(super) bytes: usize,
}

/// Where a message of the user was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Origin {
    /// In the span.
    Span,
    /// In an earlier summary.
    Earlier,
}

/// All candidates for a summary of one span.
#[derive(Debug, Default)]
pub(super) struct Units {
    pub(super) units: Vec<Unit>,
    pub(super) names: Names,
    /// The value of each name.
    pub(super) weights: Vec<f64>,
    pub(super) requests: Vec<Request>,
    /// The last request of the conversation, if it is in the span; and the last typed message, if that request is words in a
    /// message of another kind.
    pub(super) last_requests: Vec<u32>,
    /// The number of messages that an earlier summary leaves out, and the line of that summary, from 1.
    pub(super) left_out: Option<(u64, u64)>,
    /// The folder that paths may be relative to, normalised.
    pub(super) folder: Option<String>,
    /// The path separator that the agent uses.
    pub(super) separator: Separator,
    /// Names that occur in messages after the span.
    pub(super) seen_after: Vec<u32>,
}

/// What an agent writes between the names of a path.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Separator {
    #[default]
    Slash,
    Backslash,
}

impl Separator {
    /// A normalised path as the agent writes it: another spelling would be a name that nobody has used before.
    pub(super) fn shown(self, path: &str) -> Cow<'_, str> {
        match self {
            Separator::Slash => Cow::Borrowed(path),
            Separator::Backslash => Cow::Owned(path.replace('/', "\\")),
        }
    }
}
