//! Every target of [`targets`] over mutated seeds: the fixtures, the presets, records.
//!
//! Deterministic: so many runs for each target, the same every time. `FUZZ_RUNS=100000` makes as many others,
//! `FUZZ_SEED=7` begins elsewhere, and `FUZZ_ONLY=7:12` repeats the one that failed. `scripts/fuzz` runs the same targets
//! under libFuzzer.

mod mutate;
mod targets;

use std::fs;
use std::path::{Path, PathBuf};

use mutate::{Chance, mutate};

/// Larger seeds make runs slow and find nothing that smaller ones do not.
const LARGEST_SEED: u64 = 5_000;

/// Runs so many mutations of the seeds, or as many as the environment says.
fn fuzz(name: &str, runs: u64, seeds: &[Vec<u8>]) {
    assert!(seeds.len() > 2, "{name}: only {} seeds", seeds.len());
    let (_, target) = targets::ALL
        .into_iter()
        .find(|(known, _)| *known == name)
        .unwrap();
    let number = |name: &str| std::env::var(name).ok()?.parse().ok();
    if let Some((first, run)) = only() {
        return once(name, target, seeds, first, run);
    }
    let first = number("FUZZ_SEED").unwrap_or(1);
    for run in 0..number("FUZZ_RUNS").unwrap_or(runs) {
        once(name, target, seeds, first, run);
    }
}

fn only() -> Option<(u64, u64)> {
    let asked = std::env::var("FUZZ_ONLY").ok()?;
    let (first, run) = asked.split_once(':')?;
    Some((first.parse().ok()?, run.parse().ok()?))
}

fn once(name: &str, target: fn(&[u8]), seeds: &[Vec<u8>], first: u64, run: u64) {
    let mut chance = Chance::new(first << 40 ^ run);
    // Each seed as it is, before it is changed.
    let mut bytes = match seeds.get(run as usize) {
        Some(seed) => seed.clone(),
        None => chance.pick(seeds).clone(),
    };
    if run as usize >= seeds.len() {
        let other = chance.pick(seeds).clone();
        mutate(&mut chance, &mut bytes, &other);
    }
    let shown = Shown {
        name,
        first,
        run,
        bytes: &bytes,
    };
    target(&bytes);
    drop(shown);
}

/// Says which input it was when the target fails.
struct Shown<'a> {
    name: &'a str,
    first: u64,
    run: u64,
    bytes: &'a [u8],
}

impl Drop for Shown<'_> {
    #[allow(clippy::print_stderr, reason = "shown with the test that failed")]
    fn drop(&mut self) {
        if std::thread::panicking() {
            let Shown {
                name,
                first,
                run,
                bytes,
            } = self;
            eprintln!(
                "FUZZ_ONLY={first}:{run} repeats this run of {name}, with:\n{}",
                bytes.escape_ascii()
            );
        }
    }
}

/// What the files of a folder's folders hold, if they have that name and are small; sorted by their paths.
fn files(folder: &str, is_wanted: impl Fn(&Path) -> bool) -> Vec<Vec<u8>> {
    let mut paths = Vec::new();
    collect(
        Path::new(env!("CARGO_MANIFEST_DIR")).join(folder),
        &mut paths,
    );
    paths.retain(|path| is_wanted(path) && fs::metadata(path).unwrap().len() < LARGEST_SEED);
    paths.sort();
    paths.iter().map(|path| fs::read(path).unwrap()).collect()
}

fn collect(folder: PathBuf, paths: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(path, paths);
        } else {
            paths.push(path);
        }
    }
}

fn transcripts() -> Vec<Vec<u8>> {
    files("fixtures", |path| path.ends_with("input.jsonl"))
}

/// Every transcript, each behind some other first bytes.
fn behind(prefix: usize) -> Vec<Vec<u8>> {
    let mut chance = Chance::new(5);
    let with = |bytes: Vec<u8>| {
        let first: Vec<u8> = (0..prefix).map(|_| chance.below(256) as u8).collect();
        [first, bytes].concat()
    };
    transcripts().into_iter().map(with).collect()
}

#[test]
fn lines_are_scanned() {
    fuzz("scan", 6_000, &transcripts());
}

#[test]
fn formats_read_anything() {
    fuzz("read", 2_500, &transcripts());
}

#[test]
fn edits_change_nothing_else() {
    fuzz("splice", 4_000, &behind(2));
}

#[test]
fn anything_is_compacted_and_verified() {
    fuzz("compact", 2_500, &behind(1));
}

#[test]
fn policies_are_read() {
    let mut seeds = files("src/policy/presets", |path| {
        path.extension().is_some_and(|e| e == "toml")
    });
    seeds.extend(files("fixtures", |path| path.ends_with("policy.toml")));
    fuzz("policy", 250, &seeds);
}

#[test]
fn records_are_not_believed() {
    let record = targets::record();
    let other = record.replace("\"archive\":\"", "\"archive\":\"../");
    let seeds = [
        record.clone(),
        record.repeat(2),
        other,
        record.replace("\"original\":\"archive\"", "\"original\":\"input\""),
    ];
    fuzz("records", 1_200, &seeds.map(String::into_bytes));
}

#[test]
fn archives_are_not_believed() {
    let whole = zstd::encode_all(targets::ORIGINAL, 3).unwrap();
    let other = zstd::encode_all(targets::OUTPUT, 3).unwrap();
    fuzz(
        "archive",
        1_200,
        &[
            whole.clone(),
            [whole.clone(), whole].concat(),
            other,
            Vec::new(),
        ],
    );
}

#[test]
fn secrets_are_masked_once() {
    let secrets = "export API_KEY=sk-ant-api03-AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\nAuthorization: Bearer abcdefghijklmnop\n\
                   postgres://user:hunter22@host/db\n-----BEGIN RSA PRIVATE KEY-----\nMIIEow\n-----END RSA PRIVATE KEY-----\n\
                   password = \"correct horse battery staple\"\nghp_0123456789abcdef0123456789abcdef0123\n";
    let mut seeds = transcripts();
    seeds.push(secrets.into());
    seeds.push(secrets.repeat(3).into());
    seeds.push(secrets.replace('\n', " ").into());
    fuzz("redact", 6_000, &seeds);
}
