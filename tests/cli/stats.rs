//! `stats` counts, prints a table or JSON, and writes nothing.

use std::path::Path;

use serde_json::{Value, json};

use super::harness::{
    KEPT, Place, Ran, anthropic, conversations, gunzip, gzip, sample, samples, zstd,
};

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
fn roles_kinds_tools_and_turns_add_up_under_every_preset() {
    let place = Place::new();
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures");
    let list = place.run("policy list").exits(0).text();
    let presets = list
        .lines()
        .filter_map(|line| line.split_whitespace().next());
    let presets: Vec<&str> = presets
        .filter(|name| ctxpack::policy::preset(name).is_ok())
        .collect();
    assert!(presets.len() >= 7, "{list}");
    let sum = |list: &Value, keys: &[&str]| {
        let each = list.as_array().unwrap().iter();
        let figures = each.flat_map(|one| keys.iter().map(move |key| one[*key].as_u64().unwrap()));
        figures.sum::<u64>()
    };
    for preset in presets {
        let args = [
            "stats",
            "--json",
            "--policy",
            preset,
            fixtures.to_str().unwrap(),
        ];
        let ran = place.run_args(&args);
        let stats = json_of(&ran);
        let mut live = 0;
        for file in stats["files"]
            .as_array()
            .unwrap()
            .iter()
            .chain([&stats["totals"]])
        {
            let name = format!("{preset} {}", file["path"]);
            if file["live"].is_null() {
                continue;
            }
            let tokens = file["live"]["tokens"].as_u64().unwrap();
            assert_eq!(sum(&file["roles"], &["tokens"]), tokens, "roles: {name}");
            assert_eq!(sum(&file["blocks"], &["tokens"]), tokens, "blocks: {name}");
            let blocks = file["blocks"].as_array().unwrap().iter();
            let of_tools = blocks
                .filter(|b| ["tool_call", "tool_result"].contains(&b["name"].as_str().unwrap()));
            let of_tools: u64 = of_tools
                .map(|block| block["tokens"].as_u64().unwrap())
                .sum();
            assert_eq!(
                sum(&file["tools"], &["call_tokens", "result_tokens"]),
                of_tools,
                "tools: {name}"
            );
            if let Some(conversations) = file["conversations"].as_array() {
                assert_eq!(sum(&file["conversations"], &["tokens"]), tokens, "{name}");
                for one in conversations {
                    assert_eq!(
                        sum(&one["timeline"], &["tokens"]),
                        one["tokens"].as_u64().unwrap(),
                        "turns: {name}"
                    );
                }
            }
            live += tokens;
        }
        assert!(live > 100_000, "{preset}: {live}");
    }
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
    let heads = [
        "file ",
        "role ",
        "block ",
        "tool ",
        "largest ",
        "context over turns ",
        "policy auto ",
        "preset ",
        "estimates ",
    ];
    let found = text
        .lines()
        .filter(|l| heads.iter().any(|h| l.starts_with(h)));
    assert_eq!(found.count(), heads.len(), "{text}");
    let largest: Vec<&str> = text
        .lines()
        .skip_while(|l| !l.starts_with("largest"))
        .take_while(|l| !l.is_empty())
        .collect();
    // All results are as large as the first one, which is on line 3.
    assert!(largest[1].starts_with("Bash result: ls 0"), "{text}");
    assert_eq!(
        largest[1].split_whitespace().next_back(),
        Some("3"),
        "{text}"
    );
    assert_eq!(largest.len(), 2, "{text}");
    // All but what the input is called, at the top and at the bottom.
    let rows = |text: &str| {
        let lines = text.lines().skip(2).map(str::to_owned);
        lines
            .take_while(|l| !l.starts_with("estimates"))
            .collect::<Vec<_>>()
    };
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
    // 8 messages of 4 tokens each, as characters.
    // The last line says what these columns count.
    let last: Vec<&str> = table
        .lines()
        .rev()
        .nth(1)
        .unwrap()
        .split("  ")
        .filter(|cell| !cell.is_empty())
        .map(str::trim)
        .collect();
    let classes = stats["totals"]["estimates"]["classes"].to_string();
    assert_eq!(
        last,
        ["in.jsonl", "32", &classes, "1 168", "1 000", "6.00"],
        "{table}"
    );
    place
        .run("compact in.jsonl --policy layered --report r.json")
        .exits(0);
    let report = place.json("r.json");
    assert_eq!(report["files"][0]["conversations"][0]["usage"], usage);
    // What was recorded before a compaction says nothing about its result.
    let summary = "[Earlier conversation, summarised by ctxpack]\n1";
    let summary = json!({"role": "user", "content": summary});
    place.write(
        "small.jsonl",
        format!("{summary}\n{}", place.text("in.jsonl")),
    );
    let stats = json_of(&place.run("stats small.jsonl --json").exits(0));
    let small = &stats["files"][0]["conversations"][0];
    assert_eq!(small["usage"], Value::Null);
    let mut turns = small["timeline"].as_array().unwrap().iter();
    assert!(turns.all(|turn| turn["recorded"].is_null()), "{small}");
}

/// So many turns of a question and an answer, 1 000 characters in each turn.
fn turns(many: usize) -> String {
    let turn = |_| {
        let question = json!({"role": "user", "content": "1".repeat(400)});
        let answer = json!({"role": "assistant", "content": "1".repeat(600)});
        format!("{question}\n{answer}\n")
    };
    (0..many).map(turn).collect()
}

#[test]
fn context_over_turns_and_where_it_passes_the_thresholds() {
    let place = Place::with(&[("in.jsonl", turns(20))]);
    let args = "stats in.jsonl --policy layered --set trigger.on=tokens --set trigger.tokens=3500";
    let stats = json_of(&place.run(&format!("{args} --format json")).exits(0));
    let conversation = &stats["files"][0]["conversations"][0];
    // 100 tokens and 150.
    let timeline: Vec<Value> = (1..=20)
        .map(|n| {
            json!({"turn": n, "line": 2 * n - 1, "messages": 2, "tokens": 250, "context": 250 * n,
                "recorded": null})
        })
        .collect();
    assert_eq!(conversation["timeline"], json!(timeline));
    let trigger = &conversation["standing"]["trigger"];
    assert_eq!(trigger, &json!({"limit": 3500, "since": 15}));
    assert_eq!(
        [&stats["threshold"], &stats["thresholds"]["trigger"]],
        [3500, 3500]
    );
    assert_eq!(conversation["estimates"]["chars"], 5000);
    assert_eq!(stats["totals"]["presets"][0]["policy"], "auto");

    let table = place.run(args).exits(0).text();
    let line = " > 3 500  over since turn 15 (now 5 000)\n";
    assert!(table.contains(line), "{table}");
    assert!(table.contains("12 of 20 turns; -v shows all\n"), "{table}");
    let all = place.run(&format!("{args} -v")).exits(0).text();
    assert!(!all.contains("-v shows all"), "{all}");
    assert_eq!(all.lines().count(), table.lines().count() + 8 - 1);
}

#[test]
fn thousands_of_conversations_stay_a_few_rows() {
    let line = |n: usize| {
        let messages = [json!({"role": "user", "content": "1".repeat(n)})];
        json!({"messages": messages}).to_string() + "\n"
    };
    let text: String = (1..=3000).map(line).collect();
    let place = Place::with(&[("in.jsonl", text)]);
    for flag in ["", " -v"] {
        let table = place
            .run(&format!("stats in.jsonl --policy layered --top 2{flag}"))
            .exits(0);
        let table = table.text();
        assert!(table.lines().count() < 50, "{table}");
        let rows: Vec<&str> = table
            .lines()
            .skip_while(|l| !l.starts_with("conversation"))
            .take_while(|l| !l.is_empty())
            .collect();
        let expected = [
            "in.jsonl line:3000      1                   @     750                -",
            // Four have 749; the first of them.
            "in.jsonl line:2996      1                   @     749                -",
            "and 2 998 more",
        ];
        assert_eq!(rows[1..], expected);
        assert!(
            table.contains("0 of 3 000 conversations over it\n"),
            "{table}"
        );
    }
}

#[test]
fn exact_estimates_are_asked_for() {
    let text = "{\"role\":\"user\",\"content\":\"1234567812345678\"}\n";
    let place = Place::with(&[("in.jsonl", text)]);
    let estimates = |args: &str| {
        let stats = json_of(&place.run(&format!("stats in.jsonl{args}")).exits(0));
        stats["totals"]["estimates"].clone()
    };
    // Digits are encoded three by three.
    let exact = estimates(" --exact --format json");
    assert_eq!(
        [&exact["chars"], &exact["o200k_base"], &exact["cl100k_base"]],
        [4, 6, 6]
    );
    let plain = estimates(" --format json");
    assert_eq!(plain["o200k_base"], Value::Null);
    assert_eq!(plain["classes"], exact["classes"]);
    let header = |args: &str| {
        let table = place.run(&format!("stats in.jsonl{args}")).exits(0).text();
        let mut lines = table.lines().filter(|l| l.starts_with("estimates"));
        lines.next().unwrap().to_owned()
    };
    assert_eq!(header(""), "estimates  chars / 4  classes");
    assert_eq!(
        header(" --exact"),
        "estimates  chars / 4  classes  o200k_base  cl100k_base"
    );
}

/// The sizes of both commands are those of the text; what is on the disk has names of its own.
#[test]
fn sizes_of_compressed_files_are_unpacked_everywhere() {
    let (text, after) = (anthropic(9, 0), anthropic(9, 4));
    let place = Place::new();
    let small = anthropic(1, 0);
    let packed = [
        ("in/a.jsonl.gz", gzip(&text)),
        ("in/b.jsonl.zst", zstd(&text)),
        ("in/c.jsonl", text.clone().into_bytes()),
        ("in/d.jsonl.gz", gzip(&small)),
        ("in/e.jsonl.zst", zstd(conversations(9, 0))),
    ];
    for (name, bytes) in &packed {
        place.write(name, bytes);
    }
    let stats: Value =
        serde_json::from_slice(&place.run("stats in --json -q").exits(0).out).unwrap();
    for command in [
        "compact in --out-dir out --report r.json",
        "compact in --in-place --report r.json",
    ] {
        let ran = place.run(command).exits(0);
        let _ = ran.says(&["bytes are those of the unpacked text; on disk "]);
        let report = place.json("r.json");
        let (mut before, mut stored) = (0, [0, 0]);
        for (n, (name, bytes)) in packed.iter().enumerate() {
            let file = &report["files"][n];
            assert_eq!(file["bytes_before"], stats["files"][n]["bytes"], "{name}");
            before += file["bytes_before"].as_u64().unwrap();
            if *name == "in/c.jsonl" {
                assert!(file.get("stored_before").is_none() && file.get("stored_after").is_none());
                assert_eq!(file["bytes_after"], after.len());
                stored = [stored[0] + text.len(), stored[1] + after.len()];
                continue;
            }
            let output = file["output"].as_str().unwrap_or(name);
            let now = place.read(output);
            assert_eq!(file["stored_before"], bytes.len(), "{name}");
            assert_eq!(file["stored_after"], now.len(), "{name}");
            let unpacked = if name.ends_with("gz") {
                gunzip(&now)
            } else {
                ::zstd::decode_all(&now[..]).unwrap()
            };
            assert_eq!(file["bytes_after"], unpacked.len(), "{name}");
            stored = [stored[0] + bytes.len(), stored[1] + now.len()];
        }
        let totals = &report["totals"];
        assert_eq!(totals["bytes_before"], before);
        assert_eq!(totals["stored_before"], stored[0]);
        assert_eq!(totals["stored_after"], stored[1]);
    }
}
