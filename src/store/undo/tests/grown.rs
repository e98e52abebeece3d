//! Files that grew since they were compacted.

use super::*;

#[test]
fn a_grown_file_is_refused_until_what_was_appended_may_go() {
    let b = Bench::new();
    b.compact(("s", "small\n"), ("s", "the original\n"), Original::Archive);
    b.append("s", "new line\n");
    assert_eq!(b.find("s").unwrap().state(), &State::Grown(9));
    for name in ["s", "moved"] {
        let mut bytes = Vec::new();
        for dest in [Dest::InPlace, Dest::Writer(&mut bytes)] {
            let error = b.undo(name, dest, Appended::Refuse).unwrap_err();
            assert_eq!(error.kind, ErrorKind::Changed);
            assert_eq!(
                error.message,
                "the file has grown since it was compacted, by 9 bytes"
            );
        }
        assert_eq!(b.read(name), "small\nnew line\n");
        fs::copy(b.path("s"), b.path("moved")).unwrap();
    }
    let done = b.undo("s", Dest::InPlace, Appended::Discard).unwrap();
    assert_eq!(done, undone(State::Grown(9), "the original\n"));
    assert_eq!(b.read("s"), "the original\n");
}

#[test]
fn a_grown_file_belongs_to_its_longest_beginning() {
    let b = Bench::new();
    b.compact(
        ("empty", ""),
        ("e", "original of nothing"),
        Original::Archive,
    );
    b.compact(("s", "one\n"), ("s", "original 1"), Original::Archive);
    b.compact(("s", "one\ntwo\n"), ("s", "original 2"), Original::Archive);
    fs::write(b.path("s"), "one\ntwo\nthree\n").unwrap();
    let done = b.undo("s", Dest::InPlace, Appended::Discard).unwrap();
    assert_eq!(done, undone(State::Grown(6), "original 2"));
    // Every file begins with an empty prefix, which therefore proves nothing.
    fs::write(b.path("another"), "text\n").unwrap();
    assert_eq!(b.find("another").unwrap_err().kind, ErrorKind::Store);
}

#[test]
fn a_transcript_that_grew_behind_an_equal_copy_was_never_compacted() {
    let b = Bench::new();
    b.compact(("s.compact", "same\n"), ("s", "same\n"), Original::Input);
    b.append("s", "more\n");
    let error = b.find("s").unwrap_err();
    assert_eq!(error.message, "no store has a record of this file");
    b.append("s.compact", "more\n");
    assert_eq!(b.find("s.compact").unwrap().state(), &State::Grown(5));
}

#[test]
fn an_original_that_begins_with_its_own_output_has_not_grown() {
    let b = Bench::new();
    b.compact(("s", "one\n"), ("s", "one\ntwo\n"), Original::Archive);
    b.undo("s", Dest::InPlace, Appended::Refuse).unwrap();
    assert_eq!(b.read("s"), "one\ntwo\n");
    assert!(matches!(
        b.find("s").unwrap().state(),
        State::AlreadyOriginal(_)
    ));
}

#[test]
fn an_original_is_known_whatever_begins_it() {
    let b = Bench::new();
    b.compact(("a.out", "one\n"), ("a", "original a"), Original::Input);
    b.compact(("b.out", "one\n"), ("b", "original b"), Original::Input);
    b.compact(("s.out", "small"), ("s", "one\ntwo\n"), Original::Input);
    assert!(matches!(
        b.find("s").unwrap().state(),
        State::AlreadyOriginal(_)
    ));
}

#[test]
fn what_grew_between_two_compactions_is_asked_about_when_both_are_undone() {
    let b = Bench::new();
    b.compact(("s", "small\n"), ("s", "the original\n"), Original::Archive);
    b.compact(
        ("s", "smaller\n"),
        ("s", "small\nnew line\n"),
        Original::Archive,
    );
    b.undo("s", Dest::InPlace, Appended::Refuse).unwrap();
    assert_eq!(b.read("s"), "small\nnew line\n");
    assert_eq!(b.find("s").unwrap().state(), &State::Grown(9));
    let error = b.undo("s", Dest::InPlace, Appended::Refuse).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Changed);
    b.undo("s", Dest::InPlace, Appended::Discard).unwrap();
    assert_eq!(b.read("s"), "the original\n");
}
