//! pi sessions.

use super::*;

fn header() -> String {
    r#"{"type":"session","version":3,"id":"s","cwd":"/w"}"#.to_owned()
}

/// An entry with an id, whose parent is the preceding letter of the alphabet; `a` is a root.
fn entry(id: char, message: &str) -> String {
    let parent = match id {
        'a' => "null".to_owned(),
        id => format!("\"{}\"", char::from(id as u8 - 1)),
    };
    format!(r#"{{"type":"message","id":"{id}","parentId":{parent},"message":{{{message}}}}}"#)
}

fn go(id: char) -> String {
    entry(id, r#""role":"user","content":"go""#)
}

fn calls(id: char, ids: &[&str], stop: &str) -> String {
    let call =
        |id: &&str| format!(r#"{{"type":"toolCall","id":"{id}","name":"f","arguments":{{}}}}"#);
    let calls: Vec<String> = ids.iter().map(call).collect();
    let calls = calls.join(",");
    entry(
        id,
        &format!(r#""role":"assistant","content":[{calls}],"usage":{{}},"stopReason":"{stop}""#),
    )
}

fn result(id: char, of: &str) -> String {
    result_of(id, of, "[]")
}

fn result_of(id: char, of: &str, content: &str) -> String {
    entry(
        id,
        &format!(r#""role":"toolResult","toolCallId":"{of}","toolName":"f","content":{content}"#),
    )
}

fn compaction(id: char, parent: &str, rest: &str) -> String {
    format!(r#"{{"type":"compaction","id":"{id}","parentId":{parent}{rest}}}"#)
}

#[test]
fn calls_and_results_are_pairs_but_for_answers_that_broke_off() {
    let history = |lines: &[String]| [&[header(), go('a')], lines].concat();
    check(
        Format::Pi,
        &[
            (
                "each call has its result",
                history(&[
                    calls('b', &["1", "2"], "toolUse"),
                    result('c', "2"),
                    result('d', "1"),
                ]),
                &[],
            ),
            (
                "nobody sends an answer that broke off",
                history(&[
                    calls('b', &["1"], "aborted"),
                    go('c'),
                    calls('d', &["2"], "error"),
                ]),
                &[],
            ),
            (
                "a call without a result",
                history(&[
                    calls('b', &["1", "2"], "toolUse"),
                    result('c', "1"),
                    go('d'),
                ]),
                &["error missing-result 3 2"],
            ),
            (
                "a result without a call, and one behind words",
                history(&[
                    result('b', "0"),
                    calls('c', &["1"], "toolUse"),
                    go('d'),
                    result('e', "1"),
                ]),
                &[
                    "error orphan-result 3 0",
                    "error missing-result 4 1",
                    "error orphan-result 6 1",
                ],
            ),
            (
                "two results, two calls",
                history(&[
                    calls('b', &["1"], "toolUse"),
                    result('c', "1"),
                    result('d', "1"),
                    calls('e', &["1"], "toolUse"),
                    result('f', "1"),
                ]),
                &["error duplicate-result 5 1", "error duplicate-call 6 1"],
            ),
            (
                "a content that is no list",
                history(&[
                    calls('b', &["1"], "toolUse"),
                    result_of('c', "1", "\"out\""),
                ]),
                &["error content-not-list 4 1"],
            ),
        ],
    );
}

#[test]
fn what_the_agent_needs_is_there() {
    let kept = |id: &str| format!(r#","summary":"so","firstKeptEntryId":"{id}""#);
    check(
        Format::Pi,
        &[
            ("no header", vec![go('a')], &["error header-missing 1 "]),
            (
                "a parent that is not there",
                vec![header(), go('c')],
                &["error chain-parent-missing 2 c"],
            ),
            (
                "the last answer has no usage",
                vec![
                    header(),
                    go('a'),
                    entry(
                        'b',
                        r#""role":"assistant","content":[],"stopReason":"stop""#,
                    ),
                ],
                &["error usage-missing 3 b"],
            ),
            (
                "a compaction keeps what is there, or nothing",
                vec![
                    header(),
                    go('a'),
                    compaction('b', "\"a\"", &kept("a")),
                    go('c'),
                ],
                &[],
            ),
            (
                "it may name itself",
                vec![header(), go('a'), compaction('b', "\"a\"", &kept("b"))],
                &[],
            ),
            (
                "a compaction that keeps what is not there",
                vec![header(), go('a'), compaction('b', "\"a\"", &kept("x"))],
                &["error preserved-missing 3 b"],
            ),
            (
                "a compaction without a summary",
                vec![
                    header(),
                    go('a'),
                    compaction('b', "\"a\"", r#","firstKeptEntryId":"a""#),
                ],
                &["error summary-malformed 3 b"],
            ),
            (
                "a tail that begins with an answer",
                vec![header(), calls('a', &[], "stop")],
                &["error first-not-user 2 a"],
            ),
        ],
    );
}

#[test]
fn the_first_version_names_entries_by_their_numbers() {
    let history = |number: u32| {
        vec![
            r#"{"type":"session","id":"s","cwd":"/w"}"#.to_owned(),
            r#"{"type":"message","message":{"role":"user","content":"go"}}"#.to_owned(),
            format!(r#"{{"type":"compaction","summary":"so","firstKeptEntryIndex":{number}}}"#),
        ]
    };
    check(
        Format::Pi,
        &[
            ("the message", history(1), &[]),
            ("itself", history(2), &[]),
            ("nobody", history(3), &["error preserved-missing 3 "]),
        ],
    );
}
