//! What folders are searched for, and what is left out: by `--exclude`, by ignore files, by time, by project.

use std::fs;
use std::os::unix::fs::symlink;
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};

use super::harness::{Place, anthropic, gzip, zstd};

/// A folder of transcripts that are all alike.
fn place(names: &[&str]) -> Place {
    let text = anthropic(1, 0);
    Place::with(&names.iter().map(|name| (*name, &text)).collect::<Vec<_>>())
}

/// The files that a command would read.
fn read(place: &Place, args: &[&str]) -> Vec<String> {
    let mut all = vec!["stats", "--json", "-q"];
    all.extend(args);
    let ran = place.run_args(&all).exits(0);
    let report: Value = serde_json::from_slice(&ran.out).unwrap();
    let files = report["files"].as_array().unwrap().iter();
    files
        .map(|file| file["path"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn globs_leave_out_files_and_folders_relative_to_each_folder() {
    let names = [
        "x/a.jsonl",
        "x/b.tmp.jsonl",
        "x/old/c.jsonl",
        "x/deep/a.jsonl",
        "x/deep/old/d.jsonl",
        "y/a.jsonl",
    ];
    let place = place(&names);
    let cases: [(&[&str], &[usize]); 8] = [
        (&["*.tmp.jsonl"], &[0, 2, 3, 4, 5]),
        (&["old/"], &[0, 1, 3, 5]),
        (&["/a.jsonl"], &[1, 2, 3, 4]),
        (&["/x"], &[0, 1, 2, 3, 4, 5]),
        (&["deep/old"], &[0, 1, 2, 3, 5]),
        (&["*", "!/a.jsonl"], &[0, 5]),
        (&["**/a.jsonl", "old"], &[1]),
        (&["[ab]*"], &[2, 4]),
    ];
    for (globs, left) in cases {
        let mut args = vec!["x", "y/"];
        args.extend(globs.iter().flat_map(|glob| ["--exclude", glob]));
        let mut left: Vec<&str> = left.iter().map(|i| names[*i]).collect();
        left.sort_unstable();
        assert_eq!(read(&place, &args), left, "{globs:?}");
    }
    // Also in a pattern; never what is named.
    assert_eq!(read(&place, &["x/**/*.jsonl", "--exclude", "old"]).len(), 3);
    assert_eq!(
        read(&place, &["x/a.jsonl", "--exclude", "*"]),
        ["x/a.jsonl"]
    );
    assert_eq!(
        read(&place, &["x", "x/a.jsonl", "--exclude", "*"]),
        ["x/a.jsonl"]
    );
    place
        .run("stats x --exclude old --exclude *.tmp.jsonl")
        .exits(0)
        .says(&["3 files: left out by --exclude (x/b.tmp.jsonl, x/deep/old, x/old)"]);
    place
        .run("compact x --exclude a{b")
        .exits(2)
        .says(&["--exclude a{b: ", "hint: "]);
}

#[test]
fn every_command_that_walks_excludes() {
    let place = Place::with(&[
        ("in/a.jsonl", anthropic(7, 0)),
        ("in/b.jsonl", anthropic(7, 0)),
    ]);
    for command in ["verify", "eval", "replay", "stats"] {
        place
            .run(&format!("{command} in --exclude b*"))
            .exits(0)
            .says(&["in/b.jsonl: left out by --exclude"]);
    }
    place.run("compact --in-place in --exclude b*").exits(0);
    assert_eq!(place.text("in/b.jsonl"), anthropic(7, 0));
    place.run("compact --in-place in").exits(0);
    place
        .run("undo in --exclude a*")
        .exits(0)
        .says(&["1 file restored"]);
    assert_eq!(place.text("in/a.jsonl"), anthropic(7, 2));
    // All of it left out is no fault, for nothing is missing.
    place
        .run("compact in --exclude *")
        .exits(0)
        .says(&["2 files: left out by --exclude"]);
}

#[test]
fn ignore_files_are_ours_and_no_others() {
    let place = place(&[
        "in/a.jsonl",
        "in/b.jsonl",
        "in/deep/b.jsonl",
        "in/deep/c.jsonl",
    ]);
    place.write("in/.gitignore", "*\n");
    place.write("in/.ignore", "*\n");
    place.write(".ctxpackignore", "*\n");
    assert_eq!(read(&place, &["in"]).len(), 4);
    place.write("in/.ctxpackignore", "# not these\nb.jsonl\n");
    assert_eq!(read(&place, &["in"]), ["in/a.jsonl", "in/deep/c.jsonl"]);
    place.write("in/deep/.ctxpackignore", "!b.jsonl\n");
    assert_eq!(
        read(&place, &["in"]),
        ["in/a.jsonl", "in/deep/b.jsonl", "in/deep/c.jsonl"]
    );
    assert_eq!(read(&place, &["in/b.jsonl"]), ["in/b.jsonl"]);
    place
        .run("stats in")
        .exits(0)
        .says(&["in/b.jsonl: left out by .ctxpackignore"]);

    // What is not understood, or no plain file, is said.
    place.write("in/deep/.ctxpackignore", "a{b\nc.jsonl\n");
    place.run("stats in").exits(3).says(&[
        "in/deep/.ctxpackignore:1: not a glob: ",
        "in/deep/c.jsonl", // in the list of what is left out
    ]);
    fs::remove_file(place.path("in/deep/.ctxpackignore")).unwrap();
    symlink("../../.ctxpackignore", place.path("in/deep/.ctxpackignore")).unwrap();
    place
        .run("stats in")
        .exits(3)
        .says(&["in/deep/.ctxpackignore: not a regular file"]);
}

#[test]
fn extensions_are_found_in_any_case() {
    let text = anthropic(7, 0);
    let place = Place::with(&[("in/A.JSONL", &text), ("in/b.Jsonl", &text)]);
    place.write("in/c.JSONL.GZ", gzip(&text));
    place.write("in/d.jsonl.ZST", zstd(&text));
    assert_eq!(read(&place, &["in"]).len(), 4);
    place.run("compact in").exits(0).says(&["4 compacted"]);
    assert_eq!(place.text("in/A.compact.JSONL"), anthropic(7, 2));
    for name in [
        "A.compact.stats.json",
        "c.compact.JSONL.GZ",
        "d.compact.jsonl.ZST",
    ] {
        assert!(place.path(&format!("in/{name}")).exists(), "{name}");
    }
    // They are known as outputs, too.
    assert_eq!(read(&place, &["in"]).len(), 4);
}

/// A line as Claude Code writes it.
fn session(project: &str, time: &str) -> String {
    let line = |n: usize, role: &str, text: &str| {
        let parent = n.checked_sub(1).map(|n| format!("u{n}"));
        json!({"parentUuid": parent, "isSidechain": false, "sessionId": "s", "type": role, "uuid": format!("u{n}"),
            "timestamp": time, "cwd": project, "message": {"role": role, "content": text}})
    };
    format!(
        "{}\n{}\n",
        line(0, "user", "Hello."),
        line(1, "assistant", "Yes.")
    )
}

/// As many as are looked at by several threads.
#[test]
fn of_many_files_the_same_are_taken_by_any_number_of_threads() {
    let place = Place::new();
    let mut expected = Vec::new();
    for n in 0..150 {
        let name = format!("in/{n:03}.jsonl");
        let day = format!("2026-01-{:02}T10:00:00Z", n % 28 + 1);
        let project = ["/code/app", "/code/lib"][n % 2];
        place.write(&name, session(project, &day));
        if n % 28 >= 10 && n % 2 == 0 {
            expected.push(name);
        }
    }
    for jobs in ["1", "2", "0"] {
        let args = [
            "in",
            "--since",
            "2026-01-11",
            "--project",
            "app",
            "-j",
            jobs,
        ];
        assert_eq!(read(&place, &args), expected, "-j {jobs}");
    }
}

#[test]
fn times_are_those_in_the_transcript_or_else_of_the_file() {
    let place = Place::with(&[
        (
            "in/a.jsonl",
            session("/code/app", "2026-01-10T10:00:00.000Z"),
        ),
        (
            "in/b.jsonl",
            session("/code/app", "2026-01-20T10:00:00.000Z"),
        ),
        ("in/none.jsonl", anthropic(1, 0)),
    ]);
    place.write(
        "in/packed.jsonl.gz",
        gzip(session("/code/app", "2026-01-01T10:00:00Z")),
    );
    // The files are all of the same age; what they say differs.
    let day = |days: u64| SystemTime::UNIX_EPOCH + Duration::from_secs(days * 24 * 3_600);
    for name in ["a.jsonl", "b.jsonl", "none.jsonl", "packed.jsonl.gz"] {
        let file = fs::File::options()
            .append(true)
            .open(place.path(&format!("in/{name}")));
        // 2026-01-15
        file.unwrap().set_modified(day(20_468)).unwrap();
    }
    let (a, b, none, packed) = (
        "in/a.jsonl",
        "in/b.jsonl",
        "in/none.jsonl",
        "in/packed.jsonl.gz",
    );
    assert_eq!(
        read(&place, &["in", "--since", "2026-01-12"]),
        [b, none, packed]
    );
    assert_eq!(read(&place, &["in", "--until", "2026-01-12"]), [a]);
    assert_eq!(read(&place, &["in", "--since", "2026-01-16"]), [b]);
    assert_eq!(
        read(
            &place,
            &[
                "in",
                "--since",
                "2026-01-10T10:00:00Z",
                "--until",
                "2026-01-20T10:00:00Z"
            ]
        ),
        [a, none, packed]
    );
    assert_eq!(read(&place, &[a, "--since", "2026-01-12"]), [a]);
    assert_eq!(read(&place, &["in/*", "--since", "2026-01-16"]), [b]);
    place
        .run("compact in --since 2026-01-16 --out-dir out")
        .exits(0)
        .says(&[
            "3 files: left out: older than --since (in/a.jsonl, in/none.jsonl, in/packed.jsonl.gz)",
        ]);
    assert_eq!(
        place
            .files()
            .iter()
            .filter(|name| name.starts_with("out/"))
            .count(),
        2
    );
    place
        .run("verify in --until 2026-01-02")
        .exits(1)
        .says(&["4 files: left out: newer than --until"]);
    place.run("stats in --since soon").exits(2).says(&["7d"]);
}

#[test]
fn projects_are_those_that_sessions_shows() {
    let time = "2026-01-10T10:00:00.000Z";
    let place = Place::with(&[
        ("in/app.jsonl", session("/code/app", time)),
        ("in/web.jsonl", session("/code/old/web", time)),
        (
            "in/evil.jsonl",
            session("/code/\u{1b}[31m\n../../app", time),
        ),
        ("in/none.jsonl", anthropic(1, 0)),
    ]);
    place.write("in/packed.jsonl.zst", zstd(session("/code/app", time)));
    let app = ["in/app.jsonl", "in/evil.jsonl", "in/packed.jsonl.zst"];
    assert_eq!(read(&place, &["in", "--project", "app"]), app);
    assert_eq!(read(&place, &["in", "--project", "/code/*"]).len(), 4);
    assert_eq!(
        read(&place, &["in", "--project", "/code/old/*"]),
        ["in/web.jsonl"]
    );
    assert_eq!(
        read(&place, &["in", "--project", "{web,other}"]),
        ["in/web.jsonl"]
    );
    // The line that names the folder may be long, and not the first.
    let blank = format!(
        "{{\"type\":\"summary\",\"summary\":\"{}\"}}\n",
        "a ".repeat(300_000)
    );
    place.write("late/late.jsonl", blank + &session("/code/app", time));
    assert_eq!(
        read(&place, &["late", "--project", "app"]),
        ["late/late.jsonl"]
    );
    let named = "in/app.jsonl: given by name, so --since, --until and --project do not apply";
    for command in ["stats", "compact -n"] {
        let args = format!("{command} in/app.jsonl --project web");
        place.run(&args).exits(0).says(&[named]);
    }
    let ran = place
        .run("replay in --project web")
        .exits(0)
        .says(&["4 files: left out: does not match --project (in/app.jsonl, "]);
    assert!(!ran.err.contains('\u{1b}'));
    place
        .run("stats in --project a{b")
        .exits(2)
        .says(&["--project: ", "hint: "]);
}

#[test]
fn what_is_not_read_is_counted_by_kind() {
    let place = place(&[
        "in/a.jsonl",
        "in/notes.txt",
        "in/deep/data.csv",
        "in/a.compact.jsonl.gz",
        "in/b.compact.jsonl",
    ]);
    symlink("nowhere", place.path("in/broken")).unwrap();
    place.write("in/other\nname\u{1b}[31m.md", "");
    for command in ["stats in", "compact in -n", "verify in"] {
        let ran = place.run(command).exits(0).says(&[
            "in/deep/data.csv: not read: the name ends in .csv, not in .jsonl, .jsonl.gz or .jsonl.zst\n",
            "in/notes.txt: not read: the name ends in .txt, ",
            "in/broken: the link is broken, not read\n",
            "in/b.compact.jsonl: not read: named like an output of ctxpack\n",
        ]);
        // That one is an output: its input is beside it.
        assert!(!ran.err.contains('\u{1b}') && !ran.err.contains("a.compact"));
        let quiet = place.run(&format!("{command} -q")).exits(0);
        assert_eq!(quiet.err, "");
    }
}

#[test]
fn reports_count_what_was_not_read() {
    let place = place(&["in/a.jsonl", "in/b.jsonl", "in/c.csv"]);
    for n in 0..60 {
        place.write(&format!("in/{n:02}.txt"), "");
    }
    place.write("in/other.jsonl", "{\"what\":1}\n");
    let expected = json!([
        {"kind": "excluded", "count": 1, "examples": ["in/b.jsonl"]},
        {"kind": "other_extension", "extension": ".csv", "count": 1, "examples": ["in/c.csv"]},
        {"kind": "other_extension", "extension": ".txt", "count": 60,
            "examples": ["in/00.txt", "in/01.txt", "in/02.txt", "in/03.txt", "in/04.txt"]},
        {"kind": "unsupported", "format": "unknown", "count": 1, "examples": ["in/other.jsonl"]},
    ]);
    for command in ["compact in --out-dir out", "stats in"] {
        let ran = place
            .run(&format!(
                "{command} --exclude b* --report r.json --report r.jsonl"
            ))
            .exits(0)
            .says(&[
                "60 files: not read: ",
                "(in/00.txt, in/01.txt, in/02.txt and 57 more)",
            ]);
        assert!(!ran.err.contains("in/03.txt"));
        assert_eq!(place.json("r.json")["not_read"], expected, "{command}");
        let lines = place.text("r.jsonl");
        let last: Value = serde_json::from_str(lines.lines().last().unwrap()).unwrap();
        assert_eq!(last["not_read"], expected, "{command}");
        fs::remove_file(place.path("r.jsonl")).unwrap();
    }
    place
        .run("stats in -v")
        .exits(0)
        .says(&["in/03.txt, ", "in/49.txt and 10 more)"]);
    // Rendered again, and added up.
    place
        .run("compact in -n --exclude b* --report one.json")
        .exits(0);
    place
        .run("report merge one.json one.json -o both.json")
        .exits(0);
    let both = place.json("both.json");
    assert_eq!(both["not_read"][1]["count"], 2);
    assert_eq!(both["not_read"][2]["count"], 120);
    assert_eq!(both["not_read"][2]["examples"].as_array().unwrap().len(), 5);
    // Without anything there is no such key.
    place
        .run("compact in/a.jsonl -n --report none.json")
        .exits(0);
    assert!(place.json("none.json").get("not_read").is_none());
}

/// A list that came with an archive says what it will: it ends no run.
#[test]
fn a_hostile_ignore_file_ends_no_run() {
    let deep = "{".repeat(100_000);
    let wide = format!("{{{}}}", "a*b*,".repeat(700));
    let many = "x\n".repeat(5_000);
    let long = "y".repeat(1 << 20);
    for (list, said) in [
        (&deep[..5_000], "not a glob: longer than 4096 bytes"),
        (&deep[..4_000], "not a glob: braces nested more than 8"),
        (&wide, "in/a.jsonl"),
        (&many, "only the first 1000 lines are read"),
        (&long, ".ctxpackignore"),
    ] {
        let place = Place::with(&[
            ("in/a.jsonl", &anthropic(7, 0)[..]),
            ("in/.ctxpackignore", list),
        ]);
        let run = place.run("stats in");
        assert!(matches!(run.code, Some(0 | 3)), "{:?}", run.code);
        assert!(
            run.err.contains(said) || run.text().contains(said),
            "no {said:?} in:\n{}",
            run.err
        );
    }
    let place = Place::with(&[("in/a.jsonl", anthropic(7, 0))]);
    let run = place.run_args(&["stats", "in", "--exclude", &deep[..4_000]]);
    run.exits(2).says(&["braces nested more than 8 deep"]);
}
