//! What is noted of finished work, and what is found of it.

use std::path::Path;
use std::time::{Duration, SystemTime};

use tempfile::tempdir;

use super::*;
use crate::outcome::Outcome;

fn finished(input: &str, bytes: u64) -> Finished {
    Finished {
        input: input.to_owned(),
        input_seen: Seen {
            bytes,
            modified: None,
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
    let glance = note.glance()?;
    let outcome = glance.outcome()?;
    // Its JSON is where it is said to be.
    let place = note.place_of(&glance)?;
    let mut json = vec![0; place.bytes as usize];
    read_exact_at(&place.file, &mut json, place.offset).ok()?;
    assert_eq!(json, serde_json::to_vec(&outcome).ok()?);
    let text = |text: &JsonText<'_>| (**text).to_owned();
    let finished = Finished {
        input: text(&glance.input),
        input_seen: glance.input_seen,
        output: glance.output.as_ref().map(text),
        output_seen: glance.output_seen,
        contents: glance.contents.iter().map(text).collect(),
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

#[test]
fn a_time_just_before_the_reading_proves_nothing() {
    let dir = tempdir().unwrap();
    let path = dir.path().join("a");
    std::fs::write(&path, "a").unwrap();
    let now = std::fs::metadata(&path).unwrap();
    let young = Seen::of(&now);
    assert!(young.is_still(&now));
    assert!(!young.settled().is_still(&now));
    let file = File::options().write(true).open(&path).unwrap();
    file.set_modified(SystemTime::now() - Duration::from_secs(3600))
        .unwrap();
    let now = std::fs::metadata(&path).unwrap();
    assert!(Seen::of(&now).settled().is_still(&now));
    assert!(!young.is_still(&now));
}
