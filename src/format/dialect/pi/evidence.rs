//! Recognises the entries of a pi session: a header, and messages inside entries.
//!
//! What only newer versions of the format have is recognised, too, so that a file with it is refused: it would be read wrongly.

use crate::format::Format;
use crate::format::detect::{
    BAD_PARENT, CWD, Evidence, Family, LANE, LONG_ID, Line, Lookalike, PARENT_ID, Part, REPLACES,
    RETAINED_TAIL, SEQUENCE, Unrecognised, VERSION,
};

const OWN: Family = Family::Of(Format::Pi);
const NEWER: Family = Family::Named("pi-newer", Lookalike::Of(Format::Pi));

/// The evidence of an entry.
pub(super) fn evidence<'a>(line: &Line<'a>) -> Option<Evidence<'a>> {
    match (line.kind, &line.message) {
        (b"session", _) if line.has(CWD) || line.has(VERSION) => Some(match line.version {
            b"" | b"0" | b"1" | b"2" | b"3" => Evidence::mark(OWN),
            _ => Evidence::message(NEWER, None),
        }),
        // From version 4 on, entries stand in lanes and are numbered; there are records and moves of a lane beside them.
        (_, _) if line.has(LANE | SEQUENCE) && line.own.role.is_empty() => {
            Some(Evidence::message(NEWER, None))
        }
        // It holds messages that are sent after the summary.
        (b"compaction", _) if line.has(RETAINED_TAIL | PARENT_ID) => {
            Some(Evidence::message(NEWER, None))
        }
        // Factory Droid's entries have long ids.
        (b"message", Some(says)) if line.own.role.is_empty() && !line.has(LONG_ID) => {
            let parent = line.has(BAD_PARENT).then_some(Unrecognised::Parent);
            Some(Evidence::message(
                OWN,
                parent.or(says.unrecognised(Format::Pi)),
            ))
        }
        // The replacement that a model reads instead of a message would have to change with the message.
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
