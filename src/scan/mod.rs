//! Splits bytes into lines and lines into spans: the hot path.
//!
//! [`lines()`] finds line boundaries, [`document()`] finds the messages of a file that is a single document, [`Cursor`] walks the
//! JSON of one line and returns spans of it, and [`Value`] rereads a few keys of a line. A line is read once, from left to right,
//! strictly (what `serde_json` rejects is rejected here), without recursion and without building a tree: a value that no caller
//! asks for takes no memory, whatever its size or depth.
//!
//! Never allocates for content, never changes a byte, never panics on any input.

mod cursor;
mod defects;
mod document;
mod fields;
mod kind;
mod lines;
mod nesting;
mod simd;
mod string;
mod strings;
mod unescape;

pub use cursor::Cursor;
pub(crate) use cursor::is_object;
pub use defects::{Anomalies, Bad, Parse};
pub use document::{NoDocument, begins_document, document};
pub use fields::Value;
pub use kind::Kind;
pub(crate) use lines::{BOM, LARGE, lines_in, parts_of_lines};
pub use lines::{Eol, RawLine, lines};
pub(crate) use simd::{Inside, in_ranges, inside, occurrences, plain_end};
pub use string::{Text, next_special, string_end, unescape_at};
pub use strings::{NO_STRINGS, Strings};
pub use unescape::{decoded, unescape, unescape_into};
pub(crate) use unescape::{lossy, utf8};

/// A range of bytes within one line.
///
/// It is relative to the line's first byte, so that the record of a line stays valid wherever the line moves. 32 bits: a line of 4
/// GiB or more is passed through unread.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Span {
    /// First byte.
    pub start: u32,
    /// Number of bytes.
    pub len: u32,
}

impl Span {
    /// The longest line that is read, in bytes.
    pub const MAX_LINE: usize = u32::MAX as usize - 1;

    /// The span from `start` up to but not including `end`; both are within a line no longer than [`Span::MAX_LINE`].
    pub(crate) fn new(start: usize, end: usize) -> Self {
        debug_assert!(start <= end && end <= Self::MAX_LINE);
        Span {
            start: start as u32,
            len: (end - start) as u32,
        }
    }

    /// One past the last byte.
    pub fn end(self) -> usize {
        self.start as usize + self.len as usize
    }

    /// Whether the span has no bytes.
    pub fn is_empty(self) -> bool {
        self.len == 0
    }

    /// The bytes of this span in its line.
    #[inline]
    pub fn of(self, line: &[u8]) -> &[u8] {
        &line[self.start as usize..self.end()]
    }
}

#[cfg(test)]
mod tests;
