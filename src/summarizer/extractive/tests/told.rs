//! What is told, and as what.

use super::*;

fn summary(lines: &[&str]) -> Summary {
    let text = lines.join("\n") + "\n";
    let transcript = read_as(Format::Anthropic, text.as_bytes());
    whole(&transcript, &auto(), 2_000, UserWords::Verbatim)
}

fn rows(summary: &Summary, section: Section) -> Vec<(&str, &str)> {
    let rows = summary.rows.iter().filter(|row| row.section == section);
    rows.map(|row| (row.label.as_str(), row.text.as_str()))
        .collect()
}

const READ: [&str; 2] = [
    r#"{"role":"assistant","content":[{"type":"tool_use","id":"r","name":"Read","input":{"file_path":"/w/a.rs"}}]}"#,
    r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"r","content":"     1\tfn a() {}"}]}"#,
];

#[test]
fn a_file_that_was_changed_and_then_read_says_both() {
    let edit = [
        r#"{"role":"assistant","content":[{"type":"tool_use","id":"e","name":"Edit","input":{"file_path":"/w/a.rs","old_string":"b","new_string":"a"}}]}"#,
        r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"e","content":"ok"}]}"#,
    ];
    let now = summary(&[&edit[..], &READ].concat());
    let both = [("read, edited before", "/w/a.rs")];
    assert_eq!(rows(&now, Section::Files), both);

    let earlier = r#"{"role":"user","content":"[Earlier conversation, summarised by ctxpack]\n## Files\n[L4,5] edited: /w/a.rs\n[L6,L7] read 1-2: /w/b.rs"}"#;
    let later = summary(&[&[earlier][..], &READ].concat());
    let expected = [both[0], ("read 1-2", "/w/b.rs")];
    assert_eq!(rows(&later, Section::Files), expected);
    assert!(later.text.contains("\n[L2] read, edited before: /w/a.rs"));
}

#[test]
fn each_part_of_a_file_is_told_where_it_was_read_last() {
    let read = |id: &str, offset: u64, lines: &[(u64, &str)]| {
        let shown: Vec<String> = lines
            .iter()
            .map(|(n, line)| format!("{n:6}\\t{line}"))
            .collect();
        let (limit, shown) = (lines.len(), shown.join("\\n"));
        [
            format!(
                r#"{{"role":"assistant","content":[{{"type":"tool_use","id":"{id}","name":"Read","input":{{"file_path":"/w/a.rs","offset":{offset},"limit":{limit}}}}}]}}"#
            ),
            format!(
                r#"{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"{id}","content":"{shown}"}}]}}"#
            ),
        ]
    };
    let parts = [
        read(
            "a",
            1,
            &[(1, "let first_part = 1;"), (2, "let old_part = 2;")],
        ),
        read("b", 300, &[(300, "let other_part = 3;")]),
        read(
            "c",
            2,
            &[(2, "let new_part = 2;"), (3, "let last_part = 3;")],
        ),
        read(
            "d",
            1,
            &[(1, "let first_part = 1;"), (2, "let new_part = 2;")],
        ),
    ]
    .concat();
    // Nothing but this is told as the current state.
    let last = format!(
        r#"{{"role":"assistant","content":"{}"}}"#,
        "and so on ".repeat(160)
    );
    let lines: Vec<&str> = parts.iter().chain([&last]).map(String::as_str).collect();
    let summary = summary(&lines);
    let details: Vec<(u64, &str)> = summary
        .rows
        .iter()
        .filter(|row| row.section == Section::Details)
        .map(|row| (row.mark.line, row.text.as_str()))
        .collect();
    let expected = [
        // A name for an index: the line is there no more.
        (2, "old_part"),
        (4, "let other_part = 3;"),
        (6, "let new_part = 2;\nlet last_part = 3;"),
        (8, "let first_part = 1;"),
    ];
    assert_eq!(details, expected);
}

#[test]
fn what_an_agent_writes_under_the_users_name_is_no_request() {
    let summary = summary(&[
        r#"{"role":"user","content":[{"type":"text","text":"<ide_opened_file>The user opened /w/x_y.rs</ide_opened_file>"},{"type":"text","text":"Fix it."}]}"#,
        r#"{"role":"user","content":"[Request interrupted by user for tool use]"}"#,
        r#"{"role":"user","content":"<task-notification><task-id>b7</task-id></task-notification>\nRead the output: /w/b7.output"}"#,
        r#"{"role":"user","content":"<command-name>/review</command-name><command-args>the parser only</command-args>"}"#,
    ]);
    let requests = [("", "Fix it."), ("", "the parser only")];
    assert_eq!(rows(&summary, Section::Requests), requests);
    let notice = [("", "Read the output: /w/b7.output")];
    assert_eq!(rows(&summary, Section::Details), notice);
}

#[test]
fn an_index_has_names_that_nothing_else_tells() {
    let long = format!(
        "old_part {}",
        "x".repeat(40) + " new_part " + &"y ".repeat(400)
    );
    let summary = summary(&[
        r#"{"role":"user","content":"Look at old_part."}"#,
        r#"{"role":"assistant","content":[{"type":"tool_use","id":"r","name":"Fetch","input":{"some_key":"u"}}]}"#,
        &format!(
            r#"{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"r","content":"{}"}}]}}"#,
            "z ".repeat(200) + &long
        ),
        r#"{"role":"user","content":"Go on."}"#,
    ]);
    let details = rows(&summary, Section::Details);
    assert!(details.contains(&("", "new_part")), "{details:?}");
    assert!(!summary.text.contains("some_key,"), "{}", summary.text);
}

#[test]
fn each_line_of_an_error_is_told_once_where_it_was_last() {
    let failed = |id: &str, said: &str| {
        [
            format!(
                r#"{{"role":"assistant","content":[{{"type":"tool_use","id":"{id}","name":"Bash","input":{{"command":"make {id}"}}}}]}}"#
            ),
            format!(
                r#"{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"{id}","is_error":true,"content":"{said}"}}]}}"#
            ),
        ]
    };
    let lines = [
        failed("a", "error: line 3\\nerror: only here"),
        failed("b", "error: line 4"),
    ]
    .concat();
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let summary = summary(&[&lines[..], &[r#"{"role":"user","content":"Go."}"#]].concat());
    let expected = [("", "error: only here"), ("", "error: line 4")];
    assert_eq!(rows(&summary, Section::Errors), expected);
}

#[test]
fn a_plan_has_its_part_of_a_summary_and_no_more() {
    let plan = "Step_one does Thing_a. ".repeat(80);
    let call = format!(
        r#"{{"role":"assistant","content":[{{"type":"tool_use","id":"p","name":"ExitPlanMode","input":{{"plan":"{plan}"}}}}]}}"#
    );
    let result = r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"p","content":"approved"}]}"#;
    let text = [&call, result, r#"{"role":"user","content":"Go."}"#, ""].join("\n");
    let transcript = read_as(Format::Anthropic, text.as_bytes());
    let policy = auto();
    let estimator = Estimator::new(&policy.tokens).unwrap();
    let told = |tokens| {
        let conversation = &transcript.conversations[0];
        let extract = extract(&transcript, conversation, 0..2, 1, &policy);
        let summary = extract.summary(tokens, UserWords::Verbatim, &estimator);
        let plan = rows(&summary, Section::Plan);
        plan.iter()
            .map(|(_, text)| estimator.tokens(estimator.text(text)))
            .sum::<u64>()
    };
    assert_eq!(told(300), 0);
    assert!((60..=100).contains(&told(1_000)), "{}", told(1_000));
}

/// Edits of so many files, one line each, in a folder that is recorded; the answers to them are left out.
fn edits(count: usize) -> String {
    let folder = "/home/somebody/some/where/project";
    let lines = (0..count).map(|n| {
        let parent = match n {
            0 => "null".to_owned(),
            n => format!("\"u{}\"", n - 1),
        };
        format!(
            r#"{{"parentUuid":{parent},"isSidechain":false,"type":"assistant","uuid":"u{n}","sessionId":"s","cwd":"{folder}","timestamp":"2026-01-01T00:00:00Z","message":{{"role":"assistant","content":[{{"type":"tool_use","id":"t{n}","name":"Write","input":{{"file_path":"{folder}/src/part_{n}.rs","content":""}}}}]}}}}"#
        ) + "\n"
    });
    lines.collect()
}

#[test]
fn where_changed_files_have_no_room_they_are_told_in_short() {
    let transcript = read_as(Format::ClaudeCode, edits(40).as_bytes());
    let told = |tokens| whole(&transcript, &auto(), tokens, UserWords::Verbatim);
    let files = |summary: &Summary| rows(summary, Section::Files).len();
    let whole = told(1_400);
    assert_eq!(files(&whole), 40);
    assert!(
        whole.text.contains(
            "\n[L40] wrote, unanswered: /home/somebody/some/where/project/src/part_39.rs\n"
        )
    );
    let short = told(700);
    assert_eq!(files(&short), 40);
    assert!(short.text.starts_with(
        "## Files\n[L1] wrote, unanswered: src/part_0.rs\n[L2] src/part_1.rs\n[L3] src/part_2.rs\n"
    ));
    assert_eq!(parse(&short.text).rows, short.rows);
    // What has no room in short, either, is told from the end.
    let least = told(300);
    assert!((12..40).contains(&files(&least)), "{}", least.text);
    assert!(least.text.contains("] src/part_39.rs\n"));
    assert!(!least.text.contains("src/part_0.rs"));
    assert!(least.counted <= 300);
}

#[test]
fn a_file_of_an_earlier_summary_is_told_once_in_whatever_spelling() {
    let earlier = r###"{"parentUuid":null,"isSidechain":false,"type":"user","uuid":"e","sessionId":"s","cwd":"/home/somebody/some/where/project","timestamp":"2026-01-01T00:00:00Z","isCompactSummary":true,"message":{"role":"user","content":"[Earlier conversation, summarised by ctxpack]\n## Files\n[L4] edited: src/part_0.rs\n[L6] ./src/part_7.rs\n[L8] src/old.rs"}}"###;
    let text = format!(
        "{earlier}\n{}",
        edits(1).replace("\"parentUuid\":null", "\"parentUuid\":\"e\"")
    );
    let transcript = read_as(Format::ClaudeCode, text.as_bytes());
    let summary = whole(&transcript, &auto(), 1_000, UserWords::Verbatim);
    let expected = [
        ("edited", "./src/part_7.rs"),
        ("edited", "src/old.rs"),
        (
            "wrote, unanswered",
            "/home/somebody/some/where/project/src/part_0.rs",
        ),
    ];
    assert_eq!(rows(&summary, Section::Files), expected);
}
