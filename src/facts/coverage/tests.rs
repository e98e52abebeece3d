//! Transcripts that are understood in part.

use super::super::tests::{ResultText, anthropic, in_main, read_as};
use super::*;
use crate::format::Format;

fn covered(format: Format, lines: &[&str]) -> Coverage {
    coverage(&read_as(format, &lines.join("\n")), &Tools::default())
}

#[test]
fn calls_of_unknown_tools_are_named() {
    let lines = [
        r#"{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"Bash","input":{"command":"ls"}},{"type":"tool_use","id":"b","name":"weather","input":{}}]}"#,
        r#"{"role":"assistant","content":[{"type":"tool_use","id":"c","name":"weather","input":{}},{"type":"tool_use","id":"d","name":"TodoWrite","input":{}}]}"#,
        "not JSON",
    ];
    let found = covered(Format::Anthropic, &lines);
    assert_eq!((found.lines_read, found.lines), (2, 3));
    assert_eq!((found.calls_understood, found.calls), (2, 4));
    assert!(found.is_low());
    assert_eq!(
        found.sentence(),
        "calls of a known kind: 2 of 4; unknown tools: weather 2"
    );
}

/// To say that such a tool should be named by what it does would be said again after that was done.
#[test]
fn a_known_tool_with_other_arguments_is_not_called_unknown() {
    let call = r#"{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"deploy","input":{"target":"prod"}}]}"#;
    let of = |shell: &[&str]| {
        let shell = shell.iter().map(|name| (*name).to_owned()).collect();
        let added = Tools {
            shell,
            ..Tools::default()
        };
        coverage(&read_as(Format::Anthropic, call), &added)
    };
    let unknown = of(&[]);
    assert_eq!(
        unknown.sentence(),
        "calls of a known kind: 0 of 1; unknown tools: deploy 1"
    );
    assert!(unknown.hint().is_some());
    let mut known = of(&["deploy"]);
    assert_eq!(
        known.sentence(),
        "calls of a known kind: 0 of 1; arguments of an unknown form: deploy 1"
    );
    let hint = known.hint().unwrap();
    assert!(hint.starts_with("arguments are read"), "{hint}");
    let json = serde_json::to_string(&known).unwrap();
    assert!(
        json.contains(r#"{"tool":"deploy","calls":1,"kind":"shell"}"#),
        "{json}"
    );
    assert_eq!(serde_json::from_str::<Coverage>(&json).unwrap(), known);
    known += &of(&[]);
    assert_eq!(known.unknown["deploy"].calls, 2);
}

#[test]
fn in_a_list_of_messages_each_call_counts() {
    let call = r#"{"id":"a","type":"function","function":{"name":"shell","arguments":"{}"}}"#;
    let twice = format!(r#"{{"role":"assistant","tool_calls":[{call},{call}]}}"#);
    let note = r#"{"kind":"note","about":{"type":"tool_use","id":"b"}}"#;
    let found = covered(Format::OpenAi, &[&twice, &twice]);
    assert_eq!((found.calls_understood, found.calls), (4, 4));
    let found = covered(Format::OpenAi, &[&twice, note]);
    assert_eq!((found.calls_understood, found.calls), (2, 3));
}

#[test]
fn a_call_that_the_reader_does_not_see_is_missing() {
    let lines = [
        r#"{"role":"assistant","tool_calls":[{"id":"a","type":"function","function":{"name":"shell","arguments":"{}"}}]}"#,
        r#"{"kind":"note","about":{"type":"tool_use","id":"b"}}"#,
    ];
    let found = covered(Format::OpenAi, &lines);
    assert_eq!((found.calls_understood, found.calls), (1, 2));
    assert_eq!(
        found.sentence(),
        "calls of a known kind: 1 of 2; not read: 1"
    );
}

#[test]
fn a_cell_is_understood_if_all_its_calls_are() {
    let cell = |id: &str, code: &str| {
        let payload = serde_json::json!({"type": "custom_tool_call", "name": "exec", "input": code, "call_id": id});
        serde_json::json!({"type": "response_item", "payload": payload}).to_string()
    };
    let lines = [
        cell("a", "await tools.exec_command({cmd: 'ls'})"),
        cell("b", "if (x) await tools.exec_command({cmd: 'ls'})"),
        cell("c", "await tools.weather({})"),
        cell("d", "text(1)"),
    ];
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let found = covered(Format::Codex, &lines);
    assert_eq!((found.calls_understood, found.calls), (2, 4));
    assert_eq!(found.unknown["exec"].calls, 2);
}

#[test]
fn many_unknown_tools_are_counted_each_once() {
    const MANY: usize = 30_000;
    let tools: Vec<String> = (0..MANY).map(|number| format!("tool{number:09}")).collect();
    let calls = tools
        .iter()
        .map(|tool| (&tool[..], "{}", ResultText::Nothing));
    let calls: Vec<_> = calls
        .chain([(&tools[7][..], "{}", ResultText::Nothing)])
        .collect();
    let transcript = anthropic(&calls);
    let missed = in_main(&transcript, |transcript, calls| {
        missed(transcript, calls, &Tools::default())
    });
    assert_eq!(missed.len(), MANY);
    assert_eq!((&missed[0].tool, missed[0].calls), (&tools[7], 2));
}

#[test]
fn sums_of_a_report_may_be_of_any_size() {
    let all = Coverage {
        calls: u64::MAX,
        calls_understood: u64::MAX,
        ..Coverage::default()
    };
    assert!(!all.is_low());
    let half = Coverage {
        calls_understood: u64::MAX / 2,
        ..all
    };
    assert!(half.is_low());
    assert_eq!(half.calls_unread(), u64::MAX / 2 + 1);
}

#[test]
fn a_report_gives_back_what_was_counted() {
    let mut sum = Coverage::default();
    assert!(!sum.is_low());
    let one = Coverage {
        lines: 3,
        lines_read: 3,
        calls: 3,
        calls_understood: 2,
        unknown: BTreeMap::from([(
            "x".to_owned(),
            NotUnderstood {
                calls: 1,
                kind: None,
            },
        )]),
    };
    sum += &one;
    sum += &one;
    let json = serde_json::to_string(&sum).unwrap();
    assert_eq!(
        json,
        r#"{"lines":1.0,"calls":0.6666,"lines_read":6,"lines_total":6,"calls_understood":4,"calls_total":6,"unknown":[{"tool":"x","calls":2}]}"#
    );
    assert_eq!(serde_json::from_str::<Coverage>(&json).unwrap(), sum);
}
