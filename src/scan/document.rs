//! A file that is one JSON object with a list of `messages`, split into units that take the place of lines.
//!
//! The units are the part before the first message (up to the list's bracket), each message, and the part after the last. The bytes
//! between units are white space and one comma; they belong to no unit, and [`crate::transcript::Transcript::pieces`] writes them.
//! This way, a message is edited, removed or inserted like a line.
//!
//! The number of a unit is that of the line of the file on which it begins: the lines within a unit are units without bytes
//! ([`Eol::Within`]). If several messages begin on one line, each counts as if it began a line of its own.
//!
//! Keys may be in any order. A repeated `messages` key, text after the object or a truncated object means that the file is not a
//! document: nothing is guessed. Never looks at what a message says.

use super::lines::{BOM, Eol, RawLine};
use super::{Bad, Cursor, Kind, Span};

/// The key of the list.
const MESSAGES: &[u8] = b"messages";

/// Why bytes are not a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoDocument {
    /// They are not an object, not JSON, or have no list of messages.
    Other,
    /// The object breaks off.
    CutOff,
    /// More text follows the object.
    More,
    /// There are several lists of messages.
    TwoLists,
}

/// The units of a document, in order.
///
/// # Errors
/// [`NoDocument`] says why the bytes are not a document.
pub fn document(bytes: &[u8]) -> Result<Vec<RawLine>, NoDocument> {
    let first = if bytes.starts_with(BOM) { BOM.len() } else { 0 };
    let text = &bytes[first..];
    if text.len() > Span::MAX_LINE {
        return Err(NoDocument::Other);
    }
    let list = list(text)?;
    let mut units = Units {
        bytes,
        counted: 0,
        line: 0,
        units: Vec::with_capacity(list.messages.len() + 2),
    };
    let at = |place: usize| first + place;
    units.push(first, at(list.start), Eol::Frame);
    for message in &list.messages {
        units.push(at(message.start as usize), at(message.end()), Eol::Element);
    }
    units.push(at(list.end), bytes.len(), Eol::Frame);
    Ok(units.units)
}

/// Whether a line begins an object and does not end it, like the first line of a multi-line document.
pub fn begins_document(line: &[u8]) -> bool {
    let line = line.strip_prefix(BOM).unwrap_or(line);
    let mut cursor = Cursor::new(line);
    line.len() <= Span::MAX_LINE
        && cursor.kind() == Ok(Kind::Object)
        && cursor.skip().is_err_and(|bad| breaks_off(line, bad))
}

/// The list of messages.
struct List {
    /// One past its opening bracket.
    start: usize,
    messages: Vec<Span>,
    /// Its closing bracket.
    end: usize,
}

fn list(text: &[u8]) -> Result<List, NoDocument> {
    let mut cursor = Cursor::new(text);
    let mut found = None;
    let mut lists = 0;
    let read = cursor.object(|key, c| {
        if key != MESSAGES {
            return c.skip().map(drop);
        }
        lists += 1;
        if c.kind()? != Kind::Array {
            return c.skip().map(drop);
        }
        let mut messages = Vec::new();
        let span = c.array(|c| {
            messages.push(c.skip()?);
            Ok(())
        })?;
        found = Some(List {
            start: span.start as usize + 1,
            messages,
            end: span.end() - 1,
        });
        Ok(())
    });
    match read {
        Err(bad) if breaks_off(text, bad) => return Err(NoDocument::CutOff),
        Err(_) => return Err(NoDocument::Other),
        Ok(_) if cursor.end().is_err() => return Err(NoDocument::More),
        Ok(_) => {}
    }
    match (found, lists) {
        (Some(list), 1) => Ok(list),
        (_, 0 | 1) => Err(NoDocument::Other),
        (_, _) => Err(NoDocument::TwoLists),
    }
}

/// Whether reading stopped in the last token of a text that begins with an object.
fn breaks_off(text: &[u8], bad: Bad) -> bool {
    let rest = text.get(bad.at..).unwrap_or_default().trim_ascii();
    text.trim_ascii_start().starts_with(b"{")
        && !rest.iter().any(|byte| b"\"{}[],:\n".contains(byte))
}

/// The units so far, and how many lines of the file were counted.
struct Units<'b> {
    bytes: &'b [u8],
    counted: usize,
    line: usize,
    units: Vec<RawLine>,
}

impl Units<'_> {
    /// Adds a unit, at the number of its line.
    fn push(&mut self, start: usize, end: usize, eol: Eol) {
        let passed = &self.bytes[self.counted..start];
        self.line += memchr::memchr_iter(b'\n', passed).count();
        self.counted = start;
        let before = self.units.last().map_or(start, |unit| unit.end);
        while self.units.len() < self.line {
            self.units.push(RawLine {
                start: before,
                end: before,
                eol: Eol::Within,
            });
        }
        self.units.push(RawLine { start, end, eol });
    }
}
