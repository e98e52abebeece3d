//! Recognises lines of Factory Droid: its own records, and messages whose entries have long ids. The entries of pi, which are of
//! the same type, have short ids or none.

use crate::format::Format;
use crate::format::detect::{CWD, Evidence, Family, LONG_ID, Line, Part, VERSION};
use crate::format::shapes::blocks;

const OWN: Family = Family::Of(Format::Droid);

/// The evidence of a line.
pub(super) fn evidence<'a>(line: &Line<'a>) -> Option<Evidence<'a>> {
    match (line.kind, &line.message) {
        (b"session_start", _) if line.has(CWD) || line.has(VERSION) => Some(Evidence::mark(OWN)),
        (b"agent_turn_outcome", _) => Some(Evidence::mark(OWN)),
        // It contains the summary of everything before it, and may be all that a session consists of.
        (b"compaction_state", _) => Some(Evidence::message(OWN, None)),
        (b"message", Some(says)) if line.has(LONG_ID) && line.own.role.is_empty() => {
            Some(Evidence::message(OWN, says.unrecognised(Format::Droid)))
        }
        (_, _) => None,
    }
}

/// Whether the reader of messages understands a part.
pub(super) fn understands(part: Part<'_>) -> bool {
    match part {
        Part::Role(role) => matches!(role, b"user" | b"assistant" | b"system"),
        Part::CallKey(_)
        | Part::Block(_)
        | Part::BareString
        | Part::ObjectContent
        | Part::ObjectResult
        | Part::Piece => blocks::understands(part),
    }
}
