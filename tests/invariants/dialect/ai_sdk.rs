//! Model messages of the AI SDK, one per line.

use ctxpack::format::{Format, Layout};
use ctxpack::transcript::Outcome;
use proptest::test_runner::TestCaseResult;
use serde_json::{Value, json};

use super::super::ai_sdk::lines;
use super::super::case::{Case, Run, Written};
use super::super::json::{Kind, Node};
use super::super::tape::Tape;
use super::super::text::Mode;
use super::super::view::{self, AskView, LineView, ResultView};
use super::{Dialect, list_stays};

pub(super) struct AiSdk;

impl Dialect for AiSdk {
    fn written(&self, tape: &mut Tape, mode: Mode) -> Written {
        Written::all_live(Layout::File, lines(tape, mode))
    }

    fn view(&self, view: &mut LineView, line: &[u8], message: &Node) {
        let (results, is_tool) = (
            view.results.len(),
            view::string_under(line, message, "role") == "tool",
        );
        for part in message.get("content").map(Node::list).unwrap_or_default() {
            let string = |key| view::string_under(line, part, key);
            match string("type").as_str() {
                "tool-call"
                    if part.get("providerExecuted").map(|n| n.of(line)) != Some(b"true") =>
                {
                    let id = string("toolCallId");
                    let name = string("toolName");
                    view.calls.push((id.clone(), name.clone()));
                    let input = part.get("input").or(part.get("args"));
                    view.asks.push(AskView {
                        id,
                        tool: name,
                        input: input.map_or(String::new(), |input| {
                            String::from_utf8_lossy(input.of(line)).into_owned()
                        }),
                        results_before: view.results.len(),
                    });
                }
                "tool-result" if is_tool => {
                    let output = part.get("output");
                    let kind = output.map(|output| view::string_under(line, output, "type"));
                    let value = output.and_then(|o| o.get("value").or(o.get("reason")));
                    let is_true = |key| part.get(key).map(|n| n.of(line)) == Some(b"true");
                    let failed = ["error-text", "error-json", "execution-denied"];
                    let has_failed = kind.as_deref().is_some_and(|kind| failed.contains(&kind));
                    view.results.push(ResultView {
                        id: string("toolCallId"),
                        tool: string("toolName"),
                        content: part
                            .get("result")
                            .or(value)
                            .map(|value| as_read(kind.as_deref(), value)),
                        outcome: if has_failed || is_true("isError") {
                            Outcome::Failed
                        } else {
                            Outcome::Fine
                        },
                    });
                }
                _ => {}
            }
        }
        if view.results.len() == results {
            view.messages.push(message.span.clone());
        }
    }

    fn messages<'n>(&self, _line: &[u8], root: &'n Node) -> Vec<&'n Node> {
        vec![root]
    }

    fn is_session(&self) -> bool {
        false
    }

    fn summary_stays_within(
        &self,
        case: &Case,
        free: &Run,
        run: &Run,
        layout: Layout,
    ) -> TestCaseResult {
        list_stays(case, (Format::AiSdk, layout), free, run)
    }

    fn user(&self, text: &str) -> Value {
        json!({"role": "user", "content": [{"type": "text", "text": text}]})
    }

    fn call(&self, id: &str, tool: &str, input: &Value) -> Value {
        json!({"role": "assistant", "content": [{"type": "tool-call", "toolCallId": id, "toolName": tool, "input": input}]})
    }

    fn result(&self, id: &str, tool: &str, text: &str, outcome: Outcome) -> Value {
        let kind = match outcome {
            Outcome::Failed => "error-text",
            Outcome::Fine => "text",
        };
        let output = json!({"type": kind, "value": text});
        json!({"role": "tool", "content": [{"type": "tool-result", "toolCallId": id, "toolName": tool, "output": output}]})
    }
}

/// The value of an output of this type, or of the older form: parts, a string, or JSON.
fn as_read(kind: Option<&str>, value: &Node) -> Node {
    let is_json = match (kind, &value.kind) {
        (_, Kind::Text) => false,
        (Some("content"), Kind::List(_)) => false,
        (
            Some("text" | "json" | "error-text" | "error-json" | "execution-denied" | "content"),
            _,
        )
        | (None, _) => !matches!(value.kind, Kind::Plain),
        (Some(_), _) => false,
    };
    if is_json {
        Node {
            kind: Kind::Json,
            span: value.span.clone(),
        }
    } else {
        value.clone()
    }
}
