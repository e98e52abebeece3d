//! Recognises a line of Qwen Code: Claude Code's envelope, with keys that only Qwen Code writes or with a message made of parts.

use crate::format::Format;
use crate::format::detect::{
    BAD_PARENT, Evidence, Family, Line, PARENT_UUID, Part, SESSION_ID, UUID, Unrecognised,
};

const OWN: Family = Family::Of(Format::Qwen);

/// The evidence of a line.
pub(super) fn evidence<'a>(line: &Line<'a>) -> Option<Evidence<'a>> {
    let is_chained = line.has(PARENT_UUID) || line.has(UUID | SESSION_ID);
    if !is_chained || !line.is_of_qwen() {
        return None;
    }
    if line.has(BAD_PARENT) {
        return Some(Evidence::message(OWN, Some(Unrecognised::Parent)));
    }
    Some(match (line.kind, &line.message) {
        // A compaction contains the whole history, and may be all that a session consists of.
        (b"system", None) => Evidence::message(OWN, None),
        (b"user", None) => Evidence::message(OWN, Some(Unrecognised::NoContent)),
        (_, None) => Evidence::mark(OWN),
        (b"user" | b"assistant" | b"tool_result" | b"system", Some(says)) => {
            Evidence::message(OWN, says.unrecognised(Format::Qwen))
        }
        (kind, Some(_)) => Evidence::message(OWN, Some(Unrecognised::Line(kind))),
    })
}

/// Whether the reader of messages understands a part.
pub(super) fn understands(part: Part<'_>) -> bool {
    match part {
        Part::Role(role) => matches!(role, b"user" | b"model"),
        Part::CallKey(key) => key == "parts",
        Part::Block(kind) => kind.is_empty(),
        Part::BareString | Part::ObjectContent | Part::ObjectResult | Part::Piece => false,
    }
}
