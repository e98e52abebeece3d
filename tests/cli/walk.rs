//! What a walk over a folder finds, and what it reports about the rest.

use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::symlink;

use super::harness::{Place, sample};

/// A place with a good transcript `in/a.jsonl`, and what the default makes of it.
fn place() -> (Place, String, String) {
    let (good, after) = sample();
    let place = Place::with(&[("in/a.jsonl", &good), ("elsewhere/secret.jsonl", &good)]);
    (place, good, after)
}

#[test]
fn links_that_lead_out_are_named_and_not_read() {
    let (place, good, after) = place();
    symlink("a.jsonl", place.path("in/same.jsonl")).unwrap();
    symlink("../elsewhere/secret.jsonl", place.path("in/out.jsonl")).unwrap();
    symlink("/proc/self/environ", place.path("in/environ.jsonl")).unwrap();
    symlink("gone", place.path("in/broken.jsonl")).unwrap();
    symlink("../elsewhere", place.path("in/folder")).unwrap();
    let said = [
        "in/out.jsonl: the link leads out of the folder, and is not read\n",
        "in/environ.jsonl: the link leads out of the folder, and is not read\n",
        "in/broken.jsonl: the link is broken, not read\n",
        "in/folder: warning: links to folders are not followed\n",
    ];
    for command in [
        "compact in --out-dir out",
        "stats in",
        "verify in",
        "compact in/** --out-dir glob",
        "compact in --in-place",
    ] {
        let ran = place.run(command).exits(3);
        let _ = ran.says(&said);
    }
    assert_eq!(place.text("out/a.jsonl"), after);
    assert_eq!(place.text("elsewhere/secret.jsonl"), good);
    for name in ["out/out.jsonl", "out/environ.jsonl", "out/folder"] {
        assert!(!place.path(name).exists(), "{name}");
    }
    let report = place.json("out/ctxpack.stats.json");
    assert_eq!(report["files"].as_array().unwrap().len(), 3);
    // Who names a link means it.
    place.run("compact in/out.jsonl -o named.jsonl").exits(0);
    assert_eq!(place.text("named.jsonl"), after);
}

#[test]
fn a_link_to_nothing_is_not_read_and_nothing_fails() {
    let (place, good, after) = place();
    symlink("gone", place.path("in/broken.jsonl")).unwrap();
    let said = ["in/broken.jsonl: the link is broken, not read\n"];
    for command in [
        "stats in",
        "verify in",
        "compact in --out-dir out",
        "compact in --in-place",
    ] {
        let _ = place.run(command).exits(0).says(&said);
    }
    assert_eq!(place.text("in/a.jsonl"), after);
    let report = place.json("out/ctxpack.stats.json");
    assert_eq!(report["totals"]["failed"], 0);
    let not_read = &report["not_read"][0];
    assert_eq!(
        (&not_read["kind"], &not_read["count"]),
        (&"broken_link".into(), &1.into())
    );
    place.run("undo in").exits(0).says(&said);
    assert_eq!(place.text("in/a.jsonl"), good);
    // Who names a link means it.
    place
        .run("compact in/broken.jsonl")
        .exits(2)
        .says(&["the link is broken"]);
}

#[test]
fn names_that_are_not_unicode_work_and_are_told_apart() {
    let (place, good, after) = place();
    let name = |bytes: &[u8]| place.path("").join(OsString::from_vec(bytes.to_vec()));
    let names: [&[u8]; 3] = [b"in/\xff.jsonl", b"in/\xfe.jsonl", b"in/\xef\xbf\xbd.jsonl"];
    for bytes in names {
        fs::write(name(bytes), &good).unwrap();
    }
    for command in [
        "compact in",
        "compact in --out-dir out",
        "compact in --in-place",
    ] {
        let ran = place.run(command).exits(0);
        let _ = ran.says(&["in in/", "\\xFE.jsonl", "\\xFF.jsonl", "4 compacted"]);
    }
    for bytes in names {
        assert_eq!(fs::read_to_string(name(bytes)).unwrap(), after);
        let copy = [b"out".as_slice(), &bytes[2..]].concat();
        assert_eq!(fs::read_to_string(name(&copy)).unwrap(), after);
        let stem = &bytes[..bytes.len() - b".jsonl".len()];
        let beside = [stem, b".compact.jsonl"].concat();
        assert_eq!(fs::read_to_string(name(&beside)).unwrap(), after);
        let status = place.command("undo").arg(name(bytes)).status().unwrap();
        assert!(status.success());
        assert_eq!(fs::read_to_string(name(bytes)).unwrap(), good);
    }
    place.run("gc --store in/.ctxpack").exits(0);
}

#[test]
fn a_store_of_any_name_is_not_searched() {
    let place = Place::with(&[("in/s.jsonl", sample().0)]);
    place
        .run("compact in/s.jsonl --in-place --policy reset --summarize always --store in/kept")
        .exits(0);
    let plain = |place: &Place| {
        let files = place.files().into_iter();
        let kept = files.filter(|name| name.starts_with("in/kept/archive/"));
        kept.collect::<Vec<_>>()
    };
    let before = plain(&place);
    assert!(
        before.iter().any(|name| name.ends_with(".jsonl")),
        "{before:?}"
    );
    place
        .run("compact in --in-place --policy auto --target 500 -v")
        .says(&["in/kept: not searched: this is a ctxpack store"]);
    assert_eq!(plain(&place), before);
}
