//! `--timings`: times where they are asked for, and nowhere else.

use serde_json::Value;

use super::harness::{Place, conversations, samples};

/// A folder with a file of each format, and one with a conversation a line.
fn some() -> Place {
    let place = Place::new();
    for (format, before, _) in samples() {
        place.write(&format!("in/{format}.jsonl"), before);
    }
    place.write("in/lines.jsonl", conversations(9, 0));
    place
}

/// The sum of the phases in an object of times, in millionths.
fn sum(times: &Value, phases: &[&str]) -> f64 {
    let times = times.as_object().unwrap();
    let known: Vec<&str> = times.keys().map(String::as_str).collect();
    let mut expected = phases.to_vec();
    expected.sort_unstable();
    let mut sorted: Vec<&str> = known.into_iter().filter(|key| *key != "wall").collect();
    sorted.sort_unstable();
    assert_eq!(sorted, expected);
    let each = phases.iter().map(|phase| times[*phase].as_f64().unwrap());
    each.map(|seconds| (seconds * 1e6).round()).sum()
}

#[test]
fn every_phase_of_a_file_is_told_and_adds_up() {
    let compacted = ["read", "plan", "artifacts", "apply", "verify", "write"];
    for (command, phases) in [
        ("compact in --out-dir out", &compacted[..]),
        ("compact in -n", &compacted),
        ("stats in", &["read", "examine"]),
        ("eval in --no-baselines", &["read", "examine"]),
        ("replay in", &["read", "examine"]),
    ] {
        let place = some();
        place
            .run(&format!("{command} --timings -j 1 --report r.json"))
            .exits(0);
        let report = place.json("r.json");
        let files = report["files"].as_array().unwrap();
        let mut all = 0.0;
        for file in files {
            let of_file = sum(&file["timings"], phases);
            assert!(of_file > 0.0, "{command}");
            all += of_file;
        }
        let whole = sum(&report["timings"], phases);
        // Each is rounded to a millionth.
        assert!((whole - all).abs() <= (files.len() * phases.len()) as f64);
        let wall = report["timings"]["wall"].as_f64().unwrap() * 1e6;
        assert!(wall >= whole, "{command}: {wall} {whole}");
    }
}

#[test]
fn without_the_flag_no_report_holds_a_time() {
    for command in ["compact in -n", "stats in", "replay in"] {
        let place = some();
        let forms = "--report r.json --report r.csv --report r.md --report r.html";
        place.run(&format!("{command} {forms}")).exits(0);
        let texts = || ["r.json", "r.csv", "r.md", "r.html"].map(|name| place.text(name));
        let first = texts();
        for text in &first {
            for word in ["timings", "seconds_", "took ", "\"ms\""] {
                assert!(!text.contains(word), "{command}: {word}");
            }
        }
        place.run(&format!("{command} {forms}")).exits(0);
        assert_eq!(texts(), first, "{command}");
    }
}

#[test]
fn every_form_of_report_has_the_times() {
    for (command, last) in [
        ("compact in -n", "seconds_write"),
        ("stats in", "seconds_examine"),
    ] {
        let place = some();
        place
            .run(&format!(
                "{command} --timings --report r.csv --report r.md --report r.html"
            ))
            .exits(0);
        let csv = place.text("r.csv");
        let header = csv.lines().next().unwrap();
        assert!(
            header.contains(",seconds_read,") && header.ends_with(last),
            "{header}"
        );
        let cell = csv.lines().nth(1).unwrap().rsplit(',').next().unwrap();
        assert!(cell.parse::<f64>().is_ok(), "{cell}");
        let markdown = place.text("r.md");
        assert!(markdown.contains("\ntook "), "{markdown}");
        let page = place.text("r.html");
        assert!(page.contains(r#"{"heading":"ms","kind":"number"}"#));
        assert!(page.contains(r#"["time","read "#));
        // It is known as a report of ours, and is replaced by the next one.
        place.run(&format!("{command} --report r.csv")).exits(0);
    }
    let place = some();
    let said = place.run("compact in -n -v --timings");
    said.exits(0).says(&["\n    read ", "\ntook "]);
}
