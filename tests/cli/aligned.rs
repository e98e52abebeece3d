//! The page of a run over one file shows its messages beside what became of them; recorded compactions are on curves.

use super::harness::{Place, samples};

/// A place with one file of that format.
fn one(wanted: &str) -> Place {
    let place = Place::new();
    let all = samples();
    let (_, before, _) = all.iter().find(|(format, ..)| *format == wanted).unwrap();
    place.write("in.jsonl", before);
    place
}

const CLEAR: &str = "--set clear.keep=0";

#[test]
fn the_page_of_one_file_has_its_messages() {
    for to in ["", "--in-place", "--out-dir out", "-o x.jsonl"] {
        let place = one("claude-code");
        let args = format!("compact in.jsonl {to} {CLEAR} --report r.html --report r.json");
        place.run(&args).exits(0);
        let page = place.text("r.html");
        assert!(page.contains("main, message by message: "), "{to}");
        assert!(page.contains(">By role</h2>"), "{to}");
        for became in ["\"kept\"", "\"cleared\""] {
            assert!(page.contains(became), "{to}: {became}");
        }
        assert!(!place.text("r.json").contains("message by message"));
    }
}

#[test]
fn pages_of_many_files_and_of_what_was_not_written_have_none() {
    let place = one("claude-code");
    place
        .run(&format!("compact in.jsonl -n {CLEAR} --report dry.html"))
        .exits(0);
    assert!(!place.text("dry.html").contains("message by message"));
    let text = place.text("in.jsonl");
    place.write("all/a.jsonl", &text);
    place.write("all/b.jsonl", &text);
    place
        .run(&format!("compact all {CLEAR} --report all.html"))
        .exits(0);
    let page = place.text("all.html");
    assert!(!page.contains("message by message"));
    assert!(page.contains(">By role</h2>"));
}

#[test]
fn where_outputs_are_masked_no_words_of_the_original_are_shown() {
    let place = one("claude-code");
    let token = format!("ghp_{}", "a1B2c3D4e5F6".repeat(3));
    let text = place.text("in.jsonl");
    let typed = "\"role\":\"user\",\"content\":\"";
    let with_secret = text.replacen(typed, &format!("{typed}{token} "), 1);
    assert_ne!(text, with_secret);
    place.write("in.jsonl", &with_secret);
    let run = |more: &str| {
        place
            .run(&format!(
                "compact in.jsonl --overwrite {CLEAR} {more} --report r.html"
            ))
            .exits(0);
        place.text("r.html")
    };
    assert!(run("").contains(&token));
    let masked = run("--redact outputs");
    assert!(masked.contains("message by message") && !masked.contains(&token));
}

#[test]
fn recorded_compactions_are_marks_on_curves() {
    let place = Place::new();
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/anthropic");
    let input = folder.join("layered-an-earlier-summary-is-carried-on/input.jsonl");
    place.write("in.jsonl", std::fs::read(input).unwrap());
    place
        .run("stats in.jsonl --report r.json --report r.html")
        .exits(0);
    let conversation = place.json("r.json")["files"][0]["conversations"][0].clone();
    let compaction = &conversation["compactions"][0];
    assert_eq!(
        (&compaction["line"], &compaction["turn"]),
        (&1.into(), &0.into())
    );
    let up_to = compaction["context"].as_u64().unwrap();
    assert!(up_to > 0 && up_to <= conversation["timeline"][0]["context"].as_u64().unwrap());
    let page = place.text("r.html");
    let mark = format!("a recorded compaction, {up_to} tokens up to its summary on line 1");
    assert!(
        page.contains(&mark) && page.contains("A large dot is the summary"),
        "{mark}"
    );
}
