//! Short sessions, and summaries of them that are wrong in part.

use super::*;
use crate::eval::events::{Queued, events};
use crate::eval::names::Folders;
use crate::format::{Format, Warnings};

fn read(lines: &[String]) -> Vec<Event> {
    let text = lines.join("\n");
    let transcript = Format::Anthropic.read(text.as_bytes(), 1, &mut Warnings::default());
    events(&transcript, &transcript.conversations[0], Queued::Counted)
}

/// A call and its result.
fn step(id: usize, tool: &str, input: &str, result: &str) -> [String; 2] {
    [
        format!(
            r#"{{"role":"assistant","content":[{{"type":"tool_use","id":"{id}","name":"{tool}","input":{input}}}]}}"#
        ),
        format!(
            r#"{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"{id}","content":"{result}"}}]}}"#
        ),
    ]
}

#[test]
fn only_the_last_operation_and_the_last_status_are_true() {
    let steps = [
        step(1, "Edit", r#"{"file_path":"a.rs"}"#, "ok"),
        step(2, "Read", r#"{"file_path":"b.rs"}"#, "ok"),
        step(3, "Read", r#"{"file_path":"a.rs"}"#, "ok"),
        step(4, "Bash", r#"{"command":"make"}"#, "Exit code 2"),
        step(5, "Bash", r#"{"command":"make"}"#, "Exit code 0"),
        step(6, "Bash", r#"{"command":"ls"}"#, "Exit code 1"),
    ];
    let index = Index::new(read(&steps.concat()), Folders::default());
    let summary = |rows: &str| {
        let line = serde_json::json!({"role": "user", "content": rows});
        State::new(&index, index.events.len()).truth(&read(&[line.to_string()]))
    };
    let truth = |statements, right| Truth { statements, right };
    assert_eq!(
        summary("## Files\nL1,L2 edited: a.rs\nL3,L4 read: b.rs\nL1 read: c.rs\n"),
        [truth(3, 1), truth(0, 0)]
    );
    assert_eq!(
        summary(
            "## Files\nL5,L6 read: a.rs\n\n## Commands\nL9 exit 0: make\nL9 exit 2: make\nL9 ran: ls\n"
        ),
        [truth(1, 1), truth(2, 1)]
    );
    // Calls show neither what git reverts nor, in so many words, that the user refused one.
    assert_eq!(
        summary(
            "## Files\nL5 read, reverted before: a.rs\n\n## Commands\nL9 refused: ls\nL9 begun in the background: ls\nL9 was running: make\nL9 unanswered: make\n"
        ),
        [truth(0, 0), truth(2, 0)]
    );
    assert_eq!(
        summary("## Files\nL5 read, edited before: a.rs\nL3 read, wrote before: b.rs\n"),
        [truth(2, 2), truth(0, 0)]
    );
    assert_eq!(
        summary("## Files\nL5 read, wrote before: a.rs\n"),
        [truth(1, 0), truth(0, 0)]
    );
    assert_eq!(summary("Files: a.rs was edited"), [truth(0, 0); 2]);
    assert_eq!(
        summary("## Files\nL5 read, outcome unknown, edited, unanswered before: a.rs\n"),
        [truth(1, 1), truth(0, 0)]
    );
    // Moving a folder includes its contents.
    let steps = [
        step(1, "Read", r#"{"file_path":"in/a.rs"}"#, "ok"),
        step(2, "Read", r#"{"file_path":"out/b.rs"}"#, "ok"),
        step(3, "Bash", r#"{"command":"git mv in other"}"#, ""),
    ];
    let index = Index::new(read(&steps.concat()), Folders::default());
    let line = serde_json::json!({"role": "user", "content": "## Files\nL1 deleted: in/a.rs\nL3 deleted: out/b.rs\n"});
    assert_eq!(
        State::new(&index, index.events.len()).truth(&read(&[line.to_string()])),
        [truth(2, 1), truth(0, 0)]
    );
    // What was moved is gone from one place, and in the other.
    let steps = [step(1, "Bash", r#"{"command":"mv a.rs done/c.rs"}"#, "")];
    let index = Index::new(read(&steps.concat()), Folders::default());
    let line = serde_json::json!({"role": "user", "content": "## Files\nL1 moved away: a.rs\nL1 moved here: done/c.rs\nL1 moved here: other.rs\n"});
    assert_eq!(
        State::new(&index, index.events.len()).truth(&read(&[line.to_string()])),
        [truth(3, 2), truth(0, 0)]
    );
    // For files that only commands name: whether the last of these failed.
    let steps = [
        step(1, "Bash", r#"{"command":"cat a.rs b.rs"}"#, "Exit code 1"),
        step(2, "Bash", r#"{"command":"cat b.rs"}"#, "Exit code 0"),
    ];
    let index = Index::new(read(&steps.concat()), Folders::default());
    let line = serde_json::json!({"role": "user", "content": "## Files\nL1 read failed: a.rs\nL1 read failed: b.rs\n"});
    assert_eq!(
        State::new(&index, index.events.len()).truth(&read(&[line.to_string()])),
        [truth(2, 1), truth(0, 0)]
    );
    // A cell that shows only what its command prints does not state whether that failed.
    let code = r#""const r = await tools.exec_command({\"cmd\": \"cat a.rs\"}); text(r.output);""#;
    let steps = [step(
        1,
        CELL_TOOL,
        code,
        "cat: a.rs: No such file or directory",
    )];
    let index = Index::new(read(&steps.concat()), Folders::default());
    let line = serde_json::json!({"role": "user", "content": "## Files\nL1 read failed: a.rs\nL1 edited: a.rs\n"});
    assert_eq!(
        State::new(&index, index.events.len()).truth(&read(&[line.to_string()])),
        [truth(1, 0), truth(0, 0)]
    );
}

#[test]
fn what_an_earlier_summary_says_is_not_judged_again() {
    let earlier = "## Files\nL1 edited: x.rs\nL2 read: a.rs\n";
    let line = |text: &str| serde_json::json!({"role": "user", "content": text}).to_string();
    let mut lines = vec![line(earlier)];
    lines.extend(step(1, "Edit", r#"{"file_path":"a.rs"}"#, "ok"));
    let index = Index::new(read(&lines), Folders::default());
    let kept_events = read(&[line(&format!("{earlier}[L3] read: y.rs\n"))]);
    // x.rs was not touched; a.rs was edited since; of y.rs nothing is known.
    let expected = [
        Truth {
            statements: 2,
            right: 0,
        },
        Truth::default(),
    ];
    let state = State::new(&index, index.events.len());
    assert_eq!(state.truth(&kept_events), expected);
}
