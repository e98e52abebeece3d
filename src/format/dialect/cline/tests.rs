//! Tests of Cline sessions: what is live, how calls and results are read, what a summary leaves.

use crate::apply::apply;
use crate::facts::{
    CommandStatus, Done, FileAction, Lines, WorkBudget, commands, exchanges, files,
};
use crate::format::shapes::splice::Summary;
use crate::format::{Detected, Detector, Format, Layout, Warnings};
use crate::policy::Tools;
use crate::transcript::{BlockKind, Outcome, Role, Transcript, Typed};

/// A session of these messages, one per line.
fn session(messages: &[String]) -> String {
    format!(
        r#"{{"version":1,"updated_at":"t","agent":"lead","sessionId":"s","origin":{{"source":"cli"}},"messages":[
{}
],"system_prompt":"You are Cline."}}
"#,
        messages.join(",\n")
    )
}

fn message(id: &str, role: &str, ts: u64, block: &str) -> String {
    format!(r#"{{"id":"{id}","role":"{role}","content":[{block}],"ts":{ts}}}"#)
}

fn user(id: &str, ts: u64, said: &str) -> String {
    let said =
        format!(r#"{{"type":"text","text":"<user_input mode=\"act\">{said}</user_input>"}}"#);
    message(id, "user", ts, &said)
}

fn said(id: &str, ts: u64, said: &str) -> String {
    let said = format!(r#"{{"type":"text","text":"{said}"}}"#);
    message(id, "assistant", ts, &said)
}

/// An answer with a call, and its result.
fn called(id: &str, ts: u64, tool: &str, input: &str, content: &str) -> [String; 2] {
    let call = format!(r#"{{"type":"tool_use","id":"c{id}","name":"{tool}","input":{input}}}"#);
    let result = format!(
        r#"{{"type":"tool_result","tool_use_id":"c{id}","name":"{tool}","content":{content}}}"#
    );
    [
        message(id, "assistant", ts, &call),
        message(&format!("r{id}"), "user", ts + 1, &result),
    ]
}

fn read(text: &str) -> Transcript<'_> {
    Format::Cline.read(text.as_bytes(), 1, &mut Warnings::default())
}

fn detected(text: &str) -> Detected {
    let mut detector = Detector::default();
    detector.look(text.as_bytes());
    detector.decide()
}

/// Each message of the window: its role and its texts.
fn window(transcript: &Transcript<'_>) -> Vec<String> {
    let main = &transcript.conversations[0];
    let texts = |number: &u32| {
        let block = transcript.block(*number);
        match block.kind {
            BlockKind::Call => "call".to_owned(),
            _ => transcript.block_text(block).into_owned(),
        }
    };
    let messages = main.messages.iter().map(|m| {
        let blocks: Vec<String> = main.blocks(m).iter().map(texts).collect();
        format!("{}: {}", m.role.name(), blocks.join(" | "))
    });
    messages.collect()
}

fn example() -> Vec<String> {
    let [call, result] = called(
        "2",
        20,
        "run_commands",
        r#"{"commands":["ls"]}"#,
        r#"[{"query":"ls","result":"a b","success":true}]"#,
    );
    vec![
        user("1", 10, "go \\\"there\\\""),
        call,
        result,
        r#"{"id":"e","role":"assistant","content":[{"type":"text","text":"The server is away"}],"metadata":{"displayOnly":true}}"#.to_owned(),
        said("3", 30, "done"),
        user("4", 40, "more"),
        said("5", 50, "yes"),
    ]
}

#[test]
fn the_agent_sends_what_was_typed_and_no_notes_for_the_user() {
    let text = session(&example());
    assert_eq!(
        detected(&text),
        Detected::Known(Format::Cline, Layout::File)
    );
    let transcript = read(&text);
    assert_eq!(
        window(&transcript),
        [
            "user: go \"there\"",
            "assistant: call",
            "user: a b",
            "assistant: done",
            "user: more",
            "assistant: yes"
        ]
    );
    let main = &transcript.conversations[0];
    let typed: Vec<bool> = main
        .messages
        .iter()
        .map(|m| m.typed == Typed::Yes)
        .collect();
    assert_eq!(typed, [true, false, false, false, true, false]);
    assert_eq!(Format::Cline.verify(&transcript), []);
}

#[test]
fn words_beside_an_attached_file_are_the_users_and_a_file_alone_is_not() {
    const FILE: &str = r#"{"type":"file","path":"/w/a.py","content":"A = 1"}"#;
    let words = format!(r#"{{"type":"text","text":"do it"}},{FILE}"#);
    let text = session(&[
        message("1", "user", 10, &words),
        message("2", "user", 20, FILE),
    ]);
    let transcript = read(&text);
    let messages = transcript.conversations[0].messages.iter();
    let typed: Vec<Typed> = messages.map(|message| message.typed).collect();
    assert_eq!(typed, [Typed::Yes, Typed::No]);
}

#[test]
fn results_say_whether_they_failed_and_calls_what_they_did() {
    let one =
        |tool: &str, input: &str, content: &str| session(&called("1", 10, tool, input, content));
    let answer = r#""{\"query\":\"edit:/a\",\"result\":\"\",\"error\":\"no\",\"success\":false}""#;
    let reason_last =
        r#""{\"query\":\"edit:/a\",\"result\":\"\",\"success\":false,\"error\":\"no\"}""#;
    let quotes = r#""{\"query\":\"edit:/a\",\"result\":\"{,\\\"success\\\":false,\\\"error\\\":1}\",\"success\":true}""#;
    for (tool, input, content, outcome) in [
        (
            "run_commands",
            r#"{"commands":["ls"]}"#,
            r#"[{"query":"ls","result":"a","success":true}]"#,
            Outcome::Fine,
        ),
        (
            "run_commands",
            r#"{"commands":["ls","no"]}"#,
            r#"[{"query":"ls","result":"a","success":true},{"query":"no","result":"","error":"Command exited with code 1","success":false}]"#,
            Outcome::Failed,
        ),
        (
            "editor",
            r#"{"path":"/a","old_text":"x","new_text":"y"}"#,
            answer,
            Outcome::Failed,
        ),
        (
            "editor",
            r#"{"path":"/a","old_text":"x","new_text":"y"}"#,
            reason_last,
            Outcome::Failed,
        ),
        (
            "editor",
            r#"{"path":"/a","old_text":"x","new_text":"y"}"#,
            quotes,
            Outcome::Fine,
        ),
        ("ask_question", "{}", r#""the answer""#, Outcome::Fine),
    ] {
        let text = one(tool, input, content);
        let transcript = read(&text);
        let found = exchanges(&transcript, &transcript.conversations[0], &Tools::default());
        let result = transcript.block(found[0].result.unwrap().block);
        assert_eq!(result.outcome, outcome, "{content}");
        if tool == "run_commands" {
            let run = commands(&transcript, &found).into_iter();
            let ends: Vec<(String, CommandStatus)> = run.map(|run| (run.text, run.exit)).collect();
            let all = [
                ("ls", CommandStatus::Succeeded),
                ("no", CommandStatus::Code(1)),
            ];
            let all = all.map(|(text, exit)| (text.to_owned(), exit));
            match outcome {
                Outcome::Fine => assert_eq!(ends, all[..1]),
                Outcome::Failed => assert_eq!(ends, all),
            }
        }
    }
}

#[test]
fn a_file_that_was_read_is_known_without_its_line_numbers() {
    let read_one = called(
        "1",
        10,
        "read_files",
        r#"{"files":[{"path":"/w/a.rs","start_line":9}]}"#,
        r#"[{"query":"/w/a.rs:9-","result":" 9 | fn a()\n10 |     b | c","success":true}]"#,
    );
    let read_two = called(
        "2",
        20,
        "read_files",
        r#"{"files":[{"path":"/w/b.rs"},{"path":"/w/c.rs"}]}"#,
        r#"[{"query":"/w/b.rs","result":"1 | b","success":true},{"query":"/w/c.rs","result":"1 | c","success":true}]"#,
    );
    let read_some = called(
        "3",
        30,
        "read_files",
        r#"{"files":[{"path":"/w/d.rs"},{"path":"/w/e.rs","start_line":7,"end_line":8},{"path":"/w/f.rs"},{"path":"/w/f.rs"}]}"#,
        r#"[{"query":"/w/d.rs","result":"","error":"no file","success":false},{"query":"/w/e.rs:7-8","result":"7 | e\n8 | e","success":true},{"query":"/w/f.rs","result":"1 | f","success":true},{"query":"/w/f.rs","result":"1 | f","success":true}]"#,
    );
    let text = session(&[read_one, read_two, read_some].concat());
    let transcript = read(&text);
    let found = exchanges(&transcript, &transcript.conversations[0], &Tools::default());
    let found = files(&transcript, &found);
    let paths: Vec<&str> = found.iter().map(|file| file.path.as_str()).collect();
    assert_eq!(
        paths,
        [
            "/w/a.rs", "/w/b.rs", "/w/c.rs", "/w/d.rs", "/w/e.rs", "/w/f.rs"
        ]
    );
    let reads = |at: usize| matches!(found[at].operations[0].what, FileAction::Read(_));
    assert!(reads(0) && reads(1) && reads(2));
    let content = |at: usize| {
        let known = found[at].known(&transcript, &[], &WorkBudget::default());
        known.map(|known| known.content.text)
    };
    assert_eq!(content(0).as_deref(), Some("fn a()\n    b | c"));
    assert_eq!(content(1).as_deref(), Some("b"));
    assert_eq!(content(2).as_deref(), Some("c"));
    // One that was not read says nothing of the others.
    assert_eq!(found[3].operations[0].done, Done::Failed);
    let of_lines = found[4].known(&transcript, &[], &WorkBudget::default());
    assert_eq!(
        of_lines.unwrap().content.lines,
        Lines {
            first: 7,
            last: Some(8)
        }
    );
    // Which of two answers is that of a file, is not known.
    assert_eq!(content(5), None);
}

fn summarised(text: &str, tail: usize) -> Option<String> {
    let mut transcript = read(text);
    let summary = Summary {
        role: Role::User,
        text: "S",
        acknowledgement: "",
        tokens_before: 9,
    };
    let conversation = &transcript.conversations[0];
    let splice = Format::Cline
        .dialect()
        .splice(&transcript, conversation, tail, Some(summary))?;
    apply(Format::Cline, &mut transcript, splice.changes);
    let pieces: Vec<&[u8]> = transcript.pieces().collect();
    Some(String::from_utf8(pieces.concat()).unwrap())
}

#[test]
fn a_summary_is_a_message_of_the_agents_own_compaction() {
    let messages = example();
    let left = summarised(&session(&messages), 4).unwrap();
    let summary = left
        .lines()
        .nth(2)
        .unwrap()
        .trim_end_matches(',')
        .to_owned();
    assert!(summary.starts_with(r#"{"id":"ctxpack-summary-"#));
    assert!(summary.ends_with(r#"","role":"user","content":"S","ts":30,"metadata":{"kind":"compaction_summary","displayRole":"system","userRunSpan":1,"summary":"S","details":{"readFiles":[],"modifiedFiles":[]},"tokensBefore":9,"generatedAt":30}}"#));
    let expected = [&messages[3..4], &[summary], &messages[5..]].concat();
    assert_eq!(left, session(&expected));
    let transcript = read(&left);
    assert!(transcript.conversations[0].messages[0].is_summary);
    assert_eq!(
        window(&transcript),
        ["user: S", "user: more", "assistant: yes"]
    );
    // Prompts within an earlier summary are counted again.
    let again = summarised(&left, 3).unwrap();
    assert!(again.contains(r#""userRunSpan":2"#) && window(&read(&again)) == ["user: S"]);
    assert_eq!(summarised(&left, 0), None);
}

#[test]
fn what_is_only_like_a_session_is_refused() {
    let text = session(&example());
    for (from, to) in [
        (r#""version":1"#, r#""version":2"#),
        (r#""updated_at":"t","#, ""),
        (r#""role":"assistant""#, r#""role":"tool""#),
        (r#""type":"tool_use""#, r#""type":"server_tool_use""#),
        (r#"{"id":"4","#, r#"7,{"id":"4","#),
        (r#""id":"5","role":"assistant","#, r#""id":"5","#),
    ] {
        let other = text.replacen(from, to, 1);
        assert!(matches!(detected(&other), Detected::Unsupported(_)), "{to}");
    }
    // Without the origin, it could be any program's.
    let other = text.replace("origin", "from");
    assert!(!matches!(
        detected(&other),
        Detected::Known(Format::Cline, _)
    ));
}
