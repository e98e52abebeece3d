//! Rollouts of Codex, of both generations.

use ctxpack::format::Layout;
use ctxpack::transcript::Outcome;
use proptest::test_runner::TestCaseResult;
use serde_json::{Value, json};

use super::super::case::{Case, Run, Written, split};
use super::super::codex::rollout;
use super::super::json::Node;
use super::super::summarised;
use super::super::tape::Tape;
use super::super::text::Mode;
use super::super::view::{LineView, ResultView, string_under};
use super::{Dialect, TIME};

pub(super) struct Codex;

impl Dialect for Codex {
    fn written(&self, tape: &mut Tape, mode: Mode) -> Written {
        let (lines, known) = rollout(tape, mode);
        let layout = Layout::File;
        Written {
            layout,
            lines,
            known,
        }
    }

    fn view(&self, view: &mut LineView, line: &[u8], root: &Node) {
        let Some(payload) = root.get("payload").filter(|node| node.is_object()) else {
            return view.responses_item(line, root);
        };
        match string_under(line, root, "type").as_str() {
            "response_item" => view.responses_item(line, payload),
            "compacted" => match payload.get("replacement_history") {
                Some(items) => items
                    .list()
                    .iter()
                    .for_each(|item| view.responses_item(line, item)),
                None => view.messages.push(payload.span.clone()),
            },
            "event_msg" => {
                if string_under(line, payload, "type") == "token_count" {
                    let usage = payload
                        .get("info")
                        .and_then(|info| info.get("last_token_usage"));
                    let keys = ["cached_input_tokens", "input_tokens", "total_tokens"];
                    let figures = keys.iter().filter_map(|key| usage?.get(key)).cloned();
                    view.figures = figures.filter(|f| f.number(line).is_some()).collect();
                }
                let (event, id) = match payload.get("item") {
                    Some(item) => (item, "id"),
                    None => (payload, "call_id"),
                };
                let of = string_under(line, event, id);
                for key in [
                    "stdout",
                    "stderr",
                    "aggregated_output",
                    "formatted_output",
                    "result",
                ] {
                    if let Some(output) = event.get(key).filter(|_| !of.is_empty()) {
                        view.mirror(output, Some(&of));
                    }
                }
            }
            _ => {}
        }
    }

    fn messages<'n>(&self, line: &[u8], root: &'n Node) -> Vec<&'n Node> {
        let payload = root.get("payload").unwrap_or(root);
        let items = match payload.get("replacement_history").map(Node::list) {
            // A single message is the summary of a compaction.
            Some([_]) => &[],
            Some(items) => items,
            None => std::slice::from_ref(payload),
        };
        let items = items.iter();
        items
            .filter(|item| string_under(line, item, "type") == "message")
            .collect()
    }

    fn texts<'n>(&self, root: &'n Node) -> Option<&'n Node> {
        match root.get("payload") {
            Some(payload) => payload.get("message"),
            None => Some(root),
        }
    }

    fn is_session(&self) -> bool {
        true
    }

    fn folder(&self, bytes: &[u8]) -> &'static str {
        match split(bytes).1.iter().any(|(line, _)| is_header(line)) {
            true => "/w",
            false => "",
        }
    }

    fn summary_stays_within(
        &self,
        case: &Case,
        free: &Run,
        run: &Run,
        _layout: Layout,
    ) -> TestCaseResult {
        summarised::rollout::check(case, free, run)
    }

    fn header(&self) -> Option<Value> {
        let payload = json!({"id": "019a", "timestamp": TIME, "cwd": "/w", "originator": "codex_cli_rs",
            "cli_version": "0.169.0", "source": "cli", "model_provider": "openai"});
        Some(json!({"timestamp": TIME, "type": "session_meta", "payload": payload}))
    }

    fn line(&self, _lines: usize, message: Value) -> Value {
        json!({"timestamp": TIME, "type": "response_item", "payload": message})
    }

    fn system(&self, text: &str) -> Option<Value> {
        Some(
            json!({"type": "message", "role": "developer", "content": [{"type": "input_text", "text": text}]}),
        )
    }

    fn user(&self, text: &str) -> Value {
        json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]})
    }

    fn answer(&self, text: &str) -> Value {
        json!({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]})
    }

    fn call(&self, id: &str, tool: &str, input: &Value) -> Value {
        json!({"type": "function_call", "name": tool, "arguments": input.to_string(), "call_id": id})
    }

    fn result(&self, id: &str, _tool: &str, text: &str, outcome: Outcome) -> Value {
        let header = match outcome {
            Outcome::Failed => "Exit code: 1\nWall time: 0.1 seconds\nOutput:\n",
            Outcome::Fine => "",
        };
        json!({"type": "function_call_output", "call_id": id, "output": format!("{header}{text}")})
    }

    fn shell(&self, command: &str) -> (&'static str, Value) {
        ("shell", json!({"command": ["bash", "-lc", command]}))
    }

    fn read(&self, path: &str, part: Option<(u64, u64)>) -> (&'static str, Value) {
        let (first, last) = match part {
            Some((offset, limit)) => (offset, offset + limit - 1),
            None => (1, 400),
        };
        (
            "exec_command",
            json!({"cmd": format!("sed -n '{first},{last}p' {path}")}),
        )
    }
}

impl LineView {
    /// An item of the Responses API.
    fn responses_item(&mut self, line: &[u8], item: &Node) {
        let id = string_under(line, item, "call_id");
        match string_under(line, item, "type").as_str() {
            "function_call" | "custom_tool_call" => {
                self.call(line, id, item, &["arguments", "input"]);
                self.messages.push(item.span.clone());
            }
            "local_shell_call" => {
                self.calls.push((id, "local_shell".to_owned()));
                self.messages.push(item.span.clone());
            }
            "function_call_output" | "custom_tool_call_output" => {
                let output = item.get("output").filter(|o| o.is_text() || o.is_list());
                let Some(output) = output else {
                    return;
                };
                let (content, outcome) = body(line, output);
                self.results.push(ResultView {
                    id,
                    tool: String::new(),
                    content: Some(content),
                    outcome,
                });
            }
            _ => self.messages.push(item.span.clone()),
        }
    }
}

/// An output without the agent's header. The last character of the header replaces the quote before the output.
fn body(line: &[u8], output: &Node) -> (Node, Outcome) {
    let mut node = output.clone();
    let raw = String::from_utf8_lossy(output.of(line)).into_owned();
    let begins = ["\"Chunk ID: ", "\"Wall time: ", "\"Exit code: "];
    let end = raw.find("\\nOutput:\\n").filter(|at| *at < 500);
    let header = end.filter(|_| begins.iter().any(|begin| raw.starts_with(begin)));
    let mut failed = ["\"unsupported call: ", "\"aborted by user"]
        .iter()
        .any(|begin| raw.starts_with(begin));
    if let Some(end) = header {
        node.span.start += end + "\\nOutput:\\".len();
        let status = raw[..end].split("exited with code ").nth(1);
        let status = status.or(raw.strip_prefix("\"Exit code: "));
        failed |= status.is_some_and(|status| !status.starts_with('0'));
    } else if raw.starts_with("\"{\\\"output\\\":") {
        let status = raw.rsplit("\\\"exit_code\\\":").next();
        failed |= status.is_some_and(|status| !status.trim_start().starts_with('0'));
    }
    let outcome = if failed {
        Outcome::Failed
    } else {
        Outcome::Fine
    };
    (node, outcome)
}

/// Whether a line names the folder in which a rollout's agent works.
fn is_header(line: &[u8]) -> bool {
    line.windows(12).any(|word| word == b"session_meta")
}
