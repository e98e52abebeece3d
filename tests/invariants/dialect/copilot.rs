//! Session logs of GitHub Copilot CLI.

use ctxpack::format::Layout;
use ctxpack::transcript::Outcome;
use proptest::test_runner::TestCaseResult;
use serde_json::{Value, json};

use super::super::case::{Case, Run, Written};
use super::super::copilot::session;
use super::super::json::Node;
use super::super::summarised::logged;
use super::super::summarised::words::{after_reminders, is_echo};
use super::super::tape::Tape;
use super::super::text::Mode;
use super::super::view::{LineView, ResultView, string_under};
use super::{Dialect, TIME, is_true};

pub(super) struct Copilot;

impl Dialect for Copilot {
    fn written(&self, tape: &mut Tape, mode: Mode) -> Written {
        let (lines, known) = session(tape, mode);
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
        let Some(data) = root.get("data") else {
            return;
        };
        match string_under(line, root, "type").as_str() {
            "assistant.message" => {
                view.messages.push(data.span.clone());
                for call in data.get("toolRequests").map(Node::list).unwrap_or_default() {
                    let id = string_under(line, call, "toolCallId");
                    view.call(line, id, call, &["arguments"]);
                }
            }
            "tool.execution_complete" => {
                let result = data.get("result");
                let is_by_user = is_true(line, data, "isUserRequested");
                let said = result.and_then(|result| result.get("content"));
                let error = || data.get("error")?.get("message");
                view.results.push(ResultView {
                    id: match is_by_user {
                        true => String::new(),
                        false => string_under(line, data, "toolCallId"),
                    },
                    tool: String::new(),
                    content: said.or_else(error).cloned(),
                    outcome: match is_true(line, data, "success") {
                        true => Outcome::Fine,
                        false => Outcome::Failed,
                    },
                });
                for key in ["detailedContent", "contents", "binaryResultsForLlm"] {
                    if let Some(repeated) = result.and_then(|result| result.get(key)) {
                        view.mirror(repeated, None);
                    }
                }
            }
            _ => view.messages.push(data.span.clone()),
        }
    }

    fn messages<'n>(&self, line: &[u8], root: &'n Node) -> Vec<&'n Node> {
        match string_under(line, root, "type").as_str() {
            "user.message" => root.get("data").into_iter().collect(),
            _ => Vec::new(),
        }
    }

    fn typed(&self, line: &[u8], root: &Node) -> Vec<String> {
        let data = root.get("data");
        let is_typed = string_under(line, root, "type") == "user.message"
            && root.get("agentId").is_none()
            && data.is_some_and(|data| data.get("source").is_none());
        let Some(data) = data.filter(|_| is_typed) else {
            return Vec::new();
        };
        let said = string_under(line, data, "content");
        let sent = string_under(line, data, "transformedContent");
        let words = match sent.contains(&said) || sent.is_empty() {
            true => said,
            false => sent,
        };
        [words]
            .into_iter()
            .filter(|words| !is_echo(words))
            .map(|words| after_reminders(&words).to_owned())
            .collect()
    }

    fn texts<'n>(&self, root: &'n Node) -> Option<&'n Node> {
        let data = root.get("data")?;
        Some(data.get("summaryContent").unwrap_or(data))
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
        logged::session(case, free, run)
    }

    fn header(&self) -> Option<Value> {
        let data = json!({"sessionId": "7a58621e-637e-4352-9d17-e6a3b1c2d4e5", "version": 1, "producer": "copilot-agent",
            "copilotVersion": "1.0.102", "context": {"cwd": "/w"}});
        Some(
            json!({"type": "session.start", "data": data, "id": "e0", "timestamp": TIME, "parentId": null}),
        )
    }

    fn line(&self, lines: usize, mut message: Value) -> Value {
        message["id"] = json!(format!("e{lines}"));
        message["timestamp"] = json!(TIME);
        message["parentId"] = json!(lines.checked_sub(1).map(|n| format!("e{n}")));
        message
    }

    fn system(&self, _text: &str) -> Option<Value> {
        None
    }

    fn user(&self, text: &str) -> Value {
        json!({"type": "user.message", "data": {"content": text}})
    }

    fn answer(&self, text: &str) -> Value {
        let data = json!({"content": text, "toolRequests": [], "model": "gpt-test"});
        json!({"type": "assistant.message", "data": data})
    }

    fn call(&self, id: &str, tool: &str, input: &Value) -> Value {
        let call = json!({"toolCallId": id, "name": tool, "arguments": input});
        let data = json!({"content": "", "toolRequests": [call], "model": "gpt-test"});
        json!({"type": "assistant.message", "data": data})
    }

    fn result(&self, id: &str, _tool: &str, text: &str, outcome: Outcome) -> Value {
        let data = match outcome {
            Outcome::Fine => {
                json!({"toolCallId": id, "success": true, "result": {"content": text}})
            }
            Outcome::Failed => {
                json!({"toolCallId": id, "success": false, "error": {"message": text}})
            }
        };
        json!({"type": "tool.execution_complete", "data": data})
    }

    fn read(&self, path: &str, part: Option<(u64, u64)>) -> (&'static str, Value) {
        let input = match part {
            Some((offset, limit)) => {
                json!({"path": path, "view_range": [offset, offset + limit - 1]})
            }
            None => json!({"path": path}),
        };
        ("view", input)
    }
}
