//! Calls of every shape, counted by both readers.

use super::*;
use crate::facts::tests::read_as;
use crate::format::Format;

/// Counted by both readers.
fn count(lines: &[&str]) -> u64 {
    for line in lines {
        let (mut plain, mut odd) = (Found::default(), Found::default());
        plain.add_line(line.as_bytes());
        odd.add_odd(line.as_bytes());
        assert_eq!(plain.0, odd.0, "{line}");
    }
    calls_in(lines.iter().map(|line| line.as_bytes()), Repeats::Copies)
}

#[test]
fn odd_lines_are_read_as_serde_json_reads_them() {
    let call = r#"{"type":"tool_use","id":"a"}"#;
    let deep = "[".repeat(130) + &"]".repeat(130);
    for odd in [
        "\"\\ud800\"",
        "1e400",
        "1e2",
        "123456789012345678901234",
        &deep,
        "{\"a\":1,\"a\":2}",
    ] {
        count(&[
            &format!("[{call},{odd},{call}]"),
            &format!("[{call}] {odd}"),
        ]);
        count(&[&format!(
            r#"{{"type":"tool_use","id":{odd},"tool_call_id":"b","input":{odd}}}"#
        )]);
    }
    count(&[
        r#"{"type":"tool_use","id":"","call_id":7,"call_id":"\u0061","type":1,"input":{ "x" : 1 }}"#,
    ]);
}

#[test]
fn calls_of_every_published_shape_count() {
    for line in [
        r#"{"type":"assistant","message":{"content":[{"type" : "tool_use","id":"a","name":"Bash","input":{}}]}}"#,
        r#"{"role":"assistant","tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}]}"#,
        r#"{"role":"assistant","content":[{"type":"tool-call","toolCallId":"a","toolName":"f","args":{}}]}"#,
        r#"{"type":"response_item","payload":{"type":"function_call","id":"fc_1","call_id":"a","arguments":"{}"}}"#,
        r#"{"type":"response_item","payload":{"type":"custom_tool_call","call_id":"a","input":"x"}}"#,
        r#"{"type":"message","message":{"content":[{"type":"toolCall","id":"a","arguments":{}}]}}"#,
        r#"{"type":"gemini","toolCalls":[{"id":"a","name":"f","args":{}}]}"#,
        r#"{"type":"assistant.message","data":{"content":"","toolRequests":[{"toolCallId":"a","name":"view","arguments":{}}]}}"#,
        r#"{"$set":{"messages":[{"type":"gemini","toolCalls":[{"id":"a","name":"f","args":{},"status":"success","result":[{"functionResponse":{"id":"a"}}]}]}]}}"#,
        r#"{"role":"model","parts":[{"functionCall":{"name":"f","args":{}}}]}"#,
    ] {
        assert_eq!(count(&[line]), 1, "{line}");
    }
}

#[test]
fn what_is_written_again_counts_once() {
    let call = r#"{"content":[{"type":"tool_use","id":"a"}]}"#;
    let other =
        r#"{"content":[{"type":"tool_use","id":"b"},{"type":"tool_use"},{"type":"tool_use"}]}"#;
    assert_eq!(count(&[call, other, call]), 4);
}

#[test]
fn an_id_that_is_used_again_is_another_call() {
    let call = |input: &str| {
        format!(
            r#"{{"tool_calls":[{{"id":"a","function":{{"name":"f","arguments":"{input}"}}}}]}}"#
        )
    };
    assert_eq!(count(&[&call("1"), &call("2"), &call("1")]), 2);
}

#[test]
fn what_looks_like_a_call_in_texts_and_inputs_is_none() {
    assert_eq!(
        count(&[
            r#"{"role":"user","content":"{\"type\":\"tool_use\",\"id\":\"a\"}"}"#,
            r#"{"type":"function_call_output","call_id":"a","output":"function_call\""}"#,
            r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"a"}]}"#,
            r#"{"type":"progress","data":{"message":{"content":[{"type":"tool_use","id":"a"}]}}}"#,
            r#"{"type":"server_tool_use","id":"a"}"#,
            r#"{"type":"message","message":{"content":[{"type":"toolCall","id":"a"}],"stopReason":"aborted"}}"#,
            r#"{"type":"tool_use","#,
        ]),
        0
    );
    let nested = r#"{"type":"tool_use","id":"a","input":{"x":{"type":"tool_use","id":"b"}}}"#;
    assert_eq!(count(&[nested]), 1);
}

#[test]
fn lines_of_which_all_marked_calls_were_read_are_not_walked_through() {
    let long = format!("{} tool_use", "a text ".repeat(20));
    let call = r#"{"type":"tool_use","id":"a","name":"Bash","input":{"command":"ls"}}"#;
    let read =
        format!(r#"{{"role":"assistant","content":[{{"type":"text","text":"{long}"}},{call}]}}"#);
    let said = format!(r#"{{"role":"user","content":"{long}"}}"#);
    let transcript = |lines: &[&str]| read_as(Format::Anthropic, &lines.join("\n"));
    assert_eq!(
        raw_calls(&transcript(&[&read, &said, &read]), Repeats::Copies),
        None
    );
    // More marks than calls: here in an input, and in the reason.
    let twice = read.replace("ls", r#"ls","x":{"type":"tool_use","id":"b"},"y":""#);
    let reason = read.replace("}]}", r#"}],"stop_reason": "tool_use"}"#);
    assert_eq!(
        raw_calls(&transcript(&[&read, &twice, &reason]), Repeats::Copies),
        None
    );
    let unread = format!(r#"{{"kind":"note","about":{call}}}"#);
    assert_eq!(
        raw_calls(&transcript(&[&read, &unread]), Repeats::Copies),
        Some(1)
    );
    let listed = r#"{"role":"assistant","content":"","tool_calls":[{"id":"b"},{"id":"c"}]}"#;
    assert_eq!(
        raw_calls(&transcript(&[&read, listed]), Repeats::Copies),
        Some(3)
    );
}
