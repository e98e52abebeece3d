//! Tests of detection and reading, with hand-written lines.

use super::*;
use crate::transcript::{BlockKind, Role, Typed};

mod parts;
mod strange;

fn detect(text: &str) -> Result<(Format, Layout), &'static str> {
    let mut detector = Detector::default();
    detector.look(text.as_bytes());
    match detector.decide() {
        Detected::Known(format, layout) => Ok((format, layout)),
        Detected::Unsupported(why) => Err(why.name),
    }
}

#[test]
fn what_newer_agents_note_beside_the_conversation_is_known() {
    let asked = r#"{"parentUuid":null,"type":"user","uuid":"u","sessionId":"s","message":{"role":"user","content":"hi"}}"#;
    let copy = r#"{"type":"api-request-blob","sessionId":"s","hash":"h","message":{"role":"user","content":[{"type":"text","text":"hi"}]}}"#;
    let shape = r#"{"type":"api-request-shape","sessionId":"s","messages":[{"role":"user","content":"hi"}]}"#;
    let text = [asked, copy, shape].join("\n");
    assert_eq!(detect(&text), Ok((Format::ClaudeCode, Layout::File)));
    let begins = r#"{"type":"session","version":3,"id":"a","timestamp":"t","cwd":"/"}"#;
    let system = r#"{"type":"message","id":"b","parentId":null,"message":{"role":"system","content":"","sections":{"tools":"x"}}}"#;
    let text = [begins, system].join("\n");
    assert_eq!(detect(&text), Ok((Format::Pi, Layout::File)));
}

#[test]
fn every_shape_is_told_by_its_content() {
    let file = |format| Ok((format, Layout::File));
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
            Ok((Format::OpenAi, Layout::Line)),
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
        (r#"{"type":"metric","payload":{}}"#, Err("unknown")),
        (
            r#"{"type":"session.start","data":{"sessionId":"s"},"id":"a","parentId":null}"#,
            file(Format::Copilot),
        ),
        (
            r#"{"type":"user.message","data":{"content":"hi"},"id":"b","parentId":"a"}"#,
            file(Format::Copilot),
        ),
        (
            r#"{"type":"session.start","sessionId":"s"}"#,
            Err("unknown"),
        ),
        (
            r#"{"type":"weather.changed","data":{},"id":"a","parentId":null}"#,
            Err("unknown"),
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
            Err("unknown"),
        ),
        (r#"{"type":"session","id":"i"}"#, Err("unknown")),
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
            Err("ai-sdk"),
        ),
        (
            r#"{"id":"1","role":"assistant","content":"","parts":[{"type":"tool-bash","toolCallId":"a"}]}"#,
            Err("ui-messages"),
        ),
        (
            r#"{"conversations":[{"from":"human","value":"hi"}]}"#,
            Err("sharegpt"),
        ),
        (
            r#"{"id":"e","timestamp":"2026-06-16T05:39:18.80","source":"agent","kind":"ActionEvent"}"#,
            Err("openhands"),
        ),
        // Hook events, of no known format.
        (
            r#"{"event_type":"session_start","session_id":"s","timestamp":"2026-04-29T00:01:26Z","source":"clear"}"#,
            Err("unknown"),
        ),
        (
            concat!(
                r#"{"input":"a.jsonl","status":"compacted","findings_before":0,"conversations":[{"id":"main"}]}"#,
                "\n",
                r#"{"schema_version":1,"version":"0.1.0","totals":{"files":1}}"#,
            ),
            Err("ctxpack-report"),
        ),
        (
            r#"{"messages":[{"role":"user","content":[{"type":"tool_result"}]}]}"#,
            Ok((Format::Anthropic, Layout::Line)),
        ),
        (
            concat!(
                r#"{"messages":[{"role":"user","content":"hi"}]}"#,
                "\n",
                r#"{"system":"s","messages":[{"role":"user","content":[{"type":"tool_result"}]}]}"#,
            ),
            Ok((Format::Anthropic, Layout::Line)),
        ),
        (
            concat!(
                r#"{"messages":[{"role":"system","content":"hi"}]}"#,
                "\n",
                r#"{"messages":[{"role":"user","content":[{"type":"tool_result"}]}]}"#,
            ),
            Err("mixed"),
        ),
        (
            r#"{"model":"m","messages":[{"role":"user","content":[{"type":"tool_result"}]}]}"#,
            Err("anthropic requests"),
        ),
        ("// comment\nnot json\n[1]\n", Err("unknown")),
        ("", Err("empty")),
        (" \n\n", Err("empty")),
    ] {
        assert_eq!(detect(text), expected, "{text}");
    }
}

#[test]
fn what_is_left_alone_says_why() {
    let said = |lines: &[&str]| {
        let mut detector = Detector::default();
        detector.look(lines.join("\n").as_bytes());
        match detector.decide() {
            Detected::Known(format, _) => format.name().to_owned(),
            Detected::Unsupported(why) => why.to_string(),
        }
    };
    let user = r#"{"role":"user","content":"hi"}"#;
    let call =
        r#"{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"f","input":{}}]}"#;
    let result = r#"{"role":"tool","tool_call_id":"a","content":"x"}"#;
    let entry = r#"{"type":"message","id":"a","message":{"role":"user","content":"hi"}}"#;
    let note = r#"{"type":"usage","tokens":3}"#;
    let bad = "not json";
    assert_eq!(said(&[user, bad, note, note, note, note]), "anthropic");
    assert_eq!(
        said(&[entry, bad, note, note, note, note, note, note]),
        "pi"
    );
    assert_eq!(
        said(&[user, call, note, note, note, note, note]),
        "looks like anthropic, but has 5 lines without a message that no reader knows"
    );
    assert_eq!(
        said(&[user, call, call, result]),
        "formats joined in one file: 2 lines of anthropic and 1 line of openai"
    );
    assert_eq!(
        said(&[entry, user, user]),
        "formats joined in one file: 1 line of pi and 2 lines of anthropic"
    );
    let odd = [
        r#"{"type":"tool_use","tool":"f","input":{}}"#,
        r#"{"role":"model","content":"x"}"#,
        r#"{"role":"user","content":[{"text":"typeless"}]}"#,
        r#"{"role":"user","content":{"text":"x"}}"#,
        r#"{"role":"assistant","content":"x","toolInvocations":[]}"#,
    ];
    assert_eq!(
        said(&[&[user], &odd[..]].concat()),
        "looks like anthropic, but has 1 line of type tool_use, 1 message by the role model, \
         1 message whose content is neither a text nor a list and 1 message with a block without a type that no reader knows"
    );
    for (strange, why) in [
        (
            r#"[[{"type":"text","text":"x"}]]"#,
            "a list in its list of blocks",
        ),
        (
            r#"[{"type":"text","text":{"value":"x"}}]"#,
            "a non-string text",
        ),
        (r#"[{"type":"text","content":"x"}]"#, "a non-string text"),
    ] {
        let strange = format!(r#"{{"role":"user","content":{strange}}}"#);
        assert_eq!(
            said(&[user, &strange]),
            format!("looks like anthropic, but has 1 message with {why} that no reader knows")
        );
    }
    let answer = r#"{"role":"assistant","content":"hello"}"#;
    assert_eq!(said(&[user, answer]), "anthropic");
    assert_eq!(said(&[answer, user]), "openai");
    // A message without words.
    let silent = r#"{"role":"user","content":[{"type":"text","text":null}]}"#;
    assert_eq!(said(&[user, silent]), "anthropic");
    let kinds: Vec<String> = (0..99)
        .map(|n| format!(r#"{{"type":"tool_{n}","input":1}}"#))
        .collect();
    let kinds: Vec<&str> = kinds.iter().map(String::as_str).collect();
    let many = said(&kinds);
    assert!(
        many.contains("91 lines of other kinds, 1 line of type tool_0"),
        "{many}"
    );
    let evil = format!(
        "{{\"type\":\"tool_\\u001b[2J{}\",\"input\":1}}",
        "x".repeat(99)
    );
    let evil = said(&[&evil]);
    assert!(evil.len() < 120 && !evil.contains('\u{1b}'), "{evil}");
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
        r#"{"role":"user","content":"<system-reminder>x</system-reminder>"}"#,
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

#[test]
fn a_line_that_came_later_and_leaves_again_was_never_there() {
    let text =
        "{\"role\":\"user\",\"content\":\"a\"}\r\n{\"role\":\"assistant\",\"content\":\"b\"}";
    let mut transcript = Format::Anthropic.read(text.as_bytes(), 1, &mut Warnings::default());
    let line = br#"{"role":"user","content":"c"}"#.to_vec();
    let lines = |count| vec![line.clone(); count];
    let mut edit = |dropped: &[u32], inserted: &[(u32, usize)]| {
        let changes = ChangeSet {
            drop: dropped.iter().copied().collect(),
            insert: inserted.iter().map(|(at, n)| (*at, lines(*n))).collect(),
            ..ChangeSet::default()
        };
        crate::apply::apply(Format::Anthropic, &mut transcript, changes);
        transcript.pieces().collect::<Vec<_>>().concat()
    };
    edit(&[], &[(0, 1), (2, 2)]);
    let there = edit(&[0, 3], &[]);
    let expected = format!("{text}\r\n{{\"role\":\"user\",\"content\":\"c\"}}\r\n");
    assert_eq!(String::from_utf8_lossy(&there), expected);
}
