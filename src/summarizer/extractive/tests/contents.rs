//! Which facts a summary contains, and how it lists them.

use super::*;

fn summary(lines: &[&str]) -> ExtractiveSummary {
    let text = lines.join("\n") + "\n";
    let transcript = read_as(Format::Anthropic, text.as_bytes());
    whole(&transcript, &auto(), 2_000, UserWords::Verbatim)
}

fn rows(summary: &ExtractiveSummary, section: Section) -> Vec<(&str, &str)> {
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

    let earlier = r#"{"role":"user","content":"[Earlier conversation, summarised by ctxpack]\n## Files\nL4,L5 edited: /w/a.rs\nL6,L7 read 1-2: /w/b.rs"}"#;
    let later = summary(&[&[earlier][..], &READ].concat());
    let expected = [both[0], ("read 1-2", "/w/b.rs")];
    assert_eq!(rows(&later, Section::Files), expected);
    assert!(later.text.contains("\nL2 read, edited before: /w/a.rs"));
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
    let write = [
        r#"{"role":"assistant","content":[{"type":"tool_use","id":"w","name":"Write","input":{"file_path":"/w/b.rs","content":"let whole_file = 0;"}}]}"#,
        r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"w","content":"ok"}]}"#,
    ]
    .map(str::to_owned);
    let mut gone = read("g", 7, &[(7, "let gone_part = 7;")]);
    gone[0] = gone[0].replace("/w/a.rs", "/w/b.rs");
    let parts = [parts, gone.to_vec(), write.to_vec()].concat();
    // Only this is listed as the current state.
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
        // A name for an index: the line no longer exists.
        (2, "old_part"),
        // The requested start of the read.
        (3, "offset 300"),
        (4, "let other_part = 3;"),
        (6, "let new_part = 2;\nlet last_part = 3;"),
        (8, "let first_part = 1;"),
        // It was overwritten: only its name is left.
        (10, "gone_part"),
        (11, "let whole_file = 0;"),
    ];
    assert_eq!(details, expected);
}

#[test]
fn a_commit_is_told_before_other_lines_of_an_output() {
    // What a hook prints has as many names as the commit.
    let checked = |from: usize| {
        let lines =
            (from..from + 30).map(|n| format!("src/part_{n}/mod.rs checked {n}ab{n}cd by {n}00"));
        lines.collect::<Vec<_>>().join("\n")
    };
    let printed = format!(
        "{}\n[main 1a2b3c4] Fix the zone\n 1 file changed\n{}\n",
        checked(10),
        checked(50)
    );
    let pasted = printed.replace("1a2b3c4", "5d6e7f8").repeat(4);
    let lines = [
        serde_json::json!({"role": "user", "content": pasted}),
        serde_json::json!({"role": "assistant", "content": [
            {"type": "tool_use", "id": "g", "name": "Bash", "input": {"command": "git commit -am 'Fix the zone'"}}]}),
        serde_json::json!({"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "g", "content": printed}]}),
        serde_json::json!({"role": "assistant", "content": "It is done."}),
    ]
    .map(|line| line.to_string());
    let transcript = read_as(Format::Anthropic, lines.join("\n").as_bytes());
    let mut policy = auto();
    policy.summary.user_message_max = 200;
    let summary = whole(&transcript, &policy, 300, UserWords::Verbatim);
    let details = rows(&summary, Section::Details);
    let has = |line: &str| details.iter().any(|(_, text)| text.contains(line));
    assert!(has("[main 1a2b3c4] Fix the zone"), "{}", summary.text);
    assert!(has("[main 5d6e7f8] Fix the zone"), "{}", summary.text);
}

#[test]
fn what_an_agent_writes_under_the_users_name_is_no_request() {
    let summary = summary(&[
        r#"{"role":"user","content":[{"type":"text","text":"<ide_opened_file>The user opened /w/x_y.rs</ide_opened_file>"},{"type":"text","text":"Fix it."}]}"#,
        r#"{"role":"user","content":"[Request interrupted by user for tool use]"}"#,
        r#"{"role":"user","content":"<task-notification><task-id>b7</task-id></task-notification>\nRead the output: /w/b7.output"}"#,
        r#"{"role":"user","content":"<command-name>/review</command-name><command-args>the parser only</command-args>"}"#,
        r#"{"role":"user","content":"<command-message>changelog</command-message>\n<command-name>/changelog</command-name>"}"#,
        r#"{"role":"user","content":"<command-name>/compact</command-name><command-args>keep the zone</command-args>"}"#,
        r#"{"role":"user","content":"<command-name>/clear</command-name>"}"#,
        r#"{"role":"user","content":"<command-name> is a tag: why?"}"#,
    ]);
    let requests = [
        ("", "Fix it."),
        ("", "/review the parser only"),
        ("", "/changelog"),
        ("", "keep the zone"),
        ("", "<command-name> is a tag: why?"),
    ];
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
            "z".repeat(400) + &long
        ),
        r#"{"role":"user","content":"Go on."}"#,
    ]);
    let details = rows(&summary, Section::Details);
    assert!(details.contains(&("", "new_part")), "{details:?}");
    assert!(!summary.text.contains("some_key,"), "{}", summary.text);
}

#[test]
fn a_command_is_told_by_its_start_where_that_tells_it_from_others() {
    let run = |id: &str, command: &str| {
        format!(
            r#"{{"role":"assistant","content":[{{"type":"tool_use","id":"{id}","name":"Bash","input":{{"command":"{command}"}}}}]}}"#
        ) + "\n"
            + &format!(
                r#"{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"{id}","content":""}}]}}"#
            )
            + "\n"
    };
    let long = "echo a first and a second and a third and a fourth and a fifth word of it";
    let rest = " and more of it that says nothing at all".repeat(3);
    let text = run("a", &format!("{long} one{rest}"))
        + &run("b", &format!("{long} two{rest}"))
        + "{\"role\":\"user\",\"content\":\"Go.\"}\n";
    let transcript = read_as(Format::Anthropic, text.as_bytes());
    let policy = auto();
    let estimator = Estimator::new(&policy.tokens).unwrap();
    let extract = extract(&transcript, &transcript.conversations[0], 0..4, 1, &policy);
    let summary = extract.summary(75, UserWords::Verbatim, &estimator);
    let told = rows(&summary, Section::Commands);
    let starts = [format!("{long} one …"), format!("{long} two …")];
    assert_eq!(
        told.iter().map(|(_, text)| *text).collect::<Vec<_>>(),
        starts
    );
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
fn a_command_that_was_running_at_an_earlier_summary_is_not_said_to_run() {
    let earlier = r#"{"role":"user","content":"[Earlier conversation, summarised by ctxpack]\n## Commands\nL4 running: make serve\nL6 exit 1: make test"}"#;
    let later = summary(&[&[earlier][..], &READ].concat());
    let expected = [("was running", "make serve"), ("exit 1", "make test")];
    assert_eq!(rows(&later, Section::Commands), expected);
}

#[test]
fn a_command_of_an_earlier_summary_has_ended_where_a_later_line_says_so() {
    let earlier = r#"{"role":"user","content":"[Earlier conversation, summarised by ctxpack]\n## Commands\nL4,L5 running as b1: make serve\nL6 was running: make all\nL7,L8 was running as b3: make old\nL9 was running as b4: make none"}"#;
    let notice = |task: &str, said: &str, end: &str| {
        format!(
            r#"{{"role":"user","content":"<task-notification>\n<task-id>{task}</task-id>\n{end}\n<summary>Background command \"{said}\" failed with exit code 4</summary>\n</task-notification>"}}"#
        )
    };
    let lines = [
        notice("b1", "Serve it", "<status>failed</status>"),
        notice("b2", "make all", "<status>failed</status>"),
        notice("b9", "make old", "<status>failed</status>"),
        r#"{"role":"assistant","content":[{"type":"tool_use","id":"p","name":"TaskOutput","input":{"task_id":"b3"}}]}"#.to_owned(),
        r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"p","content":"<retrieval_status>success</retrieval_status>\n<task_id>b3</task_id>\n<status>completed</status>\n<exit_code>0</exit_code>"}]}"#.to_owned(),
    ];
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let later = summary(&[&[earlier], &lines[..], &READ].concat());
    let expected = [
        ("exit 4", "make serve"),
        ("exit 4", "make all"),
        ("ok", "make old"),
        ("was running as b4", "make none"),
    ];
    assert_eq!(rows(&later, Section::Commands), expected);
}

#[test]
fn an_error_of_an_earlier_summary_is_worth_as_much_as_a_new_one() {
    let text = [
        r#"{"role":"user","content":"[Earlier conversation, summarised by ctxpack]\n## Errors\nL4 it broke\n\n## Decisions and findings\nL5 It is old."}"#,
        r#"{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"Bash","input":{"command":"make"}}]}"#,
        r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","is_error":true,"content":"error: no rule"}]}"#,
    ]
    .join("\n");
    let transcript = read_as(Format::Anthropic, text.as_bytes());
    let extract = extract(&transcript, &transcript.conversations[0], 0..3, 1, &auto());
    let units = extract.found.units.iter();
    let errors = units.filter(|unit| unit.row.section == Section::Errors);
    let mut errors: Vec<(&str, f64)> = errors.map(|unit| (&unit.row.text[..], unit.base)).collect();
    errors.sort_by_key(|(text, _)| *text);
    let worth = fact_units::FAILED;
    assert_eq!(errors, [("error: no rule", worth), ("it broke", worth)]);
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

const PROJECT: &str = "/home/somebody/some/where/project";

/// A line of a session: the folder in which the agent works, and its call or text.
struct Line<'l> {
    folder: &'l str,
    what: What<'l>,
}

enum What<'l> {
    /// A tool and a path; the result is omitted.
    Call(&'l str, &'l str),
    Says(&'l str),
    Summary(&'l str),
}

fn call<'l>(folder: &'l str, tool: &'l str, path: &'l str) -> Line<'l> {
    Line {
        folder,
        what: What::Call(tool, path),
    }
}

fn session(lines: &[Line<'_>]) -> Transcript<'static> {
    let mut text = String::new();
    for (n, Line { folder, what }) in lines.iter().enumerate() {
        let parent = match n {
            0 => "null".to_owned(),
            n => format!("\"u{}\"", n - 1),
        };
        let (role, more, content) = match what {
            What::Call(tool, path) => (
                "assistant",
                "",
                format!(
                    r#"[{{"type":"tool_use","id":"t{n}","name":"{tool}","input":{{"file_path":"{path}","content":""}}}}]"#
                ),
            ),
            What::Says(text) => ("assistant", "", format!("\"{text}\"")),
            What::Summary(text) => ("user", r#","isCompactSummary":true"#, format!("\"{text}\"")),
        };
        text += &format!(
            r#"{{"parentUuid":{parent},"isSidechain":false,"type":"{role}","uuid":"u{n}","sessionId":"s","cwd":"{folder}","timestamp":"2026-01-01T00:00:00Z"{more},"message":{{"role":"{role}","content":{content}}}}}"#
        );
        text.push('\n');
    }
    read_as(Format::ClaudeCode, text.as_bytes())
}

/// The paths of 40 files.
fn many() -> Vec<String> {
    (0..40)
        .map(|n| format!("{PROJECT}/src/part_{n}.rs"))
        .collect()
}

#[test]
fn where_changed_files_have_no_room_they_are_told_in_short() {
    let paths = many();
    let lines: Vec<Line<'_>> = paths.iter().map(|p| call(PROJECT, "Write", p)).collect();
    let transcript = session(&lines);
    let told = |tokens| whole(&transcript, &auto(), tokens, UserWords::Verbatim);
    let files = |summary: &ExtractiveSummary| rows(summary, Section::Files).len();
    let whole = told(4_000);
    assert_eq!(files(&whole), 40);
    assert!(
        whole.text.contains(
            "\nL40 wrote, unanswered: /home/somebody/some/where/project/src/part_39.rs\n"
        )
    );
    let short = told(800);
    assert_eq!(files(&short), 40);
    assert!(short.text.starts_with(
        "## Files\nL1 wrote, unanswered: src/part_0.rs\nL2 wrote, unanswered: src/part_1.rs\n"
    ));
    assert_eq!(parse(&short.text).rows, short.rows);
    // If there is no room even for the short form, files are listed newest first, and others by their value.
    let least = told(300);
    assert!((12..40).contains(&files(&least)), "{}", least.text);
    assert!(
        least
            .text
            .contains("\nL40 wrote, unanswered: src/part_39.rs\n"),
        "{}",
        least.text
    );
    assert!(least.counted <= 300);
}

#[test]
fn a_path_in_short_means_one_file() {
    let paths = many();
    let below = format!("{PROJECT}/src");
    let mut lines: Vec<Line<'_>> = paths.iter().map(|p| call(PROJECT, "Write", p)).collect();
    let doubled = format!("{PROJECT}//etc/hosts");
    lines.push(call(PROJECT, "Edit", &doubled));
    lines.push(call(&below, "Edit", "part_0.rs"));
    lines.push(call(&below, "Edit", "elsewhere.rs"));
    lines.push(call(PROJECT, "Edit", "here.rs"));
    let transcript = session(&lines);
    let summary = whole(&transcript, &auto(), 900, UserWords::Verbatim);
    let files = rows(&summary, Section::Files);
    let is_there = |path: &str| files.contains(&("edited, unanswered", path));
    assert!(is_there(&doubled), "{}", summary.text);
    assert!(is_there("src/part_0.rs"));
    assert!(is_there("src/elsewhere.rs"));
    assert!(is_there("here.rs"));
    assert_eq!(files.len(), 43);

    // The agent changed to another folder, and it is unknown which folder a reader would use.
    lines.push(Line {
        folder: &below,
        what: What::Says("Done."),
    });
    let transcript = session(&lines);
    let conversation = &transcript.conversations[0];
    let span = 0..conversation.messages.len() - 1;
    let extract = extract(&transcript, conversation, span, 1, &auto());
    let summary = extract.summary(
        700,
        UserWords::Verbatim,
        &Estimator::new(&auto().tokens).unwrap(),
    );
    for (_, path) in rows(&summary, Section::Files) {
        assert!(path.starts_with(PROJECT), "{path}");
    }
}

#[test]
fn a_file_of_an_earlier_summary_is_told_once_in_whatever_spelling() {
    let earlier = "[Earlier conversation, summarised by ctxpack]\\n## Files\\nL4 edited: src/part_0.rs\\nL6 ./src/part_7.rs\\nL8 src/old.rs";
    let summary_in = |folder| Line {
        folder,
        what: What::Summary(earlier),
    };
    let path = format!("{PROJECT}/src/part_0.rs");
    let told = |lines: &[Line<'_>]| {
        let summary = whole(&session(lines), &auto(), 4_000, UserWords::Verbatim);
        let files = rows(&summary, Section::Files).into_iter();
        let files = files.map(|(label, text)| format!("{label}: {text}"));
        files.collect::<Vec<_>>()
    };
    let wrote = format!("wrote, unanswered: {path}");
    assert_eq!(
        told(&[summary_in(PROJECT), call(PROJECT, "Write", &path)]),
        ["edited: ./src/part_7.rs", "edited: src/old.rs", &wrote]
    );
    // The paths of the summary are relative to the agent's folder at that time.
    let elsewhere = format!("{PROJECT}/crates/core");
    let core = format!("{elsewhere}/src/part_0.rs");
    assert_eq!(
        told(&[summary_in(PROJECT), call(&elsewhere, "Read", &core)]),
        [
            format!("edited: {PROJECT}/src/part_0.rs"),
            format!("edited: {PROJECT}/src/part_7.rs"),
            format!("edited: {PROJECT}/src/old.rs"),
            format!("read, unanswered: {core}"),
        ]
    );
}
