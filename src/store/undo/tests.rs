//! Every way back to an original, and every reason not to take it.

mod grown;
mod several;

use std::fs;
use std::io::Write;

use tempfile::{TempDir, tempdir};

use super::*;
use crate::store::atomic::{Existing, FileVersion, Written};
use crate::store::hash;
use crate::store::manifest::{Original, Record};

/// A folder with a store, and outputs as a run would have written them.
struct Bench {
    dir: TempDir,
}

impl Bench {
    fn new() -> Self {
        Bench {
            dir: tempdir().unwrap(),
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn store(&self) -> Store {
        Store::new(self.path(FOLDER), Durability::Lazy)
    }

    fn record(&self, output: (&str, &str), input: (&str, &str), original: Original) -> Record {
        let store = self.store();
        Record {
            output: store.name_of(&self.path(output.0)).unwrap(),
            output_hash: hash(output.1.as_bytes()),
            output_bytes: output.1.len() as u64,
            input: store.name_of(&self.path(input.0)).unwrap(),
            input_hash: hash(input.1.as_bytes()),
            input_bytes: input.1.len() as u64,
            original,
            archive: match original {
                Original::Archive => Some(
                    store
                        .put_archive(input.1.as_bytes(), &hash(input.1.as_bytes()))
                        .unwrap()
                        .name,
                ),
                Original::Input | Original::Fork => None,
            },
            offloads: Vec::new(),
            copies: Vec::new(),
            cleaned: Vec::new(),
            originals: Default::default(),
            failed_summaries: 0,
            policy_hash: hash(b"policy"),
            sequence: 0,
            overlaps: None,
        }
    }

    /// A compaction: `input` stays (or is archived), `output` is written.
    fn compact(&self, output: (&str, &str), input: (&str, &str), original: Original) {
        let store = self.store();
        store.record(&self.record(output, input, original)).unwrap();
        if original != Original::Archive {
            fs::write(self.path(input.0), input.1).unwrap();
        }
        fs::write(self.path(output.0), output.1).unwrap();
        store.finish().unwrap();
    }

    fn find(&self, name: &str) -> Result<Found> {
        Undo::new(None).find(&self.path(name))
    }

    fn undo(&self, name: &str, dest: Dest<'_>, appended: Appended) -> Result<Undone> {
        self.find(name)?.restore(dest, appended)
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    fn append(&self, name: &str, text: &str) {
        let mut file = fs::OpenOptions::new()
            .append(true)
            .open(self.path(name))
            .unwrap();
        file.write_all(text.as_bytes()).unwrap();
    }
}

fn undone(state: State, original: &str) -> Undone {
    Undone {
        state,
        hash: hash(original.as_bytes()),
        bytes: original.len() as u64,
        lost: Vec::new(),
        copy_of: None,
    }
}

#[test]
fn an_archived_original_comes_back_in_place() {
    let b = Bench::new();
    b.compact(("s", "small"), ("s", "the original"), Original::Archive);
    let done = b.undo("s", Dest::InPlace, Appended::Refuse).unwrap();
    assert_eq!(done, undone(State::Compacted, "the original"));
    assert_eq!(b.read("s"), "the original");
}

#[test]
fn an_output_restored_beside_its_input_is_a_copy_of_it() {
    let b = Bench::new();
    b.compact(("t", "small"), ("s", "the original"), Original::Input);
    let done = b.undo("t", Dest::InPlace, Appended::Refuse).unwrap();
    let copy_of = done.copy_of.unwrap();
    assert_eq!(copy_of.file_name(), b.path("s").file_name());
    assert_eq!(
        (b.read("s"), b.read("t")),
        ("the original".into(), "the original".into())
    );
}

#[test]
fn an_untouched_input_is_the_original_of_its_sibling() {
    let b = Bench::new();
    b.compact(
        ("s.compact", "small"),
        ("s", "the original"),
        Original::Input,
    );
    let out = b.path("back");
    let dest = Dest::Path(&out, Existing::Refuse);
    let done = b.undo("s.compact", dest, Appended::Refuse).unwrap();
    assert_eq!(done, undone(State::Compacted, "the original"));
    assert_eq!(b.read("back"), "the original");
    assert_eq!(b.read("s.compact"), "small");

    let dest = Dest::Path(&out, Existing::Refuse);
    let error = b.undo("s.compact", dest, Appended::Refuse).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Exists);

    let mut bytes = Vec::new();
    let dest = Dest::Writer(&mut bytes);
    b.undo("s.compact", dest, Appended::Refuse).unwrap();
    assert_eq!(bytes, b"the original");
}

#[test]
fn a_fork_has_nothing_to_undo() {
    let b = Bench::new();
    b.compact(("fork", "small"), ("s", "the original"), Original::Fork);
    b.append("fork", " and more");
    for appended in [Appended::Refuse, Appended::Discard] {
        let error = b.undo("fork", Dest::InPlace, appended).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Usage);
        assert!(error.message.contains("a fork of s,"), "{}", error.message);
    }
    assert_eq!(b.read("fork"), "small and more");
}

#[test]
fn a_run_that_was_killed_after_its_output_can_be_undone() {
    let b = Bench::new();
    let store = b.store();
    let record = b.record(("s", "small"), ("s", "the original"), Original::Archive);
    store.record(&record).unwrap();
    fs::write(b.path("s"), "small").unwrap();
    // Neither dropped nor finished, as after a kill.
    std::mem::forget(store);
    b.undo("s", Dest::InPlace, Appended::Refuse).unwrap();
    assert_eq!(b.read("s"), "the original");
}

#[test]
fn a_run_that_was_killed_before_its_output_left_the_original() {
    let b = Bench::new();
    let store = b.store();
    let record = b.record(("s", "small"), ("s", "the original"), Original::Archive);
    store.record(&record).unwrap();
    fs::write(b.path("s"), "the original").unwrap();
    std::mem::forget(store);
    let done = b.undo("s", Dest::InPlace, Appended::Refuse).unwrap();
    assert!(matches!(done.state, State::AlreadyOriginal(_)));
    assert_eq!(b.read("s"), "the original");
}

#[test]
fn the_original_itself_has_nothing_to_undo_but_can_be_copied() {
    let b = Bench::new();
    b.compact(
        ("s.compact", "small"),
        ("s", "the original"),
        Original::Input,
    );
    let before = FileVersion::of(&fs::metadata(b.path("s")).unwrap());
    let done = b.undo("s", Dest::InPlace, Appended::Refuse).unwrap();
    let written = Written {
        hash: hash(b"the original"),
        bytes: 12,
    };
    let expected = undone(State::AlreadyOriginal(written), "the original");
    assert_eq!(done, expected);
    assert_eq!(before, FileVersion::of(&fs::metadata(b.path("s")).unwrap()));
    let mut bytes = Vec::new();
    let dest = Dest::Writer(&mut bytes);
    assert_eq!(b.undo("s", dest, Appended::Refuse).unwrap(), expected);
    assert_eq!(bytes, b"the original");
}

#[test]
fn an_output_equal_to_its_input_is_already_the_original() {
    let b = Bench::new();
    b.compact(("s.compact", "same"), ("s", "same"), Original::Input);
    fs::remove_file(b.path("s")).unwrap();
    let done = b
        .undo("s.compact", Dest::InPlace, Appended::Refuse)
        .unwrap();
    assert!(matches!(done.state, State::AlreadyOriginal(_)));
}

#[test]
fn each_undo_takes_back_one_compaction() {
    let b = Bench::new();
    b.compact(("s", "middle"), ("s", "the original"), Original::Archive);
    b.compact(("s", "small"), ("s", "middle"), Original::Archive);
    for expected in ["middle", "the original", "the original"] {
        b.undo("s", Dest::InPlace, Appended::Refuse).unwrap();
        assert_eq!(b.read("s"), expected);
    }
}

#[test]
fn a_moved_output_is_found_by_its_bytes_from_the_folders_above() {
    let b = Bench::new();
    b.compact(
        ("s.compact", "small"),
        ("s", "the original"),
        Original::Input,
    );
    fs::create_dir_all(b.path("far/away")).unwrap();
    fs::rename(b.path("s.compact"), b.path("far/away/moved")).unwrap();
    b.undo("far/away/moved", Dest::InPlace, Appended::Refuse)
        .unwrap();
    assert_eq!(b.read("far/away/moved"), "the original");
}

#[test]
fn a_store_given_by_name_is_the_only_one_asked() {
    let (b, elsewhere) = (Bench::new(), Bench::new());
    b.compact(
        ("s.compact", "small"),
        ("s", "the original"),
        Original::Input,
    );
    fs::write(elsewhere.path("moved"), "small").unwrap();
    let error = elsewhere.find("moved").unwrap_err();
    assert_eq!(error.kind, ErrorKind::Store);
    // Files above the folder of temporary files do not belong to this test.
    assert!(error.message.contains("no store "), "{}", error.message);

    let mut undo = Undo::new(Some(b.path(FOLDER)));
    let mut bytes = Vec::new();
    undo.find(&elsewhere.path("moved"))
        .unwrap()
        .restore(Dest::Writer(&mut bytes), Appended::Refuse)
        .unwrap();
    assert_eq!(bytes, b"the original");

    let error = Undo::new(Some(elsewhere.path(FOLDER)))
        .find(&b.path("s.compact"))
        .unwrap_err();
    assert_eq!(error.message, "no store has a record of this file");
}

#[test]
fn the_nearest_store_that_knows_the_file_wins() {
    let b = Bench::new();
    fs::create_dir(b.path("sub")).unwrap();
    fs::write(b.path("sub/s"), "small").unwrap();
    let far = b.record(("sub/s", "small"), ("x", "far"), Original::Archive);
    b.store().record(&far).unwrap();
    let near = Store::new(b.path("sub").join(FOLDER), Durability::Lazy);
    let archived = near.put_archive(b"near", &hash(b"near")).unwrap();
    let near_record = Record {
        output: "s".to_owned(),
        input_hash: archived.hash,
        input_bytes: archived.bytes,
        archive: Some(archived.name),
        ..far
    };
    near.record(&Record {
        output_hash: hash(b"another"),
        ..near_record.clone()
    })
    .unwrap();
    let restored = |b: &Bench| {
        let mut bytes = Vec::new();
        b.undo("sub/s", Dest::Writer(&mut bytes), Appended::Refuse)
            .unwrap();
        String::from_utf8(bytes).unwrap()
    };
    assert_eq!(restored(&b), "far");
    near.record(&near_record).unwrap();
    assert_eq!(restored(&b), "near");
}

#[test]
fn an_edited_output_is_not_taken_for_another() {
    let b = Bench::new();
    b.compact(("s", "small"), ("s", "the original"), Original::Archive);
    for edited in ["smell", "smal", "", "xsmall"] {
        fs::write(b.path("s"), edited).unwrap();
        assert_eq!(b.find("s").unwrap_err().kind, ErrorKind::Changed);
    }
}

#[test]
fn what_is_missing_is_named() {
    let b = Bench::new();
    b.compact(
        ("s.compact", "small"),
        ("s", "the original"),
        Original::Input,
    );
    let undo = || {
        let mut error = b
            .undo("s.compact", Dest::InPlace, Appended::Refuse)
            .unwrap_err();
        error.source = None;
        (error.kind, error.path, error.message)
    };
    let there = Some(b.store().path_of("s"));
    let was = format!("it was {} (12 bytes)", hash(b"the original"));

    fs::write(b.path("s"), "another one").unwrap();
    assert_eq!(
        undo(),
        (
            ErrorKind::Changed,
            there.clone(),
            format!(
                "the original has changed: {was}, it is {} (11 bytes)",
                hash(b"another one")
            )
        )
    );
    fs::remove_file(b.path("s")).unwrap();
    assert_eq!(
        undo(),
        (
            ErrorKind::NotFound,
            there,
            format!("the original is gone: {was}")
        )
    );
    assert_eq!(b.read("s.compact"), "small");
}

#[test]
fn a_damaged_archive_replaces_nothing() {
    let b = Bench::new();
    b.compact(("s", "small"), ("s", "the original"), Original::Archive);
    let archive = b
        .store()
        .put_archive(b"the original", &hash(b"the original"))
        .unwrap()
        .name;
    let archive = b.store().path_of(FOLDER).join(archive);
    fs::write(&archive, zstd::encode_all(&b"forged"[..], 3).unwrap()).unwrap();
    let mut bytes = Vec::new();
    for dest in [Dest::InPlace, Dest::Writer(&mut bytes)] {
        let error = b.undo("s", dest, Appended::Refuse).unwrap_err();
        assert_eq!(
            (error.kind, error.path),
            (ErrorKind::Store, Some(archive.clone()))
        );
    }
    assert_eq!(bytes, b"");
    fs::remove_file(&archive).unwrap();
    let error = b.undo("s", Dest::InPlace, Appended::Refuse).unwrap_err();
    assert_eq!((error.kind, error.path), (ErrorKind::Store, Some(archive)));
    assert_eq!(b.read("s"), "small");
}

#[test]
fn a_file_that_changes_between_find_and_restore_is_left_alone() {
    let b = Bench::new();
    b.compact(("s", "small"), ("s", "the original"), Original::Archive);
    let found = b.find("s").unwrap();
    b.append("s", "!");
    let error = found.restore(Dest::InPlace, Appended::Discard).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Changed);
    assert_eq!(b.read("s"), "small!");
}

#[test]
fn many_files_are_found_with_one_reading_of_the_store() {
    let b = Bench::new();
    b.compact(("a", "1"), ("a", "original 1"), Original::Archive);
    b.compact(("b", "2"), ("b", "original 2"), Original::Archive);
    let mut undo = Undo::new(None);
    undo.find(&b.path("a")).unwrap();
    b.compact(("c", "3"), ("c", "original 3"), Original::Archive);
    undo.find(&b.path("b")).unwrap();
    undo.find(&b.path("c")).unwrap_err();
    Undo::new(None).find(&b.path("c")).unwrap();
}

#[test]
fn a_run_may_end_while_its_files_are_searched() {
    let b = Bench::new();
    let store = b.store();
    for (name, small, whole) in [("a", "1", "original 1"), ("b", "2", "original 2")] {
        let record = b.record((name, small), (name, whole), Original::Archive);
        store.record(&record).unwrap();
        fs::write(b.path(name), small).unwrap();
    }
    let mut undo = Undo::new(None);
    undo.find(&b.path("a")).unwrap();
    // Its records move from the journal to a manifest.
    store.finish().unwrap().unwrap();
    assert!(undo.names(&b.path("b"), &b.path("")).unwrap());
    undo.find(&b.path("b")).unwrap();
    fs::remove_dir_all(b.path(FOLDER).join("manifests")).unwrap();
    let error = undo.find(&b.path("b")).unwrap_err();
    assert_eq!(error.message, "no store has a record of this file");
}

#[cfg(unix)]
mod unix {
    use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

    use super::*;

    #[test]
    fn the_file_keeps_its_mode_and_a_new_one_gets_it() {
        let b = Bench::new();
        b.compact(("s", "small"), ("s", "the original"), Original::Archive);
        fs::set_permissions(b.path("s"), fs::Permissions::from_mode(0o640)).unwrap();
        let back = b.path("back");
        for dest in [Dest::Path(&back, Existing::Refuse), Dest::InPlace] {
            b.undo("s", dest, Appended::Refuse).unwrap();
        }
        for name in ["s", "back"] {
            assert_eq!(fs::metadata(b.path(name)).unwrap().mode() & 0o7777, 0o640);
            assert_eq!(b.read(name), "the original");
        }
    }

    #[test]
    fn a_link_finds_the_store_at_the_other_end_only() {
        // The files beside the link may have come with it, and must not affect files elsewhere.
        for (given, is_asked) in [("near/link", false), ("far/s", true)] {
            let b = Bench::new();
            fs::create_dir(b.path("near")).unwrap();
            fs::create_dir(b.path("far")).unwrap();
            symlink("../far/s", b.path("near/link")).unwrap();
            let store = Store::new(
                b.path(given).parent().unwrap().join(FOLDER),
                Durability::Lazy,
            );
            let archived = store
                .put_archive(b"the original", &hash(b"the original"))
                .unwrap();
            let record = Record {
                output: store.name_of(&b.path(given)).unwrap(),
                archive: Some(archived.name),
                ..b.record(("x", "small"), ("x", "the original"), Original::Input)
            };
            let record = Record {
                original: Original::Archive,
                ..record
            };
            store.record(&record).unwrap();
            fs::write(b.path("far/s"), "small").unwrap();
            let done = b.undo("near/link", Dest::InPlace, Appended::Refuse);
            if is_asked {
                done.unwrap();
                assert_eq!(b.read("far/s"), "the original");
            } else {
                assert_eq!(done.unwrap_err().kind, ErrorKind::Store);
                assert_eq!(b.read("far/s"), "small");
            }
            assert!(
                fs::symlink_metadata(b.path("near/link"))
                    .unwrap()
                    .is_symlink()
            );
        }
    }

    #[test]
    fn a_pipe_in_place_of_an_original_is_refused_rather_than_waited_for() {
        let b = Bench::new();
        b.compact(("s.compact", "small"), ("s", "x"), Original::Input);
        fs::remove_file(b.path("s")).unwrap();
        let made = std::process::Command::new("mkfifo")
            .arg(b.path("s"))
            .status();
        if made.is_ok_and(|status| status.success()) {
            let error = b
                .undo("s.compact", Dest::InPlace, Appended::Refuse)
                .unwrap_err();
            assert_eq!(error.kind, ErrorKind::Io);
        }
    }
}

#[test]
fn below_a_folder_what_no_record_knows_is_no_error() {
    let b = Bench::new();
    b.compact(("s", "small"), ("s", "the original"), Original::Archive);
    b.compact(
        ("t.compact", "smaller"),
        ("t", "another original"),
        Original::Input,
    );
    fs::write(b.path("other"), "other").unwrap();
    let mut undo = Undo::new(None);
    let mut state = |name: &str| {
        let found = undo.find_below(&b.path(name), b.dir.path());
        found.map(|found| found.map(|found| found.state().clone()))
    };
    assert_eq!(state("s").unwrap(), Some(State::Compacted));
    assert_eq!(state("t.compact").unwrap(), Some(State::Compacted));
    assert!(matches!(
        state("t").unwrap(),
        Some(State::AlreadyOriginal(_))
    ));
    assert_eq!(state("other").unwrap(), None);

    b.append("s", " and more");
    assert_eq!(state("s").unwrap(), Some(State::Grown(9)));
    // Its prefixes are compared only with records of its own path.
    fs::rename(b.path("s"), b.path("moved")).unwrap();
    assert_eq!(state("moved").unwrap(), None);
    assert_eq!(*b.find("moved").unwrap().state(), State::Grown(9));

    // The agent continued after an undo.
    fs::write(b.path("s"), "the original and more").unwrap();
    assert_eq!(state("s").unwrap(), None);
    fs::write(b.path("s"), "edited").unwrap();
    assert_eq!(state("s").unwrap_err().kind, ErrorKind::Changed);

    let mut names = |name| undo.names(&b.path(name), &b.path("")).unwrap();
    assert!(names("t.compact") && !names("t") && !names("other"));
}
