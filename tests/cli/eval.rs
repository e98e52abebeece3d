//! `eval` measures what can still be found under policies.

use serde_json::{Value, json};

use super::harness::Place;

/// A session of `rounds` rounds: each reads a file of about 200 tokens with a name in it, and uses the name of the round
/// before; every fourth one edits, every third one runs a command that fails. In the end files of old rounds are
/// named again.
fn session(rounds: usize) -> String {
    let mut lines = vec![r#"{"role":"user","content":"Make the parser take tabs. Keep every test green, please. Do not touch the lexer."}"#.to_owned()];
    let mut step = |id: String, tool: &str, input: String, result: String| {
        lines.push(format!(
            r#"{{"role":"assistant","content":[{{"type":"text","text":"next step"}},{{"type":"tool_use","id":"{id}","name":"{tool}","input":{input}}}]}}"#
        ));
        lines.push(format!(
            r#"{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"{id}","content":"{result}"}}]}}"#
        ));
    };
    for round in 0..rounds {
        let words: String = (0..60)
            .map(|n| match n % 10 {
                9 => format!("word{}\\n", n * round % 97),
                _ => format!("word{} ", n * round % 97),
            })
            .collect();
        let read =
            format!("pub fn parse_thing_{round}() {{\\n  take_tab_{round}();\\n}}\\n{words}");
        step(
            format!("r{round}"),
            "Read",
            format!(r#"{{"file_path":"src/part_{round}.rs"}}"#),
            read,
        );
        let before = round.saturating_sub(2);
        if round % 4 == 0 {
            step(
                format!("e{round}"),
                "Edit",
                format!(
                    r#"{{"file_path":"src/part_{before}.rs","old_string":"x","new_string":"take_tab_{before}()"}}"#
                ),
                "ok".to_owned(),
            );
        }
        if round % 3 == 0 {
            step(
                format!("b{round}"),
                "Bash",
                format!(r#"{{"command":"cargo test parse_thing_{before}"}}"#),
                format!("Exit code 101\\nerror: parse_thing_{before} failed badly"),
            );
        }
    }
    let used: String = (0..rounds)
        .step_by(4)
        .map(|n| format!("src/part_{n}.rs "))
        .collect();
    lines.push(format!(
        r#"{{"role":"assistant","content":[{{"type":"text","text":"done with {used}"}}]}}"#
    ));
    lines.join("\n") + "\n"
}

fn json(place: &Place, args: &str) -> Value {
    let ran = place.run(args);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    serde_json::from_slice(&ran.out).unwrap()
}

#[test]
fn the_policy_and_the_baselines_stand_side_by_side() {
    let place = Place::with(&[("a.jsonl", session(60))]);
    let json = json(&place, "eval a.jsonl --budget 20 --json");
    let scores = json["totals"]["scores"].as_array().unwrap();
    let names: Vec<&str> = scores
        .iter()
        .map(|s| s["method"].as_str().unwrap())
        .collect();
    assert_eq!(
        names,
        [
            "auto",
            "sliding window",
            "head+tail",
            "mask keep 5",
            "mask keep 0"
        ]
    );
    let [auto, window, ..] = &scores[..] else {
        panic!("{names:?}")
    };
    assert_eq!(window["far"], 0.0);
    assert_eq!(auto["invented"], 0, "{auto}");
    assert_eq!(auto["over"], 0, "{auto}");
    assert_eq!(auto["state_cmd"], 100.0, "{auto}");
    assert!(auto["used"].as_f64().unwrap() <= 20.0);
    assert_eq!(auto["cuts"], 4);
    assert_eq!(auto["mod"], 100.0);
    // What a later step needs is what extraction is for.
    assert!(auto["far"].as_f64() > Some(20.0), "{auto}");
    let session = &json["files"][0]["sessions"][0];
    let tokens: Vec<f64> = session["cuts"]
        .as_array()
        .unwrap()
        .iter()
        .map(|cut| cut["tokens"].as_f64().unwrap() / session["tokens"].as_f64().unwrap())
        .collect();
    let near = [0.35, 0.5, 0.65, 0.8].iter().zip(&tokens);
    assert!(
        near.into_iter().all(|(at, is)| (at - is).abs() < 0.03),
        "{tokens:?}"
    );
    assert_eq!(place.names(), ["a.jsonl"]);
}

#[test]
fn the_number_of_threads_changes_nothing() {
    let files: Vec<(String, String)> = (1..6)
        .map(|n| (format!("{n}.jsonl"), session(4 * n)))
        .collect();
    let files: Vec<(&str, &String)> = files.iter().map(|(n, s)| (n.as_str(), s)).collect();
    let place = Place::with(&files);
    let one = place.run("eval . --json -j1 --policy auto --policy turns");
    let eight = place.run("eval . --json -j8 --policy auto --policy turns");
    assert_eq!(one.code, Some(0), "{}", one.err);
    assert!(one.out == eight.out);
    // How a policy begins its summaries is no invention.
    let json: Value = serde_json::from_slice(&one.out).unwrap();
    let scores = json["totals"]["scores"].as_array().unwrap();
    assert!(scores.iter().all(|of| of["invented"] == 0), "{scores:?}");
}

#[test]
fn gates_decide_the_exit_code() {
    let place = Place::with(&[("a.jsonl", session(30))]);
    let fast = "--budget 20 --cut 50 --no-baselines";
    let gate = |gate: &str| place.run(&format!("eval a.jsonl {fast} {gate}"));
    assert_eq!(gate("--min-need 1 --max-invented 0").code, Some(0));
    // Nobody keeps all of it in a fiftieth.
    let closed = place.run("eval a.jsonl --budget 2 --cut 50 --min-need 100");
    assert_eq!(closed.code, Some(1));
    assert!(
        closed.err.contains("of the needed names, fewer than 100%"),
        "{}",
        closed.err
    );
    // Baselines are not judged.
    assert_eq!(closed.err.lines().count(), 1, "{}", closed.err);
    let place = Place::with(&[("b.jsonl", r#"{"role":"user","content":"hi"}"#.to_owned())]);
    let nothing = place.run("eval b.jsonl --max-invented 0");
    assert_eq!(nothing.code, Some(1));
    assert!(
        nothing.err.contains("nothing was measured"),
        "{}",
        nothing.err
    );
    assert_eq!(place.run("eval b.jsonl").code, Some(0));
}

#[test]
fn tables_and_rows_say_the_same() {
    let place = Place::with(&[("a.jsonl", session(24)), ("b.jsonl", session(18))]);
    let csv = place.run("eval . --budget 10,20 --csv").text();
    let lines: Vec<&str> = csv.lines().collect();
    assert_eq!(lines.len(), 1 + 2 * 5, "{csv}");
    assert!(lines[0].starts_with("path,session,method,kind,budget,cuts,need,grounded,far,"));
    let with_sessions = place.run("eval . --budget 10,20 --csv --per-file").text();
    assert_eq!(with_sessions.lines().count(), 1 + 3 * 2 * 5);
    assert!(with_sessions.starts_with(&csv));
    let table = place.run("eval . --budget 10,20").text();
    let starts = table.lines().map(|line| line.split("  ").next().unwrap());
    let starts: Vec<&str> = starts.filter(|start| !start.is_empty()).collect();
    let methods = [
        "auto",
        "sliding window",
        "head+tail",
        "mask keep 5",
        "mask keep 0",
    ];
    let mut expected = vec!["budget 10%"];
    expected.extend(methods);
    expected.push("budget 20%");
    expected.extend(methods);
    expected.push("8 cuts in 2 sessions; percent, tokens by cl100k_base");
    assert_eq!(starts, expected, "{table}");
    assert!(
        table.lines().all(|line| line.chars().count() <= 100),
        "{table}"
    );
}

#[test]
fn what_cannot_be_measured_is_said_and_stops_nothing() {
    let place = Place::with(&[
        ("a.jsonl", session(8).into_bytes()),
        ("b.jsonl.gz", b"\x1f\x8b\x08\0no gzip".to_vec()),
        (
            "c.jsonl",
            b"{\"id\":\"i\",\"conversations\":[{\"from\":\"human\",\"value\":\"p\"}]}\n".to_vec(),
        ),
        (
            "d.jsonl",
            b"{\"role\":\"user\",\"content\":\"hi\"}\n".to_vec(),
        ),
    ]);
    let ran = place.run("eval . --budget 20 --cut 50 --json");
    assert_eq!(ran.code, Some(3));
    let json: Value = serde_json::from_slice(&ran.out).unwrap();
    let files = json["files"].as_array().unwrap().iter();
    let statuses: Vec<&Value> = files.map(|file| &file["status"]).collect();
    assert_eq!(
        statuses,
        ["measured", "failed", "unsupported", "nothing_to_measure"]
    );
    let table = place.run("eval . --budget 20 --cut 50").text();
    let note = "\nnot measured: 1 with no place for a cut, 1 unsupported, 1 failed\n";
    assert!(table.ends_with(note), "{table}");
}

/// Under a budget, the budget decides; without one, what a policy keeps with its own settings.
#[test]
fn without_a_budget_a_policy_does_what_it_does_by_itself() {
    let place = Place::with(&[("a.jsonl", session(30))]);
    place.write("five.toml", "[clear]\nkeep = 5\nmin_tokens = 100\n");
    place.write("one.toml", "[clear]\nkeep = 1\nmin_tokens = 100\n");
    let of = |budget: &str| {
        let args = "--policy five.toml --policy one.toml --cut 50 --no-baselines";
        let json = json(
            &place,
            &format!("eval a.jsonl {args} --budget {budget} --json"),
        );
        let scores = json["totals"]["scores"].as_array().unwrap().clone();
        let used = |at: usize| scores[at]["used"].as_f64().unwrap();
        assert_eq!(scores.len(), 2, "{scores:?}");
        (
            scores[0]["budget"].clone(),
            used(0),
            used(1),
            scores[0]["over"].clone(),
        )
    };
    let (budget, five, one, over) = of("none");
    assert_eq!((budget, over), (Value::Null, 0.into()));
    assert!(five > one, "{five} {one}");
    let (budget, five, one, _) = of("5");
    assert_eq!(budget, 5.0);
    assert!(five < 6.0 && one < 6.0, "{five} {one}");

    // It counts as the policy does: by cl100k_base, this is below the trigger.
    place.write(
        "chars.toml",
        "layers = [\"summarize\"]\n[tokens]\nmethod = \"chars\"\nchars_per_token = 1\n[trigger]\non = \"tokens\"\ntokens = 6000\n[summary]\nkeep_tokens = 1000\ntokens = 500\n",
    );
    // What is too large goes to the store, of which nothing is written.
    place.write(
        "demote.toml",
        "[demote]\nmin_tokens = 50\npreview_chars = 20\n",
    );
    for policy in ["chars", "demote"] {
        let args = format!("--policy {policy}.toml --cut 50 --no-baselines --budget none");
        let json = json(&place, &format!("eval a.jsonl {args} --json"));
        let used = json["totals"]["scores"][0]["used"].as_f64().unwrap();
        assert!(used < 80.0, "{policy}: {used}");
    }

    let gate = place.run("eval a.jsonl --policy one.toml --budget none --cut 50 --min-need 100");
    gate.exits(1).says(&["one with no budget keeps "]);
    let csv = place
        .run("eval a.jsonl --budget none --cut 50 --csv")
        .text();
    assert!(csv.contains(",,auto,policy,,1,"), "{csv}");
    let table = place.run("eval a.jsonl --budget none,20 --cut 50").text();
    assert!(table.starts_with("no budget "), "{table}");
    assert!(table.contains("\nbudget 20% "), "{table}");
    let page = "eval a.jsonl --budget none --cut 50 --report r.html --report r.md";
    place.run(page).exits(0);
    assert!(place.text("r.md").contains("| no budget | "));
}

#[test]
fn wrong_arguments_are_said_before_anything_is_read() {
    let place = Place::with(&[("a.jsonl", session(1))]);
    for args in [
        "eval a.jsonl --policy nune",
        "eval a.jsonl --set clear.kep=3",
        "eval a.jsonl --budget 0",
        "eval a.jsonl --budget some",
        "eval a.jsonl --cut 101",
        "eval a.jsonl --json --csv",
        "eval missing-*.jsonl",
    ] {
        assert_eq!(place.run(args).code, Some(2), "{args}");
    }
}

/// A long session of a generated kind: requests, files that are changed, to-dos that stay open or not, by a seed.
fn generated(seed: u64, format: &str) -> String {
    let mut state = seed;
    let mut below = |count: u64| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % count
    };
    let mut lines: Vec<Value> = Vec::new();
    let mut calls = 0;
    let mut call = |lines: &mut Vec<Value>, tool: &str, input: Value, result: &str| {
        calls += 1;
        let id = format!("call_{calls}");
        match format {
            "openai" => {
                let function = json!({"name": tool, "arguments": input.to_string()});
                lines.push(json!({"role": "assistant", "content": null,
                    "tool_calls": [{"id": id, "type": "function", "function": function}]}));
                lines.push(json!({"role": "tool", "tool_call_id": id, "content": result}));
            }
            _ => {
                lines.push(json!({"role": "assistant", "content": [{"type": "tool_use", "id": id, "name": tool, "input": input}]}));
                lines.push(json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": id, "content": result}]}));
            }
        }
    };
    for turn in 0..24 {
        let asks = ["Please fix", "Do not touch", "Rename", "今度は直して"][below(4) as usize];
        lines.push(json!({"role": "user", "content": format!("{asks} part_{turn} of module {} now. Keep it short!", below(900))}));
        if turn % 5 == 0 {
            let todos: Vec<Value> = (0..2 + below(3))
                .map(|n| {
                    let status = ["pending", "in_progress", "completed"][below(3) as usize];
                    json!({"content": format!("step {n} of turn {turn}: check case {}", below(9_000)), "status": status})
                })
                .collect();
            call(&mut lines, "TodoWrite", json!({"todos": todos}), "ok");
        }
        for _ in 0..3 + below(4) {
            let path = format!("src/area_{}/part_{}.rs", below(4), below(40));
            let words: String = (0..150 + below(200))
                .map(|n| format!("word{} ", n * below(997) % 1_009))
                .collect();
            match below(4) {
                0 => call(
                    &mut lines,
                    "Edit",
                    json!({"file_path": path, "old_string": "a", "new_string": words}),
                    "done",
                ),
                1 => call(
                    &mut lines,
                    "Bash",
                    json!({"command": format!("cargo test part_{}", below(40))}),
                    &format!(
                        "Exit code 101\nerror[E{}]: mismatched types\n{words}",
                        below(999)
                    ),
                ),
                _ => call(&mut lines, "Read", json!({"file_path": path}), &words),
            }
        }
        lines.push(json!({"role": "assistant", "content": format!("Turn {turn} is done.")}));
    }
    lines.iter().map(|line| format!("{line}\n")).collect()
}

/// What must never be lost is there after ten rounds: each compacts what the last one left.
#[test]
fn ten_rounds_lose_no_file_no_todo_and_no_words() {
    for format in ["anthropic", "openai"] {
        let files: Vec<(String, String)> = (0..6)
            .map(|seed| (format!("{seed}.jsonl"), generated(seed, format)))
            .collect();
        let files: Vec<(&str, &String)> = files.iter().map(|(n, s)| (n.as_str(), s)).collect();
        let place = Place::with(&files);
        let json = json(&place, "eval . --rounds 10 --budget 10,20 --json");
        let rounds = json["totals"]["rounds"].as_array().unwrap();
        assert_eq!(rounds.len(), 20, "{format}");
        for round in rounds {
            for kind in ["files", "todos", "sentences"] {
                let of = &round[kind];
                assert_eq!(
                    of["of"], of["kept"],
                    "{format} {} {kind} {of}",
                    round["round"]
                );
            }
            assert_eq!(round["invented"], 0, "{format} {round}");
            assert!(round["files"]["of"].as_u64() > Some(0));
        }
        let last = &rounds[19];
        assert!(last["todos"]["of"].as_u64() > Some(3), "{last}");
        assert!(last["sentences"]["of"].as_u64() > Some(100), "{last}");
        assert!(last["used"].as_f64() < Some(21.0), "{last}");
    }
}

#[test]
fn rounds_are_shown_one_by_one() {
    let place = Place::with(&[("a.jsonl", session(60)), ("b.jsonl", session(50))]);
    let text = place.run("eval . --rounds 3 --budget 20").text();
    assert!(!text.contains("sliding window"), "{text}");
    for row in ["auto, budget 20%", "round 1 ", "round 3 "] {
        assert_eq!(text.matches(row).count(), 1, "{text}");
    }
    let json = json(&place, "eval . --rounds 3 --budget 20,none --json");
    assert_eq!(json["totals"]["rounds"].as_array().unwrap().len(), 6);
    let session = &json["files"][0]["sessions"][0];
    assert_eq!(session["cuts"].as_array().unwrap().len(), 3);
    assert_eq!(session["rounds"][2]["round"], 3);
    assert_eq!(session["rounds"][2]["method"], "auto");
    assert_eq!(place.run("eval . --rounds 3 --cut 50").code, Some(2));
    assert_eq!(place.run("eval . --rounds 0").code, Some(2));
}

#[test]
fn small_sessions_are_left_out_only_if_that_is_asked_for() {
    let place = Place::with(&[("a.jsonl", session(40)), ("b.jsonl", session(6))]);
    let all = json(&place, "eval . --budget 20 --json");
    assert_eq!(all["totals"]["sessions"], 2);
    let some = json(&place, "eval . --budget 20 --min-tokens 4000 --json");
    assert_eq!(some["totals"]["sessions"], 1);
    assert_eq!(some["totals"]["skipped"]["too_small"], 1);
    assert_eq!(some["files"][1]["sessions"][0]["skipped"], "too_small");
    let text = place.run("eval . --budget 20 --min-tokens 4000").text();
    assert!(text.ends_with("\nnot measured: 1 too small\n"), "{text}");
}

#[test]
fn means_have_intervals_and_formats_their_own() {
    let openai = generated(1, "openai");
    let place = Place::with(&[
        ("a.jsonl", session(40)),
        ("b.jsonl", session(30)),
        ("c.jsonl", openai),
    ]);
    let json = json(&place, "eval . --budget 10 --json");
    let auto = &json["totals"]["scores"][0];
    let [low, high] = [&auto["ci95"]["need"][0], &auto["ci95"]["need"][1]];
    assert!(low.as_f64() <= auto["need"].as_f64() && auto["need"].as_f64() <= high.as_f64());
    // A session has none.
    assert_eq!(
        json["files"][0]["sessions"][0]["scores"][0]["ci95"],
        Value::Null
    );
    let formats = json["totals"]["formats"].as_array().unwrap();
    let counts: Vec<_> = formats
        .iter()
        .map(|of| (of["format"].as_str().unwrap(), of["sessions"].as_u64()))
        .collect();
    assert_eq!(counts, [("anthropic", Some(2)), ("openai", Some(1))]);
    assert_eq!(formats[1]["scores"][0]["ci95"], Value::Null);
    let text = place.run("eval . --budget 10").text();
    assert_eq!(text.matches("\n  95 %  ").count(), 1, "{text}");
}

#[test]
fn weights_of_other_folds_are_used_where_an_input_is_in_one() {
    let place = Place::with(&[("a.jsonl", session(60)), ("b.jsonl", session(60))]);
    place.write(
        "folds.json",
        r#"{"folds":[{"fold":"x","paths":["a.jsonl"],"weights":{"units":{"ran":0.0,"ran_small":0.0}}}]}"#,
    );
    let ran =
        place.run("eval . --budget 5 --cut 50,80 --no-baselines --held-out folds.json --json");
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(
        ran.err.contains("1 input in no fold of folds.json"),
        "{}",
        ran.err
    );
    let json: Value = serde_json::from_slice(&ran.out).unwrap();
    let scores = |at: usize| json["files"][at]["sessions"][0]["scores"].clone();
    assert_ne!(scores(0), scores(1));
    let wrong = place.run("eval . --held-out a.jsonl");
    assert_eq!(wrong.code, Some(2));
    assert!(
        wrong
            .err
            .contains("a.jsonl: not a file of held-out weights"),
        "{}",
        wrong.err
    );
    assert_eq!(place.run("eval . --held-out none.json").code, Some(2));
}

#[test]
fn a_budget_that_is_named_twice_is_measured_once() {
    let place = Place::with(&[("a.jsonl", session(30))]);
    let csv = |budgets: &str| {
        let args = format!("eval a.jsonl --cut 50 --no-baselines --csv {budgets}");
        place.run(&args).exits(0).text()
    };
    assert_eq!(csv("--budget 5,10,5 --budget 10"), csv("--budget 5,10"));
    place
        .run("eval a.jsonl --cut 50 --min-tokens 1000k")
        .exits(0)
        .shows(&["too small"]);
}
