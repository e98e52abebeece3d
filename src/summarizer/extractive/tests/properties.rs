//! Properties of summaries of any conversation, in all formats.

use proptest::prelude::*;

use super::checks::Source;
use super::*;
use crate::policy::Substitutions;

/// A part of a transcript.
#[derive(Debug, Clone)]
enum Step {
    User(String),
    Assistant(String),
    /// A tool, its input by key and value, its result, and whether that was an error.
    Call(&'static str, &'static str, String, String, bool),
}

/// Pieces that look like the structure of a summary, and words of several scripts.
fn text() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "## User requests",
        "## Files",
        "\n~~~\n",
        "~~~~",
        "L1\n",
        "[L1]\n",
        "[File restored: a]",
        "L5 ",
        "[L5] ",
        "L1,L2 edited: x",
        "\n",
        "\n\n",
        "  ",
        " ",
        "\r\n",
        "fix src/a_b.rs",
        "说明。",
        "…",
        "a: b",
        "parse_line",
        "1234",
        "error: no such Thing_x",
        "\t",
        "\"q\"",
        "\\n",
        "{\"k\":1}",
        "é",
        "🎉",
        "x.",
        "Exit code 3\n",
        "   12→let x_y = 1;",
        "<system-reminder>",
        "averyveryverylongnamewithoutanyplacetocutit_at_all",
        "\u{2028}",
    ]);
    prop::collection::vec(piece, 0..30).prop_map(|pieces| pieces.concat())
}

fn step() -> impl Strategy<Value = Step> {
    let call = prop::sample::select(vec![
        ("Bash", "command"),
        ("Read", "file_path"),
        ("Write", "file_path"),
        ("Grep", "pattern"),
        ("Odd", "todos"),
    ]);
    prop_oneof![
        text().prop_map(Step::User),
        text().prop_map(Step::Assistant),
        (call, text(), text(), any::<bool>()).prop_map(|((tool, key), input, said, failed)| {
            Step::Call(tool, key, input, said, failed)
        }),
    ]
}

fn json(text: &str) -> String {
    serde_json::to_string(text).unwrap()
}

/// The steps as items of a rollout.
fn items(steps: &[Step]) -> String {
    let message = |role: &str, kind: &str, text: &str| {
        let text = json(text);
        format!(
            r#"{{"type":"message","role":"{role}","content":[{{"type":"{kind}","text":{text}}}]}}"#
        )
    };
    let mut items = Vec::new();
    for (n, step) in steps.iter().enumerate() {
        match step {
            Step::User(text) => items.push(message("user", "input_text", text)),
            Step::Assistant(text) => items.push(message("assistant", "output_text", text)),
            Step::Call(tool, key, input, said, failed) => {
                let input = json(&format!("{{{}:{}}}", json(key), json(input)));
                let said = json(&format!(
                    "Exit code: {}\nOutput:\n{said}",
                    u8::from(*failed)
                ));
                items.push(format!(r#"{{"type":"function_call","name":"{tool}","arguments":{input},"call_id":"c{n}"}}"#));
                items.push(format!(
                    r#"{{"type":"function_call_output","call_id":"c{n}","output":{said}}}"#
                ));
            }
        }
    }
    let line =
        |item| format!("{{\"timestamp\":\"t\",\"type\":\"response_item\",\"payload\":{item}}}\n");
    items.into_iter().map(line).collect()
}

/// The steps as lines of a format.
fn written(format: Format, steps: &[Step]) -> String {
    if format == Format::Codex {
        return items(steps);
    }
    let mut lines: Vec<(&str, String)> = Vec::new();
    for (n, step) in steps.iter().enumerate() {
        match (step, format) {
            (Step::User(text), _) => lines.push(("user", json(text))),
            (Step::Assistant(text), Format::OpenAi) => lines.push(("assistant", json(text))),
            (Step::Assistant(text), Format::Gemini) => lines.push(("gemini", json(text))),
            (Step::Assistant(text), _) => {
                lines.push((
                    "assistant",
                    format!("[{{\"type\":\"text\",\"text\":{}}}]", json(text)),
                ));
            }
            (Step::Call(tool, key, input, said, _), Format::OpenAi) => {
                let input = json(&format!("{{{}:{}}}", json(key), json(input)));
                lines.push(("assistant", format!("null,\"tool_calls\":[{{\"id\":\"c{n}\",\"type\":\"function\",\"function\":{{\"name\":\"{tool}\",\"arguments\":{input}}}}}]")));
                lines.push(("tool", format!("{},\"tool_call_id\":\"c{n}\"", json(said))));
            }
            (Step::Call(tool, key, input, said, failed), Format::AiSdk) => {
                let input = format!("{{{}:{}}}", json(key), json(input));
                lines.push(("assistant", format!("[{{\"type\":\"tool-call\",\"toolCallId\":\"c{n}\",\"toolName\":\"{tool}\",\"input\":{input}}}]")));
                let kind = if *failed { "error-text" } else { "text" };
                let said = format!("{{\"type\":\"{kind}\",\"value\":{}}}", json(said));
                lines.push(("tool", format!("[{{\"type\":\"tool-result\",\"toolCallId\":\"c{n}\",\"toolName\":\"{tool}\",\"output\":{said}}}]")));
            }
            (Step::Call(tool, key, input, said, failed), Format::Pi) => {
                let input = format!("{{{}:{}}}", json(key), json(input));
                lines.push(("assistant", format!("[{{\"type\":\"toolCall\",\"id\":\"c{n}\",\"name\":\"{tool}\",\"arguments\":{input}}}]")));
                let said = format!("[{{\"type\":\"text\",\"text\":{}}}]", json(said));
                lines.push(("toolResult", format!("{said},\"toolCallId\":\"c{n}\",\"toolName\":\"{tool}\",\"isError\":{failed}")));
            }
            (Step::Call(tool, key, input, said, failed), Format::Gemini) => {
                let input = format!("{{{}:{}}}", json(key), json(input));
                lines.push(("gemini", format!("[{{\"functionCall\":{{\"id\":\"c{n}\",\"name\":\"{tool}\",\"args\":{input}}}}}]")));
                let key = if *failed { "error" } else { "output" };
                let said = json(said);
                lines.push(("user", format!("[{{\"functionResponse\":{{\"id\":\"c{n}\",\"name\":\"{tool}\",\"response\":{{\"{key}\":{said}}}}}}}]")));
            }
            (Step::Call(tool, key, input, said, failed), _) => {
                let input = format!("{{{}:{}}}", json(key), json(input));
                lines.push(("assistant", format!("[{{\"type\":\"tool_use\",\"id\":\"c{n}\",\"name\":\"{tool}\",\"input\":{input}}}]")));
                let said = json(said);
                lines.push(("user", format!("[{{\"type\":\"tool_result\",\"tool_use_id\":\"c{n}\",\"content\":{said},\"is_error\":{failed}}}]")));
            }
        }
    }
    let line = |(n, (role, content)): (usize, (&str, String))| {
        let message = format!("{{\"role\":\"{role}\",\"content\":{content}}}");
        match format {
            Format::Pi => format!("{{\"type\":\"message\",\"message\":{message}}}\n"),
            Format::Gemini => format!(
                "{{\"id\":\"m{n}\",\"timestamp\":\"t\",\"type\":\"{role}\",\"content\":{content}}}\n"
            ),
            Format::ClaudeCode => {
                let parent = if n == 0 {
                    "null".to_owned()
                } else {
                    format!("\"u{}\"", n - 1)
                };
                format!(
                    "{{\"parentUuid\":{parent},\"isSidechain\":false,\"type\":\"{role}\",\"uuid\":\"u{n}\",\"sessionId\":\"s\",\"message\":{message}}}\n"
                )
            }
            _ => format!("{message}\n"),
        }
    };
    lines.into_iter().enumerate().map(line).collect()
}

/// The first message as the format's record of a summary, if it has one.
fn as_a_record(format: Format, lines: String) -> String {
    let (message, record) = match format {
        Format::ClaudeCode => (
            r#""type":"user""#,
            r#""type":"user","isCompactSummary":true"#,
        ),
        Format::Pi => (
            r#""role":"user","content""#,
            r#""role":"compactionSummary","summary""#,
        ),
        Format::Gemini => (r#""id":""#, r#""id":"ctxpack-summary-"#),
        _ => return lines,
    };
    lines.replacen(message, record, 1)
}

fn format() -> impl Strategy<Value = Format> {
    let written: Vec<Format> = Format::compacted().into_iter().filter(is_written).collect();
    prop::sample::select(written)
}

/// Whether [`written`] can write a format. A summary does not depend on formats, so some of each shape suffice.
fn is_written(format: &Format) -> bool {
    match format {
        Format::Anthropic
        | Format::OpenAi
        | Format::AiSdk
        | Format::ClaudeCode
        | Format::Codex
        | Format::Pi
        | Format::Gemini => true,
        Format::Copilot
        | Format::Droid
        | Format::ClaudeStream
        | Format::Cline
        | Format::GeminiStream
        | Format::Kimi
        | Format::OpenCode
        | Format::Qwen => false,
    }
}

fn user_words() -> impl Strategy<Value = UserWords> {
    prop::sample::select(vec![UserWords::Verbatim, UserWords::Budget])
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn summaries_hold_what_they_promise(
        format in format(),
        steps in prop::collection::vec(step(), 0..14),
        words in user_words(),
        tokens in prop::sample::select(vec![0, 5, 40, 200, 1_000, 100_000]),
        user_message_max in prop::sample::select(vec![0, 10, 2_000]),
        from in 0.0..1.0f64,
        to in 0.0..1.0f64,
    ) {
        let transcript = read_as(format, written(format, &steps).as_bytes());
        let mut policy = auto();
        policy.summary.user_message_max = user_message_max;
        let mut source = Source::of(&transcript, 1);
        for conversation in &transcript.conversations {
            let all = conversation.messages.len() as f64;
            let (from, to) = ((all * from) as usize, (all * to).ceil() as usize);
            for span in [0..all as usize, from.min(to)..to] {
                source.check(conversation, span, &policy, &[(words, tokens)]);
            }
        }
    }

    #[test]
    fn a_summary_of_a_summary_keeps_the_words_of_the_user(
        format in format(),
        steps in prop::collection::vec(step(), 1..10),
        more in prop::collection::vec(step(), 0..6),
    ) {
        let policy = auto();
        let told_in = |lines: String| {
            let transcript = read_as(format, lines.as_bytes());
            whole(&transcript, &policy, 500, UserWords::Verbatim)
        };
        let told = |steps: &[Step]| told_in(written(format, steps));
        let requests = |summary: &ExtractiveSummary| -> Vec<String> {
            let rows = summary.rows.iter().filter(|row| row.section == Section::Requests);
            rows.map(|row| row.text.clone()).collect()
        };
        let first = told(&steps);
        let values = Substitutions { summary: &first.text, ..Substitutions::default() };
        let mut again = vec![Step::User(policy.summary.text.render(&values))];
        again.extend(more.iter().cloned());
        let mut expected = requests(&first);
        expected.extend(requests(&told(&more)));
        let again = as_a_record(format, written(format, &again));
        prop_assert_eq!(requests(&told_in(again)), expected);
    }
}
