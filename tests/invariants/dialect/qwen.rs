//! Sessions of Qwen Code.

use ctxpack::format::{Format, Layout, Warnings};
use ctxpack::policy::History;
use ctxpack::transcript::{Outcome, Role};
use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;
use serde_json::{Value, json};

use super::super::case::{Case, Run, Written, split};
use super::super::json::{self, Node};
use super::super::qwen::session;
use super::super::summarised;
use super::super::summarised::spliced::same_but_for_links;
use super::super::summarised::words::{after_reminders, is_echo, is_reminder};
use super::super::tape::Tape;
use super::super::text::Mode;
use super::super::view::{LineView, string_under};
use super::{Dialect, TIME};

pub(super) struct Qwen;

impl Dialect for Qwen {
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
        view.id = root.get("uuid").cloned();
        view.link = root.get("parentUuid").cloned();
        for message in items(line, root) {
            view.parts(line, message);
        }
        let shown = root
            .get("toolCallResult")
            .and_then(|r| r.get("resultDisplay"));
        if let Some(shown) = shown {
            view.mirror(shown, None);
        }
        let usage = root.get("usageMetadata");
        let info = || root.get("systemPayload")?.get("info")?.get("newTokenCount");
        let figure = usage.and_then(|usage| {
            usage
                .get("promptTokenCount")
                .or(usage.get("totalTokenCount"))
        });
        view.figures = figure.or_else(info).cloned().into_iter().collect();
    }

    fn messages<'n>(&self, line: &[u8], root: &'n Node) -> Vec<&'n Node> {
        items(line, root)
    }

    fn typed(&self, line: &[u8], root: &Node) -> Vec<String> {
        let is_injected = ["notification", "cron"].contains(&&*string_under(line, root, "subtype"));
        let all = items(line, root);
        let is_acknowledged = |item: &Node| {
            let parts = item.get("parts").map(Node::list).unwrap_or_default();
            parts
                .iter()
                .any(|part| string_under(line, part, "text").starts_with("Got it."))
        };
        if is_injected || all.get(1).is_some_and(|second| is_acknowledged(second)) {
            return Vec::new();
        }
        let typed = |item: &&Node| {
            let parts = item.get("parts").map(Node::list).unwrap_or_default();
            let only_said = parts
                .iter()
                .all(|part| part.get("functionResponse").is_none());
            // A picture has no text.
            let texts = parts.iter();
            let mut texts: Vec<String> =
                texts.map(|part| string_under(line, part, "text")).collect();
            texts.retain(|text| !is_reminder(text));
            let is_typed = string_under(line, item, "role") == "user"
                && only_said
                && texts.first().is_some_and(|first| !is_echo(first));
            texts.retain(|text| !text.is_empty());
            let texts: Vec<&str> = texts.iter().map(|text| after_reminders(text)).collect();
            is_typed.then(|| texts.join("\n"))
        };
        all.iter().filter_map(typed).collect()
    }

    fn texts<'n>(&self, root: &'n Node) -> Option<&'n Node> {
        let history = || root.get("systemPayload")?.get("compressedHistory");
        root.get("message").or_else(history)
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

    fn line(&self, lines: usize, message: Value) -> Value {
        let parent = lines.checked_sub(1).map(|n| format!("u{n}"));
        let mut line = json!({"uuid": format!("u{lines}"), "parentUuid": parent,
            "sessionId": "f81de079-89a0-466b-819d-b6c71aff9e5b", "timestamp": TIME, "cwd": "/w"});
        let kind = match (
            message["role"].as_str(),
            message["parts"][0].get("functionResponse"),
        ) {
            (Some("model"), _) => "assistant",
            (_, Some(_)) => "tool_result",
            (_, None) => "user",
        };
        if kind == "assistant" {
            line["model"] = json!("qwen-test");
        }
        line["type"] = json!(kind);
        line["message"] = message;
        line
    }

    fn system(&self, _text: &str) -> Option<Value> {
        None
    }

    fn user(&self, text: &str) -> Value {
        json!({"role": "user", "parts": [{"text": text}]})
    }

    fn answer(&self, text: &str) -> Value {
        json!({"role": "model", "parts": [{"text": text}]})
    }

    fn call(&self, id: &str, tool: &str, input: &Value) -> Value {
        json!({"role": "model", "parts": [{"functionCall": {"id": id, "name": tool, "args": input}}]})
    }

    fn result(&self, id: &str, tool: &str, text: &str, outcome: Outcome) -> Value {
        let key = match outcome {
            Outcome::Failed => "error",
            Outcome::Fine => "output",
        };
        json!({"role": "user", "parts": [{"functionResponse": {"id": id, "name": tool, "response": {key: text}}}]})
    }
}

/// The messages of a line.
fn items<'n>(line: &[u8], root: &'n Node) -> Vec<&'n Node> {
    if string_under(line, root, "type") != "system" {
        return root.get("message").into_iter().collect();
    }
    let history = root
        .get("systemPayload")
        .and_then(|p| p.get("compressedHistory"));
    history.map(Node::list).unwrap_or_default().iter().collect()
}

impl LineView {
    fn parts(&mut self, line: &[u8], message: &Node) {
        let results = self.results.len();
        for part in message.get("parts").map(Node::list).unwrap_or_default() {
            if let Some(call) = part.get("functionCall") {
                self.call(line, string_under(line, call, "id"), call, &["args"]);
            }
            self.gemini_result(line, part, Outcome::Fine);
        }
        if self.results.len() == results {
            self.messages.push(message.span.clone());
        }
    }
}

/// The live messages are the summary and the end of what was live; every kept line is as the free layers wrote it, except the
/// history that a kept message is in.
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
    let lines = |bytes| -> Vec<Vec<u8>> {
        let lines = split(bytes).1.into_iter();
        lines.map(|(line, _)| line.to_vec()).collect()
    };
    let (before, after) = (lines(&free.bytes), lines(&run.bytes));
    let (mut next, mut new) = (0, 0);
    for line in &after {
        let is_it = |was: &Vec<u8>| same_but_for_links(Format::Qwen, was, line).is_ok();
        match before[next..].iter().position(is_it) {
            Some(at) => next += at + 1,
            None => new += 1,
        }
    }
    prop_assert_eq!(new, 1);
    match case.policy.history {
        History::Keep => prop_assert!(after.len() >= before.len()),
        History::Drop => {
            let transcript = Format::Qwen.read(&run.bytes, 1, &mut Warnings::default());
            prop_assert!(Format::Qwen.dead(&transcript).is_empty());
        }
    }
    // What an agent appends that has the session open follows on its last record.
    let leaf = |lines: &[Vec<u8>]| {
        let record = |line: &Vec<u8>| {
            let root = json::object(line)?;
            let is_beside = string_under(line, &root, "subtype") == "session_artifact_event";
            Some(string_under(line, &root, "uuid")).filter(|_| !is_beside)
        };
        lines.iter().rev().find_map(record)
    };
    prop_assert_eq!(leaf(&before), leaf(&after));
    Ok(())
}

/// The role of each message of the live window, and its blocks.
fn texts(bytes: &[u8]) -> Vec<(Role, Vec<Vec<u8>>)> {
    let transcript = Format::Qwen.read(bytes, 1, &mut Warnings::default());
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
