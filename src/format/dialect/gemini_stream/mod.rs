//! The event log of Gemini CLI (`--output-format stream-json`): the events of a run, one per line, in order.
//!
//! An answer is spread over lines: text fragments (`message` with `delta`), then calls (`tool_use`). Results (`tool_result`) follow
//! as lines of their own. `init`, `error` and `result` describe the run. No agent continues from such a log, so it is only read.

mod line;
mod messages;

use super::Dialect;
use crate::format::detect::{Evidence, Family, Line, Part, STREAM_SESSION, TOOL_OF_STREAM};
use crate::format::shapes::event_log;
use crate::format::{Format, Opening, Summaries, finish};
use crate::scan::{Cursor, Parse, Value};
use crate::transcript::{Conversation, LineKind, Message, Record, Transcript};
use crate::verify::Findings;

/// The dialect.
pub(in crate::format) struct GeminiStream;

impl Dialect for GeminiStream {
    fn name(&self) -> &'static str {
        "gemini-stream"
    }

    fn evidence<'a>(&self, line: &Line<'a>) -> Option<Evidence<'a>> {
        let own = Family::Of(Format::GeminiStream);
        match line.kind {
            b"init" if line.has(STREAM_SESSION) && !line.own.is_message() => {
                Some(Evidence::mark(own))
            }
            b"tool_use" | b"tool_result" if line.has(TOOL_OF_STREAM) => {
                Some(Evidence::message(own, None))
            }
            _ => None,
        }
    }

    fn understands(&self, part: Part<'_>) -> bool {
        match part {
            Part::Role(role) => matches!(role, b"user" | b"assistant"),
            Part::Piece => true,
            Part::Block(_)
            | Part::BareString
            | Part::CallKey(_)
            | Part::ObjectContent
            | Part::ObjectResult => false,
        }
    }

    /// Its messages look like those of any API.
    fn writes_bare_items(&self) -> bool {
        true
    }

    fn is_compacted(&self) -> bool {
        false
    }

    fn line(&self, c: &mut Cursor<'_>, record: &mut Record<'_, '_>) -> Parse<LineKind> {
        line::line(c, record)
    }

    fn every_message_is_live(&self) -> bool {
        false
    }

    fn conversations(&self, transcript: &Transcript<'_>) -> Vec<Conversation> {
        vec![messages::conversation(transcript)]
    }

    fn summaries(&self) -> Summaries {
        Summaries::Message(Opening::Any)
    }

    /// Token counts are recorded only at the end, for the whole run.
    fn recorded(
        &self,
        _transcript: &Transcript<'_>,
        _conversation: &Conversation,
        _answer: &Message,
    ) -> Option<u64> {
        None
    }

    /// The model of the run.
    fn model_before(
        &self,
        transcript: &Transcript<'_>,
        _conversation: &Conversation,
    ) -> Option<String> {
        let mut lines = (0u32..).zip(transcript.lines());
        lines
            .find(|(_, line)| line.kind == LineKind::Session)
            .and_then(|(line, _)| {
                finish::string_of(Value::of(transcript.line(line)).field("model"))
            })
    }

    fn check(&self, findings: &mut Findings<'_, '_>) {
        findings.unreadable_lines();
        findings.conversations(event_log::check);
    }
}

#[cfg(test)]
mod tests;
