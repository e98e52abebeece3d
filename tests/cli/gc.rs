//! `gc` deletes contents without references from the store, and nothing else.

use std::fs;

use super::harness::{Place, anthropic_of, gzip, output, sample};

const ORPHANS: [&str; 2] = [
    "s/archive/0123456789abcdef0123456789abcdef.zst",
    "s/offloaded/fedcba9876543210fedcba9876543210.txt",
];

/// A store `s` that a run wrote archives and offloads to, and two files in it that nothing names.
fn place() -> Place {
    let place = Place::with(&[("in.jsonl", anthropic_of([output(1), "x ".repeat(40_000)]))]);
    place
        .run("compact in.jsonl --in-place --store s --no-report")
        .exits(0);
    let names = place.names();
    for folder in ["s/archive/", "s/offloaded/", "s/manifests/"] {
        assert!(
            names.iter().any(|name| name.starts_with(folder)),
            "{names:?}"
        );
    }
    for orphan in ORPHANS {
        place.write(orphan, "12345");
    }
    // What is noted for the next run is of no use when the output has changed.
    fs::remove_dir_all(place.path("s/finished")).unwrap();
    place
}

/// Fails with these words, and deletes nothing.
#[track_caller]
fn refused(place: &Place, parts: &[&str]) {
    let before = place.all_files();
    place.run("gc --store s").exits(2).says(parts);
    assert_eq!(place.all_files(), before);
}

#[test]
fn what_nothing_names_is_deleted_and_the_rest_stays_to_the_byte() {
    let place = place();
    let mut expected = place.all_files();
    for orphan in ORPHANS {
        expected.remove(orphan);
    }
    let told = place.run("gc --store s --dry-run -v").exits(0).text();
    assert_eq!(
        told,
        "archive/0123456789abcdef0123456789abcdef.zst\noffloaded/fedcba9876543210fedcba9876543210.txt\n\
         2 files would be deleted, 10 bytes\n"
    );
    assert_eq!(place.all_files().len(), expected.len() + 2);

    assert_eq!(
        place.run("gc --store s").exits(0).text(),
        "2 files deleted, 10 bytes\n"
    );
    assert_eq!(place.all_files(), expected);
    assert_eq!(
        place.run("gc --store s").exits(0).text(),
        "0 files deleted, 0 bytes\n"
    );
    place.run("undo in.jsonl --store s").exits(0);
}

#[test]
fn what_an_output_mentions_stays_however_it_is_written() {
    for (name, text) in [
        (
            "in.jsonl",
            "{\"content\":\"archive/0123456789abcdef0123456789abcdef.zst offloaded/fedcba9876543210fedcba9876543210.txt\"}\n",
        ),
        // Escaped by another program, and at the end of a longer run of digits.
        (
            "in.jsonl",
            "\"archive\\/0123456789abcdef0123456789abcdef.zst\" 00000000000000000000000000000000000fedcba9876543210fedcba9876543210",
        ),
    ] {
        let place = place();
        place.append(name, text);
        assert_eq!(
            place.run("gc --store s").exits(0).text(),
            "0 files deleted, 0 bytes\n"
        );
        let names = place.names();
        assert!(
            ORPHANS
                .iter()
                .all(|orphan| names.contains(&(*orphan).to_owned()))
        );
    }
}

#[test]
fn a_mention_across_two_reads_counts() {
    let place = place();
    let length = fs::metadata(place.path("in.jsonl")).unwrap().len() as usize;
    // The program reads 64 KiB at a time.
    let filling = " ".repeat((1 << 16) - length % (1 << 16) - 16);
    place.append(
        "in.jsonl",
        &format!("{filling}0123456789abcdef0123456789abcdef"),
    );
    place.run("gc --store s").exits(0);
    let names = place.names();
    let stays = ORPHANS.map(|orphan| names.contains(&orphan.to_owned()));
    assert_eq!(stays, [true, false]);
}

#[test]
fn a_compressed_output_is_read_as_what_it_holds() {
    let place = Place::with(&[("in.jsonl.gz", gzip(sample().0))]);
    place
        .run("compact in.jsonl.gz --store s --no-report")
        .exits(0);
    fs::remove_dir_all(place.path("s/finished")).unwrap();
    for orphan in ORPHANS {
        place.write(orphan, "12345");
    }
    place.write(
        "in.compact.jsonl.gz",
        gzip("fedcba9876543210fedcba9876543210"),
    );
    assert_eq!(
        place.run("gc --store s -v").exits(0).text(),
        "archive/0123456789abcdef0123456789abcdef.zst\n1 file deleted, 5 bytes\n"
    );
    // Cut short, it may have mentioned anything.
    place.write(ORPHANS[0], "12345");
    place.write("in.compact.jsonl.gz", &gzip("nothing")[..20]);
    refused(
        &place,
        &["in.compact.jsonl.gz: cannot read to find what it needs"],
    );
}

#[test]
fn an_output_beside_the_folder_of_the_store_is_looked_at() {
    let large = anthropic_of((0..9).map(|i| output(i).repeat(3)));
    let place = Place::with(&[("in/a.jsonl", large)]);
    let command = "compact in --out-dir out --store kept/.ctxpack --set demote.min_tokens=300";
    place.run(command).exits(0);
    let orphan = "kept/.ctxpack/offloaded/00000000000000000000000000000000.txt";
    place.write(orphan, "nobody names it");
    let gc = "gc --store kept/.ctxpack";
    place.run(gc).exits(0);
    assert!(!place.path(orphan).exists());
    // What an output mentions stays, also where no record names it.
    place.write(orphan, "an output names it");
    place.append("out/a.jsonl", &orphan[5..]);
    place.run(gc).exits(0);
    assert!(place.path(orphan).exists());
}

#[test]
fn a_damaged_record_stops_it_and_is_named() {
    let place = place();
    let names = place.names();
    let manifest = names
        .iter()
        .find(|name| name.starts_with("s/manifests/"))
        .unwrap();
    place.append(manifest, "{\"output\":\"cut sho");
    refused(
        &place,
        &[&format!("{manifest}:2: this record is damaged"), "hint: "],
    );
}

#[test]
fn a_store_that_a_run_uses_is_left_alone() {
    let place = place();
    let lock = fs::File::open(place.path("s/lock")).unwrap();
    lock.lock_shared().unwrap();
    refused(&place, &["s: another run uses the store", "hint: wait"]);
    drop(lock);
    place.run("gc --store s").exits(0);
}

#[test]
fn a_folder_that_is_no_store_and_a_store_without_records_are_left_alone() {
    let place = Place::with(&[(ORPHANS[0], "12345")]);
    refused(&place, &["s: this folder is not a store", "hint: "]);
    place.write("s/lock", "");
    refused(&place, &["s: the store has no record", "hint: "]);
    fs::remove_dir_all(place.path("s")).unwrap();
    refused(&place, &["s: there is no store here", "hint: "]);
}

#[test]
fn records_of_a_killed_run_count_and_stay() {
    let place = place();
    let names = place.names();
    let manifest = names
        .iter()
        .find(|name| name.starts_with("s/manifests/"))
        .unwrap();
    // As if the run had been killed before its end.
    let journal = place.read(manifest);
    place.write("s/journal/00000000000000aa.jsonl", journal);
    fs::remove_file(place.path(manifest)).unwrap();
    let mut expected = place.all_files();
    for orphan in ORPHANS {
        expected.remove(orphan);
    }
    place.run("gc --store s").exits(0);
    assert_eq!(place.all_files(), expected);
}

#[cfg(unix)]
#[test]
fn what_a_killed_run_left_half_written_leaves_and_foreign_files_stay() {
    let place = place();
    place.write("s/archive/.ctxpack-0123456789abcdefc24bc12c.tmp", "half");
    place.write("s/archive/notes.txt", "mine");
    place.write("s/offloaded/0123456789ABCDEF0123456789ABCDEF.txt", "mine");
    fs::create_dir(place.path("s/archive/00000000000000000000000000000000.zst")).unwrap();
    let told = place.run("gc --store s -v").exits(0).text();
    assert!(
        told.starts_with("archive/.ctxpack-0123456789abcdefc24bc12c.tmp\n"),
        "{told}"
    );
    assert!(told.ends_with("3 files deleted, 14 bytes\n"), "{told}");
    let names = place.names();
    for mine in [
        "s/archive/notes.txt",
        "s/offloaded/0123456789ABCDEF0123456789ABCDEF.txt",
    ] {
        assert!(names.contains(&mine.to_owned()));
    }
}

#[test]
fn an_emptied_manifest_is_a_damaged_one() {
    let place = Place::with(&[("in.jsonl", sample().0)]);
    place.run("compact in.jsonl --in-place").exits(0);
    let files = place.all_files().into_keys();
    let manifests = files.filter(|name| name.starts_with(".ctxpack/manifests/"));
    for manifest in manifests {
        place.write(&manifest, "");
    }
    let before = place.all_files();
    assert_ne!(place.run("gc").code, Some(0));
    assert_eq!(place.all_files(), before);
    place
        .run("undo .")
        .says(&["cannot read 1 record of the store", "nothing was restored"]);
}
