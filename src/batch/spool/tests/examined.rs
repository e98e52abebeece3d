//! Reports of `replay` and of `eval` are the same from memory and from disk.

use std::borrow::Cow;

use super::*;
use crate::artifacts::Replies;
use crate::batch::{eval_bytes, replay_bytes};
use crate::eval::{Baseline, Budget, Candidate, Cutting, Evaluator, FileEval};
use crate::policy::{Policy, Setting, parse, resolve};
use crate::replay::{FileReplay, Player, Replayer};
use crate::report::{
    Detail, EvalHeader, Evals, ReplayHeader, Replays, Rows, write_eval_csv, write_eval_table,
    write_replay_table,
};

/// A session of so many messages, each of several words.
fn session(messages: u64) -> String {
    let message = |k: u64| {
        let (role, words) = match k % 2 {
            0 => ("user", "please look at src/main.rs "),
            _ => ("assistant", "the function main of src/main.rs is fine "),
        };
        let content = words.repeat((k * 7 % 5 + 3) as usize);
        format!("{{\"role\":\"{role}\",\"content\":\"{content}{k}\"}}\n")
    };
    (0..messages).map(message).collect()
}

/// A preset with these settings.
fn set(name: &str, settings: &[(&str, &str)]) -> Policy {
    let settings: Vec<Setting> = settings
        .iter()
        .map(|(key, value)| Setting {
            key: (*key).to_owned(),
            value: (*value).to_owned(),
            origin: "a test".to_owned(),
        })
        .collect();
    resolve(preset(name).unwrap(), &settings).unwrap().policy
}

fn named(name: &str) -> PolicyRef {
    PolicyRef {
        name: name.to_owned(),
        hash: format!("blake3:{name}"),
        overrides: Vec::new(),
    }
}

/// The same entries in memory and on disk.
fn few_and_many<T>(
    folder: &Path,
    entry: impl Fn(u64, &Path) -> Examined<T>,
) -> [Sorted<Examined<T>>; 2]
where
    T: Find + Clone + Debug + Serialize + Send + Sync,
    Examined<T>: ReadBack,
{
    let all = |most| {
        let mut spool = Spool::with_most(folder, most);
        for n in 0..100 {
            let path = format!("in/{:03}.jsonl", n * 7 % 100);
            let path = Path::new(&path);
            let mut entry = match n {
                19 => {
                    let error = Error::new(ErrorKind::Io, "cannot open");
                    Examined::failed(path, &error.hint("look at it"))
                }
                _ => entry(n, path),
            };
            let timings = format!("{{\"read\":{}.25}}", n % 3);
            entry.file.timings = serde_json::from_str::<Timings>(&timings).ok();
            spool.push(entry).unwrap();
        }
        spool.sorted(&mut |_| {}).unwrap()
    };
    let [few, many] = [all(u64::MAX), all(0)];
    assert!(matches!(
        (&few, &many),
        (Sorted::Held(_), Sorted::Spooled(_))
    ));
    let weights = |of: &Sorted<Examined<T>>| -> Vec<u64> {
        (0..of.len()).map(|at| of.weight(at).unwrap()).collect()
    };
    assert_eq!(weights(&many), weights(&few));
    [few, many]
}

/// A report in every form of a file.
fn rendered(report: &impl Render, rows: &[CsvRows]) -> Vec<String> {
    let plain = ["a.json", "a.jsonl", "a.csv", "a.md", "a.html"];
    let plain = plain.map(|name| ReportFormat::from_path(Path::new(name)).unwrap());
    let finer = rows.iter().copied().map(ReportFormat::Csv);
    let text = |format| {
        let mut bytes = Vec::new();
        report.render(format, &mut bytes).unwrap();
        String::from_utf8(bytes).unwrap()
    };
    plain.into_iter().chain(finer).map(text).collect()
}

#[test]
fn many_replayed_inputs_are_reported_as_few_are() {
    let dir = tempfile::tempdir().unwrap();
    // Without an answer, every summary of the second fails.
    let scripted =
        include_str!("../../../../fixtures/replay/2-compactions-of-a-turn-and-no-more/policy.toml");
    let policies = [
        preset("auto").unwrap(),
        parse("scripted", scripted).unwrap(),
    ];
    let players = policies.each_ref();
    let players = players.map(|policy| Player::new(policy, Replies::default()).unwrap());
    let replaying = Replayer::new(players.into()).unwrap();
    let entry = |n: u64, path: &Path| match n {
        23 => replay_bytes(path, b"nothing that is known", &replaying),
        _ => replay_bytes(path, session(n % 9 * 4).as_bytes(), &replaying),
    };
    let all: [Sorted<Examined<FileReplay>>; 2] = few_and_many(dir.path(), entry);
    let [few, many] = all.each_ref().map(|of| {
        let about = ReplayHeader {
            policies: vec![named("auto"), named("scripted")],
            estimator: Cow::Borrowed(replaying.estimator()),
        };
        let report = Replays::of(about, of).unwrap();
        let report = report.with_timings(Some(std::time::Duration::from_secs(7)));
        let mut texts = rendered(&report, &[CsvRows::Turn]);
        for detail in [Detail::Totals, Detail::Timeline] {
            let mut bytes = Vec::new();
            write_replay_table(&report, detail, Screen::plain(100), &mut bytes).unwrap();
            texts.push(String::from_utf8(bytes).unwrap());
        }
        texts
    });
    for (many, few) in many.iter().zip(&few) {
        assert_eq!(many, few);
    }
    let [json, _, csv, markdown, page, _, _, timeline] = &many[..] else {
        panic!("{} texts", many.len());
    };
    assert!(json.contains("\"result\": \"failed\""));
    assert!(json.contains("cannot open"));
    // Inputs without a session have no row; each other has one for each policy.
    let sessions = few_sessions(&all[0]);
    assert_eq!(csv.lines().count(), 1 + 2 * sessions);
    assert!(markdown.contains("and 80 more files"), "{markdown}");
    assert!(page.contains("Context over requests"));
    assert!(timeline.contains("scripted: in/001.jsonl"), "{timeline}");
    assert_eq!(dir.path().read_dir().unwrap().count(), 0);
}

fn few_sessions(of: &Sorted<Examined<FileReplay>>) -> usize {
    let Sorted::Held(held) = of else {
        panic!("they are on disk");
    };
    held.iter().map(|file| file.found.sessions.len()).sum()
}

/// A session in which names of files are needed again, later.
fn work(n: u64) -> String {
    let line = |k: u64| {
        let (role, content) = match k % 2 {
            0 => {
                let file = |m: u64| format!("src/part{}.rs", (k * n + m * 3) % (7 + n));
                let files: Vec<String> = (0..4).map(file).collect();
                (
                    "user",
                    format!("Please mend {}. It is step {k}.", files.join(" and ")),
                )
            }
            _ => {
                let file = |m: u64| format!("src/part{}.rs", (k + m * 2) % (7 + n));
                (
                    "assistant",
                    format!("I looked at {} and {}.", file(0), file(n)),
                )
            }
        };
        format!("{{\"role\":\"{role}\",\"content\":\"{content}\"}}\n")
    };
    (0..16 + n * 3).map(line).collect()
}

/// What is measured in each of a few sessions.
fn measured(cutting: &dyn Fn() -> Cutting, baselines: &[Baseline]) -> Vec<Examined<FileEval>> {
    let budgets = [Budget::Percent(10.0), Budget::Percent(30.0)];
    let policies = ["10", "30"].map(|budget| {
        let settings = Candidate::FOR_BUDGETS.into_iter();
        let settings: Vec<_> = settings.chain([(Candidate::BUDGET, budget)]).collect();
        set("auto", &settings)
    });
    let of_budgets = policies.iter().zip(budgets);
    let candidate = Candidate::new("auto".to_owned(), of_budgets, &Replies::default()).unwrap();
    let evaluator = Evaluator::new(
        vec![candidate],
        baselines.to_vec(),
        budgets.to_vec(),
        cutting(),
    )
    .unwrap();
    let one = |n: u64| eval_bytes(Path::new("x"), work(n).as_bytes(), &evaluator);
    let not = eval_bytes(Path::new("x"), b"nothing that is known", &evaluator);
    (0..7).map(one).chain([not]).collect()
}

#[test]
fn many_measured_inputs_are_reported_as_few_are() {
    let in_rounds = || Cutting {
        rounds: 3,
        ..Cutting::at(&[])
    };
    let cuts = || Cutting::at(&[35.0, 60.0]);
    for sessions in [measured(&cuts, &Baseline::ALL), measured(&in_rounds, &[])] {
        let dir = tempfile::tempdir().unwrap();
        // The last one has no session.
        let kind = |n: u64| match n {
            23 => 7,
            _ => n % 7,
        };
        let entry = |n: u64, path: &Path| {
            let mut file = sessions[kind(n) as usize].clone();
            file.file.path = path.display().to_string();
            file
        };
        let all: [Sorted<Examined<FileEval>>; 2] = few_and_many(dir.path(), entry);
        let [few, many] = all.each_ref().map(|of| {
            let budgets = vec![Budget::Percent(10.0), Budget::Percent(30.0)];
            let about = EvalHeader::new(vec![named("auto")], budgets);
            let report = Evals::of(about, of).unwrap();
            let report = report.with_timings(Some(std::time::Duration::from_secs(7)));
            let report = report.unwrap();
            let mut texts = rendered(&report, &[]);
            for rows in [Rows::Totals, Rows::Sessions] {
                let mut bytes = Vec::new();
                write_eval_table(&report, rows, Screen::plain(100), &mut bytes).unwrap();
                write_eval_csv(&report, rows, &mut bytes).unwrap();
                texts.push(String::from_utf8(bytes).unwrap());
            }
            // To the last bit, although their JSON has two decimals.
            (texts, report.head().totals().clone())
        });
        for (many, few) in many.0.iter().zip(&few.0) {
            assert_eq!(many, few);
        }
        assert_eq!(many.1, few.1);
        let shares = many.1.scores.iter().flat_map(|of| of.scores.shares);
        let is_rounded = |share: f64| (share * 100.0).round() / 100.0 == share;
        assert!(shares.flatten().any(|share| !is_rounded(share)));
        assert!(many.1.scores[0].intervals.is_some());
        assert!(many.0[4].contains("unsupported"));
        assert_eq!(dir.path().read_dir().unwrap().count(), 0);
    }
}
