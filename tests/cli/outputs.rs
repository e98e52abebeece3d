//! Where outputs go, what they contain, and what is never replaced.

use std::fs;

use super::harness::{KEPT, Place, anthropic, anthropic_of, gzip, output, sample, samples, zstd};

#[test]
fn an_output_of_another_input_is_not_replaced_without_a_word() {
    let texts = [1, 2, 3].map(|n| anthropic_of([output(n)]));
    let names = ["z/x.jsonl", "z/sub/x.jsonl", "z/sub/only.jsonl"];
    let place = Place::new();
    for (name, text) in names.iter().zip(&texts) {
        place.write(name, text);
    }
    place.run("compact z --out-dir out").exits(0);
    let said = "replaced the output of z/x.jsonl";
    let dry = place.run("compact z/sub --out-dir out -n").exits(0);
    dry.says(&[said]);
    place
        .run("compact z/sub --out-dir out")
        .exits(0)
        .says(&[said, "name the folder that contains both"]);
    let warnings = |place: &Place| -> Vec<String> {
        let report = place.json("out/ctxpack.stats.json");
        let files = report["files"].as_array().unwrap().clone();
        let all = files.iter().filter_map(|file| file["warnings"].as_array());
        let kinds = all.flatten().map(|one| one["kind"].as_str().unwrap());
        kinds.map(str::to_owned).collect()
    };
    assert_eq!(warnings(&place), ["wrote_over"]);
    // The same command again has written over nothing more, and its report is the same.
    let again = place.run("compact z/sub --out-dir out").exits(0);
    again.says(&["2 of 2 inputs finished before", said]);
    assert_eq!(warnings(&place), ["wrote_over"]);
    // Not where the other input is gone, has only another name, or one output was named for both.
    place
        .run("compact z --out-dir out")
        .says(&["replaced the output of z/sub/x.jsonl"]);
    fs::remove_file(place.path("z/x.jsonl")).unwrap();
    let gone = place.run("compact z/sub --out-dir out").exits(0);
    assert!(!gone.err.contains("wrote over"), "{}", gone.err);
    place.write("z/sub/x.jsonl", &texts[2]);
    fs::rename(place.path("z/sub"), place.path("z/other")).unwrap();
    let renamed = place.run("compact z/other --out-dir out").exits(0);
    assert!(!renamed.err.contains("wrote over"), "{}", renamed.err);
    for name in ["z/other/x.jsonl", "z/other/only.jsonl"] {
        let named = place.run(&format!("compact {name} -o one.jsonl")).exits(0);
        assert!(!named.err.contains("wrote over"), "{}", named.err);
    }
}

#[test]
fn what_a_report_says_was_written_is_ours_also_without_the_store() {
    let (before, _) = sample();
    for (command, outputs, report) in [
        ("compact in --out-dir out", "out", "out/ctxpack.stats.json"),
        ("compact in --out-dir out --report r.json", "out", "r.json"),
        (
            "compact in --out-dir out --report r.jsonl",
            "out",
            "r.jsonl",
        ),
        (
            "compact in/a.jsonl in/b.jsonl",
            "in",
            "in/a.compact.stats.json",
        ),
    ] {
        let place = Place::with(&[("in/a.jsonl", &before), ("in/b.jsonl", &before)]);
        place.run(command).exits(0);
        let store = place.path(&format!("{outputs}/.ctxpack"));
        fs::remove_dir_all(&store).unwrap();
        // Where folders are spelled otherwise, names and bytes are the same.
        let other = command
            .replace("in/", "./in/")
            .replace("out-dir out", "out-dir ./out");
        place.run(&other).exits(0).says(&["2 compacted"]);
        let endings = [".jsonl", ".compact.jsonl"];
        let output = |name: &str| {
            let paths = endings.map(|ending| format!("{outputs}/{name}{ending}"));
            let is_output = |path: &&String| *path != &format!("in/{name}.jsonl");
            let found = paths
                .iter()
                .filter(is_output)
                .find(|path| place.path(path).exists());
            found.unwrap().clone()
        };
        // Not what somebody has changed, nor where no report says it.
        fs::remove_dir_all(&store).unwrap();
        place.append(&output("a"), "{\"role\":\"user\",\"content\":\"more\"}\n");
        let changed = place.read(&output("a"));
        let says = "and neither the store nor a report shows that ctxpack wrote it";
        place.run(command).exits(3).says(&[says, "--overwrite"]);
        assert!(place.read(&output("a")) == changed);
        fs::remove_dir_all(&store).unwrap();
        fs::remove_file(place.path(report)).unwrap();
        let unknown = place.run(command).exits(3);
        let both = [output("a"), output("b")];
        let told = both
            .iter()
            .filter(|path| unknown.err.contains(&***path))
            .count();
        assert!(
            told >= 1 && place.read(&both[0]) == changed,
            "{}",
            unknown.err
        );
    }
}

#[test]
fn a_file_is_compacted_beside_itself_with_its_report() {
    for (format, before, after) in samples() {
        let place = Place::with(&[("in.jsonl", &before)]);
        let ran = place
            .run("compact in.jsonl")
            .exits(0)
            .says(&["in.jsonl", "compacted"]);
        assert_eq!(ran.text(), "", "{format}");
        assert_eq!(
            place.files(),
            ["in.compact.jsonl", "in.compact.stats.json", "in.jsonl"]
        );
        assert_eq!(place.text("in.jsonl"), before, "{format}");
        assert_eq!(place.text("in.compact.jsonl"), after, "{format}");
        let file = &place.json("in.compact.stats.json")["files"][0];
        assert_eq!(file["format"], format);
        assert_eq!(file["status"], "compacted");
        assert_eq!(file["output"], "in.compact.jsonl");
    }
}

#[test]
fn a_named_output_gets_its_report_beside_it() {
    let (before, after) = sample();
    let place = Place::with(&[("in.jsonl", &before)]);
    place
        .run("compact in.jsonl -o new/folder/out.jsonl")
        .exits(0);
    assert_eq!(
        place.files(),
        [
            "in.jsonl",
            "new/folder/out.jsonl",
            "new/folder/out.stats.json"
        ]
    );
    assert_eq!(place.text("new/folder/out.jsonl"), after);
}

#[test]
fn a_dash_writes_to_standard_output_and_nothing_else() {
    let (before, after) = sample();
    let place = Place::with(&[("in.jsonl", &before)]);
    let ran = place
        .run("compact in.jsonl -o -")
        .exits(0)
        .says(&["compacted"]);
    assert_eq!(ran.text(), after);
    assert_eq!(place.names(), ["in.jsonl"]);
}

#[test]
fn an_output_folder_keeps_the_tree_with_one_report_at_its_top() {
    let (before, after) = sample();
    let place = Place::with(&[
        ("in/a.jsonl", &before),
        ("in/deep/er/b.jsonl", &before),
        ("other.txt", &before),
    ]);
    place.run("compact in other.txt --out-dir out").exits(0);
    let written = [
        "out/a.jsonl",
        "out/ctxpack.stats.json",
        "out/deep/er/b.jsonl",
        "out/other.txt",
    ];
    assert_eq!(place.files()[3..], written);
    for name in ["out/a.jsonl", "out/deep/er/b.jsonl", "out/other.txt"] {
        assert_eq!(place.text(name), after, "{name}");
    }
    let report = place.json("out/ctxpack.stats.json");
    assert_eq!(report["totals"]["compacted"], 3);
    assert_eq!(report["files"][1]["input"], "in/deep/er/b.jsonl");
}

#[test]
fn a_stream_goes_through_and_leaves_nothing_behind() {
    let (before, after) = sample();
    for args in ["compact", "compact -", "compact - -o -"] {
        let place = Place::new();
        let ran = place.pipe(args, &before).exits(0);
        assert_eq!(ran.text(), after, "{args}");
        assert!(place.all_files().is_empty(), "{args}");
    }
}

/// Eight results, of which the fourth is oversize by the policy that `--set` makes.
fn with_an_oversize_result() -> String {
    anthropic_of((0..KEPT + 3).map(|i| output(i).repeat(if i == 4 { 4 } else { 1 })))
}

#[test]
fn what_only_a_store_could_give_back_stays_in_a_stream() {
    let before = with_an_oversize_result();
    let after = {
        let mut lines: Vec<&str> = before.lines().collect();
        let cleared = anthropic(KEPT + 3, 3);
        let cleared: Vec<&str> = cleared.lines().collect();
        // A line of the prompt, and two for each of the three results that are cleared.
        lines[..7].copy_from_slice(&cleared[..7]);
        lines.join("\n") + "\n"
    };
    let place = Place::new();
    let args = "compact - --set demote.min_tokens=1000";
    assert_eq!(place.pipe(args, &before).exits(0).text(), after);

    let kept = place
        .pipe(&format!("{args} --store store"), &before)
        .exits(0);
    assert!(
        kept.text()
            .contains("Output too large. Saved to: store/offloaded/")
    );
    let stored = place.all_files();
    let contents: Vec<_> = stored
        .iter()
        .filter(|(name, _)| name.contains("offloaded/"))
        .collect();
    assert_eq!(contents.len(), 1);
    assert_eq!(contents[0].1, output(4).repeat(4).as_bytes());
}

#[test]
fn a_stream_that_has_a_store_can_be_undone() {
    let (before, after) = sample();
    for packed in [before.clone().into_bytes(), gzip(&before), zstd(&before)] {
        let place = Place::new();
        place
            .pipe("compact - --store store -o out", &packed)
            .exits(0);
        if packed == before.as_bytes() {
            assert_eq!(place.text("out"), after);
        }
        place.run("undo out --store store -o back").exits(0);
        assert_eq!(place.read("back"), packed);
    }
}

#[test]
fn its_own_output_is_replaced_without_a_flag() {
    let (before, after) = sample();
    let place = Place::with(&[("in.jsonl", &before)]);
    place.run("compact in.jsonl").exits(0);
    place.run("compact in.jsonl --set clear.keep=4").exits(0);
    assert_eq!(place.text("in.compact.jsonl"), anthropic(KEPT + 3, 4));
    place.run("compact in.jsonl").exits(0);
    assert_eq!(place.text("in.compact.jsonl"), after);
}

#[test]
fn an_output_that_was_edited_is_kept_and_the_rest_is_done() {
    let (before, after) = sample();
    let place = Place::with(&[("a.jsonl", &before), ("b.jsonl", &before)]);
    place.run("compact a.jsonl b.jsonl").exits(0);
    place.append(
        "a.compact.jsonl",
        "{\"role\":\"user\",\"content\":\"my note\"}\n",
    );
    let edited = place.text("a.compact.jsonl");

    let again = "compact a.jsonl b.jsonl --set clear.keep=4";
    place.run(again).exits(3).says(&[
        "a.jsonl: a.compact.jsonl: this output has changed since ctxpack wrote it",
        "hint: --overwrite replaces it",
        "b.jsonl  compacted",
    ]);
    assert_eq!(place.text("a.compact.jsonl"), edited);
    assert_eq!(place.text("b.compact.jsonl"), anthropic(KEPT + 3, 4));

    place.run("compact a.jsonl b.jsonl --overwrite").exits(0);
    assert_eq!(place.text("a.compact.jsonl"), after);
}

#[test]
fn files_of_others_are_never_replaced() {
    let (before, _) = sample();
    for (args, name) in [
        ("compact in.jsonl", "in.compact.jsonl"),
        ("compact in.jsonl -o notes.txt", "notes.txt"),
        ("compact in.jsonl --out-dir out", "out/in.jsonl"),
    ] {
        let place = Place::with(&[("in.jsonl", before.as_str()), (name, "mine")]);
        place
            .run(args)
            .exits(3)
            .says(&[name, "a file of that name exists", "hint: --overwrite"]);
        assert_eq!(place.text(name), "mine", "{args}");
    }
}

#[test]
fn outputs_that_would_be_one_file_are_refused_before_anything_is_written() {
    let (before, _) = sample();
    let place = Place::with(&[
        ("a/x.jsonl", &before),
        ("b/x.jsonl", &before),
        ("in/a/x.jsonl", &before),
        ("o/a/x.jsonl", &before),
        ("x.jsonl", &before),
    ]);
    let untouched = place.all_files();
    for (args, message) in [
        (
            "compact a/x.jsonl b/x.jsonl --out-dir out",
            "the outputs of a/x.jsonl and of b/x.jsonl would be the same file",
        ),
        (
            "compact a b --out-dir out",
            "the outputs of a/x.jsonl and of b/x.jsonl would be the same file",
        ),
        (
            "compact a/x.jsonl b/x.jsonl -o out.jsonl",
            "-o takes one input, not 2",
        ),
        (
            "compact a/x.jsonl b/x.jsonl -o -",
            "-o takes one input, not 2",
        ),
        (
            "compact x.jsonl -o ./x.jsonl --overwrite",
            "x.jsonl: the output would replace its own input",
        ),
        (
            "compact in o/a/x.jsonl --out-dir o --overwrite",
            "o/a/x.jsonl: the output of in/a/x.jsonl would overwrite this input",
        ),
    ] {
        place.run(args).exits(2).says(&[message, "hint: "]);
        assert_eq!(place.all_files(), untouched, "{args}");
    }
}

#[cfg(unix)]
mod unix {
    use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

    use super::*;

    #[test]
    fn an_output_is_as_open_as_its_input() {
        let (before, _) = sample();
        for mode in [0o600, 0o640, 0o664] {
            let place = Place::with(&[("in.jsonl", &before)]);
            fs::set_permissions(place.path("in.jsonl"), fs::Permissions::from_mode(mode)).unwrap();
            place.run("compact in.jsonl").exits(0);
            let output = fs::metadata(place.path("in.compact.jsonl")).unwrap();
            assert_eq!(output.mode() & 0o7777, mode);
            let store = fs::metadata(place.path(".ctxpack")).unwrap();
            assert_eq!(store.mode() & 0o7777, 0o700);
        }
    }

    #[test]
    fn an_output_does_not_go_through_a_link() {
        let (before, _) = sample();
        let place = Place::with(&[("in.jsonl", before.as_str()), ("far/real.jsonl", "old")]);
        symlink("far/real.jsonl", place.path("out.jsonl")).unwrap();
        for dry in ["", " --dry-run"] {
            place
                .run(&format!("compact in.jsonl -o out.jsonl --overwrite{dry}"))
                .exits(3)
                .says(&["out.jsonl: the output path is a link", "hint: "]);
        }
        assert!(
            fs::symlink_metadata(place.path("out.jsonl"))
                .unwrap()
                .is_symlink()
        );
        assert_eq!(place.text("far/real.jsonl"), "old");
        assert_eq!(place.files(), ["far/real.jsonl", "in.jsonl", "out.jsonl"]);
    }

    #[test]
    fn an_output_with_another_name_is_not_torn_from_it() {
        let (before, _) = sample();
        let place = Place::with(&[("in.jsonl", before.as_str()), ("out.jsonl", "old")]);
        fs::hard_link(place.path("out.jsonl"), place.path("other")).unwrap();
        place
            .run("compact in.jsonl -o out.jsonl --overwrite")
            .exits(3)
            .says(&["out.jsonl", "hard links", "hint: "]);
        assert_eq!(
            (place.text("out.jsonl"), place.text("other")),
            ("old".into(), "old".into())
        );
    }

    #[test]
    fn what_a_killed_run_left_half_written_is_removed() {
        let (before, _) = sample();
        let place = Place::with(&[
            ("in.jsonl", before.as_str()),
            (".ctxpack-0123456789abcdefc24bc12c.tmp", "half"),
            (
                ".ctxpack/archive/.ctxpack-0123456789abcdefc24bc12c.tmp",
                "half",
            ),
            (".ctxpack-notes.tmp", "mine"),
            // As somebody may call a file of theirs.
            (".ctxpack-abcdef.tmp", "mine"),
        ]);
        place.run("compact in.jsonl --dry-run").exits(0);
        assert!(place.path(".ctxpack-0123456789abcdefc24bc12c.tmp").exists());
        place.run("compact in.jsonl").exits(0);
        let left: Vec<_> = place
            .names()
            .into_iter()
            .filter(|name| name.ends_with(".tmp"))
            .collect();
        assert_eq!(left, [".ctxpack-abcdef.tmp", ".ctxpack-notes.tmp"]);
    }
}

#[test]
fn no_report_takes_the_place_of_a_transcript() {
    let place = Place::with(&[("a.jsonl", sample().0), ("in/b.jsonl", sample().0)]);
    let replaces = "the report would replace an input or an output of this run";
    for (args, said) in [
        ("compact a.jsonl --report a.jsonl", replaces),
        ("compact a.jsonl -o r.json --report ./r.json", replaces),
        (
            "compact in --out-dir o --report in/b.jsonl",
            "may be a transcript",
        ),
    ] {
        place
            .run(&format!("{args} --overwrite"))
            .exits(2)
            .says(&[said]);
    }
    assert_eq!(place.text("a.jsonl"), sample().0);
    assert_eq!(place.text("in/b.jsonl"), sample().0);
    // What is empty holds nothing that could be lost.
    place.write("r.jsonl", "");
    place
        .run("compact a.jsonl -n --report r.jsonl --overwrite")
        .exits(0);
}

#[test]
fn the_end_of_a_run_says_where_everything_is() {
    let place = Place::new();
    for name in ["a", "b"] {
        place.write(&format!("in/{name}.jsonl"), anthropic(9, 3));
    }
    let ended = |command: &str| {
        let ran = place.run(command).exits(0);
        let lines: Vec<String> = ran.err.lines().map(str::to_owned).collect();
        lines[lines.len() - 2..].to_vec()
    };
    assert_eq!(
        ended("compact in --out-dir small"),
        ["written to small", "report: small/ctxpack.stats.json"]
    );
    assert_eq!(
        ended("compact in --out-dir other --report r.html --report r.csv"),
        ["written to other", "reports: r.html r.csv"]
    );
    let beside = "each output is beside its input, with .compact in its name";
    assert_eq!(
        ended("compact in --report r.json"),
        [beside, "report: r.json"]
    );
    let undo = "ctxpack undo with the same paths restores the originals";
    assert_eq!(
        ended("compact --in-place in --report in.md"),
        [undo, "report: in.md"]
    );
    // Nothing was written.
    for flags in ["--dry-run", "--quiet"] {
        let ran = place.run(&format!("compact in --out-dir none {flags}"));
        assert!(!ran.exits(0).err.contains("written to"));
    }
}

#[test]
fn an_output_that_was_changed_is_said_to_be_so() {
    let place = Place::new();
    place.write("a.jsonl", anthropic(9, 3));
    place.run("compact a.jsonl").exits(0);
    place.append("a.compact.jsonl", "{}\n");
    place
        .run("compact a.jsonl")
        .exits(3)
        .says(&["this output has changed since ctxpack wrote it", "is lost"]);
}

#[test]
fn the_transcript_and_the_report_do_not_share_standard_output() {
    let place = Place::new();
    let ran = place.pipe("compact - --json", anthropic(9, 3));
    ran.exits(2).says(&["cannot write both"]);
    let dry = place.pipe("compact - --json --dry-run", anthropic(9, 3));
    assert!(dry.exits(0).text().starts_with('{'));
}
