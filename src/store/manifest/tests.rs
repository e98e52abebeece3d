//! What is found of a run that ended, and of one that did not.

use tempfile::tempdir;

use super::*;

fn record(n: u32) -> Record {
    Record {
        output: format!("out/{n}.jsonl"),
        output_hash: super::super::hash(format!("out {n}").as_bytes()),
        output_bytes: 10 + u64::from(n),
        input: format!("in/{n}\n.jsonl"),
        input_hash: super::super::hash(format!("in {n}").as_bytes()),
        input_bytes: 100,
        original: Original::Input,
        archive: None,
        offloads: Vec::new(),
        cleaned: Vec::new(),
        policy_hash: "blake3:p".to_owned(),
    }
}

fn store(dir: &Path) -> Store {
    Store::new(dir.join(".ctxpack"), Durability::Durable)
}

fn files(folder: &Path) -> Vec<PathBuf> {
    fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect()
}

#[test]
fn a_record_is_one_line_of_documented_fields() {
    let archived = Record {
        original: Original::Archive,
        archive: Some("archive/a.zst".to_owned()),
        offloads: vec!["offloaded/b.txt".to_owned()],
        cleaned: Vec::new(),
        output: "o".to_owned(),
        output_hash: "blake3:1".to_owned(),
        output_bytes: 1,
        input: "-".to_owned(),
        input_hash: "blake3:2".to_owned(),
        input_bytes: 2,
        policy_hash: "blake3:3".to_owned(),
    };
    let line = r#"{"output":"o","output_hash":"blake3:1","output_bytes":1,"input":"-","input_hash":"blake3:2","input_bytes":2,"original":"archive","archive":"archive/a.zst","offloads":["offloaded/b.txt"],"policy_hash":"blake3:3"}"#;
    assert_eq!(serde_json::to_string(&archived).unwrap(), line);
    assert_eq!(serde_json::from_str::<Record>(line).unwrap(), archived);
}

#[test]
fn records_are_found_before_and_after_the_end_of_the_run() {
    let dir = tempdir().unwrap();
    let run = store(dir.path());
    run.record(&record(1)).unwrap();
    run.record(&record(2)).unwrap();
    let reader = store(dir.path());
    assert_eq!(reader.ledger().unwrap().records(), [record(1), record(2)]);

    let name = run.finish().unwrap().unwrap();
    assert_eq!(files(&run.root().join(JOURNAL)), Vec::<PathBuf>::new());
    assert_eq!(files(&run.root().join(MANIFESTS)), [run.root().join(&name)]);
    assert_eq!(reader.ledger().unwrap().records(), [record(1), record(2)]);
}

#[test]
fn the_manifest_depends_on_its_records_alone() {
    let dir = tempdir().unwrap();
    let mut seen = Vec::new();
    for (n, order) in [[1, 2, 3, 3], [3, 1, 2, 1]].into_iter().enumerate() {
        let run = Store::new(dir.path().join(n.to_string()), Durability::Lazy);
        for i in order {
            run.record(&record(i)).unwrap();
        }
        let name = run.finish().unwrap().unwrap();
        seen.push((fs::read(run.root().join(&name)).unwrap(), name));
    }
    assert_eq!(seen[0], seen[1]);
    let lines: Vec<Record> = lines(&seen[0].0)
        .map(|line| serde_json::from_slice(line).unwrap())
        .collect();
    assert_eq!(lines, [record(1), record(2), record(3)]);
}

#[test]
fn a_run_without_records_leaves_nothing() {
    let dir = tempdir().unwrap();
    let run = store(dir.path());
    assert_eq!(run.finish().unwrap(), None);
    assert_eq!(run.ledger().unwrap().records(), []);
    assert!(!run.root().exists());
}

#[test]
fn two_runs_at_once_keep_their_records_apart() {
    let dir = tempdir().unwrap();
    let (one, two) = (store(dir.path()), store(dir.path()));
    std::thread::scope(|scope| {
        for (run, first) in [(&one, 0), (&two, 100), (&one, 200), (&two, 300)] {
            scope.spawn(move || {
                for n in first..first + 50 {
                    run.record(&record(n)).unwrap();
                }
            });
        }
    });
    let one_name = one.finish().unwrap().unwrap();
    two.record(&record(999)).unwrap();
    two.finish().unwrap();

    let inputs = |name: &str| -> Vec<String> {
        lines(&fs::read(one.root().join(name)).unwrap())
            .map(|line| serde_json::from_slice::<Record>(line).unwrap().input)
            .collect()
    };
    let mut expected: Vec<String> = (0..50).chain(200..250).map(|n| record(n).input).collect();
    let mut found = inputs(&one_name);
    found.sort();
    expected.sort();
    assert_eq!(found, expected);
    assert_eq!(store(dir.path()).ledger().unwrap().records().len(), 201);
}

#[test]
fn a_line_that_a_kill_cut_short_costs_only_itself() {
    let dir = tempdir().unwrap();
    let run = store(dir.path());
    run.record(&record(1)).unwrap();
    let journal = files(&run.root().join(JOURNAL)).remove(0);
    let mut bytes = fs::read(&journal).unwrap();
    let whole = bytes.clone();
    // Every place where the second line can end; the complete line is a record also without its line end.
    for cut in 1..whole.len() - 1 {
        bytes.truncate(whole.len());
        bytes.extend_from_slice(&whole[..cut]);
        fs::write(&journal, &bytes).unwrap();
        let ledger = run.ledger().unwrap();
        assert_eq!(ledger.records(), [record(1)], "cut at {cut}");
        assert_eq!(ledger.damaged(), 1);
    }
}

#[test]
fn a_torn_line_does_not_swallow_the_next() {
    let dir = tempdir().unwrap();
    let run = store(dir.path());
    run.record(&record(1)).unwrap();
    {
        let mut slot = run.journal.lock().unwrap();
        let journal = slot.as_mut().unwrap();
        journal.append(br#"{"output":"half"#).unwrap();
        journal.torn = true;
    }
    run.record(&record(2)).unwrap();
    assert_eq!(run.ledger().unwrap().records(), [record(1), record(2)]);
    run.finish().unwrap();
    let ledger = run.ledger().unwrap();
    assert_eq!(ledger.records(), [record(1), record(2)]);
    assert_eq!(ledger.damaged(), 0);
}

#[test]
fn newer_manifests_come_later_and_outputs_are_known_by_name_and_hash() {
    let dir = tempdir().unwrap();
    let newer = Record {
        input_hash: "blake3:newer".to_owned(),
        ..record(1)
    };
    for (n, record) in [record(1), newer.clone()].iter().enumerate() {
        let run = store(dir.path());
        run.record(record).unwrap();
        let name = run.finish().unwrap().unwrap();
        let time = SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(n as u64);
        File::options()
            .append(true)
            .open(run.root().join(name))
            .unwrap()
            .set_modified(time)
            .unwrap();
    }
    let ledger = store(dir.path()).ledger().unwrap();
    assert_eq!(ledger.records(), [record(1), newer.clone()]);
    let found: Vec<&Record> = ledger.with_output(&record(1).output_hash).collect();
    assert_eq!(found, [&newer, &record(1)]);
    assert!(ledger.wrote("out/1.jsonl", &record(1).output_hash));
    assert!(!ledger.wrote("out/2.jsonl", &record(1).output_hash));
    assert!(!ledger.wrote("out/1.jsonl", &record(2).output_hash));
    assert!(ledger.is_original("blake3:newer"));
    assert!(!ledger.is_original(&record(1).output_hash));
}
