//! Both forms of one count, whole; hostile text; long batches.

use std::path::Path;

use serde_json::{Value, json};

use super::*;
use crate::error::{Error, ErrorKind};
use crate::outcome::Usage;
use crate::stats::{Consumer, ConversationStats, Counted, Dead, Live, Mirrors};

fn file(path: &str, tokens: u64) -> FileStats {
    let mut file = FileStats::new(Path::new(path), "openai", Counted::Counted, 2048);
    let counts = &mut file.counts;
    counts.live = Live {
        conversations: 1,
        messages: 3,
        turns: 1,
        tokens,
        bytes: 1024,
    };
    counts.dead = Dead {
        lines: 2,
        bytes: 512,
        tokens: 70,
    };
    counts.mirrors = Mirrors {
        lines: 0,
        bytes: 100,
    };
    file
}

fn full() -> FileStats {
    let mut file = file("a.jsonl", 3000);
    let counts = &mut file.counts;
    for (name, blocks, tokens) in [("user", 1, 600), ("tool_result", 2, 2400)] {
        let share = counts.roles.entry(name);
        (share.blocks, share.tokens) = (blocks, tokens);
    }
    let share = counts.blocks.entry("text");
    (share.blocks, share.tokens) = (3, 3000);
    for (name, tokens) in [("Read", 2000), ("Bash", 400), ("Grep", 1)] {
        let tool = counts.tools.entry(name);
        (tool.calls, tool.results, tool.failed) = (2, 2, 1);
        (tool.call_tokens, tool.result_tokens) = (10, tokens);
    }
    let path = counts.paths.entry("/src/main.rs");
    (path.reads, path.edits, path.call_tokens, path.result_tokens) = (3, 1, 40, 1460);
    counts.largest = vec![
        Consumer {
            path: None,
            line: 1200,
            conversation: "main".to_owned(),
            message: 2,
            role: "tool_result",
            kind: "tool_result",
            tool: Some("Read".to_owned()),
            tokens: 1400,
            hint: Some("/src/main.rs".to_owned()),
        },
        Consumer {
            path: None,
            line: 1,
            conversation: "main".to_owned(),
            message: 1,
            role: "user",
            kind: "text",
            tool: None,
            tokens: 600,
            hint: None,
        },
    ];
    file.conversations.push(ConversationStats {
        id: "main".to_owned(),
        messages: 3,
        turns: 1,
        tokens: 3000,
        usage: Some(Usage {
            recorded: 24_000,
            overhead: 20_250,
            factor: 1.25,
        }),
    });
    file
}

fn stats(files: Vec<FileStats>) -> Stats {
    let policy = PolicyRef {
        name: "auto".to_owned(),
        hash: "00".to_owned(),
        overrides: Vec::new(),
    };
    Stats::new(policy, "classes", Some(20_000), files, 2)
}

fn table(files: Vec<FileStats>) -> String {
    let mut out = Vec::new();
    write_stats_table(&stats(files), 2, 100, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

fn text_of_json(files: Vec<FileStats>) -> String {
    let mut out = Vec::new();
    write_stats_json(&stats(files), &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn one_file_is_shown_whole() {
    let expected = "\
file     format    bytes  messages  turns  tokens  dead tokens
a.jsonl  openai  2.0 KiB         3      1   3 000           70
live 1.0 KiB, dead 512 B in 2 lines, repeated for viewers 100 B, other 412 B

role         blocks  tokens  share
tool_result       2   2 400  80.0%
user              1     600  20.0%

block  blocks  tokens   share
text        3   3 000  100.0%

tool  calls  failed  call tokens  result tokens  share
Read      2       1           10          2 000  67.0%
Bash      2       1           10            400  13.7%
and 1 more

path          reads  edits  tokens  share
/src/main.rs      3      1   1 500  50.0%

largest                    line  message  tokens
Read result: /src/main.rs  1200        2   1 400
user text                     1        1     600

recorded usage  recorded  overhead  factor
a.jsonl           24 000    20 250    1.25
";
    assert_eq!(table(vec![full()]), expected);
}

#[test]
fn many_files_have_a_total_and_consumers_their_file() {
    let error = Error::new(ErrorKind::Io, "cannot read");
    let shown = table(vec![
        full(),
        file("b.jsonl", 5),
        FileStats::failed(Path::new("c.jsonl"), &error),
        FileStats::new(Path::new("d.jsonl"), "codex", Counted::Unsupported, 9),
    ]);
    let expected = "\
file     format                bytes  messages  turns  tokens  dead tokens
a.jsonl  openai              2.0 KiB         3      1   3 000           70
b.jsonl  openai              2.0 KiB         3      1       5           70
c.jsonl  failed
d.jsonl  unsupported: codex      9 B
total    4 files             4.0 KiB         6      2   3 005          140
live 2.0 KiB, dead 1.0 KiB in 4 lines, repeated for viewers 200 B, other 833 B
";
    assert!(shown.starts_with(expected), "{shown}");
    assert!(
        shown.contains("  a.jsonl:1200        2   1 400\n"),
        "{shown}"
    );

    let failed = FileStats::failed(Path::new("c.jsonl"), &error);
    assert_eq!(
        table(vec![failed]),
        "file     format  bytes  messages  turns  tokens  dead tokens\nc.jsonl  failed\n"
    );
}

#[test]
fn of_many_files_the_largest_are_shown_in_path_order() {
    let files = (0..30).map(|i| file(&format!("{i:02}.jsonl"), (i * 7) % 30));
    let shown = table(files.collect());
    let rows: Vec<&str> = shown
        .lines()
        .skip(1)
        .take_while(|l| !l.starts_with("total"))
        .collect();
    // 7 i modulo 30 takes every value once; the 20 largest are 10 and above.
    let largest = (0..30).filter(|i| (i * 7) % 30 >= 10);
    let expected: Vec<String> = largest.map(|i| format!("{i:02}.jsonl")).collect();
    assert_eq!(
        rows.iter().map(|row| &row[..8]).collect::<Vec<_>>(),
        expected
    );
    assert!(shown.contains("\ntotal, 10 not shown  30 files"), "{shown}");
}

#[test]
fn json_has_the_keys_in_their_order_and_no_list_is_cut() {
    let text = text_of_json(vec![full()]);
    let json: Value = serde_json::from_str(&text).unwrap();
    let keys =
        |value: &Value| -> Vec<String> { value.as_object().unwrap().keys().cloned().collect() };
    let counts = [
        "bytes", "live", "dead", "mirrors", "roles", "blocks", "tools", "paths", "largest",
    ];
    assert_eq!(
        keys(&json),
        [
            "schema_version",
            "version",
            "policy",
            "estimator",
            "threshold",
            "totals",
            "files"
        ]
    );
    let totals = ["files", "counted", "unsupported", "failed"];
    assert_eq!(keys(&json["totals"]), [&totals[..], &counts].concat());
    let file = [
        &["path", "format", "status", "error"],
        &counts[..],
        &["conversations"],
    ]
    .concat();
    assert_eq!(keys(&json["files"][0]), file);
    assert_eq!(json["schema_version"], 1);
    assert_eq!(json["totals"]["tools"].as_array().unwrap().len(), 3);
    assert_eq!(json["totals"]["largest"][0]["path"], "a.jsonl");
    assert_eq!(
        json["files"][0]["conversations"],
        json!([{"id": "main", "messages": 3, "turns": 1, "tokens": 3000,
            "usage": {"recorded": 24000, "overhead": 20250, "factor": 1.25}}])
    );
}

#[test]
fn text_from_a_transcript_steers_no_terminal() {
    let evil = "\u{1b}[2J\u{9b}31m\u{202e}\r\nx";
    let mut hostile = full();
    hostile.path = evil.to_owned();
    for by in [evil, "b"] {
        hostile.counts.tools.entry(by).call_tokens = 9999;
        hostile.counts.paths.entry(by).call_tokens = 9999;
    }
    hostile.counts.largest[0].tool = Some(evil.to_owned());
    hostile.counts.largest[0].hint = Some(evil.to_owned());
    hostile.conversations[0].id = evil.to_owned();
    let error = Error::new(ErrorKind::Io, evil);
    let files = || vec![hostile.clone(), FileStats::failed(Path::new(evil), &error)];
    let steers = |c: char| c != '\n' && (c.is_control() || c == '\u{202e}');
    let shown = table(files());
    assert!(!shown.contains(steers), "{shown:?}");
    assert!(shown.contains("\\u{1b}[2J"), "{shown}");
    // No line is broken in two.
    assert!(shown.lines().all(|line| !line.starts_with('x')), "{shown}");

    let text = text_of_json(files());
    assert!(!text.contains(steers), "{text:?}");
    let json: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(json["files"][0]["path"], evil);
}
