//! Recognises the records of a session: those of its context, and others that only this agent writes.

use crate::format::Format;
use crate::format::detect::{Evidence, Family, Line, Part, Unrecognised, is_call};

const OWN: Family = Family::Of(Format::Kimi);

/// The prefixes of record types that no other agent writes.
const FAMILIES: [&[u8]; 12] = [
    b"context.",
    b"full_compaction.",
    b"micro_compaction.",
    b"token_counting.",
    b"agent.message.",
    b"agent.turn.",
    b"turn.",
    b"prompt.",
    b"plan_mode.",
    b"llm.tools_",
    b"usage.record",
    b"profile.bind",
];

/// The events of calls and results.
const CALLS: [&[u8]; 2] = [b"tool.call", b"tool.result"];

/// The evidence of a record.
pub(super) fn evidence<'a>(line: &Line<'a>) -> Option<Evidence<'a>> {
    match (line.kind, &line.message) {
        (b"context.append_message", Some(says)) if says.role.is_empty() => {
            Some(Evidence::message(OWN, Some(Unrecognised::Role(b""))))
        }
        (b"context.append_message", Some(says)) => {
            Some(Evidence::message(OWN, says.unrecognised(Format::Kimi)))
        }
        // Parts of answers, calls and results; and a summary, which may be all that a session consists of.
        (b"context.append_loop_event", _) => {
            let is_strange = is_call(line.event) && !CALLS.contains(&line.event);
            let strange = is_strange.then_some(Unrecognised::Line(line.event));
            Some(Evidence::message(OWN, strange))
        }
        (b"context.apply_compaction", _) => Some(Evidence::message(OWN, None)),
        // Anything added to the context is part of what a model sees.
        (kind, _) if kind.starts_with(b"context.append_") => {
            Some(Evidence::message(OWN, Some(Unrecognised::Line(kind))))
        }
        (kind, _) if is_record(kind) => Some(Evidence::mark(OWN)),
        _ => None,
    }
}

/// Whether only this agent writes records of that type.
pub(super) fn is_record(kind: &[u8]) -> bool {
    FAMILIES.iter().any(|family| kind.starts_with(family))
}

/// Whether the reader of messages understands a part.
pub(super) fn understands(part: Part<'_>) -> bool {
    match part {
        Part::Role(role) => matches!(role, b"user" | b"assistant" | b"tool" | b"system"),
        Part::CallKey(key) => matches!(key, "toolCalls" | "toolCallId"),
        Part::Block(kind) => matches!(kind, b"text" | b"image_url" | b"audio_url" | b"video_url"),
        Part::BareString | Part::ObjectContent | Part::ObjectResult | Part::Piece => false,
    }
}
