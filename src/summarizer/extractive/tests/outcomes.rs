//! How a summary describes files that commands removed or reverted, and commands that ran in several folders.

use super::*;

/// A call in a folder, and the status of its result.
struct Run<'l> {
    folder: &'l str,
    tool: &'l str,
    input: serde_json::Value,
    status: u8,
}

fn run<'l>(folder: &'l str, command: &str, status: u8) -> Run<'l> {
    Run {
        folder,
        tool: "Bash",
        input: serde_json::json!({ "command": command }),
        status,
    }
}

fn tool<'l>(tool: &'l str) -> Run<'l> {
    Run {
        folder: "/w",
        tool,
        input: serde_json::json!({"file_path": "/w/a.rs", "old_string": "x", "new_string": "fn added_by_this_edit() {}"}),
        status: 0,
    }
}

/// The rows of a summary of these calls, which follow an earlier summary if there is one, in a session in `/w`; and its text.
fn rows(earlier: &str, runs: &[Run<'_>]) -> (Vec<String>, String) {
    rows_in("/w", earlier, runs)
}

/// The same in a session that begins and ends in the folder `home`.
fn rows_in(home: &str, earlier: &str, runs: &[Run<'_>]) -> (Vec<String>, String) {
    let mut lines: Vec<serde_json::Value> = Vec::new();
    let mut push = |role: &str,
                    folder: &str,
                    content: serde_json::Value,
                    more: serde_json::Value| {
        let parent = lines
            .len()
            .checked_sub(1)
            .map(|before| format!("u{before}"));
        let mut line = serde_json::json!({"parentUuid": parent, "isSidechain": false, "type": role, "uuid": format!("u{}", lines.len()), "sessionId": "s", "cwd": folder, "timestamp": "2026-01-01T00:00:00Z", "message": {"role": role, "content": content}});
        let more = more.as_object().cloned().unwrap_or_default();
        line.as_object_mut().unwrap().extend(more);
        lines.push(line);
    };
    if !earlier.is_empty() {
        let earlier = format!("[Earlier conversation, summarised by ctxpack]\n{earlier}");
        push(
            "user",
            home,
            earlier.into(),
            serde_json::json!({"isCompactSummary": true}),
        );
    }
    for (number, run) in runs.iter().enumerate() {
        let id = format!("t{number}");
        let call = serde_json::json!([{"type": "tool_use", "id": id, "name": run.tool, "input": run.input}]);
        push("assistant", run.folder, call, serde_json::json!({}));
        let (said, more) = match run.status {
            0 => (
                String::new(),
                serde_json::json!({"toolUseResult": {"stdout": "", "interrupted": false}}),
            ),
            status => (format!("Exit code {status}"), serde_json::json!({})),
        };
        let result = serde_json::json!([{"type": "tool_result", "tool_use_id": id, "content": said, "is_error": run.status != 0}]);
        push("user", run.folder, result, more);
    }
    push("assistant", home, "Done.".into(), serde_json::json!({}));
    let lines: Vec<String> = lines.iter().map(|line| line.to_string() + "\n").collect();
    let transcript = read_as(Format::ClaudeCode, lines.concat().as_bytes());
    let summary = whole(&transcript, &auto(), 2_000, UserWords::Verbatim);
    let rows = summary.rows.iter();
    let rows = rows.filter(|row| matches!(row.section, Section::Files | Section::Commands));
    let rows = rows.map(|row| format!("{}: {}", row.label, row.text));
    (rows.collect(), summary.text)
}

#[test]
fn an_edit_that_git_took_back_is_told_as_such_and_not_quoted() {
    let after = |command: &str| rows("", &[tool("Edit"), run("/w", command, 0)]);
    let (told, text) = after("git restore a.rs");
    assert_eq!(
        told,
        ["reverted, edited before: a.rs", "ok: git restore a.rs"]
    );
    assert!(!text.contains("L1 fn added_by_this_edit"), "{text}");
    for (command, expected) in [
        ("git stash", "stashed, outcome unknown, edited before: a.rs"),
        ("rm *.rs", "deleted, outcome unknown, edited before: a.rs"),
        ("rm a.rs", "deleted: a.rs"),
        ("git stash && make && git stash pop", "edited: a.rs"),
    ] {
        let (told, _) = after(command);
        assert!(told.contains(&expected.to_owned()), "{command}: {told:?}");
    }
    let looked = [tool("Edit"), run("/w", "git restore a.rs", 0), tool("Read")];
    let (told, _) = rows("", &looked);
    assert_eq!(told[0], "read, reverted before: a.rs");
}

#[test]
fn a_folder_of_windows_is_named_as_the_agent_writes_it_and_where_it_is_another_one() {
    let ran = [run("C:\\w", "make", 1), run("D:\\x\\y", "npm test", 1)];
    let (told, _) = rows_in("C:\\w", "", &ran);
    assert_eq!(told, ["exit 1: make", "exit 1 in D:\\x\\y: npm test"]);
}

#[test]
fn what_an_earlier_summary_says_of_a_file_may_have_been_taken_back() {
    let earlier = "## Files\nL4 edited: a.rs\nL5 read: b.rs\nL6 edited: /other/c.rs";
    for (command, expected) in [
        (
            "git restore a.rs",
            "reverted, outcome unknown, edited before: a.rs",
        ),
        (
            "git reset --hard",
            "reverted, outcome unknown, edited before: a.rs",
        ),
        ("git stash", "stashed, outcome unknown, edited before: a.rs"),
        ("git stash && make && git stash pop", "edited: a.rs"),
        ("rm a*", "deleted, outcome unknown, edited before: a.rs"),
        ("rm a.rs", "deleted: a.rs"),
        ("git checkout -b a", "edited: a.rs"),
    ] {
        let (mut told, _) = rows(earlier, &[run("/w", command, 0)]);
        told.sort();
        assert!(told.contains(&expected.to_owned()), "{command}: {told:?}");
        assert!(
            told.contains(&"read: b.rs".to_owned()),
            "{command}: {told:?}"
        );
        assert!(
            told.contains(&"edited: /other/c.rs".to_owned()),
            "{command}: {told:?}"
        );
    }
}

#[test]
fn the_same_words_in_another_folder_are_another_command() {
    let runs = [run("/w/one", "make", 2), run("/w/two", "make", 0)];
    assert_eq!(
        rows("", &runs).0,
        ["exit 2 in one: make", "ok in two: make"]
    );
    // In one folder, only the last run counts, and the folder need not be named.
    let runs = [run("/w", "make", 2), run("/w", "make", 0)];
    assert_eq!(rows("", &runs).0, ["ok: make"]);
    let runs = [run("/w/two", "make", 0)];
    assert_eq!(rows("", &runs).0, ["ok: make"]);
    // A command that changes to an absolute folder is the same everywhere.
    let runs = [
        run("/w/one", "cd /w && make", 2),
        run("/w/two", "cd /w && make", 0),
    ];
    assert_eq!(rows("", &runs).0, ["ok: cd /w && make"]);
    // A command that failed elsewhere may be run here later.
    let runs = [run("/w/one", "make", 2)];
    assert_eq!(rows("", &runs).0, ["exit 2 in one: make"]);
}

#[test]
fn a_command_of_an_earlier_summary_is_the_same_in_its_folder_alone() {
    let told = |earlier: &str, folder: &str| rows(earlier, &[run(folder, "make", 0)]).0;
    let failed = "## Commands\nL4,L5 exit 2 in one: make";
    assert_eq!(told(failed, "/w/one"), ["ok: make"]);
    assert_eq!(told(failed, "/w/two"), ["exit 2 in one: make", "ok: make"]);
    let here = "## Commands\nL4,L5 exit 2: make";
    assert_eq!(told(here, "/w"), ["ok: make"]);
    assert_eq!(told(here, "/w/two"), ["exit 2 in /w: make", "ok: make"]);
    // The folder of a successful command may be missing: the summary then omits the command rather than risk a false statement.
    let well = "## Commands\nL4 ok: make";
    assert_eq!(
        rows(well, &[run("/w/two", "make", 2)]).0,
        ["exit 2 in two: make"]
    );
    assert_eq!(
        rows(well, &[run("/w/two", "other", 0)]).0,
        ["ok: make", "ok: other"]
    );
    let rooted = rows(
        "## Commands\nL4,L5 exit 2: cd /w && make",
        &[run("/w/two", "cd /w && make", 0)],
    );
    assert_eq!(rooted.0, ["ok: cd /w && make"]);
    let clipped = "## Commands\nL4,L5 exit 2: ma…";
    assert_eq!(told(clipped, "/w"), ["ok: make"]);
    assert_eq!(told(clipped, "/w/two"), ["exit 2: ma…", "ok: make"]);
    let running = rows(
        "## Commands\nL4 running in one: make",
        &[run("/w", "ls", 0)],
    )
    .0;
    assert_eq!(running, ["was running in one: make", "ok: ls"]);
}
