//! Sessions of Claude Code.

use ctxpack::format::Layout;
use ctxpack::transcript::Outcome;
use proptest::test_runner::TestCaseResult;
use serde_json::{Value, json};

use super::super::case::{Case, Run, Written};
use super::super::claude_code::{Session, session};
use super::super::json::Node;
use super::super::summarised::spliced;
use super::super::tape::Tape;
use super::super::text::Mode;
use super::super::view::{LineView, string_under};
use super::anthropic::Anthropic;
use super::{Dialect, TIME, is_true};

pub(super) struct ClaudeCode;

/// The parts of a recorded usage that fill a window, in the order in which they are lowered.
const FIGURES: [&str; 3] = [
    "cache_read_input_tokens",
    "cache_creation_input_tokens",
    "input_tokens",
];

/// Lines that describe a session: they have neither parents nor children, even if they have ids.
pub(in super::super) const SESSION: [&str; 7] = [
    "file-history-snapshot",
    "queue-operation",
    "summary",
    "permission-mode",
    "ai-title",
    "tools-used",
    "cost-state",
];

impl Dialect for ClaudeCode {
    fn written(&self, tape: &mut Tape, mode: Mode) -> Written {
        let Session { lines, known } = session(tape, mode);
        let layout = Layout::File;
        Written {
            layout,
            lines,
            known,
        }
    }

    fn view(&self, view: &mut LineView, line: &[u8], root: &Node) {
        let kind = string_under(line, root, "type");
        view.id = root.get("uuid").cloned();
        let link = if kind == "last-prompt" {
            "leafUuid"
        } else {
            "parentUuid"
        };
        if !SESSION.contains(&kind.as_str()) {
            view.link = root.get(link).cloned();
        }
        if kind == "progress" {
            let of = string_under(line, root, "parentToolUseID");
            if let Some(data) = root.get("data").filter(|_| !of.is_empty()) {
                view.mirror(data, Some(&of));
            }
        }
        if kind != "user" && kind != "assistant" {
            return;
        }
        if let Some(message) = root.get("message") {
            view.anthropic_message(line, message);
            let usage = message.get("usage");
            let figures = FIGURES.iter().filter_map(|key| usage?.get(key)).cloned();
            view.figures = figures.filter(|f| f.number(line).is_some()).collect();
            view.forget_figures();
        }
        if let Some(mirror) = root.get("toolUseResult") {
            view.mirror(mirror, None);
        }
    }

    fn messages<'n>(&self, line: &[u8], root: &'n Node) -> Vec<&'n Node> {
        let is_sent = !["isMeta", "isCompactSummary"]
            .iter()
            .any(|key| is_true(line, root, key));
        root.get("message")
            .filter(|_| is_sent)
            .into_iter()
            .collect()
    }

    fn texts<'n>(&self, root: &'n Node) -> Option<&'n Node> {
        root.get("message").or(root.get("summary"))
    }

    fn is_session(&self) -> bool {
        true
    }

    fn folder(&self, _bytes: &[u8]) -> &'static str {
        "/w"
    }

    fn summary_stays_within(
        &self,
        case: &Case,
        free: &Run,
        run: &Run,
        _layout: Layout,
    ) -> TestCaseResult {
        spliced::session(case, free, run)
    }

    fn line(&self, lines: usize, mut message: Value) -> Value {
        let parent = lines.checked_sub(1).map(|n| format!("e{n}"));
        let role = message["role"].clone();
        if role == "assistant" {
            message["model"] = json!("claude-test-1");
            message["id"] = json!(format!("msg_{lines}"));
        }
        json!({"parentUuid": parent, "isSidechain": false, "userType": "external", "cwd": "/w", "sessionId": "5c0375b4",
            "version": "2.1.330", "type": role, "message": message, "uuid": format!("e{lines}"), "timestamp": TIME})
    }

    fn system(&self, _text: &str) -> Option<Value> {
        None
    }

    fn call(&self, id: &str, tool: &str, input: &Value) -> Value {
        Anthropic.call(id, tool, input)
    }

    fn result(&self, id: &str, tool: &str, text: &str, outcome: Outcome) -> Value {
        Anthropic.result(id, tool, text, outcome)
    }

    fn shell(&self, command: &str) -> (&'static str, Value) {
        ("Bash", json!({"command": command}))
    }
}
