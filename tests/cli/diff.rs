//! `diff` shows what a compaction did, whoever has written what down, and never steers a terminal.

use std::fs;

use serde_json::{Value, json};

use super::harness::{KEPT, Place, Ran, anthropic, conversations, sample, samples};

fn json(ran: &Ran) -> Value {
    serde_json::from_slice(&ran.out).unwrap()
}

/// The rows of all conversations.
fn rows(report: &Value) -> Vec<Value> {
    let conversations = report["conversations"].as_array().unwrap().iter();
    let rows = conversations.flat_map(|c| c["rows"].as_array().unwrap().clone());
    rows.collect()
}

fn with_fate<'r>(rows: &'r [Value], fate: &str) -> Vec<&'r Value> {
    rows.iter().filter(|row| row["fate"] == fate).collect()
}

/// A session that is long enough to be summarised: what was asked and what was read of each file.
fn long_session(rounds: usize) -> String {
    let mut lines = vec![json!({"role": "user", "content": "Please find the fault in the gauge."})];
    for i in 0..rounds {
        let id = format!("toolu_{i}");
        lines.push(json!({"role": "assistant", "content": [
            {"type": "text", "text": format!("Now I look at part {i}.")},
            {"type": "tool_use", "id": id, "name": "Read", "input": {"file_path": format!("/src/part{i}.rs")}},
        ]}));
        let content: String = (1..60)
            .map(|n| format!("{n:>6}→let gauge_{i}_{n} = read({n});\n"))
            .collect();
        lines.push(json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": id, "content": content}]}));
    }
    lines.push(json!({"role": "assistant", "content": "The fault is in part 3."}));
    lines.push(json!({"role": "user", "content": "Thank you, mend it."}));
    lines.iter().map(|line| format!("{line}\n")).collect()
}

/// A folder with a session and its summarised form.
fn summarised() -> Place {
    let place = Place::with(&[("in.jsonl", long_session(12))]);
    place.run("compact in.jsonl --summarize always").exits(0);
    place
}

#[test]
fn every_format_is_compared_with_the_reports_figures_and_reasons() {
    let per_line = ("openai", conversations(KEPT + 3, 0), String::new());
    for (format, before, _) in samples().into_iter().chain([per_line]) {
        let place = Place::with(&[("in.jsonl", before)]);
        place.run("compact in.jsonl").exits(0);
        let stats = place.json("in.compact.stats.json");
        let found = json(&place.run("diff in.jsonl in.compact.jsonl --json").exits(0));
        assert_eq!(found["schema_version"], 1);
        assert_eq!(found["format"], format);
        assert_eq!(found["record"], "in.compact.stats.json");
        for key in [
            "tokens_before",
            "tokens_after",
            "messages_before",
            "messages_after",
        ] {
            assert_eq!(found[key], stats["files"][0][key], "{format} {key}");
        }
        let rows = rows(&found);
        let olds = rows.iter().filter(|row| !row["old"].is_null()).count();
        assert_eq!(
            olds as u64,
            stats["files"][0]["messages_before"].as_u64().unwrap()
        );
        let cleared = with_fate(&rows, "cleared");
        let said = stats["files"][0]["conversations"]
            .as_array()
            .unwrap()
            .iter();
        let said: Vec<Value> = said
            .flat_map(|c| c["actions"].as_array().unwrap().clone())
            .collect();
        assert_eq!(cleared.len(), said.len(), "{format}");
        for (row, action) in cleared.iter().zip(said) {
            assert_eq!(row["reason"], action["reason"], "{format}");
            assert_eq!(row["changes"][0]["line"], action["line"], "{format}");
            assert_eq!(row["changes"][0]["tool"], "Bash", "{format}");
        }
        assert_eq!(with_fate(&rows, "kept").len() + cleared.len(), rows.len());
    }
}

#[test]
fn one_file_is_compared_with_its_original_in_place_too() {
    let place = Place::with(&[("in.jsonl", sample().0), ("live.jsonl", sample().0)]);
    place.run("compact in.jsonl").exits(0);
    place.run("compact live.jsonl --in-place").exits(0);
    let two = json(&place.run("diff in.jsonl in.compact.jsonl --json").exits(0));
    for args in [
        "diff in.compact.jsonl --json",
        "diff live.jsonl --json",
        "diff in.jsonl --json",
    ] {
        let one = json(&place.run(args).exits(0));
        assert_eq!(one["conversations"], two["conversations"], "{args}");
        assert_eq!(one["old"]["hash"], two["old"]["hash"], "{args}");
    }
    // What was appended since is new.
    place.append(
        "live.jsonl",
        "{\"role\":\"assistant\",\"content\":\"Go on.\"}\n",
    );
    let grown = rows(&json(&place.run("diff live.jsonl --json").exits(0)));
    assert_eq!(grown.last().unwrap()["fate"], "inserted");
    assert_eq!(grown.last().unwrap()["text"], "Go on.");
    // The run leaves nothing behind.
    assert!(
        !place
            .names()
            .iter()
            .any(|name| name.contains("live.compact"))
    );
}

#[test]
fn compressed_files_are_compared_like_others() {
    let place = Place::new();
    let packed = zstd::encode_all(sample().0.as_bytes(), 3).unwrap();
    place.write("in.jsonl.zst", packed);
    place.run("compact in.jsonl.zst").exits(0);
    let output = place
        .files()
        .into_iter()
        .find(|name| name.contains(".compact.jsonl"))
        .unwrap();
    let found = json(&place.run(&format!("diff {output} --json")).exits(0));
    assert_eq!(with_fate(&rows(&found), "cleared").len(), 3);
}

#[test]
fn without_a_record_the_bytes_tell_what_became_of_messages() {
    let place = summarised();
    let known = rows(&json(
        &place.run("diff in.jsonl in.compact.jsonl --json").exits(0),
    ));
    fs::remove_dir_all(place.path(".ctxpack")).unwrap();
    fs::remove_file(place.path("in.compact.stats.json")).unwrap();
    let found = json(&place.run("diff in.jsonl in.compact.jsonl --json").exits(0));
    assert_eq!(found["record"], Value::Null);
    let unknown = rows(&found);
    let without_reason = |row: &Value| {
        let mut row = row.clone();
        row["reason"] = Value::Null;
        for change in row["changes"].as_array_mut().unwrap() {
            change["reason"] = Value::Null;
        }
        row
    };
    let known: Vec<Value> = known.iter().map(without_reason).collect();
    assert_eq!(known, unknown);
    assert!(!with_fate(&unknown, "summarised").is_empty());
    place.run("diff in.compact.jsonl").exits(2).says(&[
        "found no store beside this file or in a parent folder",
        "ctxpack diff OLD NEW",
    ]);
}

#[test]
fn the_listing_has_the_summary_in_full_and_folds_what_is_kept() {
    let place = summarised();
    let found = json(&place.run("diff in.compact.jsonl --json").exits(0));
    let rows = rows(&found);
    let [summary] = with_fate(&rows, "summary")[..] else {
        panic!("{rows:?}")
    };
    let listing = place.run("diff in.jsonl in.compact.jsonl").exits(0).text();
    for line in summary["text"].as_str().unwrap().lines() {
        let line = line.replace('\t', " ");
        assert!(
            listing.contains(&format!("    + {line}\n")),
            "{line}\n{listing}"
        );
    }
    assert!(!summary["restored"].as_array().unwrap().is_empty());
    for header in summary["restored"].as_array().unwrap() {
        assert!(
            listing.contains(&format!("  restored: {}\n", header.as_str().unwrap())),
            "{listing}"
        );
    }
    let gone = with_fate(&rows, "summarised").len();
    assert_eq!(listing.matches("\n- summarised line ").count(), gone);
    assert_eq!(
        listing.matches("\n  summarised: asked for\n").count(),
        1,
        "{listing}"
    );
    assert!(listing.contains(" kept message"), "{listing}");
    assert!(
        listing.starts_with("--- in.jsonl\n+++ in.compact.jsonl\n@@ main: "),
        "{listing}"
    );
}

#[test]
fn the_sums_of_stat_are_those_of_the_report() {
    let place = summarised();
    let found = json(&place.run("diff in.compact.jsonl --json").exits(0));
    for key in ["tokens_before", "tokens_after"] {
        let stats = found["stat"].as_array().unwrap().iter();
        let sum: u64 = stats.map(|stat| stat[key].as_u64().unwrap()).sum();
        assert_eq!(sum, found[key].as_u64().unwrap());
    }
    let printed = place.run("diff in.compact.jsonl --stat").exits(0).text();
    let lines: Vec<&str> = printed.lines().collect();
    assert!(
        lines
            .iter()
            .any(|line| line.starts_with(" summarised ") && line.ends_with('-')),
        "{printed}"
    );
    assert!(
        lines
            .iter()
            .any(|line| line.starts_with(" summary ") && line.ends_with('+')),
        "{printed}"
    );
    assert!(lines.last().unwrap().contains(" tokens (−"), "{printed}");
}

#[test]
fn a_policy_is_tried_in_memory_and_two_are_compared() {
    let place = Place::with(&[("in.jsonl", sample().0)]);
    let before = place.all_files();
    let one = json(&place.run("diff --policy auto in.jsonl --json").exits(0));
    assert_eq!(with_fate(&rows(&one), "cleared").len(), 3);
    assert!(with_fate(&rows(&one), "cleared")[0]["reason"].is_string());

    let two = json(
        &place
            .run("diff --policy auto --policy none in.jsonl --json")
            .exits(0),
    );
    assert_eq!(two["policies"][1]["name"], "none");
    assert_eq!(two["tokens_after"][0], one["tokens_after"]);
    assert_eq!(two["tokens_after"][1], two["tokens_before"]);
    let differ = rows(&two);
    assert_eq!(differ.len(), 3);
    assert!(
        differ
            .iter()
            .all(|row| row["fates"] == json!(["cleared", "kept"]))
    );

    let listing = place
        .run("diff --policy auto --policy none in.jsonl")
        .exits(0)
        .text();
    assert_eq!(listing.matches(" cleared | kept, ").count(), 3, "{listing}");
    let stat = place
        .run("diff --policy auto --policy none in.jsonl --stat")
        .exits(0)
        .text();
    assert!(
        stat.contains(" cleared by auto, kept by none: 3 messages, "),
        "{stat}"
    );
    let same = place
        .run("diff --policy auto --policy auto in.jsonl")
        .exits(0)
        .text();
    assert!(
        same.ends_with("both policies make the same of every message\n"),
        "{same}"
    );
    assert_eq!(place.all_files(), before);
}

#[test]
fn summaries_of_two_policies_differ_line_by_line() {
    let place = Place::with(&[("in.jsonl", long_session(12))]);
    let args = "diff --policy auto --policy boundary --set summary.when=always in.jsonl --json";
    let found = json(&place.run(args).exits(0));
    let added = found["conversations"][0]["added"].as_array().unwrap();
    let of = |fate: &str| added.iter().find(|added| added["fate"] == fate).unwrap();
    let lines = of("summary")["text"].as_array().unwrap();
    assert!(
        lines
            .iter()
            .any(|line| line.as_str().unwrap().starts_with("+[对话摘要]")),
        "{lines:?}"
    );
    // Only one of them has an acknowledgement.
    assert_eq!(of("acknowledgement")["new"][0], Value::Null);
    assert!(of("acknowledgement")["new"][1].is_object());
}

#[test]
fn a_file_without_an_ending_is_compared_with_what_was_made_of_it() {
    let place = Place::with(&[("session", &long_session(12))]);
    place.run("compact session").exits(0);
    assert!(place.files().contains(&"session.compact.jsonl".to_owned()));
    place.run("diff session").exits(0);
}

#[test]
fn the_exit_code_tells_of_differences_if_asked() {
    let place = Place::with(&[("in.jsonl", sample().0), ("same.jsonl", sample().0)]);
    place.run("compact in.jsonl").exits(0);
    place.run("diff in.jsonl in.compact.jsonl").exits(0);
    place
        .run("diff in.jsonl in.compact.jsonl --exit-code")
        .exits(1);
    let same = place
        .run("diff in.jsonl same.jsonl --exit-code")
        .exits(0)
        .text();
    assert!(same.contains("no message has changed"), "{same}");
    // No model reads how lines end; `ctxpack help diff` says so.
    let crlf = sample().0.replace('\n', "\r\n");
    place.write("crlf.jsonl", &crlf);
    place.write("cut.jsonl", sample().0.trim_end());
    place.write(
        "more.jsonl",
        sample().0 + "{\"role\":\"user\",\"content\":\"x\"}\n",
    );
    for (file, code) in [("crlf.jsonl", 0), ("cut.jsonl", 0), ("more.jsonl", 1)] {
        place
            .run(&format!("diff in.jsonl {file} --exit-code"))
            .exits(code);
    }
    place
        .run("diff --policy auto --policy none in.jsonl --exit-code")
        .exits(1);
    place
        .run("diff --policy auto --policy auto in.jsonl --exit-code")
        .exits(0);
}

#[test]
fn reports_are_written_in_every_format_and_only_over_reports() {
    let place = summarised();
    let all = "--report d.json --report d.jsonl --report d.csv --report d.md --report d.html";
    for args in [
        "diff in.compact.jsonl",
        "diff --policy auto --policy reset --set summary.when=always in.jsonl",
    ] {
        // The second time over those of the first.
        place.run(&format!("{args} {all}")).exits(0);
        let json = place.json("d.json");
        let printed: Value =
            serde_json::from_slice(&place.run(&format!("{args} --json")).out).unwrap();
        assert_eq!(json, printed);
        let rows = rows(&json).len();
        assert_eq!(place.text("d.csv").lines().count(), rows + 1);
        let text = place.text("d.jsonl");
        let lines: Vec<Value> = text
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        assert_eq!(
            lines.len(),
            json["conversations"].as_array().unwrap().len() + 1
        );
        assert_eq!(lines.last().unwrap()["schema_version"], 1);
        let markdown = place.text("d.md");
        assert!(
            markdown.starts_with("**") && markdown.contains("<details><summary>"),
            "{markdown}"
        );
        let page = place.text("d.html");
        assert!(
            page.starts_with("<!DOCTYPE html>") && page.contains("ctxpack diff"),
            "{args}"
        );
    }
    place.write("d.json", "mine");
    place.run("diff in.compact.jsonl --report d.json").exits(2);
    assert_eq!(place.text("d.json"), "mine");
}

#[test]
fn what_cannot_be_compared_says_why() {
    let [(_, anthropic, _), (_, openai, _), _] = samples();
    let place = Place::with(&[
        ("a.jsonl", anthropic),
        ("o.jsonl", openai),
        ("x.jsonl", "{\"x\":1}\n".to_owned()),
    ]);
    place
        .run("diff a.jsonl o.jsonl")
        .exits(2)
        .says(&["cannot compare a.jsonl (anthropic) with this file (openai)"]);
    place
        .run("diff a.jsonl x.jsonl")
        .exits(2)
        .says(&["x.jsonl: ", "hint: "]);
    place
        .run("diff a.jsonl")
        .exits(2)
        .says(&["found no store beside this file"]);
    place
        .run("diff a.jsonl nothing.jsonl")
        .exits(2)
        .says(&["nothing.jsonl"]);
    place
        .run("diff --policy auto --policy none a.jsonl a.jsonl")
        .exits(2)
        .says(&["--policy is given once with OLD and NEW"]);
    place.run("diff").exits(2);
}

#[test]
fn an_output_that_equals_its_input_has_no_changes() {
    let place = Place::with(&[("in.jsonl", sample().0)]);
    place.run("compact in.jsonl --policy none").exits(0);
    let same = place.run("diff in.compact.jsonl").exits(0).text();
    assert!(same.contains("no message has changed"), "{same}");
    fs::remove_file(place.path("in.compact.jsonl")).unwrap();
    place.write("copy.jsonl", "{\"role\":\"user\",\"content\":\"x\"}\n");
    place
        .run("diff copy.jsonl")
        .exits(2)
        .says(&["no store has a record of this file"]);
}

/// Text that would clear a screen, change its title, and end a page's data.
const HOSTILE: &str = "\u{1b}[2J\u{1b}]0;owned\u{7}</script><img src=x onerror=alert(1)>\u{202e}";

#[test]
fn hostile_text_steers_no_terminal_and_no_page() {
    let line = |role: &str, text: &str| format!("{}\n", json!({"role": role, "content": text}));
    let call = json!({"role": "assistant", "content": [{"type": "tool_use", "id": "t1", "name": HOSTILE, "input": {}}]});
    let result = |text: &str| json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": text}]});
    let old = [
        line("user", HOSTILE),
        format!("{call}\n{}\n", result(HOSTILE)),
        line("assistant", "a"),
    ]
    .concat();
    let new = [
        line("user", "b"),
        format!("{call}\n{}\n", result(&HOSTILE.repeat(2))),
        line("assistant", HOSTILE),
    ]
    .concat();
    let place = Place::with(&[("old.jsonl", old), ("new.jsonl", new)]);
    for args in [
        "diff old.jsonl new.jsonl",
        "diff old.jsonl new.jsonl --stat",
        "diff old.jsonl new.jsonl --json",
        "diff --textconv old.jsonl",
        "diff --policy none --policy reset --set clear.keep=0 --set clear.min_chars=0 old.jsonl",
    ] {
        let printed = place.run(args).exits(0).text();
        let steers = |c: char| c.is_control() && c != '\n' || c == '\u{202e}';
        assert!(!printed.contains(steers), "{args}: {printed:?}");
    }
    place
        .run("diff old.jsonl new.jsonl --report d.html --report d.md --report d.csv")
        .exits(0);
    let page = place.text("d.html");
    assert!(!page.contains("<img"), "{page}");
    assert!(!place.text("d.md").replace("\\<", "").contains("<img"));
    for name in ["d.html", "d.md", "d.csv"] {
        assert!(!place.text(name).contains('\u{1b}'), "{name}");
    }
}

#[test]
fn colour_is_for_terminals_or_on_demand() {
    let place = Place::with(&[("in.jsonl", sample().0)]);
    place.run("compact in.jsonl").exits(0);
    let plain = place.run("diff in.compact.jsonl").exits(0).text();
    assert!(!plain.contains('\u{1b}'));
    let coloured = place
        .run("diff in.compact.jsonl --color always")
        .exits(0)
        .text();
    assert!(coloured.contains("\u{1b}[33m~ cleared"), "{coloured}");
    let codes = [
        "\u{1b}[31m",
        "\u{1b}[32m",
        "\u{1b}[33m",
        "\u{1b}[36m",
        "\u{1b}[2m",
        "\u{1b}[0m",
    ];
    let without = codes
        .iter()
        .fold(coloured, |text, code| text.replace(code, ""));
    assert_eq!(without, plain);
}

/// The fields that `ctxpack help diff` lists are those that the data has.
#[test]
fn the_topic_lists_the_fields() {
    let place = summarised();
    let found = json(&place.run("diff in.compact.jsonl --json").exits(0));
    let topic = include_str!("../../src/cli/topics/diff.md");
    let row = &rows(&found)[0];
    let head = [
        "schema_version",
        "version",
        "policy",
        "estimator",
        "format",
        "messages_before",
        "messages_after",
    ];
    let keys =
        |value: &Value| -> Vec<String> { value.as_object().unwrap().keys().cloned().collect() };
    for key in keys(&found)
        .into_iter()
        .chain(keys(row))
        .chain(keys(&found["outside"]))
    {
        let is_told = topic.contains(&format!("`{key}")) || topic.contains(&format!(".{key}`"));
        assert!(
            is_told || head.contains(&key.as_str()) || topic.contains(&format!("{key}[]")),
            "{key}"
        );
    }
    let words = ctxpack::diff::Fate::ALL.map(|fate| format!("| `{}` |", fate.name()));
    for word in words {
        assert!(topic.contains(&word), "{word}");
    }
}

/// The recipe of `ctxpack help diff`, as real git runs it.
#[test]
#[cfg(unix)]
fn git_shows_what_changed_in_a_transcript() {
    let place = Place::with(&[
        ("in.jsonl", sample().0),
        ("other.jsonl", "{\"x\":1}\n".to_owned()),
    ]);
    let git = |line: &str| {
        place
            .shell(&format!("HOME=$PWD GIT_CONFIG_NOSYSTEM=1 git {line}"))
            .exits(0)
    };
    git("init -q .");
    git("config diff.ctxpack.textconv \"$CTXPACK diff --textconv\"");
    place.write(".gitattributes", "*.jsonl diff=ctxpack\n");
    git("add in.jsonl other.jsonl .gitattributes");
    git("-c user.name=a -c user.email=a@b commit -q -m first");
    place
        .run("compact in.jsonl --in-place --no-report")
        .exits(0);
    place.write("other.jsonl", "{\"x\":2}\n");
    let shown = git("diff").text();
    assert_eq!(
        shown
            .matches("\n+[Output of Bash cleared - run it again if needed]\n")
            .count(),
        3,
        "{shown}"
    );
    assert!(shown.contains("\n-line 0 of the output\n"), "{shown}");
    assert!(shown.contains(" ## user tool_result\n"), "{shown}");
    // No line of JSON but for what is no transcript.
    assert!(!shown.contains("tool_use_id"), "{shown}");
    assert!(shown.contains("\n-{\"x\":1}\n+{\"x\":2}\n"), "{shown}");
}

#[test]
fn what_a_run_in_memory_lacks_is_said() {
    let place = summarised();
    place.write(
        "p.toml",
        "extends = \"auto\"\n[summary]\nsource = \"scripted\"\non_failure = \"keep\"\n",
    );
    place.write("summaries.jsonl", "");
    let failed = place
        .run("compact in.jsonl -n --policy p.toml --summarize always")
        .exits(3);
    place.write(
        "q.toml",
        "extends = \"p.toml\"\nsummary.when = \"always\"\n",
    );
    let ran = place.run("diff --policy q.toml in.jsonl").exits(3);
    let said = |err: &str| {
        err.lines()
            .any(|line| line.contains("summar") && line.contains("in.jsonl"))
    };
    assert!(
        said(&failed.err) && said(&ran.err),
        "{}\n{}",
        failed.err,
        ran.err
    );
    place
        .run("diff --policy p.toml --policy q.toml in.jsonl")
        .exits(3);
}

#[test]
fn lines_that_no_model_reads_are_not_left_out_in_silence() {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/fixtures/claude-code/auto-an-abandoned-branch-leaves/input.jsonl"
    );
    let place = Place::with(&[("in.jsonl", fs::read(path).unwrap())]);
    place.write("keep.toml", "extends = \"auto\"\nhistory = \"keep\"\n");
    let ran = place
        .run("diff --policy auto --policy keep.toml in.jsonl --exit-code --report r.md")
        .exits(1);
    for text in [ran.text(), place.text("r.md")] {
        assert!(
            text.contains("different, too, though no model reads it: "),
            "{text}"
        );
    }
}

#[test]
fn what_has_no_effect_is_an_error() {
    let place = summarised();
    for (args, says) in [
        ("diff -", "standard input has no record"),
        (
            "diff --policy auto in.jsonl --stats in.compact.stats.json",
            "--stats is for",
        ),
        (
            "diff --policy auto in.jsonl --store .ctxpack",
            "--store is for",
        ),
        (
            "diff in.jsonl in.compact.jsonl --store .ctxpack",
            "--store is for",
        ),
        (
            "diff --textconv in.jsonl --stats x.json",
            "cannot be used with",
        ),
    ] {
        place.run(args).exits(2).says(&[says]);
    }
}

#[test]
fn a_named_format_is_that_of_the_run_in_memory_too() {
    let (before, _) = sample();
    // A line of another kind, so that the format is not detected.
    let place = Place::with(&[(
        "in.jsonl",
        before + "{\"timestamp\":1,\"type\":\"tool_use\"}\n",
    )]);
    let found = json(
        &place
            .run("diff --policy auto --input-format anthropic in.jsonl --json")
            .exits(0),
    );
    let report = place
        .run("compact in.jsonl -n --input-format anthropic --report r.json")
        .exits(0);
    let _ = report;
    let after = &place.json("r.json")["totals"]["tokens_after"];
    assert_eq!(&found["tokens_after"], after);
    assert_ne!(found["tokens_before"], found["tokens_after"]);
}

#[test]
fn what_has_no_mark_of_its_format_is_compared_as_what_it_came_from() {
    let call = json!({"role": "assistant", "content": null, "tool_calls": [{"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}]});
    let result = json!({"role": "tool", "tool_call_id": "a", "content": "out"});
    let plain = json!({"role": "user", "content": "So?"});
    let before = format!("{plain}\n{call}\n{result}\n");
    let place = Place::with(&[("in.jsonl", before), ("out.jsonl", format!("{plain}\n"))]);
    let found = json(&place.run("diff in.jsonl out.jsonl --json").exits(0));
    assert_eq!(found["format"], "openai");
    assert_eq!(with_fate(&rows(&found), "kept").len(), 1);

    let call = json!({"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "f", "input": {}}]});
    let result = json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": "out"}]});
    let before = json!({"messages": [plain, call, result]});
    place.write("in.jsonl", format!("{before}\n"));
    place.write("out.jsonl", format!("{}\n", json!({"messages": [plain]})));
    let found = json(&place.run("diff in.jsonl out.jsonl --json").exits(0));
    assert_eq!(found["format"], "anthropic");
    assert_eq!(with_fate(&rows(&found), "kept").len(), 1);
}

#[test]
fn another_tool_is_a_difference_wherever_its_name_stands() {
    let before = json!({"sessionId": "s", "projectHash": "p", "startTime": "2026-04-13T09:00:00.000Z", "lastUpdated": "2026-04-13T09:00:01.000Z", "messages": [
        {"id": "1", "timestamp": "2026-04-13T09:00:00.000Z", "type": "user", "content": "Look."},
        {"id": "2", "timestamp": "2026-04-13T09:00:01.000Z", "type": "gemini", "content": "", "model": "m", "toolCalls": [
            {"id": "c", "name": "read_file", "args": {"path": "a"}, "status": "success", "timestamp": "2026-04-13T09:00:01.000Z",
             "result": [{"functionResponse": {"id": "c", "name": "read_file", "response": {"output": "x"}}}]},
        ]},
    ]});
    let mut after = before.clone();
    after["messages"][1]["toolCalls"][0]["name"] = json!("list_files");
    let place = Place::with(&[
        ("a.json", before.to_string()),
        ("b.json", after.to_string()),
    ]);
    let found = json(&place.run("diff a.json b.json --exit-code --json").exits(1));
    assert_eq!(with_fate(&rows(&found), "edited").len(), 1, "{found}");
}

#[test]
fn a_space_between_values_is_no_difference() {
    let place = Place::with(&[("a.jsonl", anthropic(3, 0))]);
    let other = place
        .text("a.jsonl")
        .replacen("\"role\":", "\"role\" :  ", 1);
    place.write("b.jsonl", &other);
    let ran = place.run("diff a.jsonl b.jsonl --exit-code").exits(0);
    assert!(!ran.text().contains("mended"));
}
