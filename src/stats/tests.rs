//! Counts against figures computed by hand; here, a token is a character.

use std::path::Path;

use serde_json::{Value, json};

mod windows;

use super::*;
use crate::error::{Error, ErrorKind};
use crate::format::{Format, Unsupported, Warnings};
use crate::outcome::Examined;
use crate::policy::{self, Policy};

const TOKENS: &str = "[tokens]\nmethod = \"chars\"\nchars_per_token = 1\nimage_tokens = 100\n";

fn policy(more: &str) -> Policy {
    policy::parse("test", &format!("{TOKENS}{more}")).unwrap()
}

fn counted(format: Format, lines: &[Value], top: usize) -> FileStats {
    counted_by(&policy(""), Exact::No, format, lines, top)
}

fn counted_by(
    policy: &Policy,
    exact: Exact,
    format: Format,
    lines: &[Value],
    top: usize,
) -> FileStats {
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let transcript = format.read(text.as_bytes(), 1, &mut Warnings::default());
    let bytes = text.len() as u64;
    let mut file = FileStats::in_bytes(bytes);
    let counting = Counter::new(policy, top, exact).unwrap();
    counting.add(&mut file, format, &transcript, None);
    file
}

fn json_of(value: &impl Serialize) -> Value {
    serde_json::to_value(value).unwrap()
}

/// Two reads of one file, one of which fails, an edit of it, and a command.
fn anthropic() -> Vec<Value> {
    let call = |id: &str, name: &str, input: Value| json!({"type": "tool_use", "id": id, "name": name, "input": input});
    let result = |id: &str, content: Value| json!({"type": "tool_result", "tool_use_id": id, "content": content});
    let mut failed = result("t2", json!("123"));
    failed["is_error"] = json!(true);
    vec![
        json!({"role": "system", "content": "be good"}),
        json!({"role": "user", "content": "12345"}),
        json!({"role": "assistant", "content": [
            {"type": "thinking", "thinking": "1234", "signature": "x"},
            call("t1", "Read", json!({"file_path": "/a"})),
            call("t2", "Read", json!({"file_path": "/a"})),
        ]}),
        json!({"role": "user", "content": [result("t1", json!("1234567890")), failed]}),
        json!({"role": "assistant", "content": [
            call("t3", "Edit", json!({"new": "x", "path": "/a"})),
            call("t4", "Bash", json!({"command": "ls -l\nrm"})),
        ]}),
        json!({"role": "user", "content": [
            result("t3", json!("ok")),
            result("t4", json!([{"type": "text", "text": "12"}, {"type": "image", "source": {}}])),
            result("lost", json!("1")),
        ]}),
        json!({"role": "user", "content": [{"type": "text", "text": "123456"}, {"type": "image", "source": {}}]}),
    ]
}

#[test]
fn live_tokens_are_counted_by_who_what_tool_and_file() {
    let file = counted(Format::Anthropic, &anthropic(), 0);
    let counts = json_of(&file.counts);
    // A call is its name and its input: Read{"file_path":"/a"} 22, Edit{"new":"x","path":"/a"} 27,
    // Bash{"command":"ls -l\nrm"} 27 with the backslash.
    let calls = 22 + 22 + 27 + 27;
    // The results: 10, 3, 2, 2 and an image, 1.
    let results = 10 + 3 + 2 + 102 + 1;
    let live = 7 + 5 + 4 + calls + results + 6 + 100;
    assert_eq!(
        counts["live"],
        json!({"conversations": 1, "messages": 7, "turns": 2, "tokens": live, "bytes": file.counts.bytes})
    );
    let share = |name: &str, blocks: u64, tokens: u64| json!({"name": name, "blocks": blocks, "tokens": tokens});
    assert_eq!(
        counts["roles"],
        json!([
            share("tool_result", 5, results),
            share("user", 3, 5 + 6 + 100),
            share("assistant", 5, 4 + calls),
            share("system", 1, 7),
        ])
    );
    assert_eq!(
        counts["blocks"],
        json!([
            share("tool_result", 5, results),
            share("image", 1, 100),
            share("tool_call", 4, calls),
            share("text", 3, 7 + 5 + 6),
            share("thinking", 1, 4),
        ])
    );
    let tool = |name: &str, [calls, call_tokens, results, result_tokens, failed]: [u64; 5]| {
        json!({"name": name, "calls": calls, "call_tokens": call_tokens, "results": results,
            "result_tokens": result_tokens, "failed": failed})
    };
    assert_eq!(
        counts["tools"],
        json!([
            tool("Bash", [1, 27, 1, 102, 0]),
            tool("Read", [2, 44, 2, 13, 1]),
            tool("Edit", [1, 27, 1, 2, 0]),
            tool("unknown", [0, 0, 1, 1, 0]),
        ])
    );
    assert_eq!(
        counts["paths"],
        json!([{"name": "/a", "reads": 2, "edits": 1, "call_tokens": 22 + 22 + 27, "result_tokens": 10 + 3 + 2}])
    );
    assert_eq!(counts["dead"], json!({"lines": 0, "bytes": 0, "tokens": 0}));
}

#[test]
fn the_largest_consumers_say_where_they_are_and_what_they_are_about() {
    let file = counted(Format::Anthropic, &anthropic(), 3);
    let largest = json_of(&file.counts.largest);
    assert_eq!(
        largest,
        json!([
            {"line": 6, "conversation": "main", "message": 6, "role": "tool_result", "kind": "tool_result",
                "tool": "Bash", "tokens": 102, "hint": "ls -l…"},
            {"line": 7, "conversation": "main", "message": 7, "role": "user", "kind": "image",
                "tool": null, "tokens": 100, "hint": null},
            {"line": 5, "conversation": "main", "message": 5, "role": "assistant", "kind": "tool_call",
                "tool": "Edit", "tokens": 27, "hint": "/a"},
        ])
    );
}

#[test]
fn arguments_in_a_string_are_read_and_results_name_their_tool_themselves() {
    let lines = [
        json!({"role": "assistant", "content": null, "tool_calls": [
            {"id": "c", "type": "function", "function": {"name": "read_file", "arguments": "{\"path\":\"/\\u00e9\"}"}},
            {"id": "d", "type": "function", "function": {"name": "read_file", "arguments": "{\"path\":"}},
        ]}),
        json!({"role": "tool", "tool_call_id": "c", "content": "1234"}),
        json!({"role": "tool", "tool_call_id": "gone", "name": "own", "content": "12"}),
    ];
    let counts = json_of(&counted(Format::OpenAi, &lines, 0).counts);
    // read_file{"path":"/é"}, written with six characters for one: unescaped once, the arguments still hold them.
    let call = 9 + 18;
    assert_eq!(
        counts["paths"],
        json!([{"name": "/é", "reads": 1, "edits": 0, "call_tokens": call, "result_tokens": 4}])
    );
    assert_eq!(
        counts["tools"],
        json!([
            {"name": "read_file", "calls": 2, "call_tokens": call + 9 + 8, "results": 1, "result_tokens": 4, "failed": 0},
            {"name": "own", "calls": 0, "call_tokens": 0, "results": 1, "result_tokens": 2, "failed": 0},
        ])
    );
    assert_eq!(counts["roles"][1]["name"], "tool_result");
}

#[test]
fn hints_are_paths_or_the_beginnings_of_commands() {
    let hint = |input: Value| {
        let lines = [json!({"role": "assistant", "content": [
            {"type": "tool_use", "id": "t", "name": "x", "input": input},
        ]})];
        let mut file = counted(Format::Anthropic, &lines, 1);
        file.counts.largest.remove(0).hint
    };
    let long = "0123456789".repeat(7);
    let some = |text: &str| Some(text.to_owned());
    assert_eq!(hint(json!({"command": "ls", "path": "/a"})), some("/a"));
    // Of two keys for a path, the earlier in the list counts; of equal keys, the later in the text.
    assert_eq!(hint(json!({"path": "/b", "file_path": "/a"})), some("/a"));
    assert_eq!(
        hint(json!({"path": format!("a{long}z")})),
        some(&format!("a{long}z"))
    );
    assert_eq!(
        hint(json!({"command": long})),
        some(&format!("{}…", &long[..59]))
    );
    assert_eq!(
        hint(json!({"command": ["bash", "-c", "ls"]})),
        some("bash -c ls")
    );
    assert_eq!(hint(json!({"command": 7, "path": "", "url": "u"})), None);
    assert_eq!(hint(json!({"input": "x"})), None);
    assert_eq!(hint(json!("x")), None);
}

/// A session that was compacted: what precedes the compaction is dead; progress and `toolUseResult` repeat results.
fn session() -> Vec<Value> {
    let line = |id: &str, parent: Option<&str>, kind: &str, rest: Value| {
        let mut line = json!({"uuid": id, "parentUuid": parent, "sessionId": "s", "type": kind});
        let (line_map, rest) = (line.as_object_mut().unwrap(), rest.as_object().unwrap());
        line_map.extend(rest.clone());
        line
    };
    let user = |content: Value| json!({"message": {"role": "user", "content": content}});
    let mut result = user(json!([{"type": "tool_result", "tool_use_id": "t", "content": "1234"}]));
    result["toolUseResult"] = json!({"stdout": "1234"});
    let mut summary = user(json!("123456789"));
    summary["isCompactSummary"] = json!(true);
    vec![
        line("u0", None, "user", user(json!("1234567"))),
        line("b", None, "system", json!({"subtype": "compact_boundary"})),
        line("s", Some("b"), "user", summary),
        line(
            "a",
            Some("s"),
            "assistant",
            json!({"message": {"id": "m", "role": "assistant", "content": [
                {"type": "tool_use", "id": "t", "name": "n", "input": {}},
            ]}}),
        ),
        line(
            "p",
            Some("a"),
            "progress",
            json!({"parentToolUseID": "t", "data": {"output": "1234"}}),
        ),
        line("r", Some("a"), "user", result),
        line(
            "f",
            Some("r"),
            "attachment",
            json!({"attachment": {"type": "file", "x": 1}}),
        ),
        line("u1", Some("f"), "user", user(json!("12"))),
    ]
}

#[test]
fn what_the_model_does_not_see_is_counted_apart() {
    let lines = session();
    let file = counted(Format::ClaudeCode, &lines, 0);
    let size = |i: usize| lines[i].to_string().len() as u64 + 1;
    let mirror = r#"{"stdout":"1234"}"#.len() as u64;
    assert_eq!(
        (file.counts.dead, file.counts.mirrors),
        (
            Dead {
                lines: 1,
                bytes: size(0),
                tokens: 7
            },
            Mirrors {
                lines: 1,
                bytes: size(4) + mirror
            },
        )
    );
    // 9, n{} and 4, {"type":"file","x":1}, 2; of these a person typed the last.
    assert_eq!(
        file.counts.live,
        Live {
            conversations: 1,
            messages: 5,
            turns: 1,
            tokens: 9 + 3 + 4 + 21 + 2,
            bytes: [2, 3, 5, 6, 7].map(size).iter().sum::<u64>() - mirror,
        }
    );
    let roles = file.counts.roles.ranked();
    let roles: Vec<_> = roles.iter().map(|(name, s)| (*name, s.tokens)).collect();
    assert_eq!(
        roles,
        [
            ("attachment", 21),
            ("user", 11),
            ("tool_result", 4),
            ("assistant", 3)
        ]
    );
}

#[test]
fn totals_add_up_and_choose_the_largest_of_all() {
    let mut a = counted(Format::Anthropic, &anthropic(), 2);
    let record = |path: &str, found: &FileStats| Examined {
        found: found.clone(),
        ..Examined::new(Path::new(path), "anthropic", 0)
    };
    let b = record("b", &a);
    a.counts.largest[1].tokens = 103;
    let error = Error::new(ErrorKind::Io, "cannot read");
    let mut why = Unsupported::default();
    why.name = "codex";
    let files = [
        record("a", &a),
        b,
        Examined::failed(Path::new("c"), &error),
        Examined::unsupported(Path::new("d"), why, 9),
    ];
    let totals = Totals::of(&files, 3);
    assert_eq!(
        (
            totals.files,
            totals.counted,
            totals.unsupported,
            totals.failed
        ),
        (4, 2, 1, 1)
    );
    assert_eq!(totals.counts.bytes, 2 * a.counts.bytes + 9);
    assert_eq!(totals.counts.live.tokens, 2 * a.counts.live.tokens);
    assert_eq!(
        totals.counts.tools.ranked()[1],
        (
            "Read",
            &ToolCount {
                calls: 4,
                call_tokens: 88,
                results: 4,
                result_tokens: 26,
                failed: 2
            }
        )
    );
    let largest: Vec<_> = totals
        .counts
        .largest
        .iter()
        .map(|c| (c.path.as_deref(), c.tokens))
        .collect();
    assert_eq!(
        largest,
        [(Some("a"), 103), (Some("a"), 102), (Some("b"), 102)]
    );
}

#[test]
fn what_not_all_have_counted_has_no_sum() {
    let with = |o200k_base: Option<u64>| Estimates {
        chars: Some(3),
        classes: Some(4),
        o200k_base,
        cl100k_base: None,
    };
    let sum = |parts: &[Estimates]| {
        let mut sum = Estimates::default();
        parts.iter().for_each(|part| sum += part);
        (sum.classes, sum.o200k_base)
    };
    let nothing = Estimates::default();
    assert_eq!(
        sum(&[nothing, with(Some(5)), nothing, with(Some(6))]),
        (Some(8), Some(11))
    );
    assert_eq!(
        sum(&[with(Some(5)), with(None), with(Some(6))]),
        (Some(12), None)
    );
    assert_eq!(sum(&[with(None), with(Some(5))]), (Some(8), None));
}
