//! What is emitted of a transcript, whatever that is: JSON that every reader accepts, by the rules of its provider, and the same
//! when it is emitted again. Checked by a reader of its own; scripts/external/emitted.py holds it against the source.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use ctxpack::emit::{Loss, Messages, emit};
use ctxpack::format::{Detected, Detector, Format, Layout, Warnings};
use ctxpack::verify::{Rule, Severity};
use serde_json::Value;

use super::case::{Case, Kind, split};
use super::config_of;
use super::known::Chain;
use super::view::view;
use proptest::prop_assert_eq;
use proptest::test_runner::TestCaseResult;

every_format! { config_of(60), of;
    emitted_messages_are_valid: Any
    emitted_calls_are_those_of_the_source: Valid
}

fn emitted_messages_are_valid(case: &Case) -> TestCaseResult {
    check(case.format, case.layout, &case.bytes);
    // The same after a compaction.
    let run = case.compact();
    check(case.format, case.layout, &run.bytes);
    Ok(())
}

#[test]
fn of_every_fixture() {
    let mut formats = BTreeSet::new();
    for folder in fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures")).unwrap() {
        for case in fs::read_dir(folder.unwrap().path()).into_iter().flatten() {
            let Ok(bytes) = fs::read(case.unwrap().path().join("input.jsonl")) else {
                continue;
            };
            let mut detector = Detector::default();
            detector.look(&bytes);
            if let Detected::Known(format, layout) = detector.decide() {
                check(format, layout, &bytes);
                formats.insert(format.name());
            }
        }
    }
    let all: BTreeSet<&str> = Format::ALL.iter().map(|format| format.name()).collect();
    assert_eq!(formats, all);
}

fn check(format: Format, layout: Layout, bytes: &[u8]) {
    for (part, _) in layout.parts(bytes) {
        for (messages, own) in [
            (Messages::Chat, Format::OpenAi),
            (Messages::Anthropic, Format::Anthropic),
        ] {
            for emitted in emit(format, part, layout, messages) {
                if emitted.line.is_empty() {
                    assert_eq!(emitted.messages, 0);
                    continue;
                }
                let shown = String::from_utf8_lossy(&emitted.line).into_owned();
                assert!(emitted.line.ends_with(b"}\n"), "{shown}");
                let line = &emitted.line[..emitted.line.len() - 1];
                assert!(!line.contains(&b'\n'), "{shown}");
                let value: Value =
                    serde_json::from_slice(line).unwrap_or_else(|error| panic!("{error}: {shown}"));
                let said = value["messages"].as_array().unwrap();
                assert_eq!(said.len() as u64, emitted.messages);
                match messages {
                    Messages::Chat => chat(said),
                    Messages::Anthropic => anthropic(said),
                }
                let may_begin = emitted
                    .losses
                    .iter()
                    .any(|(loss, _)| loss == Loss::AnswerFirst);
                let transcript = own.read(line, 1, &mut Warnings::default());
                for finding in own.verify(&transcript) {
                    let is_told = finding.rule == Rule::FirstNotUser && may_begin;
                    let is_error = finding.severity == Severity::Error && !is_told;
                    assert!(!is_error, "{finding:?}: {shown}");
                }
                let again = emit(own, &emitted.line, Layout::Line, messages);
                assert_eq!(again.len(), 1);
                assert_eq!(String::from_utf8_lossy(&again[0].line), shown);
            }
        }
    }
}

/// Calls have their results right after them, each once.
fn chat(messages: &[Value]) {
    let mut open: Vec<&str> = Vec::new();
    for message in messages {
        let role = message["role"].as_str().unwrap();
        if role == "tool" {
            let id = message["tool_call_id"].as_str().unwrap();
            let at = open.iter().position(|open| *open == id);
            open.remove(at.unwrap_or_else(|| panic!("{id} is not open: {messages:?}")));
            assert!(is_content(&message["content"]));
            continue;
        }
        assert!(matches!(
            role,
            "system" | "developer" | "user" | "assistant"
        ));
        assert!(open.is_empty(), "{open:?}: {messages:?}");
        let calls = message["tool_calls"].as_array();
        for call in calls.into_iter().flatten() {
            open.push(call["id"].as_str().unwrap());
            let of = &call[call["type"].as_str().unwrap()];
            assert!(of["name"].is_string());
            assert!(of.get("arguments").or(of.get("input")).unwrap().is_string());
        }
        let has_calls = calls.is_some_and(|calls| !calls.is_empty());
        let may_be_null = has_calls || message["refusal"].is_string();
        assert!(is_content(&message["content"]) || may_be_null && message["content"].is_null());
    }
    assert!(open.is_empty(), "{open:?}");
}

fn is_content(content: &Value) -> bool {
    content.is_string() || content.as_array().is_some_and(|parts| !parts.is_empty())
}

/// Roles alternate, and the calls of an answer have their results in what follows it, before all else.
fn anthropic(messages: &[Value]) {
    let mut open: BTreeSet<&str> = BTreeSet::new();
    let mut known = BTreeSet::new();
    let mut before = "";
    for message in messages {
        let role = message["role"].as_str().unwrap();
        assert!(matches!(role, "user" | "assistant"));
        assert_ne!(role, before);
        before = role;
        let mut is_begun = false;
        for block in message["content"].as_array().into_iter().flatten() {
            match block["type"].as_str().unwrap() {
                "tool_use" => {
                    let id = block["id"].as_str().unwrap();
                    assert!(known.insert(id), "{id} twice");
                    assert!(block["input"].is_object());
                    open.insert(id);
                }
                "tool_result" => {
                    assert!(!is_begun);
                    assert!(open.remove(block["tool_use_id"].as_str().unwrap()));
                }
                "text" => {
                    is_begun = true;
                    assert!(!block["text"].as_str().unwrap().trim().is_empty());
                }
                _ => is_begun = true,
            }
        }
        assert!(role == "assistant" || open.is_empty(), "{open:?}");
    }
    assert!(open.is_empty(), "{open:?}");
}

/// The calls of every window with their results are those that the second reader finds on its lines, in the same order.
fn emitted_calls_are_those_of_the_source(case: &Case) -> TestCaseResult {
    if case.known.chain == Chain::Broken {
        return Ok(());
    }
    let (_, lines) = split(&case.bytes);
    let (mut asked, mut answered) = (Vec::new(), Vec::new());
    for window in &case.known.windows {
        let own = window
            .lines
            .iter()
            .filter(|line| !window.copies.contains(line));
        for view in own.filter_map(|line| view(case.format, lines[*line].0)) {
            asked.extend(view.calls);
            let ids = view.results.into_iter().map(|result| result.id);
            // What the user ran answers no call.
            answered.extend(ids.filter(|id| !id.is_empty()));
        }
    }
    let results: BTreeSet<&String> = answered.iter().collect();
    asked.retain(|(id, _)| results.contains(id));
    let (mut calls, mut replies) = (Vec::new(), Vec::new());
    let mut losses = BTreeSet::new();
    for (part, _) in case.layout.parts(&case.bytes) {
        for emitted in emit(case.format, part, case.layout, Messages::Chat) {
            losses.extend(emitted.losses.iter().map(|(loss, _)| loss));
            let said: Value = serde_json::from_slice(&emitted.line).unwrap_or_default();
            for message in said["messages"].as_array().into_iter().flatten() {
                for call in message["tool_calls"].as_array().into_iter().flatten() {
                    let of = &call[call["type"].as_str().unwrap()];
                    let text = |value: &Value| value.as_str().unwrap().to_owned();
                    calls.push((text(&call["id"]), text(&of["name"])));
                }
                replies.extend(message["tool_call_id"].as_str().map(str::to_owned));
            }
        }
    }
    let is_other = [Loss::CallId, Loss::OrphanResult, Loss::RepeatedResult];
    if is_other.iter().any(|loss| losses.contains(loss)) {
        return Ok(());
    }
    if losses.contains(&Loss::ResultMoved) || case.is_session() {
        // Where results are moved, or the parts of an answer lie apart, the order within an answer is the program's.
        for list in [&mut answered, &mut replies] {
            list.sort();
        }
        calls.sort();
        asked.sort();
        // History that is written again has a call on two lines; it is sent once.
        asked.dedup();
        answered.dedup();
    }
    prop_assert_eq!(calls, asked);
    prop_assert_eq!(replies, answered);
    Ok(())
}
