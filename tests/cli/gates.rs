//! Gates: a limit that is missed fails the run, says by how much, and stops nothing.

use serde_json::Value;

use super::harness::{Place, anthropic, conversations, orphan};

/// A transcript of some 5 000 tokens, most of them in old results.
fn place() -> Place {
    Place::with(&[("in.jsonl", anthropic(9, 0))])
}

fn tokens(place: &Place, key: &str) -> u64 {
    place.json("in.compact.stats.json")["totals"][key]
        .as_u64()
        .unwrap()
}

#[test]
fn a_budget_is_for_the_live_tokens_of_each_conversation() {
    let place = place();
    place.run("compact in.jsonl").exits(0);
    let after = tokens(&place, "tokens_after");
    let run = |budget: u64| place.run(&format!("compact in.jsonl --overwrite --budget {budget}"));
    run(after).exits(0);
    run(after - 1).exits(1).says(&[
        "1 conversation over the budget",
        "in.jsonl has",
        "1 too many",
        "hint: --target",
    ]);
    // What was written is what a run without a gate writes.
    assert_eq!(tokens(&place, "tokens_after"), after);
    place
        .run("compact in.jsonl --overwrite -q --error-format json --budget 1k")
        .exits(1)
        .says(&["\"kind\":\"gate\""]);

    let before = tokens(&place, "tokens_before");
    place
        .run(&format!("stats in.jsonl --budget {before}"))
        .exits(0);
    place
        .run(&format!("stats in.jsonl --budget {}", before - 1))
        .exits(1)
        .says(&["1 conversation over the budget"]);
    place
        .run("replay in.jsonl --policy none --budget 10")
        .exits(1)
        .says(&["the largest request under none"]);
    place.run("replay in.jsonl --budget 100k").exits(0);
}

#[test]
fn conversations_over_a_budget_are_named() {
    let place = Place::with(&[("in.jsonl", conversations(9, 0))]);
    place
        .run("compact in.jsonl --policy none --budget 10")
        .exits(1)
        .says(&["in.jsonl line:1 has"]);
}

#[test]
fn savings_are_a_share_of_all_tokens() {
    let place = place();
    place.run("compact in.jsonl --min-savings 1%").exits(0);
    place
        .run("compact in.jsonl --overwrite --min-savings 99.9")
        .exits(1)
        .says(&["this run saves", "points less than 99.9%"]);
    place
        .run("compact in.jsonl --dry-run --policy none --min-savings 0.1")
        .exits(1)
        .says(&["saves 0.0%"]);
    place
        .run("replay in.jsonl --policy none --min-savings 5%")
        .exits(1)
        .says(&["none saves 0.0%"]);
}

#[test]
fn results_must_be_valid_where_it_is_asked_for() {
    let place = Place::with(&[("bad.jsonl", orphan()), ("good.jsonl", anthropic(3, 0))]);
    place.run("compact good.jsonl --require-valid").exits(0);
    place
        .run("compact bad.jsonl good.jsonl --overwrite --require-valid")
        .exits(1)
        .says(&["not valid: 1 file (bad.jsonl: 1 finding)", "ctxpack verify"]);
    place.run("compact bad.jsonl --overwrite").exits(0);
    place.write("other.jsonl", "{\"a\":1}\n{\"b\":2}\n");
    place
        .run("compact good.jsonl other.jsonl --overwrite --require-valid")
        .exits(1)
        .says(&["not valid: 1 file (other.jsonl: not checked)"]);
}

#[test]
fn nothing_passes_that_was_not_read() {
    let place = Place::with(&[("x.jsonl", "{\"a\":1}\n{\"b\":2}\n")]);
    for args in [
        "compact x.jsonl --budget 5",
        "compact x.jsonl --min-savings 5",
        "compact x.jsonl --max-degraded 0",
        "stats x.jsonl --budget 5",
        "replay x.jsonl --budget 5",
    ] {
        place.run(args).exits(1).says(&["nothing was read"]);
    }
}

#[test]
fn nothing_passes_of_which_no_request_was_replayed() {
    let place = Place::with(&[("in.jsonl", "{\"role\":\"user\",\"content\":\"hi\"}\n")]);
    for gate in ["--budget 5", "--min-savings 5"] {
        place
            .run(&format!("replay in.jsonl --policy auto {gate}"))
            .exits(1)
            .says(&["no request was replayed, so no limit can be checked\nhint: "]);
    }
    place.run("replay in.jsonl --policy auto").exits(0);
}

#[test]
fn what_a_model_invents_or_fails_to_write_is_counted() {
    let place = Place::with(&[
        ("in.jsonl", anthropic(9, 0)),
        (
            "p.toml",
            "extends = \"auto\"\n[summary]\nsource = \"scripted\"\n".to_owned(),
        ),
        ("summaries.jsonl", String::new()),
    ]);
    let degraded = |most: u64| {
        place.run(&format!(
            "compact in.jsonl --overwrite --policy p.toml --summarize always --max-degraded {most}"
        ))
    };
    degraded(1).exits(3);
    degraded(0).exits(3).says(&["1 file degraded, more than 0"]);
    let report: Value = place.json("in.compact.stats.json");
    assert_eq!(report["totals"]["degraded"], 1);
    place
        .run("compact in.jsonl --overwrite --summarize always --max-invented 0")
        .exits(0);
}

#[test]
fn names_that_a_summary_invents_close_the_gate() {
    let place = Place::with(&[
        ("in.jsonl", anthropic(9, 0)),
        (
            "p.toml",
            "extends = \"auto\"\n[summary]\nsource = \"scripted\"\nmax_invented = -1\n".to_owned(),
        ),
        (
            "summaries.jsonl",
            "{\"text\":\"The gauge was mended in /srv/never/seen.rs and /srv/nor/this.rs, as was asked for.\"}\n".to_owned(),
        ),
    ]);
    let run = |most: u64| {
        place.run(&format!(
            "compact in.jsonl --overwrite --policy p.toml --summarize always --max-invented {most}"
        ))
    };
    run(1)
        .exits(1)
        .says(&["summaries contain 2 names not found in the originals; at most 1 allowed"]);
    run(2).exits(0);
}

#[test]
fn a_missed_target_is_said_where_no_table_says_it() {
    let place = place();
    let said = "the target was not reached: in.jsonl: ";
    for quiet in ["-q", "--error-format json"] {
        place
            .run(&format!("compact in.jsonl -n --target 1 {quiet}"))
            .exits(1)
            .says(&[said, "tokens, target 1"]);
    }
    let loud = place.run("compact in.jsonl -n --target 1").exits(1);
    assert!(!loud.err.contains(said), "{}", loud.err);
}
