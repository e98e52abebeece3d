//! Conversations that are longer than the model can read: all of them is told, in parts, whatever the server says.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::server::{Act, Request, Server, summary};
use super::{flags, of_summary};
use crate::cli::harness::Place;

const ROUNDS: usize = 120;

/// A session of so many rounds, each of which names a file.
fn session() -> String {
    let line = |value: Value| format!("{value}\n");
    let mut lines = line(json!({"role": "user", "content": "Look at all files."}));
    for n in 0..ROUNDS {
        let words = "It holds what its name says, and its tests pass today. ".repeat(60);
        let text = format!("Read f{n}.rs. {words}");
        lines += &line(
            json!({"role": "assistant", "model": "claude-recorded", "content": [{"type": "text", "text": text}]}),
        );
    }
    lines += &line(json!({"role": "user", "content": "Thank you."}));
    lines + &line(json!({"role": "assistant", "content": "That is all."}))
}

/// How a server handles a prompt that is too long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Habit {
    SaysFigures,
    SaysNone,
    Cuts,
}

/// The files that a text names.
fn files(text: &str) -> BTreeSet<String> {
    let words = text.split(|c: char| !c.is_alphanumeric() && c != '.');
    let words = words.map(|word| word.trim_matches('.'));
    words
        .filter(|word| word.ends_with(".rs"))
        .map(str::to_owned)
        .collect()
}

/// A server with a window of so many tokens, of four bytes each.
fn act(window: usize, habit: Habit, request: &Request) -> Act {
    let (content, answer) = (
        request.content(),
        request.body["max_tokens"].as_u64().unwrap(),
    );
    let tokens = content.len() / 4;
    let is_long = tokens + answer as usize > window;
    let error = |message: String| {
        let body = json!({"type": "error", "error": {"type": "invalid_request_error", "message": message}});
        Act::Answer(400, "", body.to_string())
    };
    let (read, counted) = match (habit, is_long) {
        (Habit::SaysFigures, true) => {
            return error(format!(
                "prompt is too long: {tokens} tokens > {window} maximum"
            ));
        }
        (Habit::SaysNone, true) => return error("context window exceeds limit".to_owned()),
        (Habit::Cuts, true) => (&content[content.len() - window * 3..], window),
        (_, false) => (request.record(), tokens),
    };
    let names: Vec<String> = files(read).into_iter().collect();
    let Act::Answer(status, headers, body) = summary(
        request,
        &format!(
            "All of these files were read today, one after the other, and each of them holds what its name says; the tests of all of them pass, nothing was changed in any of them, nothing else was done in this session, and nothing is left to be done in it but to say thank you to whoever asked for it: {}.",
            names.join(", ")
        ),
    ) else {
        unreachable!("a summary is an answer");
    };
    let body = body.replace(
        "\"input_tokens\":100",
        &format!("\"input_tokens\":{counted}"),
    );
    Act::Answer(status, headers, body)
}

fn run(place: &Place, server: &Server, more: &str, code: i32) -> Value {
    let flags = flags(server).replace("summary.tokens=200", "summary.tokens=4000");
    let line = format!("compact in.jsonl --overwrite --set summary.must_keep=false {flags} {more}");
    let _ = place.run(&line).exits(code);
    of_summary(place, "in.compact.stats.json")
}

#[test]
fn every_round_is_told_at_two_five_and_twenty_times_the_window() {
    let whole = session().len() / 4;
    for habit in [Habit::SaysFigures, Habit::SaysNone, Habit::Cuts] {
        for times in [2, 5, 20] {
            let window = whole / times;
            let server = Server::start(move |_, request| act(window, habit, request));
            let place = Place::with(&[("in.jsonl", session())]);
            let told = run(&place, &server, "", 0);
            let what = format!("{habit:?}, {times} times: {told}");
            assert_eq!(told["success"], true, "{what}");
            assert_eq!(
                files(&place.text("in.compact.jsonl")).len(),
                ROUNDS,
                "{what}"
            );
            assert_eq!(told["rounds"]["read"], told["rounds"]["all"], "{what}");
            let requests = server.requests();
            let parts = told["rounds"]["parts"].as_u64().unwrap() as usize;
            assert!(
                requests.len() * 2 <= parts * 3,
                "{} of {parts}: {what}",
                requests.len()
            );
            let report = place.json("in.compact.stats.json");
            let warnings = report["files"][0]["warnings"].as_array().unwrap().clone();
            let is_said = warnings.iter().any(|w| w["kind"] == "silent_cut");
            assert_eq!(is_said, habit == Habit::Cuts, "{warnings:?}");
            // The same command costs nothing, and gives the same.
            let first = place.text("in.compact.jsonl");
            let again = run(&place, &server, "", 0);
            assert_eq!(server.requests().len(), requests.len(), "{what}");
            assert_eq!(place.text("in.compact.jsonl"), first);
            assert_eq!(again["rounds"], told["rounds"]);
            place.run("verify in.compact.jsonl").exits(0);
            place.run("undo in.compact.jsonl -o back.jsonl").exits(0);
            assert_eq!(place.text("back.jsonl"), session());
        }
    }
}

#[test]
fn parts_that_were_told_before_a_failure_are_not_paid_for_again() {
    let window = session().len() / 4 / 5;
    let server = Server::start(move |n, request| match n {
        4 | 5 => Act::Answer(400, "", "{}".to_owned()),
        _ => act(window, Habit::SaysFigures, request),
    });
    let place = Place::with(&[("in.jsonl", session())]);
    // The whole, three parts, and one that fails.
    let told = run(&place, &server, "", 3);
    assert_eq!(
        (&told["success"], &told["rounds"]["parts"]),
        (&json!(false), &json!(3))
    );
    assert!(told["rounds"]["read"].as_u64() < told["rounds"]["all"].as_u64());
    assert_eq!(server.requests().len(), 5);
    let _ = run(&place, &server, "", 3);
    assert_eq!(server.requests().len(), 6);
    let told = run(&place, &server, "", 0);
    let parts = told["rounds"]["parts"].as_u64().unwrap() as usize;
    let requests = server.requests();
    let is_merge = |request: &&Request| request.content().contains("summaries of the consecutive");
    let merges = requests.iter().filter(is_merge).count();
    assert_eq!(requests.len(), 1 + parts + merges + 2);
}

#[test]
fn a_window_that_is_named_is_kept_to_from_the_first_request() {
    let server = Server::start(|_, request| act(6_000, Habit::SaysNone, request));
    let place = Place::with(&[("in.jsonl", session())]);
    let told = run(&place, &server, "--set summary.window=6000", 0);
    let parts = told["rounds"]["parts"].as_u64().unwrap() as usize;
    assert_eq!(server.requests().len(), parts + 1);
    assert_eq!(files(&place.text("in.compact.jsonl")).len(), ROUNDS);
}

/// The same session as Codex writes it, which records its model's window.
fn rollout(window: usize) -> String {
    let item = |kind: &str, payload: Value| {
        let time = "2026-01-02T00:00:00.000Z";
        format!(
            "{}\n",
            json!({"timestamp": time, "type": kind, "payload": payload})
        )
    };
    let id = "019bc1a5-77f4-7c1e-8d2a-3f5e6a7b8c9d";
    let meta = json!({"id": id, "timestamp": "2026-01-02T00:00:00.000Z", "cwd": "/w", "originator": "codex_cli_rs", "cli_version": "0.150.0"});
    let mut lines = item("session_meta", meta);
    lines += &item(
        "turn_context",
        json!({"cwd": "/w", "model": "gpt-recorded"}),
    );
    for message in session().lines() {
        let message: Value = serde_json::from_str(message).unwrap();
        let role = message["role"].as_str().unwrap();
        let kind = match role {
            "user" => "input_text",
            _ => "output_text",
        };
        let text = message["content"]
            .as_str()
            .or(message["content"][0]["text"].as_str());
        let content = json!([{"type": kind, "text": text.unwrap()}]);
        lines += &item(
            "response_item",
            json!({"type": "message", "role": role, "content": content}),
        );
    }
    let usage = json!({"input_tokens": 9_000, "cached_input_tokens": 0, "output_tokens": 10, "total_tokens": 9_010});
    let info = json!({"total_token_usage": usage, "last_token_usage": usage, "model_context_window": window});
    lines + &item("event_msg", json!({"type": "token_count", "info": info}))
}

#[test]
fn a_window_that_the_session_recorded_is_kept_to_for_its_own_model() {
    for (model, refused) in [("", 0), ("--model other", 1)] {
        let server = Server::start(|_, request| act(9_000, Habit::SaysFigures, request));
        let place = Place::with(&[("in.jsonl", rollout(8_000))]);
        let told = run(&place, &server, model, 0);
        assert_eq!(told["rounds"]["read"], told["rounds"]["all"], "{told}");
        let parts = told["rounds"]["parts"].as_u64().unwrap() as usize;
        let requests = server.requests();
        let named = |request: &&Request| request.content().contains("summaries of the consecutive");
        let merges = requests.iter().filter(named).count();
        assert_eq!(requests.len(), parts + merges + refused, "{model}: {told}");
        let asked = requests[0].body["model"].as_str().unwrap();
        assert_eq!(asked == "gpt-recorded", model.is_empty(), "{asked}");
    }
}

#[test]
fn an_invention_in_the_merged_summary_is_asked_about_with_the_parts_alone() {
    let server = Server::start(|_, request| {
        let content = request.content();
        let is_first_merge = content.contains("summaries of the consecutive")
            && !content.contains("Your previous answer");
        match is_first_merge {
            true => summary(
                request,
                "All of the files f1.rs, f2.rs, f3.rs and f4.rs were read today, and so was src/made_up.rs at the end.",
            ),
            false => act(8_000, Habit::SaysFigures, request),
        }
    });
    let place = Place::with(&[("in.jsonl", session())]);
    let told = run(&place, &server, "", 0);
    assert_eq!(told["success"], true);
    let requests = server.requests();
    let last = requests.last().unwrap();
    assert!(last.content().contains("`src/made_up.rs`"));
    assert!(last.record().starts_with("[part 1]"), "{}", last.record());
    assert!(last.content().len() / 4 < 8_000);
    assert_eq!(files(&place.text("in.compact.jsonl")).len(), ROUNDS);
}
