//! What one line shows about the format of its file: the format, whether the line contains a message, and what the format's reader
//! does not recognise in it.

use super::message_shape::{Features, Unrecognised};
use crate::format::Format;

/// The format that a line belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::format) enum Family {
    /// A format whose lines have an envelope.
    Of(Format),
    /// Messages without an envelope, one per line: one of three formats.
    Bare,
    /// `{"messages": […]}`: one conversation per line.
    Conversations,
    /// The same with Anthropic's messages, and no other keys than a system prompt.
    Exchanges,
    /// A format that is known by name only, and the format that its plainest lines could be mistaken for.
    Named(&'static str, Lookalike),
}

/// What the plainest lines of a format that is known by name only look like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::format) enum Lookalike {
    Of(Format),
    Bare,
    Conversations,
    Exchanges,
    Nothing,
}

/// Whether a line contains a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::format) enum LineContent {
    /// A message or a part of one.
    Message,
    /// No message, but the line belongs to its family.
    NoMessage,
}

/// What a line shows about its format.
#[derive(Debug)]
pub(crate) struct Evidence<'a> {
    pub(super) family: Option<Family>,
    pub(super) content: LineContent,
    pub(super) features: Features,
    /// What the family's reader does not recognise.
    pub(in crate::format) unrecognised: Option<Unrecognised<'a>>,
}

impl<'a> Evidence<'a> {
    fn new(family: Option<Family>, content: LineContent) -> Self {
        Evidence {
            family,
            content,
            features: Features::default(),
            unrecognised: None,
        }
    }

    /// A line without a message.
    pub(in crate::format) fn mark(family: Family) -> Self {
        Evidence::new(Some(family), LineContent::NoMessage)
    }

    /// A line of no known format, without a message.
    pub(super) fn nothing() -> Self {
        Evidence::new(None, LineContent::NoMessage)
    }

    /// A line with a message, and what the reader does not recognise in it.
    pub(in crate::format) fn message(
        family: Family,
        unrecognised: Option<Unrecognised<'a>>,
    ) -> Self {
        Evidence {
            unrecognised,
            ..Evidence::new(Some(family), LineContent::Message)
        }
    }

    /// A line that looks like part of a conversation but is of no known format.
    pub(super) fn stray(kind: &'a [u8]) -> Self {
        Evidence {
            unrecognised: Some(Unrecognised::Line(kind)),
            ..Evidence::new(None, LineContent::Message)
        }
    }
}
