//! `compact --emit`: conversations as messages of a provider's API.

use serde_json::{Value, json};

use super::harness::{Place, gunzip, gzip, sample};

const CHAT: &str = concat!(
    r#"{"system":"Be short.","messages":[{"role":"user","content":"Look."},"#,
    r#"{"role":"assistant","content":[{"type":"thinking","thinking":"so","signature":"c2ln"},{"type":"tool_use","id":"t1","name":"view","input":{"path": "a"}}]},"#,
    r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","is_error":true,"content":"no\u00e9"},{"type":"text","text":"Well?"}]}]}"#,
    "\n"
);

/// The values of the lines of a file.
fn lines(text: &str) -> Vec<Value> {
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

fn losses(conversation: &Value) -> Vec<(&str, u64)> {
    let losses = conversation["emitted"]["losses"].as_array().unwrap();
    losses
        .iter()
        .map(|loss| {
            (
                loss["kind"].as_str().unwrap(),
                loss["count"].as_u64().unwrap(),
            )
        })
        .collect()
}

#[test]
fn a_session_becomes_messages_beside_it() {
    let place = Place::with(&[("in.jsonl", CHAT)]);
    place
        .run("compact in.jsonl --policy none --emit messages")
        .exits(0)
        .says(&["1 conversation written as messages; lost or changed: thinking 1, failed mark 1"]);
    assert_eq!(
        place.files(),
        ["in.jsonl", "in.messages.jsonl", "in.messages.stats.json"]
    );
    // Strings are copied as they are written.
    assert_eq!(
        place.text("in.messages.jsonl"),
        concat!(
            r#"{"messages":[{"role":"system","content":"Be short."},{"role":"user","content":"Look."},"#,
            r#"{"role":"assistant","content":null,"tool_calls":[{"id":"t1","type":"function","function":{"name":"view","arguments":"{\"path\": \"a\"}"}}]},"#,
            r#"{"role":"tool","tool_call_id":"t1","content":"no\u00e9"},{"role":"user","content":"Well?"}]}"#,
            "\n"
        )
    );
    let report = place.json("in.messages.stats.json");
    let conversation = &report["files"][0]["conversations"][0];
    assert_eq!(report["files"][0]["output"], "in.messages.jsonl");
    assert_eq!(conversation["emitted"]["messages"], 5);
    assert_eq!(losses(conversation), [("thinking", 1), ("failed_mark", 1)]);
    // The same command again replaces what is its own; undo gives back what it came from.
    place
        .run("compact in.jsonl --policy none --emit messages")
        .exits(0);
    place.run("undo in.messages.jsonl -o back.jsonl").exits(0);
    assert_eq!(place.text("back.jsonl"), CHAT);
    // What is not emitted has no such key.
    place
        .run("compact in.jsonl --policy none --report r.json")
        .exits(0);
    assert!(!place.text("r.json").contains("emitted"));
}

#[test]
fn anthropics_form_is_what_it_was() {
    let place = Place::with(&[("in.jsonl", CHAT)]);
    let ran = place
        .run("compact in.jsonl --policy none --emit anthropic-messages -o -")
        .exits(0)
        .says(&["1 conversation written as messages; nothing was lost"]);
    let mut expected: Value = serde_json::from_str(CHAT).unwrap();
    let value = &lines(&ran.text())[0];
    // The mark stands behind what it marks.
    expected["messages"][2]["content"][0]["is_error"] = json!(true);
    assert_eq!(*value, expected);
    assert_eq!(place.names(), ["in.jsonl"]);
}

#[test]
fn a_tree_of_several_formats_becomes_one_data_set() {
    let (session, _) = sample();
    let place = Place::with(&[
        ("in/a.jsonl", session.as_bytes()),
        ("in/b/c.jsonl.gz", &gzip(CHAT)),
        ("in/two.jsonl", CHAT.repeat(2).as_bytes()),
        (
            "in/other.jsonl",
            br#"{"conversations":[{"from":"human","value":"hi"}]}"#,
        ),
        (
            "in/stream.jsonl",
            concat!(
                r#"{"type":"init","session_id":"s","model":"m"}"#,
                "\n",
                r#"{"type":"message","role":"user","content":"hi"}"#,
                "\n",
                r#"{"type":"message","role":"assistant","content":"Hel","delta":true}"#,
                "\n",
                r#"{"type":"message","role":"assistant","content":"lo","delta":true}"#,
                "\n",
            )
            .as_bytes(),
        ),
    ]);
    place
        .run("compact in --emit messages --out-dir set")
        .exits(0)
        .says(&["sharegpt", "5 conversations written"]);
    assert_eq!(
        place.files(),
        [
            "in/a.jsonl",
            "in/b/c.jsonl.gz",
            "in/other.jsonl",
            "in/stream.jsonl",
            "in/two.jsonl",
            "set/a.messages.jsonl",
            "set/b/c.messages.jsonl.gz",
            "set/ctxpack.stats.json",
            "set/stream.messages.jsonl",
            "set/two.messages.jsonl",
        ]
    );
    let packed = gunzip(&place.read("set/b/c.messages.jsonl.gz"));
    assert_eq!(
        String::from_utf8(packed).unwrap().repeat(2),
        place.text("set/two.messages.jsonl")
    );
    let report = place.json("set/ctxpack.stats.json");
    let other = report["files"].as_array().unwrap().iter();
    let mut other = other.filter(|file| file["input"] == "in/other.jsonl");
    let other = other.next().unwrap();
    assert_eq!(other["status"], "unsupported");
    assert_eq!(other["output"], Value::Null);
}

#[test]
fn what_is_emitted_is_what_the_compaction_left() {
    let (session, compacted) = sample();
    let place = Place::with(&[("in.jsonl", session), ("small.jsonl", compacted)]);
    place.run("compact in.jsonl --emit messages").exits(0);
    place
        .run("compact small.jsonl --policy none --emit messages")
        .exits(0);
    assert_eq!(
        place.text("in.messages.jsonl"),
        place.text("small.messages.jsonl")
    );
}

#[test]
fn what_providers_refuse_is_left_out_and_counted() {
    let place = Place::with(&[(
        "in.jsonl",
        concat!(
            r#"{"role":"user","content":"a\ud83d"}"#,
            "\n",
            r#"{"role":"assistant","content":null,"tool_calls":[{"id":"1","type":"function","function":{"name":"f","arguments":"{"}},{"id":"2","type":"function","function":{"name":"g","arguments":"{}"}}]}"#,
            "\n",
            r#"{"role":"user","content":"wait"}"#,
            "\n",
            r#"{"role":"tool","tool_call_id":"1","content":""}"#,
            "\n",
            r#"{"role":"tool","tool_call_id":"1","content":"again"}"#,
            "\n",
            r#"{"role":"tool","tool_call_id":"3","content":"of nothing"}"#,
            "\n",
            "broken\n",
        ),
    )]);
    place
        .run("compact in.jsonl --policy none --emit messages --report r.json")
        .exits(0);
    let conversation = &place.json("r.json")["files"][0]["conversations"][0];
    assert_eq!(
        losses(conversation),
        [
            ("unanswered_call", 1),
            ("orphan_result", 1),
            ("repeated_result", 1),
            ("result_moved", 1),
            ("broken_text", 1),
            ("bad_line", 1)
        ]
    );
    let messages = &lines(&place.text("in.messages.jsonl"))[0]["messages"];
    let roles = messages.as_array().unwrap().iter().map(|m| &m["role"]);
    assert_eq!(
        roles.collect::<Vec<_>>(),
        ["user", "assistant", "tool", "user"]
    );
    assert_eq!(messages[0]["content"], "a\u{fffd}");
    // The arguments are no JSON; Chat Completions has them as the model wrote them, Anthropic wants an object.
    assert_eq!(messages[1]["tool_calls"][0]["function"]["arguments"], "{");
    let ran = place.run("compact in.jsonl --policy none --emit anthropic-messages -o -");
    let messages = &lines(&ran.text())[0]["messages"];
    assert_eq!(messages[1]["content"][0]["input"], json!({"input": "{"}));
}

#[test]
fn an_archive_of_conversations_keeps_the_lines_that_it_knows() {
    let text = [
        r#"{"messages":[{"role":"user","content":"a"}],"tools":[],"id":7}"#,
        "oops",
        "",
        r#"{"messages":[{"role":"robot","content":"b"}]}"#,
        r#"{"messages":[]}"#,
        r#"{"messages":[{"role":"user","content":"c"}]}"#,
    ]
    .join("\n");
    let place = Place::with(&[("in.jsonl", text)]);
    place
        .run("compact in.jsonl --input-format openai --policy none --emit messages --report r.json")
        .exits(0);
    assert_eq!(
        place.text("in.messages.jsonl"),
        "{\"messages\":[{\"role\":\"user\",\"content\":\"a\"}]}\n{\"messages\":[{\"role\":\"user\",\"content\":\"c\"}]}\n"
    );
    let report = place.json("r.json");
    let first = &report["files"][0]["conversations"][0];
    assert_eq!(losses(first), [("field", 2)]);
}

#[test]
fn an_export_takes_no_ones_place() {
    let place = Place::with(&[("in.jsonl", CHAT), ("in.messages.jsonl", "mine")]);
    for (args, says) in [
        (
            "compact in.jsonl --emit messages --in-place",
            "cannot be used with",
        ),
        (
            "compact in.jsonl --emit messages --fork",
            "cannot be used with",
        ),
        (
            "compact in.jsonl --emit csv",
            "possible values: messages, anthropic-messages",
        ),
    ] {
        place.run(args).exits(2).says(&[says]);
    }
    place
        .run("compact in.jsonl --emit messages")
        .exits(3)
        .says(&["a report shows that ctxpack wrote it"]);
    assert_eq!(place.text("in.messages.jsonl"), "mine");
    // A dry run writes nothing, and reports the same.
    place
        .run("compact in.jsonl --policy none --emit messages -n --overwrite --report r.json")
        .exits(0)
        .says(&["1 conversation written"]);
    assert_eq!(place.text("in.messages.jsonl"), "mine");
}

#[test]
fn what_an_agent_does_not_send_as_a_message_is_told() {
    let codex = concat!(
        r#"{"timestamp":"2026-04-13T09:00:00.000Z","type":"session_meta","payload":{"id":"019","cwd":"/p","cli_version":"1","base_instructions":{"text":"Be Codex."}}}"#,
        "\n",
        r#"{"timestamp":"2026-04-13T09:00:01.000Z","type":"response_item","payload":{"type":"message","role":"developer","content":[{"type":"input_text","text":"Ask before you write."}]}}"#,
        "\n",
        r#"{"timestamp":"2026-04-13T09:00:02.000Z","type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"Hi."}]}}"#,
        "\n",
    );
    let pi = concat!(
        r#"{"type":"session","version":3,"id":"019","timestamp":"2026-04-13T09:00:00.000Z","cwd":"/p"}"#,
        "\n",
        r#"{"type":"message","id":"a","parentId":null,"timestamp":"2026-04-13T09:00:01.000Z","message":{"role":"user","content":[{"type":"text","text":"Hi."}],"timestamp":1}}"#,
        "\n",
        r#"{"type":"message","id":"b","parentId":"a","timestamp":"2026-04-13T09:00:02.000Z","message":{"role":"assistant","content":[{"type":"text","text":"I wi"}],"stopReason":"aborted","timestamp":2}}"#,
        "\n",
    );
    let copilot = concat!(
        r#"{"type":"session.start","data":{"sessionId":"s","version":1,"producer":"copilot-agent","copilotVersion":"1","startTime":"2026-04-13T09:00:00.000Z"},"id":"1","timestamp":"2026-04-13T09:00:00.000Z","parentId":null}"#,
        "\n",
        r#"{"type":"system.message","data":{"role":"system","content":"Be Copilot."},"id":"2","timestamp":"2026-04-13T09:00:01.000Z","parentId":"1"}"#,
        "\n",
        r#"{"type":"user.message","data":{"content":"Hi.","transformedContent":"Hi.","attachments":[]},"id":"3","timestamp":"2026-04-13T09:00:02.000Z","parentId":"2"}"#,
        "\n",
    );
    let gemini = r#"{"sessionId":"s","projectHash":"p","startTime":"2026-04-13T09:00:00.000Z","lastUpdated":"2026-04-13T09:00:01.000Z","messages":[{"id":"1","timestamp":"2026-04-13T09:00:00.000Z","type":"user","content":"Hi."},{"id":"2","timestamp":"2026-04-13T09:00:01.000Z","type":"gemini","content":"Hello.","thoughts":[{"subject":"a","description":"b","timestamp":"2026-04-13T09:00:01.000Z"},{"subject":"c","description":"d","timestamp":"2026-04-13T09:00:01.000Z"}],"tokens":{"input":1,"output":1,"cached":0,"thoughts":0,"tool":0,"total":2},"model":"m"}]}"#;
    for (name, text, expected) in [
        ("codex.jsonl", codex, ("instructions", 2)),
        ("pi.jsonl", pi, ("dead_line", 1)),
        ("copilot.jsonl", copilot, ("instructions", 1)),
        ("gemini.json", gemini, ("thinking", 2)),
    ] {
        let place = Place::with(&[(name, text)]);
        let command = format!("compact {name} --policy none --emit messages --report r.json");
        place.run(&command).exits(0);
        let report = place.json("r.json");
        let conversation = &report["files"][0]["conversations"][0];
        assert!(
            losses(conversation).contains(&expected),
            "{name}: {conversation}"
        );
    }
}
