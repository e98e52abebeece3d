//! Histories of OpenAI messages, one per line or all on one line.

use super::*;

fn says(role: &str, words: &str) -> String {
    format!(r#"{{"role":"{role}","content":"{words}"}}"#)
}

fn go() -> String {
    says("user", "go")
}

fn calls(ids: &[&str]) -> String {
    let call = |id: &&str| {
        format!(r#"{{"id":"{id}","type":"function","function":{{"name":"f","arguments":"{{}}"}}}}"#)
    };
    let calls: Vec<String> = ids.iter().map(call).collect();
    format!(
        r#"{{"role":"assistant","content":null,"tool_calls":[{}]}}"#,
        calls.join(",")
    )
}

fn result(id: &str) -> String {
    format!(r#"{{"role":"tool","tool_call_id":"{id}","content":"out"}}"#)
}

fn old_call(name: &str) -> String {
    format!(
        r#"{{"role":"assistant","content":null,"function_call":{{"name":"{name}","arguments":"{{}}"}}}}"#
    )
}

fn old_result(name: &str) -> String {
    format!(r#"{{"role":"function","name":"{name}","content":null}}"#)
}

#[test]
fn valid_histories_have_no_findings() {
    let history = || {
        vec![
            says("system", "be"),
            says("developer", "be"),
            go(),
            calls(&["a", "b"]),
            result("b"),
            result("a"),
            calls(&["c"]),
            result("c"),
            says("assistant", ""),
            old_call("f"),
            old_result("f"),
            says("assistant", "done"),
        ]
    };
    let on_one_line = format!(r#"{{"messages":[{}]}}"#, history().join(","));
    let other = |field: &str| vec![format!(r#"{{"role":"assistant",{field}}}"#)];
    check(
        Format::OpenAi,
        &[
            ("every kind of message", history(), &[]),
            ("the same on one line", vec![on_one_line], &[]),
            ("a refusal", other(r#""content":null,"refusal":"no""#), &[]),
            ("reasoning alone", other(r#""reasoning_content":"hm""#), &[]),
            (
                "words spoken",
                other(r#""content":null,"audio":{"id":"a"}"#),
                &[],
            ),
            (
                "an old result without a name",
                vec![old_call("f"), old_result("")],
                &[],
            ),
        ],
    );
}

#[test]
fn calls_are_answered_at_once() {
    check(
        Format::OpenAi,
        &[
            (
                "a call without result, in the middle and at the end",
                vec![calls(&["a", "b"]), result("b"), go(), calls(&["c"])],
                &["error missing-result 1 a", "error missing-result 4 c"],
            ),
            (
                "words in between",
                vec![calls(&["a"]), go(), result("a")],
                &["error missing-result 1 a", "error orphan-result 3 a"],
            ),
            (
                "a result without call",
                vec![go(), result("a"), calls(&["b"]), result("b"), result("a")],
                &["error orphan-result 2 a", "error orphan-result 5 a"],
            ),
            (
                "two results for a call",
                vec![calls(&["a"]), result("a"), result("a")],
                &["error duplicate-result 3 a"],
            ),
            (
                "an id twice in one answer",
                vec![calls(&["a", "a"]), result("a"), result("a")],
                &["error duplicate-call 1 a"],
            ),
            (
                "an id again in a later answer",
                vec![calls(&["a"]), result("a"), calls(&["a"]), result("a")],
                &["warning duplicate-call 3 a"],
            ),
            (
                "an old result of another function",
                vec![old_call("f"), old_result("g")],
                &["error orphan-result 2 ", "error missing-result 1 "],
            ),
            (
                "two old results",
                vec![old_call("f"), old_result("f"), old_result("f")],
                &["error duplicate-result 3 "],
            ),
        ],
    );
}

#[test]
fn messages_have_contents_and_calls_have_arguments() {
    let raw = |line: &str| vec![line.to_owned()];
    check(
        Format::OpenAi,
        &[
            (
                "an answer of nothing",
                raw(r#"{"role":"assistant","content":null,"refusal":null,"tool_calls":[]}"#),
                &["error empty-message 1 "],
            ),
            (
                "a user without words",
                raw(r#"{"role":"user","content":null}"#),
                &["error empty-message 1 "],
            ),
            (
                "an empty list",
                raw(r#"{"role":"user","content":[ ]}"#),
                &["error empty-message 1 "],
            ),
            (
                "neither string nor list",
                raw(r#"{"role":"user","content":{"a":1}}"#),
                &["error empty-message 1 "],
            ),
            (
                "a result of nothing",
                vec![
                    calls(&["a"]),
                    r#"{"role":"tool","tool_call_id":"a","content":null}"#.to_owned(),
                ],
                &["error empty-message 2 a"],
            ),
            (
                "arguments that are an object",
                vec![calls(&["a"]).replace(r#""{}""#, "{}"), result("a")],
                &["error arguments-not-string 1 a"],
            ),
            (
                "a call without a name, and one without arguments",
                vec![
                    calls(&["a"]).replace(r#""name":"f","#, ""),
                    result("a"),
                    calls(&["b"]).replace(r#","arguments":"{}""#, ""),
                    result("b"),
                ],
                &["error malformed-call 1 a", "error malformed-call 3 b"],
            ),
            (
                "no messages",
                raw(r#"{"messages":[]}"#),
                &["error no-conversation 1 "],
            ),
        ],
    );
}

#[test]
fn system_messages_come_first_and_everything_is_json() {
    check(
        Format::OpenAi,
        &[
            (
                "a system message later",
                vec![says("system", "be"), go(), says("developer", "be")],
                &["warning misplaced-system 3 "],
            ),
            (
                "half of a surrogate pair",
                vec![
                    says("user", r"\ud800"),
                    calls(&["a"]),
                    result("a").replace("out", r"\udc00"),
                ],
                &["error invalid-json 1 ", "error invalid-json 3 a"],
            ),
            (
                "a line that is not a message",
                vec![go(), "nope".to_owned()],
                &["warning invalid-json 2 "],
            ),
        ],
    );
}
