//! Reports: where they go, what they are called, and that they say what was done.

use serde_json::Value;

use super::harness::{Place, conversations, gzip, sample, samples};

/// A batch in which inputs are compacted, unchanged, unsupported, broken and missing.
fn mixed() -> Place {
    let place = Place::new();
    for (format, before, _) in samples() {
        place.write(&format!("in/{format}.jsonl"), before);
    }
    place.write("in/lines.jsonl", conversations(9, 0));
    place.write("in/short.jsonl", "{\"role\":\"user\",\"content\":\"hi\"}\n");
    place.write("in/garbage.jsonl", b"\xff\xfe\x00");
    place.write("in/torn.jsonl.gz", &gzip("x".repeat(99))[..20]);
    place
}

#[test]
fn a_dry_run_writes_nothing_and_reports_the_same() {
    for (to, code) in [
        ("in", 3),
        ("in gone.jsonl --out-dir out", 3),
        ("in --store store", 3),
        ("in/lines.jsonl -o out.jsonl", 0),
        ("in/lines.jsonl -o -", 0),
        ("in --policy none --out-dir out", 3),
        ("in --set demote.min_tokens=300", 3),
    ] {
        let (place, apart) = (mixed(), Place::new());
        let before = place.all_files();
        place.run(&format!("compact {to} --dry-run")).exits(code);
        let report = apart.path("dry.json");
        let dry = format!("compact {to} -n --report");
        let dry = dry.split(' ').chain(report.to_str());
        place.run_args(&dry.collect::<Vec<_>>()).exits(code);
        assert_eq!(place.all_files(), before, "{to}");
        place
            .run(&format!("compact {to} --report real.json"))
            .exits(code);
        assert_eq!(place.text("real.json"), apart.text("dry.json"), "{to}");
    }
}

#[test]
fn every_form_of_report_tells_of_the_same_run() {
    let place = mixed();
    let args = "compact in --out-dir out --report r.json --report r.jsonl --report sub/r.csv --report r.MD";
    place
        .run(args)
        .exits(3)
        .says(&["4 compacted, 1 unchanged, 1 failed, 1 unsupported"]);
    let json = place.json("r.json");
    assert_eq!(json["schema_version"], 1);
    assert_eq!(json["policy"]["name"], "auto");
    assert_eq!(json["totals"]["files"], 7);
    let files = json["files"].as_array().unwrap();

    let jsonl = place.text("r.jsonl");
    let mut lines: Vec<Value> = jsonl
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let last = lines.pop().unwrap();
    assert_eq!(&lines, files);
    assert_eq!(last["totals"], json["totals"]);

    let csv = place.text("sub/r.csv");
    let rows: Vec<&str> = csv.lines().collect();
    assert_eq!(rows.len(), 8);
    for (row, file) in rows[1..].iter().zip(files) {
        assert!(
            row.starts_with(&format!("{},", file["input"].as_str().unwrap())),
            "{row}"
        );
    }
    let markdown = place.text("r.MD");
    assert!(markdown.contains("in 7 files: 4 compacted"), "{markdown}");
    // A report that was asked for takes the place of the one beside the outputs.
    assert!(!place.files().contains(&"out/ctxpack.stats.json".to_owned()));
}

#[test]
fn totals_are_the_sums_of_what_the_files_say() {
    let place = mixed();
    place.run("compact in --out-dir out").exits(3);
    let report = place.json("out/ctxpack.stats.json");
    let totals = &report["totals"];
    for key in [
        "bytes_before",
        "bytes_after",
        "tokens_before",
        "tokens_after",
        "messages_before",
        "messages_after",
    ] {
        let sum: u64 = report["files"]
            .as_array()
            .unwrap()
            .iter()
            .map(|file| file[key].as_u64().unwrap())
            .sum();
        assert_eq!(totals[key], sum, "{key}");
    }
    let tokens = |key: &str| totals[key].as_u64().unwrap();
    assert_eq!(
        tokens("tokens_saved"),
        tokens("tokens_before") - tokens("tokens_after")
    );
    for file in report["files"].as_array().unwrap() {
        let size = |name: &Value| place.read(name.as_str().unwrap()).len();
        if file["status"] != "failed" {
            assert_eq!(file["bytes_before"], size(&file["input"]), "{file:#}");
            assert_eq!(file["bytes_after"], size(&file["output"]), "{file:#}");
        }
    }
}

#[test]
fn no_report_is_written_where_none_is_wanted() {
    let (before, _) = sample();
    let place = Place::with(&[("in.jsonl", &before)]);
    place.run("compact in.jsonl --no-report").exits(0);
    assert_eq!(place.files(), ["in.compact.jsonl", "in.jsonl"]);
    place
        .run("compact in.jsonl --no-report --out-dir out")
        .exits(0);
    assert_eq!(place.files()[2..], ["out/in.jsonl"]);
    place
        .run("compact in.jsonl --no-report --report r.json")
        .exits(2)
        .says(&["--no-report"]);
}

#[test]
fn a_report_that_cannot_be_written_is_refused_before_anything_is() {
    let (before, _) = sample();
    let place = Place::with(&[("in.jsonl", before.as_str()), ("mine.json", "{}")]);
    let untouched = place.all_files();
    for (name, message) in [
        ("r.html2", "cannot be told from its extension"),
        ("report", "cannot be told from its extension"),
        ("mine.json", "it is not a report of ctxpack"),
    ] {
        let ran = place.run(&format!("compact in.jsonl --report {name}"));
        ran.exits(2)
            .says(&[&format!("{name}: "), message, "hint: "]);
        assert_eq!(place.all_files(), untouched, "{name}");
    }
    place
        .run("compact in.jsonl --report mine.json --overwrite")
        .exits(0);
    assert_eq!(place.json("mine.json")["totals"]["files"], 1);
}

#[test]
fn a_report_beside_an_output_replaces_only_its_own_kind() {
    let (before, after) = sample();
    let place = Place::with(&[
        ("a.jsonl", before.as_str()),
        ("a.compact.stats.json", "my own figures"),
        ("b.jsonl", &before),
    ]);
    for _ in 0..2 {
        let ran = place.run("compact a.jsonl b.jsonl").exits(3);
        ran.says(&[
            "a.compact.stats.json: a file of that name exists",
            "2 compacted",
        ]);
        assert_eq!(place.text("a.compact.jsonl"), after);
        assert_eq!(place.text("a.compact.stats.json"), "my own figures");
        assert_eq!(place.json("b.compact.stats.json")["totals"]["files"], 1);
    }
}

#[test]
fn two_outputs_that_differ_in_compression_share_their_report() {
    let (before, _) = sample();
    let place = Place::with(&[
        ("a.jsonl", before.as_bytes()),
        ("a.jsonl.gz", &gzip(&before)),
    ]);
    place.run("compact .").exits(0);
    assert_eq!(
        place.files(),
        [
            "a.compact.jsonl",
            "a.compact.jsonl.gz",
            "a.compact.stats.json",
            "a.jsonl",
            "a.jsonl.gz"
        ]
    );
    assert_eq!(place.json("a.compact.stats.json")["totals"]["files"], 2);
}

#[test]
fn settings_are_named_with_their_origin_and_change_the_hash() {
    let (before, _) = sample();
    let place = Place::with(&[("in.jsonl", &before)]);
    place.run("compact in.jsonl --report plain.json").exits(0);
    place
        .run("compact in.jsonl --set clear.keep=2 --report set.json")
        .exits(0);
    let (plain, set) = (place.json("plain.json"), place.json("set.json"));
    assert_eq!(plain["policy"]["overrides"], serde_json::json!([]));
    assert_eq!(
        set["policy"]["overrides"],
        serde_json::json!([{"key": "clear.keep", "value": 2, "origin": "flag"}])
    );
    assert_ne!(plain["policy"]["hash"], set["policy"]["hash"]);
}

#[test]
fn paths_are_reported_as_they_were_given() {
    let place = mixed();
    let args = "compact ./in --out-dir out --store store --set demote.min_tokens=300 --report r.json --report r.jsonl --report r.csv --report r.md --report r.html";
    place.run(args).exits(3);
    let here = place.path("").canonicalize().unwrap();
    let here = here.to_str().unwrap();
    for (name, bytes) in place.all_files() {
        assert!(
            !String::from_utf8_lossy(&bytes).contains(here),
            "{name} names {here}"
        );
    }
    assert_eq!(
        place.json("r.json")["files"][0]["input"],
        "./in/anthropic.jsonl"
    );
}

#[test]
fn commands_that_only_read_write_reports_too() {
    let (before, _) = sample();
    let place = Place::with(&[("in/a.jsonl", before.as_str()), ("mine.html", "<p>mine")]);
    for command in ["stats", "replay", "eval"] {
        let reports = ["json", "jsonl", "csv", "md", "html"];
        let flags: String = reports
            .map(|form| format!(" --report r/{command}.{form}"))
            .concat();
        for _ in 0..2 {
            // The second time its own reports are replaced.
            place.run(&format!("{command} in{flags}")).exits(0);
        }
        let json = place.json(&format!("r/{command}.json"));
        let jsonl = place.text(&format!("r/{command}.jsonl"));
        let lines: Vec<Value> = jsonl
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        assert_eq!(lines.len(), 2, "{command}");
        assert_eq!(lines[0], json["files"][0], "{command}");
        assert_eq!(lines[1]["totals"], json["totals"], "{command}");
        assert!(place.text(&format!("r/{command}.csv")).starts_with("path,"));
        let markdown = place.text(&format!("r/{command}.md"));
        assert!(
            markdown.starts_with("**") && markdown.contains("\n| "),
            "{markdown}"
        );
        let page = place.text(&format!("r/{command}.html"));
        assert!(
            page.contains(&format!("ctxpack {command}</p>")),
            "{command}"
        );
        place
            .run(&format!("{command} in --report mine.html"))
            .exits(2)
            .says(&["it is not a report of ctxpack"]);
        assert_eq!(place.text("mine.html"), "<p>mine");
    }
}

#[test]
fn reports_are_rendered_again_and_added_up() {
    let place = mixed();
    let args = "compact in -n --report r.json --report r.jsonl --report r.html --report r.csv --report r.md";
    place.run(args).exits(3);
    for from in ["r.json", "r.jsonl"] {
        for form in ["json", "jsonl", "csv", "md", "html"] {
            place
                .run(&format!("report {from} --report again/r.{form}"))
                .exits(0);
            let again = place.text(&format!("again/r.{form}"));
            assert_eq!(again, place.text(&format!("r.{form}")), "{from} {form}");
        }
    }
    let table = place.run("report r.json").exits(0).text();
    assert!(table.contains("4 compacted"), "{table}");
    for flag in ["--json", "--format json", "--json -o again/r.html"] {
        let printed = place.run(&format!("report r.jsonl {flag}")).exits(0).text();
        assert_eq!(printed, place.text("r.json"), "{flag}");
    }
    place
        .run("report merge r.json r.jsonl -o both.json")
        .exits(0);
    let merged = place.run("report merge r.json r.jsonl --json").exits(0);
    assert_eq!(merged.text(), place.text("both.json"));
    let (one, both) = (place.json("r.json"), place.json("both.json"));
    for key in ["files", "failed", "tokens_before", "bytes_after"] {
        let twice = one["totals"][key].as_u64().unwrap() * 2;
        assert_eq!(both["totals"][key], twice, "{key}");
    }
    place.write("bad.jsonl", "{\"input\":1}\n{\"schema_version\":1}\n");
    place
        .run("report merge r.json bad.jsonl")
        .exits(2)
        .says(&["bad.jsonl:2: it is not a report on compact, stats, replay, eval, check or diff"]);
    place
        .run("report r.csv")
        .exits(2)
        .says(&["only .json and .jsonl"]);
    place.run("report").exits(2);
    place.run("report r.json r.jsonl").exits(2).says(&[
        "takes one report",
        "`ctxpack report merge FILE...` adds several up",
    ]);
}

#[test]
fn reports_of_every_command_are_rendered_again() {
    for command in ["stats in", "replay in", "eval in"] {
        let place = mixed();
        let args = "--timings --report r.json --report r.jsonl --report r.html --report r.csv --report r.md";
        place.run(&format!("{command} {args}")).exits(3);
        for from in ["r.json", "r.jsonl"] {
            for form in ["json", "jsonl", "csv", "md", "html"] {
                place
                    .run(&format!("report {from} --report again/r.{form}"))
                    .exits(0);
                let again = place.text(&format!("again/r.{form}"));
                let first = place.text(&format!("r.{form}"));
                assert_eq!(again, first, "{command} {from} {form}");
            }
        }
        let table = place.run("report r.jsonl").exits(0).text();
        assert!(table.contains("took "), "{command}: {table}");
    }
}

/// A place with cases that are as expected, that differ, that cannot be run; and with a session and what became of it.
fn checked_and_compared() -> Place {
    let (before, after) = sample();
    let place = Place::with(&[("in.jsonl", before.as_str())]);
    for (case, expected) in [
        ("same", after.clone()),
        ("differs", after.replace("ls 2", "ls two")),
        ("text", "no transcript\n".to_owned()),
    ] {
        place.write(&format!("cases/{case}/input.jsonl"), &before);
        place.write(&format!("cases/{case}/expected.jsonl"), expected);
        place.write(
            &format!("cases/{case}/expected.stats.json"),
            "{\"files\":[{\"status\":\"compacted\"}]}",
        );
    }
    place.write("cases/failed/input.jsonl", &before);
    place.write("cases/failed/policy.toml", "[clear]\nkep = 3\n");
    place.write("cases/failed/expected.jsonl", &after);
    place.run("compact in.jsonl").exits(0);
    place
}

#[test]
fn reports_of_check_and_of_diff_are_rendered_again() {
    let place = checked_and_compared();
    for (command, exit, kind) in [
        ("check cases", 3, "check"),
        ("diff in.jsonl in.compact.jsonl", 0, "diff"),
        (
            "diff in.jsonl --policy auto --policy reset --set summary.when=always",
            0,
            "diff",
        ),
    ] {
        let forms: &[&str] = match kind {
            "check" => &["json", "jsonl", "csv", "md", "html", "xml"],
            _ => &["json", "jsonl", "csv", "md", "html"],
        };
        let reports: String = forms
            .iter()
            .map(|form| format!(" --report r.{form}"))
            .collect();
        let first = place.run(&format!("{command}{reports}")).exits(exit).text();
        for from in ["r.json", "r.jsonl"] {
            for form in forms {
                place
                    .run(&format!("report {from} -o again/r.{form}"))
                    .exits(0);
                let again = place.text(&format!("again/r.{form}"));
                assert_eq!(again, place.text(&format!("r.{form}")), "{command} {form}");
            }
            let printed = place.run(&format!("report {from}")).exits(0).text();
            // That `check --update` would accept what differs is known of a run alone.
            assert!(first.starts_with(&printed), "{first}\n{printed}");
            let json = place.run(&format!("report {from} --json")).exits(0).text();
            assert_eq!(json, place.text("r.json"), "{command}");
        }
        let why = format!("a report on {kind} holds the ");
        place.run("report merge r.json").exits(2).says(&[&why]);
        place
            .run("report r.json -o x.csv --csv-rows turn")
            .exits(2)
            .says(&["no such rows"]);
    }
}

#[test]
fn reports_of_check_and_of_diff_that_contradict_themselves_are_refused() {
    let place = checked_and_compared();
    place.run("check cases --report c.json").exits(3);
    place
        .run("diff in.jsonl in.compact.jsonl --report d.json")
        .exits(0);
    for (from, was, is, why) in [
        (
            "c.json",
            "\"same\": 1,",
            "\"same\": 2,",
            "its totals are not those of its cases",
        ),
        (
            "c.json",
            "\"status\": \"same\"",
            "\"status\": \"failed\"",
            "what it says of cases/same contradicts itself",
        ),
        (
            "d.json",
            "\n  \"tokens_before\": ",
            "\n  \"tokens_before\": 1",
            "its tokens_before is not ",
        ),
        (
            "d.json",
            "\"outside\"",
            "\"inside\"",
            "missing field `outside`",
        ),
    ] {
        assert!(place.text(from).contains(was), "{was}");
        let changed = place.text(from).replacen(was, is, 1);
        place.write("changed.json", changed);
        place.run("report changed.json").exits(2).says(&[why]);
    }
}

#[test]
fn a_report_that_has_lost_entries_is_refused() {
    for command in ["compact in -n", "stats in", "replay in", "eval in"] {
        let place = mixed();
        let reports = "--report r.json --report r.jsonl";
        place.run(&format!("{command} {reports}")).exits(3);
        let text = place.text("r.jsonl");
        let last = text.lines().last().unwrap();
        place.write("bare.jsonl", format!("{last}\n"));
        let ran = place.run("report bare.jsonl").exits(2);
        // Of `eval`, all sums are compared at once.
        ran.says(&[match command {
            "eval in" => "bare.jsonl:1: its totals are not those of its files",
            _ => "bare.jsonl:1: its totals say files 7, and its files add up to 0\nhint: ",
        }]);
        if command == "compact in -n" {
            let (_, cut) = text.split_once('\n').unwrap();
            place.write("cut.jsonl", cut);
            let says = "cut.jsonl:7: its totals say files 7, and its files add up to 6";
            place
                .run("report merge r.json cut.jsonl")
                .exits(2)
                .says(&[says]);
            let whole = place.text("r.json");
            let changed = whole.replacen("\"compacted\": 4,", "\"compacted\": 5,", 1);
            place.write("changed.json", changed);
            let says = "its totals say compacted 5, and its files add up to 4\nhint: ";
            place.run("report changed.json").exits(2).says(&[says]);
        }
    }
}

#[test]
fn what_more_than_one_report_has_is_said() {
    let place = mixed();
    for command in ["compact in/lines.jsonl -n", "stats in/lines.jsonl"] {
        place.run(&format!("{command} --report a.json")).exits(0);
        let others = command.replace("in/lines.jsonl", "in --exclude lines.jsonl");
        place.run(&format!("{others} --report b.json")).exits(3);
        let says = "in/lines.jsonl: warning: these reports contain this input more than once; it is counted each time";
        place
            .run("report merge a.json b.json a.json")
            .exits(0)
            .says(&[says]);
        let apart = place.run("report merge a.json b.json").exits(0);
        assert_eq!(apart.err, "");
        let quiet = place.run("report merge a.json a.json -q").exits(0);
        assert_eq!(quiet.err, "");
    }
}

#[test]
fn what_adds_up_is_merged_and_what_does_not_is_refused() {
    let place = mixed();
    for (command, name) in [
        ("stats in", "a"),
        ("stats in/lines.jsonl --top 3", "b"),
        ("stats in --policy layered", "other"),
        ("replay in", "replay"),
        ("eval in --no-baselines", "eval"),
        ("compact in -n", "compact"),
    ] {
        let ran = place.run(&format!("{command} --report {name}.json"));
        assert!([Some(0), Some(3)].contains(&ran.code), "{command}");
    }
    place
        .run("report merge b.json a.json -o both.json")
        .exits(0);
    let [a, b, both] = ["a.json", "b.json", "both.json"].map(|name| place.json(name));
    for key in ["files", "counted", "failed", "bytes"] {
        let of = |report: &Value| report["totals"][key].as_u64().unwrap();
        assert_eq!(of(&both), of(&a) + of(&b), "{key}");
    }
    let live = |report: &Value| report["totals"]["live"]["tokens"].as_u64().unwrap();
    assert_eq!(live(&both), live(&a) + live(&b));
    let paths: Vec<&str> = both["files"]
        .as_array()
        .unwrap()
        .iter()
        .map(|f| f["path"].as_str().unwrap())
        .collect();
    assert!(paths.is_sorted() && paths.len() == 8, "{paths:?}");
    for (names, why) in [
        (
            "a.json other.json",
            "counted under different policies (auto ",
        ),
        (
            "a.json compact.json",
            "compact and of stats count different things",
        ),
        ("replay.json", "a report on replay holds peaks and means"),
        (
            "compact.json eval.json",
            "a report on eval holds peaks and means",
        ),
    ] {
        place
            .run(&format!("report merge {names} -o no.json"))
            .exits(2)
            .says(&[why]);
        assert!(!place.path("no.json").exists());
    }
}

#[test]
fn a_report_that_contradicts_itself_is_refused() {
    let place = mixed();
    place.run("replay in --report r.json").exits(3);
    place.run("eval in --report e.json").exits(3);
    let mut replay = place.json("r.json");
    let one = replay["policies"][0].clone();
    replay["policies"].as_array_mut().unwrap().push(one);
    let mut eval = place.json("e.json");
    eval["totals"]["scores"].as_array_mut().unwrap().clear();
    eval["totals"]["sessions"] = 1_000.into();
    let mut stats = replay.clone();
    stats["old"] = "a diff".into();
    stats["policy"] = stats["policies"][0].clone();
    for (name, report, why) in [
        (
            "bad.json",
            replay,
            "was not replayed under all of its policies",
        ),
        ("bad2.json", eval, "its totals are not those of its files"),
        (
            "bad3.json",
            stats,
            "it is not a report on compact, stats, replay, eval, check or diff",
        ),
    ] {
        place.write(name, report.to_string());
        place.run(&format!("report {name}")).exits(2).says(&[why]);
    }
}

#[test]
fn rows_of_csv_are_files_actions_or_turns() {
    let place = mixed();
    place
        .run("compact in --out-dir out --report r.json --report a.csv --csv-rows action")
        .exits(3);
    let files = place.json("r.json");
    let saved = |file: &Value| {
        let [before, after] =
            ["tokens_before", "tokens_after"].map(|key| file[key].as_i64().unwrap_or(0));
        before - after
    };
    let expected: i64 = files["files"].as_array().unwrap().iter().map(saved).sum();
    let csv = place.text("a.csv");
    let mut lines = csv.lines();
    assert_eq!(
        lines.next(),
        Some("input,conversation,kind,line,message,tool,reason,tokens_before,tokens_after")
    );
    let sum: i64 = lines
        .map(|line| {
            let figures: Vec<i64> = line
                .rsplit(',')
                .take(2)
                .map(|n| n.parse().unwrap())
                .collect();
            figures[1] - figures[0]
        })
        .sum();
    assert!(expected > 0);
    assert_eq!(sum, expected);
    // The same from a report that was kept, in place of the first.
    place
        .run("report r.json -o a.csv --csv-rows action")
        .exits(0);
    assert_eq!(place.text("a.csv"), csv);

    place
        .run("stats in --report t.csv --csv-rows turn")
        .exits(3);
    place.run("stats in --report t.json").exits(3);
    let json = place.json("t.json");
    let files = json["files"].as_array().unwrap().iter();
    let conversations = files
        .filter_map(|file| file["conversations"].as_array())
        .flatten();
    let turns: usize = conversations
        .map(|c| c["timeline"].as_array().unwrap().len())
        .sum();
    assert!(turns > 4);
    assert_eq!(place.text("t.csv").lines().count(), 1 + turns);
    place
        .run("replay in/lines.jsonl --report y.csv --csv-rows turn")
        .exits(0);
    let turns = place.text("y.csv");
    assert!(
        turns.starts_with(
            "path,session,policy,turn,line,requests,sent,context\nin/lines.jsonl,line:1,"
        ),
        "{turns}"
    );

    place
        .run("stats in --report c.csv --csv-rows conversation")
        .exits(3);
    let conversations = json["files"].as_array().unwrap().iter();
    let conversations = conversations.filter_map(|file| file["conversations"].as_array());
    let ids: Vec<&str> = conversations
        .flatten()
        .map(|c| c["id"].as_str().unwrap())
        .collect();
    let rows = place.text("c.csv");
    let printed = place.run("stats in --emit csv").exits(3);
    assert_eq!(printed.text(), rows);
    let mut rows = rows.lines();
    assert_eq!(
        rows.next(),
        Some(
            "path,format,project,last_message,conversation,messages,turns,tokens,recorded,compactions"
        )
    );
    assert_eq!(
        rows.map(|row| row.split(',').nth(4).unwrap())
            .collect::<Vec<_>>(),
        ids
    );

    for (args, says) in [
        ("stats in --report t.csv --csv-rows action", "no such rows"),
        (
            "compact in --report t.csv --csv-rows conversation",
            "no such rows",
        ),
        (
            "compact in --report r.json --csv-rows action",
            "needs a .csv report",
        ),
    ] {
        place.run(args).exits(2).says(&[says]);
    }
}
