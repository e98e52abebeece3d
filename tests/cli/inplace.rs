//! `compact --in-place`: the original is safe before the file changes, and no other program's lines are lost.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use super::harness::{KEPT, Place, anthropic, conversations, gunzip, gzip, sample, samples};

/// More of the conversation that [`sample`] begins: `results` tool results, of which the newest stay.
fn more(results: usize) -> String {
    let begun = anthropic(0, 0);
    let whole = anthropic(results, 0).replace("toolu_", "toolu_more_");
    let (first, rest) = begun.split_once('\n').unwrap();
    let whole = whole.strip_prefix(first).unwrap().trim_start();
    assert!(whole.ends_with(rest));
    whole.to_owned()
}

#[test]
fn every_format_is_compacted_in_place_and_comes_back() {
    for (format, before, after) in samples() {
        let place = Place::with(&[("in.jsonl", &before)]);
        place
            .run("compact --in-place in.jsonl")
            .exits(0)
            .says(&["in.jsonl", "1 compacted"]);
        assert_eq!(place.files(), ["in.jsonl", "in.stats.json"]);
        assert_eq!(place.text("in.jsonl"), after, "{format}");
        let file = &place.json("in.stats.json")["files"][0];
        assert_eq!(file["output"], "in.jsonl");
        assert_eq!(file["original"]["kind"], "archive");
        let archive = file["original"]["path"].as_str().unwrap();
        let archived = place.read(&format!(".ctxpack/{archive}"));
        assert_eq!(zstd::decode_all(&archived[..]).unwrap(), before.as_bytes());

        place.run("undo in.jsonl").exits(0).says(&["restored"]);
        assert_eq!(place.text("in.jsonl"), before, "{format}");
        place
            .run("undo in.jsonl")
            .exits(0)
            .says(&["is already the original"]);
    }
}

#[test]
fn a_file_of_conversations_and_a_compressed_one_are_compacted_in_place() {
    let (before, after) = sample();
    let place = Place::with(&[
        ("all.jsonl", conversations(KEPT + 3, 0).into_bytes()),
        ("packed.jsonl.gz", gzip(&before)),
    ]);
    place.run("compact --in-place . --no-report").exits(0);
    assert_eq!(place.text("all.jsonl"), conversations(KEPT + 3, 3));
    assert_eq!(gunzip(&place.read("packed.jsonl.gz")), after.as_bytes());
    place.run("undo all.jsonl packed.jsonl.gz").exits(0);
    assert_eq!(place.text("all.jsonl"), conversations(KEPT + 3, 0));
    assert_eq!(place.read("packed.jsonl.gz"), gzip(&before));
}

#[test]
fn the_store_is_beside_a_file_and_in_a_folder_that_was_named() {
    let (before, _) = sample();
    for (args, store) in [
        ("a/deep/in.jsonl", "a/deep/.ctxpack"),
        ("a", "a/.ctxpack"),
        ("a --store kept", "kept"),
    ] {
        let place = Place::with(&[("a/deep/in.jsonl", &before)]);
        place.run(&format!("compact --in-place {args}")).exits(0);
        let stores: Vec<_> = place.names();
        let in_store = |name: &&String| name.ends_with(".zst");
        let archive = stores.iter().find(in_store).unwrap();
        assert!(archive.starts_with(&format!("{store}/archive/")), "{args}");
        let undo = match args.split_once("--store") {
            Some((_, store)) => format!("undo a/deep/in.jsonl --store{store}"),
            None => "undo a/deep/in.jsonl".to_owned(),
        };
        place.run(&undo).exits(0);
        assert_eq!(place.text("a/deep/in.jsonl"), before, "{args}");
    }
}

#[test]
fn other_outputs_and_streams_contradict_it() {
    let place = Place::with(&[("in.jsonl", sample().0)]);
    let untouched = place.all_files();
    for (args, part) in [
        (
            "compact --in-place in.jsonl -o out.jsonl",
            "cannot be used with",
        ),
        (
            "compact --in-place in.jsonl --out-dir out",
            "cannot be used with",
        ),
        (
            "compact --in-place -",
            "standard input cannot be compacted in place",
        ),
        (
            "compact --in-place",
            "standard input cannot be compacted in place",
        ),
        (
            "compact --in-place in.jsonl -",
            "standard input cannot be compacted in place",
        ),
    ] {
        let ran = place.pipe(args, sample().0).exits(2).says(&[part]);
        assert_eq!(ran.text(), "", "{args}");
        assert_eq!(place.all_files(), untouched, "{args}");
    }
    place
        .run("compact --in-place -")
        .says(&["hint: name files"]);
}

#[test]
fn a_dry_run_reports_the_same_and_writes_nothing() {
    let (before, _) = sample();
    let files = [
        ("in/a.jsonl", before.as_str()),
        ("in/b.txt", "{}\n"),
        ("in/c.jsonl", "{}\n"),
    ];
    let place = Place::with(&files);
    let untouched = place.all_files();
    place
        .run("compact --in-place in --dry-run")
        .exits(0)
        .says(&["1 compacted"]);
    assert_eq!(place.all_files(), untouched);
    place
        .run("compact --in-place in -n --report dry.json")
        .exits(0);
    place
        .run("compact --in-place in --report wet.json")
        .exits(0);
    assert_eq!(place.json("dry.json"), place.json("wet.json"));

    let streams = "compact - --store kept -o out.jsonl";
    place
        .pipe(&format!("{streams} -n --report dry.json"), &before)
        .exits(0);
    place
        .pipe(&format!("{streams} --report wet.json"), &before)
        .exits(0);
    assert_eq!(place.json("dry.json"), place.json("wet.json"));
}

#[test]
fn nothing_is_replaced_when_the_original_cannot_be_kept() {
    let (before, _) = sample();
    for in_the_way in [".ctxpack", ".ctxpack/archive", ".ctxpack/journal"] {
        let place = Place::with(&[("in.jsonl", before.as_str()), (in_the_way, "a file")]);
        place
            .run("compact --in-place in.jsonl --no-report")
            .exits(3)
            .says(&["in.jsonl: ", in_the_way]);
        assert_eq!(place.text("in.jsonl"), before, "{in_the_way}");
        assert_eq!(temporary(&place), [""; 0]);
    }
}

#[test]
fn what_an_agent_appended_between_two_compactions_is_not_lost() {
    let (before, after) = sample();
    let place = Place::with(&[("in.jsonl", &before)]);
    let compact = "compact --in-place in.jsonl --no-report";
    place.run(compact).exits(0);
    let appended = more(4);
    place.append("in.jsonl", &appended);
    let grown = place.text("in.jsonl");
    assert_eq!(grown, format!("{after}{appended}"));

    let grew = format!("grown since it was compacted, by {}", bytes(&appended));
    place
        .run("undo in.jsonl")
        .exits(2)
        .says(&[&grew, "--discard-appended"]);
    assert_eq!(place.text("in.jsonl"), grown);

    place.run(compact).exits(0).says(&["1 compacted"]);
    assert!(place.text("in.jsonl").len() < grown.len());
    place.run("undo in.jsonl").exits(0);
    assert_eq!(place.text("in.jsonl"), grown);
    place
        .run("undo in.jsonl")
        .exits(2)
        .says(&[&grew, "--discard-appended"]);
    place.run("undo in.jsonl --discard-appended").exits(0);
    assert_eq!(place.text("in.jsonl"), before);
}

/// As people read it: in groups of three digits.
fn bytes(text: &str) -> String {
    let digits = text.len().to_string();
    match digits.len() {
        0..4 => format!("{digits} bytes"),
        n => format!("{} {} bytes", &digits[..n - 3], &digits[n - 3..]),
    }
}

fn temporary(place: &Place) -> Vec<String> {
    let mut names = place.names();
    names.retain(|name| name.ends_with(".tmp"));
    names
}

#[cfg(unix)]
mod unix {
    use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

    use super::*;

    /// What a write would change, even one of the same bytes.
    fn state(path: &Path) -> (u64, i64, i64, u32) {
        let file = fs::metadata(path).unwrap();
        (file.ino(), file.mtime(), file.mtime_nsec(), file.mode())
    }

    #[test]
    fn what_stays_as_it_is_is_not_touched() {
        let (_, after) = sample();
        let files = [
            ("in/a.jsonl", after),
            ("in/b.jsonl", conversations(KEPT, 0)),
            ("in/c.jsonl", "no transcript\n".to_owned()),
        ];
        let place = Place::with(&files);
        let states = files.each_ref().map(|(name, _)| state(&place.path(name)));
        place
            .run("compact --in-place in --report r.json")
            .exits(0)
            .says(&["2 unchanged, 1 unsupported"]);
        assert_eq!(
            files.each_ref().map(|(name, _)| state(&place.path(name))),
            states
        );
        assert_eq!(
            place.names(),
            ["in/a.jsonl", "in/b.jsonl", "in/c.jsonl", "r.json"]
        );
        let report = place.json("r.json");
        assert_eq!(report["files"][0]["output"], Value::Null);
        assert_eq!(
            report["files"][0]["original"],
            json!({"kind": "input", "path": "in/a.jsonl"})
        );
    }

    #[test]
    fn mode_and_time_are_kept() {
        let (before, after) = sample();
        for mode in [0o600, 0o640, 0o664] {
            let place = Place::with(&[("in.jsonl", &before)]);
            let permissions = fs::Permissions::from_mode(mode);
            fs::set_permissions(place.path("in.jsonl"), permissions).unwrap();
            let (_, seconds, nanoseconds, mode_before) = state(&place.path("in.jsonl"));
            for (args, bytes) in [("compact --in-place", &after), ("undo", &before)] {
                place.run(&format!("{args} in.jsonl")).exits(0);
                assert_eq!(place.text("in.jsonl"), *bytes);
                let (_, s, ns, now) = state(&place.path("in.jsonl"));
                assert_eq!((s, ns, now), (seconds, nanoseconds, mode_before), "{args}");
            }
        }
    }

    #[test]
    fn a_link_stays_and_what_it_points_to_is_compacted_once() {
        let (before, after) = sample();
        let place = Place::with(&[("far/real.jsonl", before.as_str()), ("here/x", "")]);
        symlink("../far/real.jsonl", place.path("here/link.jsonl")).unwrap();
        place
            .run("compact --in-place here/link.jsonl far/real.jsonl --no-report")
            .exits(0)
            .says(&["1 compacted"]);
        let link = fs::read_link(place.path("here/link.jsonl")).unwrap();
        assert_eq!(link, Path::new("../far/real.jsonl"));
        assert_eq!(place.text("far/real.jsonl"), after);
        assert!(place.path("far/.ctxpack").is_dir());
        assert!(!place.path("here/.ctxpack").exists());
        for name in ["here/link.jsonl", "far/real.jsonl"] {
            place.run(&format!("undo {name} -o -")).exits(0);
        }
        place.run("undo here/link.jsonl").exits(0);
        assert!(
            fs::symlink_metadata(place.path("here/link.jsonl"))
                .unwrap()
                .is_symlink()
        );
        assert_eq!(place.text("far/real.jsonl"), before);
    }

    #[test]
    fn a_file_with_another_name_is_not_torn_from_it() {
        let (before, _) = sample();
        for dry in ["", " --dry-run"] {
            let place = Place::with(&[("in.jsonl", &before)]);
            fs::hard_link(place.path("in.jsonl"), place.path("other")).unwrap();
            place
                .run(&format!("compact --in-place in.jsonl{dry}"))
                .exits(3)
                .says(&["in.jsonl: the file has 2 hard links", "hint: "]);
            assert_eq!(place.files(), ["in.jsonl", "other"]);
            assert_eq!(state(&place.path("in.jsonl")), state(&place.path("other")));
            assert_eq!(place.text("in.jsonl"), before);
        }
    }

    #[test]
    fn what_a_killed_run_left_half_written_is_removed() {
        let (before, after) = sample();
        let place = Place::with(&[
            ("far/real.jsonl", before.as_str()),
            ("far/.ctxpack-0123456789abcdefc24bc12c.tmp", "half"),
        ]);
        symlink("far/real.jsonl", place.path("link.jsonl")).unwrap();
        place.run("compact --in-place link.jsonl").exits(0);
        assert_eq!(place.text("far/real.jsonl"), after);
        assert_eq!(temporary(&place), [""; 0]);
    }
}

#[cfg(target_os = "linux")]
mod live {
    //! Agents that write while ctxpack runs, and runs that are killed.

    use std::process::{Child, Stdio};
    use std::thread::sleep;
    use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

    use super::*;

    #[test]
    fn a_file_that_an_agent_has_open_is_skipped_and_seen() {
        let (before, after) = sample();
        let place = Place::with(&[("a.jsonl", &before), ("b.jsonl", &before)]);
        let agent = fs::OpenOptions::new()
            .append(true)
            .open(place.path("a.jsonl"))
            .unwrap();
        let compact = "compact --in-place a.jsonl b.jsonl --report r.json";
        let why = "another program has the file open for writing; it was left alone";
        place.run(compact).exits(0).says(&[
            &format!("a.jsonl: {why}"),
            "hint: ",
            "1 compacted, 1 skipped",
        ]);
        assert_eq!(place.text("a.jsonl"), before);
        assert_eq!(place.text("b.jsonl"), after);
        let file = &place.json("r.json")["files"][0];
        assert_eq!(file["status"], "skipped");
        assert_eq!(
            file["error"],
            json!({"kind": "changed", "message": why, "line": null})
        );
        // An undo would lose its lines just as well.
        let agent_b = fs::OpenOptions::new()
            .append(true)
            .open(place.path("b.jsonl"))
            .unwrap();
        place
            .run("undo b.jsonl")
            .exits(2)
            .says(&["open for writing"]);
        assert_eq!(place.text("b.jsonl"), after);

        drop((agent, agent_b));
        place
            .run(compact)
            .exits(0)
            .says(&["1 compacted, 1 unchanged"]);
        assert_eq!(place.text("a.jsonl"), after);
    }

    const FILES: usize = 200;
    /// So many of them have an agent that opens its file for each line, and so many one that keeps it open.
    const EACH: usize = 10;

    /// Appends numbered lines until there is a file `stop`, and leaves in `$1.count` how many.
    fn agent(place: &Place, script: &str, name: &str) -> Child {
        place
            .command_of("sh", &["-c", script, "agent", name])
            .spawn()
            .unwrap()
    }

    const OPENS: &str = r#"i=0; while [ ! -e stop ]; do
        printf '{"role":"user","content":"note %s"}\n' $i >>"$1"; i=$((i+1)); sleep 0.002
        done; echo $i >"$1.count""#;
    const KEEPS: &str = r#"exec 3>>"$1"; i=0; while [ ! -e stop ]; do
        printf '{"role":"user","content":"note %s"}\n' $i >&3; i=$((i+1)); sleep 0.002
        done; echo $i >"$1.count""#;

    /// The numbers of the notes, in the file's order.
    fn notes(text: &str) -> Vec<usize> {
        let content = |line: &str| serde_json::from_str::<Value>(line).unwrap()["content"].clone();
        text.lines()
            .filter_map(|line| content(line).as_str()?.strip_prefix("note ")?.parse().ok())
            .collect()
    }

    #[test]
    fn no_line_of_a_living_agent_is_lost() {
        let (before, after) = sample();
        let place = Place::new();
        let name = |i: usize| format!("in/{i:03}.jsonl");
        for i in 0..FILES {
            place.write(&name(i), &before);
        }
        // Those in between are nobody's.
        let live: Vec<String> = (0..2 * EACH)
            .map(|i| name(i * FILES / (2 * EACH)))
            .collect();
        let scripts = [OPENS, KEEPS].into_iter().cycle();
        let agents: Vec<Child> = live
            .iter()
            .zip(scripts)
            .map(|(name, script)| agent(&place, script, name))
            .collect();
        let start = Instant::now();
        while live.iter().any(|name| notes(&place.text(name)).is_empty()) {
            assert!(
                start.elapsed() < Duration::from_secs(300),
                "an agent never began"
            );
            sleep(Duration::from_millis(5));
        }
        // Each run clears more, so that each replaces the files of the agents that let it.
        for keep in [5, 4, 3] {
            let args = format!("compact --in-place in --set clear.keep={keep} --no-report -j 2");
            place.run(&args).exits(0).says(&["compacted", "skipped"]);
        }
        place.write("stop", "");
        for mut agent in agents {
            assert!(agent.wait().unwrap().success());
        }
        for name in &live {
            let count: usize = place.text(&format!("{name}.count")).trim().parse().unwrap();
            assert!(count > 10, "{name}: {count}");
            let text = place.text(name);
            assert_eq!(notes(&text), (0..count).collect::<Vec<_>>(), "{name}");
        }
        // Who kept its file open kept the whole of it.
        for name in live.iter().skip(1).step_by(2) {
            assert!(place.text(name).starts_with(&before), "{name}");
        }
        for i in 0..FILES {
            let name = name(i);
            if !live.contains(&name) {
                assert_eq!(place.text(&name), anthropic(KEPT + 3, 5), "{name}");
            }
        }
        let grown: Vec<String> = live.iter().map(|name| place.text(name)).collect();
        // They have gone, so now it is done.
        place.run("compact --in-place in --no-report").exits(0);
        for (name, grown) in live.iter().zip(&grown) {
            assert_eq!(notes(&place.text(name)), notes(grown), "{name}");
        }
        for (name, grown) in live.iter().zip(&grown).skip(1).step_by(2) {
            assert!(place.text(name).starts_with(&after), "{name}");
            place.run(&format!("undo {name}")).exits(0);
            assert_eq!(place.text(name), *grown, "{name}");
        }
        assert_eq!(temporary(&place), [""; 0]);
    }

    #[test]
    fn a_kill_at_any_moment_leaves_the_old_or_the_new() {
        const FILES: usize = 24;
        const KILLS: u64 = 12;
        let place = Place::new();
        let name = |i: usize| format!("in/{i:02}.jsonl");
        let before = |i: usize| anthropic(KEPT + 1 + i, 0);
        let after = |i: usize| anthropic(KEPT + 1 + i, 1 + i);
        for i in 0..FILES {
            place.write(&name(i), before(i));
        }
        let compact = "compact --in-place in --no-report -j 2";
        let undo = (0..FILES).fold("undo".to_owned(), |args, i| args + " " + &name(i));
        let seed = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
        let seed = seed.subsec_nanos();
        println!("seed {seed}");
        let is_new =
            |i: usize| fs::metadata(place.path(&name(i))).unwrap().len() == after(i).len() as u64;
        let mut half_done = 0;
        for round in 0..KILLS {
            let mut child = place
                .command(compact)
                .stderr(Stdio::null())
                .spawn()
                .unwrap();
            // When so many files are done, or a moment later.
            let chance = blake3::hash(format!("{seed} {round}").as_bytes());
            let done = usize::from(chance.as_bytes()[0]) % FILES;
            let start = Instant::now();
            while (0..FILES).filter(|i| is_new(*i)).count() < done {
                assert!(
                    start.elapsed() < Duration::from_secs(300),
                    "the run never got there"
                );
                sleep(Duration::from_micros(200));
            }
            sleep(Duration::from_micros(50 * u64::from(chance.as_bytes()[1])));
            child.kill().unwrap();
            child.wait().unwrap();

            let mut new = 0;
            for i in 0..FILES {
                let text = place.text(&name(i));
                new += usize::from(text == after(i));
                assert!(
                    text == before(i) || text == after(i),
                    "round {round}: {}",
                    name(i)
                );
            }
            half_done += usize::from(0 < new && new < FILES);
            place.run(compact).exits(0);
            for i in 0..FILES {
                assert!(
                    place.text(&name(i)) == after(i),
                    "round {round}: {}",
                    name(i)
                );
            }
            assert_eq!(temporary(&place), [""; 0], "round {round}");
            place.run(&undo).exits(0);
            for i in 0..FILES {
                assert!(
                    place.text(&name(i)) == before(i),
                    "round {round}: {}",
                    name(i)
                );
            }
        }
        println!("{half_done} of {KILLS} kills came in the middle");
        assert!(half_done > 0, "all runs were over before they were killed");
    }
}
