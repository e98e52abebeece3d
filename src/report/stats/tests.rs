//! Tests of both forms of a count in full, of hostile text, and of long batches.

use std::path::Path;

use serde_json::{Value, json};

use super::*;
use crate::error::{Error, ErrorKind};
use crate::format::Unsupported;
use crate::outcome::Usage;
use crate::policy::{Compare, preset};
use crate::report::{Render, ReportFormat};
use crate::stats::{
    Consumer, ConversationStats, Dead, Estimates, Live, Mirrors, PresetCount, RecordedCompaction,
    ResultsOver, Standing, Turn, Window,
};
use crate::transcript::BlockKind;

fn unread(format: &'static str) -> Unsupported {
    let mut why = Unsupported::default();
    why.name = format;
    why
}

fn file(path: &str, tokens: u64) -> Examined<FileStats> {
    let mut file = Examined::<FileStats>::new(Path::new(path), "openai", 2048);
    let counts = &mut file.found.counts;
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

fn full() -> Examined<FileStats> {
    let mut file = file("a.jsonl", 3000);
    let counts = &mut file.found.counts;
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
            role: "tool_result".into(),
            kind: BlockKind::Result,
            tool: Some("Read".to_owned()),
            tokens: 1400,
            hint: Some("/src/main.rs".to_owned()),
        },
        Consumer {
            path: None,
            line: 1,
            conversation: "main".to_owned(),
            message: 1,
            role: "user".into(),
            kind: BlockKind::Text,
            tool: None,
            tokens: 600,
            hint: None,
        },
    ];
    let preset = |policy: &str, estimator: &'static str, tokens, threshold, over| PresetCount {
        policy: policy.to_owned(),
        estimator: estimator.into(),
        tokens,
        threshold,
        compare: Compare::Over,
        over,
    };
    counts.presets.0 = vec![
        preset("auto", "classes", Some(3000), Some(20_000), Some(0)),
        preset("small", "chars", Some(2900), Some(2000), Some(1)),
        preset("exact", "bpe", None, Some(9000), None),
        preset("none", "classes", Some(3000), None, Some(0)),
    ];
    counts.estimates = counts_of_estimates();
    file.found.conversations.push(ConversationStats {
        id: "main".to_owned(),
        messages: 3,
        turns: 1,
        tokens: 3000,
        usage: Some(Usage {
            recorded: 24_000,
            overhead: 20_250,
            factor: 1.25,
        }),
        estimates: counts_of_estimates(),
        standing: standing(None),
        compactions: vec![RecordedCompaction {
            line: 1,
            turn: 0,
            context: 550,
        }],
        timeline: vec![
            turn([0, 1, 1, 600, 600], None),
            turn([1, 1200, 2, 2400, 3000], Some(24_000)),
        ],
    });
    file
}

fn counts_of_estimates() -> Estimates {
    Estimates {
        chars: Some(2900),
        classes: Some(3000),
        o200k_base: None,
        cl100k_base: None,
    }
}

/// A standing by the thresholds of `auto`.
fn standing(since: Option<u64>) -> Standing {
    let window = |limit| Some(Window { limit, since });
    let results = |limit, results, since| {
        Some(ResultsOver {
            limit,
            results,
            since,
        })
    };
    Standing {
        trigger: window(20_000),
        target: window(10_000),
        offload: None,
        demote: results(10_000, 0, None),
        clear: results(250, 2, Some(1)),
    }
}

fn turn([turn, line, messages, tokens, context]: [u64; 5], recorded: Option<u64>) -> Turn {
    Turn {
        turn,
        line,
        messages,
        tokens,
        context,
        recorded,
    }
}

fn stats<'e>(files: &'e &'e [Examined<FileStats>]) -> Stats<'e> {
    let policy = PolicyRef {
        name: "auto".to_owned(),
        hash: "00".to_owned(),
        overrides: Vec::new(),
    };
    let thresholds = Thresholds::of(&preset("auto").unwrap());
    Stats::of(StatsHeader::new(policy, "classes", thresholds, 2), files).unwrap()
}

fn table(files: Vec<Examined<FileStats>>) -> String {
    table_with(files, Turns::Some)
}

fn table_with(files: Vec<Examined<FileStats>>, turns: Turns) -> String {
    let mut out = Vec::new();
    let view = View {
        screen: Screen::plain(100),
        top: 2,
        turns,
    };
    write_stats_table(&stats(&&files[..]), view, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

fn text_of_json(files: Vec<Examined<FileStats>>) -> String {
    let mut out = Vec::new();
    stats(&&files[..])
        .render(ReportFormat::Json, &mut out)
        .unwrap();
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

largest                    tokens  message  line
Read result: /src/main.rs   1 400        2  1200
user text                     600        1  1

context over turns        turn  line  messages  tokens  context  recorded
=====                        0     1         1     600      600         -
========================     1  1200         2   2 400    3 000    24 000

policy auto     limit  status
summarise    > 20 000  not over it (now 3 000)
target         10 000  not over it (now 3 000)
demote       > 10 000  0 of 6 results over it
clear           > 250  2 of 6 results over it, the first in turn 1; the newest 5 stay

preset  estimator  tokens  summarises  would now
auto    classes     3 000    > 20 000         no
small   chars       2 900     > 2 000        yes
exact   bpe             -     > 9 000          -
none    classes     3 000       never         no

estimates  chars / 4  classes  recorded  overhead  factor
a.jsonl        2 900    3 000    24 000    20 250    1.25
recorded, overhead: tokens as the provider counts them; factor: how many of them for one estimated token
";
    assert_eq!(table(vec![full()]), expected);
}

#[test]
fn many_files_have_a_total_and_consumers_their_file() {
    let error = Error::new(ErrorKind::Io, "cannot read");
    let shown = table(vec![
        full(),
        file("b.jsonl", 5),
        Examined::failed(Path::new("c.jsonl"), &error),
        Examined::unsupported(Path::new("d.jsonl"), unread("codex"), 9),
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
        shown.contains("   1 400        2  a.jsonl:1200\n"),
        "{shown}"
    );

    let failed = Examined::failed(Path::new("c.jsonl"), &error);
    assert_eq!(
        table(vec![failed]),
        "file     format  bytes  messages  turns  tokens  dead tokens\nc.jsonl  failed\n"
    );
}

/// As many turns as asked for, of 1 000 tokens each.
fn long(path: &str, turns: u64) -> Examined<FileStats> {
    let mut long = full();
    long.file.path = path.to_owned();
    let conversation = &mut long.found.conversations[0];
    conversation.turns = turns;
    conversation.tokens = turns * 1000;
    conversation.standing = standing((turns > 20).then_some(21));
    let turn_at = |i| turn([i, i * 10, 2, 1000, i * 1000], None);
    conversation.timeline = (1..=turns).map(turn_at).collect();
    long
}

/// The rows of the table whose header begins like this, without the header.
fn rows<'t>(shown: &'t str, header: &str) -> Vec<&'t str> {
    let lines = shown.lines().skip_while(|line| !line.starts_with(header));
    lines.skip(1).take_while(|line| !line.is_empty()).collect()
}

#[test]
fn of_many_turns_some_are_shown_with_the_first_and_the_last() {
    let shown = table(vec![long("a", 40)]);
    let mut turns = rows(&shown, "context over turns");
    assert_eq!(turns.pop(), Some("12 of 40 turns; -v shows all"));
    let cell = |row: &str, i: usize| row.split_whitespace().nth(i).unwrap().to_owned();
    let numbers: Vec<String> = turns.iter().map(|row| cell(row, 1)).collect();
    // Steps of 39 / 11.
    let expected = [
        "1", "4", "8", "11", "15", "18", "22", "25", "29", "32", "36", "40",
    ];
    assert_eq!(numbers, expected);
    // 24 characters are 40 000 tokens: 12 of them are within the limit of 20 000, and 1 000 tokens are one character.
    assert_eq!(cell(turns[0], 0), "=");
    assert_eq!(cell(turns[6], 0), "============##");
    assert_eq!(cell(turns[11], 0), "=".repeat(12) + &"#".repeat(12));
    assert!(shown.contains("summarise    > 20 000  over since turn 21 (now 40 000)\n"));

    let shown = table_with(vec![long("a", 40)], Turns::All);
    assert_eq!(rows(&shown, "context over turns").len(), 40);
}

#[test]
fn of_many_conversations_each_has_a_row() {
    let mut two = long("two", 3);
    let mut other = long("", 17).found.conversations;
    other[0].id = "line:2".to_owned();
    two.found.conversations.append(&mut other);
    let files = || vec![long("a", 40), two.clone()];
    let shown = table(files());
    let expected = [
        "a                40    ..::--==++**##@@  40 000               21",
        "two line:2       17    ..::--==++**##@@  17 000                -",
        "and 1 more",
    ];
    assert_eq!(rows(&shown, "conversation "), expected, "{shown}");

    let expected = [
        "summarise    > 20 000  1 of 3 conversations over it",
        "target         10 000  1 of 3 conversations over it",
        "demote       > 10 000  0 of 12 results over it",
        "clear           > 250  6 of 12 results over it; the newest 5 stay",
    ];
    assert_eq!(rows(&shown, "policy auto"), expected);
    let expected = [
        "a              2 900    3 000    24 000    20 250    1.25",
        "two            2 900    3 000",
        "  in main      2 900    3 000    24 000    20 250    1.25",
        "total          5 800    6 000",
        "recorded, overhead: tokens as the provider counts them; factor: how many of them for one estimated token",
    ];
    assert_eq!(rows(&shown, "estimates"), expected);
    assert_eq!(
        rows(&shown, "preset")[1],
        "small   chars       5 800     > 2 000     2 of 2"
    );

    let shown = table_with(files(), Turns::All);
    assert_eq!(rows(&shown, "turns of a ").len(), 40, "{shown}");
    assert_eq!(rows(&shown, "turns of two line:2 ").len(), 17, "{shown}");
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
        "bytes",
        "live",
        "dead",
        "mirrors",
        "coverage",
        "roles",
        "blocks",
        "tools",
        "paths",
        "largest",
        "estimates",
        "presets",
    ];
    assert_eq!(
        keys(&json),
        [
            "schema_version",
            "version",
            "policy",
            "estimator",
            "threshold",
            "thresholds",
            "top",
            "totals",
            "files"
        ]
    );
    let totals = ["files", "counted", "unsupported", "failed"];
    assert_eq!(keys(&json["totals"]), [&totals[..], &counts].concat());
    let file = [
        &[
            "path",
            "format",
            "project",
            "last_message",
            "status",
            "error",
        ],
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
            "usage": {"recorded": 24000, "overhead": 20250, "factor": 1.25},
            "estimates": {"chars": 2900, "classes": 3000, "o200k_base": null, "cl100k_base": null},
            "standing": {
                "trigger": {"limit": 20000, "since": null},
                "target": {"limit": 10000, "since": null},
                "offload": null,
                "demote": {"limit": 10000, "results": 0, "since": null},
                "clear": {"limit": 250, "results": 2, "since": 1}},
            "compactions": [{"line": 1, "turn": 0, "context": 550}],
            "timeline": [
                {"turn": 0, "line": 1, "messages": 1, "tokens": 600, "context": 600, "recorded": null},
                {"turn": 1, "line": 1200, "messages": 2, "tokens": 2400, "context": 3000, "recorded": 24000}]}])
    );
    assert_eq!(
        json["totals"]["presets"][1],
        json!({"policy": "small", "estimator": "chars", "tokens": 2900, "threshold": 2000, "compare": ">", "over": 1})
    );
    assert_eq!(
        json["thresholds"],
        json!({"trigger": 20000, "compare": ">", "min_savings": 0, "target": 10000,
            "target_percent": null, "offload": null, "demote": 10000, "clear": 250,
            "clear_chars": null, "clear_keep": 5})
    );
    assert_eq!(json["threshold"], 20000);
}

#[test]
fn text_from_a_transcript_steers_no_terminal() {
    let evil = "\u{1b}[2J\u{9b}31m\u{202e}\r\nx";
    let mut hostile = full();
    hostile.file.path = evil.to_owned();
    for by in [evil, "b"] {
        hostile.found.counts.tools.entry(by).call_tokens = 9999;
        hostile.found.counts.paths.entry(by).call_tokens = 9999;
    }
    hostile.found.counts.largest[0].tool = Some(evil.to_owned());
    hostile.found.counts.largest[0].hint = Some(evil.to_owned());
    hostile.found.conversations[0].id = evil.to_owned();
    // If there are several conversations, their ids are shown.
    hostile
        .found
        .conversations
        .push(hostile.found.conversations[0].clone());
    let error = Error::new(ErrorKind::Io, evil);
    let files = || vec![hostile.clone(), Examined::failed(Path::new(evil), &error)];
    let steers = |c: char| c != '\n' && (c.is_control() || c == '\u{202e}');
    let shown = table_with(files(), Turns::All);
    assert!(!shown.contains(steers), "{shown:?}");
    assert!(shown.contains("\\u{1b}[2J"), "{shown}");
    // No line is broken in two.
    assert!(shown.lines().all(|line| !line.starts_with('x')), "{shown}");

    let text = text_of_json(files());
    assert!(!text.contains(steers), "{text:?}");
    let json: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(json["files"][0]["path"], evil);
}
