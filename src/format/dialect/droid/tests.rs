use crate::apply::apply;
use crate::format::{Detected, Detector, Format, Layout, Summary, Warnings};
use crate::transcript::{ChangeSet, Role, Transcript, Typed};

const HEADER: &str = r#"{"type":"session_start","id":"s","version":2,"cwd":"/w"}"#;

fn id(n: usize) -> String {
    format!("{n:08}-1111-4222-8333-444455556666")
}

/// A message after the one before it; `more`: other members of the message.
fn said(n: usize, role: &str, text: &str, more: &str) -> String {
    let parent = match n {
        0 => String::new(),
        n => format!(r#""parentId":"{}","#, id(n - 1)),
    };
    format!(
        r#"{{"type":"message","id":"{}",{parent}"timestamp":"t{n}","message":{{"role":"{role}","content":[{{"type":"text","text":"{text}"}}]{more}}}}}"#,
        id(n)
    )
}

fn compaction(anchor: &str) -> String {
    format!(r#"{{"type":"compaction_state","id":"c","summaryText":"so far"{anchor}}}"#)
}

fn file(lines: &[String]) -> String {
    format!("{HEADER}\n{}\n", lines.join("\n"))
}

fn read(text: &str) -> Transcript<'_> {
    Format::Droid.read(text.as_bytes(), 1, &mut Warnings::default())
}

/// The text of each live message.
fn live(text: &str) -> Vec<String> {
    let transcript = read(text);
    let main = &transcript.conversations[0];
    let blocks = main.all_blocks();
    blocks
        .map(|(_, block)| transcript.block_text(transcript.block(block)).into_owned())
        .collect()
}

fn changed(text: &str, changes: impl FnOnce(&Transcript<'_>) -> ChangeSet) -> String {
    let mut transcript = read(text);
    let changes = changes(&transcript);
    apply(Format::Droid, &mut transcript, changes);
    let pieces: Vec<&[u8]> = transcript.pieces().collect();
    String::from_utf8(pieces.concat()).unwrap()
}

#[test]
fn messages_after_the_named_one_follow_the_summary() {
    let session = |anchor: &str| {
        let messages = [
            said(0, "user", "a", ""),
            said(1, "assistant", "b", ""),
            said(2, "user", "c", ""),
        ];
        file(&[&messages[..], &[compaction(anchor)]].concat())
    };
    let named = format!(r#","anchorMessage":{{"id":"{}","index":0}}"#, id(1));
    assert_eq!(live(&session(&named)), ["so far", "c"]);
    let by_number = r#","anchorMessage":{"index":0}"#;
    assert_eq!(live(&session(by_number)), ["so far", "b", "c"]);
    for none in [
        "",
        r#","anchorMessage":{"id":"gone","index":1}"#,
        r#","anchorMessage":{"index":3}"#,
    ] {
        assert_eq!(live(&session(none)), ["so far", "a", "b", "c"], "{none}");
    }
}

#[test]
fn a_number_is_mended_where_messages_before_it_leave() {
    let session = file(&[
        said(0, "user", "a", ""),
        said(1, "assistant", "b", ""),
        compaction(r#","anchorMessage":{"index":1}"#),
        said(2, "user", "c", ""),
        said(3, "assistant", "d", ""),
    ]);
    let left = changed(&session, |t| Format::Droid.dead(t));
    assert!(left.contains(r#""anchorMessage":{"index":-1}"#), "{left}");
    assert!(
        left.contains(r#""parentId":"c","timestamp":"t2""#),
        "{left}"
    );
    assert_eq!(live(&left), ["so far", "c", "d"]);
    assert_eq!(changed(&left, |t| Format::Droid.dead(t)), left);
}

#[test]
fn who_sees_a_message_says_who_wrote_it() {
    let session = file(&[
        said(0, "user", "a", r#","visibility":"llm_only""#),
        said(1, "system", "b", r#","visibility":"user_only""#),
        said(
            2,
            "user",
            "c",
            r#","visibility":"both","interactionMode":"auto""#,
        ),
        said(3, "user", "d", r#","hiddenFromUserViews":true"#),
    ]);
    assert_eq!(live(&session), ["a", "c", "d"]);
    let transcript = read(&session);
    let messages = transcript.conversations[0].messages.iter();
    let typed: Vec<bool> = messages
        .map(|message| message.typed == Typed::Yes)
        .collect();
    assert_eq!(typed, [false, true, false]);
}

#[test]
fn a_summary_names_what_it_covers() {
    let session = file(&[
        said(0, "user", "a", ""),
        said(1, "assistant", "b", ""),
        format!(r#"{{"type":"agent_turn_outcome","turnId":"{}"}}"#, id(0)),
        said(2, "user", "c", ""),
    ]);
    let new = changed(&session, |transcript| {
        let summary = Summary {
            role: Role::User,
            text: "so far!",
            acknowledgement: "",
            tokens_before: 9,
        };
        let main = &transcript.conversations[0];
        let splice = Format::Droid
            .dialect()
            .splice(transcript, main, 2, Some(summary));
        splice.unwrap().changes
    });
    assert_eq!(live(&new), ["so far!", "c"]);
    let left = changed(&new, |t| Format::Droid.dead(t));
    assert_eq!(live(&left), ["so far!", "c"]);
    let lines: Vec<&str> = left.lines().collect();
    assert_eq!(lines.len(), 3);
    let record = format!(
        r#","timestamp":"t1","summaryText":"so far!","summaryTokens":2,"summaryKind":"llm_summary","anchorMessage":{{"id":"{}"}},"removedCount":2}}"#,
        id(1)
    );
    assert!(lines[1].ends_with(&record), "{}", lines[1]);
}

#[test]
fn entries_with_long_ids_are_not_those_of_pi() {
    let detected = |text: &str| {
        let mut detector = Detector::default();
        detector.look(text.as_bytes());
        detector.decide()
    };
    let own = file(&[said(0, "user", "a", ""), said(1, "assistant", "b", "")]);
    assert_eq!(detected(&own), Detected::Known(Format::Droid, Layout::File));
    let pi = said(0, "user", "a", "").replace(&id(0), "0123abcd");
    assert_eq!(detected(&pi), Detected::Known(Format::Pi, Layout::File));
}
