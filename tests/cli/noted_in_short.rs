//! Large logs of finished inputs are also kept in short: a repeated run reads that, and does what the lines would make it do.

use std::fs::{self, File};
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use super::harness::{Place, anthropic_of};

const RUN: &str = "compact in --out-dir out --trust-mtime -j 2";
const REPORT: &str = "out/ctxpack.stats.json";
/// So many that the log is larger than the smallest of which a short form is made.
const FILES: usize = 900;
/// So many that their outcomes do not stay in memory: as long as they do, lines are read for them.
const MANY: usize = 11_500;

fn place(files: usize) -> Place {
    let place = Place::in_memory();
    for i in 0..files {
        let name = format!("in/{i:03}.jsonl");
        place.write(&name, anthropic_of([format!("result {i}")]));
        set_time(&place.path(&name), 1_500_000_000);
    }
    place
}

fn set_time(path: &PathBuf, seconds: u64) {
    let file = File::options().write(true).open(path).unwrap();
    let time = SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
    file.set_modified(time).unwrap();
}

/// The files with this ending in a folder of the store.
fn of_store(place: &Place, folder: &str, ending: &str) -> Vec<PathBuf> {
    let files = fs::read_dir(place.path(&format!("out/.ctxpack/{folder}"))).unwrap();
    let files = files.map(|file| file.unwrap().path());
    files
        .filter(|file| file.extension().unwrap() == ending)
        .collect()
}

fn only(place: &Place, folder: &str, ending: &str) -> PathBuf {
    let [file] = of_store(place, folder, ending).try_into().unwrap();
    file
}

/// Changes a byte without changing the file's length or time.
fn spoil(path: &PathBuf, at: usize) {
    let time = fs::metadata(path).unwrap().modified().unwrap();
    let mut bytes = fs::read(path).unwrap();
    bytes[at] ^= 1;
    fs::write(path, bytes).unwrap();
    let file = File::options().write(true).open(path).unwrap();
    file.set_modified(time).unwrap();
}

fn finished(number: usize, of: usize) -> String {
    format!(
        "{} of {} inputs finished before",
        thousands(number),
        thousands(of)
    )
}

fn thousands(number: usize) -> String {
    match number {
        0..1_000 => number.to_string(),
        _ => format!("{} {:03}", number / 1_000, number % 1_000),
    }
}

#[test]
fn what_was_not_touched_is_taken_over_without_its_line() {
    let place = place(MANY);
    place.run(RUN).exits(0);
    let report = place.text(REPORT);
    place.run(RUN).exits(0).says(&[&finished(MANY, MANY)]);
    assert_eq!(place.text(REPORT), report);
    // The checks of the last lines no longer fit, so that the lines themselves would not count.
    let lines = only(&place, "finished", "jsonl");
    let last: Vec<usize> = memchr::memmem::rfind_iter(&fs::read(&lines).unwrap(), b"{\"check\"")
        .take(3)
        .collect();
    for at in last {
        spoil(&lines, at + 12);
    }
    place.run(RUN).exits(0).says(&[&finished(MANY, MANY)]);
    assert_eq!(place.text(REPORT), report);

    // The last ones in the order of the walk are taken over when outcomes no longer stay in memory.
    let name = |n: usize| format!("in/{}.jsonl", MANY - n);
    place.write(&name(1), anthropic_of(["another".to_owned()]));
    place.run(RUN).exits(0).says(&[&finished(MANY - 1, MANY)]);
    let last = name(1).replace("in/", "out/");
    assert!(place.text(&last).contains("another"));
    set_time(&place.path(&name(2)), 1_600_000_000);
    place.run(RUN).exits(0).says(&[&finished(MANY, MANY)]);
    place.append(&name(3).replace("in/", "out/"), "\n");
    place
        .run(RUN)
        .exits(3)
        .says(&[&name(3).replace("in/", "out/")]);
}

#[test]
fn damaged_rows_only_cost_time() {
    let place = place(FILES);
    place.run(RUN).exits(0);
    let (report, files) = (place.text(REPORT), place.all_files());
    let outputs = |place: &Place| {
        let all = place.all_files().into_iter();
        all.filter(|(name, _)| !name.contains(".ctxpack"))
            .collect::<Vec<_>>()
    };
    for folder in ["finished", "manifests"] {
        let rows = only(&place, folder, "rows");
        let whole = fs::read(&rows).unwrap();
        for at in [0, whole.len() / 2, whole.len() - 1] {
            spoil(&rows, at);
            place.run(RUN).exits(0);
            assert_eq!(place.text(REPORT), report, "{folder}, byte {at}");
            fs::write(&rows, &whole).unwrap();
        }
        fs::write(&rows, "").unwrap();
        place.run(RUN).exits(0).says(&[&finished(FILES, FILES)]);
        // A run that has done nothing writes nothing.
        assert_eq!(fs::read(&rows).unwrap(), b"");
    }
    let before: Vec<_> = files
        .into_iter()
        .filter(|(name, _)| !name.contains(".ctxpack"))
        .collect();
    assert_eq!(outputs(&place), before);
}

#[test]
fn rows_go_with_their_lines() {
    let place = place(FILES);
    place.run(RUN).exits(0);
    let rows = only(&place, "finished", "rows");
    fs::remove_file(only(&place, "finished", "jsonl")).unwrap();
    place
        .run("gc --store out/.ctxpack --dry-run -v")
        .exits(0)
        .shows(&[".rows"]);
    assert!(rows.exists());
    place.run("gc --store out/.ctxpack").exits(0);
    assert!(!rows.exists());
    // A log that was merged with others leaves none behind.
    for round in 0..10 {
        place.write("in/000.jsonl", anthropic_of([format!("round {round}")]));
        place.run(RUN).exits(0);
    }
    let logs = of_store(&place, "finished", "jsonl");
    let rows = of_store(&place, "finished", "rows");
    assert!(!rows.is_empty());
    for rows in rows {
        assert!(
            logs.contains(&rows.with_extension("jsonl")),
            "{}",
            rows.display()
        );
    }
}
