//! Recognises an event of a session log by its type, its data, and its link to the event before it.

use crate::format::Format;
use crate::format::detect::{DATA, Evidence, Family, Line, PARENT_ID, Unrecognised};

const OWN: Family = Family::Of(Format::Copilot);

/// The prefixes of event types.
const FAMILIES: [&[u8]; 24] = [
    b"session.",
    b"user.",
    b"assistant.",
    b"tool.",
    b"system.",
    b"hook.",
    b"permission.",
    b"subagent.",
    b"skill.",
    b"model.",
    b"agent.",
    b"user_input.",
    b"external_tool.",
    b"elicitation.",
    b"exit_plan_mode.",
    b"command.",
    b"commands.",
    b"workflow.",
    b"sampling.",
    b"sandbox.",
    b"mcp.",
    b"mcp_app.",
    b"tool_search.",
    b"pending_messages.",
];

/// The evidence of an event.
pub(super) fn evidence<'a>(line: &Line<'a>) -> Option<Evidence<'a>> {
    match line.kind {
        b"user.message" | b"assistant.message" | b"tool.execution_complete" if line.has(DATA) => {
            Some(Evidence::message(OWN, None))
        }
        kind if line.has(DATA | PARENT_ID) && is_event(kind) => Some(match is_strange(kind) {
            true => Evidence::message(OWN, Some(Unrecognised::Line(kind))),
            false => Evidence::mark(OWN),
        }),
        _ => None,
    }
}

/// Events of the user, the model and tools that are not a message, call or result.
const SILENT: [&[u8]; 15] = [
    b"assistant.turn_start",
    b"assistant.turn_end",
    b"assistant.turn_retry",
    b"assistant.intent",
    b"assistant.reasoning",
    b"assistant.reasoning_delta",
    b"assistant.message_start",
    b"assistant.message_delta",
    b"assistant.streaming_delta",
    b"assistant.usage",
    b"assistant.idle",
    b"tool.execution_start",
    b"tool.execution_progress",
    b"tool.execution_partial_result",
    b"tool.user_requested",
];

/// Whether an unknown event is, judging by its type, a message, a call or a result.
fn is_strange(kind: &[u8]) -> bool {
    let speaks = [&b"user."[..], b"assistant.", b"tool."];
    speaks.iter().any(|family| kind.starts_with(family))
        && !matches!(
            kind,
            b"user.message" | b"assistant.message" | b"tool.execution_complete"
        )
        && !SILENT.contains(&kind)
}

/// Whether a type is that of an event.
pub(super) fn is_event(kind: &[u8]) -> bool {
    kind == b"abort" || FAMILIES.iter().any(|family| kind.starts_with(family))
}
