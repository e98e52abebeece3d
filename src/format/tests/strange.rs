//! What another version of an agent, or another tool, might write: refused or warned about, never silently ignored.

use super::*;

/// Why a file is of no supported format.
fn refused(lines: &[&str]) -> String {
    let mut detector = Detector::default();
    detector.look(lines.join("\n").as_bytes());
    match detector.decide() {
        Detected::Known(format, _) => format!("read as {}", format.name()),
        Detected::Unsupported(why) => why.to_string(),
    }
}

/// The kinds of warnings in a text that are always shown, with their lines.
fn said(format: Format, lines: &[&str]) -> Vec<(&'static str, u64)> {
    let mut warnings = Warnings::default();
    format.read(lines.join("\n").as_bytes(), 1, &mut warnings);
    let said = warnings.finish().into_iter();
    said.filter(|warning| warning.kind.is_always_said())
        .map(|warning| (warning.kind.name(), warning.line))
        .collect()
}

const COPILOT: &str =
    r#"{"type":"user.message","id":"a","parentId":null,"data":{"content":"look at the parser"}}"#;
const KIMI: &str = r#"{"type":"context.append_message","message":{"role":"user","content":[{"type":"text","text":"hi"}]}}"#;
const GEMINI: &str = r#"{"sessionId":"s","projectHash":"h","startTime":"t","lastUpdated":"t"}"#;
const CODEX: &str = r#"{"timestamp":"t","type":"session_meta","payload":{"id":"s","timestamp":"t","cwd":"/w","originator":"o","cli_version":"0.1"}}"#;

#[test]
fn records_of_unknown_types_that_look_like_messages_calls_or_results_are_refused() {
    let codex = r#"{"timestamp":"t","type":"response_item","payload":{"type":"message_v2","role":"user","content":[{"type":"input_text","text":"hi"}]}}"#;
    let gemini = r#"{"id":"a","timestamp":"t","type":"prompt_v2","content":[{"text":"hi"}]}"#;
    let part = r#"{"id":"a","timestamp":"t","type":"user","content":[{"richText":"hi"}]}"#;
    for (lines, like) in [
        (
            [
                COPILOT,
                r#"{"type":"tool.execution_done","id":"b","parentId":"a","data":{"toolCallId":"c"}}"#,
            ],
            "looks like copilot, but has 1 line of type tool.execution_done",
        ),
        (
            [
                COPILOT,
                r#"{"type":"user.prompt","id":"b","parentId":"a","data":{"content":"x"}}"#,
            ],
            "looks like copilot, but has 1 line of type user.prompt",
        ),
        (
            [
                KIMI,
                r#"{"type":"context.append_loop_event","event":{"type":"tool.output","toolCallId":"c"}}"#,
            ],
            "looks like kimi, but has 1 line of type tool.output",
        ),
        (
            [
                KIMI,
                r#"{"type":"context.append_words","message":{"role":"user"}}"#,
            ],
            "looks like kimi, but has 1 line of type context.append_words",
        ),
        (
            [GEMINI, gemini],
            "looks like gemini, but has 1 line of type prompt_v2",
        ),
        (
            [GEMINI, part],
            "looks like gemini, but has 1 message with a block without a type",
        ),
        (
            [CODEX, codex],
            "looks like codex, but has 1 line of type message_v2",
        ),
    ] {
        let why = refused(&lines);
        assert!(why.starts_with(like), "{why}");
    }
    // A message of an extension of pi has an id, a time and a content, too.
    let pi = r#"{"type":"message","id":"a","parentId":null,"timestamp":"t","message":{"role":"user","content":"hi"}}"#;
    let extension = r#"{"type":"custom_message","id":"b","parentId":"a","timestamp":"t","customType":"x","content":"p"}"#;
    assert_eq!(refused(&[pi, extension]), "read as pi");
    // A progress report of a turn is not a message.
    let start =
        r#"{"type":"tool.execution_start","id":"b","parentId":"a","data":{"toolCallId":"c"}}"#;
    assert_eq!(refused(&[COPILOT, start]), "read as copilot");
}

#[test]
fn a_text_under_another_key_is_refused() {
    for block in [r#""body":"words""#, r#""text":7"#, r#""markdown":"words""#] {
        let line = format!(
            r#"{{"parentUuid":null,"type":"user","uuid":"u","sessionId":"s","message":{{"role":"user","content":[{{"type":"text",{block}}}]}}}}"#
        );
        let why = refused(&[&line]);
        assert!(why.contains("with a non-string text"), "{why}");
    }
    let empty = r#"{"parentUuid":null,"type":"user","uuid":"u","sessionId":"s","message":{"role":"user","content":[{"type":"text","text":"","cache_control":{"type":"ephemeral"}}]}}"#;
    assert_eq!(refused(&[empty]), "read as claude-code");
}

#[test]
fn lines_with_words_of_which_none_is_understood_are_said() {
    let words = "please look at the parser again";
    let unknown = format!(
        r#"{{"type":"user_prompt_v2","id":"b","parentId":"a","data":{{"content":"{words}"}}}}"#
    );
    assert_eq!(
        said(Format::Copilot, &[COPILOT, &unknown]),
        [("unknown_line", 2)]
    );
    let object = format!(
        r#"{{"type":"user.message","id":"b","parentId":"a","data":{{"content":{{"v":"{words}"}}}}}}"#
    );
    assert_eq!(
        said(Format::Copilot, &[COPILOT, &object]),
        [("unknown_line", 2)]
    );
    let body = format!(r#"{{"role":"user","body":"{words}"}}"#);
    assert_eq!(said(Format::OpenAi, &[&body]), [("unknown_line", 1)]);
    let nobody = format!(
        r#"{{"type":"message","id":"b","message":{{"content":[{{"type":"text","text":"{words}"}}]}}}}"#
    );
    assert_eq!(said(Format::Droid, &[&nobody]), [("unknown_line", 1)]);
    // A note without words, an empty message.
    let note =
        r#"{"type":"session.noted","id":"b","parentId":"a","data":{"at":"2026-11-20T10:00:00Z"}}"#;
    assert_eq!(said(Format::Copilot, &[COPILOT, note]), []);
    assert_eq!(
        said(Format::OpenAi, &[r#"{"role":"assistant","content":""}"#]),
        []
    );
}

#[test]
fn several_sessions_in_a_file_are_said() {
    let claude = |session: &str, id: &str, parent: &str| {
        format!(
            r#"{{"parentUuid":{parent},"type":"user","uuid":"{id}","sessionId":"{session}","message":{{"role":"user","content":"hi"}}}}"#
        )
    };
    let [a, b, c] = [
        claude("s", "a", "null"),
        claude("t", "b", "null"),
        claude("t", "c", "\"a\""),
    ];
    assert_eq!(said(Format::ClaudeCode, &[&a, &b]), [("other_session", 1)]);
    // A session that was continued under another id.
    assert_eq!(said(Format::ClaudeCode, &[&a, &c]), []);
    // The same after a compaction, which begins a chain of its own.
    let boundary = r#"{"parentUuid":null,"logicalParentUuid":"c","type":"system","subtype":"compact_boundary","uuid":"k","sessionId":"t"}"#;
    let summary = claude("t", "d", "\"k\"");
    let lines = [&a, &c, boundary, &summary];
    assert_eq!(said(Format::ClaudeCode, &lines), []);
    let text = lines.join("\n");
    let transcript = Format::ClaudeCode.read(text.as_bytes(), 1, &mut Warnings::default());
    assert_eq!(Format::ClaudeCode.dead(&transcript).drop.len(), 2);

    let item = r#"{"timestamp":"t","type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"hi"}]}}"#;
    let other = CODEX.replace(r#""id":"s""#, r#""id":"t""#);
    assert_eq!(
        said(Format::Codex, &[CODEX, item, &other, item]),
        [("other_session", 3)]
    );
    // Resumed; a fork, which begins with both headers.
    assert_eq!(said(Format::Codex, &[CODEX, item, CODEX, item]), []);
    assert_eq!(said(Format::Codex, &[&other, CODEX, item]), []);

    let start = |id: &str| {
        format!(
            r#"{{"type":"session.start","id":"{id}","parentId":null,"data":{{"sessionId":"{id}"}}}}"#
        )
    };
    let [s, t] = [start("s"), start("t")];
    assert_eq!(
        said(Format::Copilot, &[&s, COPILOT, &t, COPILOT]),
        [("other_session", 3)]
    );
    let header =
        |at: u32| format!(r#"{{"type":"metadata","protocol_version":"1.5","created_at":{at}}}"#);
    let [s, t] = [header(1), header(2)];
    assert_eq!(
        said(Format::Kimi, &[&s, KIMI, &t, KIMI]),
        [("other_session", 3)]
    );
}

/// A message in the middle whose parent is missing, in every format.
#[test]
fn nothing_is_dropped_before_a_missing_parent() {
    let claude = |id: &str, parent: &str| {
        format!(
            r#"{{"parentUuid":{parent},"type":"user","uuid":"{id}","sessionId":"s","message":{{"role":"user","content":"hi"}}}}"#
        )
    };
    let pi = |id: &str, parent: &str| {
        format!(
            r#"{{"type":"message","id":"{id}","parentId":{parent},"message":{{"role":"user","content":"hi"}}}}"#
        )
    };
    let qwen = |id: &str, parent: &str| {
        format!(
            r#"{{"uuid":"{id}","parentUuid":{parent},"sessionId":"s","type":"user","message":{{"role":"user","parts":[{{"text":"hi"}}]}}}}"#
        )
    };
    type Line<'l> = &'l dyn Fn(&str, &str) -> String;
    for (format, line) in [
        (Format::ClaudeCode, &claude as Line<'_>),
        (Format::Pi, &pi),
        (Format::Qwen, &qwen),
    ] {
        let lines = [line("a", "null"), line("b", "\"gone\""), line("c", "\"b\"")];
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        assert_eq!(
            said(format, &lines),
            [("broken_chain", 2)],
            "{}",
            format.name()
        );
        let text = lines.join("\n");
        let transcript = format.read(text.as_bytes(), 1, &mut Warnings::default());
        assert_eq!(
            transcript.conversations[0].messages.len(),
            2,
            "{}",
            format.name()
        );
        assert_eq!(
            format.dead(&transcript),
            ChangeSet::default(),
            "{}",
            format.name()
        );
    }
}

#[test]
fn keys_of_messages_with_values_of_another_type_are_refused() {
    let claude = |message: &str| {
        format!(r#"{{"parentUuid":null,"type":"user","uuid":"a","sessionId":"s",{message}}}"#)
    };
    let hi = r#"{"role":"user","content":"hi"}"#;
    let said = claude(&format!(r#""message":{hi}"#));
    let qwen = |message: &str| {
        format!(
            r#"{{"parentUuid":null,"type":"user","uuid":"a","sessionId":"s","provenance":"real_user",{message}}}"#
        )
    };
    let gemini = |message: &str| format!(r#"{{"id":"a","timestamp":"t",{message}}}"#);
    let kimi =
        |message: &str| format!(r#"{{"type":"context.append_message","message":{message}}}"#);
    let droid = |message: &str| {
        format!(
            r#"{{"type":"message","id":"00000000-0000-4000-8000-000000000001","message":{message}}}"#
        )
    };
    let header = r#"{"type":"session_start","id":"s","version":2,"cwd":"/w"}"#;
    let with = |parent: &str, line: &str| line.replace("null", parent);
    let no_content = "1 message without content";
    let text = "1 message with a non-string text";
    let parent = "1 message with a parent of another type";
    for (lines, why) in [
        ([said.clone(), claude(r#""message":"hi""#)], no_content),
        ([said.clone(), claude(r#""content":"hi""#)], no_content),
        ([said.clone(), claude(r#""message":{"role":"user","text_":"hi"}"#)], no_content),
        ([said.clone(), with("[\"x\"]", &said)], parent),
        ([said.clone(), with("7", &said)], parent),
        ([qwen(r#""message":{"role":"user","parts":[{"text":"hi"}]}"#), qwen(r#""text":"hi""#)], no_content),
        ([qwen(r#""message":{"role":"user","parts":[{"text":"hi"}]}"#), qwen(r#""message":{"role":"user","parts":[{"text":["hi"]}]}"#)], text),
        ([qwen(r#""message":{"role":"user","parts":[{"text":"hi"}]}"#), qwen(r#""message":{"role":"user","parts":[{"words":"hi"}]}"#)], "1 message with a block without a type"),
        ([GEMINI.to_owned(), gemini(r#""type":"user","said":"hi""#)], no_content),
        ([GEMINI.to_owned(), gemini(r#""type":"user","content":[{"text":{"a":"hi"}}]"#)], text),
        ([KIMI.to_owned(), kimi(r#"{"role":null,"content":"hi"}"#)], "1 message by the role null"),
        ([KIMI.to_owned(), kimi(r#"{"content":"hi"}"#)], "1 message without a role"),
        ([KIMI.to_owned(), kimi(r#"{"role":"user","content":[{"type":"text","words":"hi"}]}"#)], text),
        ([header.to_owned(), droid(r#"{"role":"user","words":"hi"}"#)], no_content),
        ([header.to_owned(), droid(r#"{"role":"user","content":[{"type":"text","words":"hi"}]}"#)], text),
        ([hi.to_owned(), r#"{"role":null,"content":"hi"}"#.to_owned()], "1 message by the role null"),
        ([hi.to_owned(), r#"{"role":["assistant"],"tool_calls":[{"id":"c","function":{"name":"f","arguments":""}}]}"#.to_owned()], "1 message by the role [\"assistant\"]"),
    ] {
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        let refused = refused(&lines);
        assert!(refused.contains(why), "{refused}: {lines:?}");
    }
}

/// Two sessions, one after the other, in formats whose agent continues the last one.
#[test]
fn nothing_of_another_session_is_dropped() {
    let qwen = |id: &str, session: &str| {
        format!(
            r#"{{"uuid":"{id}","parentUuid":null,"sessionId":"{session}","type":"user","message":{{"role":"user","parts":[{{"text":"hi"}}]}}}}"#
        )
    };
    let gemini = |session: &str| GEMINI.replace(r#""s""#, &format!(r#""{session}""#));
    let set = |id: &str| {
        format!(
            r#"{{"$set":{{"messages":[{{"id":"{id}","timestamp":"t","type":"user","content":"hi"}}]}}}}"#
        )
    };
    let droid =
        |id: &str| format!(r#"{{"type":"session_start","id":"{id}","version":2,"cwd":"/w"}}"#);
    let droids = r#"{"type":"message","id":"00000000-0000-4000-8000-000000000001","message":{"role":"user","content":"hi"}}"#;
    for (format, lines, at, messages) in [
        (Format::Qwen, vec![qwen("a", "s"), qwen("b", "t")], 1, 1),
        (
            Format::Gemini,
            vec![gemini("s"), set("a"), gemini("t"), set("b")],
            3,
            1,
        ),
        (
            Format::Droid,
            vec![
                droid("s"),
                droids.to_owned(),
                droid("t"),
                droids.replace("1\"", "2\""),
            ],
            3,
            2,
        ),
    ] {
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        assert_eq!(said(format, &lines), [("other_session", at)], "{format:?}");
        let text = lines.join("\n");
        let transcript = format.read(text.as_bytes(), 1, &mut Warnings::default());
        assert_eq!(transcript.conversations[0].messages.len(), messages);
        assert_eq!(format.dead(&transcript), ChangeSet::default());
        // One that has a header twice is one session.
        let again = text.replace("\"t\"", "\"s\"");
        let again: Vec<&str> = again.lines().collect();
        assert_eq!(said(format, &again), [], "{format:?}");
    }
}
