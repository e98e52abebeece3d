//! `stats` counts, says so in a table or in JSON, and writes nothing.

use serde_json::{Value, json};

use super::harness::{KEPT, Place, Ran, conversations, gzip, sample, samples};

fn json_of(ran: &Ran) -> Value {
    serde_json::from_slice(&ran.out).unwrap()
}

fn mixed() -> Place {
    let place = Place::new();
    for (format, before, _) in samples() {
        place.write(&format!("in/{format}.jsonl"), before);
    }
    place.write("in/lines.jsonl", conversations(2, 0));
    place.write("in/packed.jsonl.gz", gzip(sample().0));
    place.write("in/garbage.jsonl", b"\xff\xfe\x00");
    place
}

#[test]
fn it_counts_as_compact_does_and_writes_nothing() {
    let place = mixed();
    let before = place.all_files();
    let stats = json_of(&place.run("stats in --format json").exits(0));
    assert_eq!(place.all_files(), before);
    place.run("compact in -n --report r.json").exits(0);
    let report = place.json("r.json");
    for (counted, compacted) in [("tokens", "tokens_before"), ("messages", "messages_before")] {
        assert_eq!(
            stats["totals"]["live"][counted],
            report["totals"][compacted]
        );
        let files = stats["files"].as_array().unwrap().iter();
        for (file, outcome) in files.zip(report["files"].as_array().unwrap()) {
            assert_eq!(file["path"], outcome["input"]);
            assert_eq!(
                file["live"][counted], outcome[compacted],
                "{}",
                file["path"]
            );
        }
    }
    let formats = stats["files"]
        .as_array()
        .unwrap()
        .iter()
        .map(|f| &f["format"]);
    let expected = [
        "anthropic",
        "claude-code",
        "unknown",
        "openai",
        "openai",
        "anthropic",
    ];
    assert_eq!(formats.collect::<Vec<_>>(), expected);
    let totals = &stats["totals"];
    let numbers = [&totals["files"], &totals["counted"], &totals["unsupported"]];
    assert_eq!(numbers, [6, 5, 1]);
    let results = KEPT as u64 + 3;
    // Four samples with so many results each, three conversations with two.
    let bash = &totals["tools"][0];
    assert_eq!(
        [&bash["name"], &bash["calls"]],
        [&json!("Bash"), &json!(4 * results + 6)]
    );
}

#[test]
fn neither_threads_nor_the_order_of_paths_show() {
    let place = mixed();
    for format in ["", " --format json"] {
        let one = place.run(&format!("stats in -j 1{format}")).exits(0);
        for args in ["stats in -j 8", "stats in/o* in/p* in/l* in/g* in/c* in/a*"] {
            let other = place.run(&format!("{args}{format}")).exits(0);
            assert_eq!(other.text(), one.text(), "{args}");
        }
    }
}

#[test]
fn a_person_gets_tables() {
    let place = Place::with(&[("in.jsonl", sample().0)]);
    let ran = place.run("stats in.jsonl --top 1").exits(0);
    assert_eq!(ran.err, "");
    let text = ran.text();
    let heads = ["file ", "role ", "block ", "tool ", "largest "];
    let found = text
        .lines()
        .filter(|l| heads.iter().any(|h| l.starts_with(h)));
    assert_eq!(found.count(), heads.len(), "{text}");
    let largest: Vec<&str> = text
        .lines()
        .skip_while(|l| !l.starts_with("largest"))
        .collect();
    // All results are as large as the first one, which stands on line 3.
    assert!(largest[1].starts_with("Bash result: ls 0"), "{text}");
    assert_eq!(largest[1].split_whitespace().nth(4), Some("3"), "{text}");
    assert_eq!(largest.len(), 2, "{text}");
    let rows = |text: &str| text.lines().skip(2).map(str::to_owned).collect::<Vec<_>>();
    let streamed = place.pipe("stats --top 1", sample().0).exits(0);
    assert_eq!(rows(&streamed.text()), rows(&text));
}

#[test]
fn the_policy_says_how_tokens_are_counted() {
    let place = Place::with(&[("in.jsonl", "{\"role\":\"user\",\"content\":\"12345678\"}\n")]);
    let tokens = |args: &str| {
        let ran = place
            .run(&format!("stats in.jsonl --format json {args}"))
            .exits(0);
        let json = json_of(&ran);
        (
            json["estimator"].clone(),
            json["totals"]["live"]["tokens"].clone(),
        )
    };
    // Digits come in groups of three; 8 characters are two fours, or four twos.
    assert_eq!(tokens(""), (json!("classes"), json!(2)));
    assert_eq!(tokens("--policy layered"), (json!("chars"), json!(2)));
    let twos = "--policy layered --set tokens.chars_per_token=2";
    assert_eq!(tokens(twos), (json!("chars"), json!(4)));
}

#[test]
fn one_bad_file_does_not_hide_the_others() {
    let place = mixed();
    place.write("in/torn.jsonl.gz", &gzip("x".repeat(99))[..20]);
    let ran = place
        .run("stats in gone.jsonl --format json")
        .exits(3)
        .says(&[
            "in/torn.jsonl.gz: cannot unpack",
            "gone.jsonl: no such file or folder",
        ]);
    let json = json_of(&ran);
    assert_eq!(
        [&json["totals"]["counted"], &json["totals"]["failed"]],
        [5, 2]
    );
    let gone = &json["files"][0];
    assert_eq!(
        [&gone["path"], &gone["status"], &gone["error"]["kind"]],
        ["gone.jsonl", "failed", "not_found"]
    );
    place.run("stats gone.jsonl").exits(2).says(&["gone.jsonl"]);
    place.run("stats in --set tokens.method=guess").exits(2);
}

#[test]
fn recorded_usage_is_in_the_counts_and_in_the_report() {
    // Four tokens of four characters before the first answer, 8 more before each of the next; the provider counts six for each.
    let text: String = (0..4)
        .map(|i: u64| {
            let user = json!({"role": "user", "content": "1".repeat(16)});
            let recorded = 1000 + (16 + 32 * i) * 3 / 2;
            let answer = json!({"role": "assistant", "content": "1".repeat(16), "usage": {
                "input_tokens": 24, "cache_read_input_tokens": recorded - 24, "output_tokens": 5,
            }});
            format!("{user}\n{answer}\n")
        })
        .collect();
    let place = Place::with(&[("in.jsonl", text)]);
    let usage = json!({"recorded": 1168, "overhead": 1000, "factor": 6.0});
    let stats = json_of(
        &place
            .run("stats in.jsonl --policy layered --format json")
            .exits(0),
    );
    assert_eq!(stats["files"][0]["conversations"][0]["usage"], usage);
    let table = place.run("stats in.jsonl --policy layered").exits(0).text();
    assert!(
        table.ends_with("in.jsonl           1 168     1 000    6.00\n"),
        "{table}"
    );
    place
        .run("compact in.jsonl --policy layered --report r.json")
        .exits(0);
    let report = place.json("r.json");
    assert_eq!(report["files"][0]["conversations"][0]["usage"], usage);
}
