//! Tests with hand-written sessions: what is read, what is live, and which lines are dead.

use crate::format::{Format, Warnings};
use crate::transcript::{BlockKind, ConversationId, LineKind, Outcome, Transcript, Typed};

const START: &str = r#"{"type":"session.start","data":{"sessionId":"s","selectedModel":"old"},"id":"0","parentId":null}"#;

fn event(n: usize, kind: &str, data: &str) -> String {
    let before = n - 1;
    format!(r#"{{"type":"{kind}","data":{data},"id":"{n}","parentId":"{before}"}}"#)
}

fn log(events: &[(&str, &str)]) -> String {
    let events = events.iter().zip(1..);
    let events = events.map(|((kind, data), n)| event(n, kind, data));
    let lines: Vec<String> = [START.to_owned()].into_iter().chain(events).collect();
    lines.join("\n")
}

fn read(text: &str) -> Transcript<'_> {
    Format::Copilot.read(text.as_bytes(), 1, &mut Warnings::default())
}

/// The texts of each message of the main conversation.
fn said(transcript: &Transcript<'_>) -> Vec<Vec<String>> {
    let main = &transcript.conversations[0];
    let texts = |block: &u32| {
        let block = transcript.block(*block);
        transcript.block_text(block).into_owned()
    };
    let messages = main.messages.iter();
    messages
        .map(|message| main.blocks(message).iter().map(texts).collect())
        .collect()
}

#[test]
fn words_are_apart_from_what_is_sent_around_them() {
    let text = log(&[
        (
            "user.message",
            r#"{"transformedContent":"<d>1</d>\n\nn\u00e9w\n\nend","content":"n\u00e9w"}"#,
        ),
        (
            "user.message",
            r#"{"content":"n","transformedContent":"\\nx\n n"}"#,
        ),
        (
            "user.message",
            r#"{"content":"shown","transformedContent":"sent"}"#,
        ),
        (
            "user.message",
            r#"{"content":"","transformedContent":"only"}"#,
        ),
        (
            "user.message",
            r#"{"content":"by a skill","source":"skill-x"}"#,
        ),
    ]);
    let transcript = read(&text);
    assert_eq!(
        said(&transcript),
        [
            vec!["néw", "<d>1</d>\n\n\n\n\nend"],
            vec!["n", "\\\nx\n n"],
            vec!["sent"],
            vec!["only"],
            vec!["by a skill"],
        ]
    );
    let messages = &transcript.conversations[0].messages;
    let typed: Vec<bool> = messages.iter().map(|m| m.typed == Typed::Yes).collect();
    assert_eq!(typed, [true, true, true, true, false]);
}

#[test]
fn what_a_mode_and_reminders_add_is_not_the_users() {
    let sent =
        "[[PLAN]] I want to create a plan.\\nMy request: split it\\n\\n<reminder>x</reminder>";
    let data = format!(r#"{{"content":"split it","transformedContent":"{sent}"}}"#);
    let text = log(&[("user.message", &data)]);
    let transcript = read(&text);
    let main = &transcript.conversations[0];
    let blocks = main.blocks(&main.messages[0]).iter();
    let words: Vec<bool> = blocks.map(|b| transcript.block(*b).is_words()).collect();
    assert_eq!(words, [true, false]);
    assert_eq!(main.messages[0].typed, Typed::Yes);
}

#[test]
fn what_was_said_since_a_compaction_began_stays_behind_its_summary() {
    let user = |text: &str| format!(r#"{{"content":"{text}"}}"#);
    let done = |text: &str| format!(r#"{{"success":true,"summaryContent":"{text}"}}"#);
    let (a, b, c, d) = (user("a"), user("b"), user("c"), user("d"));
    let (one, two) = (done("one"), done("two"));
    let failed = r#"{"success":false,"summaryContent":"no"}"#;
    let (said_by, start, end) = (
        "user.message",
        "session.compaction_start",
        "session.compaction_complete",
    );
    let live = |events: &[(&str, &str)]| said(&read(&log(events))).concat();
    assert_eq!(
        live(&[(said_by, &a), (end, &one), (said_by, &b)]),
        ["one", "b"]
    );
    assert_eq!(
        live(&[
            (said_by, &a),
            (start, "{}"),
            (said_by, &b),
            (end, &one),
            (said_by, &c)
        ]),
        ["one", "b", "c"]
    );
    // A second start replaces the first; a compaction ends only one.
    assert_eq!(
        live(&[
            (start, "{}"),
            (said_by, &a),
            (start, "{}"),
            (said_by, &b),
            (end, &one),
            (said_by, &c),
            (end, &two)
        ]),
        ["two"]
    );
    assert_eq!(
        live(&[(said_by, &a), (end, failed), (end, "{}"), (said_by, &d)]),
        ["a", "d"]
    );
    let cleared = r#"{"messagesCleared":1,"initialMessage":"anew"}"#;
    assert_eq!(
        live(&[
            (said_by, &a),
            ("session.context_cleared", cleared),
            (said_by, &b)
        ]),
        ["anew", "b"]
    );
}

#[test]
fn an_answer_in_pieces_is_one_and_results_say_how_they_ended() {
    let text = log(&[
        (
            "assistant.message",
            r#"{"content":"so","apiCallId":"x","toolRequests":[]}"#,
        ),
        (
            "assistant.message",
            r#"{"content":"","apiCallId":"x","toolRequests":[{"toolCallId":"c","name":"apply_patch","arguments":"*** x"}]}"#,
        ),
        (
            "tool.execution_complete",
            r#"{"toolCallId":"c","success":false,"error":{"message":"no","code":"failure"}}"#,
        ),
        (
            "tool.execution_complete",
            r#"{"toolCallId":"u","success":true,"isUserRequested":true,"result":{"content":"ran","detailedContent":"ran"}}"#,
        ),
    ]);
    let transcript = read(&text);
    assert_eq!(
        said(&transcript),
        [vec!["so", "*** x"], vec!["no"], vec!["ran"]]
    );
    let results = (0..transcript.block_count() as u32).map(|block| transcript.block(block));
    let results = results.filter(|block| block.kind == BlockKind::Result);
    let ends: Vec<_> = results.map(|r| (r.outcome, r.call_id.is_empty())).collect();
    assert_eq!(ends, [(Outcome::Failed, false), (Outcome::Fine, true)]);
    assert_eq!(transcript.mirrors().len(), 1);
    let main = &transcript.conversations[0];
    assert_eq!(
        Format::Copilot.model(&transcript, main).as_deref(),
        Some("old")
    );
}

#[test]
fn subagents_have_conversations_and_their_events_are_never_dead() {
    let mut lines: Vec<String> = log(&[
        ("system.message", r#"{"role":"system","content":"first"}"#),
        ("user.message", r#"{"content":"a"}"#),
        ("hook.start", r#"{"hookType":"x","input":{}}"#),
        ("user.message", r#"{"content":"notes"}"#),
        ("system.message", r#"{"role":"system","content":"second"}"#),
        ("assistant.message", r#"{"content":"b","toolRequests":[]}"#),
        (
            "session.compaction_complete",
            r#"{"success":true,"summaryContent":"one"}"#,
        ),
        ("future.event", "{}"),
    ])
    .lines()
    .map(str::to_owned)
    .collect();
    lines[4] = lines[4].replace(r#""id""#, r#""agentId":"g","id""#);
    let text = lines.join("\n");
    let transcript = read(&text);
    let ids: Vec<_> = transcript
        .conversations
        .iter()
        .map(|c| c.id.clone())
        .collect();
    assert_eq!(
        ids,
        [
            ConversationId::Main,
            ConversationId::Sidechain("g".to_owned())
        ]
    );
    assert_eq!(transcript.lines()[8].kind, LineKind::Unknown);
    let dead = Format::Copilot.dead(&transcript);
    assert_eq!(dead.drop.into_iter().collect::<Vec<_>>(), [1, 3, 6]);
    let links: Vec<_> = dead
        .replace
        .iter()
        .map(|r| (r.line, r.with.as_slice()))
        .collect();
    assert_eq!(links, [(2, &br#""0""#[..]), (4, br#""2""#), (7, br#""5""#)]);
}
