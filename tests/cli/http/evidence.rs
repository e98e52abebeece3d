//! What a model is given for a narrative, and what becomes of the lines that it cites.

use serde_json::{Value, json};

use super::server::{Server, summary};
use super::{flags, session};
use crate::cli::harness::Place;

/// A session that begins with a command and its output.
fn with_output(output: &str) -> String {
    let line = |value: Value| format!("{value}\n");
    line(json!({"role": "user", "content": "Make the gauge."}))
        + &line(json!({"role": "assistant", "content": [
            {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "make gauge"}}]}))
        + &line(json!({"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "t1", "content": output}]}))
        + &session("")
}

#[test]
fn a_narrative_is_written_from_what_stood_there_before_it_was_cleared() {
    let output: String = (0..300)
        .map(|n| format!("part {n} of the gauge is made\n"))
        .collect();
    let cleared = "--set clear.keep=0 --set clear.min_tokens=50";
    for (more, is_given) in [("", true), ("--set summary.must_keep=false", false)] {
        let server = Server::of_summaries("All of them were read.");
        let place = Place::with(&[("in.jsonl", with_output(&output))]);
        place
            .run(&format!(
                "compact in.jsonl {cleared} {more} {}",
                flags(&server)
            ))
            .exits(0);
        let request = server.requests()[0].clone();
        assert_eq!(request.record().contains("part 7 of"), is_given, "{more}");
    }
}

#[test]
fn a_narrative_is_written_from_what_an_earlier_run_moved_to_the_store() {
    let output: String = (0..300)
        .map(|n| format!("part {n} of the gauge is made\n"))
        .collect();
    let server = Server::of_summaries("All of them were read.");
    let place = Place::with(&[("in.jsonl", with_output(&output))]);
    place
        .run("compact in.jsonl -o first.jsonl --store s --summarize never --set demote.min_tokens=500 --set clear.keep=99")
        .exits(0);
    assert!(!place.text("first.jsonl").contains("part 290 of"));
    place
        .run(&format!(
            "compact first.jsonl -o second.jsonl --store s {}",
            flags(&server)
        ))
        .exits(0);
    let request = server.requests()[0].clone();
    assert!(
        request.record().contains("part 290 of"),
        "{}",
        request.record()
    );
}

#[test]
fn right_citations_are_kept_and_wrong_ones_counted() {
    let text = "The user names src/gauge.rs [L1]. Nothing in src/gauge.rs was read [L2], and all stations answered [L999].";
    let server = Server::start(move |_, request| summary(request, text));
    let place = Place::with(&[("in.jsonl", session("See src/gauge.rs."))]);
    place
        .run(&format!("compact in.jsonl {}", flags(&server)))
        .exits(0);
    let out = place.text("in.compact.jsonl");
    assert!(
        out.contains(
            "names src/gauge.rs [L1]. Nothing in src/gauge.rs was read, and all stations answered."
        ),
        "{out}"
    );
    let report = place.json("in.compact.stats.json");
    let narrative = &report["files"][0]["conversations"][0]["summary"]["narrative"];
    assert_eq!(
        [&narrative["citations"], &narrative["citations_removed"]],
        [&json!(1), &json!(2)]
    );
}
