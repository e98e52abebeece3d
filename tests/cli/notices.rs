//! Notices about what was not done, or not as asked: at the end of a run, one line for each reason, and in the report.

use serde_json::json;

use super::harness::{Place, anthropic_of, gzip, sample};

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
    ran.says(&[&format!("\n{line}written to out\n")]);
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
fn an_offload_step_without_a_store_is_an_error_before_the_first_input() {
    let place = Place::with(&[("in.jsonl", large())]);
    let offload =
        "compact in.jsonl --policy offload-first --set offload.tokens=1 --summarize never -o -";
    for ran in [
        place.run(offload),
        place.run(&format!("{offload} --dry-run")),
        // Standard input goes to standard output if nothing else is said.
        place.pipe(
            &offload.replace("in.jsonl", "-").replace(" -o -", ""),
            large(),
        ),
    ] {
        let ran = ran.exits(2);
        assert!(ran.out.is_empty());
        assert_eq!(
            ran.err,
            "the policy offloads outputs to a store, and a run that writes to standard output has none\n\
             hint: name a store with --store DIR; skipping this step would change the result\n"
        );
    }
    let done = place.run(&format!("{offload} --store kept")).exits(0);
    assert!(done.out.len() < large().len() * 3 / 4 && !done.err.contains("store"));
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

#[test]
fn an_oversize_result_with_a_picture_stays_and_that_is_said() {
    let words: String = (0..30_000).map(|n| format!("word{n} ")).collect();
    let source = json!({"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="});
    let said = json!([{"type": "text", "text": words}, {"type": "image", "source": source}]);
    let lines = |calls: usize| {
        let mut lines = vec![json!({"role": "user", "content": "look"})];
        for n in 0..calls {
            let id = format!("t{n}");
            let said = if n == 0 { said.clone() } else { json!("short") };
            let call = json!({"type": "tool_use", "id": id, "name": "Bash", "input": {"command": format!("show {n}")}});
            let result = json!({"type": "tool_result", "tool_use_id": id, "content": said});
            lines.push(json!({"role": "assistant", "content": [call]}));
            lines.push(json!({"role": "user", "content": [result]}));
        }
        let lines = lines.iter().map(|line| format!("{line}\n"));
        lines.collect::<String>()
    };
    let place = Place::with(&[("in.jsonl", lines(1)), ("old.jsonl", lines(9))]);
    let compact = "compact --policy layered -o out.jsonl --overwrite";
    place.run(&format!("{compact} in.jsonl")).exits(0).says(&[
        "in.jsonl:3: warning: oversize tool outputs were not moved to the store, because they are not only plain text\n",
    ]);
    assert_eq!(place.text("out.jsonl"), lines(1));
    // Once it is old, it is cleared, like any other.
    let cleared = place.run(&format!("{compact} old.jsonl")).exits(0);
    assert!(place.text("out.jsonl").len() < 10_000);
    assert!(!cleared.err.contains("oversize"), "{}", cleared.err);
    let offload = "--policy offload-first --set offload.tokens=100 --summarize never";
    let offloaded = place.run(&format!(
        "compact old.jsonl -o out.jsonl --overwrite {offload}"
    ));
    offloaded.exits(0).says(&[
        "old.jsonl:3: warning: old tool outputs were not moved to the store, because they are not only plain text\n",
    ]);
    assert!(place.text("out.jsonl").contains("word29999"));
}

#[test]
fn of_many_faults_the_rest_is_said_by_kind() {
    let place = Place::new();
    for n in 0..130 {
        place.write(&format!("in/{n:03}.jsonl.gz"), &gzip("a")[..12]);
    }
    let said = place.run("compact in --out-dir out").exits(3).err;
    let one_by_one = |said: &str| said.matches(".jsonl.gz: ").count();
    let rest =
        "30 more inputs failed with an error of the kind \"decode\", such as in/100.jsonl.gz: ";
    assert!(said.contains(rest), "{said}");
    assert!(said.contains("hint: -v prints each error"), "{said}");
    assert!(!said.contains("in/101.jsonl.gz"), "{said}");
    let loud = place.run("compact in --out-dir out -v").exits(3).err;
    assert!(!loud.contains("more inputs"), "{loud}");
    assert!(one_by_one(&loud) > one_by_one(&said), "{loud}");
    // A program that reads errors wants each of them.
    let command = "compact in --out-dir out --error-format json -q";
    let objects = place.run(command).exits(3).err;
    assert_eq!(objects.matches(".jsonl.gz\"").count(), 130, "{objects}");
    let report = place.json("out/ctxpack.stats.json");
    assert_eq!(report["totals"]["failed"], 130);
}
