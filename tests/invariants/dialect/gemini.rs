//! Sessions of Gemini CLI.

use ctxpack::format::{Format, Layout, Warnings};
use ctxpack::policy::History;
use ctxpack::transcript::{Outcome, Role};
use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;
use serde_json::{Value, json};

use super::super::case::{Case, Run, Written, split};
use super::super::gemini::{Session, session};
use super::super::json::Node;
use super::super::summarised;
use super::super::tape::Tape;
use super::super::text::Mode;
use super::super::view::{LineView, ResultView, string_under};
use super::{Dialect, TIME};

pub(super) struct Gemini;

impl Dialect for Gemini {
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
        for message in items(root) {
            view.gemini(line, message);
        }
    }

    fn messages<'n>(&self, line: &[u8], root: &'n Node) -> Vec<&'n Node> {
        let all = items(root).into_iter();
        all.filter(|message| string_under(line, message, "type") == "user")
            .collect()
    }

    fn texts<'n>(&self, root: &'n Node) -> Option<&'n Node> {
        match root.get("$set") {
            Some(set) => set.get("messages"),
            None => Some(root),
        }
    }

    fn is_session(&self) -> bool {
        true
    }

    fn summary_stays_within(
        &self,
        case: &Case,
        free: &Run,
        run: &Run,
        _layout: Layout,
    ) -> TestCaseResult {
        spliced(case, free, run)
    }

    fn header(&self) -> Option<Value> {
        Some(
            json!({"sessionId": "1307a0e7-228c-4264-9f9a-3632866d31f0", "projectHash": "3a2a",
            "startTime": TIME, "lastUpdated": TIME}),
        )
    }

    fn line(&self, lines: usize, mut message: Value) -> Value {
        message["id"] = json!(format!("m{lines}"));
        message["timestamp"] = json!(TIME);
        message
    }

    fn system(&self, _text: &str) -> Option<Value> {
        None
    }

    fn user(&self, text: &str) -> Value {
        json!({"type": "user", "content": [{"text": text}]})
    }

    fn answer(&self, text: &str) -> Value {
        json!({"type": "gemini", "content": text, "model": "gemini-2.5-pro"})
    }

    fn call(&self, id: &str, tool: &str, input: &Value) -> Value {
        json!({"type": "gemini", "content": [{"functionCall": {"id": id, "name": tool, "args": input}}]})
    }

    fn result(&self, id: &str, tool: &str, text: &str, outcome: Outcome) -> Value {
        let key = match outcome {
            Outcome::Failed => "error",
            Outcome::Fine => "output",
        };
        json!({"type": "user", "content": [{"functionResponse": {"id": id, "name": tool, "response": {key: text}}}]})
    }
}

/// The messages of a line.
fn items(root: &Node) -> Vec<&Node> {
    match root.get("$set").and_then(|set| set.get("messages")) {
        Some(list) => list.list().iter().collect(),
        None => vec![root],
    }
}

impl LineView {
    fn gemini(&mut self, line: &[u8], message: &Node) {
        let results = self.results.len();
        let mut has_calls = false;
        for part in message.get("content").map(Node::list).unwrap_or_default() {
            if let Some(call) = part.get("functionCall") {
                has_calls = true;
                self.call(line, string_under(line, call, "id"), call, &["args"]);
            }
            self.gemini_result(line, part, Outcome::Fine);
        }
        for tool in message.get("toolCalls").map(Node::list).unwrap_or_default() {
            let id = string_under(line, tool, "id");
            if !has_calls {
                self.call(line, id.clone(), tool, &["args"]);
            }
            let outcome = match string_under(line, tool, "status").as_str() {
                "error" | "cancelled" => Outcome::Failed,
                _ => Outcome::Fine,
            };
            for part in tool.get("result").map(Node::list).unwrap_or_default() {
                self.gemini_result(line, part, outcome);
            }
            if let Some(shown) = tool.get("resultDisplay") {
                self.mirror(shown, Some(&id));
            }
        }
        if self.results.len() == results {
            self.messages.push(message.span.clone());
        }
    }

    pub(super) fn gemini_result(&mut self, line: &[u8], part: &Node, outcome: Outcome) {
        let Some(said) = part.get("functionResponse") else {
            return;
        };
        let members = said.get("response").map(Node::members).unwrap_or_default();
        let is_error = members.iter().any(|(key, _)| key == "error");
        let content = match members {
            [(_, only)] if only.is_text() => Some(only.clone()),
            _ => None,
        };
        self.results.push(ResultView {
            id: string_under(line, said, "id"),
            tool: string_under(line, said, "name"),
            content,
            outcome: if is_error { Outcome::Failed } else { outcome },
        });
    }
}

/// The live messages are the summary and the end of what was live; every kept line is as the free layers wrote it, except the list
/// that a kept message is in.
fn spliced(case: &Case, free: &Run, run: &Run) -> TestCaseResult {
    let [outcome] = run.outcome.conversations.as_slice() else {
        return Err(TestCaseError::fail("one conversation"));
    };
    let Some(summary) = outcome
        .summary
        .as_ref()
        .filter(|_| summarised::is_summarised(outcome))
    else {
        prop_assert!(run.bytes == free.bytes);
        return Ok(());
    };
    let (was, is) = (texts(&free.bytes), texts(&run.bytes));
    let kept = summary.preserved_messages as usize;
    prop_assert_eq!(was.len(), summary.messages as usize + kept);
    prop_assert_eq!(is.len(), kept + 1);
    prop_assert_eq!(&is[1..], &was[was.len() - kept..]);
    prop_assert_eq!(is[0].0, Role::User);
    let text: String = serde_json::from_slice(&is[0].1[0]).unwrap();
    prop_assert!(
        text.starts_with(case.policy.summary.text.prefix()),
        "{}",
        text
    );
    let before: Vec<&[u8]> = split(&free.bytes)
        .1
        .into_iter()
        .map(|(line, _)| line)
        .collect();
    let after: Vec<&[u8]> = split(&run.bytes)
        .1
        .into_iter()
        .map(|(line, _)| line)
        .collect();
    let (mut next, mut new) = (0, 0);
    for line in &after {
        match before[next..].iter().position(|was| was == line) {
            Some(at) => next += at + 1,
            None => new += 1,
        }
    }
    prop_assert_eq!(new, 1);
    match case.policy.history {
        History::Keep => prop_assert!(after.len() >= before.len()),
        History::Drop => {
            let transcript = Format::Gemini.read(&run.bytes, 1, &mut Warnings::default());
            prop_assert!(Format::Gemini.dead(&transcript).is_empty());
        }
    }
    Ok(())
}

/// The role of each message of the live window, and its blocks.
fn texts(bytes: &[u8]) -> Vec<(Role, Vec<Vec<u8>>)> {
    let transcript = Format::Gemini.read(bytes, 1, &mut Warnings::default());
    let conversation = &transcript.conversations[0];
    let value = |b: &u32| {
        let block = transcript.block(*b);
        transcript.bytes(block.line, block.value).to_vec()
    };
    let messages = conversation.messages.iter();
    messages
        .map(|m| (m.role, conversation.blocks(m).iter().map(value).collect()))
        .collect()
}
