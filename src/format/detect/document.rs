//! Detects whether a file is a single document, and of which format, from the keys around its messages and then from each message.
//!
//! A document takes up the whole file. A file that begins like one but breaks off, or has more text after it, is of no format.
//! Never reads the content of a document's messages.

use super::line::{Line, MESSAGES};
use super::reason::{Kinds, add};
use crate::format::Format;
use crate::scan::{BOM, Eol, NoDocument, Value, begins_document, document, lines};

/// What a file is, considered as a single document.
#[derive(Debug)]
pub(super) enum Whole {
    /// A document of a format.
    Of(Format, Contents),
    /// It begins like a document but is not one.
    Broken(NoDocument),
}

/// The messages of a document.
#[derive(Debug, Default)]
pub(super) struct Contents {
    pub(super) messages: u64,
    pub(super) unrecognised: Kinds,
}

/// Whether a file with this beginning may be a multi-line document, which has to be examined as a whole.
pub fn may_be_document(beginning: &[u8]) -> bool {
    let mut ended = lines(beginning)
        .filter(|raw| raw.eol != Eol::None)
        .map(|raw| &beginning[raw.start..raw.end])
        .filter(|line| !line.trim_ascii().is_empty());
    ended.next().is_some_and(begins_document)
}

/// Examines a whole file; `None` if it is not a document of any format, or consists of lines.
pub(super) fn whole(bytes: &[u8]) -> Option<Whole> {
    let mut filled = lines(bytes)
        .map(|raw| &bytes[raw.start..raw.end])
        .filter(|line| !line.trim_ascii().is_empty());
    let first = filled.next()?;
    if !begins_document(first) && filled.next().is_some() {
        return None;
    }
    let units = match document(bytes) {
        Ok(units) => units,
        Err(NoDocument::Other) => return None,
        Err(why) => return Some(Whole::Broken(why)),
    };
    let text = bytes.strip_prefix(BOM).unwrap_or(bytes);
    let format = of_line(&Line::read(text)?)?;
    let mut contents = Contents::default();
    if let Some(unrecognised) = format.dialect().unrecognised_around(Value::of(text)) {
        add(&mut contents.unrecognised, unrecognised);
    }
    let messages = units.iter().filter(|unit| unit.eol.is_element());
    for unit in messages {
        contents.messages += 1;
        let message = Value::of(&bytes[unit.start..unit.end]);
        if let Some(unrecognised) = format.dialect().unrecognised(message) {
            add(&mut contents.unrecognised, unrecognised);
        }
    }
    Some(Whole::Of(format, contents))
}

/// The format of a document on a single line.
pub(super) fn of_line(line: &Line<'_>) -> Option<Format> {
    let mut formats = Format::ALL.into_iter().filter(|_| line.has(MESSAGES));
    formats.find(|format| format.dialect().is_document(line))
}

/// The name under which a broken document is reported.
pub(super) fn name(why: NoDocument) -> &'static str {
    match why {
        NoDocument::Other => "unknown",
        NoDocument::CutOff => "cut-off",
        NoDocument::More => "documents",
        NoDocument::TwoLists => "two-lists",
    }
}
