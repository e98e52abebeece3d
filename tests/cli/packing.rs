//! `pack-lines` and `unpack-lines`: files as lines and back, and through `filter` what `compact` makes of a folder.

use serde_json::json;

use super::harness::{KEPT, Place, anthropic, gzip, samples, zstd};

/// A tree of everything that a file can be.
fn tree() -> Place {
    let place = Place::new();
    for (name, before, _) in samples() {
        place.write(&format!("in/{name}/a.jsonl"), &before);
        place.write(&format!("in/{name}/deep/b.jsonl.gz"), gzip(&before));
        place.write(&format!("in/{name}/deep/c.jsonl.zst"), zstd(&before));
    }
    let text = anthropic(KEPT + 3, 0);
    place.write("in/crlf.jsonl", text.replace('\n', "\r\n"));
    place.write("in/no-end.jsonl", text.trim_end());
    place.write("in/empty.jsonl", "");
    place.write("in/b\u{fc}rste \u{1f9f9}.jsonl", &text);
    let mut invalid = text.into_bytes();
    invalid.extend(b"{\"role\":\"user\",\"content\":\"\xff\"}\n\0\n");
    place.write("in/invalid.jsonl", invalid);
    place.write("in/broken.jsonl.gz", &gzip("a")[..12]);
    place.write("in/foreign.jsonl", "{\"kind\":\"a log\"}\n");
    place
}

/// The files below a folder, stores and reports left out.
fn below(place: &Place, folder: &str) -> Vec<(String, Vec<u8>)> {
    let names = place.files().into_iter();
    let inside = names.filter_map(|name| Some((name.strip_prefix(folder)?.to_owned(), name)));
    let files = inside.filter(|(inner, _)| !inner.ends_with(".stats.json"));
    files
        .map(|(inner, name)| (inner, place.read(&name)))
        .collect()
}

#[test]
fn files_come_back_byte_for_byte() {
    let place = tree();
    let packed = place.run("pack-lines in").exits(0).out;
    let lines = packed.iter().filter(|byte| **byte == b'\n').count();
    assert_eq!(lines, below(&place, "in/").len());
    let unpacked = place.pipe("unpack-lines --out-dir out", &packed).exits(0);
    unpacked.says(&[&format!("{lines} files written")]);
    assert_eq!(below(&place, "out/"), below(&place, "in/"));
    // Again is no harm, and what has changed meanwhile is nobody's to replace.
    place.write("packed.jsonl", &packed);
    let again = place
        .run("unpack-lines packed.jsonl --out-dir out")
        .exits(0);
    again.says(&[&format!("0 files written, {lines} there already")]);
    place.write("out/crlf.jsonl", "mine");
    let ran = place
        .run("unpack-lines packed.jsonl --out-dir out")
        .exits(3);
    ran.says(&[
        "out/crlf.jsonl: another file of that name exists",
        "--overwrite",
    ]);
    assert_eq!(place.text("out/crlf.jsonl"), "mine");
    place
        .run("unpack-lines packed.jsonl --out-dir out --overwrite")
        .exits(0);
    assert_eq!(below(&place, "out/"), below(&place, "in/"));
}

#[test]
fn through_filter_they_become_what_compact_makes_of_the_folder() {
    for policy in ["auto", "auto --target 1500", "none", "turns"] {
        let place = tree();
        let args = format!("compact in --out-dir whole --policy {policy}");
        place.run(&args).exits(3).says(&["in/broken.jsonl.gz"]);
        let packed = place.run("pack-lines in").exits(0).out;
        let args = format!("filter --store out/.ctxpack --policy {policy} --report r.json");
        let filtered = place.pipe(&args, packed).exits(0).out;
        let unpacked = place.pipe("unpack-lines --out-dir out", filtered).exits(3);
        unpacked.says(&["broken.jsonl.gz: not compacted: cannot unpack"]);
        // Compact gives no output for what it cannot read; a record always comes back.
        let mut files = below(&place, "out/");
        files.retain(|(name, bytes)| {
            let is_broken = name == "broken.jsonl.gz";
            assert!(!is_broken || *bytes == place.read("in/broken.jsonl.gz"));
            !is_broken
        });
        assert_eq!(files, below(&place, "whole/"), "{policy}");
        let totals = |report: &str| place.json(report)["totals"].clone();
        assert_eq!(
            totals("r.json"),
            totals("whole/ctxpack.stats.json"),
            "{policy}"
        );
    }
}

#[test]
fn a_record_never_leads_out_of_the_folder() {
    let place = Place::with(&[("outside.jsonl", "kept"), ("out/mine.jsonl", "kept")]);
    let hostile = [
        "../outside.jsonl",
        "/tmp/ctxpack-hostile",
        "a/../../outside.jsonl",
        "",
        ".",
        "a//b",
        "a\\b",
        ".ctxpack/journal/x",
        "a/.CtxPack/x",
        "mine.jsonl",
        "mine.jsonl/below",
        "nul\0",
    ];
    let records = hostile.map(|path| format!("{}\n", json!({"path": path, "text": "evil"})));
    let ran = place
        .pipe("unpack-lines --out-dir out", records.concat())
        .exits(3);
    let faults = ran.err.lines().filter(|line| !line.starts_with("hint: "));
    assert_eq!(faults.count(), hostile.len() + 1, "{}", ran.err);
    ran.says(&["-:1: ", "0 files written"]);
    assert_eq!(place.names(), ["out/mine.jsonl", "outside.jsonl"]);
    // Lines that are no records do not keep the others from being written.
    let lines = "nonsense\n{}\n{\"path\":\"a\"}\n{\"path\":\"a\",\"text\":\"1\",\"base64\":\"MQ==\"}\n{\"path\":\"a\",\"base64\":\"-\"}\n{\"path\":\"a\",\"text\":\"1\"}";
    place.pipe("unpack-lines --out-dir out", lines).exits(3);
    assert_eq!(place.text("out/a"), "1");
    // Of two records with one path, neither is lost in silence.
    let twice = "{\"path\":\"b\",\"text\":\"1\"}\n{\"path\":\"b\",\"text\":\"2\"}\n";
    for (args, why) in [
        ("unpack-lines --out-dir out", "exists"),
        (
            "unpack-lines --out-dir out --overwrite",
            "an earlier record",
        ),
    ] {
        place.pipe(args, twice).exits(3).says(&[why]);
        assert_eq!(place.text("out/b"), "1");
    }
}

#[cfg(unix)]
#[test]
fn a_link_on_the_way_is_not_followed() {
    use std::os::unix::fs::symlink;

    let place = Place::with(&[("out/x", ""), ("elsewhere/y", "kept")]);
    symlink(place.path("elsewhere"), place.path("out/link")).unwrap();
    symlink(place.path("elsewhere/y"), place.path("out/y")).unwrap();
    symlink(place.path("elsewhere/new"), place.path("out/new")).unwrap();
    for path in ["link/z", "link/y", "y", "new"] {
        let record = json!({"path": path, "text": "evil"}).to_string();
        for args in [
            "unpack-lines --out-dir out",
            "unpack-lines --out-dir out --overwrite",
        ] {
            place.pipe(args, &record).exits(3);
        }
    }
    assert_eq!(place.text("elsewhere/y"), "kept");
    assert!(!place.path("elsewhere/z").exists() && !place.path("elsewhere/new").exists());
}

#[test]
fn what_cannot_be_packed_is_said_and_the_rest_is_packed() {
    let place = Place::with(&[("a/x.jsonl", "1\n"), ("b/x.jsonl", "2\n")]);
    place
        .run("pack-lines a b")
        .exits(2)
        .says(&["two files would have the path"]);
    let ran = place.run("pack-lines a gone.jsonl").exits(3);
    assert_eq!(ran.text(), "{\"path\":\"x.jsonl\",\"text\":\"1\\n\"}\n");
    ran.says(&["gone.jsonl"]);
    place.run("pack-lines").exits(2);
    place
        .pipe("pack-lines -", "x")
        .exits(2)
        .says(&["standard input has no path"]);
}

#[test]
fn what_is_no_record_and_what_is_in_the_way_are_told_once() {
    let place = Place::with(&[("out/a.jsonl/x", "")]);
    let records = "{\"path\":\"a.jsonl\",\"text\":\"x\"}\nbad\n{\"path\":1}\n{\"path\":\"b\"\n";
    for flag in ["", " --overwrite"] {
        let ran = place.pipe(&format!("unpack-lines --out-dir out{flag}"), records);
        let ran = ran.exits(3).says(&[
            "out/a.jsonl: what has that name is not a regular file",
            "-:2: no record of pack-lines: it is not JSON\n",
            "-:3: no record of pack-lines: invalid type: integer `1`, expected a string\n",
            "-:4: no record of pack-lines: it is not JSON\n",
        ]);
        assert!(!ran.err.contains("--overwrite"), "{}", ran.err);
    }
    let ran = place.pipe("filter", "1\n2\n").exits(0);
    ran.says(&["2 records: the line is not a JSON object (line:1, line:2)"]);
}
