//! Limits on inputs and lines: one that is too large fails alone, before it takes memory, and the others are processed.

use serde_json::Value;

use super::harness::{Place, conversations, gzip, sample, zstd};

/// The error of an input in a report.
fn error_of<'r>(report: &'r Value, input: &str) -> &'r Value {
    let files = report["files"].as_array().unwrap();
    let is_it = |file: &&Value| file["input"] == input;
    &files.iter().find(is_it).unwrap()["error"]
}

#[test]
fn a_file_above_the_limit_fails_alone_by_what_it_unpacks_to() {
    let (good, after) = sample();
    let large = good.repeat(20);
    let place = Place::with(&[
        ("in/a.jsonl", good.as_bytes().to_vec()),
        ("in/b.jsonl", large.as_bytes().to_vec()),
        ("in/c.jsonl.gz", gzip(&large)),
        ("in/d.jsonl.zst", zstd(&large)),
        ("in/e.jsonl.gz", gzip(&good)),
    ]);
    let most = good.len() + 1;
    let ran = place
        .run(&format!("compact in --out-dir out --max-file-bytes {most}"))
        .exits(3);
    let _ = ran.says(&[
        "in/b.jsonl: the file has ",
        "in/c.jsonl.gz: the file unpacks to more than --max-file-bytes allows",
        "in/d.jsonl.zst: the file unpacks to more than --max-file-bytes allows",
        "hint: use a larger --max-file-bytes to read it",
        "2 compacted, 3 failed",
    ]);
    let report = place.json("out/ctxpack.stats.json");
    for name in ["in/b.jsonl", "in/c.jsonl.gz", "in/d.jsonl.zst"] {
        assert_eq!(error_of(&report, name)["kind"], "too_large", "{name}");
    }
    assert_eq!(place.text("out/a.jsonl"), after);
    let mut files = place.files();
    files.retain(|name| name.starts_with("out/"));
    assert_eq!(
        files,
        ["out/a.jsonl", "out/ctxpack.stats.json", "out/e.jsonl.gz"]
    );
    for command in ["stats", "verify", "replay", "eval"] {
        let line = format!("{command} in --max-file-bytes {most}");
        let ran = place.run(&line).exits(3);
        assert_eq!(ran.err.matches("--max-file-bytes allows").count(), 3);
    }
    place
        .pipe(&format!("compact - --max-file-bytes {most}"), &large)
        .exits(3)
        .says(&["-: the stream has more than --max-file-bytes allows"]);
}

#[test]
fn a_line_above_the_limit_fails_its_file_with_its_number() {
    let (good, after) = sample();
    let long = format!(
        "{good}{{\"role\":\"user\",\"content\":\"{}\"}}\n",
        "x".repeat(9_000)
    );
    let line = good.lines().count() + 1;
    let place = Place::with(&[
        ("in/a.jsonl", good.as_bytes().to_vec()),
        ("in/b.jsonl", format!("{long}{good}").into_bytes()),
        ("in/c.jsonl.gz", gzip(&long)),
        // The last line has no end.
        ("in/d.jsonl", long.trim_end().as_bytes().to_vec()),
    ]);
    let said = ["b.jsonl", "c.jsonl.gz", "d.jsonl"]
        .map(|name| format!("in/{name}:{line}: the line has more than 8.8 KiB\n"));
    for command in [
        "compact in --out-dir out",
        "stats in",
        "verify in",
        "replay in",
    ] {
        let ran = place.run(&format!("{command} --max-line-bytes 9000"));
        let ran = ran.exits(3);
        for line in &said {
            assert!(ran.err.contains(line.as_str()), "{command}: {}", ran.err);
        }
    }
    let report = place.json("out/ctxpack.stats.json");
    let error = error_of(&report, "in/b.jsonl");
    assert_eq!(
        (&error["kind"], &error["line"]),
        (&"too_large".into(), &line.into())
    );
    assert_eq!(place.text("out/a.jsonl"), after);
    place.run("compact in --out-dir all").exits(0);
}

#[test]
fn long_lines_of_conversations_are_numbered_from_the_files_beginning() {
    let many = conversations(8, 0).repeat(400);
    let longest = many.lines().map(str::len).max().unwrap();
    let long = format!("{{\"messages\":[{}]}}\n", " ".repeat(longest));
    let place = Place::with(&[("in.jsonl", format!("{many}{long}{many}"))]);
    // Some of these lines have left the buffer by then.
    place
        .run(&format!("compact in.jsonl --max-line-bytes {longest}"))
        .exits(3)
        .says(&["in.jsonl:1201: the line has more than "]);
    assert_eq!(place.files(), ["in.jsonl"]);
}

#[test]
fn a_bad_line_is_an_error_where_the_user_is_strict() {
    let (good, after) = sample();
    let bad = [
        ("not JSON", "not json\n"),
        ("JSON, but not an object", "[1]\n"),
        ("comment line", "# a note\n"),
        ("truncated last line", "{\"role\":\"us"),
    ];
    for (what, line) in bad {
        let place = Place::with(&[
            ("in/a.jsonl", good.clone()),
            ("in/b.jsonl", format!("{good}\n{line}")),
        ]);
        // The blank line before is none.
        let said = format!("in/b.jsonl:{}: {what}", good.lines().count() + 2);
        for command in [
            "compact in --out-dir out",
            "stats in",
            "verify in",
            "replay in",
        ] {
            let ran = place.run(&format!("{command} --strict")).exits(3);
            let _ = ran.says(&[&said, "hint: without --strict"]);
        }
        assert_eq!(place.text("out/a.jsonl"), after);
        assert!(!place.names().iter().any(|name| name == "out/b.jsonl"));
        let report = place.json("out/ctxpack.stats.json");
        assert_eq!(error_of(&report, "in/b.jsonl")["kind"], "bad_line");
        place.run("compact in --out-dir lenient").exits(0);
    }
    let place = Place::with(&[
        ("lines.jsonl", format!("{}oops\n", conversations(8, 0))),
        ("garbage.jsonl", "hello\n".to_owned()),
        ("good.jsonl", good),
    ]);
    for (name, line) in [("lines.jsonl", 4), ("garbage.jsonl", 1)] {
        let ran = place.run(&format!("compact {name} --strict")).exits(3);
        let _ = ran.says(&[&format!("{name}:{line}: not JSON")]);
    }
    place.run("compact good.jsonl --strict").exits(0);
    place
        .run("compact --in-place lines.jsonl --strict")
        .exits(3);
    assert!(place.text("lines.jsonl").ends_with("oops\n"));
}

/// An address space that is limited is one thing that can be tested anywhere.
#[cfg(target_os = "linux")]
mod memory {
    use std::fs::File;

    use super::super::harness::Place;
    use super::*;

    #[test]
    fn a_file_larger_than_memory_fails_alone() {
        let (good, after) = sample();
        let place = Place::with(&[("in/a.jsonl", &good), ("in/z.jsonl", &good)]);
        let sparse = File::create(place.path("in/huge.jsonl")).unwrap();
        sparse.set_len(1 << 40).unwrap();
        for command in ["compact in --out-dir out", "stats in", "verify in"] {
            let ran = place.shell(&format!("ulimit -v 2000000; $CTXPACK {command}"));
            let ran = ran.exits(3);
            let said = "in/huge.jsonl: the file has 1.0 TiB, more than there is memory for\nhint: ";
            assert!(ran.err.contains(said), "{command}: {}", ran.err);
        }
        let report = place.json("out/ctxpack.stats.json");
        assert_eq!(error_of(&report, "in/huge.jsonl")["kind"], "too_large");
        for name in ["out/a.jsonl", "out/z.jsonl"] {
            assert_eq!(place.text(name), after);
        }
        assert_eq!(place.files().len(), 6, "{:?}", place.files());
        // The user may know better, and the system does not.
        let ran = place.shell(
            "ulimit -v 2000000; $CTXPACK compact in --out-dir in2 --max-file-bytes 2T --max-line-bytes 2T",
        );
        let _ = ran
            .exits(3)
            .says(&["in/huge.jsonl: ", "2 compacted, 1 failed"]);
    }

    #[test]
    fn a_huge_line_takes_no_more_than_the_limit() {
        let place = Place::new();
        let sparse = File::create(place.path("line.jsonl")).unwrap();
        sparse.set_len(1 << 30).unwrap();
        // It can be reserved, and not be worked with.
        let ran = place.shell("ulimit -v 1500000; $CTXPACK compact line.jsonl --max-file-bytes 2G");
        ran.exits(3)
            .says(&["line.jsonl:1: the line has more than 64.0 MiB"]);
    }

    /// Whatever is in a file, and however little memory there is: it fails, or it does not, and the program goes on.
    #[test]
    fn no_shape_of_a_file_ends_the_run() {
        const BYTES: usize = 1 << 19;
        let user = "{\"role\":\"user\",\"content\":\"go\"}\n";
        let answer = "{\"role\":\"assistant\",\"content\":\"ok\"}\n";
        let of_lines = |line: &str| format!("{user}{answer}{}", line.repeat(BYTES / line.len()));
        let block = "{\"type\":\"text\",\"text\":\"a\"},";
        let blocks = block.repeat(BYTES / block.len());
        let words = "some words of a text ".repeat(BYTES / 21);
        let shapes = [
            ("blank", of_lines("\n")),
            ("braces", of_lines("{}\n")),
            ("messages", of_lines(&format!("{user}{answer}"))),
            (
                "blocks",
                format!(
                    "{{\"role\":\"user\",\"content\":[{}]}}\n{answer}{user}",
                    blocks.trim_end_matches(',')
                ),
            ),
            (
                "words",
                format!("{{\"role\":\"user\",\"content\":\"{words}\"}}\n{answer}{user}"),
            ),
        ];
        let place = Place::new();
        for (name, text) in &shapes {
            place.write(&format!("{name}.jsonl"), text);
            place.write(&format!("{name}.jsonl.gz"), gzip(text));
        }
        let commands = [
            "compact $f -o out --overwrite --no-report --summarize always",
            "stats $f",
            "verify $f",
        ];
        for command in commands {
            let line = format!(
                "for v in 64 80 120; do for f in *.jsonl *.gz; do \
                 (ulimit -v ${{v}}000; $CTXPACK {command} -j 1 >/dev/null 2>err); \
                 c=$?; test $c -le 3 || {{ echo $c at $v MB: $f; cat err; }}; done; done >&2"
            );
            assert_eq!(place.shell(&line).err, "", "{command}");
        }
    }
}
