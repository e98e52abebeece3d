//! By what a line of a session is recognised: its header, changes of what was recorded, and messages that have an id and a time
//! but no role.

use super::message::{ANSWER, NOTES, TYPED};
use crate::format::Format;
use crate::format::detect::{
    Evidence, Family, ID, Line, MESSAGE, PATCH, PROJECT, Part, SESSION_ID, TIMESTAMP,
};

const OWN: Family = Family::Of(Format::Gemini);

/// The evidence of a line.
pub(super) fn evidence<'a>(line: &Line<'a>) -> Option<Evidence<'a>> {
    if line.has(PATCH) || line.has(SESSION_ID | PROJECT) {
        return Some(match line.patched {
            Some(unrecognised) => Evidence::message(OWN, unrecognised),
            None => Evidence::mark(OWN),
        });
    }
    let is_message = line.has(ID | TIMESTAMP) && !line.has(MESSAGE) && line.own.role.is_empty();
    match line.kind {
        kind if is_message && (kind == TYPED || kind == ANSWER) => Some(Evidence::message(
            OWN,
            line.own.unrecognised(Format::Gemini),
        )),
        kind if is_message && NOTES.contains(&kind) => Some(Evidence::mark(OWN)),
        _ => None,
    }
}

/// Whether the reader of messages understands a part.
pub(super) fn understands(part: Part<'_>) -> bool {
    match part {
        Part::CallKey(key) => key == "toolCalls",
        Part::Block(kind) => kind.is_empty(),
        Part::BareString => true,
        Part::Role(_) | Part::ObjectContent | Part::ObjectResult | Part::Piece => false,
    }
}
