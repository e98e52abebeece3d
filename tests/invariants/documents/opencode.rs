//! Sessions that are one document, under every policy: the promises that other formats keep line by line.
//!
//! The document is read here by `serde_json`, which shares no code with the program.

use std::collections::BTreeMap;

use ctxpack::format::{Format, Layout};
use ctxpack::outcome::{ActionKind, Status};
use ctxpack::plan::Keeping;
use ctxpack::policy::{History, Policy};
use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::case::{Case, compact};
use super::known::Known;
use super::tape::Tape;
use super::text::{Mode, output, words};
use super::{config_of, policies};

/// The messages of a generated session, and how it compacted itself.
struct Writer<'t> {
    tape: &'t mut Tape,
    messages: Vec<Value>,
    time: u64,
    ids: u64,
}

const SESSION: &str = "ses_1";

impl Writer<'_> {
    fn session(&mut self) {
        for _ in 0..self.tape.between(0, 8) {
            let asked = self.user();
            for _ in 0..self.tape.between(0, 5) {
                self.answer(&asked);
            }
            if self.tape.one_in(8) {
                self.compaction();
            }
        }
    }

    fn id(&mut self, kind: &str) -> String {
        self.ids += 1;
        format!("{kind}_{:06}", self.ids)
    }

    fn push(&mut self, id: &str, mut info: Value, mut parts: Vec<Value>) {
        self.time += self.tape.below(3) as u64;
        info["id"] = json!(id);
        info["sessionID"] = json!(SESSION);
        info["time"] = json!({"created": self.time});
        for part in &mut parts {
            part["id"] = json!(self.id("prt"));
            part["sessionID"] = json!(SESSION);
            part["messageID"] = json!(id);
        }
        self.messages.push(json!({"info": info, "parts": parts}));
    }

    fn user(&mut self) -> String {
        let mut parts = vec![json!({"type": "text", "text": words(self.tape, Mode::Clean)})];
        if self.tape.one_in(5) {
            let added = output(self.tape, Mode::Clean);
            parts.push(json!({"type": "text", "text": added, "synthetic": true}));
        }
        if self.tape.one_in(6) {
            let mime = self
                .tape
                .pick(&["image/png", "text/plain", "application/pdf"]);
            parts.push(json!({"type": "file", "mime": mime, "url": "data:x;base64,AAAA"}));
        }
        let id = self.id("msg");
        let info =
            json!({"role": "user", "agent": "build", "model": {"providerID": "p", "modelID": "m"}});
        self.push(&id, info, parts);
        id
    }

    fn answer(&mut self, asked: &str) {
        let mut parts = vec![json!({"type": "step-start"})];
        if self.tape.one_in(3) {
            let thought = words(self.tape, Mode::Clean);
            parts.push(json!({"type": "reasoning", "text": thought, "time": {"start": 1}}));
        }
        if self.tape.one_in(2) {
            parts.push(json!({"type": "text", "text": words(self.tape, Mode::Clean)}));
        }
        for _ in 0..self.tape.below(4) {
            parts.push(self.call());
        }
        let counted = self.tape.below(20_000);
        parts.push(json!({"type": "step-finish", "reason": "stop", "cost": 0}));
        let mut info = json!({"role": "assistant", "parentID": asked, "modelID": "m", "providerID": "p", "mode": "build",
            "agent": "build", "path": {"cwd": "/w", "root": "/w"}, "cost": 0, "finish": "stop",
            "tokens": {"total": counted + 7, "input": 3, "output": 4, "reasoning": 0, "cache": {"read": counted, "write": 0}}});
        if self.tape.one_in(12) {
            info["error"] =
                json!({"name": self.tape.pick(&["APIError", "MessageAbortedError"]), "data": {}});
        }
        let id = self.id("msg");
        self.push(&id, info, parts);
    }

    fn call(&mut self) -> Value {
        let (tool, input) = match self.tape.below(4) {
            0 => (
                "bash",
                json!({"command": "cargo test", "description": "Runs the tests"}),
            ),
            1 => (
                "read",
                json!({"filePath": format!("/w/f{}.rs", self.tape.below(3))}),
            ),
            2 => (
                "edit",
                json!({"filePath": "/w/f1.rs", "oldString": "a", "newString": "b"}),
            ),
            _ => ("grep", json!({"pattern": "x"})),
        };
        let said = output(self.tape, Mode::Clean);
        let time = json!({"start": 1, "end": 2});
        let state = match self.tape.below(12) {
            0 => json!({"status": "error", "input": input, "error": said, "time": time}),
            1 => json!({"status": "error", "input": input, "error": "Aborted", "time": time,
                "metadata": {"interrupted": true, "output": said}}),
            2 => json!({"status": "running", "input": input, "time": {"start": 1}}),
            3 => {
                json!({"status": "completed", "input": input, "output": said, "title": "t", "metadata": {},
                "time": {"start": 1, "end": 2, "compacted": 3}})
            }
            _ => json!({"status": "completed", "input": input, "output": said, "title": "t",
                "metadata": {"output": said, "exit": self.tape.below(2)}, "time": time}),
        };
        json!({"type": "tool", "tool": tool, "callID": self.id("call"), "state": state})
    }

    /// What the agent writes when it compacts: sometimes it keeps some messages.
    fn compaction(&mut self) {
        let question = self.id("msg");
        let mut part = json!({"type": "compaction", "auto": false});
        if self.tape.one_in(2) {
            let at = self.tape.below(self.messages.len());
            part["tail_start_id"] = self.messages[at]["info"]["id"].clone();
        }
        let info =
            json!({"role": "user", "agent": "build", "model": {"providerID": "p", "modelID": "m"}});
        self.push(&question, info, vec![part]);
        if self.tape.one_in(5) {
            // It failed.
            return;
        }
        let said = words(self.tape, Mode::Clean);
        let answer = self.id("msg");
        let info = json!({"role": "assistant", "parentID": question, "summary": true, "finish": "stop", "mode": "compaction",
            "agent": "compaction", "modelID": "m", "providerID": "p", "path": {"cwd": "/w", "root": "/w"}, "cost": 0,
            "tokens": {"input": 1, "output": 1, "reasoning": 0, "cache": {"read": 0, "write": 0}}});
        self.push(
            &answer,
            info,
            vec![json!({"type": "text", "text": format!("Summary. {said}")})],
        );
    }
}

/// The session as a file: in one line, on many lines, or with a message on each line; `info` before or after the messages.
fn written(tape: &mut Tape) -> Vec<u8> {
    let mut writer = Writer {
        tape,
        messages: Vec::new(),
        time: 1_700_000_000_000,
        ids: 0,
    };
    writer.session();
    let messages = writer.messages;
    let info = json!({"id": SESSION, "directory": "/w", "title": "A title", "time": {"created": 1, "updated": 2}});
    let (gap, pretty) = match tape.below(4) {
        0 => ("", false),
        1 => ("\n", false),
        2 => (" \r\n ", false),
        _ => ("\n", true),
    };
    let one = |message: &Value| match pretty {
        true => serde_json::to_string_pretty(message).unwrap(),
        false => message.to_string(),
    };
    let messages: Vec<String> = messages.iter().map(one).collect();
    let list = messages.join(&format!(",{gap}"));
    let list = format!("\"messages\":[{gap}{list}{gap}]");
    let text = match tape.below(3) {
        0 => format!("{{{list},{gap}\"info\":{info}}}"),
        1 => format!("{{\"info\":{info},{gap}{list},\"x\":{{\"messages\":[1]}}}}"),
        _ => format!("{{{gap}\"info\":{info},{gap}{list}{gap}}}"),
    };
    let mark: &[u8] = if tape.one_in(12) {
        b"\xef\xbb\xbf"
    } else {
        b""
    };
    let end: &[u8] = if tape.one_in(2) { b"\n" } else { b"" };
    [mark, text.as_bytes(), end].concat()
}

fn cases(any_policy: fn(&mut Tape) -> Policy) -> impl Strategy<Value = Case> {
    (Tape::of_up_to(900), Tape::of_up_to(200)).prop_map(move |(mut tape, mut policy)| Case {
        format: Format::OpenCode,
        layout: Layout::File,
        bytes: written(&mut tape),
        known: Known::default(),
        keeping: if policy.one_in(8) {
            Keeping::Nothing
        } else {
            Keeping::Store
        },
        policy: any_policy(&mut policy),
        replies: policies::replies(&mut policy),
    })
}

#[derive(Deserialize)]
struct Document<'d> {
    #[serde(borrow)]
    info: &'d RawValue,
    #[serde(borrow)]
    messages: Vec<&'d RawValue>,
}

fn read(bytes: &[u8]) -> Document<'_> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    serde_json::from_slice(bytes).unwrap()
}

fn id(message: &RawValue) -> String {
    let message: Value = serde_json::from_str(message.get()).unwrap();
    message["info"]["id"].as_str().unwrap().to_owned()
}

/// A message without what a compaction may change in it: results, their copies, links to removed messages, figures; and parts, where
/// `parts` are pruned.
fn rest(message: &RawValue) -> Value {
    let mut message: Value = serde_json::from_str(message.get()).unwrap();
    for key in ["parentID", "tokens"] {
        message["info"].as_object_mut().unwrap().remove(key);
    }
    for part in message["parts"].as_array_mut().unwrap() {
        if let Some(state) = part.get_mut("state").and_then(Value::as_object_mut) {
            for key in ["output", "error", "metadata"] {
                state.remove(key);
            }
        }
    }
    message
}

/// What holds for every document under every policy.
fn promises(case: &Case) -> TestCaseResult {
    let same = compact(&case.bytes, &policies::none(&case.policy), case.keeping);
    prop_assert!(same.bytes == case.bytes);
    prop_assert_eq!(same.detected, Some((Format::OpenCode, Layout::File)));
    let run = case.compact();
    prop_assert_ne!(run.outcome.status, Status::Rejected);
    super::no_rule_is_broken(case)?;
    super::summarised::a_second_run_changes_nothing(case)?;
    super::the_same_bytes_every_time(case)?;
    for conversation in &run.outcome.conversations {
        prop_assert!(conversation.tokens_after <= conversation.tokens_before);
        super::actions_add_up(conversation)?;
    }
    let again = compact(&run.bytes, &policies::none(&case.policy), case.keeping).outcome;
    let said = run.outcome.conversations.iter().map(|c| c.tokens_after);
    let counted = again.conversations.iter().map(|c| c.tokens_before);
    prop_assert_eq!(said.collect::<Vec<_>>(), counted.collect::<Vec<_>>());

    let (before, after) = (read(&case.bytes), read(&run.bytes));
    prop_assert_eq!(before.info.get(), after.info.get());
    let ids: Vec<String> = before.messages.iter().map(|m| id(m)).collect();
    let old: BTreeMap<&str, (usize, &RawValue)> = ids
        .iter()
        .map(String::as_str)
        .zip(before.messages.iter().copied().enumerate())
        .collect();
    let (mut last, mut new) = (None, 0);
    let mut actions = run.outcome.conversations.iter().flat_map(|c| &c.actions);
    let is_pruned = actions.any(|action| action.kind == ActionKind::Prune);
    for message in &after.messages {
        let Some((place, was)) = old.get(id(message).as_str()) else {
            new += 1;
            continue;
        };
        prop_assert!(last < Some(*place), "out of order");
        last = Some(*place);
        if was.get() != message.get() {
            let (mut was, is) = (rest(was), rest(message));
            if is_pruned {
                let left = is["parts"].as_array().unwrap();
                let parts = was["parts"].as_array_mut().unwrap();
                parts.retain(|part| left.contains(part));
            }
            prop_assert_eq!(was, is);
        }
    }
    prop_assert!(new == 0 || new == 2, "{new} new messages");
    if case.policy.history == History::Keep && new == 0 {
        prop_assert_eq!(after.messages.len(), before.messages.len());
    }
    Ok(())
}

proptest! {
    #![proptest_config(config_of(100))]

    #[test]
    fn every_promise_holds_without_summaries(case in cases(policies::any)) {
        promises(&case)?;
    }

    #[test]
    fn every_promise_holds_with_summaries(case in cases(policies::summarising)) {
        promises(&case)?;
    }

    #[test]
    fn every_promise_holds_for_published_systems(case in cases(policies::system)) {
        promises(&case)?;
    }

    /// A document that breaks off, or that has something behind it, stays as it is.
    #[test]
    fn what_is_not_one_document_is_left_alone(case in cases(policies::summarising), at in any::<prop::sample::Index>()) {
        let text = String::from_utf8_lossy(&case.bytes).into_owned();
        let end = text.trim_end().len();
        let cut = text[..end].char_indices().map(|(at, _)| at).nth(at.index(text[..end].chars().count())).unwrap_or(0);
        for bytes in [text.as_bytes()[..cut].to_vec(), [text.as_bytes(), b"\n", text.trim_start_matches('\u{feff}').as_bytes()].concat()] {
            let run = case.compact_bytes(&bytes);
            prop_assert_eq!(run.outcome.status, Status::Unsupported);
            prop_assert!(run.bytes == bytes);
        }
    }
}
