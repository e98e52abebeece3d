//! Files of unsupported formats are never rewritten, and no format is mistaken for another.
//!
//! The format of each line is determined here a second time, with `serde_json`, only from keys and types.

use std::fs;
use std::path::{Path, PathBuf};

use ctxpack::format::{Detected, Detector, Format};
use ctxpack::outcome::{Status, WarningKind};
use ctxpack::policy::SummaryWhen;
use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;
use serde_json::{Map, Value, json};

use super::case::{Case, Kind, Run};
use super::config_of;
use super::tape::Tape;

/// A transcript of any format, one of another format, and decisions about what happens to them.
fn two() -> impl Strategy<Value = (Case, Case, Tape)> {
    let all = crate::invariants::formats::of_lines();
    let formats = (0..all.len(), 1..all.len());
    formats.prop_flat_map(move |(first, further)| {
        let second = all[(first + further) % all.len()];
        let case = |format| Case::summarised(format, Kind::Valid);
        (case(all[first]), case(second), Tape::of_up_to(200))
    })
}

proptest! {
    #![proptest_config(config_of(100))]

    #[test]
    fn two_formats_joined_are_left_alone((first, second, mut tape) in two()) {
        let (a, b) = (lines(&first), lines(&second));
        let (of_a, of_b) = (marks(&a), marks(&b));
        prop_assume!(of_a.iter().any(|mark| !of_b.contains(mark)));
        prop_assume!(of_b.iter().any(|mark| !of_a.contains(mark)));
        let joined: Vec<Value> = if tape.one_in(2) {
            a.into_iter().chain(b).collect()
        } else {
            shuffled(a, b, &mut tape)
        };
        untouched(&first, &joined)?;
    }

    #[test]
    fn calls_of_another_shape_are_left_alone((case, _, mut tape) in two()) {
        let mut foreign = lines(&case);
        let mut changed = 0;
        for line in &mut foreign {
            changed += usize::from(make_foreign(line, &mut tape));
        }
        prop_assume!(changed > 0);
        untouched(&case, &foreign)?;
    }

    #[test]
    fn what_nobody_reads_changes_no_format((case, _, mut tape) in two()) {
        let expected = run(&case, &written(&lines(&case))).detected;
        prop_assume!(expected.is_some());
        let mut bytes = Vec::new();
        // Formats without an envelope allow only a few lines without a message.
        let mut unknown = if case.is_session() { 100 } else { 4 };
        unknown -= lines(&case).iter().filter(|line| line.get("role").is_none() && line.get("messages").is_none()).count().min(unknown);
        for line in lines(&case) {
            while tape.one_in(3) {
                let bad: [&[u8]; 6] = [b"", b"# note", b"[1]", b"not json", b"{\"role\":\"us", b"\"tool_use\""];
                bytes.extend_from_slice(tape.pick(&bad));
                bytes.push(b'\n');
            }
            if unknown > 0 && tape.one_in(4) {
                unknown -= 1;
                let kinds = ["checkpoint", "telemetry", "title", "usage"];
                let control = json!({"type": tape.pick(&kinds), "at": tape.below(9)});
                bytes.extend(written(&[control]));
            }
            bytes.extend(written(&[line]));
        }
        prop_assert_eq!(run(&case, &bytes).detected, expected);
    }

    #[test]
    fn a_format_that_is_named_wrongly_is_refused((case, _, mut tape) in two()) {
        let mut part = lines(&case);
        part.retain(|_| !tape.one_in(3));
        let own = match marks(&part)[..] {
            ["conversations"] => "openai",
            [own] => own,
            _ => return Ok(()),
        };
        prop_assert_eq!(own, case.format.name());
        for format in Format::ALL {
            let is_known = matches!(given(&written(&part), format), Detected::Known(..));
            prop_assert_eq!(is_known, format.name() == own, "{:?}", format);
        }
    }

    #[test]
    fn a_part_is_of_its_own_format_or_of_none((case, _, mut tape) in two()) {
        let mut part = lines(&case);
        part.retain(|_| !tape.one_in(3));
        let mut bytes = written(&part);
        if tape.one_in(2) {
            bytes.truncate(tape.below(bytes.len().min(usize::from(u16::MAX)) + 1));
        }
        let marks = marks(&objects(&bytes));
        if let Some((format, _)) = run(&case, &bytes).detected {
            // Plain texts could be of several formats.
            prop_assert!(format == case.format || !case.is_session() && marks.is_empty(), "{format:?}");
        }
    }
}

/// The format of every fixture is that of its folder, if that is named for one; named wrongly, it is refused wherever a line
/// shows it.
#[test]
fn fixtures_are_of_their_format() {
    let (mut known, mut refused) = (0, 0);
    for folder in folders(Path::new("fixtures")) {
        let name = folder.file_name().unwrap().to_str().unwrap();
        for input in folders(&folder).iter().map(|case| case.join("input.jsonl")) {
            let Ok(bytes) = fs::read(&input) else {
                continue;
            };
            let mut detector = Detector::default();
            detector.look(&bytes);
            let Detected::Known(found, _) = detector.decide() else {
                continue;
            };
            known += 1;
            let is_right = match Format::named(name) {
                Some(format) => found == format,
                None => name != "other" || !found.is_compacted(),
            };
            assert!(is_right, "{}", input.display());
            let marked = marks(&objects(&bytes));
            for format in Format::ALL {
                match given(&bytes, format) {
                    Detected::Known(..) if format == found => {}
                    // Conversations of plain messages are of either provider.
                    Detected::Known(Format::OpenAi | Format::Anthropic, _)
                        if marked == ["conversations"] => {}
                    Detected::Known(..) => assert!(marked.is_empty(), "{}", input.display()),
                    Detected::Unsupported(_) => {
                        assert_ne!(format, found, "{}", input.display());
                        refused += 1;
                    }
                }
            }
        }
    }
    assert!(known > 300 && refused > 5 * known, "{known} {refused}");
}

fn folders(of: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(of).unwrap().map(|entry| entry.unwrap().path());
    entries.filter(|path| path.is_dir()).collect()
}

/// What a file is where the user names a format.
fn given(bytes: &[u8], format: Format) -> Detected {
    let mut detector = Detector::default();
    detector.look(bytes);
    detector.given(format)
}

/// Files that are empty, that have nothing readable, or that have one line as long as a file.
#[test]
fn odd_files_are_left_alone() {
    let long = "x".repeat(1 << 21);
    let deep = "[".repeat(200_000);
    for text in [
        String::new(),
        "\n\n\n".to_owned(),
        "{".to_owned(),
        "{}\n".repeat(1_000),
        "\u{feff}".to_owned(),
        format!("{{\"role\":\"user\",\"content\":\"{long}"),
        format!("{{\"type\":\"tool_use\",\"input\":\"{long}\"}}\n"),
        format!("{{\"role\":\"user\",\"content\":{deep}\n"),
        "null\n[{\"role\":\"user\",\"content\":\"hi\"}]\n".to_owned(),
    ] {
        let mut policy = super::policies::named("auto");
        policy.summary.when = SummaryWhen::Always;
        let run = super::case::compact(text.as_bytes(), &policy, ctxpack::plan::Keeping::Nothing);
        let shown = &text[..text.len().min(60)];
        assert_eq!(run.outcome.status, Status::Unsupported, "{shown}");
        assert!(run.bytes == text.as_bytes(), "{shown}");
    }
}

/// After the sample, a conversation on a line is read by itself, and stays unchanged where it is of another kind.
#[test]
fn in_a_long_file_each_conversation_is_looked_at() {
    let said = "the gauge at the sluice was read again ".repeat(400);
    let turns = |key: &str| {
        let messages: Vec<Value> = (0..12)
            .map(|n| match n % 3 {
                0 => json!({"role": "user", "content": format!("{n} {said}")}),
                1 => json!({"role": "assistant", "content": null, key: [
                    {"id": format!("c{n}"), "type": "function", "function": {"name": "f", "arguments": "{}"}},
                ]}),
                _ => json!({"role": "tool", "tool_call_id": format!("c{}", n - 1), "content": said}),
            })
            .collect();
        json!({ "messages": messages })
    };
    let mut all = vec![turns("tool_calls"); 12];
    all.extend(vec![turns("toolCalls"); 3]);
    let bytes = written(&all);
    assert!(written(&all[..12]).len() > 1 << 20);
    let mut policy = super::policies::named("reset");
    policy.summary.when = SummaryWhen::Always;
    let run = super::case::compact(&bytes, &policy, ctxpack::plan::Keeping::Nothing);
    assert_eq!(run.outcome.status, Status::Compacted);
    let foreign = written(&all[12..]);
    assert!(run.bytes.ends_with(&foreign) && run.bytes.len() < bytes.len() / 2);
    let told: Vec<_> = run
        .outcome
        .warnings
        .iter()
        .filter(|w| !matches!(w.kind, WarningKind::UserWords | WarningKind::Coverage))
        .map(|w| (w.kind.name(), w.line))
        .collect();
    assert_eq!(
        told,
        [13, 14, 15].map(|line| ("not_understood", Some(line)))
    );
    // In a short file no line is rewritten.
    let short = written(&all[11..]);
    let run = super::case::compact(&short, &policy, ctxpack::plan::Keeping::Nothing);
    assert_eq!(run.outcome.status, Status::Unsupported);
    assert!(run.bytes == short);
}

/// The JSON objects of a transcript.
fn lines(case: &Case) -> Vec<Value> {
    objects(&case.bytes)
}

fn objects(bytes: &[u8]) -> Vec<Value> {
    let text = String::from_utf8_lossy(bytes);
    let text = text.trim_start_matches('\u{feff}');
    let objects = text
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok());
    objects.filter(Value::is_object).collect()
}

fn written(lines: &[Value]) -> Vec<u8> {
    lines
        .iter()
        .flat_map(|line| format!("{line}\n").into_bytes())
        .collect()
}

fn shuffled(a: Vec<Value>, b: Vec<Value>, tape: &mut Tape) -> Vec<Value> {
    let (mut a, mut b) = (a.into_iter(), b.into_iter());
    let mut all = Vec::new();
    while a.len() + b.len() > 0 {
        let next = if tape.one_in(2) {
            a.next().or_else(|| b.next())
        } else {
            b.next().or_else(|| a.next())
        };
        all.extend(next);
    }
    all
}

/// The result of a run on other bytes, with a policy that summarises whatever it can.
fn run(case: &Case, bytes: &[u8]) -> Run {
    let mut policy = case.policy.clone();
    policy.summary.when = SummaryWhen::Always;
    case.compact_by(&policy, bytes)
}

fn untouched(case: &Case, lines: &[Value]) -> TestCaseResult {
    let bytes = written(lines);
    let run = run(case, &bytes);
    prop_assert_eq!(
        run.outcome.status,
        Status::Unsupported,
        "{}",
        String::from_utf8_lossy(&bytes)
    );
    prop_assert!(run.bytes == bytes);
    prop_assert!(!run.outcome.warnings.is_empty(), "no reason");
    Ok(())
}

/// The formats of lines with a feature that no other format has.
fn marks(lines: &[Value]) -> Vec<&'static str> {
    let mut marks: Vec<_> = lines.iter().filter_map(mark).collect();
    marks.sort_unstable();
    marks.dedup();
    marks
}

fn mark(line: &Value) -> Option<&'static str> {
    let kind = line["type"].as_str().unwrap_or_default();
    if matches!(
        kind,
        "context.append_message" | "context.append_loop_event" | "context.apply_compaction"
    ) {
        return Some("kimi");
    }
    if line["message"]["role"].is_string() {
        let is_chained = line.get("parentUuid").is_some();
        return match kind {
            "user" | "assistant" | "tool_result"
                if is_chained && line["message"].get("parts").is_some() =>
            {
                Some("qwen")
            }
            "user" | "assistant" if is_chained => Some("claude-code"),
            "message" if line["id"].as_str().is_some_and(|id| id.len() >= 36) => Some("droid"),
            "message" => Some("pi"),
            _ => None,
        };
    }
    if kind.starts_with("user.") || kind.starts_with("assistant.") || kind.starts_with("tool.") {
        return Some("copilot");
    }
    if matches!(kind, "user" | "gemini") && line["id"].is_string() && line["timestamp"].is_string()
    {
        return Some("gemini");
    }
    if kind == "response_item" || kind == "function_call" && line.get("call_id").is_some() {
        return Some("codex");
    }
    if line["messages"]
        .as_array()
        .is_some_and(|messages| !messages.is_empty())
    {
        return Some("conversations");
    }
    let types = line["content"].as_array().into_iter().flatten();
    let types: Vec<&str> = types.filter_map(|part| part["type"].as_str()).collect();
    let has = |named: &[&str]| types.iter().any(|kind| named.contains(kind));
    let role = line["role"].as_str()?;
    if has(&["tool_use", "tool_result", "thinking"]) {
        Some("anthropic")
    } else if has(&["tool-call", "tool-result", "reasoning"]) {
        Some("ai-sdk")
    } else if line["tool_calls"].is_array() || role == "tool" {
        Some("openai")
    } else {
        None
    }
}

/// Rewrites the calls and results of a line in a form that no reader understands; returns whether it had any.
fn make_foreign(line: &mut Value, tape: &mut Tape) -> bool {
    if let Some(payload) = line.get_mut("payload") {
        let kind = payload["type"].as_str().unwrap_or_default();
        let is_call = kind == "function_call" || kind == "function_call_output";
        if is_call {
            payload["type"] =
                json!(tape.pick(&["computer_call", "tool_call", "function_invocation"]));
        }
        return is_call;
    }
    if line.get("messages").is_some() {
        let messages = line["messages"].as_array_mut().into_iter().flatten();
        return messages
            .map(|message| rename(message, tape))
            .filter(|changed| *changed)
            .count()
            > 0;
    }
    match line.get_mut("message") {
        Some(message) => rename(message, tape),
        None => rename(line, tape),
    }
}

fn rename(message: &mut Value, tape: &mut Tape) -> bool {
    let Some(message) = message.as_object_mut() else {
        return false;
    };
    let said = message.contains_key("role");
    let mut changed = said && rename_calls(message, tape);
    for block in message
        .get_mut("content")
        .and_then(Value::as_array_mut)
        .into_iter()
        .flatten()
    {
        let kind = block["type"].as_str().unwrap_or_default();
        if ![
            "tool_use",
            "toolCall",
            "tool-call",
            "tool_result",
            "tool-result",
        ]
        .contains(&kind)
        {
            continue;
        }
        changed |= said;
        *block = match tape.below(3) {
            0 => json!({"type": "toolInvocation", "args": {}}),
            1 => json!({"functionCall": {"name": "f", "args": {}}}),
            _ => json!({"toolUse": {"toolUseId": "t", "name": "f", "input": {}}}),
        };
    }
    changed
}

/// Calls that are keys of a message.
fn rename_calls(message: &mut Map<String, Value>, tape: &mut Tape) -> bool {
    let has_any = |calls: &Value| calls.as_array().is_some_and(|calls| !calls.is_empty());
    if !message.get("tool_calls").is_some_and(has_any) {
        return false;
    }
    let Some(calls) = message.remove("tool_calls") else {
        return false;
    };
    if tape.one_in(2) {
        message.insert("toolCalls".to_owned(), calls);
    } else {
        let other = json!([{"id": "c", "name": "f", "args": {}}]);
        message.insert("tool_calls".to_owned(), other);
    }
    true
}
