//! The same command again: what was done is taken over, whatever has changed is done again, and the report is that of one run.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::time::{Duration, SystemTime};

use super::harness::{Place, anthropic_of, output, samples};

pub(super) const COMMAND: &str = "compact in --out-dir out --set demote.min_tokens=300 -j 2";
pub(super) const REPORT: &str = "out/ctxpack.stats.json";

/// A folder `in` with all that can become of an input but for a failure.
pub(super) fn place() -> Place {
    filled(Place::new())
}

fn filled(place: Place) -> Place {
    for (i, (_, before, _)) in samples().iter().enumerate() {
        place.write(&format!("in/{i}.jsonl"), before);
    }
    place.write("in/small.jsonl", anthropic_of(["short".to_owned()]));
    place.write("in/foreign.jsonl", "{\"no\":\"transcript\"}\n");
    place
}

fn old(place: &Place, name: &str, seconds: u64) {
    let time = SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
    let file = File::options().write(true).open(place.path(name)).unwrap();
    file.set_modified(time).unwrap();
}

/// The times of the outputs: what is written again has another one.
fn times(place: &Place) -> BTreeMap<String, SystemTime> {
    let outputs = place.files().into_iter();
    outputs
        .filter(|name| name.starts_with("out/") && name.ends_with(".jsonl") && !name.contains('_'))
        .filter(|name| !name.contains(".ctxpack"))
        .map(|name| {
            let time = fs::metadata(place.path(&name)).unwrap().modified();
            (name, time.unwrap())
        })
        .collect()
}

/// Marks all outputs, runs the command, and says which were written again.
fn written(place: &Place, command: &str) -> Vec<String> {
    for name in times(place).keys() {
        old(place, name, 1_000_000_000);
    }
    let before = times(place);
    place.run(command).exits(0);
    let now = times(place).into_iter();
    let names = now.filter(|(name, time)| before.get(name) != Some(time));
    names.map(|(name, _)| name).collect()
}

#[test]
fn the_same_command_does_nothing_twice_and_reports_the_same() {
    let place = place();
    place.run(COMMAND).exits(0);
    let first = place.all_files();
    assert_eq!(written(&place, COMMAND), [""; 0]);
    let second = place.all_files();
    assert_eq!(
        first.keys().collect::<Vec<_>>(),
        second.keys().collect::<Vec<_>>()
    );
    for (name, bytes) in &first {
        assert!(second[name] == *bytes, "{name} differs");
    }
    place
        .run(COMMAND)
        .exits(0)
        .says(&["5 of 5 inputs finished before"]);
}

#[test]
fn what_is_mounted_elsewhere_is_taken_over_if_its_texts_still_hold() {
    let same = (0, "3 of 3 inputs finished before");
    for (rest, (code, said)) in [
        ("", same),
        (" --store AT/store/.ctxpack", same),
        (" --set store.names=absolute", (0, "3 compacted")),
        // Neither inputs nor outputs are beside the folder that holds the store.
        (" --store AT/deep/er/store", (0, "3 compacted")),
    ] {
        let place = Place::new();
        for (i, (_, before, _)) in samples().iter().enumerate() {
            place.write(&format!("a/in/{i}.jsonl"), before);
        }
        let run = |at: &str| {
            let rest = rest.replace("AT", at);
            let command =
                format!("compact {at}/in --out-dir {at}/out --set demote.min_tokens=300{rest}");
            place.run(&command)
        };
        run("a").exits(0);
        let report = place.text("a/out/ctxpack.stats.json");
        fs::rename(place.path("a"), place.path("b")).unwrap();
        let ran = run("b").exits(code).says(&[said]);
        if said == same.1 {
            let now = place.text("b/out/ctxpack.stats.json");
            assert_eq!(now, report.replace("\"a/", "\"b/"), "{rest}");
            fs::remove_file(place.path("b/in/0.jsonl")).unwrap();
            run("b").says(&["an output whose input no longer exists"]);
        } else {
            assert!(!ran.err.contains("finished before"), "{}", ran.err);
        }
    }
}

#[test]
fn what_has_changed_is_done_again() {
    let place = place();
    place.run(COMMAND).exits(0);
    let report = place.text(REPORT);
    // An input, with the same size.
    let text = place.text("in/0.jsonl");
    place.write("in/0.jsonl", text.replacen("the", "THE", 1));
    assert_ne!(place.text("in/0.jsonl"), text);
    assert_eq!(written(&place, COMMAND), ["out/0.jsonl"]);
    place.write("in/0.jsonl", text);
    assert_eq!(written(&place, COMMAND), ["out/0.jsonl"]);
    assert_eq!(place.text(REPORT), report);
    // An output that is gone.
    fs::remove_file(place.path("out/1.jsonl")).unwrap();
    assert_eq!(written(&place, COMMAND), ["out/1.jsonl"]);
    // What an output needs.
    let offload = place.names().into_iter().find(|n| n.contains("offloaded/"));
    let offload = offload.expect("an output was moved to the store");
    let content = place.read(&offload);
    fs::remove_file(place.path(&offload)).unwrap();
    assert_ne!(written(&place, COMMAND), [""; 0]);
    assert!(place.read(&offload) == content);
    // The record that `undo` needs.
    fs::remove_dir_all(place.path("out/.ctxpack/manifests")).unwrap();
    place.run(&format!("{COMMAND} --overwrite")).exits(0);
    place.run("undo out/0.jsonl -o undone.jsonl").exits(0);
    assert!(place.read("undone.jsonl") == place.read("in/0.jsonl"));
    // The policy.
    let other = format!("{COMMAND} --set clear.keep=0");
    assert_eq!(written(&place, &other).len(), 5);
    assert_eq!(written(&place, &other), [""; 0]);
    // Two outputs are the same under both.
    assert_eq!(written(&place, COMMAND).len(), 3);
    assert_eq!(place.text(REPORT), report);
}

/// Dates what was noted later, so that outputs and contents are as old as those of a run that took long.
fn note_later(place: &Place) {
    let later = SystemTime::now() + Duration::from_secs(1);
    for name in place.names().iter().filter(|n| n.contains("finished/")) {
        let file = File::options().write(true).open(place.path(name)).unwrap();
        file.set_modified(later).unwrap();
    }
}

/// Three inputs; two of them share contents of the store.
fn sharing() -> Place {
    let outputs = |from: usize| anthropic_of((from..from + 9).map(|i| output(i).repeat(3)));
    let place = Place::new();
    for (name, from) in [("a", 0), ("b", 2), ("c", 50)] {
        place.write(&format!("in/{name}.jsonl"), outputs(from));
    }
    place
}

/// Other bytes, with the time that the file has.
fn put(place: &Place, name: &str, bytes: &[u8]) {
    let time = fs::metadata(place.path(name)).unwrap().modified();
    place.write(name, bytes);
    let file = File::options().write(true).open(place.path(name)).unwrap();
    file.set_modified(time.unwrap()).unwrap();
}

#[test]
fn what_an_output_needs_is_written_anew_where_it_is_damaged() {
    // Contents; and originals with plain copies of them.
    for policy in ["", " --policy reset --set trigger.tokens=1000"] {
        let place = sharing();
        let command = format!("{COMMAND}{policy}");
        let command = match policy {
            "" => command,
            _ => command.replace(" --set demote.min_tokens=300", ""),
        };
        place.run(&command).exits(0);
        let whole = place.all_files();
        let report = place.text(REPORT);
        let kept = |name: &&String| name.contains("/offloaded/") || name.contains("/archive/");
        let contents: Vec<&String> = whole.keys().filter(kept).collect();
        assert!(contents.len() >= 6, "{contents:?}");
        for (n, name) in contents.into_iter().enumerate() {
            let bytes = &whole[name];
            let mut other = bytes.clone();
            other[bytes.len() / 2] ^= 1;
            let longer = [bytes, &b"\n"[..]].concat();
            let damaged = [&other, &longer, &bytes[1..].to_vec(), &Vec::new()];
            note_later(&place);
            put(&place, name, damaged[n % damaged.len()]);
            let rest = ["", " --resume"][n % 2];
            let ran = place.run(&format!("{command}{rest}")).exits(0);
            assert!(place.read(name) == *bytes, "{name}: {}", ran.err);
            assert_eq!(place.text(REPORT), report);
            // Others were taken over; and the next time, all are.
            assert!(
                ran.err.contains(" of 3 inputs finished before"),
                "{}",
                ran.err
            );
            assert!(!ran.err.contains("3 of 3 inputs"), "{}", ran.err);
            let all = "3 of 3 inputs finished before";
            place.run(&command).exits(0).says(&[all]);
        }
    }
}

#[test]
fn size_and_time_of_a_content_are_enough_where_that_is_asked_for() {
    let place = sharing();
    place.run(COMMAND).exits(0);
    let mut names = place.names().into_iter();
    let name = names.find(|name| name.contains("offloaded/")).unwrap();
    let whole = place.read(&name);
    let mut other = whole.clone();
    other[0] ^= 1;
    put(&place, &name, &other);
    let trusting = format!("{COMMAND} --trust-mtime");
    let all = "3 of 3 inputs finished before";
    place.run(&trusting).exits(0).says(&[all]);
    assert!(place.read(&name) == other);
    old(&place, &name, 1_500_000_000);
    place.run(&trusting).exits(0);
    assert!(place.read(&name) == whole);
}

#[test]
fn an_output_that_somebody_changed_is_never_taken_for_ours() {
    let place = place();
    place.run(COMMAND).exits(0);
    let mut other = place.read("out/0.jsonl");
    other[20] ^= 1;
    place.write("out/0.jsonl", &other);
    place.run(COMMAND).exits(3).says(&["out/0.jsonl"]);
    assert!(place.read("out/0.jsonl") == other);
    // One that looks as it did.
    let name = place.path("out/1.jsonl");
    let time = fs::metadata(&name).unwrap().modified().unwrap();
    let mut other = place.read("out/1.jsonl");
    other[20] ^= 1;
    fs::write(&name, &other).unwrap();
    let file = File::options().write(true).open(&name).unwrap();
    file.set_modified(time).unwrap();
    place.run(COMMAND).exits(3).says(&["out/1.jsonl"]);
    assert!(place.read("out/1.jsonl") == other);
}

#[test]
fn what_failed_is_tried_again() {
    let place = place();
    place.write("in/torn.jsonl.gz", b"\x1f\x8b\x08");
    place.run(COMMAND).exits(3);
    place
        .run(COMMAND)
        .exits(3)
        .says(&["5 of 6 inputs finished before"]);
    fs::remove_file(place.path("in/torn.jsonl.gz")).unwrap();
    place.write("in/new.jsonl", anthropic_of([output(1)]));
    place
        .run(COMMAND)
        .exits(0)
        .says(&["5 of 6 inputs finished before"]);
    let files = place.json(REPORT)["files"].as_array().unwrap().len();
    assert_eq!(files, 6);
}

#[test]
fn times_are_trusted_only_where_that_is_asked_for() {
    let place = place();
    for i in 0..3 {
        old(&place, &format!("in/{i}.jsonl"), 1_500_000_000);
    }
    place.run(COMMAND).exits(0);
    let report = place.text(REPORT);
    let text = place.text("in/0.jsonl");
    place.write("in/0.jsonl", text.replacen("the", "THE", 1));
    old(&place, "in/0.jsonl", 1_500_000_000);
    // Another time than that of its output proves nothing.
    let trusting = format!("{COMMAND} --trust-mtime");
    place
        .run(&trusting)
        .exits(0)
        .says(&["5 of 5 inputs finished before"]);
    assert_eq!(place.text(REPORT), report);
    assert_eq!(written(&place, COMMAND), ["out/0.jsonl"]);
    // A file that was written to a moment before it was read may have been written to again since.
    place.write("in/0.jsonl", &text);
    place.run(COMMAND).exits(0);
    let young = fs::metadata(place.path("in/0.jsonl")).unwrap().modified();
    place.write("in/0.jsonl", text.replacen("the", "THE", 1));
    let file = File::options().write(true).open(place.path("in/0.jsonl"));
    file.unwrap().set_modified(young.unwrap()).unwrap();
    assert_eq!(written(&place, &trusting), ["out/0.jsonl"]);
}

/// The same notes with sums that are right.
fn summed(notes: &str) -> String {
    let line = |line: &str| {
        let said = &line[DIGITS.end..];
        let sum = said.bytes().chain([b'\n']).fold(!0_u32, |sum, byte| {
            let shift = |sum: u32| (sum >> 1) ^ (0xedb8_8320 & (sum & 1).wrapping_neg());
            (0..8).fold(sum ^ u32::from(byte), |sum, _| shift(sum))
        });
        format!("{}{:08x}{said}\n", &line[..DIGITS.start], !sum)
    };
    notes.lines().map(line).collect()
}

/// Where the digits of the sum are in a line: those of all behind them.
const DIGITS: std::ops::Range<usize> = 10..18;

#[test]
fn a_damaged_or_foreign_note_costs_only_the_work() {
    let place = place();
    place.run(COMMAND).exits(0);
    let report = place.text(REPORT);
    let note = |place: &Place| {
        let names = place.names().into_iter();
        let mut notes = names.filter(|name| name.contains("finished/") && name.ends_with("jsonl"));
        notes.next().unwrap()
    };
    let name = note(&place);
    let text = place.text(&name);
    assert_eq!(summed(&text), text);
    let damaged = |from: &str, to: &str| {
        let damaged = text.replace(from, to);
        assert_ne!(damaged, text, "{from}");
        damaged
    };
    for bad in [
        // An outcome of another input; the name of another input, of the head alone and of both.
        summed(&damaged(
            "\"input\":\"in/0.jsonl\"",
            "\"input\":\"in/1.jsonl\"",
        )),
        summed(&damaged("/in/0.jsonl\",[", "/in/1.jsonl\",[")),
        summed(&damaged("in/0.jsonl", "in/1.jsonl")),
        // An outcome of another output, and one that does not fit its figures.
        summed(&damaged("\"out/0.jsonl\"", "\"out/1.jsonl\"")),
        summed(&damaged("\"bytes_after\":1", "\"bytes_after\":2")),
        // No outcome at all, and another form of line.
        summed(&damaged("\"findings_before\"", "\"findings before\"")),
        summed(&damaged("\"head\":", "\"form\":")),
        // A digit that is still one, where nobody reads it, and within a text.
        damaged("\"findings_before\":0", "\"findings_before\":7"),
        damaged("in/0.jsonl", "in/8.jsonl"),
        damaged("\"reason\":\"", "\"reason\":\"not "),
    ] {
        // What the last run has noted is gone.
        for newer in place.names().iter().filter(|n| n.contains("finished/")) {
            fs::remove_file(place.path(newer)).unwrap();
        }
        place.write(&name, &bad);
        place.run(COMMAND).exits(0);
        assert_eq!(place.text(REPORT), report, "{bad}");
    }
    for bad in ["", "{", "{}\n", "null\n\n[1]\n", "\u{fffd}\n"] {
        for name in place.names().iter().filter(|n| n.contains("finished/")) {
            if name.ends_with("jsonl") {
                place.write(name, format!("{bad}{text}{bad}"));
            }
        }
        place.run(COMMAND).exits(0);
        assert_eq!(place.text(REPORT), report, "{bad:?}");
    }
    // Names that lead out of the store are of no use.
    for name in place.names().iter().filter(|n| n.contains("finished/")) {
        if name.ends_with("jsonl") {
            let named = damaged(
                "[],\"blake3:",
                "[[\"../../in/0.jsonl\",[1,null,null]]],\"blake3:",
            );
            place.write(name, summed(&named));
        }
    }
    place.run(COMMAND).exits(0);
    assert_eq!(place.text(REPORT), report);
}

#[test]
fn in_place_a_second_run_is_a_run_of_its_own() {
    let place = place();
    let command = "compact --in-place in";
    place.run(command).exits(0).says(&["3 compacted"]);
    place.run(command).exits(0).says(&["4 unchanged"]);
    place
        .run(command)
        .exits(0)
        .says(&["4 unchanged", "of 5 inputs finished before"]);
    place.run("undo in/0.jsonl").exits(0);
    place.run(command).exits(0).says(&["1 compacted"]);
}

#[test]
fn a_run_in_place_that_was_killed_goes_on_as_one_run() {
    let (one, two) = (place(), place());
    let command = "compact --in-place in --report r.json";
    one.run(command).exits(0);
    // As if it had been killed just before its end.
    two.run(command).exits(0);
    let name = two.names().into_iter().find(|name| {
        name.contains("finished/") && name.ends_with("jsonl") && !name.ends_with(".part.jsonl")
    });
    let name = name.unwrap();
    let interrupted = name.replace(".jsonl", ".part.jsonl");
    fs::rename(two.path(&name), two.path(&interrupted)).unwrap();
    two.write("r.json", "{\n  \"schema_version\": 1}");
    two.run(command)
        .exits(0)
        .says(&["3 compacted", " of 5 inputs finished before"]);
    assert_eq!(two.text("r.json"), one.text("r.json"));
}

#[test]
fn what_may_have_other_results_now_is_done_again_and_noted_for_who_asks() {
    for rest in ["--post-hook true", "--files-root .", "--timings"] {
        let place = place();
        let command = format!("{COMMAND} {rest}");
        place.run(&command).exits(0);
        assert_eq!(written(&place, &command).len(), 5, "{rest}");
        let all = "5 of 5 inputs finished before";
        let resumed = format!("{command} --resume");
        place.run(&resumed).exits(0).says(&[all]);
        place.run(&resumed).exits(0).says(&[all]);
        assert_eq!(written(&place, &command).len(), 5, "{rest}");
        // However often all is done, what is noted does not grow.
        for _ in 0..10 {
            place.run(&command).exits(0);
        }
        let names = place.names().into_iter();
        let notes = names.filter(|name| name.contains("finished/")).count();
        assert!(notes <= 10, "{notes} for {rest}");
        place.run(&resumed).exits(0).says(&[all]);
    }
}

/// A policy file names the folder of files from its own, so the folder that a command starts in is no part of what is done.
#[test]
fn a_policy_with_a_folder_of_files_is_the_same_from_any_folder() {
    let place = place();
    place.write("q/p.toml", "[restore]\nroot = \"../in\"\n");
    place
        .run(&format!("{COMMAND} --policy q/p.toml"))
        .exits(0)
        .says(&["3 compacted"]);
    place
        .run_in(
            "q",
            "compact ../in --out-dir ../out --set demote.min_tokens=300 -j 2 --policy p.toml --resume",
        )
        .exits(0)
        .says(&["5 of 5 inputs finished before"]);
}

#[test]
fn many_files_of_notes_become_one() {
    let place = place();
    for i in 0..12 {
        place.write(&format!("in/new{i}.jsonl"), anthropic_of([output(i)]));
        if i == 3 {
            fs::remove_file(place.path("in/small.jsonl")).unwrap();
        }
        place.run(COMMAND).exits(0);
    }
    let names = place.names().into_iter();
    let notes: Vec<String> = names.filter(|n| n.contains("finished/")).collect();
    assert!(notes.len() <= 10, "{notes:?}");
    let texts: String = notes
        .iter()
        .filter(|name| name.ends_with("jsonl"))
        .map(|name| place.text(name))
        .collect();
    assert!(!texts.contains("small.jsonl"), "what vanished is forgotten");
    place
        .run(COMMAND)
        .exits(0)
        .says(&["16 of 16 inputs finished before"]);
}

#[test]
fn gc_deletes_notes_that_no_run_can_use_any_more() {
    let place = place();
    place.run(COMMAND).exits(0);
    let notes = |place: &Place| {
        let names = place.names().into_iter();
        names
            .filter(|n| n.contains("finished/") && n.ends_with("jsonl"))
            .count()
    };
    // The same outputs by another policy: the first one's notes are of outputs that are others now.
    place.run(&format!("{COMMAND} --target 100")).exits(0);
    assert_eq!(notes(&place), 2);
    place.run("gc --store out/.ctxpack").exits(0);
    // What is the same under both still counts.
    assert_eq!(notes(&place), 2);
    place
        .run(COMMAND)
        .exits(0)
        .says(&["inputs finished before"]);
    fs::remove_dir_all(place.path("in")).unwrap();
    place.run("gc --store out/.ctxpack").exits(0);
    assert_eq!(notes(&place), 0);
}

#[test]
fn an_interrupted_report_says_what_is_left_and_a_merged_one_adds_it_up() {
    let place = place();
    place.run(COMMAND).exits(0);
    let whole = place.text(REPORT);
    assert!(!whole.contains("interrupted"));
    let partial = whole.replace(
        "\"ratio\":",
        "\"interrupted\": {\n      \"left\": 3\n    },\n    \"ratio\":",
    );
    assert_ne!(partial, whole);
    place.write("a.json", &partial);
    place.write("b.json", &whole);
    place
        .run("report merge a.json a.json b.json -o all.json")
        .exits(0);
    assert_eq!(place.json("all.json")["totals"]["interrupted"]["left"], 6);
    place.run("report b.json -o c.json").exits(0);
    assert_eq!(place.text("c.json"), whole);
}

#[test]
fn a_report_on_very_many_files_is_that_on_few() {
    let place = filled(Place::in_memory());
    // More than are held in memory.
    for i in 0..11_500 {
        let line = format!("{{\"role\":\"user\",\"content\":\"question {i}\"}}\n");
        place.write(&format!("in/{}/{i}.jsonl", i % 100), line);
    }
    place.write("in/torn.jsonl.gz", b"\x1f\x8b\x08");
    let reports = "--report r.json --report r.jsonl --report r.csv --report r.md --report r.html";
    let command = format!("{COMMAND} {reports}");
    let ran = place.run(&command).exits(3);
    let whole: Vec<Vec<u8>> = ["r.json", "r.jsonl", "r.csv", "r.md", "r.html"]
        .iter()
        .map(|name| place.read(name))
        .collect();
    for (form, bytes) in ["json", "jsonl", "csv", "md", "html"].iter().zip(&whole) {
        for from in ["r.json", "r.jsonl"] {
            let again = format!("again.{form}");
            place.run(&format!("report {from} -o {again}")).exits(0);
            assert!(place.read(&again) == *bytes, "{form} from {from}");
        }
    }
    let table = place.run("report r.jsonl").exits(0).text();
    let said = ran.err;
    for line in table.lines() {
        assert!(said.contains(line), "{line:?} is not in {said}");
    }
    let inode = |name: &str| inode(&place.path(name));
    let first = ["r.json", "r.jsonl", "r.csv"].map(inode);
    let again = place.run(&command).exits(3);
    again.says(&["11 505 of 11 506 inputs finished before"]);
    assert!(place.read("r.json") == whole[0]);
    assert_eq!(
        ["r.json", "r.jsonl", "r.csv"].map(inode),
        first,
        "a large report that would be the same is left alone"
    );
    // It is written again if it was touched, even if that does not show, and if an outcome is another one.
    let path = place.path("r.json");
    let time = fs::metadata(&path).unwrap().modified().unwrap();
    let mut touched = whole[0].clone();
    let middle = touched.len() / 2;
    touched[middle] ^= 1;
    fs::write(&path, &touched).unwrap();
    let file = File::options().write(true).open(&path).unwrap();
    file.set_modified(time).unwrap();
    place.run(&command).exits(3);
    assert!(place.read("r.json") == whole[0]);
    place.write("in/7/7.jsonl", anthropic_of(["another".to_owned()]));
    place.run(&command).exits(3);
    assert!(place.read("r.json") != whole[0]);
    let line = "{\"role\":\"user\",\"content\":\"question 7\"}\n";
    place.write("in/7/7.jsonl", line);
    place.run(&command).exits(3);
    assert!(place.read("r.json") == whole[0]);
}

/// What tells a file from one that took its place; 0 where nothing does.
fn inode(path: &std::path::Path) -> u64 {
    let seen = fs::metadata(path).unwrap();
    #[cfg(target_os = "linux")]
    {
        std::os::unix::fs::MetadataExt::ino(&seen)
    }
    #[cfg(not(target_os = "linux"))]
    {
        u64::from(seen.is_dir())
    }
}

#[test]
fn two_runs_at_once_do_the_work_of_one() {
    let place = Place::new();
    for i in 0..400 {
        let line = format!("{{\"role\":\"user\",\"content\":\"question {i}\"}}\n");
        place.write(&format!("in/{}/{i}.jsonl", i % 7), line);
    }
    let command = |report: &str| format!("compact in --out-dir out -j 2 --report {report}");
    std::thread::scope(|scope| {
        for report in ["a.json", "b.json", "c.json"] {
            let (place, command) = (&place, &command);
            scope.spawn(move || place.run(&command(report)).exits(0));
        }
    });
    place
        .run(&command("all.json"))
        .exits(0)
        .says(&["400 of 400 inputs finished before"]);
    let all = place.text("all.json");
    for report in ["a.json", "b.json", "c.json"] {
        assert!(place.text(report) == all, "{report} differs");
    }
    // What is in the place of an output by chance is nobody's work.
    place.write("in/new.jsonl", "{\"role\":\"user\",\"content\":\"new\"}\n");
    place.write("out/new.jsonl", place.read("in/new.jsonl"));
    place
        .run(&command("all.json"))
        .exits(3)
        .says(&["out/new.jsonl", "a file of that name exists"]);
}
