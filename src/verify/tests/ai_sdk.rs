//! Model messages of the AI SDK.

use super::*;

fn go() -> String {
    r#"{"role":"user","content":"go"}"#.to_owned()
}

fn calls(ids: &[&str]) -> String {
    let call = |id: &&str| {
        format!(r#"{{"type":"tool-call","toolCallId":"{id}","toolName":"f","input":{{}}}}"#)
    };
    let calls: Vec<String> = ids.iter().map(call).collect();
    format!(r#"{{"role":"assistant","content":[{}]}}"#, calls.join(","))
}

fn results(ids: &[&str]) -> String {
    let result = |id: &&str| {
        format!(
            r#"{{"type":"tool-result","toolCallId":"{id}","toolName":"f","output":{{"type":"text","value":"x"}}}}"#
        )
    };
    let results: Vec<String> = ids.iter().map(result).collect();
    format!(r#"{{"role":"tool","content":[{}]}}"#, results.join(","))
}

#[test]
fn calls_and_results_are_pairs_until_somebody_else_speaks() {
    let asks = r#"{"role":"assistant","content":[{"type":"tool-call","toolCallId":"1","toolName":"f","input":{}},{"type":"tool-approval-request","approvalId":"a","toolCallId":"1"}]}"#;
    let granted = r#"{"role":"tool","content":[{"type":"tool-approval-response","approvalId":"a","approved":true}]}"#;
    let by_provider = r#"{"role":"assistant","content":[{"type":"tool-call","toolCallId":"1","toolName":"web","input":{},"providerExecuted":true},{"type":"tool-result","toolCallId":"1","toolName":"web","output":{"type":"json","value":[]}}]}"#;
    check(
        Format::AiSdk,
        &[
            (
                "each call has its result, in one message or in several",
                vec![
                    go(),
                    calls(&["1", "2"]),
                    results(&["2"]),
                    results(&["1"]),
                    go(),
                ],
                &[],
            ),
            (
                "an answer may go on before the results come",
                vec![go(), calls(&["1"]), calls(&["2"]), results(&["1", "2"])],
                &[],
            ),
            (
                "what waits for an approval, and what got it",
                vec![
                    go(),
                    asks.to_owned(),
                    go(),
                    asks.to_owned(),
                    granted.to_owned(),
                    results(&["1"]),
                ],
                &["warning duplicate-call 4 1"],
            ),
            (
                "a provider's own tools",
                vec![go(), by_provider.to_owned()],
                &[],
            ),
            (
                "a call without a result",
                vec![go(), calls(&["1", "2"]), results(&["1"]), go()],
                &["error missing-result 2 2"],
            ),
            (
                "results without calls",
                vec![
                    go(),
                    results(&["0"]),
                    calls(&["1"]),
                    results(&["1", "1"]),
                    go(),
                    results(&["1"]),
                ],
                &[
                    "error orphan-result 2 0",
                    "error duplicate-result 4 1",
                    "error orphan-result 6 1",
                ],
            ),
            (
                "two calls with one id",
                vec![go(), calls(&["1", "1"]), results(&["1"])],
                &["error duplicate-call 2 1"],
            ),
        ],
    );
}

#[test]
fn a_message_has_a_content_of_its_kind() {
    check(
        Format::AiSdk,
        &[
            (
                "a tool's is a list",
                vec![go(), r#"{"role":"tool","content":"x"}"#.to_owned()],
                &["error content-not-list 2 "],
            ),
            (
                "nobody's is missing",
                vec![go(), r#"{"role":"assistant","content":null}"#.to_owned()],
                &["error empty-message 2 "],
            ),
            (
                "the system speaks first",
                vec![go(), r#"{"role":"system","content":"be"}"#.to_owned()],
                &["warning misplaced-system 2 "],
            ),
        ],
    );
}
