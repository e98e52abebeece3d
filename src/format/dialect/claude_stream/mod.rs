//! The event log of Claude Code (`--output-format stream-json`): the events of a run, one per line, in order.
//!
//! An answer is written block by block: lines with the same message id form one message. Results follow as user messages. `system`,
//! `stream_event` (fragments of what follows in full) and `result` describe the run. Lines of a subagent name the call that started
//! it. Claude Code continues from its session files, never from such a log, so it is only read.

mod line;
mod messages;

use super::{Dialect, ToolNames};
use crate::format::detect::{
    Evidence, Family, Line, PARENT_CALL, PARENT_UUID, Part, QWEN_VERSION, STREAM_SESSION,
};
use crate::format::shapes::{blocks, event_log};
use crate::format::{Format, Opening, Summaries, finish, usage};
use crate::scan::{Cursor, Parse, Value};
use crate::transcript::{Conversation, LineKind, Message, Record, Transcript};
use crate::verify::Findings;

/// The dialect.
pub(in crate::format) struct ClaudeStream;

impl Dialect for ClaudeStream {
    fn name(&self) -> &'static str {
        "claude-stream"
    }

    fn evidence<'a>(&self, line: &Line<'a>) -> Option<Evidence<'a>> {
        let own = Family::Of(Format::ClaudeStream);
        let is_other = line.has(PARENT_UUID) || line.has(QWEN_VERSION) || line.own.is_message();
        if !line.has(STREAM_SESSION) || is_other {
            return None;
        }
        match (line.kind, &line.message) {
            // Other agents write such lines without the call of a subagent.
            (b"user" | b"assistant", Some(says)) if says.is_message() && line.has(PARENT_CALL) => {
                let unrecognised = says.unrecognised(Format::ClaudeStream);
                Some(Evidence::message(own, unrecognised))
            }
            (b"system" | b"result" | b"stream_event", _) => Some(Evidence::mark(own)),
            (_, _) => None,
        }
    }

    fn understands(&self, part: Part<'_>) -> bool {
        blocks::understands(part)
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
        messages::conversations(transcript)
    }

    fn summaries(&self) -> Summaries {
        Summaries::Message(Opening::Any)
    }

    fn recorded(
        &self,
        transcript: &Transcript<'_>,
        conversation: &Conversation,
        answer: &Message,
    ) -> Option<u64> {
        let mut lines = conversation.lines(answer).iter().rev();
        lines.find_map(|line| {
            let line = Value::of(transcript.line(*line));
            usage::recorded(line, &["message", "usage"], usage::ANTHROPIC)
        })
    }

    /// The model that the run began with.
    fn model_before(
        &self,
        transcript: &Transcript<'_>,
        _conversation: &Conversation,
    ) -> Option<String> {
        let mut lines = (0u32..).zip(transcript.lines());
        lines.find_map(|(line, read)| {
            let is_run = read.kind == LineKind::Session;
            let model = is_run.then(|| Value::of(transcript.line(line)).field("model"))?;
            finish::string_of(model)
        })
    }

    fn check(&self, findings: &mut Findings<'_, '_>) {
        findings.unreadable_lines();
        findings.conversations(event_log::check);
    }

    fn tools(&self) -> ToolNames {
        super::claude_code::ClaudeCode.tools()
    }
}

#[cfg(test)]
mod tests;
