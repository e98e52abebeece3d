//! One line of a stream of records: finds the conversation in it, and writes the same line with another conversation, or with an
//! error.
//!
//! PURE. What is not replaced is copied byte for byte, never serialised again.

use std::borrow::Cow;
use std::path::PathBuf;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde_json::json;

use super::packed::{BASE64, PATH, TEXT, safe_path};
use crate::error::{Error, ErrorKind, Result};
use crate::format::{Detected, Detector, Format};
use crate::outcome::{FaultKind, Outcome};
use crate::scan::{Cursor, Kind, Span, Value, lines};

/// The member that says why a record comes back unchanged.
pub(super) const ERROR: &str = "error";
/// The member of a conversation's record.
const MESSAGES: &str = "messages";

/// A record whose conversation was found.
#[derive(Debug)]
pub(super) struct Record<'l> {
    line: &'l [u8],
    content: Content<'l>,
    /// The path of its file below an output folder, if the record states it.
    pub(super) path: Option<PathBuf>,
}

/// How a record holds its conversation.
#[derive(Debug)]
enum Content<'l> {
    /// The record itself is the conversation.
    Itself,
    /// A member holds the text of a transcript.
    Text(Span, String),
    /// A member holds the bytes of a transcript in base64.
    Base64(Span, Vec<u8>),
    /// A member holds a list of messages: its span, its elements, and the text before, between and after them.
    Messages(Span, List<'l>),
}

/// A list that is read as lines, one per element.
#[derive(Debug)]
struct List<'l> {
    elements: Vec<&'l [u8]>,
    before: &'l [u8],
    between: &'l [u8],
    after: &'l [u8],
}

impl<'l> Record<'l> {
    /// Finds the conversation of a line: in the member `field`, or where `pack-lines` puts it, or as the record itself. `format` is
    /// that of all conversations, if the user named one.
    ///
    /// # Errors
    /// [`ErrorKind::BadLine`] if the line is not a JSON object, or the member with the conversation has an unexpected form;
    /// [`ErrorKind::Unsupported`] if there is no conversation.
    pub(super) fn of(line: &'l [u8], field: Option<&str>, format: Option<Format>) -> Result<Self> {
        if !is_object(line) {
            return Err(bad("the line is not a JSON object"));
        }
        let object = Value::of(line);
        if let Some(field) = field {
            let content = Content::of_field(object.field(field), field)?;
            return Ok(Record {
                line,
                content,
                path: None,
            });
        }
        let [messages, path, text, base64] = object.fields([MESSAGES, PATH, TEXT, BASE64]);
        let is_packed = path.kind() == Some(Kind::String);
        let content = match (messages.kind(), text.kind(), base64.kind()) {
            (Some(Kind::Array), ..) if is_conversation(line, format) => Content::Itself,
            (Some(Kind::Array), ..) => Content::list(messages)?,
            (_, Some(Kind::String), None) if is_packed => Content::text(text, TEXT)?,
            (_, None, Some(Kind::String)) if is_packed => Content::base64(base64)?,
            _ => {
                let message = "the record holds no known conversation: neither a list of messages nor a path with a text";
                return Err(Error::new(ErrorKind::Unsupported, message)
                    .hint("--field NAME says which member holds it"));
            }
        };
        let path = match content {
            Content::Itself | Content::Messages(..) => None,
            Content::Text(..) | Content::Base64(..) => Some(safe_path(&string(path, PATH)?)?),
        };
        Ok(Record {
            line,
            content,
            path,
        })
    }

    /// The transcript.
    pub(super) fn transcript(&self) -> Cow<'_, [u8]> {
        match &self.content {
            Content::Itself => Cow::Borrowed(self.line),
            Content::Text(_, text) => Cow::Borrowed(text.as_bytes()),
            Content::Base64(_, bytes) => Cow::Borrowed(bytes),
            Content::Messages(_, list) => {
                let lines = list
                    .elements
                    .iter()
                    .flat_map(|line| [line, b"\n".as_slice()]);
                Cow::Owned(lines.collect::<Vec<_>>().concat())
            }
        }
    }

    /// The line with `transcript` in place of its own. An error of an earlier run becomes `null`.
    ///
    /// # Errors
    /// [`ErrorKind::Internal`] if the transcript does not fit into the line the way the original one did.
    pub(super) fn with(&self, transcript: &[u8]) -> Result<Vec<u8>> {
        let internal = || {
            Error::new(
                ErrorKind::Internal,
                "the result does not fit into its record",
            )
        };
        let (span, value) = match &self.content {
            Content::Itself => {
                let is_line = lines(transcript).count() == 1 && is_object(transcript);
                return match is_line {
                    true => Ok(forgiven(transcript)),
                    false => Err(internal()),
                };
            }
            Content::Text(span, _) => {
                let text = std::str::from_utf8(transcript).map_err(|_| internal())?;
                (*span, json!(text).to_string().into_bytes())
            }
            Content::Base64(span, _) => (
                *span,
                format!("\"{}\"", STANDARD.encode(transcript)).into_bytes(),
            ),
            Content::Messages(span, list) => {
                let list = list.with(transcript);
                (
                    *span,
                    list.filter(|list| is_list(list)).ok_or_else(internal)?,
                )
            }
        };
        Ok(forgiven(&splice(self.line, span, &value)))
    }

    /// The line as it is, without the error of an earlier run.
    pub(super) fn unchanged(&self) -> Vec<u8> {
        forgiven(self.line)
    }
}

impl<'l> Content<'l> {
    fn of_field(value: Value<'l>, field: &str) -> Result<Self> {
        match value.kind() {
            Some(Kind::String) => Content::text(value, field),
            Some(Kind::Array) => Content::list(value),
            Some(_) => Err(bad(&format!(
                "{field:?} is neither a text nor a list of messages"
            ))),
            None => Err(bad(&format!("the record has no {field:?}"))),
        }
    }

    fn list(value: Value<'l>) -> Result<Self> {
        let mut spans = Vec::new();
        value.elements(|element| spans.push(element.span()));
        let raw = value.raw();
        if raw.contains(&b'\n') {
            return Err(bad("the list of messages has more than one line"));
        }
        let start = value.span().start as usize;
        let part = |from: usize, to: usize| &raw[from - start..to - start];
        let (open, close) = (start + 1, value.span().end() - 1);
        let list = match spans.as_slice() {
            [] => List {
                elements: Vec::new(),
                before: b"",
                between: b"",
                after: b"",
            },
            [first, rest @ ..] => List {
                elements: spans
                    .iter()
                    .map(|span| part(span.start as usize, span.end()))
                    .collect(),
                before: part(open, first.start as usize),
                between: match rest.first() {
                    Some(second) => part(first.end(), second.start as usize),
                    None => b",",
                },
                after: part(rest.last().unwrap_or(first).end(), close),
            },
        };
        Ok(Content::Messages(value.span(), list))
    }

    fn text(value: Value<'l>, name: &str) -> Result<Self> {
        Ok(Content::Text(value.span(), string(value, name)?))
    }

    fn base64(value: Value<'l>) -> Result<Self> {
        let bytes = STANDARD
            .decode(string(value, BASE64)?)
            .map_err(|e| bad(&format!("{BASE64:?} is not base64: {e}")))?;
        Ok(Content::Base64(value.span(), bytes))
    }
}

impl List<'_> {
    /// The list whose elements are these lines; `None` if one of them is not a JSON object.
    fn with(&self, text: &[u8]) -> Option<Vec<u8>> {
        let mut list = [b"[", self.before].concat();
        for (n, line) in lines(text).enumerate() {
            let element = &text[line.start..line.end];
            if !is_object(element) {
                return None;
            }
            if n > 0 {
                list.extend_from_slice(self.between);
            }
            list.extend_from_slice(element);
        }
        list.extend_from_slice(self.after);
        list.push(b']');
        Some(list)
    }
}

/// Whether a record with messages is a conversation of a format with one conversation per line. Otherwise its messages are read
/// like those of a file, one per line.
fn is_conversation(line: &[u8], format: Option<Format>) -> bool {
    if let Some(format) = format {
        return format == Format::OpenAi;
    }
    let mut detector = Detector::default();
    detector.look(line);
    match detector.decide() {
        Detected::Known(..) => true,
        Detected::Unsupported(_) => false,
    }
}

/// The exact text of a string; fails for half a surrogate pair.
fn string(value: Value<'_>, name: &str) -> Result<String> {
    serde_json::from_slice(value.raw()).map_err(|e| {
        bad(&format!(
            "{name:?} is not a text that can be kept exactly: {e}"
        ))
    })
}

/// The line with a member that says why it is returned unchanged: replaces that of an earlier run, or is added as the last member.
/// A line that is not a JSON object, or has an `error` of its own, stays as it is.
pub(super) fn with_error(line: &[u8], kind: &FaultKind, message: &str) -> Vec<u8> {
    if !is_object(line) {
        return line.to_vec();
    }
    let value = json!({"kind": kind, "message": message}).to_string();
    let there = Value::of(line).field(ERROR);
    if there.is_there() {
        return match is_ours(there) || there.kind() == Some(Kind::Null) {
            true => splice(line, there.span(), value.as_bytes()),
            false => line.to_vec(),
        };
    }
    with_last(line, ERROR, &value)
}

/// Whether a record has a member of this name that is neither null nor an entry of a report as [`with_member`] writes it.
pub(super) fn has_another(line: &[u8], name: &str) -> bool {
    if !is_object(line) {
        return false;
    }
    let there = Value::of(line).field(name);
    // An empty column of a table becomes `null`, which is not an entry that could be lost.
    let is_filled = there.is_there() && there.raw() != b"null";
    is_filled && serde_json::from_slice::<Outcome>(there.raw()).is_err()
}

/// The line with this value as its last member; a line that is not a JSON object stays as it is, and an existing member of that
/// name is replaced in place: see [`has_another`].
pub(super) fn with_member(line: &[u8], name: &str, value: &str) -> Vec<u8> {
    if !is_object(line) {
        return line.to_vec();
    }
    let there = Value::of(line).field(name);
    match there.is_there() {
        true => splice(line, there.span(), value.as_bytes()),
        false => with_last(line, name, value),
    }
}

/// An object with another member at its end.
fn with_last(line: &[u8], name: &str, value: &str) -> Vec<u8> {
    let Some(end) = memchr::memrchr(b'}', line) else {
        return line.to_vec();
    };
    let comma = match has_members(line) {
        true => ",",
        false => "",
    };
    let member = format!("{comma}{}:{value}", json!(name));
    splice(line, Span::new(end, end), member.as_bytes())
}

/// The line without the error of an earlier run.
fn forgiven(line: &[u8]) -> Vec<u8> {
    let there = Value::of(line).field(ERROR);
    match is_ours(there) {
        true => splice(line, there.span(), b"null"),
        false => line.to_vec(),
    }
}

/// Whether a value is an error as written by [`with_error`]: of the same form, and of a kind that this program knows.
fn is_ours(value: Value<'_>) -> bool {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code, reason = "only its form counts")]
    struct Ours {
        kind: FaultKind,
        message: String,
    }
    serde_json::from_slice::<Ours>(value.raw()).is_ok()
}

fn splice(line: &[u8], span: Span, with: &[u8]) -> Vec<u8> {
    [&line[..span.start as usize], with, &line[span.end()..]].concat()
}

fn has_members(line: &[u8]) -> bool {
    let mut members = 0;
    let _ = Cursor::new(line).object(|_, c| {
        members += 1;
        c.skip().map(drop)
    });
    members > 0
}

/// Whether the line consists of one JSON object and whitespace.
fn is_object(line: &[u8]) -> bool {
    is_one(line, Kind::Object)
}

fn is_list(text: &[u8]) -> bool {
    is_one(text, Kind::Array)
}

fn is_one(text: &[u8], kind: Kind) -> bool {
    if text.len() > Span::MAX_LINE {
        return false;
    }
    let mut cursor = Cursor::new(text);
    cursor.kind() == Ok(kind)
        && cursor.skip().is_ok()
        && cursor.end().is_ok()
        && std::str::from_utf8(text).is_ok()
}

fn bad(message: &str) -> Error {
    Error::new(ErrorKind::BadLine, message)
}

#[cfg(test)]
mod tests;
