//! `eval` measures what can still be found under policies.

use serde_json::Value;

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
    assert!(place.text("r.md").contains("<code>no budget</code>"));
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
