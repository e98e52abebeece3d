//! Pipes that close early, and output to terminals.

use std::io::{BufRead, BufReader, Read};
use std::process::Stdio;

use serde_json::{Value, json};

use super::harness::{Place, anthropic, orphan};

/// What a run says after the reader of its output has taken one line and gone.
fn head(place: &Place, args: &str) -> (String, String, Option<i32>) {
    let mut child = place
        .command(args)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap())
        .read_line(&mut line)
        .unwrap();
    let mut err = String::new();
    child
        .stderr
        .take()
        .unwrap()
        .read_to_string(&mut err)
        .unwrap();
    (line, err, child.wait().unwrap().code())
}

#[test]
fn a_reader_that_has_had_enough_is_no_fault() {
    let big = anthropic(3000, 0);
    let broken = orphan().repeat(20_000);
    let place = Place::with(&[("in.jsonl", &big), ("broken.jsonl", &broken)]);
    place
        .run("compact in.jsonl --policy none --set demote.min_tokens=9 -o out.jsonl")
        .exits(0);
    let first = big.lines().next().unwrap().to_owned() + "\n";
    for args in [
        "compact in.jsonl -o - --summarize never",
        "compact in.jsonl -o - --policy none --store store",
        "undo out.jsonl -o -",
    ] {
        assert_eq!(
            head(&place, args),
            (first.clone(), String::new(), Some(0)),
            "{args}"
        );
    }
    for args in ["verify broken.jsonl", "verify broken.jsonl --format json"] {
        let (line, err, code) = head(&place, args);
        assert!(line.contains("orphan-result"), "{line}");
        assert_eq!((err.as_str(), code), ("", Some(0)), "{args}");
    }
}

/// Everything that a terminal obeys: escapes, an 8-bit CSI, DEL, bidirectional overrides, a bell.
const STEERING: &str = "\u{1b}[31m\u{9b}2J\u{7f}\u{202e}\u{2066}\u{7}";

#[track_caller]
fn steers_nothing(text: &str) {
    let steers = |c: &char| {
        c.is_control() && *c != '\n'
            || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    assert_eq!(text.chars().find(steers), None, "{text:?}");
}

#[cfg(unix)]
#[test]
fn names_in_the_file_system_do_not_steer_the_terminal() {
    let name = format!("{STEERING}.jsonl");
    let gone = format!("gone{STEERING}.jsonl");
    let place = Place::with(&[
        (name.as_str(), anthropic(8, 0) + "not json\n"),
        (&format!("{STEERING}.compact.jsonl"), "mine".into()),
    ]);
    for form in ["text", "json"] {
        for args in [
            &["compact", "-v", &name, &gone][..],
            &["compact", "-v", &name, "-o", "out.jsonl", "--overwrite"],
            &["compact", &gone],
            &["compact", &name, "--policy", &gone],
            &["compact", &name, "--set", STEERING],
            &["compact", &name, "--set", &format!("{STEERING}=1")],
            &["compact", &name, "--policy", STEERING],
            &["compact", &name, "--report", STEERING],
            &["undo", &name],
            &["undo", "out.jsonl", "-o", &name],
            &["verify", &name, &gone],
            &["check", &gone],
        ] {
            let ran = place.run_args(&[&["--error-format", form], args].concat());
            // For programs, success is silent there.
            if form == "text" {
                assert_ne!(ran.err, "", "{args:?}");
            }
            steers_nothing(&ran.err);
            steers_nothing(&ran.text());
        }
    }
}

#[test]
fn texts_of_transcripts_do_not_steer_the_terminal() {
    let lines = [
        json!({"role": "user", "content": "Go on."}),
        json!({"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": STEERING, "input": {}}]}),
        json!({"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": STEERING, "content": "x ".repeat(900)},
            {"type": "tool_result", "tool_use_id": "a", "content": "x ".repeat(900)},
        ]}),
    ];
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let place = Place::with(&[
        ("in.jsonl", text.as_str()),
        ("case/input.jsonl", &text),
        ("case/expected.jsonl", ""),
    ]);
    for args in [
        "compact in.jsonl -v --set clear.keep=0",
        "verify in.jsonl",
        "verify in.jsonl --format json",
        "check case",
    ] {
        let ran = place.run(args);
        steers_nothing(&ran.err);
        steers_nothing(&ran.text());
    }
    let findings = place.run("verify in.jsonl --format json").exits(1).text();
    let ids: Vec<Value> = findings
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["id"].take())
        .collect();
    assert!(
        ids.contains(&STEERING.into()),
        "JSON gives the id as it is: {ids:?}"
    );
}

#[test]
fn data_goes_to_stdout_and_words_to_stderr() {
    let place = Place::with(&[("in.jsonl", anthropic(8, 0))]);
    let ran = place
        .run("compact in.jsonl -o - -v")
        .exits(0)
        .says(&["saved"]);
    assert_eq!(ran.text(), anthropic(8, 3));
    for args in ["--help", "--version", "compact --help"] {
        let ran = place.run(args).exits(0);
        assert_eq!(ran.err, "");
        assert_ne!(ran.out, b"");
    }
}
