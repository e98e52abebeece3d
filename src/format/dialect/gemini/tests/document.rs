//! Tests of sessions that are a single document: the same messages, none of which a later line can replace.

use super::*;

/// A document of these messages, one per line.
fn document(messages: &[String]) -> String {
    format!(
        "{{\n \"sessionId\": \"s\",\n \"messages\": [\n{}\n ],\n \"projectHash\": \"p\"\n}}\n",
        messages.join(",\n")
    )
}

/// A note, a turn with a result that occurs twice, and the next turn.
fn session() -> Vec<String> {
    vec![
        r#"{"id":"i","timestamp":"t-i","type":"info","content":"An update"}"#.to_owned(),
        user("m1", "go"),
        called("m2", "c1", "out"),
        results("m3", "c1", "out"),
        said("m4", "done"),
        user("m5", "more"),
        said("m6", "yes"),
    ]
}

fn detected(text: &str) -> Detected {
    let mut detector = Detector::default();
    detector.look(text.as_bytes());
    detector.decide()
}

/// Why a document of these messages is refused.
fn refused(messages: &[String]) -> String {
    match detected(&document(messages)) {
        Detected::Known(format, _) => panic!("taken for {}", format.name()),
        Detected::Unsupported(why) => why.to_string(),
    }
}

#[test]
fn a_document_says_what_its_messages_say_on_lines() {
    let (text, lines) = (document(&session()), session());
    let lines = file(&[&[HEADER.to_owned()], &lines[..]].concat());
    assert_eq!(
        detected(&text),
        Detected::Known(Format::Gemini, Layout::File)
    );
    assert_eq!(window(&read(&text)), window(&read(&lines)));
    assert_eq!(window(&read(&text)).len(), 6);
    // The header is split around the messages.
    assert_eq!(Format::Gemini.verify(&read(&text)), []);
    let other = text.replace("projectHash", "other");
    let findings = Format::Gemini.verify(&read(&other));
    let rules: Vec<Rule> = findings.iter().map(|finding| finding.rule).collect();
    assert_eq!(rules, [Rule::HeaderMissing]);
}

#[test]
fn a_result_that_stands_twice_leaves_once() {
    let mut kept = session();
    let left = without_dead(&document(&kept));
    kept.remove(3);
    assert_eq!(left, document(&kept));
}

#[test]
fn a_summary_takes_the_place_of_messages_and_notes_stay() {
    let messages = session();
    let text = document(&messages);
    // The answer m4 and what follows are kept.
    let left = summarised(&text, 3).unwrap();
    let summary = left.lines().nth(4).unwrap();
    let begins = r#"{"id":"ctxpack-summary-"#;
    let ends = r#"","timestamp":"t-m2","type":"user","content":"S"},"#;
    assert!(summary.starts_with(begins) && summary.ends_with(ends));
    let summary = summary.trim_end_matches(',').to_owned();
    let expected = [&messages[..1], &[summary], &messages[4..]].concat();
    assert_eq!(left, document(&expected));
    let (was, is) = (read(&text), read(&left));
    assert!(is.conversations[0].messages[0].is_summary);
    assert_eq!(window(&is)[1..], window(&was)[3..]);
}

#[test]
fn without_a_tail_only_the_summary_and_notes_are_left() {
    let text = document(&session());
    let left = summarised(&text, 6).unwrap();
    assert_eq!(window(&read(&left)), ["user: S"]);
    assert!(left.contains("An update") && left.ends_with("\n ],\n \"projectHash\": \"p\"\n}\n"));
    let none = |transcript: &Transcript<'_>| {
        super::super::compaction::splice(transcript, 6, None).unwrap()
    };
    assert_eq!(super::left(&text, none), document(&session()[..1]));
}

#[test]
fn a_summary_does_not_part_an_answer_from_its_results() {
    let text = document(&session());
    assert_eq!(summarised(&text, 2), None);
}

#[test]
fn what_is_no_message_of_the_agent_is_refused() {
    let with = |message: &str| refused(&[&session()[..], &[message.to_owned()]].concat());
    let (line, id) = ("that no reader knows", r#""id":"x","timestamp":"t""#);
    for (message, why) in [
        (
            format!(r#"{{{id},"type":"other","content":"a"}}"#),
            "line of type other",
        ),
        (
            r#"{"timestamp":"t","type":"user","content":"a"}"#.to_owned(),
            "line of type user",
        ),
        (
            r#"{"id":7,"timestamp":"t","type":"user","content":"a"}"#.to_owned(),
            "line of type user",
        ),
        (
            format!(r#"{{{id},"type":"user","content":"a","$set":{{}}}}"#),
            "line of type user",
        ),
        (
            format!(r#"{{{id},"type":"user","content":[{{"type":"tool_use"}}]}}"#),
            "block of type tool_use",
        ),
        ("\"text\"".to_owned(), "line without a type"),
        (user("m1", "again"), "message with the id of another one"),
        (
            r#"{"id":"m\u0031","timestamp":"t","type":"info"}"#.to_owned(),
            "message with the id of another one",
        ),
    ] {
        let said = with(&message);
        assert!(
            said.contains(why) && said.contains(line),
            "{message}: {said}"
        );
    }
}

#[test]
fn a_document_among_lines_is_neither() {
    let one = document(&session()).replace('\n', " ");
    for lines in [
        vec![one.clone(), one.clone()],
        vec![HEADER.to_owned(), one.clone()],
        vec![one, user("m7", "again")],
    ] {
        let found = detected(&file(&lines));
        assert!(
            matches!(found, Detected::Unsupported(why) if why.name == "mixed" || why.name == "documents")
        );
    }
    // A header that has no messages yet is a header.
    let empty = HEADER.replace("\"kind\"", "\"messages\":[],\"kind\"");
    for lines in [vec![empty.clone()], vec![empty, user("m1", "go")]] {
        let text = file(&lines);
        assert_eq!(
            detected(&text),
            Detected::Known(Format::Gemini, Layout::File)
        );
        assert_eq!(Format::Gemini.verify(&read(&text)), []);
    }
}
