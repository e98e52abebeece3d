//! Summaries by the batch APIs: held back, sent once, collected, and done again where they failed.

mod failures;
mod files;
mod lost;
mod provider;

use serde_json::{Value, json};

use super::server::Server;
use super::{many, session};
use crate::cli::harness::{Place, Ran};
use provider::{Fate, Provider, record};

const TEXT: &str = "The stations alder-0 to alder-11 were read.";
const PROVIDERS: [&str; 2] = ["anthropic", "openai"];

fn text(_: &Value) -> Fate {
    Fate::Text(TEXT.to_owned())
}

/// One step with everything in the folder `in`; the store is `s`.
fn step(place: &Place, provider: &Provider, step: &str) -> Ran {
    let line = format!(
        "compact in --out-dir out --store s --overwrite --batch {step} {}",
        provider.flags()
    );
    let keys = [
        ("ANTHROPIC_API_KEY", "sk-canary-7f"),
        ("OPENAI_API_KEY", "sk-canary-7f"),
    ];
    place.run_with(&keys, &line)
}

fn report(place: &Place) -> Value {
    place.json("out/ctxpack.stats.json")
}

fn outputs(place: &Place) -> usize {
    let files = place.names();
    let outputs = files
        .iter()
        .filter(|name| name.starts_with("out/") && name.ends_with(".jsonl"));
    outputs.count()
}

/// The records of batches, with their names.
fn records(place: &Place) -> Vec<(String, Value)> {
    let mut names = place.names();
    names.retain(|name| name.starts_with("s/batches/") && name.ends_with(".json"));
    let read = |name: String| {
        let record = serde_json::from_slice(&place.read(&name)).unwrap();
        (name, record)
    };
    names.into_iter().map(read).collect()
}

#[test]
fn one_run_sends_and_a_later_one_collects() {
    for name in PROVIDERS {
        let provider = Provider::start(name, text);
        provider.book.lock().unwrap().looks = 1;
        let place = many(5);
        let ran = step(&place, &provider, "submit").exits(3);
        let waits = "5 files: 5 of 5 conversations wait for batch batch_1: run the same command with --batch collect";
        let _ = ran.says(&["batch batch_1: 5 requests sent", waits]);
        provider.has_been_paid(5, 1);
        assert_eq!(outputs(&place), 0);
        let entry = report(&place)["files"][0].clone();
        assert_eq!(
            (&entry["status"], &entry["output"]),
            (&json!("unchanged"), &Value::Null)
        );
        assert_eq!(entry["tokens_before"], entry["tokens_after"]);
        assert_eq!(entry["degraded"][0]["kind"], "summary_pending");
        let reason = entry["conversations"][0]["reason"]
            .as_str()
            .unwrap()
            .to_owned();
        assert!(
            reason.contains("pending: the request is in a batch"),
            "{reason}"
        );
        // Neither another submission, nor a run without batches, sends what is on its way.
        let _ = step(&place, &provider, "submit").exits(3).says(&[waits]);
        let line = format!(
            "compact in --out-dir out --store s --overwrite {}",
            provider.flags()
        );
        let _ = place.run(&line).exits(3).says(&[waits]);
        // Too early.
        let _ = step(&place, &provider, "collect").exits(3).says(&[waits]);
        assert_eq!(outputs(&place), 0);
        let ran = step(&place, &provider, "collect").exits(0);
        let _ = ran.says(&["batch batch_1: 5 answers (500 tokens read, 50 written); 1 line for unknown requests ignored"]);
        provider.has_been_paid(5, 1);
        assert!(records(&place).is_empty());
        let all = report(&place);
        assert_eq!(
            (&all["totals"]["compacted"], &all["totals"]["degraded"]),
            (&json!(5), &json!(0))
        );
        assert_eq!(all["totals"]["spent"]["cached"], 5);
        assert!(place.text("out/3.jsonl").contains(TEXT));
        place.run("verify out/3.jsonl").exits(0);
        // From here on the answers are like any others.
        place.run(&line).exits(0);
        provider.has_been_paid(5, 1);
        for (name, bytes) in place.all_files() {
            let text = String::from_utf8_lossy(&bytes).into_owned();
            assert!(!text.contains("sk-canary"), "{name}");
        }
    }
}

#[test]
fn waiting_sends_collects_and_goes_on_with_what_an_answer_asks_for() {
    for name in PROVIDERS {
        // The first answer names what is not in the session, and so a second one is asked for.
        let provider = Provider::start(name, |item| {
            match record(item).contains("Your previous answer used names") {
                true => Fate::Text(TEXT.to_owned()),
                false => Fate::Text(format!("{TEXT} Then src/gone.rs was removed.")),
            }
        });
        let place = many(2);
        let ran = step(&place, &provider, "wait").exits(0);
        let _ = ran.says(&[
            "batch batch_1: 2 requests sent",
            "batch batch_2: 2 requests sent",
        ]);
        provider.has_been_paid(4, 2);
        assert_eq!(report(&place)["totals"]["compacted"], 2);
        assert!(!place.text("out/0.jsonl").contains("src/gone.rs"));
        assert!(records(&place).is_empty());
    }
}

#[test]
fn a_collection_that_needs_more_says_so_and_leaves_its_file() {
    let provider = Provider::start("anthropic", |item| {
        match record(item).contains("Your previous answer used names") {
            true => Fate::Text(TEXT.to_owned()),
            false => Fate::Text(format!("{TEXT} Then src/gone.rs was removed.")),
        }
    });
    let place = many(2);
    step(&place, &provider, "submit").exits(3);
    let more = "2 of 2 conversations wait for the request has not been sent yet: run the same command with --batch submit";
    let _ = step(&place, &provider, "collect").exits(3).says(&[more]);
    assert_eq!(outputs(&place), 0);
    step(&place, &provider, "submit").exits(3);
    step(&place, &provider, "collect").exits(0);
    provider.has_been_paid(4, 2);
    assert_eq!(outputs(&place), 2);
}

#[test]
fn all_parts_of_a_long_conversation_are_sent_together_and_then_merged() {
    let provider = Provider::start("openai", text);
    let place = Place::with(&[("in/0.jsonl", session(""))]);
    let line = format!(
        "compact in --out-dir out --store s --batch wait --set summary.window=1400 {}",
        provider.flags()
    );
    place.run(&line).exits(0);
    let sizes: Vec<usize> = {
        let book = provider.book.lock().unwrap();
        book.batches.iter().map(|batch| batch.items.len()).collect()
    };
    assert!(
        sizes.len() == 2 && sizes[0] > 1 && sizes[1] == 1,
        "{sizes:?}"
    );
    let rounds = report(&place)["files"][0]["conversations"][0]["summary"]["rounds"].clone();
    assert_eq!(rounds["read"], rounds["all"]);
    assert_eq!(rounds["parts"], sizes[0]);
}

#[test]
fn requests_are_divided_into_batches_and_by_model() {
    for name in PROVIDERS {
        let provider = Provider::start(name, text);
        let place = many(5);
        let line = format!(
            "compact in --out-dir out --store s --batch-requests 2 {}",
            provider.flags()
        );
        let ran = place.run(&format!("{line} --batch submit")).exits(3);
        let _ = ran.says(&["wait for batches batch_1, batch_2 and 1 more: run"]);
        provider.has_been_paid(5, 3);
        place.run(&format!("{line} --batch collect")).exits(0);
        assert_eq!(outputs(&place), 5);
        assert!(records(&place).is_empty());
    }
    // Each transcript's own model.
    let provider = Provider::start("openai", text);
    let other = session("Two.").replace("claude-recorded", "other-model");
    let place = Place::with(&[("in/1.jsonl", session("One.")), ("in/2.jsonl", other)]);
    let line = format!(
        "compact in --out-dir out --store s --batch wait {}",
        provider.flags()
    );
    place.run(&line.replace("--model m-1", "")).exits(0);
    provider.has_been_paid(2, 2);
}

#[test]
fn two_runs_at_once_send_each_request_once() {
    for name in PROVIDERS {
        let provider = Provider::start(name, text);
        let place = many(6);
        let line = |out: &str| {
            format!(
                "compact in --out-dir {out} --store s --batch submit {}",
                provider.flags()
            )
        };
        let mut runs: Vec<_> = ["a", "b", "c"]
            .into_iter()
            .map(|out| place.command(&line(out)).spawn().unwrap())
            .collect();
        for run in &mut runs {
            assert_eq!(run.wait().unwrap().code(), Some(3));
        }
        provider.has_been_paid(6, 1);
        step(&place, &provider, "collect").exits(0);
        assert_eq!(outputs(&place), 6);
    }
}

#[test]
fn an_answer_that_no_longer_fits_stays_unused() {
    let provider = Provider::start("anthropic", text);
    let place = many(2);
    step(&place, &provider, "submit").exits(3);
    place.write("in/1.jsonl", session("Of another number."));
    let ran = step(&place, &provider, "collect").exits(3);
    let _ = ran.says(&["1 of 2 conversations waits for the request has not been sent yet"]);
    assert_eq!(outputs(&place), 1);
    step(&place, &provider, "wait").exits(0);
    provider.has_been_paid(3, 2);
}

#[test]
fn what_waits_is_untouched_in_place_and_streams_cannot_wait() {
    let provider = Provider::start("anthropic", text);
    let place = many(2);
    let before = place.text("in/0.jsonl");
    let line = format!("compact --in-place in --batch submit {}", provider.flags());
    place.run(&line).exits(3);
    assert_eq!(place.text("in/0.jsonl"), before);
    place.run(&line.replace("submit", "collect")).exits(0);
    assert_ne!(place.text("in/0.jsonl"), before);
    place.run("undo in/0.jsonl").exits(0);
    assert_eq!(place.text("in/0.jsonl"), before);
    provider.has_been_paid(2, 1);

    let refused = |ran: Ran, why: &str| drop(ran.exits(2).says(&[why]));
    let stream = format!("compact - --store s --batch submit {}", provider.flags());
    refused(place.pipe(&stream, session("")), "a stream cannot wait");
    let stdout = format!(
        "compact in/0.jsonl -o - --batch submit {}",
        provider.flags()
    );
    refused(place.run(&stdout), "a stream cannot wait");
    refused(
        place.run("compact in --batch submit"),
        "the policy names none",
    );
    // A conversation on each line: all are asked for, and the file waits for the last.
    let two = format!(
        "{}\n{}\n",
        lines_of(&session("One.")),
        lines_of(&session("Two."))
    );
    let place = Place::with(&[("in/0.jsonl", two)]);
    step(&place, &provider, "submit").exits(3);
    assert_eq!((provider.paid().len(), outputs(&place)), (4, 0));
    step(&place, &provider, "collect").exits(0);
    assert_eq!(place.text("out/0.jsonl").matches(TEXT).count(), 2);
}

/// A conversation on one line.
fn lines_of(session: &str) -> Value {
    let messages: Vec<Value> = session
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    json!({"messages": messages})
}

/// The same requests, and the same bytes: a batch changes when summaries are asked for, not which.
#[test]
fn a_batch_asks_for_what_a_run_without_one_asks_for_and_writes_the_same() {
    let fixtures = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures");
    let place = many(1);
    for name in [
        "claude-code/layered-a-sidechain-has-its-own-keep",
        "claude-code/again-a-summarised-sidechain-stays",
        "claude-code/auto-a-sidechain-leaves-with-its-dead-task",
        "anthropic/auto-keeps-5-of-all-tools",
    ] {
        let input = std::fs::read(fixtures.join(name).join("input.jsonl")).unwrap();
        place.write(&format!("in/{}.jsonl", name.replace('/', "-")), input);
    }
    let alone = Server::of_summaries(TEXT);
    let provider = Provider::start("anthropic", text);
    let run = |out: &str, url: &str, more: &str| {
        let flags = provider.flags().replace(&provider.server.url(), url);
        let line = format!("compact in --out-dir {out} --store s-{out} {more} {flags}");
        let _ = place.run(&line);
        let mut files = place.all_files();
        files.retain(|name, _| name.starts_with(&format!("{out}/")) && name.ends_with(".jsonl"));
        files.into_values().collect::<Vec<_>>()
    };
    let expected = run("a", &alone.url(), "--max-wait 0");
    assert_eq!(expected.len(), 5);
    let batched = run("b", &provider.server.url(), "--batch wait");
    assert_eq!(provider.paid().len(), alone.requests().len());
    assert!(alone.requests().len() > 5);
    assert!(batched == expected);
}

#[test]
fn a_dry_run_says_what_a_run_would_cost() {
    let provider = Provider::start("anthropic", text);
    let place = many(3);
    for more in ["", "--batch submit"] {
        let line = format!(
            "compact in --out-dir out --store s --dry-run --report r.json --overwrite --price-in 2 --price-out 10 {more} {}",
            provider.flags()
        );
        let ran = place.run(&line).exits(0);
        let said = "a run would send 3 requests of about ";
        assert!(ran.err.contains(said), "{}", ran.err);
        let report = place.json("r.json");
        let of = |name: &str| report["estimate"][name].as_f64().unwrap();
        let [requests, input, output, price] =
            ["requests", "input_tokens", "output_tokens", "price"].map(of);
        assert_eq!(requests, 3.0);
        assert!(input > 3_000.0 && output == 360.0, "{report}");
        assert!(
            (price - (input * 2.0 + output * 10.0) / 1e6).abs() < 1e-9,
            "{report}"
        );
    }
    provider.has_been_paid(0, 0);
    assert_eq!(place.files().len(), 4);
}
