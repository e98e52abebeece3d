//! Answers that are no whole summary, under each preset: what is taken, what fails, what it cost, and that it is said.

use serde_json::{Value, json};

use super::server::{Act, Server, cut, summary};
use super::{flags, of_summary, session};
use crate::cli::harness::Place;

const SYSTEMS: [&str; 5] = ["layered", "offload-first", "reset", "boundary", "turns"];

/// One session compacted by a preset against a server that does this.
struct Compacted {
    place: Place,
    requests: Vec<Value>,
}

impl Compacted {
    fn of(
        preset: &str,
        more: &str,
        code: i32,
        act: impl Fn(usize, &super::server::Request) -> Act + Send + Sync + 'static,
    ) -> Self {
        let server = Server::start(act);
        let place = Place::with(&[("in.jsonl", session(""))]);
        let line = format!(
            "compact in.jsonl --policy {preset} --summarize always --summarizer anthropic --base-url {} --model m \
             --set summary.wait_ms=1 {more}",
            server.url()
        );
        let _ = place.run(&line).exits(code);
        let requests = server.requests();
        let requests = requests.into_iter().map(|request| request.body).collect();
        Compacted { place, requests }
    }

    fn summary(&self) -> Value {
        of_summary(&self.place, "in.compact.stats.json")
    }

    fn file(&self) -> Value {
        self.place.json("in.compact.stats.json")["files"][0].clone()
    }

    fn text(&self) -> String {
        self.place.text("in.compact.jsonl")
    }
}

#[test]
fn an_answer_that_was_cut_off_is_taken_where_the_system_takes_it() {
    for preset in SYSTEMS {
        let ran = Compacted::of(preset, "", 0, |_, request| cut(request, "The stations ald"));
        assert_eq!(ran.requests.len(), 1, "{preset}");
        let told = ran.summary();
        assert_eq!(told["success"], true, "{preset}");
        assert_eq!(told["spent"]["output_tokens"], 10, "{preset}");
        assert!(ran.text().contains("The stations ald"), "{preset}");
        let warnings = ran.file()["warnings"].clone();
        let mut warnings = warnings.as_array().unwrap().iter();
        assert!(warnings.any(|w| w["kind"] == "cut_off"), "{preset}");
    }
}

#[test]
fn an_answer_that_was_cut_off_is_asked_for_once_more_with_more_room() {
    let ran = Compacted::of("auto", "", 0, |n, request| match n {
        0 => cut(request, "The stations ald"),
        _ => summary(request, "The stations were read."),
    });
    let limits: Vec<&Value> = ran.requests.iter().map(|r| &r["max_tokens"]).collect();
    let [first, second] = limits.try_into().unwrap();
    assert_eq!(second.as_u64(), first.as_u64().map(|limit| limit * 3));
    let told = ran.summary();
    let spent = json!({"requests": 2, "cached": 0, "input_tokens": 200, "output_tokens": 20});
    assert_eq!((&told["success"], &told["spent"]), (&json!(true), &spent));
    assert!(!ran.text().contains("The stations ald\\n"));

    let ran = Compacted::of("auto", "", 3, |_, request| cut(request, "NEVER"));
    assert_eq!(ran.requests.len(), 2);
    let told = ran.summary();
    assert_eq!(
        (&told["fallback"], &told["spent"]),
        (&json!("extractive"), &spent)
    );
    assert!(!ran.text().contains("NEVER"));
}

#[test]
fn an_answer_that_was_cut_off_can_be_refused_and_is_not_kept_for_that() {
    let server = Server::start(|_, request| cut(request, "The stations ald"));
    let place = Place::with(&[("in.jsonl", session(""))]);
    let run = |ending: &str, code: i32| {
        let line = format!(
            "compact in.jsonl --overwrite --store s {} --set summary.cut_off={ending}",
            flags(&server)
        );
        let _ = place.run(&line).exits(code);
        server.requests().len()
    };
    assert_eq!(run("accept", 0), 1);
    // What was paid for is not paid for again.
    assert_eq!(run("accept", 0), 1);
    assert_eq!(run("reject", 3), 2);
    // Only the longer answer is new.
    assert_eq!(run("retry", 3), 3);
}

#[test]
fn what_failed_is_said_under_every_preset_and_costs_what_it_costs() {
    let error = |status, text: &str| {
        let body = json!({"type": "error", "error": {"type": "e", "message": text}});
        (status, body.to_string(), 0)
    };
    let answer = |content: Value, reason: &str| {
        let usage = json!({"input_tokens": 100, "output_tokens": 10});
        let body = json!({"content": content, "stop_reason": reason, "usage": usage});
        (200, body.to_string(), 10)
    };
    let text = json!([{"type": "text", "text": "NEVER"}]);
    let failures = [
        error(500, "internal"),
        error(529, "overloaded"),
        error(400, "prompt is too long: 900 tokens > 600 maximum"),
        error(413, "request too large"),
        answer(json!([]), "end_turn"),
        answer(json!([{"type": "text", "text": " \n"}]), "end_turn"),
        answer(json!([]), "max_tokens"),
        answer(text, "refusal"),
        (200, "<html>NEVER".to_owned(), 0),
    ];
    for preset in SYSTEMS.iter().chain(&["auto", "boundary-production"]) {
        for (status, body, output) in &failures {
            let (status, output) = (*status, *output);
            let sent = body.clone();
            let quick = "--max-wait 0";
            let ran = Compacted::of(preset, quick, 3, move |_, _| {
                Act::Answer(status, "", sent.clone())
            });
            let what = format!("{preset}, {status}: {body}");
            let told = ran.summary();
            assert_eq!(told["success"], false, "{what}");
            let file = ran.file();
            assert_eq!(file["degraded"][0]["kind"], "summary_failed", "{what}");
            let spent = told["spent"]["output_tokens"].as_u64().unwrap();
            assert_eq!(spent, output * ran.requests.len() as u64, "{what}");
            let text = ran.text();
            assert!(!text.contains("NEVER"), "{what}");
            match *preset {
                // The words of the user stay in the built-in summary.
                "auto" => assert!(text.contains("And station birch-7?"), "{what}"),
                "turns" => assert!(text.contains("And station birch-11?"), "{what}"),
                _ => assert_eq!(text, session(""), "{what}"),
            }
        }
    }
}

#[test]
fn one_failure_of_many_files_is_one_line() {
    let server = Server::start(|_, _| Act::Answer(400, "", "{}".to_owned()));
    let place = super::many(4);
    let line = format!(
        "compact in --out-dir out --policy layered --summarize always --model m --summarizer anthropic --base-url {}",
        server.url()
    );
    let ran = place.run(&line).exits(3);
    assert_eq!(ran.err.matches("model's summary").count(), 1);
    let _ = ran.says(&["4 files: 4 of 4 conversations have no model's summary: "]);
    let report = place.json("out/ctxpack.stats.json");
    assert_eq!(report["totals"]["degraded"], 4);
}
