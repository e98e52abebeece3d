//! More entries than memory should hold: they go to the disk, and every output is as if they had not.

use serde_json::Value;

use super::harness::{Place, sample};

/// Every form of report, and every kind of row.
const REPORTS: [&str; 5] = ["json", "jsonl", "csv", "md", "html"];

/// Flags for a report in every form.
fn reports(flag: &str, name: &str) -> String {
    REPORTS
        .map(|form| format!(" {flag} {name}.{form}"))
        .concat()
}

/// The lines of a report of which each is an entry, and the other one.
fn lines(text: &str, other: usize) -> (Vec<String>, String) {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let other = lines.remove(other.min(lines.len() - 1));
    (lines, other)
}

#[test]
fn many_counted_files_are_reported_like_their_parts() {
    let place = Place::in_memory();
    // So many turns that not even a hundred files stay in memory.
    for file in 0..56_usize {
        let turn = |n| {
            let words = "word ".repeat((file * 7 + n) % 11);
            format!(
                "{{\"role\":\"user\",\"content\":\"{words}{n}\"}}\n{{\"role\":\"assistant\",\"content\":\"{file}\"}}\n"
            )
        };
        let text: String = (0..2_600).map(turn).collect();
        place.write(&format!("in/{file:02}.jsonl"), text);
    }
    place.write("in/odd.jsonl", "nothing that is known\n");
    let table = place
        .run(&format!("stats in{}", reports("--report", "all")))
        .exits(0);
    let turns = "--csv-rows turn --report";
    place
        .run(&format!("stats in -q {turns} all.turn.csv"))
        .exits(0);
    // Half of them are few enough to stay in memory.
    for n in 1..=2 {
        let shard = format!("stats in -q --shard {n}/2 --report {n}.jsonl");
        place.run(&format!("{shard} {turns} {n}.turn.csv")).exits(0);
    }
    for (name, other) in [("jsonl", usize::MAX), ("turn.csv", 0)] {
        let (all, _) = lines(&place.text(&format!("all.{name}")), other);
        let mut parts = Vec::new();
        for n in 1..=2 {
            parts.extend(lines(&place.text(&format!("{n}.{name}")), other).0);
        }
        // Stable: rows of a file stay in their order.
        parts.sort_by_key(|line| line.split("in/").nth(1).map(|path| path[..5].to_owned()));
        assert_eq!(all.len(), parts.len(), "{name}");
        assert!(all == parts, "{name}");
    }
    let merge = "report merge 2.jsonl 1.jsonl";
    place
        .run(&format!("{merge}{}", reports("-o", "merged")))
        .exits(0);
    for form in REPORTS {
        let all = place.text(&format!("all.{form}"));
        assert!(place.text(&format!("merged.{form}")) == all, "{form}");
    }
    for from in ["all.json", "all.jsonl"] {
        let again = place.run(&format!("report {from}")).exits(0);
        assert_eq!(again.text(), table.text(), "{from}");
    }
}

#[test]
fn a_long_report_is_rendered_and_added_up_like_a_short_one() {
    const ENTRIES: u64 = 12_000;
    let (before, _) = sample();
    let place = Place::with(&[("in.jsonl", &before)]);
    place.run("compact in.jsonl -n --report one.jsonl").exits(0);
    let one = place.text("one.jsonl");
    let (entry, head) = one.trim_end().split_once('\n').unwrap();
    let entry = |n: u64| entry.replacen("in.jsonl", &format!("in/{n:05}.jsonl"), 1) + "\n";
    // Of entries alike, all sums are so many times as much; a ratio is none.
    let report = |entries: &mut dyn Iterator<Item = u64>| {
        let entries: Vec<String> = entries.map(entry).collect();
        let mut head: Value = serde_json::from_str(head).unwrap();
        for (_, sum) in head["totals"].as_object_mut().unwrap() {
            if let Some(one) = sum.as_u64() {
                *sum = Value::from(one * entries.len() as u64);
            }
        }
        format!("{}{head}\n", entries.concat())
    };
    let all = report(&mut (0..ENTRIES));
    place.write("all.jsonl", &all);
    place.write(
        "odd.jsonl",
        report(&mut (0..ENTRIES).filter(|n| n % 2 == 1)),
    );
    place.write(
        "even.jsonl",
        report(&mut (0..ENTRIES).filter(|n| n % 2 == 0)),
    );
    place
        .run(&format!("report all.jsonl{}", reports("-o", "again")))
        .exits(0);
    assert!(place.text("again.jsonl") == all);
    place
        .run(&format!("report again.json{}", reports("-o", "twice")))
        .exits(0);
    let merge = "report merge odd.jsonl even.jsonl";
    let merged = place
        .run(&format!("{merge}{}", reports("-o", "merged")))
        .exits(0);
    assert_eq!(merged.err, "");
    for form in REPORTS {
        let again = place.text(&format!("again.{form}"));
        assert!(place.text(&format!("twice.{form}")) == again, "{form}");
        assert!(place.text(&format!("merged.{form}")) == again, "{form}");
    }
    let says = [
        "6 000 files: warning: these reports contain this input more than once; it is counted each time",
        "in/00000.jsonl, in/00002.jsonl, in/00004.jsonl and 5 997 more",
    ];
    place
        .run("report merge even.jsonl all.jsonl -o more.md")
        .exits(0)
        .says(&says);
    let cut = all.split_once('\n').unwrap().1;
    place.write("cut.jsonl", cut);
    let says = "cut.jsonl:12000: its totals say files 12000, and its files add up to 11999";
    place.run("report cut.jsonl").exits(2).says(&[says]);
}

#[test]
fn many_replayed_and_measured_files_are_reported_like_their_parts() {
    let place = Place::in_memory();
    // So many files that they do not stay in memory, and half of them do. Most are too short for anything to happen.
    for file in 0..11_000 {
        let message = |n: usize| {
            let words = format!(
                "look at src/part{}.rs and src/part{}.rs. ",
                n % 7,
                n * file % 11
            );
            format!(
                "{{\"role\":\"user\",\"content\":\"{words}\"}}\n{{\"role\":\"assistant\",\"content\":\"{words}\"}}\n"
            )
        };
        let turns = if file % 500 == 0 { 12 } else { 1 };
        let text: String = (0..turns).map(message).collect();
        place.write(&format!("in/{file:05}.jsonl"), text);
    }
    place.write("in/odd.jsonl", "nothing that is known\n");
    for command in [
        "replay in --policy auto",
        "eval in --budget 20 --no-baselines",
    ] {
        let table = place
            .run(&format!("{command}{}", reports("--report", "all")))
            .exits(0);
        let mut parts = Vec::new();
        for n in 1..=2 {
            let report = format!("--shard {n}/2 --report {n}.jsonl");
            place.run(&format!("{command} -q {report}")).exits(0);
            parts.extend(lines(&place.text(&format!("{n}.jsonl")), usize::MAX).0);
        }
        parts.sort_by_key(|line| line.split("in/").nth(1).map(|path| path[..5].to_owned()));
        let (all, _) = lines(&place.text("all.jsonl"), usize::MAX);
        assert_eq!(all.len(), 11_001, "{command}");
        assert!(all == parts, "{command}");
        for from in ["all.json", "all.jsonl"] {
            let again = place.run(&format!("report {from}")).exits(0);
            assert_eq!(again.text(), table.text(), "{command}: {from}");
        }
        place
            .run(&format!("report all.jsonl{}", reports("-o", "again")))
            .exits(0);
        for form in REPORTS {
            let all = place.text(&format!("all.{form}"));
            assert!(
                place.text(&format!("again.{form}")) == all,
                "{command}: {form}"
            );
        }
    }
}
