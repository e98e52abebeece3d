//! Which inputs a command line finds, and which formats they have.

use super::harness::{Place, gzip, sample};

#[test]
fn a_folder_twice_finds_no_outputs_and_no_store() {
    let (before, _) = sample();
    let place = Place::with(&[
        ("a.jsonl", before.as_bytes()),
        ("sub/b.jsonl.gz", &gzip(&before)),
    ]);
    let args = "compact . --set demote.min_tokens=300";
    place.run(args).exits(0);
    let first = place.all_files();
    assert!(first.contains_key("sub/b.compact.jsonl.gz"));
    place.run(args).exits(0).says(&["2 files"]);
    assert_eq!(place.all_files(), first);
}

#[test]
fn patterns_find_transcripts_and_not_our_outputs() {
    let (before, _) = sample();
    let place = Place::with(&[
        ("a.jsonl", &before),
        ("in/b.jsonl", &before),
        ("in/no.txt", &before),
    ]);
    for _ in 0..2 {
        let ran = place.run_args(&["compact", "*.jsonl", "in/**/*.jsonl", "--report", "r.json"]);
        ran.exits(0);
        let report = place.json("r.json");
        let inputs: Vec<_> = report["files"].as_array().unwrap().iter().collect();
        assert_eq!(inputs.len(), 2, "{report:#}");
        assert_eq!(
            (&inputs[0]["input"], &inputs[1]["input"]),
            (&"a.jsonl".into(), &"in/b.jsonl".into())
        );
    }
    place
        .run_args(&["compact", "*.nothing"])
        .exits(2)
        .says(&["*.nothing: no file matches"]);
}

#[test]
fn an_output_that_a_shell_pattern_names_beside_its_input_is_left_out() {
    let (before, after) = sample();
    let place = Place::with(&[("a.jsonl", &before)]);
    place.run("compact a.jsonl").exits(0);
    let expanded = "compact a.compact.jsonl a.jsonl --report r.json";
    place
        .run(expanded)
        .exits(0)
        .says(&["1 compacted, 1 skipped"]);
    assert_eq!(place.text("a.compact.jsonl"), after);
    assert!(
        !place
            .files()
            .contains(&"a.compact.compact.jsonl".to_owned())
    );
    // By itself it is an input like any other.
    place
        .run("compact a.compact.jsonl")
        .exits(0)
        .says(&["1 unchanged"]);
    assert_eq!(place.text("a.compact.compact.jsonl"), after);
}

#[test]
fn lists_of_files_come_from_files_and_streams() {
    let (before, after) = sample();
    let place = Place::with(&[
        ("a.jsonl", before.as_str()),
        ("with space.jsonl", &before),
        ("list", "a.jsonl\r\n\r\nwith space.jsonl\r\n"),
    ]);
    place
        .run("compact --files-from list --out-dir one")
        .exits(0);
    place
        .pipe(
            "compact --files-from - --out-dir two",
            "with space.jsonl\na.jsonl",
        )
        .exits(0);
    for name in [
        "one/a.jsonl",
        "one/with space.jsonl",
        "two/a.jsonl",
        "two/with space.jsonl",
    ] {
        assert_eq!(place.text(name), after, "{name}");
    }
}

#[cfg(unix)]
#[test]
fn a_list_may_hold_names_that_are_no_text() {
    use std::os::unix::ffi::OsStrExt;
    let (before, after) = sample();
    let place = Place::new();
    let odd = std::ffi::OsStr::from_bytes(b"caf\xe9.jsonl");
    if std::fs::write(place.path(".").join(odd), &before).is_err() {
        // A system that has no such names.
        return;
    }
    place.write("two\nlines.jsonl", &before);
    for (name, list) in [
        ("lines", &b"caf\xe9.jsonl\n"[..]),
        ("nul", b"caf\xe9.jsonl\0two\nlines.jsonl\0"),
    ] {
        place.write(name, list);
        place
            .run(&format!("compact --files-from {name} --out-dir out-{name}"))
            .exits(0);
        let out = place.path(&format!("out-{name}")).join(odd);
        assert_eq!(std::fs::read(out).unwrap(), after.as_bytes(), "{name}");
    }
    assert_eq!(place.text("out-nul/two\nlines.jsonl"), after);
    // An error names it as the report does.
    std::fs::remove_file(place.path(".").join(odd)).unwrap();
    let ran = place.run("stats --files-from lines --error-format json");
    ran.says(&["caf\\\\xE9.jsonl"]);
}

#[test]
fn the_name_of_a_folder_does_not_ask_for_our_own_outputs() {
    let (before, _) = sample();
    let place = Place::with(&[("x.compaction/in.jsonl", &before)]);
    place.run("compact x.compaction/in.jsonl").exits(0);
    place
        .run("compact x.compaction/*.jsonl --overwrite")
        .exits(0);
    let names = place.files();
    let twice = |name: &String| name.contains("compact.compact");
    assert!(!names.iter().any(twice), "{names:?}");
}

#[test]
fn a_format_that_the_user_names_wins() {
    // Both message formats would do for these.
    let plain = "{\"role\":\"user\",\"content\":\"hi\"}\n";
    let place = Place::with(&[("in.jsonl", plain)]);
    for (args, format) in [("", "anthropic"), (" --input-format openai", "openai")] {
        place.run(&format!("compact in.jsonl{args}")).exits(0);
        assert_eq!(
            place.json("in.compact.stats.json")["files"][0]["format"],
            format
        );
    }
}

#[test]
fn a_format_that_the_user_names_against_the_lines_is_doubted() {
    let chained = |n: u32, message: &str| {
        format!(
            "{{\"type\":\"user\",\"uuid\":\"u{n}\",\"parentUuid\":null,\"sessionId\":\"s\",\"message\":{message}}}\n"
        )
    };
    let session = chained(1, r#"{"role":"user","content":"hi"}"#)
        + &chained(2, r#"{"role":"user","parts":[{"text":"hi"}]}"#);
    let place = Place::with(&[("in.jsonl", &session)]);
    let doubt = "read as claude-code, as --input-format says; lines of it look like qwen";
    place
        .run("compact in.jsonl --policy none --input-format claude-code")
        .exits(0)
        .says(&[doubt]);
    let file = &place.json("in.compact.stats.json")["files"][0];
    assert_eq!(file["format"], "claude-code");
    assert_eq!(file["warnings"][0]["kind"], "other_format");
    assert_eq!(file["warnings"][0]["message"], doubt);
    assert_eq!(place.text("in.compact.jsonl"), session);
    // Nobody asked for anything.
    place
        .run("compact in.jsonl --policy none --overwrite")
        .exits(0)
        .says(&["unsupported"]);
}

#[test]
fn formats_that_are_not_known_pass_through() {
    let chat = "{\"conversations\":[{\"from\":\"human\",\"value\":\"hi\"}]}\n";
    let place = Place::with(&[("in.jsonl", chat)]);
    place
        .run("compact in.jsonl")
        .exits(0)
        .says(&["unsupported"]);
    assert_eq!(place.text("in.compact.jsonl"), chat);
    let file = &place.json("in.compact.stats.json")["files"][0];
    assert_eq!(
        (&file["status"], &file["format"]),
        (&"unsupported".into(), &"sharegpt".into())
    );
}

#[test]
#[cfg(unix)]
fn what_is_no_regular_file_is_refused_and_the_rest_goes_on() {
    let (before, after) = sample();
    let place = Place::with(&[("a.jsonl", &before)]);
    place.shell("mkfifo p.jsonl").exits(0);
    let said = [
        "p.jsonl: not a regular file",
        "hint: commands that read transcripts take a stream on standard input: `- < FILE`",
    ];
    // A run that waits for a writer would not end.
    place.run("compact p.jsonl a.jsonl").exits(3).says(&said);
    assert_eq!(place.text("a.compact.jsonl"), after);
    place.run("undo p.jsonl").exits(2).says(&said);
    place.run("stats p.jsonl").says(&said);
    place
        .shell("cat a.jsonl | \"$CTXPACK\" compact /dev/stdin -n")
        .exits(3)
        .says(&["/dev/stdin: not a regular file", "hint: "]);
}

#[test]
fn an_output_whose_name_tells_another_compression_is_told() {
    let (before, _) = sample();
    let packed = gzip(&before);
    let place = Place::with(&[("a.jsonl", before.as_bytes()), ("b.jsonl.gz", &packed)]);
    for (args, said) in [
        ("a.jsonl -o x.jsonl.gz", "is not compressed, like its input"),
        (
            "b.jsonl.gz -o y.jsonl",
            "compressed with gzip, like its input",
        ),
        (
            "b.jsonl.gz -o y.jsonl.zst",
            "compressed with gzip, like its input",
        ),
    ] {
        let ran = place.run(&format!("compact {args}")).exits(0);
        ran.says(&[
            "warning: the output is ",
            said,
            "hint: name it like the input",
        ]);
    }
    assert_eq!(
        place.json("x.stats.json")["files"][0]["warnings"][0]["kind"],
        "misnamed"
    );
    for args in [
        "a.jsonl -o z.txt",
        "b.jsonl.gz -o z.JSONL.GZ",
        "b.jsonl.gz -o -",
    ] {
        let ran = place.run(&format!("compact {args}")).exits(0);
        assert!(!ran.err.contains("the output is"), "{}", ran.err);
    }
}

#[cfg(unix)]
#[test]
fn advice_is_about_the_command_and_what_is_there() {
    let place = Place::with(&[("in.jsonl", sample().0)]);
    let regular = "/dev/null: the existing file is not a regular file";
    for (args, said, not_said) in [
        ("compact in.jsonl -o /dev/null", regular, "--overwrite"),
        ("policy init /dev/null", regular, "--overwrite"),
        (
            "report /dev/null",
            "hint: name a .json or .jsonl report",
            "compact",
        ),
    ] {
        let ran = place.run(args).says(&[said]);
        assert!(
            ran.code != Some(0) && !ran.err.contains(not_said),
            "{args}: {}",
            ran.err
        );
    }
}
