//! Formats that are recognised by name but not supported, by what only they write.

use super::evidence::{Evidence, Family, Lookalike};
use super::line::{
    FROM_VALUE, HISTORY, Line, OF_REPORT, PARTS, QWEN_VERSION, SCHEMA_VERSION, STATUS,
    STREAM_SESSION, TRAJECTORY, VERSION,
};
use super::message_shape::Unrecognised;
use crate::format::Format;

const STREAM: Family = Family::Named("stream-json", Lookalike::Bare);
const QWEN_STREAM: Family = Family::Named("qwen-stream", Lookalike::Of(Format::ClaudeStream));
const SYNAPSE: Family = Family::Named("synapse", Lookalike::Bare);
const UI_MESSAGES: Family = Family::Named("ui-messages", Lookalike::Bare);

/// Whether it is a line of a ctxpack report: one about an input, or the last one, about the run.
fn is_of_report(line: &Line<'_>) -> bool {
    let is_on_input = line.has(OF_REPORT | STATUS);
    is_on_input || line.has(SCHEMA_VERSION | VERSION)
}

/// The evidence of a line of such a format.
pub(super) fn evidence<'a>(line: &Line<'a>) -> Option<Evidence<'a>> {
    let named = |name| Family::Named(name, Lookalike::Nothing);
    let unrecognised = Some(Unrecognised::Line(line.kind));
    let (family, is_message) = match line.kind {
        b"item.completed" | b"thread.started" => (named("codex-exec"), true),
        b"system" if line.has(QWEN_VERSION) => (QWEN_STREAM, true),
        b"user" | b"assistant" | b"system" | b"result"
            if line.has(STREAM_SESSION) && !line.own.is_message() =>
        {
            (STREAM, true)
        }
        // A report of ctxpack lists conversations, as lines of ShareGPT do.
        _ if is_of_report(line) => (named("ctxpack-report"), true),
        _ if line.has(FROM_VALUE) => (named("sharegpt"), true),
        _ if line.has(TRAJECTORY) => (named("swe-agent"), true),
        _ if line.has(HISTORY) => (named("openhands"), true),
        _ if line.own.role.is_empty() => return None,
        _ if line.own.has("toolCalls") || line.own.has("toolCallId") => (SYNAPSE, true),
        _ if line.has(PARTS) || line.own.has("toolInvocations") => (UI_MESSAGES, true),
        _ => return None,
    };
    Some(match (is_message, line.kind) {
        (false, _) => Evidence::mark(family),
        (true, b"") => Evidence::message(family, line.own.unrecognised(Format::OpenAi)),
        (true, _) => Evidence::message(family, unrecognised),
    })
}
