//! Notices about what was not done, or not as asked: at the end of a run, one line for each reason, and in the report.

use serde_json::json;

use super::harness::{Place, anthropic_of, sample};

/// A conversation with old outputs of some 20 000 tokens each.
fn large() -> String {
    anthropic_of((0..8).map(|i| format!("line {i} of the output\n").repeat(4_000)))
}

#[test]
fn files_of_unknown_formats_are_counted_by_reason_and_named() {
    let (good, _) = sample();
    let place = Place::with(&[
        ("in/a.jsonl", "hello\n"),
        ("in/b.jsonl", "{\"x\":1}\n"),
        ("in/c.jsonl", good.as_str()),
    ]);
    let ran = place.run("compact in --out-dir out").exits(0);
    let line =
        "2 files: warning: not a known transcript format; left as it is (in/a.jsonl, in/b.jsonl)\n";
    assert!(ran.err.ends_with(line), "{}", ran.err);
    let ran = place
        .run("compact in --out-dir out --overwrite -q")
        .exits(0);
    assert_eq!(ran.err, "");
    let json = place
        .run("compact in --out-dir out --overwrite --error-format json")
        .exits(0);
    let last: serde_json::Value = serde_json::from_str(json.err.lines().last().unwrap()).unwrap();
    assert_eq!(
        last,
        json!({
            "kind": "unsupported", "file": null, "line": null, "hint": null,
            "message": line.trim_end(),
        })
    );
}

#[test]
fn an_offload_step_without_a_store_is_said_and_is_no_success() {
    let place = Place::with(&[("in.jsonl", large())]);
    let offload =
        "compact in.jsonl --policy offload-first --set offload.tokens=1 --summarize never";
    let ran = place
        .run(&format!("{offload} -o - -q --report r.json"))
        .exits(3);
    assert_eq!(
        ran.err,
        "in.jsonl: the policy's offload step was left out, because there is no store\n\
         hint: name a folder for the store: --store DIR\n"
    );
    assert_eq!(ran.out, large().as_bytes());
    let report = place.json("r.json");
    assert_eq!(report["totals"]["degraded"], 1);
    assert_eq!(
        report["files"][0]["degraded"],
        json!([{
            "kind": "no_store",
            "message": "the policy's offload step was left out, because there is no store",
        }])
    );
    // Where there is a store, or nothing is due, nothing is left out.
    let done = place.run(&format!("{offload} -o - --store kept")).exits(0);
    assert!(done.out.len() < large().len() * 3 / 4 && !done.err.contains("store"));
    let ran = place
        .run("compact in.jsonl --policy offload-first --set offload.tokens=900000 -o -")
        .exits(0);
    assert!(!ran.err.contains("store"), "{}", ran.err);
}

#[test]
fn demoting_without_a_store_is_a_warning_with_its_lines() {
    let place = Place::with(&[("in.jsonl", large())]);
    let ran = place
        .run("compact in.jsonl -o - --summarize never")
        .exits(0);
    let ran = ran.says(&[
        "in.jsonl: warning: oversize tool outputs were not moved to the store, because there is none (lines 3, 5, 7,",
        "hint: name a folder for the store: --store DIR",
    ]);
    assert_eq!(ran.err.matches("oversize").count(), 1);
    let kept = place.run("compact in.jsonl -o - --summarize never --store kept");
    assert!(!kept.exits(0).err.contains("oversize"));
}
