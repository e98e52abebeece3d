//! Recognises a session by the keys around its messages, and by messages of known roles and blocks.

use crate::format::Format;
use crate::format::detect::{
    ID, Line, MESSAGES, ORIGIN, PROJECT, Part, SESSION_ID, Unrecognised, VERSION,
};
use crate::scan::Value;

/// The supported version of the layout.
const LAYOUT: u64 = 1;

/// Whether a document is a session, by its keys.
pub(super) fn is_document(document: &Line<'_>) -> bool {
    let is_other = document.has(ID) || document.has(PROJECT);
    document.has(SESSION_ID | VERSION | ORIGIN | MESSAGES) && document.has_messages && !is_other
}

/// What the reader does not understand around the messages.
pub(super) fn unrecognised_around(document: Value<'_>) -> Option<Unrecognised<'_>> {
    let [version, updated, agent] = document.fields(["version", "updated_at", "agent"]);
    match (version.number(), updated.string(), agent.string()) {
        (Some(LAYOUT), Some(_), Some(_)) => None,
        (Some(LAYOUT), _, _) => Some(Unrecognised::Key("no updated_at or agent around it")),
        (_, _, _) => Some(Unrecognised::Key("a version other than 1 around it")),
    }
}

/// What the reader does not understand in a message.
pub(super) fn unrecognised(message: Value<'_>) -> Option<Unrecognised<'_>> {
    match Line::read(message.raw()) {
        Some(line) if line.own.role.is_empty() => Some(Unrecognised::Line(line.kind)),
        Some(line) => line.own.unrecognised(Format::Cline),
        None => Some(Unrecognised::Line(b"")),
    }
}

/// Whether the reader of messages understands a part.
pub(super) fn understands(part: Part<'_>) -> bool {
    match part {
        Part::Role(role) => matches!(role, b"user" | b"assistant"),
        Part::Block(kind) => matches!(
            kind,
            b"text"
                | b"thinking"
                | b"redacted_thinking"
                | b"image"
                | b"media"
                | b"file"
                | b"tool_use"
                | b"tool_result"
        ),
        Part::CallKey(_)
        | Part::BareString
        | Part::ObjectContent
        | Part::ObjectResult
        | Part::Piece => false,
    }
}
