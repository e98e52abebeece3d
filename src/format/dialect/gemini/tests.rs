//! Tests of Gemini CLI sessions: what is live, what is dead, what a removal and a summary leave.

use crate::apply::apply;
use crate::format::shapes::splice::Summary;
use crate::format::{Detected, Detector, Format, Layout, Warnings};
use crate::ids::IdSet;
use crate::transcript::{BlockKind, ChangeSet, Outcome, Role, Shape, Transcript, Typed};
use crate::verify::Rule;

mod document;

const HEADER: &str =
    r#"{"sessionId":"s","projectHash":"p","startTime":"t0","lastUpdated":"t0","kind":"main"}"#;
const CONTEXT: &str = r#"{"id":"c","type":"user","content":[{"text":"<session_context>\nlinux"}]}"#;

fn user(id: &str, said: &str) -> String {
    format!(r#"{{"id":"{id}","timestamp":"t-{id}","type":"user","content":[{{"text":"{said}"}}]}}"#)
}

fn response(call: &str, said: &str) -> String {
    format!(
        r#"{{"functionResponse":{{"id":"{call}","name":"run_shell_command","response":{{"output":"{said}"}}}}}}"#
    )
}

/// An answer with one call and its result.
fn called(id: &str, call: &str, said: &str) -> String {
    let result = response(call, said);
    format!(
        r#"{{"id":"{id}","timestamp":"t-{id}","type":"gemini","content":"","toolCalls":[{{"id":"{call}","name":"run_shell_command","args":{{"command":"ls"}},"result":[{result}],"status":"success","resultDisplay":"{said}"}}],"model":"gemini-2.5-pro","tokens":{{"input":7}}}}"#
    )
}

fn results(id: &str, call: &str, said: &str) -> String {
    let result = response(call, said);
    format!(r#"{{"id":"{id}","timestamp":"t-{id}","type":"user","content":[{result}]}}"#)
}

fn said(id: &str, text: &str) -> String {
    format!(r#"{{"id":"{id}","timestamp":"t-{id}","type":"gemini","content":"{text}"}}"#)
}

fn set(messages: &[String]) -> String {
    format!(
        r#"{{"$set":{{"messages":[{}],"lastUpdated":"t1"}}}}"#,
        messages.join(",")
    )
}

fn file(lines: &[String]) -> String {
    lines.iter().map(|line| format!("{line}\n")).collect()
}

fn read(text: &str) -> Transcript<'_> {
    Format::Gemini.read(text.as_bytes(), 1, &mut Warnings::default())
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
    main.messages
        .iter()
        .map(|m| {
            let blocks: Vec<String> = main.blocks(m).iter().map(texts).collect();
            format!("{}: {}", m.role.name(), blocks.join(" | "))
        })
        .collect()
}

fn left(text: &str, changes: impl FnOnce(&Transcript<'_>) -> ChangeSet) -> String {
    let mut transcript = read(text);
    let changes = changes(&transcript);
    apply(Format::Gemini, &mut transcript, changes);
    let pieces: Vec<&[u8]> = transcript.pieces().collect();
    String::from_utf8(pieces.concat()).unwrap()
}

fn without_dead(text: &str) -> String {
    left(text, |transcript| Format::Gemini.dead(transcript))
}

/// A session as the agent records it.
fn recorded() -> Vec<String> {
    vec![
        HEADER.to_owned(),
        set(&[CONTEXT.to_owned()]),
        user("m1", "go"),
        r#"{"$set":{"lastUpdated":"t1"}}"#.to_owned(),
        r#"{"id":"m2","timestamp":"t-m2","type":"gemini","content":""}"#.to_owned(),
        called("m2", "c1", "out"),
        results("m3", "c1", "out"),
        said("m4", "done"),
        r#"{"$set":{"lastUpdated":"t2"}}"#.to_owned(),
    ]
}

#[test]
fn an_answer_and_its_results_are_two_messages_and_a_repetition_is_none() {
    let text = file(&recorded());
    let transcript = read(&text);
    assert_eq!(
        window(&transcript),
        [
            "user: go",
            "assistant: call",
            "tool: out",
            "assistant: done"
        ]
    );
    let main = &transcript.conversations[0];
    assert_eq!(main.messages[0].typed, Typed::Yes);
    assert_eq!(main.copies.len(), 1);
    assert_eq!(Format::Gemini.verify(&transcript), []);
    let recorded = |at: usize| Format::Gemini.recorded(&transcript, main, &main.messages[at]);
    assert_eq!((recorded(1), recorded(3)), (Some(7), None));
    assert_eq!(
        Format::Gemini.model(&transcript, main).as_deref(),
        Some("gemini-2.5-pro")
    );
}

#[test]
fn what_was_written_again_and_what_repeats_results_is_dead() {
    let lines = recorded();
    let expected: Vec<String> = [0, 1, 2, 3, 5, 7, 8].map(|n| lines[n].clone()).into();
    assert_eq!(without_dead(&file(&lines)), file(&expected));
    // The second time, nothing is dead.
    assert_eq!(without_dead(&file(&expected)), file(&expected));
}

#[test]
fn a_repetition_that_says_something_else_is_left_alone() {
    let mut lines = recorded();
    lines.remove(4);
    lines[5] = results("m3", "c1", "other");
    let text = file(&lines);
    let transcript = read(&text);
    assert_eq!(window(&transcript)[2..], ["tool: out", "assistant: done"]);
    assert!(transcript.conversations[0].copies.is_empty());
    assert_eq!(without_dead(&text), text);
}

#[test]
fn a_line_that_holds_the_place_of_its_message_stays() {
    let lines = [
        HEADER.to_owned(),
        user("m1", "go"),
        said("m2", "a"),
        user("m3", "on"),
        said("m2", "b"),
    ];
    let text = file(&lines);
    assert_eq!(
        window(&read(&text)),
        ["user: go", "assistant: b", "user: on"]
    );
    assert_eq!(without_dead(&text), text);
}

#[test]
fn a_resumption_makes_all_before_it_dead_and_its_own_repetitions() {
    let mut lines = recorded();
    let call = r#"{"functionCall":{"id":"c1","name":"run_shell_command","args":{}}}"#;
    let asked = format!(r#"{{"id":"m2","type":"gemini","content":[{call}]}}"#);
    let all = [
        CONTEXT.to_owned(),
        user("m1", "go"),
        asked,
        results("m2_response", "c1", "out"),
        results("m3", "c1", "out"),
        said("m4", "done"),
    ];
    lines.extend([
        HEADER.to_owned(),
        set(&[CONTEXT.to_owned()]),
        r#"{"$set":{"sessionId":"s"}}"#.to_owned(),
        set(&all),
        user("m5", "more"),
    ]);
    let text = file(&lines);
    let seen = [
        "user: go",
        "assistant: call",
        "tool: out",
        "assistant: done",
        "user: more",
    ];
    assert_eq!(window(&read(&text)), seen);
    let mut once = all.to_vec();
    once.remove(4);
    let expected = [
        HEADER.to_owned(),
        r#"{"$set":{"lastUpdated":"t2"}}"#.to_owned(),
        HEADER.to_owned(),
        r#"{"$set":{"sessionId":"s"}}"#.to_owned(),
        set(&once),
        user("m5", "more"),
    ];
    let is = without_dead(&text);
    assert_eq!(is, file(&expected));
    assert_eq!(window(&read(&is)), seen);
}

#[test]
fn what_was_taken_back_leaves_with_the_line_that_says_so() {
    let back = |id: &str| format!(r#"{{"$rewindTo":"{id}"}}"#);
    let lines = [
        HEADER.to_owned(),
        set(&[user("m1", "go"), said("m2", "a"), user("m3", "no")]),
        said("m4", "b"),
        back("m3"),
        user("m5", "yes"),
    ];
    let expected = [
        HEADER.to_owned(),
        set(&[user("m1", "go"), said("m2", "a")]),
        user("m5", "yes"),
    ];
    assert_eq!(without_dead(&file(&lines)), file(&expected));
    // Rewinding to a message that does not exist removes everything.
    let lines = [
        HEADER.to_owned(),
        user("m1", "go"),
        back("x"),
        user("m2", "yes"),
    ];
    let expected = [HEADER.to_owned(), user("m2", "yes")];
    assert_eq!(without_dead(&file(&lines)), file(&expected));
    // A model would see nothing, so nothing is dead.
    let text = file(&lines[..3]);
    assert_eq!(without_dead(&text), text);
}

#[test]
fn a_list_that_also_describes_the_session_stays() {
    let other =
        set(&[user("m1", "go")]).replace("\"lastUpdated\"", "\"summary\":\"x\",\"lastUpdated\"");
    let text = file(&[HEADER.to_owned(), other, set(&[user("m2", "on")])]);
    assert_eq!(without_dead(&text), text);
}

fn summarised(text: &str, tail: usize) -> Option<String> {
    let transcript = read(text);
    let summary = Summary {
        role: Role::User,
        text: "S",
        acknowledgement: "",
        tokens_before: 9,
    };
    super::compaction::splice(&transcript, tail, Some(summary))?;
    Some(left(text, |transcript| {
        super::compaction::splice(transcript, tail, Some(summary)).unwrap()
    }))
}

#[test]
fn a_summary_is_a_list_of_its_own_before_kept_lines() {
    let text = file(&recorded());
    let is = summarised(&text, 3).unwrap();
    let transcript = read(&is);
    assert_eq!(window(&transcript), ["user: S", "assistant: done"]);
    assert!(transcript.conversations[0].messages[0].is_summary);
    let new = is.lines().nth(7).unwrap();
    assert!(new.starts_with(&format!(
        r#"{{"$set":{{"messages":[{CONTEXT},{{"id":"ctxpack-summary-"#
    )));
    assert!(
        new.ends_with(r#""timestamp":"t-m2","type":"user","content":"S"}],"lastUpdated":"t1"}}"#)
    );
    // Then everything before it is dead, except the time that the agent shows.
    let lines = recorded();
    let expected = [&lines[0], new, &lines[7], &lines[8]].map(|line| format!("{line}\n"));
    assert_eq!(without_dead(&is), expected.concat());
    // An answer and the results on its line are not separated.
    assert_eq!(summarised(&text, 2), None);
    assert_eq!(window(&read(&summarised(&text, 4).unwrap())), ["user: S"]);
}

#[test]
fn a_summary_is_an_item_of_the_list_that_kept_messages_are_in() {
    let all = [
        CONTEXT.to_owned(),
        user("m1", "go"),
        said("m2", "a"),
        user("m3", "on"),
    ];
    let text = file(&[HEADER.to_owned(), set(&all), said("m4", "b")]);
    let is = summarised(&text, 2).unwrap();
    assert_eq!(window(&read(&is)), ["user: S", "user: on", "assistant: b"]);
    let list = is.lines().nth(1).unwrap();
    let begins = format!(r#"{{"$set":{{"messages":[{CONTEXT},{{"id":"ctxpack-summary-"#);
    assert!(list.starts_with(&begins), "{list}");
    assert!(list.ends_with(&format!(
        r#","content":"S"}},{}],"lastUpdated":"t1"}}}}"#,
        user("m3", "on")
    )));
}

#[test]
fn the_agents_own_summary_is_one() {
    let ack = said("b", "Got it. Thanks for the additional context!");
    let text = file(&[
        HEADER.to_owned(),
        set(&[CONTEXT.to_owned(), user("a", "<state_snapshot>"), ack]),
    ]);
    let transcript = read(&text);
    let messages = &transcript.conversations[0].messages;
    assert!(messages[0].is_summary && !messages[1].is_summary);
    assert_eq!(messages[0].typed, Typed::No);
}

#[test]
fn calls_leave_with_their_results_and_silent_messages_with_their_repetitions() {
    let mut lines = recorded();
    lines[5] = lines[5].replace(r#""content":"""#, r#""content":"look""#);
    lines[4] = lines[5].clone();
    let text = file(&lines);
    let is = left(&text, |transcript| {
        let removed = [BlockKind::Call, BlockKind::Result];
        let blocks = 0..transcript.block_count() as u32;
        let blocks: IdSet<u32> = blocks
            .filter(|b| removed.contains(&transcript.block(*b).kind))
            .collect();
        super::removal::without(transcript, &blocks)
    });
    assert_eq!(
        window(&read(&is)),
        ["user: go", "assistant: look", "assistant: done"]
    );
    assert!(
        is.lines()
            .nth(5)
            .unwrap()
            .contains(r#""toolCalls":[],"model""#)
    );
    assert!(!is.contains("\"m3\""));
}

#[test]
fn what_the_agent_does_not_send_is_no_message() {
    for content in [
        r#""/help""#,
        r#""  ""#,
        r#"[]"#,
        r#"[{"text":"\n?"}]"#,
        r#"[{"text":""},{"text":"<hook_context>x"}]"#,
    ] {
        let text = file(&[
            HEADER.to_owned(),
            format!(r#"{{"id":"m1","timestamp":"t","type":"user","content":{content}}}"#),
            r#"{"id":"m2","timestamp":"t","type":"info","content":"note"}"#.to_owned(),
            r#"{"type":"user","content":"no id"}"#.to_owned(),
            r#"{"id":"m3","timestamp":"t","type":"gemini","content":[{"text":"hm","thought":true}]}"#.to_owned(),
        ]);
        assert_eq!(window(&read(&text)), [""; 0], "{content}");
    }
}

#[test]
fn results_have_the_shapes_of_their_responses() {
    let line = |result: &str| {
        format!(
            r#"{{"id":"m","timestamp":"t","type":"gemini","content":"","toolCalls":[{{"id":"c","name":"run_shell_command","args":{{}},"status":"success","result":{result}}}]}}"#
        )
    };
    let part = |response: &str| {
        format!(
            r#"[{{"functionResponse":{{"id":"c","name":"run_shell_command","response":{response}}}}}]"#
        )
    };
    for (result, shape, outcome) in [
        (part(r#"{"output":"a"}"#), Shape::String, Outcome::Fine),
        (
            part(r#"{"output":"a\nExit Code: 0"}"#),
            Shape::String,
            Outcome::Fine,
        ),
        (
            part(r#"{"output":"a\nExit Code: 2\nPGID: 1"}"#),
            Shape::String,
            Outcome::Failed,
        ),
        (part(r#"{"error":"a"}"#), Shape::String, Outcome::Failed),
        (
            part(r#"{"output":"a","code":0}"#),
            Shape::Other,
            Outcome::Fine,
        ),
        (part(r#"[1]"#), Shape::Other, Outcome::Fine),
        (part("null"), Shape::Absent, Outcome::Fine),
        (r#""a""#.to_owned(), Shape::String, Outcome::Fine),
    ] {
        let text = file(&[HEADER.to_owned(), line(&result)]);
        let transcript = read(&text);
        let main = &transcript.conversations[0];
        let block = transcript.block(main.blocks(&main.messages[1])[0]);
        assert_eq!((block.shape, block.outcome), (shape, outcome), "{result}");
        assert_eq!(transcript.bytes(1, block.call_id), b"c");
    }
}

#[test]
fn orphans_and_missing_headers_are_found() {
    let text = file(&[
        user("m1", "go"),
        results("m2", "c1", "x"),
        called("m3", "c2", "y").replace(r#""result":["#, r#""result":null,"x":["#),
    ]);
    let rules: Vec<Rule> = Format::Gemini
        .verify(&read(&text))
        .iter()
        .map(|f| f.rule)
        .collect();
    assert_eq!(
        rules,
        [Rule::OrphanResult, Rule::MissingResult, Rule::HeaderMissing]
    );
}

#[test]
fn a_session_is_known_by_its_lines_and_others_are_not_taken_for_one() {
    let detected = |text: &str| {
        let mut detector = Detector::default();
        detector.look(text.as_bytes());
        detector.decide()
    };
    let own = Detected::Known(Format::Gemini, Layout::File);
    assert_eq!(detected(&file(&recorded())), own);
    assert_eq!(
        detected(&file(&[HEADER.to_owned(), set(&[user("m", "go")])])),
        own
    );
    for strange in [
        user("m1", "go").replace("\"text\"", "\"type\":\"text\",\"text\""),
        set(&[user("m1", "go").replace("\"text\"", "\"type\":\"text\",\"text\"")]),
        r#"{"uuid":"u","parentUuid":null,"sessionId":"s","type":"user","message":{"role":"user","parts":[{"text":"a"}]}}"#.to_owned(),
        r#"{"role":"user","content":"a"}"#.to_owned(),
    ] {
        let text = file(&[HEADER.to_owned(), user("m0", "go"), strange]);
        assert!(matches!(detected(&text), Detected::Unsupported(_)), "{text}");
    }
}

#[test]
fn what_a_process_printed_in_the_background_is_not_typed() {
    let text = file(&[
        HEADER.to_owned(),
        user("m1", "go"),
        user(
            "m2",
            "Background execution update:\\n<background_output>\\nout\\n</background_output>\\n\\nA previously backgrounded execution has completed.",
        ),
        user("m3", "Background execution update: what is that?"),
    ]);
    let transcript = read(&text);
    let messages = &transcript.conversations[0].messages;
    let typed: Vec<Typed> = messages.iter().map(|message| message.typed).collect();
    assert_eq!(typed, [Typed::Yes, Typed::No, Typed::Yes]);
}
