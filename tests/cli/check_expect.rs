//! What `check` expects where no golden says it byte for byte, and cases of other commands.

use serde_json::json;

use super::harness::{Place, sample};

/// A case that expects this and has no golden.
fn expecting(expect: &str) -> Place {
    Place::with(&[
        ("fixtures/case/input.jsonl", sample().0.as_str()),
        ("fixtures/case/expect.toml", expect),
    ])
}

#[test]
fn what_is_expected_can_be_said_loosely() {
    let place = expecting(
        "[expect]
tokens_after = \"<= 90%\"
saved = \"> 0\"
messages_after = 19
status = \"compacted\"
valid = true
findings = []
kept = [\"All is well.\", \"ls 0\"]
gone = [\"a text that never was\"]
last_turns_identical = 1
invented = 0
",
    );
    let before = place.all_files();
    place
        .run("check")
        .exits(0)
        .shows(&["1 case: 1 as expected"]);
    // No golden is made where none is needed.
    place.run("check --update=force").exits(0);
    assert_eq!(place.all_files(), before);
    // It depends on the policy.
    place
        .run("check --policy none")
        .exits(1)
        .shows(&["expect.toml:3: saved: expected > 0, got 0"]);
}

#[test]
fn each_expectation_says_what_was_found_instead() {
    for (line, says) in [
        (
            "tokens_before = \"< 2\"",
            "tokens_before: expected < 2, got ",
        ),
        (
            "tokens_after = \"<= 1k\"",
            "tokens_after: expected <= 1k, got ",
        ),
        ("saved = \">= 99.5%\"", "saved: expected >= 99.5%, got "),
        ("messages_before = 3", "messages_before: expected 3, got 19"),
        (
            "messages_after = \"<= 10%\"",
            "messages_after: expected <= 10%, got 100.0%",
        ),
        (
            "status = \"unchanged\"",
            "status: expected unchanged, got compacted",
        ),
        ("valid = false", "valid: expected false, but no rule"),
        (
            "findings = [\"orphan-result\"]",
            "findings: expected [orphan-result], got []",
        ),
        ("kept = [\"never was\"]", "kept: \"never was\" is not there"),
        (
            "gone = [\"All is well.\"]",
            "gone: \"All is well.\" is still there",
        ),
        ("restored = [\"src/a.rs\"]", "restored: src/a.rs was not"),
        (
            "last_turns_identical = 2",
            "last_turns_identical: expected 2, but message 3 of main (line 3) is cleared",
        ),
        ("invented = \">= 1\"", "invented: expected >= 1, got 0"),
        ("need = \">= 60\"", "need: could not be measured"),
    ] {
        let place = expecting(&format!("[expect]\n{line}\n"));
        place
            .run("check")
            .exits(1)
            .shows(&[&format!("  expect.toml:2: {says}")]);
        // An update does not make it hold.
        place.run("check --update=force").exits(1).shows(&[says]);
    }
}

#[test]
fn the_need_of_a_session_is_that_of_eval() {
    // Long enough to be cut, and what is named early is used late.
    let line = |value: serde_json::Value| format!("{value}\n");
    let mut session = line(json!({"role": "user", "content": "Please mend src/engine/valve.rs."}));
    for i in 0..40 {
        let id = format!("toolu_{i}");
        let path = format!("/repo/src/engine/part_{}.rs", i % 20);
        session += &line(json!({"role": "assistant", "content": [
            {"type": "tool_use", "id": id, "name": "Read", "input": {"file_path": path}}]}));
        session += &line(json!({"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": id, "content": format!("fn part_{i}() {{}}\n").repeat(60)}]}));
        session += &line(json!({"role": "assistant", "content": format!("I have read part_{i}.")}));
        session += &line(json!({"role": "user", "content": format!("Go on with {}.", i + 1)}));
    }
    let place = Place::with(&[
        ("fixtures/case/input.jsonl", session.as_str()),
        (
            "fixtures/case/expect.toml",
            "[expect]\nneed = \"> 100\"\nbudget = 20\n",
        ),
    ]);
    let text = place.run("check").exits(1).text();
    let got = text.split("need: expected > 100, got ").nth(1);
    let got = got.and_then(|rest| rest.split(' ').next()).unwrap();
    let eval = place
        .run("eval fixtures/case/input.jsonl --budget 20 --no-baselines --format json")
        .exits(0)
        .text();
    let eval: serde_json::Value = serde_json::from_str(&eval).unwrap();
    let need = eval["totals"]["scores"][0]["need"].as_f64().unwrap();
    assert_eq!(format!("{need:.1}"), got, "{eval:#}");
}

#[test]
fn turns_that_are_not_there_are_not_identical() {
    let place = expecting("[expect]\nlast_turns_identical = 1\n");
    let before = sample().0;
    let typed = |line: &&str| !line.contains("\"content\":\"");
    let untyped: Vec<&str> = before.lines().filter(typed).collect();
    place.write("fixtures/case/input.jsonl", untyped.join("\n"));
    place
        .run("check")
        .exits(1)
        .shows(&["last_turns_identical: expected 1, but nobody typed anything"]);
}

#[test]
fn fewer_turns_than_expected_are_not_enough() {
    // Nothing is compacted, so that each turn that is there is as it was.
    let run = |turns: usize| {
        expecting(&format!("[expect]\nlast_turns_identical = {turns}\n")).run("check --policy none")
    };
    run(2).exits(0);
    run(3)
        .exits(1)
        .shows(&["last_turns_identical: expected 3, but there are only 2 turns"]);
}

#[test]
fn nothing_holds_of_an_input_that_was_not_read() {
    for (input, why) in [
        ("", "an empty input"),
        ("{\"x\": 1}\n", "an unknown format"),
    ] {
        let place = expecting("[expect]\nvalid = true\ngone = [\"a\"]\n");
        place.write("fixtures/case/input.jsonl", input);
        place.run("check").exits(1).shows(&[
            "  expect.toml: nothing was compacted: ",
            "status = \"unsupported\" expects that",
        ]);
        place.write(
            "fixtures/case/expect.toml",
            "[expect]\nstatus = \"unsupported\"\n",
        );
        assert_eq!(place.run("check").code, Some(0), "{why}");
    }
}

#[test]
fn texts_are_what_messages_say_in_calls_too() {
    let line = |value: serde_json::Value| format!("{value}\n");
    let command = "printf \"one\ntwo\"";
    let anthropic = [
        line(json!({"role": "user", "content": "Print it."})),
        line(json!({"role": "assistant", "content": [
            {"type": "tool_use", "id": "a", "name": "Bash", "input": {"command": command}}]})),
        line(
            json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": "one\r\ntwo"}]}),
        ),
    ];
    let arguments = json!({"command": command}).to_string();
    let openai = [
        line(json!({"role": "user", "content": "Print it."})),
        line(json!({"role": "assistant", "content": null, "tool_calls": [
            {"id": "a", "type": "function", "function": {"name": "Bash", "arguments": arguments}}]})),
        line(json!({"role": "tool", "tool_call_id": "a", "content": "one\r\ntwo"})),
    ];
    for input in [anthropic.concat(), openai.concat()] {
        let place = expecting(
            "[expect]
kept = [\"printf \\\"one\\ntwo\\\"\", 'printf \\\"one\\ntwo', \"one\\ntwo\", \"Print it.\"]
gone = [\"assistant\", \"tool_result\", \"##\", \"toolu\"]
",
        );
        place.write("fixtures/case/input.jsonl", &input);
        place.run("check").exits(0);
        place.write(
            "fixtures/case/expect.toml",
            "[expect]\ngone = [\"printf \\\"one\\ntwo\\\"\"]\n",
        );
        place.run("check").exits(1).shows(&["is still there"]);
    }
}

#[test]
fn an_expectation_that_means_nothing_is_an_error() {
    for (text, says) in [
        (
            "[expect]\ntoken_after = 3\n",
            "expect.toml:2: unknown expectation \"token_after\"\nhint: did you mean tokens_after?",
        ),
        ("[expect]\nsaved = \"lots\"\n", "expect.toml:2: saved takes"),
        ("", "expect.toml: expects nothing"),
        (
            "command = \"replay\"\n[expect]\nvalid = true\n",
            "expect.toml:3: [expect] is about compactions alone",
        ),
        (
            "[expect]\nvalid = true\nbudget = 20\n",
            "expect.toml:3: budget has no effect without need\nhint: ",
        ),
        (
            "[expect]\nneed = 101\n",
            "expect.toml:2: need takes a percentage from 0 to 100",
        ),
    ] {
        expecting(text).run("check").exits(3).says(&[says]);
    }
    // The golden asks for another command, too.
    for golden in ["expected.counts.json", "expected.replay.json"] {
        let place = expecting("[expect]\nvalid = true\n");
        place.write(&format!("fixtures/case/{golden}"), "{}");
        place
            .run("check")
            .exits(3)
            .says(&["expect.toml:2: [expect] is about compactions alone"]);
    }
}

#[test]
fn a_golden_that_lists_nothing_is_an_error() {
    let (before, _) = sample();
    for golden in ["expected.counts.json", "expected.replay.json"] {
        let place = Place::with(&[("fixtures/case/input.jsonl", before.as_str())]);
        for text in ["{}\n", "{\"files\": [{}]}\n"] {
            place.write(&format!("fixtures/case/{golden}"), text);
            for args in ["check", "check --update=force"] {
                let says = format!("{golden}: expects nothing\nhint: ");
                place.run(args).exits(3).says(&[&says]);
            }
        }
        place.write(
            &format!("fixtures/case/{golden}"),
            "{\"files\": [{\"error\": null}]}\n",
        );
        place.run("check").exits(0);
    }
}

#[test]
fn a_golden_that_says_two_things_of_a_figure_is_an_error() {
    let (before, _) = sample();
    for golden in ["expected.counts.json", "expected.stats.json"] {
        let place = Place::with(&[("fixtures/case/input.jsonl", before.as_str())]);
        let text = "{\"files\": [{\"status\": \"failed\",\n\"status\": \"compacted\"}]}";
        place.write(&format!("fixtures/case/{golden}"), text);
        for args in ["check", "check --update=force"] {
            let says = format!("{golden}: a key occurs twice in one object\nhint: ");
            place.run(args).exits(3).says(&[&says]);
        }
        assert_eq!(place.text(&format!("fixtures/case/{golden}")), text);
    }
}

#[test]
fn a_figure_of_a_golden_can_be_a_limit() {
    let (before, after) = sample();
    let golden = "{\"files\": [{\"tokens_after\": \"<= 1\", \"status\": \"unchanged\"}]}";
    let place = Place::with(&[
        ("fixtures/case/input.jsonl", before.as_str()),
        ("fixtures/case/expected.jsonl", &after),
        ("fixtures/case/expected.stats.json", golden),
    ]);
    let says = "stats.files[0].tokens_after: expected <= 1, got ";
    place.run("check").exits(1).shows(&[says]);
    // It is what somebody meant, and stays.
    place.run("check --update=force").exits(1).shows(&[says]);
    assert_eq!(
        place.json("fixtures/case/expected.stats.json"),
        json!({"files": [{"tokens_after": "<= 1", "status": "compacted"}]})
    );
    let golden = golden
        .replace("<= 1", "> 1")
        .replace("unchanged", "compacted");
    place.write("fixtures/case/expected.stats.json", golden);
    place.run("check").exits(0);
}

#[test]
fn a_case_may_ask_for_another_command() {
    for (command, golden, key) in [
        (
            "stats",
            "expected.counts.json",
            "/files/0/conversations/0/messages",
        ),
        ("replay", "expected.replay.json", "/files/0/status"),
    ] {
        let place = expecting(&format!("command = \"{command}\"\n"));
        place
            .run("check")
            .exits(1)
            .shows(&[&format!("{golden} is missing; --update writes it")]);
        place.run("check --update=force").exits(0);
        let file = format!("fixtures/case/{golden}");
        assert!(
            place.json(&file).pointer(key).is_some(),
            "{}",
            place.text(&file)
        );
        // Then the golden asks for it.
        std::fs::remove_file(place.path("fixtures/case/expect.toml")).unwrap();
        place.run("check").exits(0);
        place.write(&file, "{\"files\": [{\"status\": \"else\"}]}");
        place
            .run("check")
            .exits(1)
            .shows(&["files[0].status: expected \"else\""]);
        place.write("fixtures/case/expected.jsonl", "");
        place
            .run("check")
            .exits(3)
            .says(&["belong to different commands"]);
    }
}

#[test]
fn beside_pairs_nothing_passes_by_absence() {
    let (before, after) = sample();
    let place = Place::with(&[
        ("fixtures/a.jsonl", before.as_str()),
        ("fixtures/a.expected.jsonl", &after),
        ("fixtures/a.expected.stats.json", "{}"),
        ("fixtures/b.jsonl", &before),
        ("fixtures/c.jsonl", &before),
        ("fixtures/c.expect.toml", "[expect]\nvalid = true\n"),
    ]);
    place.run("check").exits(1).shows(&[
        "differs fixtures/b\n  b.expected.jsonl is missing",
        "3 cases: 2 as expected",
    ]);
    place.run("check --update=force").exits(0);
    place.write("fixtures/a.expected.stat.json", "{}");
    place.run("check").exits(1).shows(&[
        "a.expected.stat.json is not a file of a case; did you mean a.expected.stats.json?",
    ]);
}
