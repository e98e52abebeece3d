//! Messages of the Anthropic API, one per line.

use ctxpack::format::{Format, Layout};
use ctxpack::transcript::Outcome;
use proptest::test_runner::TestCaseResult;
use serde_json::{Value, json};

use super::super::anthropic::lines;
use super::super::case::{Case, Run, Written};
use super::super::json::Node;
use super::super::tape::Tape;
use super::super::text::Mode;
use super::super::view::{self, LineView, ResultView};
use super::{Dialect, list_stays};

pub(super) struct Anthropic;

impl Dialect for Anthropic {
    fn written(&self, tape: &mut Tape, mode: Mode) -> Written {
        Written::all_live(Layout::File, lines(tape, mode))
    }

    fn view(&self, view: &mut LineView, line: &[u8], root: &Node) {
        view.anthropic_message(line, root);
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
        list_stays(case, (Format::Anthropic, layout), free, run)
    }

    fn call(&self, id: &str, tool: &str, input: &Value) -> Value {
        json!({"role": "assistant", "content": [{"type": "tool_use", "id": id, "name": tool, "input": input}]})
    }

    fn result(&self, id: &str, _tool: &str, text: &str, outcome: Outcome) -> Value {
        let failed = outcome == Outcome::Failed;
        json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": id, "content": text, "is_error": failed}]})
    }
}

impl LineView {
    pub(super) fn anthropic_message(&mut self, line: &[u8], message: &Node) {
        let (results, blocks) = (self.results.len(), message.get("content"));
        for block in blocks.map(Node::list).unwrap_or_default() {
            let string = |key| view::string_under(line, block, key);
            match string("type").as_str() {
                "tool_use" => self.call(line, string("id"), block, &["input"]),
                "tool_result" => self.results.push(ResultView {
                    id: string("tool_use_id"),
                    tool: String::new(),
                    content: block.get("content").cloned(),
                    outcome: match block.get("is_error").map(|node| node.of(line)) {
                        Some(b"true") => Outcome::Failed,
                        Some(_) | None => Outcome::Fine,
                    },
                }),
                _ => {}
            }
        }
        if self.results.len() == results {
            self.messages.push(message.span.clone());
        }
    }
}
