//! The records of a run that ended, and of one that did not.

use std::fs::{self, File};
use std::time::{Duration, SystemTime};

use tempfile::tempdir;

use super::*;
use crate::store::archive::archive_name;

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
        copies: Vec::new(),
        cleaned: Vec::new(),
        originals: Default::default(),
        failed_summaries: 0,
        policy_hash: "blake3:p".to_owned(),
        sequence: 0,
        overlaps: None,
    }
}

/// The record as the first run of a store writes it.
fn first(n: u32) -> Record {
    Record {
        sequence: 1,
        ..record(n)
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
        copies: Vec::new(),
        cleaned: Vec::new(),
        output: "o".to_owned(),
        output_hash: "blake3:1".to_owned(),
        output_bytes: 1,
        input: "-".to_owned(),
        input_hash: "blake3:2".to_owned(),
        input_bytes: 2,
        originals: Default::default(),
        failed_summaries: 0,
        policy_hash: "blake3:3".to_owned(),
        sequence: 0,
        overlaps: None,
    };
    let line = r#"{"output":"o","output_hash":"blake3:1","output_bytes":1,"input":"-","input_hash":"blake3:2","input_bytes":2,"original":"archive","archive":"archive/a.zst","offloads":["offloaded/b.txt"],"policy_hash":"blake3:3"}"#;
    assert_eq!(serde_json::to_string(&archived).unwrap(), line);
    assert_eq!(serde_json::from_str::<Record>(line).unwrap(), archived);
    let numbered = Record {
        sequence: 7,
        overlaps: Some(5),
        ..archived
    };
    let line = line.replace('}', r#","sequence":7,"overlaps":5}"#);
    assert_eq!(serde_json::to_string(&numbered).unwrap(), line);
    assert_eq!(serde_json::from_str::<Record>(&line).unwrap(), numbered);
}

#[test]
fn records_are_found_before_and_after_the_end_of_the_run() {
    let dir = tempdir().unwrap();
    let run = store(dir.path());
    run.record(&record(1)).unwrap();
    run.record(&record(2)).unwrap();
    let reader = store(dir.path());
    assert_eq!(reader.ledger().unwrap().records(), [first(1), first(2)]);

    let name = run.finish().unwrap().unwrap();
    assert_eq!(files(&run.root().join(JOURNAL)), Vec::<PathBuf>::new());
    assert_eq!(files(&run.root().join(MANIFESTS)), [run.root().join(&name)]);
    assert_eq!(reader.ledger().unwrap().records(), [first(1), first(2)]);
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
    assert_eq!(seen[0].0, seen[1].0);
    // Its name is unpredictable.
    assert_ne!(seen[0].1, seen[1].1);
    let lines: Vec<Record> = lines(&seen[0].0)
        .map(|line| serde_json::from_slice(line).unwrap())
        .collect();
    assert_eq!(lines, [first(1), first(2), first(3)]);
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
    // Every position at which the second line can end; the complete line is a record even without its line end.
    for cut in 1..whole.len() - 1 {
        bytes.truncate(whole.len());
        bytes.extend_from_slice(&whole[..cut]);
        fs::write(&journal, &bytes).unwrap();
        let ledger = run.ledger().unwrap();
        assert_eq!(ledger.records(), [first(1)], "cut at {cut}");
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
        journal.lines.tear(br#"{"output":"half"#).unwrap();
    }
    run.record(&record(2)).unwrap();
    assert_eq!(run.ledger().unwrap().records(), [first(1), first(2)]);
    run.finish().unwrap();
    let ledger = run.ledger().unwrap();
    assert_eq!(ledger.records(), [first(1), first(2)]);
    assert_eq!(ledger.damaged(), 0);
}

#[test]
fn outputs_are_known_by_name_and_hash() {
    let dir = tempdir().unwrap();
    let newer = Record {
        input_hash: super::super::hash(b"newer"),
        ..record(1)
    };
    for record in [record(1), newer.clone()] {
        let run = store(dir.path());
        run.record(&record).unwrap();
        run.finish().unwrap();
    }
    let lookup = store(dir.path()).lookup().unwrap();
    let index = store(dir.path()).record_index(By::Output).unwrap();
    let wrote = |name: &str, n| {
        index
            .writer(name, &record(n).output_hash)
            .unwrap()
            .is_some()
    };
    assert!(wrote("out/1.jsonl", 1));
    assert!(!wrote("out/2.jsonl", 1));
    assert!(!wrote("out/1.jsonl", 2));
    assert!(lookup.is_original(&newer.input_hash).unwrap());
    assert!(!lookup.is_original(&record(1).output_hash).unwrap());
    for by in [By::Output, By::OutputHash] {
        let index = store(dir.path()).record_index(by).unwrap();
        assert!(index.ends_with(&newer).unwrap());
        assert!(!index.ends_with(&record(1)).unwrap());
        let output_hash = record(1).output_hash;
        let found = match by {
            By::Output => index.of("out/1.jsonl"),
            By::OutputHash => index.of(&output_hash),
        };
        let mut found = found.unwrap();
        found.sort_by_key(|record| record.sequence);
        let inputs: Vec<String> = found.into_iter().map(|r| r.input_hash).collect();
        assert_eq!(inputs, [record(1).input_hash, newer.input_hash.clone()]);
        assert!(index.of("out/2.jsonl").unwrap().is_empty());
        let failed = index.without_summary("out/1.jsonl", &output_hash);
        assert!(failed.unwrap().is_none());
    }
}

#[test]
fn what_is_looked_up_is_what_the_ledger_has() {
    let dir = tempdir().unwrap();
    let records = (0..60).map(|n| Record {
        // Some outputs were written by several runs, and some have the same bytes or the same original.
        output: format!("out/{}.jsonl", n % 25),
        output_hash: record(n % 7).output_hash,
        output_bytes: u64::from(1_000 - n % 13),
        input_hash: record(n % 11).input_hash,
        ..record(n)
    });
    let records: Vec<Record> = records.collect();
    // The last one has not ended.
    let last = store(dir.path());
    for of_run in records.chunks(20) {
        let ended = store(dir.path());
        let run = match of_run == &records[40..] {
            true => &last,
            false => &ended,
        };
        of_run.iter().for_each(|record| run.record(record).unwrap());
        ended.finish().unwrap();
    }
    let torn = dir
        .path()
        .join(".ctxpack")
        .join(MANIFESTS)
        .join("torn.jsonl");
    fs::write(torn, "{\n").unwrap();
    let lookup = last.lookup().unwrap();
    let ledger = last.ledger().unwrap();
    assert_eq!(ledger.records().len(), records.len());
    assert_eq!((lookup.damaged(), ledger.damaged()), (1, 1));
    let found = |sought| {
        let found: Result<Vec<Record>> = lookup.of(sought).collect();
        found.unwrap()
    };
    let expected = |is: &dyn Fn(&Record) -> bool| {
        let records = ledger.records().iter().filter(|record| is(record));
        records.cloned().collect::<Vec<Record>>()
    };
    for record in ledger.records() {
        let [output, after, before] = [&record.output, &record.output_hash, &record.input_hash];
        for (sought, expected) in [
            (Sought::Output(output), expected(&|r| r.output == *output)),
            (
                Sought::OutputHash(after),
                expected(&|r| r.output_hash == *after),
            ),
            (
                Sought::InputHash(before),
                expected(&|r| r.input_hash == *before),
            ),
        ] {
            assert!(!expected.is_empty());
            assert_eq!(found(sought), expected);
        }
        assert!(lookup.is_original(before).unwrap());
        // One is not taken for another.
        assert_eq!(found(Sought::InputHash(after)), []);
        assert_eq!(found(Sought::OutputHash(output)), []);
    }
    assert!(!lookup.is_original(&record(70).input_hash).unwrap());
    let lengths: Result<Vec<u64>> = lookup.lengths().collect();
    let mut expected: Vec<u64> = records.iter().map(|record| record.output_bytes).collect();
    expected.sort();
    assert_eq!(lengths.unwrap(), expected);
}

#[test]
fn offloads_belong_to_the_only_output_that_needs_them() {
    let dir = tempdir().unwrap();
    let name = |n: u32| format!("offloaded/{n:032x}.txt");
    let offloads = |of: u32, names: &[u32]| Record {
        offloads: names.iter().map(|n| name(*n)).collect(),
        ..record(of)
    };
    let run = store(dir.path());
    for record in [
        offloads(1, &[1, 2]),
        offloads(2, &[2, 3]),
        offloads(2, &[3]),
    ] {
        run.record(&record).unwrap();
    }
    let owners = run.offload_owners().unwrap();
    let ledger = run.ledger().unwrap();
    let owned = |offload: u32, output: &str| {
        let is_its = owners.is_offload_of(&name(offload), output);
        let names = |record: &&Record| record.offloads.contains(&name(offload));
        let mut made = ledger.records().iter().filter(names).peekable();
        let is_only = made.peek().is_some() && made.all(|record| record.output == output);
        assert_eq!(is_its, is_only);
        is_its
    };
    assert!(owned(1, "out/1.jsonl") && owned(3, "out/2.jsonl"));
    assert!(!owned(2, "out/1.jsonl") && !owned(2, "out/2.jsonl"));
    assert!(!owned(4, "out/1.jsonl") && !owned(1, "out/2.jsonl"));
}

#[test]
fn runs_are_numbered_one_after_the_other_whatever_the_clock_says() {
    let dir = tempdir().unwrap();
    for n in 1..=12 {
        let run = store(dir.path());
        run.record(&record(n)).unwrap();
        let name = run.finish().unwrap().unwrap();
        let old = SystemTime::UNIX_EPOCH + Duration::from_secs(u64::from(100 - n));
        let file = File::options().append(true).open(run.root().join(&name));
        file.unwrap().set_modified(old).unwrap();
    }
    let mut seen: Vec<(u64, String)> = store(dir.path())
        .ledger()
        .unwrap()
        .records()
        .iter()
        .map(|record| (record.sequence, record.output.clone()))
        .collect();
    seen.sort();
    let expected = (1..=12).map(|n| (n, format!("out/{n}.jsonl")));
    assert_eq!(seen, expected.collect::<Vec<_>>());
}

#[test]
fn a_run_is_after_those_that_were_over_when_it_began() {
    let dir = tempdir().unwrap();
    let begin = |n: u32| {
        let run = store(dir.path());
        run.record(&record(n)).unwrap();
        run
    };
    let over = begin(1);
    over.finish().unwrap();
    let (long, short) = (begin(2), begin(3));
    short.finish().unwrap();
    let next = begin(4);
    // It was killed, and its journal stays.
    drop(long);
    let last = begin(5);
    next.finish().unwrap();
    last.finish().unwrap();

    let ledger = store(dir.path()).ledger().unwrap();
    let run = |n: u32| {
        let name = format!("out/{n}.jsonl");
        let mut records = ledger.records().iter();
        records.find(|record| record.output == name).unwrap()
    };
    for later in 2..=5 {
        assert!(run(1).is_before(run(later)), "1 and {later}");
        assert!(!run(later).is_before(run(1)), "{later} and 1");
    }
    // The second run continued until after the fourth had begun, which was still running when the fifth began.
    for (a, b) in [(2, 3), (2, 4), (3, 4), (4, 5)] {
        assert!(!run(a).is_before(run(b)), "{a} and {b}");
        assert!(!run(b).is_before(run(a)), "{b} and {a}");
    }
    assert!(run(2).is_before(run(5)));
    assert!(run(3).is_before(run(5)));
}

#[test]
fn old_records_are_before_numbered_ones_and_in_no_order_among_themselves() {
    let made = |input: &str, sequence| Record {
        input_hash: super::super::hash(input.as_bytes()),
        sequence,
        ..record(1)
    };
    let (a, b, c, d) = (made("a", 0), made("b", 0), made("c", 1), made("d", 1));
    assert_eq!(newest(&[&a, &a]), Some(&a));
    assert_eq!(newest(&[&a, &b]), None);
    assert_eq!(newest(&[&a, &c, &b]), Some(&c));
    assert_eq!(newest(&[&c, &d]), None);
    assert_eq!(newest(&[]), None);
}

#[test]
fn a_record_that_no_run_writes_is_damaged() {
    let dir = tempdir().unwrap();
    let hash = super::super::hash(b"x");
    let archive = archive_name(&hash);
    let archived = Record {
        original: Original::Archive,
        input_hash: hash.clone(),
        archive: Some(archive.clone()),
        ..record(1)
    };
    let offload = super::super::offload_name(b"x");
    let good = [
        record(1),
        Record {
            output: "../out/.hidden.jsonl".to_owned(),
            input: "../in.jsonl".to_owned(),
            ..record(1)
        },
        archived.clone(),
        Record {
            output: "/elsewhere/out.jsonl".to_owned(),
            input: "-".to_owned(),
            offloads: vec![offload.clone()],
            copies: Vec::new(),
            cleaned: vec![ArchivedOffload {
                name: offload,
                archive: archive.clone(),
            }],
            ..archived.clone()
        },
    ];
    let with_output = |output: &str| Record {
        output: output.to_owned(),
        ..record(1)
    };
    let bad = [
        with_output(""),
        with_output("/"),
        with_output("../../in.jsonl"),
        with_output("../"),
        with_output(".."),
        with_output("../a/../in.jsonl"),
        with_output("a/../../in.jsonl"),
        with_output("/home/../etc/passwd"),
        with_output("a\0b"),
        Record {
            input: "../../etc/passwd".to_owned(),
            ..record(1)
        },
        Record {
            output_hash: "blake3:1234".to_owned(),
            ..record(1)
        },
        Record {
            input_hash: hash.to_uppercase(),
            ..record(1)
        },
        Record {
            archive: Some(archive.clone()),
            ..record(1)
        },
        Record {
            archive: None,
            ..archived.clone()
        },
        Record {
            archive: Some("archive/../../x".to_owned()),
            ..archived.clone()
        },
        // Not a hash, and cut within a character where its digits would end.
        Record {
            input_hash: format!("blake3:{}é", "a".repeat(31)),
            ..archived.clone()
        },
        // The archive of another content.
        Record {
            archive: Some(archive_name(&super::super::hash(b"y"))),
            ..archived.clone()
        },
        Record {
            offloads: vec!["offloaded/../../../x".to_owned()],
            ..record(1)
        },
        Record {
            copies: vec!["archive/../../x.jsonl".to_owned()],
            ..record(1)
        },
        Record {
            cleaned: vec![ArchivedOffload {
                name: super::super::offload_name(b"y"),
                archive,
            }],
            ..archived
        },
    ];
    let folder = dir.path().join(".ctxpack").join(MANIFESTS);
    fs::create_dir_all(&folder).unwrap();
    let all = good
        .iter()
        .chain(&bad)
        .map(|record| line_of(record).unwrap());
    fs::write(folder.join("a.jsonl"), all.collect::<Vec<_>>().concat()).unwrap();
    let ledger = store(dir.path()).ledger().unwrap();
    assert_eq!(ledger.records(), good);
    assert_eq!(ledger.damaged(), bad.len() as u64);
    assert_eq!(ledger.damage(), Some((folder.join("a.jsonl").as_path(), 5)));
}

#[test]
fn a_file_that_is_one_endless_line_is_not_read_to_its_end() {
    let dir = tempdir().unwrap();
    let folder = dir.path().join(".ctxpack").join(MANIFESTS);
    fs::create_dir_all(&folder).unwrap();
    let file = File::create(folder.join("a.jsonl")).unwrap();
    file.set_len(1 << 40).unwrap();
    let error = store(dir.path()).ledger().unwrap_err();
    assert_eq!(error.kind, ErrorKind::Store);
    assert_eq!(error.path, Some(folder.join("a.jsonl")));
    assert_eq!(error.line, Some(1));
}

#[test]
fn a_store_that_has_no_number_left_says_so() {
    let dir = tempdir().unwrap();
    let folder = dir.path().join(".ctxpack").join(MANIFESTS);
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join(format!("{}-x.jsonl", u64::MAX)), "").unwrap();
    let error = store(dir.path()).record(&record(1)).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Store);
    assert!(error.hint.is_some());
}
