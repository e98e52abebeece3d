//! Entries come back the same from memory and from disk, in path order.

mod examined;

use std::fs::File;
use std::sync::Arc;

use super::*;
use crate::error::{Error, ErrorKind};
use crate::outcome::{Exit, Figures, Phase, Timings, Warning, WarningKind};
use crate::policy::preset;
use crate::report::{
    CsvRows, PolicyRef, Render, ReportFormat, Screen, Stats, StatsHeader, StreamedReport, Turns,
    View, write_stats_table,
};
use crate::stats::{self, Exact, FileStats};
use crate::store::finished::{Elsewhere, NoteFile};

fn outcome(n: u64) -> Outcome {
    let path = format!("in/{:03}.jsonl", n * 7 % 100);
    let path = Path::new(&path);
    match n {
        // The outcome of input 033.
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
    let many = all(30 * ENTRY_BYTES);
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
fn entries_whose_inputs_are_spelled_alike_have_one_order() {
    let dir = tempfile::tempdir().unwrap();
    let sorted = |most, hashes: [&str; 3]| {
        let mut outcomes = Outcomes::with_most(dir.path(), most);
        for n in 0..100 {
            outcomes.push(outcome(n)).unwrap();
        }
        for hash in hashes {
            let path = Path::new("in/\\xFFz.jsonl");
            outcomes.push(Outcome::unchanged(path, 7, hash)).unwrap();
        }
        let sorted = outcomes.sorted().unwrap();
        assert_eq!(matches!(sorted, Sorted::Spooled(_)), most < u64::MAX);
        sorted.into_vec().unwrap()
    };
    let one = sorted(u64::MAX, ["blake3:1", "blake3:2", "blake3:3"]);
    for most in [30 * ENTRY_BYTES, u64::MAX] {
        for hashes in [
            ["blake3:1", "blake3:2", "blake3:3"],
            ["blake3:3", "blake3:2", "blake3:1"],
            ["blake3:2", "blake3:3", "blake3:1"],
        ] {
            assert!(sorted(most, hashes) == one, "{most}: {hashes:?}");
        }
    }
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
    // Every second entry is in another file.
    let files = ["a", "b"].map(|name| {
        std::fs::write(dir.path().join(name), &noted).unwrap();
        let file = File::open(dir.path().join(name)).unwrap();
        let name = name.to_owned();
        Arc::new(NoteFile { name, file })
    });
    for most in [0, 30 * ENTRY_BYTES, u64::MAX] {
        let mut pushed = Outcomes::with_most(dir.path(), most);
        let mut kept = Outcomes::with_most(dir.path(), most);
        let mut noted = Outcomes::with_most(dir.path(), most);
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
            noted.push_noted(outcome.clone(), place).unwrap();
        }
        let warning = Warning {
            kind: WarningKind::Unsupported,
            line: None,
            message: "late".to_owned(),
        };
        pushed.warn("in/021.jsonl", warning.clone());
        kept.warn("in/021.jsonl", warning.clone());
        noted.warn("in/021.jsonl", warning);
        let pushed = pushed.sorted().unwrap();
        for kept in [kept.sorted().unwrap(), noted.sorted().unwrap()] {
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
}

#[test]
fn what_is_no_json_goes_to_no_report() {
    let dir = tempfile::tempdir().unwrap();
    let json = serde_json::to_string(&outcome(1)).unwrap();
    for (text, is_json) in [
        (&*json, true),
        (&json[1..], false),
        (&json[..json.len() - 1], false),
        (&format!("{json}}}"), false),
        ("\"\u{1}\"", false),
        ("", false),
    ] {
        std::fs::write(dir.path().join("a"), text).unwrap();
        let file = File::open(dir.path().join("a")).unwrap();
        let name = "a".to_owned();
        let place = Elsewhere {
            file: Arc::new(NoteFile { name, file }),
            offset: 0,
            bytes: text.len() as u32,
        };
        let mut outcomes = Outcomes::with_most(dir.path(), 0);
        outcomes.expect(1).unwrap();
        let path = outcome(1).file.path;
        let figures = Figures::of(&outcome(1));
        outcomes.push_elsewhere(path, figures, &place).unwrap();
        let sorted = outcomes.sorted().unwrap();
        assert_eq!(sorted.json(0).is_ok(), is_json, "{text}");
        let shown = sorted.each_json(0..1, &mut |_, json| assert_eq!(json, text.as_bytes()));
        assert_eq!(shown.is_ok(), is_json, "{text}");
    }
}

#[test]
fn the_key_of_outcomes_in_notes_depends_on_which_they_are_and_on_their_order() {
    let dir = tempfile::tempdir().unwrap();
    let file = |name: &str| {
        std::fs::write(dir.path().join(name), "").unwrap();
        let file = File::open(dir.path().join(name)).unwrap();
        let name = name.to_owned();
        Arc::new(NoteFile { name, file })
    };
    let (a, b) = (file("a"), file("b"));
    let key = |places: &[(&str, &Arc<NoteFile>, u64)]| {
        let mut outcomes = Outcomes::with_most(dir.path(), 0);
        outcomes.expect(1).unwrap();
        for (path, file, offset) in places {
            let place = Elsewhere {
                file: Arc::clone(file),
                offset: *offset,
                bytes: 7,
            };
            let figures = Figures::of(&outcome(1));
            outcomes
                .push_elsewhere((*path).to_owned(), figures, &place)
                .unwrap();
        }
        outcomes
    };
    let of = |outcomes: Outcomes| outcomes.sorted().unwrap().key().unwrap();
    let all = [("x", &a, 1), ("y", &b, 2), ("z", &a, 3)];
    let one = of(key(&all));
    assert!(one.is_some());
    // Threads meet files, and inputs, in any order.
    assert_eq!(of(key(&[all[1], all[2], all[0]])), one);
    for other in [
        &all[1..],
        &[all[0], all[1], ("z", &b, 3)],
        &[all[0], all[1], ("z", &a, 4)],
        &[("y", &a, 1), ("x", &b, 2), ("z", &a, 3)],
    ] {
        let other = of(key(other));
        assert!(other.is_some() && other != one);
    }
    // What is not in a note counts as it is.
    let with = |n: u64| {
        let mut some = key(&all);
        some.push(outcome(n)).unwrap();
        of(some)
    };
    assert_eq!(with(2), with(2));
    assert_ne!(with(2), with(3));
    assert_ne!(with(2), one);
}

/// What `stats` finds in an input with this many messages.
fn counted(counting: &stats::Counter<'_>, n: u64) -> Examined<FileStats> {
    let path = format!("in/{:03}.jsonl", n * 7 % 100);
    let path = Path::new(&path);
    let message = |k: u64| {
        let role = if k.is_multiple_of(2) {
            "user"
        } else {
            "assistant"
        };
        let content = "word ".repeat((n * 13 % 17 + k) as usize);
        format!("{{\"role\":\"{role}\",\"content\":\"{content}\"}}\n")
    };
    match n {
        19 => {
            let error = Error::new(ErrorKind::Io, "cannot open");
            Examined::failed(path, &error.hint("look at it"))
        }
        23 => crate::batch::stats_bytes(path, b"nothing that is known", counting),
        _ => {
            let text: String = (0..n % 9 + 1).map(message).collect();
            let mut file = crate::batch::stats_bytes(path, text.as_bytes(), counting);
            let timings = format!("{{\"read\":{}.25}}", n % 3);
            file.file.timings = serde_json::from_str::<Timings>(&timings).ok();
            file
        }
    }
}

#[test]
fn many_counted_inputs_are_reported_as_few_are() {
    let dir = tempfile::tempdir().unwrap();
    let policy = preset("auto").unwrap();
    let counting = stats::Counter::new(&policy, 3, Exact::No).unwrap();
    let all = |most| {
        let mut spool = Spool::with_most(dir.path(), most);
        for n in 0..100 {
            spool.push(counted(&counting, n)).unwrap();
        }
        let mut paths = Vec::new();
        let sorted = spool.sorted(&mut |path| paths.push(path.to_owned()));
        assert!(paths.is_sorted() && paths.len() == 100);
        sorted.unwrap()
    };
    let few = all(u64::MAX);
    let many = all(30 * ENTRY_BYTES);
    assert!(matches!(
        (&few, &many),
        (Sorted::Held(_), Sorted::Spooled(_))
    ));
    let remarkable = |of: &Sorted<Examined<FileStats>>| {
        let mut all = Vec::new();
        let mut show = |at, file: &Examined<FileStats>| {
            all.push((at, file.status.clone(), file.file.error.clone()));
            Ok(())
        };
        of.each_remarkable(&mut show).unwrap();
        all
    };
    let [(33, _, Some(failed)), (61, _, None)] = &remarkable(&many)[..] else {
        panic!("{:?}", remarkable(&many));
    };
    assert_eq!(failed.hint.as_deref(), Some("look at it"));
    for at in 0..100 {
        assert_eq!(many.weight(at).unwrap(), few.weight(at).unwrap());
        let timed = |of: &Sorted<Examined<FileStats>>| {
            let file = of.get(at).unwrap().into_owned();
            file.file.timings.map(|timings| timings.of(Phase::Read))
        };
        assert_eq!(timed(&many), timed(&few));
    }
    let rendered = |of: &Sorted<Examined<FileStats>>| {
        let policy = PolicyRef {
            name: "auto".to_owned(),
            hash: "blake3:p".to_owned(),
            overrides: Vec::new(),
        };
        let thresholds = counting.thresholds().clone();
        let about = StatsHeader::new(policy, counting.estimator(), thresholds, 3);
        let report = Stats::of(about, of).unwrap();
        let report = report.with_timings(Some(std::time::Duration::from_secs(7)));
        let finer = [CsvRows::Turn, CsvRows::Conversation].map(ReportFormat::Csv);
        let plain = ["a.json", "a.jsonl", "a.csv", "a.md", "a.html"];
        let plain = plain.map(|name| ReportFormat::from_path(Path::new(name)).unwrap());
        let mut texts = Vec::new();
        for format in plain.into_iter().chain(finer) {
            let mut bytes = Vec::new();
            report.render(format, &mut bytes).unwrap();
            texts.push(String::from_utf8(bytes).unwrap());
        }
        for turns in [Turns::Some, Turns::All] {
            let view = View {
                screen: Screen::plain(100),
                top: 3,
                turns,
            };
            let mut bytes = Vec::new();
            write_stats_table(&report, view, &mut bytes).unwrap();
            texts.push(String::from_utf8(bytes).unwrap());
        }
        texts
    };
    let (many, few) = (rendered(&many), rendered(&few));
    for (many, few) in many.iter().zip(&few) {
        assert_eq!(many, few);
    }
    assert!(many[2].contains("in/033.jsonl,"), "{}", many[2]);
    assert_eq!(dir.path().read_dir().unwrap().count(), 0);
}
