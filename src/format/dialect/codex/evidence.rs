//! Recognises a line of a rollout by its envelope or, without one, by an item type that no other API has.

use crate::format::Format;
use crate::format::detect::{
    CALL_ID, Evidence, Family, Line, PARENT_ID, PAYLOAD, Part, RECORD_TYPE, Unrecognised, is_call,
};

const OWN: Family = Family::Of(Format::Codex);

/// The types of envelopes.
const ENVELOPES: [&[u8]; 8] = [
    b"session_meta",
    b"response_item",
    b"event_msg",
    b"turn_context",
    b"compacted",
    b"world_state",
    b"inter_agent_communication",
    b"token_usage_record",
];

/// Items of the Responses API that belong to a call.
const CALL_ITEMS: [&[u8]; 5] = [
    b"function_call",
    b"function_call_output",
    b"custom_tool_call",
    b"custom_tool_call_output",
    b"local_shell_call",
];

/// Other items that are read, or that look like calls but are not.
const OTHER_ITEMS: [&[u8]; 12] = [
    b"message",
    b"agent_message",
    b"reasoning",
    b"web_search_call",
    b"image_generation_call",
    b"tool_search_call",
    b"tool_search_output",
    b"additional_tools",
    b"compaction",
    b"compaction_summary",
    b"context_compaction",
    b"ghost_snapshot",
];

/// The evidence of a line of a rollout.
pub(super) fn evidence<'a>(line: &Line<'a>) -> Option<Evidence<'a>> {
    if line.has(PAYLOAD) && ENVELOPES.contains(&line.kind) {
        return Some(envelope(line));
    }
    if line.kind == b"message" && line.own.is_item() {
        return Some(Evidence::message(OWN, line.own.unrecognised(Format::Codex)));
    }
    if CALL_ITEMS.contains(&line.kind) && line.has(CALL_ID) {
        return Some(Evidence::message(OWN, None));
    }
    // Entries of pi name their parents.
    let is_other =
        OTHER_ITEMS.contains(&line.kind) && line.kind != b"message" && !line.has(PARENT_ID);
    (line.has(RECORD_TYPE) || is_other && !line.own.is_message()).then(|| Evidence::mark(OWN))
}

fn envelope<'a>(line: &Line<'a>) -> Evidence<'a> {
    let payload = line.payload.as_ref();
    let Some((kind, says)) = payload.filter(|_| line.kind == b"response_item") else {
        return Evidence::mark(OWN);
    };
    let is_known = CALL_ITEMS.contains(kind) || OTHER_ITEMS.contains(kind);
    let unrecognised = match *kind {
        b"message" => says.unrecognised(Format::Codex),
        kind if !is_known && (is_call(kind) || says.is_message()) => Some(Unrecognised::Line(kind)),
        _ => None,
    };
    Evidence::message(OWN, unrecognised)
}

/// Whether the reader of message items understands a part.
pub(super) fn understands(part: Part<'_>) -> bool {
    match part {
        Part::Role(role) => matches!(role, b"user" | b"assistant" | b"system" | b"developer"),
        Part::Block(kind) => matches!(
            kind,
            b"input_text"
                | b"output_text"
                | b"text"
                | b"summary_text"
                | b"reasoning_text"
                | b"refusal"
                | b"input_image"
                | b"image"
                | b"image_url"
                | b"input_file"
                | b"file"
                | b"document"
        ),
        Part::BareString | Part::ObjectResult => true,
        Part::CallKey(_) | Part::ObjectContent | Part::Piece => false,
    }
}
