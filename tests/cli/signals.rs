//! Runs that are ended by a signal: their outputs are complete, and the next run does the rest.
#![cfg(unix)]

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant, UNIX_EPOCH};

use serde_json::json;

use super::harness::{Place, anthropic_of, output, sample};

const FILES: usize = 400;

/// What has not happened then never will. A loaded machine may need a tenth of it.
const HANGS: Duration = Duration::from_secs(300);

/// A folder `in` whose batch takes seconds.
fn large() -> Place {
    let place = Place::new();
    for i in 0..FILES {
        let results = (0..9).map(|n| format!("{i} {}", output(n)).repeat(11));
        place.write(&format!("in/{i:03}.jsonl"), anthropic_of(results));
    }
    place
}

const COMMAND: &str = "compact in --out-dir out --set demote.min_tokens=4000 -j 2";

/// Starts the batch and waits until some of it is done.
fn begun(place: &Place, flags: &str) -> Child {
    begun_by(place, place.command(&format!("{COMMAND} {flags}")))
}

fn begun_by(place: &Place, mut command: Command) -> Child {
    let child = command
        .stdin(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let start = Instant::now();
    while outputs(place).len() < 5 {
        assert!(start.elapsed() < HANGS, "the run never began");
        sleep(Duration::from_millis(2));
    }
    child
}

fn send(place: &Place, signal: &str, child: &Child) {
    let id = child.id().to_string();
    assert!(
        place
            .command_of("kill", &[signal, &id])
            .status()
            .unwrap()
            .success()
    );
}

/// The exit code of a run that ends, and what it said.
fn ended(mut child: Child) -> (Option<i32>, String) {
    let start = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if start.elapsed() > HANGS {
            child.kill().unwrap();
            panic!("the run did not end");
        }
        sleep(Duration::from_millis(5));
    }
    let mut err = String::new();
    child
        .stderr
        .take()
        .unwrap()
        .read_to_string(&mut err)
        .unwrap();
    (child.wait().unwrap().code(), err)
}

/// The outputs that have their names.
fn outputs(place: &Place) -> BTreeMap<String, Vec<u8>> {
    let Ok(entries) = place.path("out").read_dir() else {
        return BTreeMap::new();
    };
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let names = names.filter(|name| name.ends_with(".jsonl"));
    names
        .map(|name| (name.clone(), place.read(&format!("out/{name}"))))
        .collect()
}

fn leftovers(place: &Place) -> Vec<String> {
    place
        .names()
        .into_iter()
        .filter(|name| name.ends_with(".tmp"))
        .collect()
}

/// Each output can be undone now; the same command does the rest, and gives those that there are as they are.
fn can_be_undone_and_taken_up(place: &Place) {
    let there = outputs(place);
    assert!(
        (1..FILES).contains(&there.len()),
        "{} outputs: not in the middle",
        there.len()
    );
    for name in there.keys() {
        let undone = place.run(&format!("undo out/{name} -o -")).exits(0);
        assert!(undone.out == place.read(&format!("in/{name}")), "{name}");
    }
    place.run(COMMAND).exits(0).says(&["400 compacted"]);
    let all = outputs(place);
    assert_eq!(all.len(), FILES);
    for (name, bytes) in &there {
        assert!(all[name] == *bytes, "{name} was not whole");
    }
    assert_eq!(leftovers(place), [""; 0]);
}

#[test]
fn a_signal_ends_a_batch_in_order() {
    for (signal, code, flags) in [
        ("-INT", 130, ""),
        ("-TERM", 143, ""),
        ("-INT", 130, "--since 2000-01-01"),
    ] {
        let place = large();
        // Not meant where that is asked for, and so not left.
        for n in 0..if flags.is_empty() { 0 } else { 500 } {
            let name = format!("in/{}{n}.jsonl", ["a", "z"][n % 2]);
            place.write(&name, "");
            let file = fs::File::options().write(true).open(place.path(&name));
            file.unwrap().set_modified(UNIX_EPOCH).unwrap();
        }
        let child = begun(&place, flags);
        send(&place, signal, &child);
        let (ended_with, err) = ended(child);
        assert_eq!(ended_with, Some(code), "{err}");
        let done = outputs(&place).len();
        assert!(
            err.contains(&format!(
                "interrupted: {done} inputs finished, {} remaining\n",
                FILES - done
            )),
            "{err}"
        );
        assert!(
            err.contains("hint: run the same command again for the rest"),
            "{err}"
        );
        assert_eq!(leftovers(&place), [""; 0]);
        let report = place.json("out/ctxpack.stats.json");
        assert_eq!(report["totals"]["files"], done);
        assert_eq!(report["totals"]["interrupted"]["left"], FILES - done);
        for name in ["r.md", "r.html"] {
            let command = format!("report out/ctxpack.stats.json -o {name}");
            place.run(&command).exits(0);
            let says = format!("; interrupted, {} left", FILES - done);
            assert!(place.text(name).contains(&says), "{name}");
            fs::remove_file(place.path(name)).unwrap();
        }
        if flags.is_empty() {
            can_be_undone_and_taken_up(&place);
        }
    }
}

#[test]
fn a_killed_batch_leaves_whole_files_and_its_journal() {
    let place = large();
    let mut child = begun(&place, "");
    child.kill().unwrap();
    child.wait().unwrap();
    // Each of the two threads may have been writing an output and an offload.
    let left = leftovers(&place);
    assert!(left.len() <= 4, "{left:?}");
    can_be_undone_and_taken_up(&place);
}

#[test]
fn a_signal_is_heard_while_a_stream_is_silent() {
    for args in [
        "compact - -o out.jsonl",
        "compact - --store store",
        "compact",
        "verify -",
        "compact --files-from -",
    ] {
        let place = Place::new();
        let mut child = place
            .command(args)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdin = child.stdin.take().unwrap();
        stdin.write_all(sample().0.as_bytes()).unwrap();
        sleep(Duration::from_millis(200));
        assert_eq!(child.try_wait().unwrap(), None, "{args}");
        send(&place, "-INT", &child);
        let (code, err) = ended(child);
        assert_eq!(code, Some(130), "{args}: {err}");
        drop(stdin);
        let left: Vec<_> = place.names();
        assert!(
            left.is_empty() || left == ["store/lock"],
            "{args}: {left:?}"
        );
    }
}

#[test]
fn nothing_is_left_of_a_single_file_that_was_interrupted() {
    let place = Place::with(&[("in.jsonl", anthropic_of((0..10_000).map(output)))]);
    let child = place
        .command("compact in.jsonl -o out.jsonl")
        .stdin(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let start = Instant::now();
    while leftovers(&place).is_empty() {
        assert!(start.elapsed() < HANGS, "the run never began");
        sleep(Duration::from_millis(1));
    }
    send(&place, "-TERM", &child);
    let (code, err) = ended(child);
    assert_eq!(code, Some(143), "{err}");
    assert_eq!(place.files(), ["in.jsonl"]);
}

/// Starts on a file whose analysis takes seconds, and waits until its output has been begun.
fn begun_on_one(place: &Place) -> Child {
    let child = place
        .command("compact in.jsonl -o out.jsonl")
        .stdin(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let start = Instant::now();
    while leftovers(place).is_empty() {
        assert!(start.elapsed() < HANGS, "the run never began");
        sleep(Duration::from_millis(1));
    }
    child
}

/// Whoever starts a program with `nohup` wants it to go on.
#[test]
#[cfg(target_os = "linux")]
fn a_closed_terminal_ends_a_batch_unless_that_is_ignored() {
    for (how, code) in [("--default-signal=HUP", 129), ("--ignore-signal=HUP", 0)] {
        let place = large();
        let plain = place.command(COMMAND);
        let mut args = vec![how, plain.get_program().to_str().unwrap()];
        args.extend(plain.get_args().map(|arg| arg.to_str().unwrap()));
        let child = begun_by(&place, place.command_of("env", &args));
        send(&place, "-HUP", &child);
        let (ended_with, err) = ended(child);
        assert_eq!(ended_with, Some(code), "{err}");
        assert_eq!(err.contains("interrupted: "), code != 0, "{err}");
        assert_eq!(leftovers(&place), [""; 0]);
    }
}

/// How often a run is tried that should end in time: the machine may have much else to do.
const TRIES: usize = 8;

/// Fails unless one of some tries takes no longer than `limit`.
fn in_time(limit: Duration, mut once: impl FnMut() -> Duration) {
    let mut took = Vec::new();
    while took.len() < TRIES && took.last().is_none_or(|last| *last > limit) {
        took.push(once());
    }
    assert!(took.last() <= Some(&limit), "{took:?}");
}

#[test]
fn a_signal_ends_a_run_that_is_deep_in_thought() {
    in_time(Duration::from_millis(1500), || {
        let place = Place::with(&[("in.jsonl", anthropic_of((0..60_000).map(output)))]);
        let child = begun_on_one(&place);
        // It reads for a moment; then it thinks.
        sleep(Duration::from_millis(300));
        send(&place, "-TERM", &child);
        let start = Instant::now();
        let (code, err) = ended(child);
        assert_eq!(code, Some(143), "{err}");
        assert!(err.contains("interrupted: "), "{err}");
        assert!(err.contains("hint: run the same command again"), "{err}");
        assert_eq!(place.files(), ["in.jsonl"]);
        start.elapsed()
    });
}

#[test]
fn a_second_signal_ends_a_run_at_once_and_leaves_nothing() {
    // The first alone may take 700 ms, of which 150 are over when the second comes.
    in_time(Duration::from_millis(500), || {
        let place = Place::with(&[("in.jsonl", anthropic_of((0..60_000).map(output)))]);
        let child = begun_on_one(&place);
        sleep(Duration::from_millis(300));
        send(&place, "-INT", &child);
        sleep(Duration::from_millis(150));
        let start = Instant::now();
        send(&place, "-INT", &child);
        let (code, err) = ended(child);
        assert_eq!(code, Some(130), "{err}");
        assert!(err.contains("interrupted: "), "{err}");
        assert_eq!(place.files(), ["in.jsonl"]);
        start.elapsed()
    });
}

#[test]
fn a_signal_that_comes_twice_at_once_is_one() {
    let place = Place::new();
    for n in 0..300 {
        place.write(&format!("in/{n}.jsonl"), anthropic_of((0..200).map(output)));
    }
    let child = place
        .command("compact in --out-dir out -j 1")
        .stdin(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let start = Instant::now();
    while !place.path("out").is_dir() {
        assert!(start.elapsed() < HANGS, "the run never began");
        sleep(Duration::from_millis(1));
    }
    let id = child.id();
    place
        .shell(&format!("kill -TERM {id}; kill -TERM {id}"))
        .exits(0);
    let (code, err) = ended(child);
    assert_eq!(code, Some(143), "{err}");
    let totals = place.json("out/ctxpack.stats.json")["totals"].clone();
    assert!(totals["interrupted"]["left"].as_u64() > Some(0), "{totals}");
}

#[test]
fn what_reports_at_its_end_says_that_it_did_not_come_there() {
    let place = Place::with(&[("in.jsonl", anthropic_of((0..60_000).map(output)))]);
    let child = place
        .command("stats in.jsonl -q --report r.json")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    sleep(Duration::from_millis(200));
    send(&place, "-TERM", &child);
    let (code, err) = ended(child);
    assert_eq!(code, Some(143), "{err}");
    // Where the machine has much else to do, the file is not left in time.
    let is_said = |begin| err.starts_with(&format!("interrupted{begin}"));
    let is_told = is_said(" before the end\nhint: ") || is_said(": stopped immediately; ");
    assert!(is_told, "{err}");
    assert_eq!(place.files(), ["in.jsonl"]);
}

#[test]
fn the_report_of_a_stream_says_that_it_was_cut_off() {
    let place = Place::new();
    let mut child = place
        .command("filter --report r.json --report r.md")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut to = child.stdin.take().unwrap();
    to.write_all(b"{\"messages\":[{\"role\":\"user\",\"content\":\"hi\"}]}\n")
        .unwrap();
    let mut answer = String::new();
    let mut from = BufReader::new(child.stdout.take().unwrap());
    from.read_line(&mut answer).unwrap();
    send(&place, "-INT", &child);
    let (code, err) = ended(child);
    assert_eq!(code, Some(130), "{err}");
    assert!(err.contains("interrupted before the end"), "{err}");
    let totals = place.json("r.json")["totals"].clone();
    assert_eq!(totals["interrupted"], json!({"left": 0}), "{totals}");
    assert!(
        place.text("r.md").contains("; interrupted"),
        "{}",
        place.text("r.md")
    );
}
