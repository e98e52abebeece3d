//! Secrets: masked in what is sent, and on demand in what is written.

use serde_json::{Value, json};

use super::harness::Place;

/// A token as a server gives it out; nowhere in one piece in this file.
fn token() -> String {
    format!("gh{}_{}", "p", "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8")
}

/// A session in which the token is typed, shown by a tool, and thought about with a signature.
fn session() -> String {
    let secret = token();
    let signature = format!("{}/{secret}", "Ep8C".repeat(64));
    let line = |value: Value| format!("{value}\n");
    line(json!({"role": "user", "content": format!("Push it. The token is {secret}.")}))
        + &line(json!({"role": "assistant", "content": [
            {"type": "thinking", "thinking": "hm", "signature": signature},
            {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "cat .env"}}]}))
        + &line(json!({"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "t1", "content": format!("A=1\nGITHUB_TOKEN={secret}\nB=2")}]}))
        + &line(json!({"role": "assistant", "content": "Pushed."}))
        + "no JSON, but "
        + &secret
        + "\n"
}

#[test]
fn outputs_lose_their_secrets_on_demand_and_nothing_else() {
    let place = Place::with(&[("in.jsonl", session())]);
    place
        .run("compact in.jsonl --policy none --redact outputs")
        .exits(0);
    let masked = place.text("in.compact.jsonl");
    // But for the signature, which only the provider reads.
    assert_eq!(masked.matches(&token()).count(), 1);
    let [kept, other] = [
        session(),
        masked.replace("[REDACTED:github-token]", &token()),
    ];
    assert_eq!(other, kept);
    let report = place.json("in.compact.stats.json");
    let file = &report["files"][0];
    assert_eq!(file["status"], "compacted");
    let warnings = file["warnings"].as_array().unwrap().iter();
    let masked: Vec<(u64, &str)> = warnings
        .filter(|w| w["kind"] == "redacted")
        .map(|w| (w["line"].as_u64().unwrap(), w["message"].as_str().unwrap()))
        .collect();
    let one = "secrets masked: 1 github-token";
    assert_eq!(masked, [(1, one), (3, one), (5, one)]);
    // It is an edit like any other.
    place.run("undo in.compact.jsonl -o back.jsonl").exits(0);
    assert_eq!(place.text("back.jsonl"), session());
    place
        .run("compact in.compact.jsonl -o again.jsonl --policy none --redact outputs")
        .exits(0);
    assert_eq!(place.text("again.jsonl"), place.text("in.compact.jsonl"));
}

#[test]
fn sizes_before_are_those_of_the_input_and_what_masks_save_is_an_action() {
    let place = Place::with(&[("in.jsonl", session())]);
    let sizes = |more: &str| {
        let command =
            format!("compact in.jsonl -n --set tokens.method=chars --report r.json {more}");
        place.run(&command).exits(0);
        place.json("r.json")["files"][0].clone()
    };
    let number = |file: &Value, key: &str| file[key].as_u64().unwrap();
    let plain = sizes("--policy none");
    for more in [
        "--policy none",
        "--summarize always --set summary.keep_tokens=10",
        "--policy none --set layers=[\"clear\"] --set clear.keep=0 --set clear.min_tokens=0",
        // A result that is larger than its input is not kept.
        "--policy none --set layers=[\"summarize\"] --summarize always --set summary.keep_tokens=0",
    ] {
        let file = sizes(&format!("{more} --redact outputs"));
        assert_eq!(file["status"], "compacted", "{more}");
        let before = number(&plain, "tokens_before");
        assert_eq!(number(&file, "tokens_before"), before, "{more}");
        let conversation = &file["conversations"][0];
        let actions = conversation["actions"].as_array().unwrap();
        let [masked, ..] = &actions[..] else {
            panic!("{conversation}");
        };
        assert_eq!(masked["kind"], "redact", "{more}");
        assert_eq!(
            (&masked["line"], &masked["message"]),
            (&1.into(), &1.into())
        );
        assert_eq!(masked["reason"], "secrets masked on 2 lines");
        assert_eq!(number(masked, "tokens_before"), before, "{more}");
        let saved = |action: &Value| {
            let [before, after] =
                ["tokens_before", "tokens_after"].map(|key| action[key].as_i64().unwrap());
            before - after
        };
        assert!(saved(masked) > 0, "{masked}");
        let all: i64 = actions.iter().map(saved).sum();
        assert_eq!(all, saved(conversation), "{more}: {conversation}");
        let roles = conversation["roles"].as_array().unwrap();
        assert_eq!(roles.iter().map(saved).sum::<i64>(), all, "{more}");
    }
}

#[test]
fn a_summary_is_measured_by_what_is_left_without_secrets() {
    let line = |role: &str, words: String| format!("{}\n", json!({"role": role, "content": words}));
    let lines = (0..20).map(|n| match n % 2 {
        0 => line(
            "user",
            format!("request {n}: {}", format!("{} ", token()).repeat(10)),
        ),
        _ => line("assistant", format!("answer {n}")),
    });
    let place = Place::with(&[("in.jsonl", lines.collect::<String>())]);
    for how in [
        "--summarize always",
        "--summarize always --set summary.keep_tokens=20",
        "--summarize always --target 90%",
        "--target 50%",
    ] {
        place.run(&format!(
            "compact in.jsonl -o out.jsonl --overwrite --redact outputs --report r.json {how}"
        ));
        let file = place.json("r.json")["files"][0].clone();
        assert_eq!(file["status"], "compacted", "{how}: {file}");
        assert!(!place.text("out.jsonl").contains(&token()));
    }
    // A share is one of what was read.
    let target = &place.json("r.json")["files"][0]["conversations"][0]["target"]["tokens"];
    let before = &place.json("r.json")["files"][0]["tokens_before"];
    assert_eq!(target.as_u64().unwrap(), before.as_u64().unwrap() / 2);
}

#[test]
fn a_summary_an_offload_and_a_report_have_no_secret_either() {
    let long = format!(
        "{}\nTOKEN={}\n{}",
        "a line of the log\n".repeat(200),
        token(),
        "b".repeat(900)
    );
    let line = |value: Value| format!("{value}\n");
    let text = session().replace("no JSON", r#"{"x":"no JSON"}"#)
        + &line(json!({"role": "assistant", "content": [
            {"type": "tool_use", "id": "t2", "name": "Bash", "input": {"command": "cat log"}}]}))
        + &line(json!({"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "t2", "content": long}]}))
        + &line(json!({"role": "assistant", "content": "Read."}));
    let place = Place::with(&[("in.jsonl", text)]);
    place
        .run(
            "compact in.jsonl --redact outputs --summarize always --set summary.keep_tokens=10 \
             --set demote.min_tokens=300 --store s",
        )
        .exits(0);
    for (name, bytes) in place.all_files() {
        let has = String::from_utf8_lossy(&bytes).contains(&token());
        assert_eq!(has, name == "in.jsonl", "{name}");
    }
    assert!(
        place
            .text("in.compact.jsonl")
            .contains("[REDACTED:github-token]")
    );
}

#[test]
fn without_being_asked_outputs_stay_as_they_are() {
    let place = Place::with(&[("in.jsonl", session())]);
    place.run("compact in.jsonl").exits(0);
    assert_eq!(place.text("in.compact.jsonl"), session());
}

#[test]
fn what_cannot_be_masked_is_not_written() {
    let unknown = json!({"from": "human", "value": token()}).to_string() + "\n";
    let place = Place::with(&[("in.jsonl", unknown), ("good.jsonl", session())]);
    let run = place
        .run("compact in.jsonl good.jsonl --redact outputs")
        .exits(3);
    assert!(run.err.contains("cannot mask secrets"), "{}", run.err);
    assert_eq!(
        place.files(),
        [
            "good.compact.jsonl",
            "good.compact.stats.json",
            "good.jsonl",
            "in.jsonl"
        ]
    );
}
