//! `ctxpack filter --store`: what leaves a record can be found from where its file will be, and brought back.

use serde_json::{Value, json};

use super::harness::{KEPT, Place, anthropic_of, conversations, sample};

#[test]
fn what_leaves_a_record_goes_to_the_store_or_stays_where_there_is_none() {
    let place = Place::new();
    let big = "a line of a long output\n".repeat(4_000);
    let text = anthropic_of([big]);
    let record = format!("{}\n", json!({"path": "deep/a.jsonl", "text": text}));
    let without = place.pipe("filter --summarize never", &record).exits(0);
    assert_eq!(place.names(), Vec::<String>::new());
    let value: Value = serde_json::from_slice(&without.out).unwrap();
    assert_eq!(value["text"], text);

    let with = place
        .pipe("filter --summarize never --store out/.ctxpack", &record)
        .exits(0);
    let value: Value = serde_json::from_slice(&with.out).unwrap();
    let text_after = value["text"].as_str().unwrap();
    assert!(text_after.len() < text.len() / 2, "{text_after}");
    // Named from where the file will be.
    assert!(
        text_after.contains("../.ctxpack/offloaded/"),
        "{text_after}"
    );
    let offloaded = place.names();
    assert!(
        offloaded
            .iter()
            .any(|n| n.starts_with("out/.ctxpack/offloaded/")),
        "{offloaded:?}"
    );
    place.pipe("unpack-lines --out-dir out", &with.out).exits(0);
    place
        .run("undo out/deep/a.jsonl -o original.jsonl")
        .exits(0);
    assert_eq!(place.text("original.jsonl"), text);

    let elsewhere = place
        .pipe("filter --summarize never --store s --out-dir out", &record)
        .exits(0);
    let value: Value = serde_json::from_slice(&elsewhere.out).unwrap();
    let text_after = value["text"].as_str().unwrap();
    assert!(text_after.contains("../../s/offloaded/"), "{text_after}");
}

#[test]
fn what_needs_a_store_is_refused_before_the_first_record() {
    let place = Place::new();
    let line = conversations(KEPT + 3, 0);
    for args in [
        "filter --set archive=always",
        "filter --policy offload-first",
        "filter --policy reset",
    ] {
        let ran = place.pipe(args, &line).exits(2).says(&["--store"]);
        assert_eq!(ran.out, b"", "{args}");
    }
    place
        .pipe("filter --set archive=always --store s", &line)
        .exits(0);
}

#[test]
fn a_store_that_cannot_be_written_is_a_fault_of_the_machine() {
    let place = Place::with(&[("file", "no folder")]);
    let (before, _) = sample();
    let record = format!("{}\n", json!({"path": "a.jsonl", "text": before}));
    let input = record.repeat(2) + "no json\n";
    let ran = place.pipe("filter --store file/store", &input).exits(3);
    let lines = ran.text();
    assert_eq!(lines.lines().count(), 3);
    for line in lines.lines().take(2) {
        let value: Value = serde_json::from_str(line).unwrap();
        assert_eq!(value["text"], before);
        assert_ne!(value["error"]["message"], "");
    }
}

#[cfg(unix)]
#[test]
fn what_a_killed_run_has_left_in_the_store_is_gone_after_the_next_one() {
    const LEFT: &str = ".ctxpack-0123456789abcdefc24bc12c.tmp";
    let place = Place::new();
    for part in ["", "archive/", "offloaded/", "manifests/"] {
        place.write(&format!("s/{part}{LEFT}"), "half");
    }
    let record = json!({"messages": [{"role": "user", "content": "x"}]});
    place
        .pipe("filter --store s", format!("{record}\n"))
        .exits(0);
    let left = place.names().into_iter().filter(|name| name.contains(LEFT));
    assert_eq!(left.collect::<Vec<_>>(), [""; 0]);
}
