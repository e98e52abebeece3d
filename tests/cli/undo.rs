//! `undo` restores the original bytes, or says what is missing.

use std::fs;

use super::harness::{KEPT, Place, anthropic, anthropic_of, output, sample, samples};

/// A folder with `in.jsonl` and what it was compacted into, `in.compact.jsonl`.
fn compacted() -> Place {
    let place = Place::with(&[("in.jsonl", sample().0)]);
    place.run("compact in.jsonl --no-report").exits(0);
    place
}

#[test]
fn every_format_comes_back_in_place_and_elsewhere() {
    for (format, before, after) in samples() {
        let place = Place::with(&[("in.jsonl", &before)]);
        place.run("compact in.jsonl").exits(0);
        place
            .run("undo in.compact.jsonl -o back.jsonl")
            .exits(0)
            .says(&["in.compact.jsonl: ", "bytes restored"]);
        assert_eq!(place.text("back.jsonl"), before, "{format}");
        assert_eq!(place.text("in.compact.jsonl"), after, "{format}");

        let streamed = place.run("undo in.compact.jsonl -o -").exits(0);
        assert_eq!(streamed.text(), before, "{format}");

        place
            .run("undo in.compact.jsonl")
            .exits(0)
            .says(&["; it is a copy of ", "in.jsonl now\n"]);
        assert_eq!(place.text("in.compact.jsonl"), before, "{format}");
        place
            .run("undo in.compact.jsonl")
            .exits(0)
            .says(&["is already the original"]);
        assert_eq!(place.text("in.compact.jsonl"), before, "{format}");
    }
}

#[test]
fn what_was_undone_in_place_can_be_compacted_again() {
    let place = compacted();
    place.run("undo in.compact.jsonl").exits(0);
    place.run("compact in.jsonl --no-report").exits(0);
    assert_eq!(place.text("in.compact.jsonl"), sample().1);
}

#[test]
fn an_output_that_was_moved_is_known_by_its_bytes() {
    let place = compacted();
    fs::create_dir(place.path("deep")).unwrap();
    fs::rename(place.path("in.compact.jsonl"), place.path("deep/renamed")).unwrap();
    place.run("undo deep/renamed").exits(0);
    assert_eq!(place.text("deep/renamed"), sample().0);
}

#[test]
fn what_was_appended_is_not_lost_unless_it_may_be() {
    let place = compacted();
    let line = "{\"role\":\"assistant\",\"content\":\"Go on.\"}\n";
    place.append("in.compact.jsonl", line);
    let grown = place.text("in.compact.jsonl");
    let grew = format!(
        "in.compact.jsonl: the file has grown since it was compacted, by {} bytes",
        line.len()
    );
    for args in [
        "undo in.compact.jsonl",
        "undo in.compact.jsonl -o back",
        "undo in.compact.jsonl -o -",
    ] {
        let ran = place
            .run(args)
            .exits(2)
            .says(&[&grew, "--discard-appended"]);
        assert_eq!(ran.text(), "");
        assert_eq!(place.text("in.compact.jsonl"), grown);
        assert!(!place.path("back").exists());
    }
    place
        .run("undo in.compact.jsonl --discard-appended")
        .exits(0)
        .says(&["appended bytes discarded"]);
    assert_eq!(place.text("in.compact.jsonl"), sample().0);
}

#[test]
fn an_input_that_changed_since_is_not_given_for_the_original() {
    let place = compacted();
    let after = place.text("in.compact.jsonl");
    let changed = format!("{{}}\n{}", sample().0);
    place.write("in.jsonl", &changed);
    place.run("undo in.compact.jsonl").exits(2).says(&[
        "in.jsonl: the original has changed: it was blake3:",
        "hint: put the recorded bytes back",
    ]);
    assert_eq!(place.text("in.compact.jsonl"), after);
}

#[test]
fn an_input_that_went_on_begins_with_the_original() {
    let place = compacted();
    place.append("in.jsonl", "{}\n");
    place.run("undo in.compact.jsonl").exits(0);
    assert_eq!(place.text("in.compact.jsonl"), sample().0);
}

#[test]
fn an_input_that_is_gone_is_said_to_be_missing() {
    let place = compacted();
    let after = place.text("in.compact.jsonl");
    let bytes = fs::metadata(place.path("in.jsonl")).unwrap().len();
    fs::remove_file(place.path("in.jsonl")).unwrap();
    let size = format!("({} {:03} bytes)", bytes / 1000, bytes % 1000);
    place.run("undo in.compact.jsonl -o back").exits(2).says(&[
        "in.jsonl: the original is gone: it was blake3:",
        &size,
        "hint: put it back there",
    ]);
    assert_eq!(place.text("in.compact.jsonl"), after);
    assert!(!place.path("back").exists());
}

#[test]
fn an_output_that_was_edited_has_no_certain_original() {
    let place = compacted();
    let edited = place
        .text("in.compact.jsonl")
        .replace("All is well.", "All is lost.");
    place.write("in.compact.jsonl", &edited);
    place.run("undo in.compact.jsonl").exits(2).says(&[
        "in.compact.jsonl: the file has changed since ctxpack wrote it",
        "hint: ",
    ]);
    assert_eq!(place.text("in.compact.jsonl"), edited);
}

#[test]
fn files_that_no_store_knows_are_left_alone() {
    let place = compacted();
    place.write("other.jsonl", "{}\n");
    place.run("undo other.jsonl").exits(2).says(&[
        "other.jsonl: no store has a record of this file",
        "hint: name the store",
    ]);
    place
        .run("undo gone.jsonl")
        .exits(2)
        .says(&["gone.jsonl: "]);
    assert_eq!(place.text("other.jsonl"), "{}\n");
}

#[test]
fn demoted_contents_survive_in_the_store() {
    let big = |i: usize| output(i).repeat(if i == 6 { 5 } else { 1 });
    let before = anthropic_of((0..KEPT + 3).map(big));
    let place = Place::with(&[("in.jsonl", &before)]);
    place
        .run("compact in.jsonl --set demote.min_tokens=1000")
        .exits(0);
    let after = place.text("in.compact.jsonl");
    let (_, rest) = after.split_once("Saved to: ").unwrap();
    let name = &rest[..".ctxpack/offloaded/00112233445566778899aabbccddeeff.txt".len()];
    assert_eq!(place.text(name), big(6));
    place.run("undo in.compact.jsonl").exits(0);
    assert_eq!(place.text("in.compact.jsonl"), before);
}

#[test]
fn a_store_elsewhere_is_named() {
    let (before, _) = sample();
    let place = Place::with(&[("work/in.jsonl", before.as_str()), ("elsewhere/x", "")]);
    place
        .run("compact work/in.jsonl --store elsewhere/store")
        .exits(0);
    assert!(!place.path("work/.ctxpack").exists());
    let file = "work/in.compact.jsonl";
    place.run(&format!("undo {file}")).exits(2).says(&[
        "found no store beside this file or in a parent folder",
        "--store",
    ]);
    place
        .run(&format!("undo {file} --store elsewhere/store"))
        .exits(0);
    assert_eq!(place.text(file), before);
}

#[test]
fn one_file_that_cannot_be_undone_does_not_stop_the_others() {
    let place = Place::new();
    for (name, results) in [("a", 7), ("b", 8), ("c", 9)] {
        place.write(&format!("{name}.jsonl"), anthropic(results, 0));
    }
    place.run("compact a.jsonl b.jsonl c.jsonl").exits(0);
    fs::remove_file(place.path("b.jsonl")).unwrap();
    let all = "undo a.compact.jsonl b.compact.jsonl c.compact.jsonl";
    place
        .run(all)
        .exits(3)
        .says(&["b.jsonl: the original is gone"]);
    assert_eq!(place.text("a.compact.jsonl"), anthropic(7, 0));
    assert_eq!(place.text("b.compact.jsonl"), anthropic(8, 3));
    assert_eq!(place.text("c.compact.jsonl"), anthropic(9, 0));
    place
        .run(&format!("{all} -o back"))
        .exits(2)
        .says(&["-o takes one input, not 3", "hint: "]);
}

#[test]
fn a_file_in_the_way_is_kept() {
    let place = compacted();
    place.write("back", "mine");
    place
        .run("undo in.compact.jsonl -o back")
        .exits(2)
        .says(&["back: the file already exists", "--overwrite"]);
    assert_eq!(place.text("back"), "mine");
    place
        .run("undo in.compact.jsonl -o back --overwrite")
        .exits(0);
    assert_eq!(place.text("back"), sample().0);
}

#[test]
fn a_damaged_archive_is_not_given_for_the_original() {
    let place = Place::new();
    place
        .pipe("compact - --store store -o out.jsonl", sample().0)
        .exits(0);
    let after = place.text("out.jsonl");
    let archive = place
        .names()
        .into_iter()
        .find(|name| name.starts_with("store/archive/"))
        .unwrap();
    let mut bytes = place.read(&archive);
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0x40;
    place.write(&archive, &bytes);
    place
        .run("undo out.jsonl --store store")
        .exits(2)
        .says(&[&archive]);
    fs::remove_file(place.path(&archive)).unwrap();
    place
        .run("undo out.jsonl --store store")
        .exits(2)
        .says(&[&archive, "cannot read the archived original"]);
    assert_eq!(place.text("out.jsonl"), after);
}

/// A checkout, a copy or a coarse clock gives all files of a store one time.
#[test]
fn of_several_originals_the_last_comes_back_though_all_times_are_equal() {
    let place = Place::new();
    // What is cleared says which it was; what is left does not.
    let original = |n: usize| sample().0.replacen("line 0 of", &format!("line {n} of"), 1);
    for n in 10..16 {
        place.write("in.jsonl", original(n));
        place
            .run("compact --in-place in.jsonl --no-report")
            .exits(0);
        assert_eq!(place.text("in.jsonl"), sample().1);
        for name in place.names() {
            if name.starts_with(".ctxpack/") {
                let file = fs::File::options().append(true).open(place.path(&name));
                let time = std::time::SystemTime::UNIX_EPOCH;
                file.unwrap().set_modified(time).unwrap();
            }
        }
        place.run("undo in.jsonl").exits(0);
        assert_eq!(place.text("in.jsonl"), original(n));
    }
}
