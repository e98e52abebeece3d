//! What is noted about finished work, and how it is found again.

use std::fs::File;
use std::path::Path;
use std::time::{Duration, SystemTime};

use tempfile::tempdir;

use super::*;
use crate::outcome::Outcome;
use crate::store::FileIdentity;
use crate::store::folder::read_exact_at;
use crate::store::identity::milliseconds;

fn finished(input: &str, bytes: u64) -> Finished {
    Finished {
        input: input.to_owned(),
        input_seen: FileIdentity {
            bytes,
            modified: None,
            touched: None,
        },
        output: None,
        output_seen: None,
        contents: Vec::new(),
        outcome: Outcome::unchanged(Path::new(input), bytes, "blake3:1"),
    }
}

fn store(dir: &Path) -> Store {
    Store::new(dir.join(".ctxpack"), Durability::Lazy)
}

fn of(known: &FinishedWork, input: &str) -> Option<(Finished, Ended)> {
    let note = known.line(input)?.read()?;
    let header = note.header()?;
    let outcome = header.outcome()?;
    // Its JSON is at the stated location.
    let place = note.place_of(&header)?;
    let mut json = vec![0; place.bytes as usize];
    read_exact_at(&place.file.file, &mut json, place.offset).ok()?;
    assert_eq!(json, serde_json::to_vec(&outcome).ok()?);
    let text = |text: &JsonText<'_>| (**text).to_owned();
    let finished = Finished {
        input: text(&header.input),
        input_seen: header.input_seen,
        output: header.output.as_ref().map(text),
        output_seen: header.output_seen,
        contents: header
            .contents
            .iter()
            .map(|(name, seen)| (text(name), *seen))
            .collect(),
        outcome,
    };
    Some((finished, note.ended))
}

#[test]
fn what_one_run_notes_the_next_one_finds() {
    let dir = tempdir().unwrap();
    let (work, other) = (Work::of("one"), Work::of("another"));
    let run = store(dir.path());
    assert!(run.finished_work(&work).unwrap().is_empty());
    assert!(!run.exists().unwrap());
    for (name, bytes) in [("a", 1), ("b\n", 2), ("a", 3)] {
        run.note_finished(&work, &finished(name, bytes)).unwrap();
    }
    let next = store(dir.path());
    let known = next.finished_work(&work).unwrap();
    let found = |name| of(&known, name);
    // The last line of an input counts.
    assert_eq!(found("a"), Some((finished("a", 3), Ended::Interrupted)));
    assert_eq!(found("b\n"), Some((finished("b\n", 2), Ended::Interrupted)));
    assert_eq!(found("c"), None);
    assert!(next.finished_work(&other).unwrap().is_empty());
    run.end_finished(&work, &FinishedWork::default()).unwrap();
    let known = next.finished_work(&work).unwrap();
    assert_eq!(of(&known, "a"), Some((finished("a", 3), Ended::Whole)));
}

#[test]
fn a_line_of_which_any_byte_is_another_one_counts_as_none() {
    let mut noted = finished("a \",\"outcome\":", 7);
    noted.output = Some(",\"outcome\":{}".to_owned());
    noted.contents = vec![("archive/1".to_owned(), noted.input_seen)];
    noted.outcome.stored_after = Some(3);
    let line = noted.line().unwrap().bytes;
    let header = NoteHeader::of(&line).unwrap();
    assert_eq!(*header.input, *noted.input);
    assert_eq!(*note::named(&line).unwrap(), *noted.input);
    assert_eq!(header.outcome().unwrap(), noted.outcome);
    for at in 0..line.len() {
        for bit in 0..8 {
            let mut damaged = line.clone();
            damaged[at] ^= 1 << bit;
            assert!(NoteHeader::of(&damaged).is_none(), "{at}");
        }
        assert!(NoteHeader::of(&line[..at]).is_none(), "{at}");
        assert!(NoteHeader::of(&line[at + 1..]).is_none(), "{at}");
    }
}

#[test]
fn an_active_run_keeps_its_file_and_a_dead_one_is_taken_over() {
    let dir = tempdir().unwrap();
    let work = Work::of("one");
    let (active, dead) = (store(dir.path()), store(dir.path()));
    active.note_finished(&work, &finished("a", 1)).unwrap();
    dead.note_finished(&work, &finished("b", 2)).unwrap();
    drop(dead);
    let run = store(dir.path());
    let known = run.finished_work(&work).unwrap();
    run.end_finished(&work, &known).unwrap();
    let known = store(dir.path()).finished_work(&work).unwrap();
    assert_eq!(of(&known, "a").unwrap().1, Ended::Interrupted);
    assert_eq!(of(&known, "b").unwrap().1, Ended::Whole);
    active.note_finished(&work, &finished("c", 3)).unwrap();
    active.end_finished(&work, &known).unwrap();
    let known = store(dir.path()).finished_work(&work).unwrap();
    for name in ["a", "b", "c"] {
        assert_eq!(of(&known, name).unwrap().1, Ended::Whole, "{name}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_file_is_untouched_until_anything_of_it_changes() {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt;
    use std::thread::sleep;

    let dir = tempdir().unwrap();
    let path = dir.path().join("a");
    let seen = || FileIdentity::of_output(&path, &fs::metadata(&path).unwrap());
    let now = || seen().modified.map(milliseconds).unwrap();
    let again = |touch: &dyn Fn()| {
        fs::write(&path, "a").unwrap();
        let (before, time) = (seen(), fs::metadata(&path).unwrap().modified().unwrap());
        // Whoever notes it in the same moment cannot know.
        assert!(!before.is_untouched_output(seen(), now()));
        let noted = now() + 30;
        assert!(before.is_untouched_output(seen(), noted));
        // Longer than the resolution of the system's file times.
        sleep(Duration::from_millis(20));
        touch();
        let file = File::options().write(true).open(&path).unwrap();
        file.set_modified(time).unwrap();
        assert!(before.is_still(seen()), "size and time are as they were");
        before.is_untouched_output(seen(), noted)
    };
    assert!(!again(&|| fs::write(&path, "b").unwrap()));
    assert!(!again(&|| fs::set_permissions(
        &path,
        Permissions::from_mode(0o600)
    )
    .unwrap()));
    assert!(!again(&|| {
        fs::write(dir.path().join("b"), "b").unwrap();
        fs::rename(dir.path().join("b"), &path).unwrap();
    }));
    // As seen through an open folder.
    let folder = Folder::open(dir.path()).unwrap();
    assert_eq!(folder.seen(OsStr::new("a")).unwrap(), seen());
    // An identity that proves nothing is not trusted.
    let unknown = FileIdentity::of(&fs::metadata(&path).unwrap());
    assert!(!unknown.is_untouched_output(unknown, u64::MAX));
}

#[test]
fn a_line_is_the_same_by_a_window_and_without_one() {
    let dir = tempdir().unwrap();
    let work = Work::of("one");
    let run = store(dir.path());
    // A line is longer than what is read at once.
    let long = "long".repeat(window::PIECE_BYTES as usize / 3);
    let name = |n: u64| format!("{n}{}", if n % 900 == 7 { &*long } else { "" });
    for n in 0..2_000 {
        run.note_finished(&work, &finished(&name(n), n)).unwrap();
    }
    let known = run.finished_work(&work).unwrap();
    let spread = |n: u64| n * 997 % 2_000;
    let there_and_back = (0..2_000).chain((0..2_000).rev());
    let by_two = (0..1_000).flat_map(|n| [n, n + 90]);
    for n in there_and_back.chain(by_two).chain((0..2_000).map(spread)) {
        let line = known.line(&name(n)).unwrap();
        let read = line.read().unwrap().line;
        let mut without = vec![0; line.place.bytes as usize];
        read_exact_at(&line.part.file.file, &mut without, line.place.offset).unwrap();
        assert!(*read == *without, "{n}");
    }
}

#[test]
fn a_time_just_before_the_reading_proves_nothing() {
    let dir = tempdir().unwrap();
    let path = dir.path().join("a");
    std::fs::write(&path, "a").unwrap();
    let now = std::fs::metadata(&path).unwrap();
    let young = FileIdentity::of(&now);
    assert!(young.is_still(FileIdentity::of(&now)));
    assert!(!young.settled().is_still(FileIdentity::of(&now)));
    let file = File::options().write(true).open(&path).unwrap();
    file.set_modified(SystemTime::now() - Duration::from_secs(3600))
        .unwrap();
    let now = std::fs::metadata(&path).unwrap();
    assert!(
        FileIdentity::of(&now)
            .settled()
            .is_still(FileIdentity::of(&now))
    );
    assert!(!young.is_still(FileIdentity::of(&now)));
}
