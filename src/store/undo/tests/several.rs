//! Outputs of which several originals are known.

use super::*;

#[test]
fn several_originals_of_one_output_are_listed_unless_the_path_decides() {
    let b = Bench::new();
    b.compact(("a.out", "small"), ("a", "original a"), Original::Input);
    b.compact(("b.out", "small"), ("b", "original b"), Original::Archive);
    fs::write(b.path("moved"), "small").unwrap();
    let error = b.find("moved").unwrap_err();
    assert_eq!(error.kind, ErrorKind::Store);
    assert_eq!(
        error.message,
        format!(
            "several originals compact to these bytes: a, b (archive/{}.zst)",
            &hash(b"original b")[7..39]
        )
    );
    b.undo("a.out", Dest::InPlace, Appended::Refuse).unwrap();
    b.undo("b.out", Dest::InPlace, Appended::Refuse).unwrap();
    assert_eq!(b.read("a.out"), "original a");
    assert_eq!(b.read("b.out"), "original b");
}

/// Gives all manifests one time, as a checkout or a coarse clock does.
fn make_times_equal(b: &Bench) {
    for entry in fs::read_dir(b.path(FOLDER).join("manifests")).unwrap() {
        let file = fs::File::options().append(true).open(entry.unwrap().path());
        file.unwrap()
            .set_modified(std::time::SystemTime::UNIX_EPOCH)
            .unwrap();
    }
}

#[test]
fn the_record_of_the_last_run_wins_whatever_the_times_say() {
    let b = Bench::new();
    for n in 0..8 {
        let original = format!("original {n}");
        b.compact(("s", "small"), ("s", &original), Original::Archive);
        make_times_equal(&b);
        b.undo("s", Dest::InPlace, Appended::Refuse).unwrap();
        assert_eq!(b.read("s"), original);
    }
}

#[test]
fn where_nothing_says_which_original_came_last_they_are_listed() {
    let b = Bench::new();
    for original in ["first", "second"] {
        b.compact(("s", "small"), ("s", original), Original::Archive);
    }
    // As older versions wrote them.
    for entry in fs::read_dir(b.path(FOLDER).join("manifests")).unwrap() {
        let path = entry.unwrap().path();
        let text = fs::read_to_string(&path).unwrap();
        let (kept, _) = text.split_once(",\"sequence\"").unwrap();
        fs::write(&path, format!("{kept}}}\n")).unwrap();
    }
    let error = b.find("s").unwrap_err();
    assert_eq!(error.kind, ErrorKind::Store);
    let archive = |text: &str| format!("s (archive/{}.zst)", &hash(text.as_bytes())[7..39]);
    let mut originals = [archive("first"), archive("second")];
    originals.sort();
    assert_eq!(
        error.message,
        format!(
            "this file was made from several different originals, and the records do not say which came last: {}",
            originals.join(", ")
        )
    );
    // A new run is after all of them.
    b.compact(("s", "small"), ("s", "third"), Original::Archive);
    b.undo("s", Dest::InPlace, Appended::Refuse).unwrap();
    assert_eq!(b.read("s"), "third");
}

#[test]
fn copies_of_one_original_are_no_riddle_and_any_of_them_will_do() {
    let b = Bench::new();
    b.compact(("a.out", "small"), ("a", "original"), Original::Input);
    b.compact(("b.out", "small"), ("b", "original"), Original::Input);
    fs::write(b.path("moved"), "small").unwrap();
    fs::remove_file(b.path("a")).unwrap();
    for name in ["moved", "a.out"] {
        b.undo(name, Dest::InPlace, Appended::Refuse).unwrap();
        assert_eq!(b.read(name), "original");
    }
}

#[test]
fn of_several_copies_that_are_gone_the_own_one_is_named() {
    let b = Bench::new();
    for name in ["a", "b"] {
        let output = format!("{name}.out");
        b.compact((&output, "small"), (name, "original"), Original::Input);
        fs::remove_file(b.path(name)).unwrap();
    }
    for name in ["a", "b"] {
        let output = format!("{name}.out");
        let error = b.undo(&output, Dest::InPlace, Appended::Refuse);
        assert_eq!(error.unwrap_err().path, Some(b.store().path_of(name)));
    }
}

#[test]
fn a_copy_that_equals_its_input_says_nothing_about_that_input() {
    let b = Bench::new();
    b.compact(("s", "small"), ("s", "the original"), Original::Archive);
    let grown = "small, and more";
    fs::write(b.path("s"), grown).unwrap();
    b.compact(("s.compact", grown), ("s", grown), Original::Input);
    let found = b.find("s").unwrap();
    assert_eq!(found.state(), &State::Grown(10));
    b.undo("s", Dest::InPlace, Appended::Discard).unwrap();
    assert_eq!(b.read("s"), "the original");
    // The copy is what it was made from.
    let copy = b.find("s.compact").unwrap();
    assert!(copy.is_output() && matches!(copy.state(), State::AlreadyOriginal(_)));
}

#[test]
fn what_was_written_to_the_path_itself_counts_more_than_equal_bytes_of_a_nearer_store() {
    let b = Bench::new();
    fs::create_dir(b.path("near")).unwrap();
    let input = ("near/s", "the original");
    b.compact(("near/s", "small"), input, Original::Archive);
    let near = Store::new(b.path("near").join(FOLDER), Durability::Lazy);
    let record = Record {
        output: "s.compact".to_owned(),
        input: "s".to_owned(),
        original: Original::Input,
        archive: None,
        ..b.record(("near/s", "small"), input, Original::Archive)
    };
    near.record(&record).unwrap();
    near.finish().unwrap();
    b.undo("near/s", Dest::InPlace, Appended::Refuse).unwrap();
    assert_eq!(b.read("near/s"), "the original");
}

#[test]
fn an_original_that_was_archived_later_or_went_on_is_found() {
    let b = Bench::new();
    b.compact(
        ("s.compact", "small"),
        ("s", "the original"),
        Original::Input,
    );
    b.append("s", " and more");
    let done = b
        .undo("s.compact", Dest::InPlace, Appended::Refuse)
        .unwrap();
    assert_eq!(done, undone(State::Compacted, "the original"));

    fs::write(b.path("s"), "the original").unwrap();
    b.compact(
        ("s.compact", "small"),
        ("s", "the original"),
        Original::Input,
    );
    b.compact(("s", "tiny"), ("s", "the original"), Original::Archive);
    b.undo("s.compact", Dest::InPlace, Appended::Refuse)
        .unwrap();
    assert_eq!(b.read("s.compact"), "the original");
    assert_eq!(b.read("s"), "tiny");
}
