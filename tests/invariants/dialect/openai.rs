//! Messages or conversations of the chat completions API, one per line.

use ctxpack::format::{Format, Layout};
use ctxpack::transcript::Outcome;
use proptest::test_runner::TestCaseResult;
use serde_json::{Value, json};

use super::super::case::{Case, Run, Written};
use super::super::json::Node;
use super::super::openai::{conversations, lines};
use super::super::tape::Tape;
use super::super::text::Mode;
use super::super::view::{self, LineView, ResultView};
use super::{Dialect, list_stays};

pub(super) struct OpenAi;

impl Dialect for OpenAi {
    fn written(&self, tape: &mut Tape, mode: Mode) -> Written {
        match tape.one_in(3) {
            true => Written::all_live(Layout::Line, conversations(tape, mode)),
            false => Written::all_live(Layout::File, lines(tape, mode)),
        }
    }

    fn view(&self, view: &mut LineView, line: &[u8], root: &Node) {
        for message in self.messages(line, root) {
            view.openai_message(line, message);
        }
    }

    fn messages<'n>(&self, _line: &[u8], root: &'n Node) -> Vec<&'n Node> {
        match root.get("messages") {
            Some(messages) if messages.is_list() => messages.list().iter().collect(),
            Some(_) | None => vec![root],
        }
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
        list_stays(case, (Format::OpenAi, layout), free, run)
    }

    fn answer(&self, text: &str) -> Value {
        json!({"role": "assistant", "content": text})
    }

    fn call(&self, id: &str, tool: &str, input: &Value) -> Value {
        let function = json!({"name": tool, "arguments": input.to_string()});
        let call = json!({"id": id, "type": "function", "function": function});
        json!({"role": "assistant", "content": null, "tool_calls": [call]})
    }

    fn result(&self, id: &str, _tool: &str, text: &str, _outcome: Outcome) -> Value {
        json!({"role": "tool", "tool_call_id": id, "content": text})
    }

    fn flags_failures(&self) -> bool {
        false
    }
}

impl LineView {
    pub(super) fn openai_message(&mut self, line: &[u8], message: &Node) {
        let string = |key| view::string_under(line, message, key);
        if matches!(string("role").as_str(), "tool" | "function") {
            self.results.push(ResultView {
                id: string("tool_call_id"),
                tool: string("name"),
                content: message.get("content").cloned(),
                outcome: Outcome::Fine,
            });
            return;
        }
        self.messages.push(message.span.clone());
        for call in message
            .get("tool_calls")
            .map(Node::list)
            .unwrap_or_default()
        {
            let id = view::string_under(line, call, "id");
            match call.get("function").or(call.get("custom")) {
                Some(called) => self.call(line, id, called, &["arguments", "input"]),
                None => self.calls.push((id, String::new())),
            }
        }
        if let Some(call) = message.get("function_call") {
            self.call(line, String::new(), call, &["arguments"]);
        }
    }
}
