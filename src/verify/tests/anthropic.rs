//! Histories of Anthropic messages, one per line.

use super::*;

fn line(role: &str, blocks: &[String]) -> String {
    format!(r#"{{"role":"{role}","content":[{}]}}"#, blocks.join(","))
}

fn user(blocks: &[String]) -> String {
    line("user", blocks)
}

fn assistant(blocks: &[String]) -> String {
    line("assistant", blocks)
}

fn says(role: &str, words: &str) -> String {
    format!(r#"{{"role":"{role}","content":"{words}"}}"#)
}

fn go() -> String {
    says("user", "go")
}

fn text(words: &str) -> String {
    format!(r#"{{"type":"text","text":"{words}"}}"#)
}

fn call(id: &str) -> String {
    format!(r#"{{"type":"tool_use","id":"{id}","name":"Bash","input":{{}}}}"#)
}

fn result(id: &str) -> String {
    format!(r#"{{"type":"tool_result","tool_use_id":"{id}","content":"out"}}"#)
}

fn thinking() -> String {
    r#"{"type":"thinking","thinking":"","signature":"sig"}"#.to_owned()
}

fn server_call(id: &str) -> String {
    format!(r#"{{"type":"server_tool_use","id":"{id}","name":"web_search","input":{{}}}}"#)
}

fn server_result(id: &str) -> String {
    format!(r#"{{"type":"web_search_tool_result","tool_use_id":"{id}","content":[]}}"#)
}

#[test]
fn valid_histories_have_no_findings() {
    check(
        Format::Anthropic,
        &[
            ("nothing at all", vec![], &[]),
            ("one message", vec![go()], &[]),
            (
                "parallel calls, answered in any order, words after the results",
                vec![
                    go(),
                    assistant(&[thinking(), text("so"), call("a"), call("b")]),
                    user(&[result("b"), result("a"), text("and")]),
                    assistant(&[call("c")]),
                    user(&[result("c")]),
                ],
                &[],
            ),
            (
                "messages of one role in a row are one",
                vec![
                    go(),
                    says("user", "on"),
                    assistant(&[call("a")]),
                    assistant(&[call("b")]),
                    user(&[result("a")]),
                    user(&[result("b")]),
                ],
                &[],
            ),
            (
                "an id is what it reads as, however it is escaped",
                vec![go(), assistant(&[call(r"\u0061")]), user(&[result("a")])],
                &[],
            ),
            (
                "a provider's tool answers in the same answer, the next one, or later",
                vec![
                    go(),
                    assistant(&[
                        server_call("s1"),
                        server_result("s1"),
                        server_call("s2"),
                        call("a"),
                    ]),
                    user(&[result("a")]),
                    assistant(&[server_result("s2"), text("so")]),
                    go(),
                    assistant(&[server_call("s3"), call("b")]),
                    user(&[result("b")]),
                ],
                &[],
            ),
            (
                "thinking alone, in the middle",
                vec![go(), assistant(&[thinking()]), go()],
                &[],
            ),
            (
                "surrogate pairs, and what only looks like half of one",
                vec![says("user", r"\ud83d\ude00 \\ud800")],
                &[],
            ),
            ("a blank line", vec![go(), String::new(), go()], &[]),
        ],
    );
}

#[test]
fn calls_and_results_belong_together() {
    check(
        Format::Anthropic,
        &[
            (
                "a call without result",
                vec![
                    go(),
                    assistant(&[call("a"), call("b")]),
                    user(&[result("b")]),
                ],
                &["error missing-result 2 a"],
            ),
            (
                "a call at the end",
                vec![go(), assistant(&[call("a")])],
                &["warning last-not-user 2 ", "error missing-result 2 a"],
            ),
            (
                "a result that comes a message late",
                vec![
                    go(),
                    assistant(&[call("a")]),
                    go(),
                    assistant(&[text("so")]),
                    user(&[result("a")]),
                ],
                &["error missing-result 2 a", "error orphan-result 5 a"],
            ),
            (
                "a result at the beginning",
                vec![user(&[result("a"), text("go")])],
                &["error orphan-result 1 a"],
            ),
            (
                "an id used again",
                vec![
                    go(),
                    assistant(&[call("a")]),
                    user(&[result("a")]),
                    assistant(&[call("a")]),
                    user(&[result("a")]),
                ],
                &["error duplicate-call 4 a"],
            ),
            (
                "two results for a call",
                vec![
                    go(),
                    assistant(&[call("a")]),
                    user(&[result("a"), result("a")]),
                ],
                &["error duplicate-result 3 a"],
            ),
            (
                "an id of other characters",
                vec![
                    go(),
                    assistant(&[call("Bash:0")]),
                    user(&[result("Bash:0")]),
                ],
                &["error invalid-id 2 Bash:0"],
            ),
            (
                "a call without a name, and one whose input is a text",
                vec![
                    go(),
                    assistant(&[
                        call("a").replace(r#","name":"Bash""#, ""),
                        call("b").replace("{}", r#""{}""#),
                    ]),
                    user(&[result("a"), result("b")]),
                ],
                &["error malformed-call 2 a", "error malformed-call 2 b"],
            ),
            (
                "a call of the user, and a result in an answer",
                vec![
                    go(),
                    assistant(&[call("a"), result("a")]),
                    user(&[result("a"), call("b")]),
                ],
                &["error misplaced-block 2 a", "error misplaced-block 3 b"],
            ),
            (
                "no ids",
                vec![go(), assistant(&[call("")]), user(&[result("")])],
                &["error invalid-id 2 ", "error orphan-result 3 "],
            ),
            (
                "words before a result, in its message or in one that is joined to it",
                vec![
                    go(),
                    assistant(&[call("a"), call("b")]),
                    user(&[result("a"), text("so"), result("b")]),
                    assistant(&[call("c")]),
                    go(),
                    user(&[result("c")]),
                ],
                &["error results-not-first 3 b", "error results-not-first 6 c"],
            ),
        ],
    );
}

#[test]
fn a_providers_own_tools_are_answered_behind_their_calls() {
    check(
        Format::Anthropic,
        &[
            (
                "a result without call, and one before its call",
                vec![
                    go(),
                    assistant(&[server_result("s1"), text("so")]),
                    go(),
                    assistant(&[server_result("s2"), server_call("s2")]),
                    go(),
                ],
                &[
                    "error orphan-server-result 2 s1",
                    "error orphan-server-result 4 s2",
                ],
            ),
            (
                "a result that comes two answers late",
                vec![
                    go(),
                    assistant(&[server_call("s1")]),
                    go(),
                    assistant(&[text("so")]),
                    go(),
                    assistant(&[server_result("s1"), text("so")]),
                    go(),
                ],
                &[
                    "error missing-server-result 2 s1",
                    "error orphan-server-result 6 s1",
                ],
            ),
        ],
    );
}

#[test]
fn nothing_that_is_sent_is_empty() {
    check(
        Format::Anthropic,
        &[
            (
                "an empty text block",
                vec![user(&[text(""), text("go")])],
                &["error empty-text 1 "],
            ),
            (
                "empty contents of every shape",
                vec![
                    says("user", ""),
                    assistant(&[]),
                    r#"{"role":"user","content":null}"#.to_owned(),
                    r#"{"role":"user"}"#.to_owned(),
                ],
                &[
                    "error empty-message 1 ",
                    "error empty-message 2 ",
                    "error empty-message 3 ",
                    "error empty-message 4 ",
                ],
            ),
            (
                "the last answer may be empty",
                vec![go(), assistant(&[])],
                &["warning last-not-user 2 "],
            ),
        ],
    );
}

#[test]
fn thinking_is_signed_and_in_its_place() {
    let unsigned = || r#"{"type":"thinking","thinking":"hm"}"#.to_owned();
    let empty = || r#"{"type":"thinking","thinking":"\"signature\":","signature":""}"#.to_owned();
    check(
        Format::Anthropic,
        &[
            (
                "no signature, and an empty one",
                vec![
                    go(),
                    assistant(&[unsigned(), text("so")]),
                    go(),
                    assistant(&[empty(), text("so")]),
                    go(),
                ],
                &["error unsigned-thinking 2 ", "warning unsigned-thinking 4 "],
            ),
            (
                "thinking at the very end",
                vec![go(), assistant(&[text("so"), thinking()])],
                &["warning last-not-user 2 ", "error thinking-last 2 "],
            ),
            (
                "a last tool loop that has its thinking in the middle",
                vec![
                    go(),
                    assistant(&[text("so"), thinking(), call("a")]),
                    user(&[result("a")]),
                ],
                &["warning thinking-not-first 2 "],
            ),
        ],
    );
}

#[test]
fn the_user_speaks_first_and_last_and_nobody_else_comes_between() {
    check(
        Format::Anthropic,
        &[
            (
                "an answer at the beginning",
                vec![assistant(&[text("so")]), go()],
                &["error first-not-user 1 "],
            ),
            (
                "an answer at the end",
                vec![go(), assistant(&[text("so")])],
                &["warning last-not-user 2 "],
            ),
            (
                "system messages, which come between nobody",
                vec![
                    says("system", "be"),
                    go(),
                    assistant(&[call("a")]),
                    says("system", "be"),
                    user(&[result("a")]),
                ],
                &["warning misplaced-system 1 ", "warning misplaced-system 4 "],
            ),
        ],
    );
}

#[test]
fn what_is_sent_is_json_for_every_reader() {
    check(
        Format::Anthropic,
        &[
            (
                "half of a surrogate pair, in words and in a result",
                vec![
                    says("user", r"go \uD83D"),
                    assistant(&[call("a")]),
                    user(&[result("a").replace("out", r"\udc00\ud800")]),
                ],
                &["error invalid-json 1 ", "error invalid-json 3 a"],
            ),
            (
                "lines that are no messages",
                vec![
                    go(),
                    "// note".to_owned(),
                    "[1]".to_owned(),
                    r#"{"role":"#.to_owned(),
                ],
                &[
                    "warning invalid-json 2 ",
                    "warning invalid-json 3 ",
                    "warning invalid-json 4 ",
                ],
            ),
            (
                "half of a pair outside of what is sent",
                vec![r#"{"role":"user","content":"go","note":"\ud800"}"#.to_owned()],
                &[],
            ),
        ],
    );
    let bytes = b"{\"role\":\"user\",\"content\":\"\xff\"}";
    let transcript = Format::Anthropic.read(bytes, 1, &mut Warnings::default());
    let findings = Format::Anthropic.verify(&transcript);
    assert_eq!(findings.len(), 1);
    assert_eq!(findings[0].rule, Rule::InvalidJson);
    assert_eq!(findings[0].severity, Severity::Error);
    assert_eq!(findings[0].message, "bytes that are not UTF-8");
}
