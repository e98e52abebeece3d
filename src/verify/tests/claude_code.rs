//! Session files: the messages of live windows, and the chain.

use std::sync::Arc;

use super::*;

/// A line of a session; `rest` are further members of its object.
fn line(kind: &str, id: &str, parent: &str, rest: &str) -> String {
    let parent = match parent {
        "" => "null".to_owned(),
        parent => format!("\"{parent}\""),
    };
    format!(r#"{{"type":"{kind}","uuid":"{id}","parentUuid":{parent},{rest}}}"#)
}

fn words(role: &str) -> String {
    format!(r#""message":{{"role":"{role}","content":"words"}}"#)
}

fn user(id: &str, parent: &str) -> String {
    line("user", id, parent, &words("user"))
}

fn part(id: &str, parent: &str, message: &str, block: &str) -> String {
    let rest = format!(r#""message":{{"id":"{message}","role":"assistant","content":[{block}]}}"#);
    line("assistant", id, parent, &rest)
}

fn answer(id: &str, parent: &str) -> String {
    part(id, parent, id, r#"{"type":"text","text":"so"}"#)
}

fn call(id: &str, parent: &str, message: &str, call: &str) -> String {
    let block = format!(r#"{{"type":"tool_use","id":"{call}","name":"Bash","input":{{}}}}"#);
    part(id, parent, message, &block)
}

fn result(id: &str, parent: &str, call: &str) -> String {
    let block = format!(r#"{{"type":"tool_result","tool_use_id":"{call}","content":"out"}}"#);
    let rest = format!(r#""message":{{"role":"user","content":[{block}]}},"toolUseResult":"out""#);
    line("user", id, parent, &rest)
}

fn attachment(id: &str, parent: &str) -> String {
    line("attachment", id, parent, r#""attachment":{"type":"file"}"#)
}

fn boundary(id: &str, metadata: &str) -> String {
    let rest = format!(r#""subtype":"compact_boundary","compactMetadata":{{{metadata}}}"#);
    line("system", id, "", &rest)
}

fn summary(id: &str, parent: &str) -> String {
    let rest = format!(r#"{},"isCompactSummary":true"#, words("user"));
    line("user", id, parent, &rest)
}

fn aside(line: &str) -> String {
    line.replace("\"uuid\"", "\"isSidechain\":true,\"uuid\"")
}

fn last_prompt(leaf: &str) -> String {
    format!(r#"{{"type":"last-prompt","leafUuid":"{leaf}"}}"#)
}

#[test]
fn valid_sessions_have_no_findings() {
    check(
        Format::ClaudeCode,
        &[
            (
                "a split message, parallel calls, a result off the path, things attached between",
                vec![
                    user("u1", ""),
                    part(
                        "a1",
                        "u1",
                        "m1",
                        r#"{"type":"thinking","thinking":"","signature":"s"}"#,
                    ),
                    call("a2", "a1", "m1", "t1"),
                    call("a3", "a2", "m1", "t2"),
                    result("r1", "a2", "t1"),
                    attachment("x1", "a3"),
                    result("r2", "x1", "t2"),
                    attachment("x2", "r2"),
                    call("a4", "x2", "m2", "t3"),
                    result("r3", "a4", "t3"),
                    answer("a5", "r3"),
                    last_prompt("u1"),
                ],
                &[],
            ),
            (
                "something attached between calls of two answers",
                vec![
                    user("u1", ""),
                    call("a1", "u1", "m1", "t1"),
                    attachment("x1", "a1"),
                    call("a2", "x1", "m2", "t2"),
                    result("r1", "a2", "t1"),
                    result("r2", "r1", "t2"),
                ],
                &[],
            ),
            (
                "an abandoned branch, with an id that is used again",
                vec![
                    user("u1", ""),
                    call("b1", "u1", "m0", "t1"),
                    call("a1", "u1", "m1", "t1"),
                    result("r1", "a1", "t1"),
                ],
                &[],
            ),
            (
                "a compaction, a summary, what was before and what comes after",
                vec![
                    user("u0", "gone"),
                    answer("a0", "u0"),
                    boundary("b", ""),
                    summary("s", "b"),
                    user("u1", "s"),
                    answer("a1", "u1"),
                ],
                &[],
            ),
            (
                "an older compaction, and a summary that nothing marks as one",
                vec![
                    boundary("b1", ""),
                    summary("s1", "b1"),
                    boundary("b2", "").replace("null", r#""gone""#),
                    user("s2", "b2"),
                ],
                &[],
            ),
            (
                "a compaction of a sidechain, which nobody resumes",
                vec![
                    user("u1", ""),
                    aside(&boundary("sb", "")),
                    aside(&summary("ss", "sb")),
                    aside(&user("s1", "sb")),
                    answer("a1", "u1"),
                ],
                &[],
            ),
            (
                "a compaction that keeps lines from before it, in spite of their dropped parents",
                vec![
                    user("u1", "gone"),
                    answer("a1", "gone too"),
                    boundary(
                        "b",
                        r#""preservedMessages":{"anchorUuid":"s","uuids":["u1","a1"],"allUuids":["u1","never written"]}"#,
                    ),
                    summary("s", "b"),
                    user("u2", "s"),
                ],
                &[],
            ),
            (
                "the same as a segment",
                vec![
                    user("u1", "gone"),
                    answer("a1", "u1"),
                    boundary(
                        "b",
                        r#""preservedSegment":{"headUuid":"u1","anchorUuid":"s","tailUuid":"a1"}"#,
                    ),
                    summary("s", "b"),
                ],
                &[],
            ),
            (
                "a sidechain in the file, and a file that is one",
                vec![
                    user("u1", ""),
                    aside(&user("s1", "")),
                    aside(&answer("s2", "s1")),
                    answer("a1", "u1"),
                ],
                &[],
            ),
            (
                "a sidechain alone",
                vec![aside(&user("s1", "")), aside(&answer("s2", "s1"))],
                &[],
            ),
            (
                "an error that the agent wrote down stands between nobody",
                vec![
                    user("u1", ""),
                    call("a1", "u1", "m1", "t1"),
                    line(
                        "assistant",
                        "e",
                        "a1",
                        r#""isApiErrorMessage":true,"message":{"id":"e","role":"assistant","content":[{"type":"text","text":""}]}"#,
                    ),
                    result("r1", "e", "t1"),
                ],
                &[],
            ),
            (
                "words before results, which the agent sorts",
                vec![
                    user("u1", ""),
                    call("a1", "u1", "m1", "t1"),
                    user("u2", "a1"),
                    result("r1", "u2", "t1"),
                ],
                &[],
            ),
            (
                "garbage and session lines",
                vec![
                    "// note".to_owned(),
                    r#"{"type":"summary","summary":"t","leafUuid":"elsewhere"}"#.to_owned(),
                    user("u1", ""),
                    "nope".to_owned(),
                ],
                &[],
            ),
        ],
    );
}

#[test]
fn the_rules_of_the_api_hold_for_what_is_live() {
    check(
        Format::ClaudeCode,
        &[
            (
                "a call without result, a result without call",
                vec![
                    user("u1", ""),
                    call("a1", "u1", "m1", "t1"),
                    user("u2", "a1"),
                    answer("a2", "u2"),
                    result("r1", "a2", "t9"),
                ],
                &["error missing-result 2 t1", "error orphan-result 5 t9"],
            ),
            (
                "empty words, by the uuid of their line",
                vec![
                    user("u1", ""),
                    part("a1", "u1", "m1", r#"{"type":"text","text":""}"#),
                    user("u2", "a1").replace("words", ""),
                ],
                &["error empty-text 2 a1", "error empty-message 3 u2"],
            ),
            (
                "thinking without signature, half of a surrogate pair",
                vec![
                    user("u1", "").replace("words", r"\ud800"),
                    part("a1", "u1", "m1", r#"{"type":"thinking","thinking":""}"#),
                ],
                &["error invalid-json 1 u1", "error unsigned-thinking 2 a1"],
            ),
            (
                "half of a pair in a copy that is not sent",
                vec![
                    user("u1", ""),
                    call("a1", "u1", "m1", "t1"),
                    result("r1", "a1", "t1")
                        .replace(r#""toolUseResult":"out""#, r#""toolUseResult":"\ud800""#),
                ],
                &[],
            ),
            (
                "a sidechain that begins with an answer, under its own name",
                vec![user("u1", ""), aside(&answer("s1", ""))],
                &["error first-not-user 2 s1"],
            ),
        ],
    );
}

#[test]
fn a_missing_parent_is_found_wherever_it_cuts_something_off() {
    check(
        Format::ClaudeCode,
        &[
            (
                "a dropped line in the middle",
                vec![
                    user("u1", ""),
                    answer("a1", "u1"),
                    user("u2", "gone"),
                    answer("a2", "u2"),
                ],
                &["error chain-parent-missing 3 u2"],
            ),
            (
                "a dropped line that was no message",
                vec![
                    user("u1", ""),
                    line("progress", "p", "gone", r#""data":{}"#),
                    user("u2", "p"),
                ],
                &["error chain-parent-missing 2 p"],
            ),
            (
                "a preserved segment with a hole",
                vec![
                    user("u1", "gone"),
                    user("u2", "hole"),
                    answer("a1", "u2"),
                    boundary(
                        "b",
                        r#""preservedSegment":{"headUuid":"u1","anchorUuid":"s","tailUuid":"a1"}"#,
                    ),
                    summary("s", "b"),
                ],
                &["error chain-parent-missing 2 u2"],
            ),
            (
                "a dead branch behind the compaction, once for all of its lines",
                vec![
                    boundary("b", ""),
                    summary("s", "b"),
                    user("u1", "gone"),
                    answer("a1", "u1"),
                    user("u2", "s"),
                ],
                &["error chain-broken 3 u1"],
            ),
            (
                "a dead branch of a sidechain",
                vec![
                    user("u1", ""),
                    aside(&user("s1", "gone")),
                    aside(&user("s2", "")),
                ],
                &["error chain-parent-missing 2 s1"],
            ),
        ],
    );
}

#[test]
fn a_summary_is_reached_from_the_leaf() {
    let with = |summary: String, first: String| {
        vec![
            user("u0", ""),
            boundary("b", ""),
            summary,
            first,
            answer("a1", "u1"),
        ]
    };
    check(
        Format::ClaudeCode,
        &[
            (
                "the tail keeps its dropped parent",
                with(summary("s", "b"), user("u1", "gone")),
                &[
                    "error chain-parent-missing 4 u1",
                    "error summary-not-sent 3 s",
                ],
            ),
            (
                "the tail keeps its parent before the compaction",
                with(summary("s", "b"), user("u1", "u0")),
                &["error summary-not-sent 3 s"],
            ),
            (
                "the tail is a root",
                with(summary("s", "b"), user("u1", "")),
                &["error summary-not-sent 3 s"],
            ),
            (
                "the tail hangs on the boundary",
                with(summary("s", "b"), user("u1", "b")),
                &["error summary-not-sent 3 s"],
            ),
            (
                "a summary without uuid",
                with(
                    summary("s", "b").replace(r#""uuid":"s","#, ""),
                    user("u1", "b"),
                ),
                &["error summary-not-sent 3 "],
            ),
            (
                "a summary without parent",
                with(
                    summary("s", "b").replace(r#""parentUuid":"b","#, ""),
                    user("u1", "s"),
                ),
                &["error boundary-alone 2 b", "error summary-malformed 3 s"],
            ),
            (
                "a summary in another role",
                with(
                    summary("s", "b").replace(r#""role":"user""#, r#""role":"assistant""#),
                    user("u1", "s"),
                ),
                &["error summary-malformed 3 s"],
            ),
            (
                "a summary by the assistant",
                with(
                    summary("s", "b").replace(r#""type":"user""#, r#""type":"assistant""#),
                    user("u1", "s"),
                ),
                &["error first-not-user 3 s", "error summary-malformed 3 s"],
            ),
            (
                "a summary that stands before its boundary",
                vec![summary("s", "b"), boundary("b", ""), user("u1", "b")],
                &["error summary-not-sent 1 s"],
            ),
            (
                "a file that is one sidechain",
                vec![
                    aside(&boundary("b", "")),
                    aside(&summary("s", "b")),
                    aside(&user("u1", "b")),
                ],
                &["error summary-not-sent 2 s"],
            ),
            (
                "a boundary and nothing else",
                vec![boundary("b", "")],
                &["error boundary-alone 1 b"],
            ),
            (
                "a boundary in the end, which agents step over",
                vec![user("u0", ""), answer("a0", "u0"), boundary("b", "")],
                &["error boundary-alone 3 b"],
            ),
        ],
    );
}

#[test]
fn what_a_compaction_preserves_is_there() {
    let preserving = |metadata: &str| {
        vec![
            user("u1", ""),
            boundary("b", metadata),
            summary("s", "b"),
            user("u2", "s"),
        ]
    };
    check(
        Format::ClaudeCode,
        &[
            (
                "listed lines, each once",
                preserving(r#""preservedMessages":{"anchorUuid":"s","uuids":["x","u1","y","x"]}"#),
                &["error preserved-missing 2 x", "error preserved-missing 2 y"],
            ),
            (
                "the ends of a segment",
                preserving(
                    r#""preservedSegment":{"headUuid":"x","anchorUuid":"y","tailUuid":"u1"}"#,
                ),
                &["error preserved-missing 2 x", "error preserved-missing 2 y"],
            ),
            (
                "of a compaction that another one has made history",
                vec![
                    boundary("b1", r#""preservedMessages":{"uuids":["x"]}"#),
                    summary("s1", "b1"),
                    boundary("b2", ""),
                    summary("s2", "b2"),
                ],
                &[],
            ),
        ],
    );
}

#[test]
fn ids_name_one_line() {
    check(
        Format::ClaudeCode,
        &[
            (
                "a line written twice",
                vec![user("u1", ""), user("u1", ""), answer("a1", "u1")],
                &["warning duplicate-uuid 2 u1"],
            ),
            (
                "only the last leaf counts",
                vec![user("u1", ""), last_prompt("x"), last_prompt("y")],
                &["warning leaf-missing 3 y"],
            ),
            (
                "messages that no chain holds",
                vec![user("u1", "").replace(r#""uuid":"u1","#, "")],
                &["error no-conversation 1 "],
            ),
        ],
    );
}

#[test]
fn findings_name_their_conversation() {
    let text = [user("u1", "gone"), aside(&answer("s1", ""))].join("\n");
    let transcript = Format::ClaudeCode.read(text.as_bytes(), 1, &mut Warnings::default());
    let names: Vec<_> = Format::ClaudeCode
        .verify(&transcript)
        .into_iter()
        .map(|f| (f.rule, f.conversation))
        .collect();
    assert_eq!(
        names,
        [
            (Rule::FirstNotUser, "s1".into()),
            (Rule::ChainParentMissing, "main".into()),
        ]
    );
}

#[test]
fn findings_of_a_conversation_share_its_id() {
    let text = [
        user("u1", ""),
        result("u2", "u1", "a"),
        result("u3", "u2", "b"),
    ]
    .join("\n");
    let transcript = Format::ClaudeCode.read(text.as_bytes(), 1, &mut Warnings::default());
    let findings = Format::ClaudeCode.verify(&transcript);
    let orphans: Vec<&Finding> = findings
        .iter()
        .filter(|f| f.rule == Rule::OrphanResult)
        .collect();
    let [first, second] = orphans[..] else {
        panic!("{findings:?}");
    };
    assert!(Arc::ptr_eq(&first.conversation, &second.conversation));
}
