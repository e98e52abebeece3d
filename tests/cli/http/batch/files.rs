//! Requests that are written to a file, for servers that have no batch API or another one, and answers that are read from one.

use serde_json::{Value, json};

use super::provider::{Provider, record};
use super::{TEXT, many, outputs, session, text};

#[test]
fn requests_go_to_a_file_and_answers_come_from_one() {
    let provider = Provider::start("openai", text);
    let place = many(3);
    let line = |step: &str, file: &str| {
        format!(
            "compact in --out-dir out --store s --batch {step} --batch-file {file} {}",
            provider.flags()
        )
    };
    let ran = place.run(&line("submit", "requests.jsonl")).exits(3);
    let _ = ran.says(&[
        "requests.jsonl: 3 requests",
        "3 of 3 conversations wait for the answers to requests.jsonl: run the same command with --batch collect --batch-file ANSWERS",
    ]);
    let written = place.text("requests.jsonl");
    let items: Vec<Value> = written
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(items.len(), 3);
    for item in &items {
        assert_eq!(
            (&item["method"], &item["url"]),
            (&json!("POST"), &json!("/v1/chat/completions"))
        );
        assert_eq!(item["body"]["model"], "m-1");
        assert!(record(item).contains("Station alder-0"));
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = std::fs::metadata(place.path("requests.jsonl"))
            .unwrap()
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o600);
    }
    // What is there is not replaced.
    let _ = place
        .run(&line("submit", "requests.jsonl"))
        .exits(2)
        .says(&["requests.jsonl"]);
    // vLLM's and Mistral's results are of OpenAI's form. One is missing, one is of nobody, and one line is torn.
    let answer = |id: &Value| {
        json!({"id": "vllm-1", "custom_id": id, "error": null, "response": {"status_code": 200, "request_id": "r",
            "body": {"model": "m-1", "choices": [{"index": 0, "finish_reason": "stop",
                "message": {"role": "assistant", "content": TEXT}}]}}})
    };
    let stranger = answer(&json!("f".repeat(32)));
    let answers = format!(
        "{}\n{stranger}\n{}\n{{\"custom_id\":",
        answer(&items[2]["custom_id"]),
        answer(&items[0]["custom_id"])
    );
    place.write("answers.jsonl", answers);
    let ran = place.run(&line("collect", "answers.jsonl")).exits(3);
    let _ = ran.says(&[
        "answers.jsonl: 2 answers; 2 lines for unknown requests ignored",
        "1 of 3 conversations waits for",
    ]);
    assert_eq!(outputs(&place), 2);
    place.write(
        "answers.jsonl",
        format!("{}\n", answer(&items[1]["custom_id"])),
    );
    place.run(&line("collect", "answers.jsonl")).exits(0);
    assert_eq!(outputs(&place), 3);
    assert_eq!(provider.server.requests().len(), 0);
    // Nothing is left to ask for.
    let ran = place.run(&line("submit", "more.jsonl")).exits(0);
    let _ = ran.says(&["the file is not written"]);
    assert!(!place.path("more.jsonl").exists());
}

#[test]
fn anthropics_requests_have_its_form_and_a_failed_one_is_said() {
    let provider = Provider::start("anthropic", text);
    let place = many(1);
    let line = |step: &str| {
        format!(
            "compact in --out-dir out --store s --batch {step} --batch-file f.jsonl --overwrite {}",
            provider.flags()
        )
    };
    place.run(&line("submit")).exits(3);
    let item: Value = serde_json::from_str(place.text("f.jsonl").trim_end()).unwrap();
    assert_eq!(item["params"]["model"], "m-1");
    assert!(item["params"]["max_tokens"].as_u64().unwrap() > 0);
    let errored = json!({"custom_id": item["custom_id"], "result": {"type": "errored", "error": {"type": "error",
        "error": {"type": "overloaded_error", "message": "Overloaded"}}}});
    place.write("f.jsonl", errored.to_string());
    let _ = place
        .run(&line("collect"))
        .exits(3)
        .says(&["no summary could be written", "status 529: Overloaded"]);
    let _ = place
        .run(&line("wait"))
        .exits(2)
        .says(&["no server to wait for"]);
    let _ = place
        .run(&line("collect").replace("f.jsonl", "none.jsonl"))
        .exits(2);
    place.write("in/0.jsonl", session("Changed."));
    place.run(&line("submit")).exits(3);
    assert!(place.text("f.jsonl").contains("Changed."));
}
