//! Detection and reading, on lines written for the purpose.

use super::*;
use crate::transcript::{BlockKind, Conversation, Role, Transcript, Typed};

fn detect(text: &str) -> Detected {
    let mut detector = Detector::default();
    detector.look(text.as_bytes());
    detector.decide()
}

#[test]
fn every_shape_is_told_by_its_content() {
    let file = |format| Detected::Known(format, Layout::File);
    for (text, expected) in [
        (r#"{"role":"user","content":"hi"}"#, file(Format::Anthropic)),
        (
            r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"x"}]}"#,
            file(Format::Anthropic),
        ),
        (r#"{"role":"system","content":"be"}"#, file(Format::OpenAi)),
        (
            "{\"role\":\"system\",\"content\":\"be\"}\n{\"role\":\"assistant\",\"content\":[{\"type\":\"tool_use\"}]}",
            file(Format::Anthropic),
        ),
        (
            r#"{"role":"tool","tool_call_id":"a","content":"x"}"#,
            file(Format::OpenAi),
        ),
        (
            r#"{"role":"assistant","content":null,"tool_calls":[]}"#,
            file(Format::OpenAi),
        ),
        (
            r#"{"messages":[{"role":"user","content":"hi"}]}"#,
            Detected::Known(Format::OpenAi, Layout::Line),
        ),
        (
            r#"{"parentUuid":null,"type":"user","uuid":"u","message":{"role":"user","content":"hi"}}"#,
            file(Format::ClaudeCode),
        ),
        (
            r#"{"type":"summary","summary":"t","leafUuid":"u"}"#,
            file(Format::ClaudeCode),
        ),
        (
            r#"{"type":"file-history-snapshot","messageId":"m","snapshot":{}}"#,
            file(Format::ClaudeCode),
        ),
        (
            r#"{"timestamp":"t","type":"session_meta","payload":{}}"#,
            file(Format::Codex),
        ),
        (r#"{"record_type":"state"}"#, file(Format::Codex)),
        (
            r#"{"type":"message","role":"user","content":[{"type":"input_text","text":"hi"}]}"#,
            file(Format::Codex),
        ),
        (
            r#"{"type":"function_call","name":"f","arguments":"{}","call_id":"c"}"#,
            file(Format::Codex),
        ),
        (
            r#"{"type":"metric","payload":{}}"#,
            Detected::Unsupported("unknown"),
        ),
        (
            r#"{"type":"session","version":3,"id":"i"}"#,
            file(Format::Pi),
        ),
        (
            r#"{"type":"session","id":"i","cwd":"/w"}"#,
            file(Format::Pi),
        ),
        (
            r#"{"type":"message","id":"a","parentId":null,"message":{"role":"user","content":"hi"}}"#,
            file(Format::Pi),
        ),
        (
            r#"{"type":"message","role":"user","text":"hi","message":{}}"#,
            Detected::Unsupported("unknown"),
        ),
        (
            r#"{"type":"session","id":"i"}"#,
            Detected::Unsupported("unknown"),
        ),
        (
            r#"{"role":"tool","content":[{"type":"tool-result","toolCallId":"a"}]}"#,
            file(Format::AiSdk),
        ),
        (
            r#"{"role":"user","content":[{"type":"image","image":"x","mediaType":"image/png"}]}"#,
            file(Format::AiSdk),
        ),
        (
            r#"{"role":"user","content":[{"type":"image","source":{}}]}"#,
            file(Format::Anthropic),
        ),
        (
            r#"{"messages":[{"role":"tool","content":[{"type":"tool-result"}]}]}"#,
            Detected::Unsupported("ai-sdk"),
        ),
        (
            r#"{"id":"1","role":"assistant","content":"","parts":[{"type":"tool-bash","toolCallId":"a"}]}"#,
            Detected::Unsupported("ui-messages"),
        ),
        (
            r#"{"conversations":[{"from":"human","value":"hi"}]}"#,
            Detected::Unsupported("sharegpt"),
        ),
        (
            r#"{"messages":[{"role":"user","content":[{"type":"tool_result"}]}]}"#,
            Detected::Unsupported("anthropic requests"),
        ),
        (
            "// comment\nnot json\n[1]\n",
            Detected::Unsupported("unknown"),
        ),
        ("", Detected::Unsupported("unknown")),
    ] {
        assert_eq!(detect(text), expected, "{text}");
    }
}

fn kinds(format: Format, text: &str) -> Vec<(Role, Typed, Vec<BlockKind>)> {
    let transcript = format.read(text.as_bytes(), 1, &mut Warnings::default());
    let conversation = &transcript.conversations[0];
    let kind = |b: &u32| transcript.block(*b).kind;
    conversation
        .messages
        .iter()
        .map(|m| {
            (
                m.role,
                m.typed,
                conversation.blocks(m).iter().map(kind).collect(),
            )
        })
        .collect()
}

#[test]
fn anthropic_blocks_are_read_whatever_the_order_of_their_keys() {
    use BlockKind::{Call, Image, Result, Text, Thinking};
    let text = concat!(
        r#"{"content":[{"text":"go","type":"text"},{"source":{},"type":"image"}],"role":"user"}"#,
        "\n",
        r#"{"role":"assistant","content":[{"thinking":"","signature":"s","type":"thinking"},{"input":{"a":[1]},"name":"Read","id":"t1","type":"tool_use"}]}"#,
        "\n",
        r#"{"role":"user","content":[{"content":[{"type":"text","text":"out"},{"type":"image"}],"is_error":true,"tool_use_id":"t1","type":"tool_result"}]}"#,
        "\n",
        r#"{"role":"user","content":"<system-reminder>x"}"#,
        "\n",
    );
    assert_eq!(
        kinds(Format::Anthropic, text),
        [
            (Role::User, Typed::Yes, vec![Text, Image]),
            (Role::Assistant, Typed::No, vec![Thinking, Call]),
            (Role::User, Typed::No, vec![Result]),
            (Role::User, Typed::No, vec![Text]),
        ]
    );
    let transcript = Format::Anthropic.read(text.as_bytes(), 1, &mut Warnings::default());
    let result = transcript.block(transcript.blocks_of_line(2).start);
    assert_eq!(transcript.bytes(2, result.call_id), b"t1");
    assert_eq!(
        (result.outcome, result.shape, result.images),
        (
            crate::transcript::Outcome::Failed,
            crate::transcript::Shape::List,
            1
        )
    );
    assert_eq!(
        transcript.bytes(2, result.content),
        br#"[{"type":"text","text":"out"},{"type":"image"}]"#
    );
    assert_eq!(
        transcript.bytes(2, transcript.texts(result)[0].span),
        b"out"
    );
    let call = transcript.block(transcript.blocks_of_line(1).end - 1);
    assert_eq!(transcript.bytes(1, call.content), br#"{"a":[1]}"#);
}

#[test]
fn openai_messages_are_read_alone_and_many_on_a_line() {
    use BlockKind::{Call, Result, Text};
    let messages = [
        r#"{"role":"system","content":"be"}"#,
        r#"{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}"#,
        r#"{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{\"a\":1}"}}]}"#,
        r#"{"content":[{"type":"text","text":"out"}],"tool_call_id":"c1","role":"tool"}"#,
        r#"{"role":"assistant","content":"done"}"#,
    ];
    let expected = [
        (Role::System, Typed::No, vec![Text]),
        (Role::User, Typed::Yes, vec![Text, Text]),
        (Role::Assistant, Typed::No, vec![Call]),
        (Role::Tool, Typed::No, vec![Result]),
        (Role::Assistant, Typed::No, vec![Text]),
    ];
    assert_eq!(kinds(Format::OpenAi, &messages.join("\n")), expected);
    let line = format!(
        "{{\"id\":1,\"messages\":[{}],\"tools\":[]}}",
        messages.join(", ")
    );
    assert_eq!(kinds(Format::OpenAi, &line), expected);
}

#[test]
fn of_a_key_that_is_there_twice_the_last_one_counts() {
    let texts = |format: Format, line: &str| -> Vec<(BlockKind, Vec<String>)> {
        let transcript = format.read(line.as_bytes(), 1, &mut Warnings::default());
        let blocks = transcript.blocks_of_line(0).map(|b| transcript.block(b));
        let said = |text: &crate::scan::Text| {
            let text = transcript.bytes(0, text.span);
            String::from_utf8_lossy(text).into_owned()
        };
        blocks
            .map(|b| (b.kind, transcript.texts(b).iter().map(said).collect()))
            .collect()
    };
    let one = |kind, text: &str| (kind, vec![text.to_owned()]);
    let cases = [
        (
            Format::Anthropic,
            r#"{"role":"user","content":"old","content":"new"}"#,
            vec![one(BlockKind::Text, "new")],
        ),
        (
            Format::ClaudeCode,
            r#"{"type":"user","uuid":"u","message":{"content":[{"type":"tool_result","tool_use_id":"a","content":"old","content":"new"}],"content":[{"type":"tool_result","tool_use_id":"a","content":"older","content":"newer"}]}}"#,
            vec![one(BlockKind::Result, "newer")],
        ),
        (
            Format::OpenAi,
            r#"{"role":"tool","tool_call_id":"a","content":"old","name":"f","content":"new"}"#,
            vec![one(BlockKind::Result, "new")],
        ),
        (
            Format::OpenAi,
            r#"{"role":"assistant","tool_calls":[{"id":"a"},{"id":"b"}],"content":"old","reasoning":"r","tool_calls":[{"id":"c","function":{"arguments":"1","arguments":"2"}}],"content":null}"#,
            vec![one(BlockKind::Thinking, "r"), one(BlockKind::Call, "2")],
        ),
    ];
    for (format, line, expected) in cases {
        assert_eq!(texts(format, line), expected, "{line}");
    }
}

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

/// The ids of the live lines of each conversation, a message a group.
fn live(text: &str) -> Vec<String> {
    let transcript = Format::ClaudeCode.read(text.as_bytes(), 1, &mut Warnings::default());
    ids(&transcript, &transcript.conversations)
}

/// The same of conversations as they were lived.
fn lived(text: &str) -> Vec<String> {
    let transcript = Format::ClaudeCode.read(text.as_bytes(), 1, &mut Warnings::default());
    ids(&transcript, &Format::ClaudeCode.lived(&transcript))
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
    // a1 and a2 are one message; the result of a1's call hangs off the path to the leaf.
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
    // Each call and each result is sent once: that on the path.
    assert_eq!(copies, [(2, 5), (3, 6)]);
    assert_eq!(
        main.all_blocks()
            .map(|(_, b)| line_of(b))
            .collect::<Vec<_>>(),
        [4, 5, 6]
    );
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
    // It leads to its line, and to none that hangs on it.
    assert_eq!(live(&pointed), ["main: u1 u2"]);
    let above = format!("{lines}{{\"type\":\"last-prompt\",\"leafUuid\":\"u1\"}}\n");
    assert_eq!(live(&above), ["main: u1 other"]);
    // The very last pointer counts, though it points nowhere.
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
    // A note of its own that nothing leads to: the newest words are the leaf.
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
    // What describes the session has no place in the chain, whatever its ids.
    for kind in ["custom-title", "file-history-snapshot"] {
        assert_eq!(with("t", "10:59:59.500", kind), ["main: u1 u3"]);
    }
    for (time, lives) in [
        ("11:00:04.000", "main: u1 t u3"),
        ("11:00:04.001", "main: u3"),
        // Nothing bridges back in time, or without a time.
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
fn a_session_was_lived_across_its_compactions() {
    let summary = format!(r#"{},"isCompactSummary":true"#, user("so far"));
    let aside = format!(r#"{},"isSidechain":true"#, user("task"));
    let (one, two, left, after) = (user("one"), user("two"), user("left"), user("after"));
    let across = |before: &str, metadata: &str| {
        let boundary = format!(
            r#""subtype":"compact_boundary","logicalParentUuid":"{before}","compactMetadata":{{{metadata}}}"#
        );
        lived(&session(&[
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
    // Where that is not there, what stood before it in the file.
    assert_eq!(across("gone", ""), expected);
    // What it says was left out, and what was preserved is there once.
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
        // What hangs on the last line comes after it.
        ["main: b a"]
    );
}

#[test]
fn oddities_become_warnings_with_their_line() {
    let text = b"\xef\xbb\xbf{\"role\":\"user\",\"content\":\"a\"}\r\n\n// note\n[1]\n{\"role\":\"user\",\"role\":\"user\",\"content\":\"\\ud800\"}\n{\"a\":\"\xff\"}\nnope\n\x00\n{\"role\":";
    let mut warnings = Warnings::default();
    let transcript = Format::Anthropic.read(text, 1, &mut warnings);
    assert_eq!(
        transcript.pieces().flatten().copied().collect::<Vec<u8>>(),
        text
    );
    use WarningKind::*;
    let seen: Vec<_> = warnings
        .finish()
        .into_iter()
        .map(|w| (w.kind, w.line))
        .collect();
    assert_eq!(
        seen,
        [
            (Bom, 1),
            (Crlf, 1),
            (BlankLine, 2),
            (Comment, 3),
            (NotAnObject, 4),
            (LoneSurrogate, 5),
            (DuplicateKey, 5),
            (InvalidUtf8, 6),
            (BadJson, 7),
            (Nul, 8),
            (NoFinalNewline, 9),
            (Truncated, 9),
        ]
    );
}

#[test]
fn many_warnings_of_a_kind_are_counted() {
    let text = "\n".repeat(150);
    let mut warnings = Warnings::default();
    Format::Anthropic.read(text.as_bytes(), 1, &mut warnings);
    let list = warnings.finish();
    assert_eq!(list.len(), 100);
    assert_eq!(
        list[99].message,
        "blank line, kept (and 50 more lines like this)"
    );
}
