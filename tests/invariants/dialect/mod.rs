//! What the properties know about each format: what a transcript looks like, what is on a line, how its agent writes a
//! conversation.
//!
//! One file per format; written from the formats' documentation, not from the program's readers.

use ctxpack::format::{Format, Layout};
use ctxpack::transcript::Outcome;
use proptest::test_runner::TestCaseResult;
use serde_json::{Value, json};

use super::case::{Case, Run, Written};
use super::json::Node;
use super::summarised::spliced;
use super::summarised::words::typed_in;
use super::tape::Tape;
use super::text::Mode;
use super::view::LineView;

mod ai_sdk;
mod anthropic;
mod claude_code;
mod codex;
mod copilot;
mod droid;
mod gemini;
mod kimi;
mod openai;
mod pi;
mod qwen;
mod script;

pub(super) use claude_code::SESSION;
pub(super) use script::Script;

/// When every line of a script was written.
const TIME: &str = "2026-01-02T00:00:00.000Z";

/// What is known about a format that is compacted.
pub(super) trait Dialect: Sync {
    /// Any transcript.
    fn written(&self, tape: &mut Tape, mode: Mode) -> Written;

    /// Adds the content of a line.
    fn view(&self, view: &mut LineView, line: &[u8], root: &Node);

    /// The messages of a line that a model reads, including typed ones.
    fn messages<'n>(&self, line: &[u8], root: &'n Node) -> Vec<&'n Node>;

    /// What a person typed on a line.
    fn typed(&self, line: &[u8], root: &Node) -> Vec<String> {
        let messages = self.messages(line, root).into_iter();
        let typed = messages.filter_map(|message| typed_in(line, message));
        typed.collect()
    }

    /// The value of a line of an output that may contain text that is not in the input.
    fn texts<'n>(&self, root: &'n Node) -> Option<&'n Node> {
        Some(root)
    }

    /// Whether it is a session, in which only some lines are live and a summary is a record of its own.
    fn is_session(&self) -> bool;

    /// The folder that the paths of a transcript are in.
    fn folder(&self, _bytes: &[u8]) -> &'static str {
        ""
    }

    /// Checks that a summary is where it belongs, and that everything else is unchanged: `free` is the run without summaries.
    fn summary_stays_within(
        &self,
        case: &Case,
        free: &Run,
        run: &Run,
        layout: Layout,
    ) -> TestCaseResult;

    /// The first line of a script, if it is not a message.
    fn header(&self) -> Option<Value> {
        None
    }

    /// A message as a line, in a script that has `lines` lines.
    fn line(&self, _lines: usize, message: Value) -> Value {
        message
    }

    /// The system message, if the format has one.
    fn system(&self, text: &str) -> Option<Value> {
        Some(json!({"role": "system", "content": text}))
    }

    /// What the user typed.
    fn user(&self, text: &str) -> Value {
        json!({"role": "user", "content": text})
    }

    /// An answer of the agent.
    fn answer(&self, text: &str) -> Value {
        json!({"role": "assistant", "content": [{"type": "text", "text": text}]})
    }

    /// A call.
    fn call(&self, id: &str, tool: &str, input: &Value) -> Value;

    /// Its result.
    fn result(&self, id: &str, tool: &str, text: &str, outcome: Outcome) -> Value;

    /// The tool that runs a command, and its input.
    fn shell(&self, command: &str) -> (&'static str, Value) {
        ("bash", json!({"command": command}))
    }

    /// The tool that reads a file, or `limit` lines of it from `offset` on, and its input.
    fn read(&self, path: &str, part: Option<(u64, u64)>) -> (&'static str, Value) {
        let input = match part {
            Some((offset, limit)) => json!({"path": path, "offset": offset, "limit": limit}),
            None => json!({"path": path}),
        };
        ("read_file", input)
    }

    /// Whether a result can be flagged as failed.
    fn flags_failures(&self) -> bool {
        true
    }
}

/// The dialect of a format.
pub(super) fn of(format: Format) -> &'static dyn Dialect {
    match format {
        Format::Anthropic => &anthropic::Anthropic,
        Format::OpenAi => &openai::OpenAi,
        Format::ClaudeCode => &claude_code::ClaudeCode,
        Format::Codex => &codex::Codex,
        Format::Pi => &pi::Pi,
        Format::AiSdk => &ai_sdk::AiSdk,
        Format::Copilot => &copilot::Copilot,
        Format::Gemini => &gemini::Gemini,
        Format::Qwen => &qwen::Qwen,
        Format::Droid => &droid::Droid,
        Format::Kimi => &kimi::Kimi,
        Format::GeminiStream | Format::ClaudeStream => unreachable!("only read"),
        Format::OpenCode | Format::Cline => unreachable!("a document, no lines"),
    }
}

/// The same for a plain list of messages.
fn list_stays(
    case: &Case,
    (format, layout): (Format, Layout),
    free: &Run,
    run: &Run,
) -> TestCaseResult {
    match layout {
        Layout::File => spliced::file(case, format, free, run),
        Layout::Line => spliced::lines(case, format, free, run),
    }
}

/// Whether a member of a line is true.
fn is_true(line: &[u8], node: &Node, key: &str) -> bool {
    node.get(key).is_some_and(|node| node.of(line) == b"true")
}
