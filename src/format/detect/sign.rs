//! What one line says about the format of its file: whose line it is, whether it holds a message, and what of that the
//! format's reader would not understand.

use super::said::{Features, Unread};
use crate::format::Format;

/// Whose lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::format) enum Family {
    /// Lines of a format with an envelope, which says whose they are.
    Of(Format),
    /// Messages without an envelope, one a line: one of three formats.
    Bare,
    /// `{"messages": […]}`: a conversation a line.
    Conversations,
    /// A format that is known by its name alone, and the one that its plainest lines could be taken for.
    Named(&'static str, Like),
}

/// What the plainest lines of a format that is known by name look like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::format) enum Like {
    Of(Format),
    Bare,
    Conversations,
    Nothing,
}

/// What a line is to its family.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::format) enum Weight {
    /// It holds (a part of) a message.
    Message,
    /// It holds none, and is of no other family.
    Mark,
}

/// What a line says.
#[derive(Debug)]
pub(crate) struct Sign<'a> {
    pub(super) family: Option<Family>,
    pub(super) weight: Weight,
    pub(super) features: Features,
    /// What the family's reader does not understand.
    pub(super) unread: Option<Unread<'a>>,
    /// Of a message without an envelope: what the reader of each format does not understand.
    pub(super) unread_by: [Option<Unread<'a>>; Format::ALL.len()],
}

impl<'a> Sign<'a> {
    fn new(family: Option<Family>, weight: Weight) -> Self {
        Sign {
            family,
            weight,
            features: Features::default(),
            unread: None,
            unread_by: [None; Format::ALL.len()],
        }
    }

    /// A line without a message.
    pub(in crate::format) fn mark(family: Family) -> Self {
        Sign::new(Some(family), Weight::Mark)
    }

    /// Nobody's, and of no weight.
    pub(super) fn nothing() -> Self {
        Sign::new(None, Weight::Mark)
    }

    /// A line with a message, and what of it nobody would understand.
    pub(in crate::format) fn message(family: Family, unread: Option<Unread<'a>>) -> Self {
        Sign {
            unread,
            ..Sign::new(Some(family), Weight::Message)
        }
    }

    /// A line that looks like a part of a conversation and is of no format.
    pub(super) fn stray(kind: &'a [u8]) -> Self {
        Sign {
            unread: Some(Unread::Line(kind)),
            ..Sign::new(None, Weight::Message)
        }
    }
}
