//! Errors: the exit code and the message; nothing is lost, and other inputs are processed.

use serde_json::{Value, json};

use super::harness::{Place, gzip, orphan, sample};

/// A folder with one good transcript.
fn place() -> Place {
    Place::with(&[("in.jsonl", sample().0)])
}

/// A run that ends before its first input: exit code 2, a hint, and nothing written.
#[track_caller]
fn refused(place: &Place, args: &str, parts: &[&str]) {
    let before = place.all_files();
    let ran = place.run(args).exits(2).says(parts);
    assert_eq!(ran.text(), "");
    assert_eq!(place.all_files(), before, "{args}");
}

#[test]
fn a_missing_file_alone_stops_the_run() {
    let place = place();
    let near = "hint: did you mean \"in.jsonl\"?";
    refused(
        &place,
        "compact inn.jsonl",
        &["inn.jsonl: no such file or folder", near],
    );
    refused(&place, "compact in", &["in: no such file or folder", near]);
    refused(
        &place,
        "compact far/away.jsonl",
        &["far/away.jsonl: no such file or folder", "hint: "],
    );
    refused(
        &place,
        "compact a.jsonl b.jsonl c/*.jsonl",
        &["a.jsonl: no such file or folder; b.jsonl, c/*.jsonl could not be read either"],
    );
}

#[test]
fn a_missing_file_among_others_does_not() {
    let place = place();
    let ran = place
        .run("compact gone.jsonl in.jsonl --report r.json")
        .exits(3);
    let ran = ran.says(&[
        "gone.jsonl: no such file or folder",
        "hint: ",
        "1 compacted, 1 failed",
    ]);
    assert_eq!(ran.err.matches("gone.jsonl: no such file").count(), 1);
    assert_eq!(place.text("in.compact.jsonl"), sample().1);
    let report = place.json("r.json");
    assert_eq!(
        report["files"][0]["error"],
        json!({"kind": "not_found", "message": "no such file or folder", "line": null})
    );
}

#[test]
fn a_folder_without_transcripts_stops_the_run() {
    let place = Place::with(&[("notes/readme.txt", "nothing here")]);
    refused(
        &place,
        "compact notes",
        &[
            "notes: no transcript below this folder",
            "hint: transcripts are files that end in .jsonl",
        ],
    );
}

#[test]
fn a_policy_that_does_not_exist_is_met_with_the_nearest_name() {
    let place = place();
    refused(
        &place,
        "compact in.jsonl --policy atuo",
        &["unknown policy atuo", "hint: did you mean auto?"],
    );
    refused(
        &place,
        "compact in.jsonl --policy ./my.toml",
        &["./my.toml: cannot read the policy"],
    );
}

#[test]
fn a_key_that_does_not_exist_is_met_with_the_nearest_key() {
    let place = place();
    refused(
        &place,
        "compact in.jsonl --set claer.keep=3",
        &[
            "unknown policy key claer.keep",
            "hint: did you mean clear.keep?",
        ],
    );
    refused(
        &place,
        "compact in.jsonl --set clear.keep",
        &["--set takes KEY=VALUE", "hint: "],
    );
    refused(
        &place,
        "compact in.jsonl --set clear.keep=many",
        &["clear.keep takes a whole number", "not many"],
    );
}

#[test]
fn a_fault_in_a_policy_file_is_named_with_its_line() {
    for (text, parts) in [
        (
            "[clear]\nkeep = \"x\"\n",
            ["my.toml:2: clear.keep takes a whole number", "not \"x\""],
        ),
        (
            "\n\n[clear]\nkepe = 3\n",
            [
                "my.toml:4: unknown policy key clear.kepe",
                "hint: did you mean clear.keep?",
            ],
        ),
        ("[clear\n", ["my.toml:1: not TOML", "my.toml"]),
        (
            "extends = \"atuo\"\n",
            ["my.toml:1: unknown policy atuo", "hint: did you mean auto?"],
        ),
    ] {
        let place = place();
        place.write("my.toml", text);
        refused(&place, "compact in.jsonl --policy my.toml", &parts);
    }
}

#[test]
fn a_format_that_does_not_exist_is_met_with_those_that_do() {
    let hint = "hint: did you mean \"anthropic\"? known formats: anthropic, openai, claude-code";
    for command in ["compact", "verify"] {
        let args = format!("{command} in.jsonl --input-format antropic");
        refused(&place(), &args, &["unknown format \"antropic\"", hint]);
    }
}

#[test]
fn flags_that_contradict_each_other_stop_the_run() {
    for args in [
        "compact in.jsonl -o out.jsonl --out-dir out",
        "compact in.jsonl --frobnicate",
        "compact in.jsonl -j many",
        "undo",
        "frobnicate",
    ] {
        refused(&place(), args, &["error: "]);
    }
    // A list that came out empty is no history that is in order.
    refused(&place(), "verify", &["no input was named", "hint: "]);
    refused(
        &place(),
        "compact - --out-dir out",
        &["standard input has no file name", "hint: use -o FILE"],
    );
}

#[test]
fn a_folder_where_a_file_is_meant_stops_the_run() {
    let place = place();
    place.write("folder/x", "");
    let hint = "hint: --out-dir DIR writes into a folder";
    refused(
        &place,
        "compact in.jsonl -o folder",
        &["folder: -o needs a file, and this is a folder", hint],
    );
    refused(
        &place,
        "compact in.jsonl -o folder --overwrite",
        &["folder: -o needs a file, and this is a folder", hint],
    );
    refused(
        &place,
        "compact in.jsonl --out-dir folder/x",
        &["folder/x: --out-dir names a file", "hint: "],
    );
}

#[test]
fn a_path_that_is_spelled_like_a_folder_is_no_file() {
    let place = place();
    place.run("compact in.jsonl").exits(0);
    let before = place.all_files();
    let said = "new/: -o needs a file, and this is a folder";
    for (args, said) in [
        ("compact in.jsonl -o new/", said),
        ("compact in.jsonl -o new/ --dry-run", said),
        (
            "compact in.jsonl -o new/sub/.",
            "new/sub/.: -o needs a file",
        ),
        ("undo in.compact.jsonl -o new/", said),
        (
            "report in.compact.stats.json -o new.csv/",
            "new.csv/: a report needs a file",
        ),
        (
            "compact in.jsonl -o out.jsonl --report new.html/",
            "new.html/: a report needs a file",
        ),
        ("policy init new/", "new/: a policy needs a file"),
    ] {
        place.run(args).exits(2).says(&[said, "hint: "]);
        assert_eq!(place.all_files(), before, "{args}");
        assert!(!place.path("new").exists(), "{args}");
    }
}

#[test]
fn a_damaged_archive_fails_alone_and_leaves_no_output() {
    let (before, after) = sample();
    let packed = gzip(&before);
    let place = Place::with(&[
        ("a.jsonl.gz", &packed[..packed.len() / 2]),
        ("b.jsonl.zst", b"\x28\xb5\x2f\xfd not at all"),
        ("c.jsonl", before.as_bytes()),
    ]);
    place.run("compact .").exits(3).says(&[
        "./a.jsonl.gz: cannot unpack: ",
        "./b.jsonl.zst: cannot unpack: ",
        "hint: the file is damaged, or was still being written",
    ]);
    assert_eq!(
        place.files(),
        [
            "a.jsonl.gz",
            "b.jsonl.zst",
            "c.compact.jsonl",
            "c.compact.stats.json",
            "c.jsonl"
        ]
    );
    assert_eq!(place.text("c.compact.jsonl"), after);
}

#[test]
fn a_small_file_that_unpacks_to_very_much_is_stopped() {
    let place = Place::with(&[(
        "bomb.jsonl.gz",
        gzip([&[b' '; 1023][..], b"\n"].concat().repeat(80 << 10)),
    )]);
    place
        .run("compact bomb.jsonl.gz")
        .exits(3)
        .says(&["bomb.jsonl.gz: unpacks to more than 200 times", "hint: "]);
    assert_eq!(place.files(), ["bomb.jsonl.gz"]);
}

#[test]
fn garbage_and_nothing_pass_through() {
    let place = Place::with(&[
        ("garbage.jsonl", b"\xff\x00\x1b[31m\n{{{{".as_slice()),
        ("empty.jsonl", b""),
    ]);
    place.run("compact .").exits(0).says(&["2 unsupported"]);
    for name in ["garbage", "empty"] {
        assert_eq!(
            place.read(&format!("{name}.compact.jsonl")),
            place.read(&format!("{name}.jsonl"))
        );
    }
}

#[test]
fn a_failed_input_weighs_more_than_a_failed_check() {
    let place = Place::with(&[
        ("a.jsonl", orphan().as_bytes()),
        ("b.jsonl.gz", &gzip("x".repeat(99))[..20]),
    ]);
    place.run("verify a.jsonl").exits(1);
    place.run("verify b.jsonl.gz").exits(3);
    place.run("verify a.jsonl b.jsonl.gz").exits(3);
    place
        .run("verify a.jsonl gone.jsonl")
        .exits(3)
        .says(&["gone.jsonl: no such file"]);
}

#[test]
fn errors_as_json_say_the_same_in_fields() {
    let place = place();
    place.write("out.jsonl", "mine");
    place.write("my.toml", "[clear]\nkepe = 3\n");
    for (args, code, expected) in [
        (
            "compact inn.jsonl",
            2,
            json!({"kind": "not_found", "message": "no such file or folder", "file": "inn.jsonl", "line": null, "hint": "did you mean \"in.jsonl\"?"}),
        ),
        (
            "compact in.jsonl --policy my.toml",
            2,
            json!({"kind": "config", "message": "unknown policy key clear.kepe", "file": "my.toml", "line": 2, "hint": "did you mean clear.keep?"}),
        ),
        (
            "compact in.jsonl -o out.jsonl -q",
            3,
            json!({"kind": "exists", "message": "out.jsonl: a file of that name exists, and neither the store nor a report shows that ctxpack wrote it", "file": "in.jsonl", "line": null, "hint": "--overwrite replaces it; -o or --out-dir writes elsewhere"}),
        ),
        (
            "compact --history drip in.jsonl",
            2,
            json!({"kind": "usage", "message": "invalid value 'drip' for '--history <drop|keep>'\n  [possible values: drop, keep]", "file": null, "line": null, "hint": "tip: a similar value exists: 'drop' For more information, try '--help'."}),
        ),
        (
            "undo in.jsonl",
            2,
            json!({"kind": "store", "message": "found no store beside this file or in a parent folder", "file": "in.jsonl", "line": null, "hint": "name the store of the run that wrote it with --store"}),
        ),
    ] {
        let ran = place
            .run(&format!("--error-format json {args}"))
            .exits(code);
        let lines: Vec<Value> = ran
            .err
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        assert_eq!(lines, [expected], "{args}");
    }
}

#[test]
fn a_quiet_run_says_nothing_but_errors() {
    let place = place();
    assert_eq!(place.run("compact in.jsonl -q").exits(0).err, "");
    assert_eq!(place.run("undo in.compact.jsonl -q").exits(0).err, "");
    let ran = place
        .run("compact in.jsonl gone.jsonl -q --overwrite")
        .exits(3);
    assert_eq!(ran.err.lines().count(), 2, "{}", ran.err);
}

#[test]
fn warnings_are_shown_to_those_who_ask() {
    let place = place();
    place.append("in.jsonl", "not json\n");
    place.append("in.jsonl", "{\"a\":1,\"a\":2}\n");
    let bad = "in.jsonl:20: warning: lines that cannot be read were passed through\n";
    let (said, odd) = (
        "in.jsonl:20: warning: not JSON: ",
        "in.jsonl:21: warning: a key twice",
    );
    let loud = place.run("compact in.jsonl -v").exits(0);
    let _ = loud.says(&[said, odd, bad]);
    let ran = place.run("compact in.jsonl").exits(0).says(&[bad]);
    assert!(
        !ran.err.contains(said) && !ran.err.contains(odd),
        "{}",
        ran.err
    );
}

#[cfg(unix)]
mod unix {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, chown};

    use super::*;

    /// Who is refused what a mode refuses: `setpriv` and another user for root, nobody else for all others.
    fn as_somebody(place: &Place) -> Option<&'static str> {
        if place.shell("test $(id -u) -ne 0").code == Some(0) {
            return Some("");
        }
        let other = "setpriv --reuid 65534 --clear-groups ";
        if place.shell(&format!("{other} true")).code != Some(0) {
            return None;
        }
        let give = |name: &str| chown(place.path(name), Some(65534), None).unwrap();
        give("");
        place.all_files().keys().for_each(|name| give(name));
        Some(other)
    }

    fn set_mode(place: &Place, name: &str, mode: u32) {
        fs::set_permissions(place.path(name), fs::Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn an_unreadable_file_fails_alone() {
        let (before, after) = sample();
        let place = Place::with(&[("a.jsonl", &before), ("b.jsonl", &before)]);
        let Some(prefix) = as_somebody(&place) else {
            return;
        };
        set_mode(&place, "a.jsonl", 0o000);
        let ran = place.shell(&format!("{prefix}\"$CTXPACK\" compact a.jsonl b.jsonl"));
        ran.exits(3).says(&[
            "a.jsonl: cannot open: Permission denied",
            "1 compacted, 1 failed",
        ]);
        assert_eq!(place.text("b.compact.jsonl"), after);
        assert!(!place.path("a.compact.jsonl").exists());
    }

    #[test]
    fn a_read_only_folder_fails_alone() {
        let (before, after) = sample();
        let place = Place::with(&[("shut/a.jsonl", &before), ("open/b.jsonl", &before)]);
        let Some(prefix) = as_somebody(&place) else {
            return;
        };
        chown_folders(&place);
        set_mode(&place, "shut", 0o555);
        let ran = place.shell(&format!(
            "{prefix}\"$CTXPACK\" compact shut/a.jsonl open/b.jsonl"
        ));
        set_mode(&place, "shut", 0o755);
        ran.exits(3).says(&[
            "shut/a.jsonl: ",
            "Permission denied",
            "1 compacted, 1 failed",
        ]);
        assert_eq!(place.text("open/b.compact.jsonl"), after);
        assert!(
            !place
                .files()
                .iter()
                .any(|name| name.starts_with("shut/") && name != "shut/a.jsonl")
        );
    }

    #[test]
    fn a_command_gives_advice_that_it_has_flags_for() {
        let place = Place::with(&[("shut/a.jsonl", "")]);
        let Some(prefix) = as_somebody(&place) else {
            return;
        };
        let _ = chown(place.path("shut"), Some(65534), None);
        set_mode(&place, "shut", 0o555);
        for args in ["man shut/man", "policy init shut/policy.toml"] {
            let ran = place.shell(&format!("{prefix}\"$CTXPACK\" {args}"));
            let ran = ran.exits(2).says(&["Permission denied", "hint: name a f"]);
            assert!(!ran.err.contains("--out-dir"), "{}", ran.err);
        }
        set_mode(&place, "shut", 0o755);
    }

    fn chown_folders(place: &Place) {
        for name in ["shut", "open"] {
            // Who is not root owns them already.
            let _ = chown(place.path(name), Some(65534), None);
        }
    }

    #[test]
    fn more_threads_than_file_handles_are_no_fault() {
        let (before, after) = sample();
        let place = Place::new();
        for i in 0..100 {
            place.write(&format!("in/{i}.jsonl"), &before);
        }
        let ran = place.shell("ulimit -n 24; \"$CTXPACK\" compact in --out-dir out -j 64");
        ran.exits(0).says(&["100 compacted"]);
        for i in 0..100 {
            assert_eq!(place.text(&format!("out/{i}.jsonl")), after);
        }
    }

    #[test]
    fn a_full_disk_fails_what_does_not_fit() {
        let place = Place::with(&[("a.jsonl", "x\n".repeat(2 << 20)), ("b.jsonl", sample().0)]);
        let mount = "mkdir full && unshare -rm sh -c 'mount -t tmpfs -o size=1m none full &&";
        if place.shell(&format!("{mount} true'")).code != Some(0) {
            return;
        }
        fs::remove_dir(place.path("full")).unwrap();
        let run = "\"$CTXPACK\" compact a.jsonl b.jsonl --out-dir full; code=$?; find full -type f -size +0 >found; exit $code'";
        place.shell(&format!("{mount} {run}")).exits(3).says(&[
            "a.jsonl: cannot write the output: No space left on device",
            "1 compacted, 1 failed",
        ]);
        let found = place.text("found");
        assert!(
            found.contains("full/b.jsonl\n")
                && !found.contains("full/a.jsonl")
                && !found.contains(".tmp"),
            "{found}"
        );
    }

    #[test]
    fn a_full_standard_output_is_a_fault() {
        let place = place();
        place
            .shell("\"$CTXPACK\" compact in.jsonl -o - >/dev/full")
            .exits(3)
            .says(&["cannot write the output"]);
        place
            .shell("\"$CTXPACK\" compact - <in.jsonl >/dev/full")
            .exits(3)
            .says(&["cannot write the output"]);
        place.write("bad.jsonl", orphan());
        for args in [
            "verify bad.jsonl",
            "--version",
            "-h",
            "compact --help",
            "help keys",
        ] {
            place
                .shell(&format!("\"$CTXPACK\" {args} >/dev/full"))
                .exits(2)
                .says(&["cannot write to standard output"]);
            place
                .shell(&format!(
                    "\"$CTXPACK\" --error-format json {args} >/dev/full"
                ))
                .exits(2)
                .says(&["{\"kind\":\"io\",\"message\":\"cannot write to standard output"]);
        }
    }
}

#[test]
fn what_the_system_refuses_comes_with_a_remedy() {
    let place = place();
    place.write("list", b"\xff\n");
    for (args, parts) in [
        (
            "undo nope",
            ["nope: no such file or folder", "hint: check the path"],
        ),
        (
            "compact --files-from gone",
            [
                "gone: cannot read the list of files",
                "hint: check the path",
            ],
        ),
        (
            "compact --files-from list",
            ["\\xFF: no such file or folder", "hint: check the path"],
        ),
        (
            "compact *.nothing",
            ["no file matches this pattern", "hint: * does not match"],
        ),
        (
            "compact in.jsonl --policy list/my.toml",
            [
                "cannot read the policy",
                "hint: check the path: there is a file",
            ],
        ),
    ] {
        refused(&place, args, &parts);
    }
}
