//! By what an entry of a pi session is recognised: a header, and messages within entries.

use crate::format::Format;
use crate::format::detect::{
    CWD, Evidence, Family, LONG_ID, Line, PARENT_ID, Part, REPLACES, Unrecognised, VERSION,
};

const OWN: Family = Family::Of(Format::Pi);

/// The evidence of an entry.
pub(super) fn evidence<'a>(line: &Line<'a>) -> Option<Evidence<'a>> {
    match (line.kind, &line.message) {
        (b"session", _) if line.has(CWD) || line.has(VERSION) => Some(Evidence::mark(OWN)),
        // Those of Factory Droid have long ids.
        (b"message", Some(says)) if line.own.role.is_empty() && !line.has(LONG_ID) => {
            Some(Evidence::message(OWN, says.unrecognised(Format::Pi)))
        }
        // What a model reads instead of a message would have to change with it.
        (b"context_edit", _) if line.has(PARENT_ID | REPLACES) => {
            let edit = Unrecognised::Line(b"context_edit with a replacement");
            Some(Evidence::message(OWN, Some(edit)))
        }
        (b"context_edit", _) if line.has(PARENT_ID) => Some(Evidence::mark(OWN)),
        (_, _) => None,
    }
}

/// Whether the reader of messages understands a part.
pub(super) fn understands(part: Part<'_>) -> bool {
    match part {
        Part::Role(role) => matches!(
            role,
            b"user"
                | b"assistant"
                | b"toolResult"
                | b"bashExecution"
                | b"custom"
                | b"hookMessage"
                | b"branchSummary"
                | b"compactionSummary"
                | b"system"
        ),
        Part::Block(kind) => matches!(kind, b"text" | b"thinking" | b"image" | b"toolCall"),
        Part::CallKey(key) => key == "toolCallId",
        Part::ObjectResult => true,
        Part::BareString | Part::ObjectContent | Part::Piece => false,
    }
}
