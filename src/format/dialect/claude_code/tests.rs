//! Tests of sessions with odd links: which of their lines are live, and what they would be without compactions.

use crate::format::{Format, Warnings};
use crate::transcript::{Conversation, Transcript, Typed};

/// A session line: `kind:id<parent` and the rest as JSON members.
fn session(lines: &[(&str, &str, &str, &str)]) -> String {
    lines
        .iter()
        .map(|(kind, id, parent, rest)| {
            let parent = if parent.is_empty() {
                "null".to_owned()
            } else {
                format!("\"{parent}\"")
            };
            format!("{{\"type\":\"{kind}\",\"uuid\":\"{id}\",\"parentUuid\":{parent},{rest}}}\n")
        })
        .collect()
}

fn user(text: &str) -> String {
    format!(r#""message":{{"role":"user","content":"{text}"}}"#)
}

fn part(id: &str, block: &str) -> String {
    format!(r#""message":{{"id":"{id}","role":"assistant","content":[{block}]}}"#)
}

fn call(message: &str, id: &str) -> String {
    part(
        message,
        &format!(r#"{{"type":"tool_use","id":"{id}","name":"Bash","input":{{}}}}"#),
    )
}

fn result(id: &str) -> String {
    format!(
        r#""message":{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"{id}","content":"x"}}]}},"toolUseResult":"x""#
    )
}

/// The ids of the live lines of each conversation, one group per message.
fn live(text: &str) -> Vec<String> {
    let transcript = Format::ClaudeCode.read(text.as_bytes(), 1, &mut Warnings::default());
    ids(&transcript, &transcript.conversations)
}

/// The same for whole conversations.
fn full_history(text: &str) -> Vec<String> {
    let transcript = Format::ClaudeCode.read(text.as_bytes(), 1, &mut Warnings::default());
    ids(&transcript, &Format::ClaudeCode.full_history(&transcript))
}

fn ids(transcript: &Transcript<'_>, conversations: &[Conversation]) -> Vec<String> {
    let name = |line: &u32| {
        let id = transcript.links()[*line as usize].id;
        String::from_utf8(transcript.bytes(*line, id).to_vec()).unwrap()
    };
    conversations
        .iter()
        .map(|c| {
            let groups: Vec<_> = c
                .messages
                .iter()
                .map(|m| c.lines(m).iter().map(name).collect::<Vec<_>>().join("+"))
                .collect();
            format!("{}: {}", c.id, groups.join(" "))
        })
        .collect()
}

#[test]
fn split_messages_and_parallel_results_come_together() {
    // a1 and a2 are one message; the result of a1's call is beside the path to the leaf.
    let text = session(&[
        ("user", "u", "", &user("go")),
        ("assistant", "a1", "u", &call("m1", "t1")),
        ("assistant", "a2", "a1", &call("m1", "t2")),
        ("user", "r1", "a1", &result("t1")),
        ("user", "r2", "a2", &result("t2")),
        (
            "assistant",
            "a3",
            "r2",
            &part("m2", r#"{"type":"text","text":"done"}"#),
        ),
    ]);
    assert_eq!(live(&text), ["main: u a1+a2 r1+r2 a3"]);
    // Interleaved: call, result, call of the same message, result.
    let text = session(&[
        ("user", "u", "", &user("go")),
        ("assistant", "a1", "u", &call("m1", "t1")),
        ("user", "r1", "a1", &result("t1")),
        ("assistant", "a2", "r1", &call("m1", "t2")),
        ("user", "r2", "a2", &result("t2")),
    ]);
    assert_eq!(live(&text), ["main: u a1+a2 r1+r2"]);
}

#[test]
fn of_rewritten_history_what_shares_a_message_id_is_sent_too() {
    let text = session(&[
        ("user", "u", "", &user("go")),
        (
            "assistant",
            "old",
            "u",
            &part("m0", r#"{"type":"text","text":"no"}"#),
        ),
        ("assistant", "a1", "u", &call("m1", "t1")),
        ("user", "r1", "a1", &result("t1")),
        // The same again under new ids, as after a resume.
        ("user", "u'", "", &user("go")),
        ("assistant", "a1'", "u'", &call("m1", "t1")),
        ("user", "r1'", "a1'", &result("t1")),
    ]);
    // The abandoned answer and the first question are dead.
    assert_eq!(live(&text), ["main: u' a1'+a1 r1+r1'"]);
    let warnings = &mut Warnings::default();
    let transcript = Format::ClaudeCode.read(text.as_bytes(), 1, warnings);
    let main = &transcript.conversations[0];
    let line_of = |block: u32| transcript.block(block).line;
    let mut copies: Vec<_> = main
        .copies
        .iter()
        .map(|(c, of)| (line_of(*c), line_of(*of)))
        .collect();
    copies.sort_unstable();
    // Each call and each result is sent once: the one on the path.
    assert_eq!(copies, [(2, 5), (3, 6)]);
    assert_eq!(
        main.all_blocks()
            .map(|(_, b)| line_of(b))
            .collect::<Vec<_>>(),
        [4, 5, 6]
    );
}

#[test]
fn what_is_left_of_a_line_without_its_copy_is_judged_by_its_own_first_words() {
    let beside = |id: &str, words: &str| {
        format!(
            r#""message":{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"{id}","content":"x"}},{{"type":"text","text":"{words}"}}]}}"#
        )
    };
    for (words, typed) in [
        ("<system-reminder>s</system-reminder>", Typed::No),
        ("and now?", Typed::Yes),
    ] {
        let text = session(&[
            ("user", "u", "", &user("go")),
            ("assistant", "a1", "u", &call("m1", "t1")),
            ("user", "r1", "a1", &beside("t1", words)),
            ("user", "u'", "", &user("go")),
            ("assistant", "a1'", "u'", &call("m1", "t1")),
            ("user", "r1'", "a1'", &result("t1")),
        ]);
        let transcript = Format::ClaudeCode.read(text.as_bytes(), 1, &mut Warnings::default());
        let main = &transcript.conversations[0];
        let left = main.messages.iter().find(|m| main.first_line(m) == 2);
        assert_eq!(left.map(|message| message.typed), Some(typed), "{words}");
    }
}

#[test]
fn what_the_agent_adds_alone_is_not_typed_and_begins_no_turn() {
    let picture = r#""message":{"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":""}}]}"#;
    let opened = user("<ide_opened_file>The user opened a.rs.</ide_opened_file>");
    let lines = [
        (opened.as_str(), Typed::No, false),
        (picture, Typed::Yes, true),
        (&user("what is it?"), Typed::Yes, false),
        (&user("[Request interrupted by user]"), Typed::No, false),
        (
            &user("<ide_selection>x</ide_selection>go on"),
            Typed::Yes,
            true,
        ),
        (&user("[Request] interrupted by user"), Typed::Yes, true),
    ];
    let ids: Vec<String> = (0..=lines.len()).map(|n| format!("u{n}")).collect();
    let above = |n: usize| if n == 0 { "" } else { ids[n - 1].as_str() };
    let chain: Vec<_> = lines
        .iter()
        .enumerate()
        .map(|(n, (said, ..))| ("user", ids[n].as_str(), above(n), *said))
        .collect();
    let text = session(&chain);
    let transcript = Format::ClaudeCode.read(text.as_bytes(), 1, &mut Warnings::default());
    let main = &transcript.conversations[0];
    for (n, (said, typed, begins)) in lines.iter().enumerate() {
        assert_eq!(main.messages[n].typed, *typed, "{said}");
        assert_eq!(transcript.begins_turn(main, n), *begins, "{said}");
    }
}

#[test]
fn the_leaf_pointer_decides_where_it_points_into_the_file() {
    let lines = session(&[
        ("user", "u1", "", &user("one")),
        ("user", "u2", "u1", &user("two")),
        ("user", "u3", "u2", &user("three")),
        ("user", "other", "u1", &user("other")),
    ]);
    assert_eq!(live(&lines), ["main: u1 other"]);
    let pointed = format!("{lines}{{\"type\":\"last-prompt\",\"leafUuid\":\"u2\"}}\n");
    // The pointer leads to its line, not to a descendant of it.
    assert_eq!(live(&pointed), ["main: u1 u2"]);
    let above = format!("{lines}{{\"type\":\"last-prompt\",\"leafUuid\":\"u1\"}}\n");
    assert_eq!(live(&above), ["main: u1 other"]);
    // The very last pointer counts, even though it points nowhere.
    let stale = format!("{pointed}{{\"type\":\"last-prompt\",\"leafUuid\":\"gone\"}}\n");
    assert_eq!(live(&stale), ["main: u1 other"]);
}

#[test]
fn progress_and_unknown_lines_are_passed_but_are_no_leaf() {
    let mut lines = vec![
        ("user", "u1", "", user("one")),
        ("progress", "p", "u1", "\"data\":{}".to_owned()),
        ("survey-mark", "k", "p", "\"mark\":1".to_owned()),
        ("user", "u2", "k", user("two")),
        ("user", "other", "u1", user("other")),
        ("progress", "p2", "u2", "\"data\":{}".to_owned()),
    ];
    let live_of = |lines: &[(&str, &str, &str, String)]| {
        let lines: Vec<_> = lines
            .iter()
            .map(|(k, i, p, r)| (*k, *i, *p, r.as_str()))
            .collect();
        live(&session(&lines))
    };
    assert_eq!(live_of(&lines), ["main: u1 other"]);
    lines.push((
        "system",
        "s",
        "p2",
        "\"subtype\":\"turn_duration\"".to_owned(),
    ));
    assert_eq!(live_of(&lines), ["main: u1 u2"]);
    // A note that no link leads to: the newest message is the leaf.
    lines[6].2 = "";
    assert_eq!(live_of(&lines), ["main: u1 other"]);
}

#[test]
fn a_parent_that_is_not_there_is_bridged_for_five_seconds() {
    let at = |text, time| format!(r#"{},"timestamp":"2026-03-09T{time}Z""#, user(text));
    let with = |parent, time, kind| {
        live(&session(&[
            ("user", "u1", "", &at("one", "10:59:58.000")),
            (kind, "t", "u1", &at("two", "10:59:59.000")),
            ("user", "u3", parent, &at("three", time)),
        ]))
    };
    // Lines that describe the session are outside of the chain, whatever their ids.
    for kind in ["custom-title", "file-history-snapshot"] {
        assert_eq!(with("t", "10:59:59.500", kind), ["main: u1 u3"]);
    }
    for (time, lives) in [
        ("11:00:04.000", "main: u1 t u3"),
        ("11:00:04.001", "main: u3"),
        // A missing parent is not bridged to a later line, or without a time.
        ("10:59:58.999", "main: u3"),
        ("soon", "main: u3"),
    ] {
        assert_eq!(with("gone", time, "user"), [lives], "{time}");
    }
}

#[test]
fn a_recorded_compaction_ends_the_window_but_for_what_it_preserved() {
    let summary = format!(r#"{},"isCompactSummary":true"#, user("so far"));
    let old = [
        ("user", "u1", "", user("one")),
        ("user", "u2", "u1", user("two")),
        (
            "assistant",
            "a2",
            "u2",
            part("m", r#"{"type":"text","text":"t"}"#),
        ),
    ];
    let with = |metadata: &str| {
        let boundary = format!(r#""subtype":"compact_boundary","compactMetadata":{{{metadata}}}"#);
        let mut lines: Vec<_> = old
            .iter()
            .map(|(k, i, p, r)| (*k, *i, *p, r.as_str()))
            .collect();
        lines.push(("system", "b", "", &boundary));
        lines.push(("user", "s", "b", &summary));
        let after = user("after");
        lines.push(("user", "u3", "s", &after));
        live(&session(&lines))
    };
    assert_eq!(with(""), ["main: s u3"]);
    assert_eq!(
        with(r#""preservedMessages":{"anchorUuid":"s","uuids":["u2","a2"]}"#),
        ["main: s u2 a2 u3"]
    );
    assert_eq!(
        with(r#""preservedSegment":{"headUuid":"u2","anchorUuid":"s","tailUuid":"a2"}"#),
        ["main: s u2 a2 u3"]
    );
}

#[test]
fn a_session_goes_on_across_its_compactions() {
    let summary = format!(r#"{},"isCompactSummary":true"#, user("so far"));
    let aside = format!(r#"{},"isSidechain":true"#, user("task"));
    let (one, two, left, after) = (user("one"), user("two"), user("left"), user("after"));
    let across = |before: &str, metadata: &str| {
        let boundary = format!(
            r#""subtype":"compact_boundary","logicalParentUuid":"{before}","compactMetadata":{{{metadata}}}"#
        );
        full_history(&session(&[
            ("user", "u1", "", &one),
            ("user", "x", "u1", &left),
            ("user", "u2", "u1", &two),
            ("user", "s1", "", &aside),
            ("system", "b", "", &boundary),
            ("user", "s", "b", &summary),
            ("user", "u3", "s", &after),
        ]))
    };
    let expected = ["main: u1 u2 u3", "s1: s1"];
    assert_eq!(across("u2", ""), expected);
    // If that line is missing, the line before the compaction in the file is used.
    assert_eq!(across("gone", ""), expected);
    // Its summary is omitted, and the preserved lines occur once.
    assert_eq!(across("x", ""), ["main: u1 x u3", "s1: s1"]);
    let preserved = r#""preservedMessages":{"anchorUuid":"s","uuids":["u2"]}"#;
    assert_eq!(across("u2", preserved), expected);
}

#[test]
fn sidechains_are_conversations_of_their_own() {
    let aside = |rest: &str| format!(r#"{rest},"isSidechain":true"#);
    let lines = [
        ("user", "u", "", user("go")),
        ("user", "s1", "", aside(&user("task"))),
        (
            "assistant",
            "s2",
            "s1",
            aside(&part("m", r#"{"type":"text","text":"t"}"#)),
        ),
        (
            "assistant",
            "a",
            "u",
            part("n", r#"{"type":"text","text":"t"}"#),
        ),
    ];
    let borrowed: Vec<_> = lines
        .iter()
        .map(|(k, i, p, r)| (*k, *i, *p, r.as_str()))
        .collect();
    assert_eq!(live(&session(&borrowed)), ["main: u a", "s1: s1 s2"]);
    assert_eq!(live(&session(&borrowed[1..3])), ["main: s1 s2"]);
}

#[test]
fn loops_and_self_parents_end() {
    let text = session(&[
        ("user", "a", "b", &user("1")),
        ("user", "b", "a", &user("2")),
        ("user", "c", "c", &user("3")),
    ]);
    assert_eq!(live(&text), ["main: c"]);
    assert_eq!(
        live(&session(&[
            ("user", "a", "b", &user("1")),
            ("user", "b", "a", &user("2"))
        ])),
        // Children of the last line come after it.
        ["main: b a"]
    );
}

/// How many lines of a kind a session has here.
const MANY: usize = 30_000;

#[test]
fn an_answer_of_many_lines_below_many_attachments_is_one_message() {
    let ids: Vec<String> = (0..2 * MANY).map(|number| format!("l{number}")).collect();
    let (go, part) = (user("go"), part("m", r#"{"type":"text","text":"x"}"#));
    let attached = r#""attachment":{"type":"queued_command","prompt":"x"}"#;
    let mut lines = vec![
        ("user", "u", "", &go[..]),
        ("assistant", "a", "u", &part[..]),
    ];
    for (number, id) in ids.iter().enumerate() {
        let parent = number.checked_sub(1).map_or("a", |above| &ids[above][..]);
        lines.push(match number < MANY {
            true => ("attachment", id, parent, attached),
            false => ("assistant", id, parent, &part),
        });
    }
    let text = session(&lines);
    let transcript = Format::ClaudeCode.read(text.as_bytes(), 1, &mut Warnings::default());
    let conversation = &transcript.conversations[0];
    assert_eq!(conversation.messages.len(), MANY + 2);
    let answer = &conversation.messages[1];
    assert_eq!(conversation.lines(answer).len(), MANY + 1);
}

#[test]
fn many_compactions_that_name_no_line_are_crossed() {
    let ids: Vec<[String; 2]> = (0..MANY)
        .map(|number| [format!("u{number}"), format!("b{number}")])
        .collect();
    let go = user("go");
    let boundary = r#""subtype":"compact_boundary""#;
    let mut lines = Vec::new();
    for (number, [said, compacted]) in ids.iter().enumerate() {
        let parent = number.checked_sub(1).map_or("", |above| &ids[above][1][..]);
        lines.push(("user", &said[..], parent, &go[..]));
        lines.push(("system", compacted, "", boundary));
    }
    lines.push(("user", "last", &ids[MANY - 1][1], &go));
    let text = session(&lines);
    let transcript = Format::ClaudeCode.read(text.as_bytes(), 1, &mut Warnings::default());
    let full = Format::ClaudeCode.full_history(&transcript);
    assert_eq!(full[0].messages.len(), MANY + 1);
}
