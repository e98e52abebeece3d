//! `undo` of folders and patterns: every output comes back, nothing else changes, and the report beside an output goes with it.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown, symlink};

use super::harness::{Place, anthropic, gzip, sample};

/// Files that were compacted in place, and some that ctxpack does not know.
fn place() -> Place {
    let place = Place::with(&[
        ("in/a.jsonl", anthropic(7, 0)),
        ("in/deep/b.jsonl", anthropic(8, 0)),
        ("in/small.jsonl", anthropic(1, 0)),
        ("in/notes.txt", "mine\n".to_owned()),
        ("in/mine.json", "{}\n".to_owned()),
    ]);
    place.write("in/packed.jsonl.gz", gzip(anthropic(9, 0)));
    place
}

#[test]
fn a_folder_is_as_it_was_before() {
    let place = place();
    let before = place.all_files();
    place.run("compact --in-place in/").exits(0);
    assert!(place.path("in/a.stats.json").exists());
    place.run("undo in/").exits(0).says(&[
        "3 files restored, ",
        "in/small.jsonl: not an output of ctxpack; left as it is\n",
    ]);
    let mut after = place.all_files();
    after.retain(|name, _| !name.contains(".ctxpack/"));
    assert_eq!(after, before);
    place
        .run("undo in/")
        .exits(0)
        .says(&["nothing was restored"]);
}

#[test]
fn a_dry_run_checks_the_originals_and_writes_nothing() {
    let place = place();
    place.run("compact --in-place in/").exits(0);
    let compacted = place.all_files();
    place.run("undo --dry-run in/").exits(0).says(&[
        "3 files would be restored, ",
        "in/small.jsonl: not an output of ctxpack; left as it is\n",
    ]);
    place
        .run("undo -n in/a.jsonl")
        .exits(0)
        .says(&["in/a.jsonl: ", " bytes would be restored\n"]);
    let shown = place.run("undo -n --json in/a.jsonl").exits(0);
    let shown: serde_json::Value = serde_json::from_slice(&shown.out).unwrap();
    let bytes = anthropic(7, 0).len();
    assert_eq!(
        shown["files"][0],
        serde_json::json!({"file": "in/a.jsonl", "result": "would_restore", "bytes": bytes, "bytes_discarded": 0})
    );
    assert_eq!(place.all_files(), compacted);
    // What a run refuses, a dry run refuses.
    let linked = place.path("linked.jsonl");
    fs::hard_link(place.path("in/a.jsonl"), &linked).unwrap();
    place
        .run("undo -n in/a.jsonl")
        .exits(2)
        .says(&["2 hard links"]);
    fs::remove_file(linked).unwrap();
    let archives = compacted.keys().filter(|name| name.contains("archive/"));
    archives.for_each(|name| place.write(name, "damaged"));
    let before = place.all_files();
    place.run("undo -n in/").exits(3);
    assert_eq!(place.all_files(), before);
    place.run("undo -n in/a.jsonl -o x.jsonl").exits(2);
}

#[test]
fn patterns_and_all_take_what_is_below() {
    for args in [
        "undo in/*.jsonl in/deep/*",
        "undo --all",
        "undo --all in",
        "undo in",
    ] {
        let place = Place::with(&[
            ("in/a.jsonl", anthropic(7, 0)),
            ("in/deep/b.jsonl", anthropic(8, 0)),
        ]);
        place.run("compact in").exits(0);
        assert_eq!(place.text("in/a.compact.jsonl"), anthropic(7, 2));
        place
            .run_args(&args.split(' ').collect::<Vec<_>>())
            .exits(0);
        assert_eq!(place.text("in/a.compact.jsonl"), anthropic(7, 0), "{args}");
        assert_eq!(
            place.text("in/deep/b.compact.jsonl"),
            anthropic(8, 0),
            "{args}"
        );
        assert!(!place.path("in/a.compact.stats.json").exists(), "{args}");
        assert!(
            !place.path("in/deep/b.compact.stats.json").exists(),
            "{args}"
        );
    }
    let place = Place::with(&[("in/a.jsonl", anthropic(7, 0))]);
    place.run("undo").exits(2).says(&["<PATHS>..."]);
    place
        .run("undo in/no*")
        .exits(2)
        .says(&["no file matches this pattern"]);
    place
        .run("undo in -o back")
        .exits(2)
        .says(&["-o takes one file, not a folder"]);
}

#[test]
fn an_output_of_any_name_is_found_by_its_record() {
    let place = Place::with(&[("in/a.jsonl", anthropic(7, 0))]);
    place.run("compact in/a.jsonl -o in/small.txt").exits(0);
    place.run("undo in").exits(0).says(&["1 file restored"]);
    assert_eq!(place.text("in/small.txt"), anthropic(7, 0));
    assert!(!place.path("in/small.txt.stats.json").exists());
}

#[test]
fn what_was_written_since_is_kept_and_said() {
    let place = place();
    place.run("compact --in-place in/ --no-report").exits(0);
    place.append("in/a.jsonl", "{\"role\":\"user\",\"content\":\"more\"}\n");
    let edited = place
        .text("in/deep/b.jsonl")
        .replace("All is well.", "All is lost.");
    place.write("in/deep/b.jsonl", &edited);
    let grown = place.text("in/a.jsonl");
    place.run("undo in").exits(3).says(&[
        "in/a.jsonl: the file has grown since it was compacted, by 33 bytes",
        "in/deep/b.jsonl: the file has changed since ctxpack wrote it",
        "1 file restored",
    ]);
    assert_eq!(place.text("in/a.jsonl"), grown);
    assert_eq!(place.text("in/deep/b.jsonl"), edited);
    place
        .run("undo in --discard-appended")
        .exits(3)
        .says(&["in/a.jsonl: ", "33 appended bytes discarded"]);
    assert_eq!(place.text("in/a.jsonl"), anthropic(7, 0));
    // An agent that goes on after an undo leaves nothing to undo.
    place.append(
        "in/a.jsonl",
        "{\"role\":\"assistant\",\"content\":\"more\"}\n",
    );
    place
        .run("undo in/a*")
        .exits(0)
        .says(&["in/a.jsonl: not an output of ctxpack"]);
}

#[test]
fn a_named_file_that_is_no_output_is_an_error_and_a_found_one_is_not() {
    let place = place();
    place.run("compact --in-place in/").exits(0);
    place
        .run("undo in/small.jsonl")
        .exits(2)
        .says(&["in/small.jsonl: no store has a record of this file"]);
    place.run("undo in/small.jsonl in").exits(3).says(&[
        "in/small.jsonl: no store has a record of this file",
        "3 files restored",
    ]);
}

#[test]
fn two_outputs_with_the_same_bytes_go_back_to_their_own_originals() {
    let (first, after) = sample();
    let second = first.replacen("line 0 of", "line 9 of", 1);
    let place = Place::with(&[
        ("in/a.jsonl", &first),
        ("in/b.jsonl", &second),
        ("in/c.jsonl", &first),
    ]);
    place.run("compact --in-place in").exits(0);
    assert_eq!(
        (place.text("in/a.jsonl"), place.text("in/b.jsonl")),
        (after.clone(), after)
    );
    place.run("undo in").exits(0).says(&["3 files restored"]);
    assert_eq!(place.text("in/a.jsonl"), first);
    assert_eq!(place.text("in/b.jsonl"), second);
    assert_eq!(place.text("in/c.jsonl"), first);
}

#[test]
fn a_report_on_more_or_on_other_bytes_stays() {
    let place = Place::with(&[("in/a.jsonl", anthropic(7, 0))]);
    place.write("in/a.jsonl.gz", gzip(anthropic(8, 0)));
    place.run("compact --in-place in").exits(0);
    place
        .run("undo in/a.jsonl")
        .exits(0)
        .says(&["in/a.jsonl: kept the report beside it: it also covers other files"]);
    assert!(place.path("in/a.stats.json").exists());

    // The second compaction has no report, so the first one's is not about it.
    let place = Place::with(&[("b.jsonl", anthropic(7, 0))]);
    place.run("compact --in-place b.jsonl").exits(0);
    place.write("b.jsonl", anthropic(9, 0));
    place.run("compact --in-place b.jsonl --no-report").exits(0);
    place
        .run("undo b.jsonl")
        .exits(0)
        .says(&["kept the report beside it: it describes a different result"]);
    assert!(place.path("b.stats.json").exists());

    // Of the same name, but not ours; and a link, which is not followed.
    let place = Place::with(&[("c.jsonl", anthropic(7, 0)), ("mine", "{}".to_owned())]);
    place.run("compact c.jsonl --no-report").exits(0);
    place.write("c.compact.stats.json", "{}");
    place.run("undo c.compact.jsonl").exits(0);
    assert_eq!(place.text("c.compact.stats.json"), "{}");
    place.run("compact c.jsonl").exits(3);
    place.run("compact c.jsonl --no-report").exits(0);
    fs::remove_file(place.path("c.compact.stats.json")).unwrap();
    symlink("mine", place.path("c.compact.stats.json")).unwrap();
    place.run("undo c.compact.jsonl").exits(0);
    assert_eq!(place.text("mine"), "{}");
    assert!(place.path("c.compact.stats.json").is_symlink());

    // Undone into another file: the output stays, and so does its report.
    let place = Place::with(&[("d.jsonl", anthropic(7, 0))]);
    place.run("compact d.jsonl").exits(0);
    place.run("undo d.compact.jsonl -o back").exits(0);
    assert!(place.path("d.compact.stats.json").exists());
}

#[test]
fn names_and_links_do_no_harm() {
    let (before, _) = sample();
    let name = "in/line\nbreak\u{1b}[31m.jsonl";
    let place = Place::with(&[(name, &before), ("out/victim.jsonl", &before)]);
    symlink(".", place.path("in/loop")).unwrap();
    symlink("../out", place.path("in/folder")).unwrap();
    symlink("self.jsonl", place.path("in/self.jsonl")).unwrap();
    symlink("../out/victim.jsonl", place.path("in/victim.jsonl")).unwrap();
    symlink("nowhere", place.path("in/broken.txt")).unwrap();
    place.run("compact --in-place in").exits(3);
    place.run("compact --in-place out").exits(0);
    let small = place.text("out/victim.jsonl");
    let ran = place.run("undo in").exits(3).says(&[
        "1 file restored",
        "in/victim.jsonl: the link leads out of the folder",
        "in/self.jsonl: cannot follow the link",
        "links to folders are not followed",
    ]);
    assert!(!ran.err.contains('\u{1b}'));
    assert_eq!(place.text(name), before);
    assert_eq!(place.text("out/victim.jsonl"), small);
}

#[test]
fn a_folder_that_cannot_be_listed_is_said_and_the_rest_comes_back() {
    let place = place();
    place.run("compact --in-place in").exits(0);
    let closed = place.path("in/deep");
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o000)).unwrap();
    let is_root = fs::read_dir(&closed).is_ok();
    let ran = place.run("undo in");
    // What cannot be written would not be restored.
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o555)).unwrap();
    let dry = place.run("undo -n in/deep/b.jsonl");
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o755)).unwrap();
    if is_root {
        return;
    }
    dry.exits(2).says(&["write to its folder"]);
    let _ = ran
        .exits(3)
        .says(&["in/deep: cannot list: ", "2 files restored"]);
    place.run("undo in").exits(0).says(&["1 file restored"]);
}

/// Time grows with the number of files: a slip that lists a folder or walks all records once a file takes minutes here.
#[test]
fn thousands_of_files_come_back() {
    const FILES: usize = 5_000;
    let place = Place::in_memory();
    let content = anthropic(6, 0).replace(" of the output", "");
    for n in 0..FILES {
        place.write(
            &format!("in/{n}.jsonl"),
            content.replacen("Please", &format!("{n}: please"), 1),
        );
    }
    place
        .run("compact --in-place in --no-report --set clear.min_tokens=1")
        .exits(0);
    // If each file had all records read, this would take many minutes.
    place
        .run("undo in")
        .exits(0)
        .says(&["5 000 files restored"]);
    assert!(place.text("in/4711.jsonl").contains("4711: please"));
}

/// Nobody named the files below a folder: a store that others could have put above it lets nothing there be replaced.
#[test]
fn a_store_above_the_folder_gives_no_power_over_what_is_in_it() {
    let place = Place::with(&[
        ("top/a.jsonl", anthropic(7, 0)),
        ("top/mine/empty.jsonl", String::new()),
        ("top/mine/b.jsonl", anthropic(8, 0)),
    ]);
    place
        .run("compact --in-place top/a.jsonl top/mine/b.jsonl --store top/.ctxpack")
        .exits(0);
    // The same bytes at a path that no record names, and a record of a file without any.
    place.write("top/mine/copy.jsonl", anthropic(7, 2));
    let empty = place.text("top/mine/empty.jsonl");
    plant(&place, "top/.ctxpack", "mine/empty.jsonl", empty.as_bytes());
    place.run("undo top/mine").exits(0).says(&[
        "1 file restored",
        "2 files: not an output of ctxpack; left as it is (top/mine/copy.jsonl, top/mine/empty.jsonl)",
    ]);
    assert_eq!(place.text("top/mine/b.jsonl"), anthropic(8, 0));
    assert_eq!(place.text("top/mine/copy.jsonl"), anthropic(7, 2));
    assert_eq!(place.text("top/mine/empty.jsonl"), "");
    // A store in the folder knows copies, too.
    place.run("undo top").exits(0).says(&["2 files restored"]);
    assert_eq!(place.text("top/mine/copy.jsonl"), anthropic(7, 0));
    assert_eq!(place.text("top/mine/empty.jsonl"), "");
}

/// Who may give files away can also play another user.
#[test]
fn a_store_of_another_user_is_left_out_and_named() {
    let place = Place::with(&[("top/mine/b.jsonl", anthropic(8, 0))]);
    place
        .run("compact --in-place top/mine/b.jsonl --store top/.ctxpack")
        .exits(0);
    let (compacted, other) = (place.text("top/mine/b.jsonl"), Some(65_534));
    if chown(place.path("top/.ctxpack"), other, None).is_err() {
        return;
    }
    place.run("undo top/mine").exits(0).says(&[
        "top/.ctxpack: warning: not searched: a store above the folder belongs to another user",
        "nothing was restored",
    ]);
    assert_eq!(place.text("top/mine/b.jsonl"), compacted);
    place.run("undo top/mine --store top/.ctxpack").exits(0);
    assert_eq!(place.text("top/mine/b.jsonl"), anthropic(8, 0));
}

#[test]
fn a_store_that_cannot_be_read_is_said_once() {
    let place = Place::with(&[("top/a.txt", "1\n"), ("top/b.txt", "2\n")]);
    place.write("top/.ctxpack", "no folder");
    let done = place.run("undo top").exits(3).says(&["top/.ctxpack"]);
    assert_eq!(done.err.matches(".ctxpack").count(), 1, "{}", done.err);
}

/// A record that an output with these bytes was made from other bytes, which are in the store.
fn plant(place: &Place, store: &str, output: &str, bytes: &[u8]) {
    let hash = |bytes: &[u8]| format!("blake3:{}", blake3::hash(bytes).to_hex());
    let evil = b"{\"role\":\"user\",\"content\":\"evil\"}\n";
    let archive = format!("archive/{}.zst", &hash(evil)[7..39]);
    place.write(
        &format!("{store}/{archive}"),
        zstd::encode_all(&evil[..], 3).unwrap(),
    );
    let record = serde_json::json!({
        "output": output, "output_hash": hash(bytes), "output_bytes": bytes.len(),
        "input": output, "input_hash": hash(evil), "input_bytes": evil.len(),
        "original": "archive", "archive": archive, "offloads": [], "policy_hash": hash(b"p"),
    });
    place.write(
        &format!("{store}/manifests/planted.jsonl"),
        format!("{record}\n"),
    );
}
