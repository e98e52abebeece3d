//! Entries come back alike from memory and from the disk, in the order of their paths.

use std::fs::File;
use std::sync::Arc;

use super::*;
use crate::error::{Error, ErrorKind};
use crate::outcome::{Exit, Figures, Warning, WarningKind};
use crate::report::{PolicyRef, Render, ReportFormat, StreamedReport};
use crate::store::finished::Elsewhere;

fn outcome(n: u64) -> Outcome {
    let path = format!("in/{:03}.jsonl", n * 7 % 100);
    let path = Path::new(&path);
    match n {
        // That of 033.
        19 => {
            let error = Error::new(ErrorKind::Io, "cannot open");
            Outcome::failed(path, &error.hint("look at it"))
        }
        _ => Outcome::unchanged(path, n, "blake3:1"),
    }
}

fn remarkable(of: &dyn Entries) -> Vec<(usize, Outcome)> {
    let mut all = Vec::new();
    let mut show = |at, outcome: &Outcome| {
        all.push((at, outcome.clone()));
        Ok(())
    };
    of.each_remarkable(&mut show).unwrap();
    all
}

#[test]
fn many_outcomes_come_back_as_few_do() {
    let dir = tempfile::tempdir().unwrap();
    let all = |most| {
        let mut outcomes = Outcomes::with_most(dir.path(), most);
        for n in 0..100 {
            outcomes.push(outcome(n)).unwrap();
        }
        let warning = Warning {
            kind: WarningKind::Unsupported,
            line: None,
            message: "late".to_owned(),
        };
        outcomes.warn("in/021.jsonl", warning);
        assert_eq!(outcomes.len(), 100);
        outcomes.sorted().unwrap()
    };
    let few = all(u64::MAX);
    let many = all(30 * AN_ENTRY);
    assert!(matches!(many, Sorted::Spooled(_)));
    assert_eq!(many.totals(), few.totals());
    assert_eq!((many.exit(), few.exit()), (Exit::Partial, Exit::Partial));
    assert_eq!(remarkable(&many), remarkable(&few));
    let places: Vec<usize> = remarkable(&many).into_iter().map(|(at, _)| at).collect();
    assert_eq!(places, [21, 33]);
    for at in 0..100 {
        assert_eq!(many.json(at).unwrap(), few.json(at).unwrap());
    }
    let rendered = |of: &Sorted, format: &str| {
        let policy = PolicyRef {
            name: "auto".to_owned(),
            hash: "blake3:p".to_owned(),
            overrides: Vec::new(),
        };
        let format = ReportFormat::from_path(Path::new(format)).unwrap();
        let report = StreamedReport::new(policy, of.totals(), of);
        let mut bytes = Vec::new();
        report.render(format, &mut bytes).unwrap();
        String::from_utf8(bytes).unwrap()
    };
    for format in ["a.json", "a.jsonl", "a.csv", "a.md", "a.html"] {
        let text = rendered(&many, format);
        assert_eq!(text, rendered(&few, format));
        assert!(text.contains("in/033.jsonl"), "{format}");
    }
    let error = many.get(33).unwrap().file.error.clone().unwrap();
    assert_eq!(error.hint.as_deref(), Some("look at it"));
    let tens = |outcome: &Outcome| {
        let path = &outcome.file.path;
        (!path.starts_with("in/09")).then(|| PathBuf::from(&path[5..6]))
    };
    let together: Vec<Vec<usize>> = many.together(&tens).unwrap().collect();
    let expected = (0..10).map(|n| (0..9).map(|tens| tens * 10 + n).collect());
    assert_eq!(together, expected.collect::<Vec<Vec<usize>>>());
    assert_eq!(many.into_vec().unwrap(), few.into_vec().unwrap());
    // The file has no name.
    assert_eq!(dir.path().read_dir().unwrap().count(), 0);
}

#[test]
fn outcomes_of_other_files_are_as_if_they_were_pushed() {
    let dir = tempfile::tempdir().unwrap();
    let all: Vec<Outcome> = (0..100).map(outcome).collect();
    let mut noted = Vec::new();
    let mut places = Vec::new();
    for outcome in &all {
        let json = serde_json::to_vec(outcome).unwrap();
        noted.push(b' ');
        places.push((noted.len() as u64, json.len() as u32));
        noted.extend(json);
    }
    // Each second one is in another file.
    let files = ["a", "b"].map(|name| {
        std::fs::write(dir.path().join(name), &noted).unwrap();
        Arc::new(File::open(dir.path().join(name)).unwrap())
    });
    for most in [0, 30 * AN_ENTRY, u64::MAX] {
        let mut pushed = Outcomes::with_most(dir.path(), most);
        let mut kept = Outcomes::with_most(dir.path(), most);
        for (at, outcome) in all.iter().enumerate() {
            pushed.push(outcome.clone()).unwrap();
            let (offset, bytes) = places[at];
            let place = Elsewhere {
                file: Arc::clone(&files[at % 2]),
                offset,
                bytes,
            };
            let path = outcome.file.path.clone();
            kept.push_elsewhere(path, Figures::of(outcome), &place)
                .unwrap();
        }
        let warning = Warning {
            kind: WarningKind::Unsupported,
            line: None,
            message: "late".to_owned(),
        };
        pushed.warn("in/021.jsonl", warning.clone());
        kept.warn("in/021.jsonl", warning);
        let (pushed, kept) = (pushed.sorted().unwrap(), kept.sorted().unwrap());
        assert_eq!(kept.totals(), pushed.totals());
        assert_eq!(kept.exit(), pushed.exit());
        for at in 0..100 {
            assert_eq!(kept.json(at).unwrap(), pushed.json(at).unwrap());
            assert_eq!(kept.weight(at).unwrap(), pushed.weight(at).unwrap());
            let is = |of: &Sorted| of.is_remarkable(at).unwrap();
            assert_eq!(is(&kept), is(&pushed));
        }
    }
}
