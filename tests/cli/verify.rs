//! `verify` reports what a provider would reject, and where.

use serde_json::{Value, json};

use super::harness::{Place, gzip, orphan, sample, samples};

const WORDING: &str = "unexpected `tool_use_id` found in `tool_result` blocks";

#[test]
fn a_valid_history_breaks_no_rule() {
    for (format, before, after) in samples() {
        let place = Place::with(&[("in.jsonl", &before), ("out.jsonl", &after)]);
        for file in ["in.jsonl", "out.jsonl"] {
            let ran = place.run_args(&["verify", file]).exits(0);
            assert!(!ran.text().contains(" error: "), "{format}");
            assert!(
                ran.err.starts_with("1 file checked: "),
                "{format}: {}",
                ran.err
            );
            let quiet = place.run_args(&["verify", "-q", file]).exits(0);
            assert_eq!(quiet.err, "", "{format}");
        }
    }
}

#[test]
fn several_files_have_a_total() {
    let (valid, _) = sample();
    let place = Place::with(&[("a.jsonl", &valid), ("b.jsonl", &orphan())]);
    place.write("c.jsonl", b"\xff\xfe");
    let total = |args: &str| {
        let err = place.run(args).err;
        err.lines().last().unwrap_or_default().to_owned()
    };
    assert_eq!(
        total("verify a.jsonl a.jsonl"),
        "1 file checked: no rule is broken"
    );
    place.write("d.jsonl", &valid);
    assert_eq!(
        total("verify a.jsonl d.jsonl"),
        "2 files checked: no rule is broken"
    );
    // What no reader knows is not among those that were checked.
    assert_eq!(
        total("verify a.jsonl b.jsonl c.jsonl"),
        "2 files checked: 1 error, 0 warnings in 1 of them"
    );
    assert_eq!(total("verify a.jsonl d.jsonl -q"), "");
    let timed = total("verify a.jsonl --timings");
    assert!(
        timed.starts_with("took ") && timed.contains("read "),
        "{timed}"
    );
}

#[test]
fn an_orphan_is_found_with_its_line_its_rule_and_the_providers_words() {
    let place = Place::with(&[("in.jsonl", orphan())]);
    let ran = place.run("verify in.jsonl").exits(1);
    assert!(
        ran.text().starts_with("in.jsonl:3: error: orphan-result: "),
        "{}",
        ran.text()
    );
    assert!(
        ran.text().contains(WORDING) && ran.text().contains("toolu_lost"),
        "{}",
        ran.text()
    );
    assert_eq!(
        ran.err,
        "1 file checked: 1 error, 0 warnings in 1 of them\n"
    );

    let streamed = place.pipe("verify -", orphan()).exits(1);
    assert_eq!(streamed.text(), ran.text().replace("in.jsonl:", "-:"));
}

#[test]
fn findings_as_json_are_one_object_a_line() {
    let place = Place::with(&[("in.jsonl", orphan())]);
    let ran = place.run("verify in.jsonl --format json").exits(1);
    let mut findings: Vec<Value> = ran
        .text()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let message = findings[0]["message"].take();
    assert!(message.as_str().unwrap().contains(WORDING), "{message}");
    assert_eq!(
        findings,
        [json!({
            "path": "in.jsonl", "line": 3, "rule": "orphan-result", "severity": "error", "conversation": "main",
            "id": "toolu_lost", "message": null,
        })]
    );
}

#[test]
fn a_file_that_cannot_be_read_does_not_hide_the_others() {
    let place = Place::with(&[
        ("a.jsonl.gz", &gzip("x".repeat(99))[..20]),
        ("b.jsonl", orphan().as_bytes()),
    ]);
    let ran = place
        .run("verify a.jsonl.gz b.jsonl")
        .exits(3)
        .says(&["a.jsonl.gz: cannot unpack"]);
    assert!(ran.text().starts_with("b.jsonl:3: "), "{}", ran.text());
    place
        .run("verify gone.jsonl")
        .exits(2)
        .says(&["gone.jsonl: no such file or folder"]);
}

#[test]
fn compressed_files_folders_and_lists_are_checked_too() {
    let place = Place::with(&[
        ("in/a.jsonl.gz", gzip(orphan())),
        ("in/b.jsonl", orphan().into()),
        ("list", "in/b.jsonl\n".into()),
    ]);
    let ran = place.run("verify in").exits(1);
    assert_eq!(ran.text().lines().count(), 2, "{}", ran.text());
    let listed = place.run("verify --files-from list").exits(1);
    assert!(
        listed.text().starts_with("in/b.jsonl:3: "),
        "{}",
        listed.text()
    );
}

#[test]
fn what_is_not_supported_is_said_not_to_be_checked() {
    let place = Place::with(&[(
        "in.jsonl",
        "{\"conversations\":[{\"from\":\"human\",\"value\":\"hi\"}]}\n",
    )]);
    let says = "in.jsonl: the format sharegpt is not supported; not checked\n";
    for args in ["verify in.jsonl", "verify -q in.jsonl", "verify *.jsonl"] {
        let ran = place.run(args).exits(1);
        assert_eq!(
            (ran.text().as_str(), ran.err.as_str()),
            ("", says),
            "{args}"
        );
    }
    let piped = place.pipe("verify -", place.text("in.jsonl")).exits(1);
    assert_eq!(piped.err, says.replace("in.jsonl", "-"));
    // In a folder with transcripts, it is something else.
    place.write("a/valid.jsonl", sample().0);
    let ran = place.run("verify .").exits(0);
    ran.says(&["./in.jsonl: warning: the format sharegpt is not supported; not checked\n"]);
    place
        .run("verify a/valid.jsonl in.jsonl")
        .exits(1)
        .says(&[says]);
}

#[test]
fn a_transcript_that_is_not_understood_is_not_passed_over() {
    let typo = sample().0.replacen("\"assistant\"", "\"asistant\"", 1);
    let place = Place::with(&[
        ("in/typo.jsonl", typo.as_str()),
        ("in/valid.jsonl", &sample().0),
        ("in/log.jsonl", "{\"kind\":\"a log\"}\n"),
    ]);
    let why = "looks like anthropic, but has 1 message by the role asistant that no reader knows";
    for args in ["verify in", "verify in -q"] {
        let says = format!("in/typo.jsonl: {why}; not checked\n");
        place.run(args).exits(1).says(&[&says]);
    }
    let ran = place.run("verify in --json").exits(1).text();
    let lines: Vec<Value> = ran
        .lines()
        .map(|l| serde_json::from_str(l).unwrap())
        .collect();
    let line = |path: &str, severity: &str, why: &str| {
        json!({
            "path": path, "line": null, "rule": "not-checked", "severity": severity, "conversation": null, "id": "",
            "message": why,
        })
    };
    assert_eq!(
        lines,
        [
            line("in/log.jsonl", "warning", "not a known transcript format"),
            line("in/typo.jsonl", "error", why),
        ]
    );
    // Nor is one of another format than the one that is named.
    place
        .run("verify in/valid.jsonl --input-format codex")
        .exits(1)
        .says(&["in/valid.jsonl: not codex, but "]);
}

#[test]
fn findings_that_the_input_has_do_not_keep_it_from_being_compacted() {
    let (before, after) = sample();
    let place = Place::with(&[("in.jsonl", orphan() + &before)]);
    place.run("compact in.jsonl").exits(0);
    assert_eq!(place.text("in.compact.jsonl"), orphan() + &after);
    let file = &place.json("in.compact.stats.json")["files"][0];
    assert_eq!(file["findings_before"], file["findings_after"]);
    assert_ne!(file["findings_before"], 0);
}
