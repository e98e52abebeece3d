//! Only the last content shown of a file is restored, whatever the text of files and however reads fail.
//!
//! Each state of a file has a mark of its own in it, so that the mark tells which state a text is from.

use std::collections::BTreeMap;

use ctxpack::format::Format;
use ctxpack::outcome::Status;
use ctxpack::plan::Keeping;
use ctxpack::policy::SummaryWhen;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use serde_json::{Value, json};

use super::case::compact;
use super::tape::Tape;
use super::{config, policies};

/// First lines of files, as they are found in source.
const FIRST: [&str; 8] = [
    "fn main() {",
    "from app.errors import AppError",
    "//! What cannot be done is an error.",
    "use crate::error::{Exception, Result};",
    "error_chain! {",
    "errors = ['not found', 'permission denied']",
    "class NotFoundError(Exception):",
    "# Error: an introduction",
];

/// What says why there is no content, where no flag does.
const WHY_NOT: [&str; 5] = [
    "Error: ENOENT: no such file or directory, open 'a'",
    "cat: a: No such file or directory",
    "",
    "Error: no carrier\nup\ndown\nup\ndown\nup",
    "Failed to read file: too large",
];

/// What happened to a file.
enum Event {
    /// It is read, and has that content.
    Read(String),
    /// Its second and third lines are.
    Part(String),
    /// A read of it fails, and its format says so or not.
    Failed(&'static str, bool),
    /// Its mark is replaced by another.
    Edit(String, String),
}

/// Writes calls and results as a format has them.
struct Writer {
    format: Format,
    lines: Vec<Value>,
}

impl Writer {
    fn line(&mut self, role: &str, content: Value) {
        let n = self.lines.len();
        let parent = n.checked_sub(1).map(|n| format!("u{n}"));
        let message = json!({"role": role, "content": content});
        self.lines.push(match self.format {
            Format::ClaudeCode => json!({"type": role, "uuid": format!("u{n}"), "parentUuid": parent, "sessionId": "s",
                "timestamp": "2026-03-01T08:00:00.000Z", "message": message}),
            Format::Pi => json!({"type": "message", "id": format!("u{n}"), "parentId": parent,
                "timestamp": "2026-03-01T08:00:00.000Z", "message": message}),
            _ => message,
        });
    }

    fn call(&mut self, tool: &str, input: &Value, said: &str, is_error: bool) {
        let id = format!("c{}", self.lines.len());
        let text = input.to_string();
        match self.format {
            Format::Anthropic | Format::ClaudeCode => {
                self.line(
                    "assistant",
                    json!([{"type": "tool_use", "id": id, "name": tool, "input": input}]),
                );
                self.line("user", json!([{"type": "tool_result", "tool_use_id": id, "content": said, "is_error": is_error}]));
            }
            Format::OpenAi => {
                self.lines.push(json!({"role": "assistant", "content": null, "tool_calls": [
                    {"id": id, "type": "function", "function": {"name": tool, "arguments": text}}]}));
                self.lines
                    .push(json!({"role": "tool", "tool_call_id": id, "content": said}));
            }
            Format::AiSdk => {
                let kind = if is_error { "error-text" } else { "text" };
                self.line("assistant", json!([{"type": "tool-call", "toolCallId": id, "toolName": tool, "input": input}]));
                self.line(
                    "tool",
                    json!([{"type": "tool-result", "toolCallId": id, "toolName": tool,
                    "output": {"type": kind, "value": said}}]),
                );
            }
            Format::Pi => {
                self.line(
                    "assistant",
                    json!([{"type": "toolCall", "id": id, "name": tool, "arguments": input}]),
                );
                self.line("toolResult", json!([{"type": "text", "text": said}]));
                let last = self.lines.last_mut().unwrap();
                last["message"]["toolCallId"] = json!(id);
                last["message"]["isError"] = json!(is_error);
            }
            Format::Codex => {
                self.item(json!({"type": "function_call", "name": tool, "arguments": text, "call_id": id}));
                self.item(json!({"type": "function_call_output", "call_id": id, "output": said}));
            }
            Format::GeminiStream => unreachable!("only read"),
        }
    }

    fn item(&mut self, payload: Value) {
        self.lines.push(json!({"timestamp": "2026-03-01T08:00:00.000Z", "type": "response_item", "payload": payload}));
    }

    fn user(&mut self, text: &str) {
        match self.format {
            Format::Codex => self.item(json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]})),
            Format::AiSdk | Format::OpenAi => self.lines.push(json!({"role": "user", "content": text})),
            Format::Anthropic | Format::ClaudeCode | Format::Pi => self.line("user", json!([{"type": "text", "text": text}])),
            Format::GeminiStream => unreachable!("only read"),
        }
    }

    fn event(&mut self, path: &str, event: &Event) {
        let is_codex = self.format == Format::Codex;
        let read = |lines: &str| {
            let command = format!("sed -n '{lines}' {path}");
            if is_codex {
                ("exec_command", json!({"cmd": command}))
            } else {
                ("read_file", json!({"path": path}))
            }
        };
        match event {
            Event::Read(text) => {
                let (tool, input) = read("1,400p");
                self.call(tool, &input, text, false);
            }
            Event::Part(text) => {
                let (tool, mut input) = read("2,3p");
                if !is_codex {
                    input = json!({"path": path, "offset": 2, "limit": 2});
                }
                self.call(tool, &input, text, false);
            }
            Event::Failed(said, is_flagged) => {
                let (tool, input) = read("1,400p");
                let header = format!("Exit code: 1\nWall time: 0.1 seconds\nOutput:\n{said}");
                let said = if is_codex && *is_flagged {
                    &header
                } else {
                    *said
                };
                self.call(tool, &input, said, *is_flagged);
            }
            Event::Edit(old, new) => {
                let input = json!({"path": path, "old_string": old, "new_string": new});
                self.call("edit_file", &input, "The file has been updated.", false);
            }
        }
    }
}

/// Whether something came back; all of it is the newest.
fn check(format: Format, mut tape: Tape) -> Result<bool, TestCaseError> {
    let mut writer = Writer {
        format,
        lines: Vec::new(),
    };
    if format == Format::Codex {
        writer.lines.push(json!({"timestamp": "2026-03-01T08:00:00.000Z", "type": "session_meta", "payload": {"id": "s", "cwd": "/w"}}));
    }
    // The mark of the last state that was shown, or none where nobody can tell.
    let mut shown: BTreeMap<&str, Option<String>> = BTreeMap::new();
    writer.user("Look at these files.");
    for n in 0..tape.between(4, 14) {
        let path = tape.pick(&["/w/a.py", "/w/b.rs"]);
        let mark = format!("mark_{n}_of_{}", &path[3..4]);
        let rest = "    the gauge at the sluice is read again\n".repeat(30);
        let flags = format != Format::OpenAi;
        let old = shown.get(path).cloned().flatten();
        let event = match (tape.below(5), old) {
            (1, _) => {
                // What a part shows is current, and of the rest nothing is told.
                shown.insert(path, Some(mark.clone()));
                Event::Part(format!("    {mark}\n    more of it"))
            }
            (2, _) => {
                let is_flagged = flags && tape.one_in(2);
                if !is_flagged {
                    shown.insert(path, None);
                }
                Event::Failed(tape.pick(&WHY_NOT), is_flagged)
            }
            (3, Some(old)) => {
                shown.insert(path, Some(mark.clone()));
                Event::Edit(old, mark)
            }
            _ => {
                shown.insert(path, Some(mark.clone()));
                Event::Read(format!("{}\n    {mark}\n{rest}", tape.pick(&FIRST)))
            }
        };
        writer.event(path, &event);
    }
    writer.user("Go on.");
    let bytes: Vec<u8> = writer
        .lines
        .iter()
        .flat_map(|line| format!("{line}\n").into_bytes())
        .collect();
    let mut policy = policies::named("auto");
    policy.summary.when = SummaryWhen::Always;
    (
        policy.summary.keep_messages,
        policy.summary.keep_tokens,
        policy.trigger.tokens,
    ) = (0, 0, 0);
    let run = compact(&bytes, &policy, Keeping::Nothing);
    prop_assert!(matches!(
        run.outcome.status,
        Status::Compacted | Status::Unchanged
    ));
    let text = String::from_utf8_lossy(&run.bytes).into_owned();
    // A section ends with the string that it stands in.
    let sections = text.split("[File restored: ").skip(1);
    let sections = sections.map(|rest| rest.split("\",\"").next().unwrap_or(rest));
    for section in sections.clone() {
        let path = if section.starts_with("/w/a.py") {
            "/w/a.py"
        } else {
            "/w/b.rs"
        };
        let marks = section.match_indices("mark_").map(|(at, _)| {
            section[at..]
                .chars()
                .take_while(|c| c.is_ascii_alphanumeric() || *c == '_')
                .collect::<String>()
        });
        let own = format!("_of_{}", &path[3..4]);
        for mark in marks.filter(|mark| mark.ends_with(&own)) {
            prop_assert_eq!(
                Some(&mark),
                shown[path].as_ref(),
                "{}",
                String::from_utf8_lossy(&bytes)
            );
        }
    }
    Ok(sections.count() > 0)
}

/// In every format something does come back: else the property would prove little.
#[test]
fn files_come_back() {
    let mut runner = TestRunner::deterministic();
    for format in Format::compacted() {
        let tapes = Tape::of_up_to(120);
        let mut some = |_| {
            let tape = tapes.new_tree(&mut runner).unwrap().current();
            check(format, tape).unwrap()
        };
        let times = (0..20).filter(|n| some(*n)).count();
        assert!(times > 5, "{format:?}: {times}");
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn what_comes_back_is_the_newest_that_was_shown(
        format in prop::sample::select(Format::compacted()),
        tape in Tape::of_up_to(120),
    ) {
        check(format, tape)?;
    }
}
