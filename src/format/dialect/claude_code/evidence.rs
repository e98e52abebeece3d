//! Recognises lines of Claude Code by their ids. Qwen Code uses the same envelope and is recognised by what only it writes.

use crate::format::Format;
use crate::format::detect::{
    BAD_PARENT, Evidence, Family, LEAF_UUID, Line, MESSAGE, MESSAGE_ID, PARENT_UUID, SESSION_ID,
    SNAPSHOT, STREAM_SESSION, UUID, Unrecognised,
};

const OWN: Family = Family::Of(Format::ClaudeCode);

/// The evidence of a line of a session.
pub(super) fn evidence<'a>(line: &Line<'a>) -> Option<Evidence<'a>> {
    let is_chained = line.has(PARENT_UUID)
        || line.has(LEAF_UUID)
        || line.has(UUID | SESSION_ID)
        || line.has(UUID | MESSAGE) && !line.has(STREAM_SESSION);
    if is_chained && line.is_of_qwen() {
        return None;
    }
    if is_chained {
        return Some(chained(line));
    }
    let is_note = line.has(MESSAGE_ID | SNAPSHOT) || line.has(SESSION_ID) && is_note(line.kind);
    is_note.then(|| Evidence::mark(OWN))
}

/// The evidence of a line with ids.
fn chained<'a>(line: &Line<'a>) -> Evidence<'a> {
    let says = line.message.as_ref();
    if line.has(BAD_PARENT) {
        return Evidence::message(OWN, Some(Unrecognised::Parent));
    }
    match (line.kind, says) {
        (b"user" | b"assistant", Some(says)) => {
            Evidence::message(OWN, says.unrecognised(Format::ClaudeCode))
        }
        (b"user", None) => Evidence::message(OWN, Some(Unrecognised::NoContent)),
        (b"assistant", None) => Evidence::message(OWN, None),
        (kind, Some(says)) if says.is_message() => {
            Evidence::message(OWN, Some(Unrecognised::Line(kind)))
        }
        (_, _) => Evidence::mark(OWN),
    }
}

/// Whether a line of this type is outside the chain. Copies of requests are not such notes: they contain messages.
fn is_note(kind: &[u8]) -> bool {
    kind == b"queue-operation" || kind.starts_with(b"api-request")
}
