//! Sessions of Factory Droid.

use ctxpack::format::{Format, Layout, Warnings};
use ctxpack::policy::History;
use ctxpack::transcript::{Outcome, Role};
use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;
use serde_json::{Value, json};

use super::super::case::{Case, Run, Written, split};
use super::super::droid::session;
use super::super::json::Node;
use super::super::summarised;
use super::super::summarised::spliced::same_but_for_links;
use super::super::summarised::words::typed_in;
use super::super::tape::Tape;
use super::super::text::Mode;
use super::super::view::{LineView, ResultView, string_under};
use super::{Dialect, TIME, is_true};

pub(super) struct Droid;

impl Dialect for Droid {
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
        let Some(message) = root.get("message") else {
            return;
        };
        for block in message.get("content").map(Node::list).unwrap_or_default() {
            match string_under(line, block, "type").as_str() {
                "tool_use" => {
                    view.call(line, string_under(line, block, "id"), block, &["input"]);
                }
                "tool_result" => view.results.push(ResultView {
                    id: string_under(line, block, "tool_use_id"),
                    tool: String::new(),
                    content: block.get("content").cloned(),
                    outcome: match is_true(line, block, "is_error") {
                        true => Outcome::Failed,
                        false => Outcome::Fine,
                    },
                }),
                _ => {}
            }
        }
        if view.results.is_empty() {
            view.messages.push(message.span.clone());
        }
    }

    fn messages<'n>(&self, _line: &[u8], root: &'n Node) -> Vec<&'n Node> {
        root.get("message").into_iter().collect()
    }

    fn typed(&self, line: &[u8], root: &Node) -> Vec<String> {
        let message = root.get("message");
        let message = message.filter(|message| message.get("visibility").is_none());
        let typed = message.and_then(|message| typed_in(line, message));
        typed.into_iter().collect()
    }

    fn texts<'n>(&self, root: &'n Node) -> Option<&'n Node> {
        root.get("message").or(root.get("summaryText"))
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
        Some(
            json!({"type": "session_start", "id": "f81de079-89a0-466b-819d-b6c71aff9e5b", "version": 2, "cwd": "/w"}),
        )
    }

    fn line(&self, lines: usize, message: Value) -> Value {
        let id = |n: usize| format!("{n:08x}-1111-4222-8333-444455556666");
        // The first line is the header, which has no children.
        let parent = lines.checked_sub(1).filter(|n| *n > 0).map(id);
        let mut line = json!({"type": "message", "id": id(lines), "timestamp": TIME});
        if let Some(parent) = parent {
            line["parentId"] = json!(parent);
        }
        line["message"] = message;
        line
    }

    fn system(&self, _text: &str) -> Option<Value> {
        None
    }

    fn user(&self, text: &str) -> Value {
        json!({"role": "user", "content": [{"type": "text", "text": text}]})
    }

    fn call(&self, id: &str, tool: &str, input: &Value) -> Value {
        json!({"role": "assistant", "content": [{"type": "tool_use", "id": id, "name": tool, "input": input}]})
    }

    fn result(&self, id: &str, _tool: &str, text: &str, outcome: Outcome) -> Value {
        json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": id, "content": text,
            "is_error": outcome == Outcome::Failed}]})
    }
}

/// The live messages are the summary and the end of what was live; every other kept line is as the free layers wrote it.
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
    let (mut next, mut new) = (0, 0);
    for line in &after {
        let is_it = |was: &Vec<u8>| same_but_for_links(Format::Droid, was, line).is_ok();
        match before[next..].iter().position(is_it) {
            Some(at) => next += at + 1,
            None => new += 1,
        }
    }
    prop_assert_eq!(new, 1);
    match case.policy.history {
        History::Keep => prop_assert_eq!(after.len(), before.len() + 1),
        History::Drop => {
            let transcript = Format::Droid.read(&run.bytes, 1, &mut Warnings::default());
            prop_assert!(Format::Droid.dead(&transcript).is_empty());
        }
    }
    Ok(())
}

/// The role of each message of the live window, and its blocks.
fn texts(bytes: &[u8]) -> Vec<(Role, Vec<Vec<u8>>)> {
    let transcript = Format::Droid.read(bytes, 1, &mut Warnings::default());
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
