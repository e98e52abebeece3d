//! `replay` shows what policies would have done to sessions.

use serde_json::Value;

use super::harness::Place;

/// A session of an agent: `rounds` calls, each with a result of about 600 tokens.
fn session(rounds: usize) -> String {
    let mut lines = vec![r#"{"role":"user","content":"make it work"}"#.to_owned()];
    for round in 0..rounds {
        let words: String = (0..400).map(|n| format!("word{} ", n * round)).collect();
        lines.push(format!(
            r#"{{"role":"assistant","content":[{{"type":"tool_use","id":"t{round}","name":"Bash","input":{{"command":"ls"}}}}]}}"#
        ));
        lines.push(format!(
            r#"{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"t{round}","content":"{words}"}}]}}"#
        ));
    }
    lines.push(r#"{"role":"assistant","content":[{"type":"text","text":"done"}]}"#.to_owned());
    lines.join("\n") + "\n"
}

fn json(place: &Place, args: &str) -> Value {
    let ran = place.run(args);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    serde_json::from_slice(&ran.out).unwrap()
}

#[test]
fn all_presets_stand_side_by_side_unless_some_are_named() {
    let place = Place::with(&[("a.jsonl", session(9))]);
    let names = |json: &Value| -> Vec<String> {
        let policies = json["policies"].as_array().unwrap().iter();
        policies
            .map(|p| p["name"].as_str().unwrap().to_owned())
            .collect()
    };
    let all = json(&place, "replay a.jsonl --json");
    let presets = ctxpack::policy::presets().unwrap();
    let presets: Vec<String> = presets.into_iter().map(|preset| preset.name).collect();
    assert_eq!(names(&all), presets);
    let session = &all["files"][0]["sessions"][0];
    assert_eq!(session["policies"].as_array().unwrap().len(), presets.len());
    assert_eq!(session["requests"], 10);

    let two = json(
        &place,
        "replay a.jsonl --policy none --policy v5 --set clear.keep=1 --json",
    );
    assert_eq!(names(&two), ["none", "layered"]);
    assert_eq!(two["policies"][1]["overrides"][0]["key"], "clear.keep");
    assert_eq!(
        two["totals"]["policies"][0]["tokens"],
        two["totals"]["whole"]
    );
}

#[test]
fn nothing_is_written_and_the_table_is_short() {
    let place = Place::with(&[("a.jsonl", session(9)), ("b.jsonl", session(7))]);
    let ran = place.run("replay . --policy auto --policy none");
    assert_eq!(ran.code, Some(0));
    let text = ran.text();
    let mut starts: Vec<&str> = text
        .lines()
        .map(|line| line.split([' ', ';']).next().unwrap_or_default())
        .collect();
    assert_eq!(
        starts.split_off(4),
        ["", "tokens", "./a.jsonl", "./b.jsonl"],
        "{text}"
    );
    assert_eq!(starts, ["policy", "auto", "none", "18"]);
    assert!(text.contains("\n18 requests in 2 sessions; tokens by classes"));
    assert!(text.lines().all(|line| line.chars().count() <= 100));
    assert_eq!(place.names(), ["a.jsonl", "b.jsonl"]);
}

#[test]
fn the_timeline_tells_each_step_at_which_something_happened() {
    let place = Place::with(&[("a.jsonl", session(7))]);
    let text = place.run("replay a.jsonl --policy auto --timeline").text();
    let steps: Vec<&str> = text.lines().filter(|line| line.starts_with("  ")).collect();
    // Of 7 results the newest 5 stay.
    assert_eq!(steps.len(), 2, "{text}");
    assert!(
        steps
            .iter()
            .all(|step| step.starts_with("  clear 1: 5 newer results after it"))
    );
    assert!(text.contains("turn 1: 8 requests, "), "{text}");
}

#[test]
fn an_aim_that_was_missed_is_tried_for_again_when_the_window_has_grown() {
    // What a person typed stays verbatim: more of it than the trigger of 20 000 tokens.
    let typed = |n: usize| {
        let words: String = (0..600).map(|word| format!("{n}x{word} ")).collect();
        format!(r#"{{"role":"user","content":"{words}"}}"#)
    };
    let answer = r#"{"role":"assistant","content":[{"type":"text","text":"done"}]}"#.to_owned();
    let mut lines: Vec<String> = (0..20).flat_map(|n| [typed(n), answer.clone()]).collect();
    lines.extend((0..100).flat_map(|_| {
        [
            r#"{"role":"user","content":"go on"}"#.to_owned(),
            answer.clone(),
        ]
    }));
    let place = Place::with(&[("a.jsonl", lines.join("\n") + "\n")]);
    let json = json(&place, "replay a.jsonl --policy auto --json");
    let session = &json["files"][0]["sessions"][0];
    let played = &session["policies"][0];
    assert_eq!(session["requests"], 120);
    let requests: Vec<u64> = made(played).collect();
    assert!((2..12).contains(&requests.len()), "{requests:?}");
    // The last hundred turns add next to nothing.
    assert!(
        requests.iter().all(|request| *request <= 21),
        "{requests:?}"
    );
    let events = played["steps"].as_array().unwrap().iter();
    let mut events = events.flat_map(|step| step["events"].as_array().unwrap());
    let is_told = |event: &Value| {
        event["result"] == "held"
            && event["reason"] == "held back by target.tokens = 10000, an aim that was missed"
    };
    assert!(events.any(is_told), "{played}");
}

/// The requests before which a summary was made.
fn made(played: &Value) -> impl Iterator<Item = u64> {
    let steps = played["steps"].as_array().unwrap().iter();
    let is_summary = |event: &Value| event["layer"] == "summarize" && event["result"] == "made";
    let steps = steps.filter(move |step| step["events"].as_array().unwrap().iter().any(is_summary));
    steps.map(|step| step["request"].as_u64().unwrap())
}

#[test]
fn one_bad_file_never_stops_the_rest() {
    let place = Place::with(&[
        ("a.jsonl", session(2).into_bytes()),
        ("b.jsonl.gz", b"\x1f\x8b\x08\0no gzip".to_vec()),
        (
            "c.jsonl",
            b"{\"id\":\"i\",\"conversations\":[{\"from\":\"human\",\"value\":\"p\"}]}\n".to_vec(),
        ),
    ]);
    let ran = place.run("replay . --policy none --json");
    assert_eq!(ran.code, Some(3));
    assert!(ran.err.contains("b.jsonl.gz"), "{}", ran.err);
    let json: Value = serde_json::from_slice(&ran.out).unwrap();
    let statuses = json["files"].as_array().unwrap().iter();
    let statuses: Vec<&Value> = statuses.map(|file| &file["status"]).collect();
    assert_eq!(statuses, ["replayed", "failed", "unsupported"]);
    assert_eq!(json["totals"]["sessions"], 1);
}

#[test]
fn the_number_of_threads_changes_nothing() {
    let files: Vec<(String, String)> = (1..9).map(|n| (format!("{n}.jsonl"), session(n))).collect();
    let files: Vec<(&str, &String)> = files.iter().map(|(n, s)| (n.as_str(), s)).collect();
    let place = Place::with(&files);
    let one = place.run("replay . --json -j1");
    let four = place.run("replay . --json -j4");
    assert_eq!(one.code, Some(0));
    assert!(one.out == four.out);
}

#[test]
fn scripted_answers_stand_beside_their_policy() {
    let policy = "extends = \"auto\"\nlayers = [\"summarize\"]\n[trigger]\ntokens = 1000\n[summary]\nsource = \"scripted\"\ntries = 1\non_failure = \"keep\"\n";
    let place = Place::with(&[
        ("p/own.toml", policy.to_owned()),
        ("p/summaries.jsonl", "{\"error\":\"busy\"}\n".to_owned()),
        ("a.jsonl", session(4)),
    ]);
    let replay = json(&place, "replay a.jsonl --policy p/own.toml --json");
    let events = &replay["files"][0]["sessions"][0]["policies"][0]["steps"][0]["events"];
    assert_eq!(events[0]["result"], "failed");
    assert_eq!(events[0]["reason"], "no summary could be written: busy");
}

#[test]
fn wrong_arguments_are_said_before_anything_is_read() {
    let place = Place::with(&[("a.jsonl", session(1))]);
    for args in [
        "replay a.jsonl --policy nune",
        "replay a.jsonl --set clear.kep=3",
        "replay a.jsonl --json --timeline",
        "replay missing-*.jsonl",
    ] {
        assert_eq!(place.run(args).code, Some(2), "{args}");
    }
}

/// The policies of a branch and of its base have one name in two folders.
#[test]
fn policies_of_one_name_are_told_apart_by_their_folders() {
    let place = Place::with(&[("a.jsonl", session(9))]);
    for (name, keep) in [("base/ci/policy.toml", 1), ("head/ci/policy.toml", 2)] {
        place.write(name, format!("[clear]\nkeep = {keep}\n"));
    }
    place.write("policy.toml", "[clear]\nkeep = 3\n");
    let both = "--policy base/ci/policy.toml --policy head/ci/policy.toml";
    let names = |args: &str| -> Vec<String> {
        let json = json(&place, args);
        let policies = json["policies"].as_array().unwrap().iter();
        let names = policies.map(|policy| policy["name"].as_str().unwrap().to_owned());
        names.collect()
    };
    let long = ["base/ci/policy", "head/ci/policy"];
    assert_eq!(names(&format!("replay a.jsonl {both} --json")), long);
    assert_eq!(names(&format!("eval a.jsonl {both} --json")), long);
    assert_eq!(names(&format!("diff a.jsonl {both} --json")), long);
    let short = "replay a.jsonl --policy base/ci/policy.toml --policy policy.toml --json";
    assert_eq!(names(short), ["ci/policy", "policy"]);
    let one = "replay a.jsonl --policy base/ci/policy.toml --policy auto --json";
    assert_eq!(names(one), ["policy", "auto"]);
    let same = "replay a.jsonl --policy policy.toml --policy policy.toml --json";
    assert_eq!(names(same), ["policy", "policy"]);
}

#[test]
fn where_there_is_nothing_to_replay_no_table_of_zeros_is_shown() {
    let place = Place::with(&[("in/a.jsonl", "x\n"), ("in/b.jsonl", "")]);
    let ran = place.run("replay in").exits(0);
    assert_eq!(
        ran.text(),
        "0 requests in 0 sessions; tokens by classes, whole: 0 sent\nnot replayed: 2 unsupported\n"
    );
}
