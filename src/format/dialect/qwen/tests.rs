use crate::apply::apply;
use crate::format::{Format, Share, Summary, Warnings};
use crate::transcript::{ChangeSet, Role, Transcript, Typed};
use crate::verify::Rule;

/// A record whose parent is the one before it; `more` are its other members.
fn record(n: usize, kind: &str, more: &str) -> String {
    let parent = match n {
        0 => "null".to_owned(),
        n => format!("\"u{}\"", n - 1),
    };
    format!(
        r#"{{"uuid":"u{n}","parentUuid":{parent},"sessionId":"s","timestamp":"t{n}","type":"{kind}",{more}}}"#
    )
}

fn said(n: usize, kind: &str, parts: &str) -> String {
    let role = if kind == "assistant" { "model" } else { "user" };
    record(
        n,
        kind,
        &format!(r#""message":{{"role":"{role}","parts":[{parts}]}}"#),
    )
}

fn text(text: &str) -> String {
    format!(r#"{{"text":"{text}"}}"#)
}

fn file(lines: &[String]) -> String {
    lines.join("\n") + "\n"
}

fn read(text: &str) -> Transcript<'_> {
    Format::Qwen.read(text.as_bytes(), 1, &mut Warnings::default())
}

/// The texts of the live messages.
fn live(text: &str) -> Vec<String> {
    let transcript = read(text);
    let main = &transcript.conversations[0];
    let of = |block: &u32| transcript.block_text(transcript.block(*block)).into_owned();
    let messages = main.messages.iter();
    messages
        .map(|message| {
            let texts: Vec<String> = main.blocks(message).iter().map(of).collect();
            texts.join("+")
        })
        .collect()
}

fn changed(text: &str, changes: impl FnOnce(&Transcript<'_>) -> ChangeSet) -> String {
    let mut transcript = read(text);
    let changes = changes(&transcript);
    apply(Format::Qwen, &mut transcript, changes);
    let pieces: Vec<&[u8]> = transcript.pieces().collect();
    String::from_utf8(pieces.concat()).unwrap()
}

fn summarised(text: &str, tail: usize) -> String {
    changed(text, |transcript| {
        let summary = Summary {
            role: Role::User,
            text: "so far",
            acknowledgement: "",
            tokens_before: 9,
        };
        let main = &transcript.conversations[0];
        let dialect = Format::Qwen.dialect();
        let splice = dialect.splice(transcript, main, tail, Some(summary));
        splice.unwrap().changes
    })
}

#[test]
fn a_command_that_only_the_agent_answered_is_taken_back() {
    let result = |sent: &str| {
        format!(
            r#""subtype":"slash_command","systemPayload":{{"phase":"result","rawCommand":"/about","outputHistoryItems":[{{"type":"assistant"}}]{sent}}}"#
        )
    };
    let session = |result: &str| {
        file(&[
            said(0, "user", &text("a")),
            said(1, "user", &text("/about")),
            record(2, "system", result),
            said(3, "user", &text("b")),
        ])
    };
    assert_eq!(live(&session(&result(""))), ["a", "b"]);
    let sent = result(r#","sentToModel":true"#);
    assert_eq!(live(&session(&sent)), ["a", "/about", "b"]);
    let other = result("").replace("/about", "/other");
    assert_eq!(live(&session(&other)), ["a", "/about", "b"]);
}

#[test]
fn who_wrote_a_message_is_known_by_its_subtype() {
    let of = |n, subtype: &str| {
        said(n, "user", &text("x")).replace(
            "\"message\"",
            &format!("\"subtype\":\"{subtype}\",\"message\""),
        )
    };
    let session = file(&[
        said(0, "user", &text("x")),
        of(1, "mid_turn_user_message"),
        of(2, "notification"),
        of(3, "cron"),
        of(4, "goal_runtime"),
        of(5, "realtime_message"),
    ]);
    let transcript = read(&session);
    let messages = transcript.conversations[0].messages.iter();
    let typed: Vec<bool> = messages
        .map(|message| message.typed == Typed::Yes)
        .collect();
    assert_eq!(typed, [true, true, false, false, false]);
}

#[test]
fn records_with_one_id_are_one_message_and_a_missing_parent_ends_the_history() {
    let session = file(&[
        said(0, "user", &text("lost")),
        said(2, "user", &text("a")),
        said(3, "assistant", &text("b")),
        said(3, "assistant", &text("c")),
    ]);
    assert_eq!(live(&session), ["a", "b+c"]);
    let findings = Format::Qwen.verify(&read(&session));
    let rules: Vec<Rule> = findings.iter().map(|finding| finding.rule).collect();
    assert_eq!(rules, [Rule::ChainParentMissing]);
    assert_eq!(changed(&session, |t| Format::Qwen.dead(t)), session);
}

#[test]
fn the_summary_of_everything_is_the_last_record_under_another_content() {
    let session = file(&[
        said(0, "user", &text("a")),
        said(1, "assistant", &text("b")),
    ]);
    let kept = summarised(&session, 2);
    assert_eq!(live(&kept), ["so far"]);
    let dropped = changed(&kept, |t| Format::Qwen.dead(t));
    assert_eq!(
        dropped,
        concat!(
            r#"{"uuid":"u1","parentUuid":null,"sessionId":"s","timestamp":"t1","type":"system","provenance":"system","#,
            r#""subtype":"chat_compression","systemPayload":{"ctxpackSummary":true,"compressedHistory":["#,
            r#"{"role":"user","parts":[{"text":"so far"}]}]}}"#,
            "\n"
        )
    );
}

#[test]
fn what_comes_after_the_last_message_stays_behind_the_summary() {
    let title = record(
        2,
        "system",
        r#""subtype":"custom_title","systemPayload":{}"#,
    );
    let session = file(&[
        said(0, "user", &text("a")),
        said(1, "assistant", &text("b")),
        title,
    ]);
    let new = summarised(&session, 2);
    assert_eq!(live(&new), ["so far"]);
    assert!(
        new.lines().last().unwrap().contains("custom_title"),
        "{new}"
    );
}

#[test]
fn the_figure_that_the_agent_looks_at_is_lowered_with_those_beside_it() {
    let figures = |tokens: &str| format!(r#","usageMetadata":{{{tokens}}}}}"#);
    let answer = |n, tokens: &str| {
        let line = said(n, "assistant", &text("b"));
        line.strip_suffix('}').unwrap().to_owned() + &figures(tokens)
    };
    let corrected = |text: &str| {
        changed(text, |transcript| {
            let share = Share {
                before: 100,
                after: 40,
            };
            let main = &transcript.conversations[0];
            let dialect = Format::Qwen.dialect();
            let figures = dialect.corrected_usage(transcript, main, share);
            figures.into_iter().collect()
        })
    };
    let session = file(&[
        said(0, "user", &text("a")),
        answer(1, r#""promptTokenCount":900"#),
        answer(
            2,
            r#""promptTokenCount":1000,"totalTokenCount":1030,"cachedContentTokenCount":500"#,
        ),
        answer(3, r#""promptTokenCount":0"#),
    ]);
    let lowered = corrected(&session);
    assert!(
        lowered.contains(
            r#"{"promptTokenCount":400,"totalTokenCount":430,"cachedContentTokenCount":0}"#
        )
    );
    assert!(lowered.contains(r#"{"promptTokenCount":900}"#));
    // The last record is a summary, so its figure is the last one.
    let session = file(&[
        said(0, "user", &text("a")),
        answer(1, r#""promptTokenCount":900"#),
    ]);
    let kept = corrected(&summarised(&session, 2));
    assert!(
        kept.contains(r#""originalTokenCount":900,"newTokenCount":360"#),
        "{kept}"
    );
    assert!(kept.contains(r#"{"promptTokenCount":900}"#), "{kept}");
}

#[test]
fn a_history_that_is_no_list_is_an_error() {
    let session = file(&[
        said(0, "user", &text("a")),
        record(
            1,
            "system",
            r#""subtype":"chat_compression","systemPayload":{"compressedHistory":{}}"#,
        ),
    ]);
    let findings = Format::Qwen.verify(&read(&session));
    let rules: Vec<Rule> = findings.iter().map(|finding| finding.rule).collect();
    assert_eq!(rules, [Rule::SummaryMalformed]);
}
