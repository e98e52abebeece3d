use crate::apply::apply;
use crate::format::{Detected, Detector, Format, Layout, Summary, Warnings};
use crate::transcript::{ChangeSet, Role, Transcript, Typed};
use crate::verify::Rule;

const HEADER: &str = r#"{"type":"metadata","protocol_version":"1.5","created_at":1}"#;

/// A message with the user's role; `origin` says who wrote it.
fn said(text: &str, origin: &str) -> String {
    format!(
        r#"{{"type":"context.append_message","agentId":"main","message":{{"role":"user","content":[{{"type":"text","text":"{text}"}}],"id":"p-{text}","toolCalls":[],"origin":{{"kind":"{origin}"}}}},"time":7}}"#
    )
}

fn user(text: &str) -> String {
    said(text, "user")
}

/// An event of a step; `more` are its other members.
fn event(kind: &str, more: &str) -> String {
    format!(
        r#"{{"type":"context.append_loop_event","agentId":"main","event":{{"type":"{kind}"{more}}},"time":8}}"#
    )
}

fn begin(step: &str) -> String {
    event("step.begin", &format!(r#","uuid":"{step}""#))
}

fn end(step: &str) -> String {
    let more = format!(r#","uuid":"{step}","messageId":"m-{step}","finishReason":"end_turn""#);
    event("step.end", &more)
}

fn part(step: &str, text: &str) -> String {
    let more = format!(r#","stepUuid":"{step}","part":{{"type":"text","text":"{text}"}}"#);
    event("content.part", &more)
}

fn call(step: &str, id: &str) -> String {
    let more = format!(
        r#","stepUuid":"{step}","toolCallId":"{id}","name":"Bash","args":{{"command":"ls"}}"#
    );
    event("tool.call", &more)
}

fn result(id: &str, text: &str) -> String {
    let more = format!(r#","toolCallId":"{id}","result":{{"output":"{text}"}}"#);
    event("tool.result", &more)
}

/// A step with one text.
fn answer(step: &str, text: &str) -> Vec<String> {
    vec![begin(step), part(step, text), end(step)]
}

fn compaction(more: &str) -> String {
    format!(
        r#"{{"type":"context.apply_compaction","agentId":"main","summary":"so far",{more},"time":9}}"#
    )
}

fn file(lines: &[&[String]]) -> String {
    format!("{HEADER}\n{}\n", lines.concat().join("\n"))
}

fn read(text: &str) -> Transcript<'_> {
    Format::Kimi.read(text.as_bytes(), 1, &mut Warnings::default())
}

/// The text of each live block; a call is its id.
fn live(text: &str) -> Vec<String> {
    let transcript = read(text);
    let main = &transcript.conversations[0];
    let blocks = main.all_blocks().map(|(_, block)| transcript.block(block));
    blocks
        .map(|block| match transcript.texts(block) {
            [] => {
                let id = transcript.bytes(block.line, block.call_id);
                String::from_utf8_lossy(id).into_owned()
            }
            _ => transcript.block_text(block).into_owned(),
        })
        .collect()
}

fn changed(text: &str, changes: impl FnOnce(&Transcript<'_>) -> ChangeSet) -> String {
    let mut transcript = read(text);
    let changes = changes(&transcript);
    apply(Format::Kimi, &mut transcript, changes);
    let pieces: Vec<&[u8]> = transcript.pieces().collect();
    String::from_utf8(pieces.concat()).unwrap()
}

fn dropped(text: &str) -> String {
    changed(text, |transcript| Format::Kimi.dead(transcript))
}

fn summarised(text: &str, tail: usize) -> String {
    changed(text, |transcript| {
        let summary = Summary {
            role: Role::User,
            text: "so far!",
            acknowledgement: "",
            tokens_before: 9,
        };
        let main = &transcript.conversations[0];
        let splice = Format::Kimi
            .dialect()
            .splice(transcript, main, tail, Some(summary));
        splice.unwrap().changes
    })
}

fn rules(text: &str) -> Vec<Rule> {
    let findings = Format::Kimi.verify(&read(text));
    findings.into_iter().map(|finding| finding.rule).collect()
}

#[test]
fn an_answer_is_a_step_and_what_is_said_meanwhile_follows_its_results() {
    let session = file(&[
        &[
            user("a"),
            begin("1"),
            part("1", "b"),
            call("1", "x"),
            call("1", "y"),
        ],
        &[
            said("meanwhile", "injection"),
            result("y", "2"),
            result("x", "1"),
            end("1"),
        ],
        &answer("2", "c"),
    ]);
    assert_eq!(
        live(&session),
        ["a", "b", "x", "y", "2", "1", "meanwhile", "c"]
    );
    let transcript = read(&session);
    let messages = transcript.conversations[0].messages.iter();
    let typed: Vec<bool> = messages.map(|m| m.typed == Typed::Yes).collect();
    assert_eq!(typed, [true, false, false, false, false, false]);
}

#[test]
fn parts_of_no_open_step_are_passed_over_and_a_silent_step_is_forgotten() {
    let session = file(&[
        &[user("a"), begin("1"), part("other", "b"), end("1")],
        &[part("1", "late"), result("none", "c")],
        &answer("2", "d"),
    ]);
    assert_eq!(live(&session), ["a", "d"]);
    assert_eq!(rules(&session), [Rule::OrphanResult]);
    // The empty step is removed.
    assert_eq!(
        session.lines().count() - dropped(&session).lines().count(),
        2
    );
    // An interrupted step stays open, and is sent when the next one begins.
    let open = file(&[
        &[user("a"), begin("1"), part("1", "b"), call("1", "x")],
        &answer("2", "c"),
    ]);
    assert_eq!(live(&open), ["a", "b", "x", "c"]);
    assert_eq!(rules(&open), []);
}

#[test]
fn a_compaction_keeps_the_end_or_what_the_user_wrote() {
    let said = [user("a"), user("b"), said("r", "injection")];
    let session = |more: &str| {
        let answer = answer("1", "c");
        file(&[&said, &answer, &[compaction(more), user("d")]])
    };
    assert_eq!(
        live(&session(r#""compactedCount":3"#)),
        ["so far", "c", "d"]
    );
    assert_eq!(
        live(&session(r#""compactedCount":9,"legacyTail":true"#)),
        ["so far", "d"]
    );
    let words = r#""compactedCount":4,"keptUserMessageCount":2"#;
    assert_eq!(live(&session(words)), ["a", "b", "so far", "d"]);
    let last = r#""compactedCount":4,"keptUserMessageCount":1"#;
    assert_eq!(live(&session(last)), ["b", "so far", "d"]);
    let sent = r#""contextSummary":"sent","compactedCount":4,"keptUserMessageCount":0"#;
    assert_eq!(live(&session(sent)), ["sent", "d"]);
    for more in [r#""compactedCount":3"#, words, last, sent] {
        let left = dropped(&session(more));
        assert_eq!(live(&left), live(&session(more)), "{more}");
        assert_eq!(dropped(&left), left, "{more}");
    }
    // The messages that it counted are gone.
    let left = dropped(&session(r#""compactedCount":3"#));
    assert!(left.contains(r#""compactedCount":0"#), "{left}");
}

#[test]
fn turns_that_were_taken_back_leave() {
    let undo = |count: usize| {
        format!(r#"{{"type":"context.undo","agentId":"main","count":{count},"time":9}}"#)
    };
    let session = |count: usize| {
        let (one, two) = (answer("1", "b"), answer("2", "d"));
        file(&[
            &[user("a")],
            &one,
            &[user("c")],
            &two,
            &[undo(count), user("e")],
        ])
    };
    assert_eq!(live(&session(1)), ["a", "b", "e"]);
    assert_eq!(live(&session(2)), ["e"]);
    // There are fewer than three turns.
    assert_eq!(live(&session(3)), ["a", "b", "c", "d", "e"]);
    let left = dropped(&session(1));
    assert_eq!(live(&left), ["a", "b", "e"]);
    assert!(!left.contains("context.undo"), "{left}");
}

#[test]
fn a_session_goes_on_from_the_record_that_a_switch_names() {
    let switch = |line: usize, undo: usize| {
        let base = format!(r#"{{"branch":"main","line":{line}}}"#);
        format!(
            r#"{{"type":"agent.switched","agentId":"main","branch":"b1","base":{base},"legacyUndoLine":{undo},"time":9}}"#
        )
    };
    let undo = r#"{"type":"context.undo","agentId":"main","count":1,"time":9}"#.to_owned();
    let (one, two) = (answer("1", "b"), answer("2", "d"));
    // The header is record 1, and the blank line has no number.
    let session = file(&[
        &[user("a")],
        &one,
        &[String::new(), user("c"), said("r", "injection")],
        &two,
        &[switch(5, 12), undo, user("e")],
    ]);
    assert_eq!(live(&session), ["a", "b", "r", "e"]);
    let left = dropped(&session);
    assert_eq!(live(&left), ["a", "b", "r", "e"]);
    assert!(
        left.contains(r#""base":{"branch":"main","line":5}"#),
        "{left}"
    );
    // A summary is a record too, and so is the count after it.
    let new = summarised(&left, 1);
    assert_eq!(live(&new), ["so far!", "b", "r", "e"]);
    assert!(
        new.contains(r#""base":{"branch":"main","line":7}"#),
        "{new}"
    );
    let least = dropped(&new);
    assert_eq!(live(&least), ["so far!", "b", "r", "e"]);
    assert_eq!(dropped(&least), least);
}

#[test]
fn a_summary_comes_before_the_first_kept_message_and_counts_what_it_covers() {
    let count =
        r#"{"type":"token_counting.measured","agentId":"main","length":4,"tokens":99,"time":8}"#;
    let copy = |role: &str, meta: &str| {
        format!(
            r#"{{"type":"agent.message.appended","message":{{"message":{{"role":"{role}","content":[]}},"meta":{{{meta}}}}}}}"#
        )
    };
    let (one, two) = (answer("1", "b"), answer("2", "d"));
    let session = file(&[
        &[user("a"), copy("user", r#""userMessageId":"p-a""#)],
        &one,
        &[user("c")],
        &two,
        &[count.to_owned(), copy("assistant", r#""messageId":"m-1""#)],
        &[copy("assistant", r#""messageId":"m-2""#)],
    ]);
    let new = summarised(&session, 2);
    assert_eq!(live(&new), ["so far!", "c", "d"]);
    assert!(!new.contains("\"tokens\":99"), "{new}");
    let left = dropped(&new);
    let lines: Vec<&str> = left.lines().collect();
    assert_eq!(
        lines[1],
        r#"{"type":"context.apply_compaction","agentId":"main","summary":"so far!","compactedCount":2,"tokensBefore":9,"legacyTail":true,"time":8}"#
    );
    assert_eq!(
        lines[2],
        r#"{"type":"token_counting.rebased","agentId":"main","length":1,"tokens":2,"measured":false,"time":8}"#
    );
    // Copies of removed messages are gone, and copies of the remaining ones are not.
    assert!(
        !left.contains("m-1") && !left.contains("userMessageId"),
        "{left}"
    );
    assert!(left.contains(r#"{"messageId":"m-2"}"#), "{left}");
    assert_eq!(lines.len(), 8);
}

#[test]
fn its_agent_reads_nothing_after_a_line_that_is_no_json() {
    let good = file(&[&[user("a")], &answer("1", "b")]);
    assert_eq!(rules(&good), []);
    let bad = good.replacen('\n', "\n// a comment\n42\n", 1);
    assert_eq!(rules(&bad), [Rule::InvalidJson]);
    // The last line may break off.
    assert_eq!(rules(&format!("{good}{{\"type\":")), []);
    let header = good.replace("\"created_at\":1", "\"created_at\":\"1\"");
    assert_eq!(rules(&header), [Rule::HeaderMissing]);
}

#[test]
fn it_is_known_by_the_records_of_its_context() {
    let detected = |text: &str| {
        let mut detector = Detector::default();
        detector.look(text.as_bytes());
        detector.decide()
    };
    let own = file(&[&[user("a")], &answer("1", "b")]);
    assert_eq!(detected(&own), Detected::Known(Format::Kimi, Layout::File));
    let strange = own.replace("\"role\":\"user\"", "\"role\":\"robot\"");
    assert!(matches!(detected(&strange), Detected::Unsupported(_)));
}
