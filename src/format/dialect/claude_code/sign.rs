//! By what a line of Claude Code is known: its ids. Other agents have taken its envelope over; what only these write says so.

use crate::format::Format;
use crate::format::detect::{
    Evidence, Family, LEAF_UUID, Line, MESSAGE, MESSAGE_ID, OF_QWEN, PARENT_UUID, PARTS, QWEN,
    SESSION_ID, SNAPSHOT, STREAM_SESSION, UUID, Unrecognised,
};

const OWN: Family = Family::Of(Format::ClaudeCode);

/// The sign of a line of a session.
pub(super) fn sign<'a>(line: &Line<'a>) -> Option<Evidence<'a>> {
    let is_chained = line.has(PARENT_UUID)
        || line.has(LEAF_UUID)
        || line.has(UUID | SESSION_ID)
        || line.has(UUID | MESSAGE) && !line.has(STREAM_SESSION);
    if is_chained {
        return Some(chained(line));
    }
    let is_note = line.has(MESSAGE_ID | SNAPSHOT) || line.has(SESSION_ID) && is_note(line.kind);
    is_note.then(|| Evidence::mark(OWN))
}

/// A line with ids.
fn chained<'a>(line: &Line<'a>) -> Evidence<'a> {
    let says = line.message.as_ref();
    let has_parts = line.has(PARTS) || says.is_some_and(|m| m.has("parts") || m.role == b"model");
    if line.has(OF_QWEN) || has_parts {
        return match says {
            Some(_) => Evidence::message(QWEN, Some(Unrecognised::Line(line.kind))),
            None => Evidence::mark(QWEN),
        };
    }
    match (line.kind, says) {
        (b"user" | b"assistant", says) => {
            let unrecognised = says.and_then(|says| says.unrecognised(Format::ClaudeCode));
            Evidence::message(OWN, unrecognised)
        }
        (kind, Some(says)) if says.is_message() => {
            Evidence::message(OWN, Some(Unrecognised::Line(kind)))
        }
        (_, _) => Evidence::mark(OWN),
    }
}

/// Whether a line is one that has no place in the chain; copies of requests hold messages.
fn is_note(kind: &[u8]) -> bool {
    kind == b"queue-operation" || kind.starts_with(b"api-request")
}
