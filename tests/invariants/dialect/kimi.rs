//! Sessions of Kimi Code.

use std::collections::BTreeMap;

use ctxpack::format::{Format, Layout, Warnings};
use ctxpack::policy::History;
use ctxpack::transcript::{Outcome, Role};
use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;
use serde_json::{Value, json};

use super::super::case::{Case, Run, Written, split};
use super::super::json::{self, Node};
use super::super::kimi::session;
use super::super::summarised;
use super::super::summarised::spliced::same_but_for_links;
use super::super::summarised::words::typed_in;
use super::super::tape::Tape;
use super::super::text::Mode;
use super::super::view::{LineView, ResultView, string_under};
use super::{Dialect, is_true};

pub(super) struct Kimi;

impl Dialect for Kimi {
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
        match string_under(line, root, "type").as_str() {
            "context.append_message" => {
                if let Some(message) = root.get("message") {
                    view.kimi_message(line, message);
                }
            }
            "context.append_loop_event" => {
                if let Some(event) = root.get("event") {
                    view.kimi_event(line, event);
                }
            }
            "agent.message.appended" => {
                let message = root.get("message").and_then(|both| both.get("message"));
                if let Some(message) = message
                    && string_under(line, message, "role") == "tool"
                    && let Some(content) = message.get("content")
                {
                    let id = string_under(line, message, "toolCallId");
                    view.mirror(content, Some(&id));
                }
            }
            "token_counting.measured" => view.figures.extend(root.get("tokens").cloned()),
            "context.apply_compaction" => view.sums.extend(root.get("compactedCount").cloned()),
            _ => {}
        }
    }

    fn messages<'n>(&self, line: &[u8], root: &'n Node) -> Vec<&'n Node> {
        match string_under(line, root, "type").as_str() {
            "context.append_message" => root.get("message").into_iter().collect(),
            _ => Vec::new(),
        }
    }

    fn typed(&self, line: &[u8], root: &Node) -> Vec<String> {
        let messages = self.messages(line, root).into_iter();
        let is_typed = |message: &&Node| {
            let origin = message.get("origin");
            origin.is_none_or(|origin| string_under(line, origin, "kind") == "user")
        };
        let typed = messages.filter(is_typed);
        typed
            .filter_map(|message| typed_in(line, message))
            .collect()
    }

    fn texts<'n>(&self, root: &'n Node) -> Option<&'n Node> {
        let texts = root.get("message").or(root.get("event"));
        texts.or(root.get("contextSummary")).or(root.get("summary"))
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
        spliced(case, free, run)
    }

    fn header(&self) -> Option<Value> {
        let disclosed = json!({"cwd": "/w"});
        Some(json!({"type": "profile.bind", "agentId": "main", "environmentDisclosure": disclosed}))
    }

    fn line(&self, _lines: usize, mut message: Value) -> Value {
        if message.get("toolCalls").is_none() {
            message["toolCalls"] = json!([]);
        }
        json!({"type": "context.append_message", "agentId": "main", "message": message, "time": 1})
    }

    fn system(&self, _text: &str) -> Option<Value> {
        None
    }

    fn user(&self, text: &str) -> Value {
        json!({"role": "user", "content": [{"type": "text", "text": text}], "origin": {"kind": "user"}})
    }

    fn call(&self, id: &str, tool: &str, input: &Value) -> Value {
        let call =
            json!({"type": "function", "id": id, "name": tool, "arguments": input.to_string()});
        json!({"role": "assistant", "content": [], "toolCalls": [call]})
    }

    fn result(&self, id: &str, _tool: &str, text: &str, outcome: Outcome) -> Value {
        json!({"role": "tool", "toolCallId": id, "content": [{"type": "text", "text": text}],
            "isError": outcome == Outcome::Failed})
    }

    fn shell(&self, command: &str) -> (&'static str, Value) {
        ("Bash", json!({"command": command}))
    }

    fn read(&self, path: &str, part: Option<(u64, u64)>) -> (&'static str, Value) {
        let input = match part {
            Some((offset, limit)) => json!({"path": path, "line_offset": offset, "n_lines": limit}),
            None => json!({"path": path}),
        };
        ("Read", input)
    }
}

fn outcome(line: &[u8], node: &Node) -> Outcome {
    match is_true(line, node, "isError") {
        true => Outcome::Failed,
        false => Outcome::Fine,
    }
}

impl LineView {
    fn kimi_message(&mut self, line: &[u8], message: &Node) {
        for call in message.get("toolCalls").map(Node::list).unwrap_or_default() {
            self.call(line, string_under(line, call, "id"), call, &["arguments"]);
        }
        if string_under(line, message, "role") != "tool" {
            return self.messages.push(message.span.clone());
        }
        self.results.push(ResultView {
            id: string_under(line, message, "toolCallId"),
            tool: String::new(),
            content: message.get("content").cloned(),
            outcome: outcome(line, message),
        });
    }

    fn kimi_event(&mut self, line: &[u8], event: &Node) {
        let id = string_under(line, event, "toolCallId");
        match (
            string_under(line, event, "type").as_str(),
            event.get("result"),
        ) {
            ("tool.result", Some(result)) => self.results.push(ResultView {
                id,
                tool: String::new(),
                content: result.get("output").cloned(),
                outcome: outcome(line, result),
            }),
            ("tool.call", _) => {
                self.call(line, id, event, &["args"]);
                self.messages.push(event.span.clone());
            }
            (_, _) => self.messages.push(event.span.clone()),
        }
    }
}

/// The live messages are the summary and the end of what was live; every other kept line is as the free layers wrote it, and what
/// was counted after the summary is gone.
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
    let prefix = case.policy.summary.text.prefix();
    prop_assert!(text.starts_with(prefix), "{}", text);
    let lines = |bytes| -> Vec<Vec<u8>> {
        let lines = split(bytes).1.into_iter();
        lines.map(|(line, _)| line.to_vec()).collect()
    };
    let (before, after) = (lines(&free.bytes), lines(&run.bytes));
    let (mut next, mut new) = (0, Vec::new());
    for (number, line) in after.iter().enumerate() {
        let is_it = |was: &Vec<u8>| same_but_for_links(Format::Kimi, was, line).is_ok();
        match before[next..].iter().position(is_it) {
            Some(at) => next += at + 1,
            None => new.push(number),
        }
    }
    let kind = |line: &[u8]| json::object(line).map(|root| string_under(line, &root, "type"));
    let kinds: Vec<_> = new.iter().filter_map(|line| kind(&after[*line])).collect();
    prop_assert_eq!(
        &kinds,
        &["context.apply_compaction", "token_counting.rebased"]
    );
    prop_assert_eq!(new[1], new[0] + 1);
    let counts = |lines: &[Vec<u8>]| -> BTreeMap<String, usize> {
        let mut counts = BTreeMap::new();
        lines
            .iter()
            .filter_map(|line| kind(line))
            .for_each(|kind| *counts.entry(kind).or_default() += 1);
        counts
    };
    let later = counts(&after[new[1] + 1..]);
    prop_assert_eq!(later.get("token_counting.measured"), None);
    let transcript = Format::Kimi.read(&run.bytes, 1, &mut Warnings::default());
    match case.policy.history {
        // Only what was counted leaves, and summarised messages that would follow the summary.
        History::Keep => {
            let (was, is) = (counts(&before), counts(&after));
            for (kind, count) in was.iter().filter(|(kind, _)| {
                !kind.starts_with("token_counting.") && !kind.starts_with("context.")
            }) {
                prop_assert_eq!(is.get(kind), Some(count), "{}", kind);
            }
        }
        History::Drop => prop_assert!(Format::Kimi.dead(&transcript).is_empty()),
    }
    Ok(())
}

/// The role of each message of the live window, and its blocks.
fn texts(bytes: &[u8]) -> Vec<(Role, Vec<Vec<u8>>)> {
    let transcript = Format::Kimi.read(bytes, 1, &mut Warnings::default());
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
