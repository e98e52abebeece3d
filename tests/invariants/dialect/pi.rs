//! Sessions of pi.

use ctxpack::format::Layout;
use ctxpack::transcript::Outcome;
use proptest::test_runner::TestCaseResult;
use serde_json::{Value, json};

use super::super::case::{Case, Run, Written};
use super::super::json::Node;
use super::super::pi::{Session, session};
use super::super::summarised::appended;
use super::super::tape::Tape;
use super::super::text::Mode;
use super::super::view::{self, LineView, ResultView};
use super::{Dialect, TIME};

pub(super) struct Pi;

impl Dialect for Pi {
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
        view.id = root.get("id").cloned();
        view.link = root.get("parentId").cloned();
        if view::string_under(line, root, "type") == "compaction" {
            let kept = ["firstKeptEntryId", "firstKeptEntryIndex"];
            view.sums = kept
                .iter()
                .filter_map(|key| root.get(key))
                .cloned()
                .collect();
        }
        let Some(message) = root.get("message") else {
            return;
        };
        let string = |key| view::string_under(line, message, key);
        if string("role") == "toolResult" {
            view.results.push(ResultView {
                id: string("toolCallId"),
                tool: string("toolName"),
                content: message.get("content").cloned(),
                outcome: match message.get("isError").map(|node| node.of(line)) {
                    Some(b"true") => Outcome::Failed,
                    Some(_) | None => Outcome::Fine,
                },
            });
            if let Some(details) = message.get("details") {
                view.mirror(details, None);
            }
            return;
        }
        if string("role") == "bashExecution" {
            let is_sent = message.get("excludeFromContext").map(|n| n.of(line)) != Some(b"true");
            let output = message
                .get("output")
                .filter(|output| is_sent && output.is_text());
            view.results.extend(output.map(|output| ResultView {
                id: String::new(),
                tool: "bash".to_owned(),
                content: Some(output.clone()),
                outcome: Outcome::Fine,
            }));
            return;
        }
        view.messages.push(message.span.clone());
        let has_ended = !matches!(string("stopReason").as_str(), "aborted" | "error");
        for block in message.get("content").map(Node::list).unwrap_or_default() {
            if view::string_under(line, block, "type") == "toolCall" && has_ended {
                let id = view::string_under(line, block, "id");
                view.call(line, id, block, &["arguments"]);
            }
        }
        if string("role") == "assistant" {
            let usage = message.get("usage");
            let number = |key: &&str| usage?.get(key).filter(|n| n.number(line).is_some());
            let figures = ["cacheRead", "cacheWrite", "input"];
            view.figures = figures.iter().filter_map(number).cloned().collect();
            view.sums = number(&"totalTokens").cloned().into_iter().collect();
            view.forget_figures();
        }
    }

    fn messages<'n>(&self, _line: &[u8], root: &'n Node) -> Vec<&'n Node> {
        root.get("message").into_iter().collect()
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
        appended::session(case, free, run)
    }

    fn header(&self) -> Option<Value> {
        Some(json!({"type": "session", "version": 3, "id": "ffae", "timestamp": TIME, "cwd": "/w"}))
    }

    fn line(&self, lines: usize, mut message: Value) -> Value {
        // The first line is the header, which has no children.
        let parent = lines.checked_sub(2).map(|n| format!("e{}", n + 1));
        if message["role"] == "assistant" {
            message["model"] = json!("claude-test-1");
        }
        json!({"type": "message", "id": format!("e{lines}"), "parentId": parent, "timestamp": TIME, "message": message})
    }

    fn system(&self, _text: &str) -> Option<Value> {
        None
    }

    fn user(&self, text: &str) -> Value {
        json!({"role": "user", "content": [{"type": "text", "text": text}]})
    }

    fn call(&self, id: &str, tool: &str, input: &Value) -> Value {
        json!({"role": "assistant", "content": [{"type": "toolCall", "id": id, "name": tool, "arguments": input}]})
    }

    fn result(&self, id: &str, tool: &str, text: &str, outcome: Outcome) -> Value {
        json!({"role": "toolResult", "toolCallId": id, "toolName": tool, "content": [{"type": "text", "text": text}],
            "isError": outcome == Outcome::Failed, "timestamp": 1_765_233_665_294_u64})
    }
}
