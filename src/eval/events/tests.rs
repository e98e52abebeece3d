//! Sessions of several formats as lists of events.

use super::*;
use crate::format::{Format, Warnings};

#[test]
fn what_agents_add_is_no_text_of_a_person() {
    let note = "<system-reminder>x</system-reminder>";
    assert_eq!(unwrapped(&format!("a{note}b{note}")), "ab");
    assert_eq!(unwrapped("a<system-reminder>b"), "a");
    assert_eq!(unwrapped(&note.repeat(300_000)), "");
}

/// The kind and the text of each event.
fn described(format: Format, text: &str) -> Vec<String> {
    let transcript = format.read(text.as_bytes(), 1, &mut Warnings::default());
    let events = events(&transcript, &transcript.conversations[0], Queued::Counted);
    let described = events.iter().map(|event| {
        let who = match &event.what {
            EventKind::User => "user".to_owned(),
            EventKind::Agent => "agent".to_owned(),
            EventKind::Call { tool, .. } => format!("call {tool}"),
            EventKind::Result { of, end } => format!("result {of:?} {end:?}"),
            EventKind::Notice => "notice".to_owned(),
        };
        format!("{} {who}: {}|{}", event.message, event.text, event.body)
    });
    described.collect()
}

#[test]
fn events_are_read_with_their_results_paired() {
    let text = r#"{"role":"user","content":"do <system-reminder>x</system-reminder>it"}
{"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"s"},{"type":"text","text":"so"},{"type":"tool_use","id":"a","name":"Read","input":{"file_path":"a.rs"}},{"type":"tool_use","id":"b","name":"Bash","input":{"command":"ls"}}]}
{"role":"user","content":[{"type":"tool_result","tool_use_id":"b","content":"Exit code 2","is_error":true},{"type":"tool_result","tool_use_id":"a","content":"    1→one\n    2→"}]}
"#;
    assert_eq!(
        described(Format::Anthropic, text),
        [
            "0 user: do it|",
            "1 agent: so|",
            "1 call Read: a.rs\n|",
            "1 call Bash: ls\n|",
            "2 result Some(3) Code(2): Exit code 2|",
            "2 result Some(2) Fine: one\n|",
        ]
    );
}

#[test]
fn what_a_command_printed_is_read_out_of_its_object() {
    let printed = |text| super::printed(text);
    assert_eq!(
        printed(r#"{"output":"a\nb","metadata":{"exit_code":1}}"#).as_deref(),
        Some("a\nb")
    );
    assert_eq!(printed(r#"{"output":1}"#), None);
    assert_eq!(printed(r#"{"other":"a"}"#), None);
}

#[test]
fn the_numbers_of_lines_are_no_part_of_what_is_shown() {
    assert_eq!(
        undotted(" 1. use a;\n 2.\n 3. // 4. b\n"),
        "use a;\n\n// 4. b"
    );
    for list in ["1. one\n3. three", "1. one\ntwo", "1. one", "1.5 x\n2.5 y"] {
        assert_eq!(undotted(list), list);
    }
    let shown = "  1590\t}\n  1591\t\tx\nFOO\t1\n1\t2";
    assert_eq!(unpadded(shown), "}\n\tx\nFOO\t1\n1\t2");
    for command in [
        "nl -ba a.go | sed -n '1,9p'",
        "cd x && cat -n a",
        "git show a | nl -ba",
    ] {
        assert!(numbers_lines(command), "{command}");
    }
    for command in ["cat a", "sed -n 1,9p nl", "grep -n nl a"] {
        assert!(!numbers_lines(command), "{command}");
    }
}

#[test]
fn what_an_agent_puts_there_is_nobodys() {
    let text = "<ide_opened_file>The user opened a.rs.</ide_opened_file>commit!";
    assert_eq!(unwrapped(text), "commit!");
    assert_eq!(unwrapped("[Request interrupted by user for tool use]"), "");
    assert_eq!(unwrapped("a [Request"), "a [Request");
    let planned = "<current_datetime>now</current_datetime>\n\n[[PLAN]] I want a plan.\n\nMy request: split it\n";
    assert_eq!(unwrapped(planned).trim(), "split it");
}

#[test]
fn a_file_that_opencode_added_is_nobodys() {
    let text = r#"{"info":{"id":"ses_1","version":"1.18.33","directory":"/w"},"messages":[{"info":{"id":"msg_1","sessionID":"ses_1","role":"user","time":{"created":1}},"parts":[{"id":"prt_1","type":"text","text":"See @a.rs."},{"id":"prt_2","type":"text","synthetic":true,"text":"1: fn get_one()"}]}]}"#;
    assert_eq!(
        described(Format::OpenCode, text),
        ["0 user: See @a.rs.|", "0 notice: 1: fn get_one()|"]
    );
}

#[test]
fn what_a_command_is_given_is_a_persons() {
    let text = "<command-name>/do</command-name>\n<command-args>this thing </command-args>";
    assert_eq!(arguments(text), Some("this thing"));
    assert_eq!(arguments(&text.replace("this thing", "")), None);
    assert_eq!(arguments(&format!("see {text}")), None);
}

#[test]
fn what_was_typed_meanwhile_is_read() {
    let line = |rest: &str| format!("{{\"sessionId\":\"s\",{rest}}}\n");
    let text = line(
        r#""uuid":"a","parentUuid":null,"type":"user","message":{"role":"user","content":"go"}"#,
    ) + &line(
        r#""type":"queue-operation","operation":"enqueue","content":"and stop","timestamp":"t""#,
    ) + &line(
        r#""type":"queue-operation","operation":"enqueue","content":"<task-notification>x","timestamp":"t""#,
    ) + &line(
        r#""uuid":"b","parentUuid":"a","type":"assistant","message":{"id":"m","role":"assistant","content":[{"type":"text","text":"ok"}]}"#,
    );
    assert_eq!(
        described(Format::ClaudeCode, &text),
        ["0 user: go|", "0 user: and stop|", "1 agent: ok|"]
    );
}
