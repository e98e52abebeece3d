//! Two outputs of one input: real differences are shown, and what merely follows from them is not.

use super::compare::Comparison;
use super::*;
use crate::policy::preset;

fn source(bytes: &str) -> Source<'_> {
    Source {
        bytes: bytes.as_bytes(),
        format: Format::ClaudeCode,
        layout: Layout::File,
    }
}

fn differ() -> Differ {
    Differ::new(&preset("auto").unwrap()).unwrap()
}

/// A line of a session: its id, its parent's id, and its other fields.
fn line(id: &str, parent: &str, rest: &str) -> String {
    let parent = match parent {
        "" => "null".to_owned(),
        parent => format!("\"{parent}\""),
    };
    format!(
        "{{\"parentUuid\":{parent},\"isSidechain\":false,\"sessionId\":\"s\",\"uuid\":\"{id}\",\
         \"timestamp\":\"2026-01-01T00:00:00.000Z\",{rest}}}\n"
    )
}

fn user(id: &str, parent: &str, content: &str) -> String {
    let rest = format!("\"type\":\"user\",\"message\":{{\"role\":\"user\",\"content\":{content}}}");
    line(id, parent, &rest)
}

fn answer(id: &str, parent: &str, content: &str) -> String {
    let rest = format!(
        "\"type\":\"assistant\",\"message\":{{\"id\":\"m{id}\",\"role\":\"assistant\",\"content\":{content}}}"
    );
    line(id, parent, &rest)
}

const CALL: &str = r#"[{"type":"tool_use","id":"t1","name":"Bash","input":{"command":"ls"}}]"#;
const TEXT: &str = r#"[{"type":"text","text":"Done."}]"#;

fn result(text: &str) -> String {
    format!(r#"[{{"type":"tool_result","tool_use_id":"t1","content":"{text}"}}]"#)
}

/// Two questions, and a call with its result.
fn input() -> String {
    [
        user("u1", "", "\"first question\""),
        answer("u2", "u1", TEXT),
        user("u3", "u2", "\"second question\""),
        answer("u4", "u3", CALL),
        user("u5", "u4", &result("a long output")),
        answer("u6", "u5", TEXT),
    ]
    .concat()
}

/// The same with a summary in the place of the first question and its answer.
fn output(summary_id: &str, time: &str, tokens: u64, summary: &str, result_text: &str) -> String {
    let boundary = format!(
        "\"type\":\"system\",\"subtype\":\"compact_boundary\",\"content\":\"Conversation compacted\",\
         \"compactMetadata\":{{\"trigger\":\"manual\",\"preTokens\":{tokens}}}"
    );
    let boundary = line(&format!("b{summary_id}"), "", &boundary).replace("00:00:00", time);
    let rest = format!(
        "\"isCompactSummary\":true,\"type\":\"user\",\"message\":{{\"role\":\"user\",\"content\":\"{summary}\"}}"
    );
    [
        boundary,
        line(summary_id, &format!("b{summary_id}"), &rest).replace("00:00:00", time),
        user("u3", summary_id, "\"second question\""),
        answer("u4", "u3", CALL),
        user("u5", "u4", &result(result_text)),
        answer("u6", "u5", TEXT),
    ]
    .concat()
}

fn expected() -> String {
    output(
        "aaaa",
        "00:00:00",
        50,
        "Asked:\\nfirst question",
        "a long output",
    )
}

fn compared(actual: &str) -> Comparison {
    let (input, expected) = (input(), expected());
    differ().outputs(
        source(&input),
        [source(&expected), source(actual)],
        [&[], &[]],
    )
}

#[test]
fn what_was_summarised_is_before_the_summary() {
    let (input, expected) = (input(), expected());
    let diff = differ().diff(source(&input), source(&expected), &[]);
    let rows = &diff.conversations[0].rows;
    let fates: Vec<Fate> = rows.iter().map(|row| row.fate).collect();
    use Fate::{Kept, Summarised, Summary};
    assert_eq!(
        fates,
        [Summarised, Summarised, Summary, Kept, Kept, Kept, Kept]
    );
    assert_eq!(rows[2].text.as_deref(), Some("Asked:\nfirst question"));
    assert_eq!(
        rows[0].old,
        Some(At {
            line: 1,
            message: 1
        })
    );
    assert_eq!(
        rows[6].new,
        Some(At {
            line: 6,
            message: 5
        })
    );
    assert_eq!(
        (rows[4].tools.as_slice(), rows[4].words.as_str()),
        (&["Bash".to_owned()][..], "{\"command\":\"ls\"}")
    );
    // The boundary, and the link of the first line that stays.
    assert_eq!(
        diff.outside,
        LineCounts {
            inserted: 1,
            mended: 1,
            ..LineCounts::default()
        }
    );
}

#[test]
fn equal_outputs_have_no_differences() {
    let same = compared(&expected());
    assert!(same.is_same());
    assert_eq!(same.first_byte, None);
}

#[test]
fn ids_and_times_of_new_lines_and_links_to_them_are_none() {
    let other = compared(&output(
        "bbbb",
        "11:11:11",
        50,
        "Asked:\\nfirst question",
        "a long output",
    ));
    assert_eq!(other.conversations, []);
    assert_eq!(other.lines, []);
    assert!(other.is_same() && other.first_byte.is_some());
}

#[test]
fn a_summary_differs_line_by_line() {
    let other = compared(&output(
        "bbbb",
        "11:11:11",
        50,
        "Asked:\\nthe first question",
        "a long output",
    ));
    let [conversation] = &other.conversations[..] else {
        panic!("{other:?}")
    };
    assert_eq!(conversation.rows, []);
    let [added] = &conversation.added[..] else {
        panic!("{other:?}")
    };
    assert_eq!(added.fate, Fate::Summary);
    assert_eq!(
        added.text,
        [
            "@@ -1 +1 @@",
            " Asked:",
            "-first question",
            "+the first question"
        ]
    );
    assert_eq!(other.lines, []);
}

#[test]
fn a_result_with_another_fate_is_named() {
    let cleared = "[Output of Bash cleared - run it again if needed]";
    let other = compared(&output(
        "aaaa",
        "00:00:00",
        50,
        "Asked:\\nfirst question",
        cleared,
    ));
    let [conversation] = &other.conversations[..] else {
        panic!("{other:?}")
    };
    let [row] = &conversation.rows[..] else {
        panic!("{other:?}")
    };
    assert_eq!(row.fates, [Fate::Kept, Fate::Cleared]);
    assert_eq!(
        row.old,
        At {
            line: 5,
            message: 5
        }
    );
    assert_eq!(other.tokens_after[0], conversation.tokens_after[0]);
    assert_eq!((conversation.added.len(), other.lines.len()), (0, 0));
}

#[test]
fn what_no_model_reads_is_compared_by_its_values() {
    let other = compared(&output(
        "bbbb",
        "00:00:00",
        77,
        "Asked:\\nfirst question",
        "a long output",
    ));
    assert_eq!(other.conversations, []);
    let [line] = &other.lines[..] else {
        panic!("{other:?}")
    };
    assert_eq!(line.lines, [Some(1), Some(1)]);
    assert_eq!(line.what, ["compactMetadata.preTokens: 50, got 77"]);

    let less = expected().replace("\"sessionId\":\"s\",\"uuid\":\"u6\"", "\"uuid\":\"u6\"");
    let what = compared(&less).lines.remove(0).what;
    assert_eq!(what, ["sessionId: \"s\", got nothing"]);

    let more =
        expected() + "{\"type\":\"custom-title\",\"customTitle\":\"x\",\"sessionId\":\"s\"}\n";
    let line = compared(&more).lines.remove(0);
    assert_eq!(line.lines, [None, Some(7)]);
    assert!(
        line.what[0].starts_with("not expected: {\"type\":\"custom-title\""),
        "{line:?}"
    );
}

#[test]
fn a_link_to_another_line_is_a_difference() {
    let actual = expected().replace("\"parentUuid\":\"u5\"", "\"parentUuid\":\"u4\"");
    assert!(!compared(&actual).is_same());
}

#[test]
fn a_large_transcript_is_aligned_in_no_time() {
    // With many identical results, so that they can be matched only by their calls.
    let mut lines = vec![user("u", "", "\"go\"")];
    for n in 0..20_000 {
        let parent = if n == 0 {
            "u".to_owned()
        } else {
            format!("r{}", n - 1)
        };
        lines.push(answer(
            &format!("c{n}"),
            &parent,
            &CALL.replace("t1", &format!("t{n}")),
        ));
        lines.push(user(
            &format!("r{n}"),
            &format!("c{n}"),
            &result("same").replace("t1", &format!("t{n}")),
        ));
    }
    let old = lines.concat();
    let new = old.replace(
        "\"same\"",
        "\"[Output of Bash cleared - run it again if needed]\"",
    );
    let diff = differ().diff(source(&old), source(&new), &[]);
    let sums = stat(&diff);
    let counts: Vec<(Fate, u64)> = sums.iter().map(|stat| (stat.fate, stat.messages)).collect();
    assert_eq!(counts, [(Fate::Kept, 20_001), (Fate::Cleared, 20_000)]);
}
