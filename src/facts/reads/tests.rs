use super::*;
use crate::facts::block_text;
use crate::facts::tests::{ResultText, anthropic, in_main, read_as};
use crate::format::Format;

/// The reads of a transcript with what each shows.
fn shown(transcript: &Transcript<'_>) -> Vec<(String, Option<Shown>)> {
    let reads = in_main(transcript, reads).into_iter();
    let shown = |read: Read| {
        let said = block_text(transcript, transcript.block(read.result.block));
        let shown = read.shown(&said);
        (read.path, shown)
    };
    reads.map(shown).collect()
}

/// What one read shows.
fn one(tool: &str, input: &str, result: &str) -> Option<Shown> {
    let shown = shown(&anthropic(&[(tool, input, ResultText::Fine(result))]));
    shown.into_iter().next().and_then(|(_, shown)| shown)
}

/// This number of numbered lines from `first` on.
fn numbered(first: u64, number: u64) -> String {
    let lines = (first..first + number).map(|n| format!("{n:6}→line {n}"));
    lines.collect::<Vec<_>>().join("\n")
}

fn lines(first: u64, last: Option<u64>) -> Lines {
    Lines { first, last }
}

/// The lines within which a read shows something, and those that it shows completely.
fn both(shown: Option<Shown>) -> Option<(Lines, Option<Lines>)> {
    shown.map(|shown| (shown.within, shown.whole))
}

#[test]
fn a_short_file_is_read_whole() {
    let all = Some((Lines::ALL, Some(Lines::ALL)));
    let reminder =
        "\n\n<system-reminder>\nWhenever you read a file, be careful.\n</system-reminder>\n";
    for result in [
        numbered(1, 3),
        numbered(1, 1_999),
        numbered(1, 3) + reminder,
    ] {
        assert_eq!(both(one("Read", r#"{"file_path":"/a"}"#, &result)), all);
    }
    let tabs = "     1\tfn a() {\n     2\t}\n     3\t";
    assert_eq!(both(one("Read", r#"{"file_path":"/a"}"#, tabs)), all);
    let header = "Here's the result of running `cat -n` on /a:\n     1\tx\n     2\ty";
    let view = r#"{"command":"view","path":"/a"}"#;
    assert_eq!(both(one("str_replace_based_edit_tool", view, header)), all);
}

#[test]
fn numbers_say_what_is_shown() {
    let read = |input: &str, result: &str| both(one("Read", input, result));
    let part = |first, last| Some((lines(first, Some(last)), Some(lines(first, Some(last)))));
    // The default stops at 2 000 lines; a result with all requested lines may not be the whole file.
    assert_eq!(
        read(r#"{"file_path":"/a"}"#, &numbered(1, 2_000)),
        part(1, 2_000)
    );
    assert_eq!(
        read(r#"{"file_path":"/a","limit":20}"#, &numbered(1, 20)),
        part(1, 20)
    );
    let input = r#"{"file_path":"/a","offset":"260","limit":60}"#;
    assert_eq!(read(input, &numbered(260, 60)), part(260, 319));
    // Fewer than asked for: the file ends there.
    let end = lines(260, None);
    assert_eq!(read(input, &numbered(260, 13)), Some((end, Some(end))));
    // Something was omitted in an unknown place.
    let cut = numbered(1, 50) + "\n... [412 lines truncated] ...";
    assert_eq!(
        read(r#"{"file_path":"/a"}"#, &cut),
        Some((Lines::ALL, Some(lines(1, Some(50)))))
    );
    let jump = format!("{}\n{}", numbered(1, 5), numbered(9, 2));
    assert_eq!(
        read(r#"{"file_path":"/a"}"#, &jump),
        Some((Lines::ALL, Some(lines(1, Some(5)))))
    );
}

#[test]
fn without_numbers_it_is_what_was_asked_for() {
    let read = |input: &str, result: &str| both(one("read_file", input, result));
    let text = "use std::fs;\n\nfn main() {}\n";
    assert_eq!(
        read(r#"{"path":"a"}"#, text),
        Some((Lines::ALL, Some(Lines::ALL)))
    );
    let part = lines(11, Some(30));
    for input in [
        r#"{"path":"a","offset":11,"limit":20}"#,
        r#"{"path":"a","start_line":11,"end_line":30}"#,
        r#"{"path":"a","view_range":[11,30]}"#,
    ] {
        assert_eq!(read(input, text), Some((part, Some(part))), "{input}");
    }
    let end = lines(11, None);
    assert_eq!(
        read(r#"{"path":"a","view_range":[11,-1]}"#, text),
        Some((end, Some(end)))
    );
    // A text with a note that it was cut covers nothing.
    let cut = "use std::fs;\n[output truncated]";
    assert_eq!(read(r#"{"path":"a"}"#, cut), Some((Lines::ALL, None)));
}

#[test]
fn an_error_shows_nothing() {
    for result in [
        "",
        "Error: ENOENT: no such file or directory, open '/a'",
        "<tool_use_error>File does not exist.</tool_use_error>",
        "<system-reminder>Warning: the file exists but is shorter than the provided offset (3850).</system-reminder>",
        "{\"error\":\"EACCES\"}",
        "File not found: a",
    ] {
        assert_eq!(
            one("Read", r#"{"file_path":"/a"}"#, result),
            None,
            "{result}"
        );
    }
}

#[test]
fn what_says_that_it_failed_or_is_no_text_is_no_read() {
    let call = r#"{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"Read","input":{"file_path":"/a"}}]}"#;
    let result = |inside: &str| {
        let line = r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"t",INSIDE}]}"#;
        format!("{call}\n{}\n", line.replace("INSIDE", inside))
    };
    for inside in [
        r#""content":"1→a","is_error":true"#,
        r#""content":[{"type":"image","source":{}}]"#,
        r#""content":null"#,
    ] {
        assert_eq!(
            shown(&read_as(Format::Anthropic, &result(inside))),
            [],
            "{inside}"
        );
    }
    assert_eq!(
        shown(&read_as(Format::Anthropic, &result(r#""content":"1→a""#))).len(),
        1
    );
    // No call, no result, no path, another tool.
    assert_eq!(shown(&read_as(Format::Anthropic, call)), []);
    for (tool, input) in [
        ("Read", "{}"),
        ("Read", r#"{"file_path":7}"#),
        ("Bash", r#"{"command":"cat /a"}"#),
        (
            "str_replace_based_edit_tool",
            r#"{"command":"create","path":"/a"}"#,
        ),
    ] {
        assert_eq!(
            shown(&anthropic(&[(tool, input, ResultText::Fine("1→a"))])),
            []
        );
    }
}

#[test]
fn every_format_has_reads() {
    let openai = r#"{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"read_file","arguments":"{\"path\": \"./src//\\u0061.rs\", \"limit\": 2}"}}]}
{"role":"tool","tool_call_id":"c1","content":"fn a() {\n}"}
{"role":"assistant","content":null,"function_call":{"name":"view","arguments":"{\"path\":\"b.rs\"}"}}
{"role":"function","name":"view","content":"fn b() {}"}
"#;
    let found: Vec<_> = shown(&read_as(Format::OpenAi, openai))
        .into_iter()
        .map(|(path, shown)| (path, both(shown)))
        .collect();
    let two = lines(1, Some(2));
    assert_eq!(
        found,
        [
            ("src/a.rs".to_owned(), Some((two, Some(two)))),
            ("b.rs".to_owned(), Some((Lines::ALL, Some(Lines::ALL)))),
        ]
    );
    let claude_code = r#"{"parentUuid":null,"isSidechain":false,"cwd":"/w","type":"assistant","message":{"id":"m","role":"assistant","content":[{"type":"tool_use","id":"t","name":"Read","input":{"file_path":"src/a.rs"}}]},"uuid":"u1"}
{"parentUuid":"u1","isSidechain":false,"cwd":"/w","type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"     1→fn a() {}"}]},"uuid":"u2"}
"#;
    let found = shown(&read_as(Format::ClaudeCode, claude_code));
    assert_eq!(found[0].0, "/w/src/a.rs");
    assert_eq!(both(found[0].1), Some((Lines::ALL, Some(Lines::ALL))));
}

/// Which of these reads covers which: one row for each as the later one.
fn covered<const N: usize>(calls: [(&str, &str, String); N]) -> [[u8; N]; N] {
    let calls = calls.each_ref();
    let calls = calls.map(|(tool, input, said)| (*tool, *input, ResultText::Fine(said)));
    let transcript = anthropic(&calls);
    let shown: Vec<Shown> = shown(&transcript)
        .into_iter()
        .filter_map(|(_, s)| s)
        .collect();
    let all: [Shown; N] = shown.try_into().unwrap();
    let earlier = all.map(|shown| EarlierRead::new(&transcript, shown));
    all.map(|later| {
        let covers = |earlier: &EarlierRead<'_>| u8::from(later.covers(&transcript, earlier));
        earlier.each_ref().map(covers)
    })
}

#[test]
fn a_later_read_covers_what_it_shows() {
    let read = |input, result| ("Read", input, result);
    let covered = covered([
        read(r#"{"file_path":"/a"}"#, numbered(1, 60)),
        // Shorter now.
        read(r#"{"file_path":"/a"}"#, numbered(1, 40)),
        read(
            r#"{"file_path":"/a","offset":10,"limit":20}"#,
            numbered(10, 20),
        ),
        read(
            r#"{"file_path":"/a","offset":20,"limit":20}"#,
            numbered(20, 20),
        ),
        // Both of these.
        read(
            r#"{"file_path":"/a","offset":10,"limit":30}"#,
            numbered(10, 30),
        ),
        // Up to the end.
        read(
            r#"{"file_path":"/a","offset":31,"limit":90}"#,
            numbered(31, 30),
        ),
    ]);
    assert_eq!(
        covered,
        [
            [1, 1, 1, 1, 1, 1],
            [1, 1, 1, 1, 1, 1],
            [0, 0, 1, 0, 0, 0],
            [0, 0, 0, 1, 0, 0],
            [0, 0, 1, 1, 1, 0],
            [0, 0, 0, 0, 0, 1],
        ]
    );
}

#[test]
fn without_numbers_only_the_same_text_covers() {
    let read = |input, result: &str| ("read_file", input, result.to_owned());
    let covered = covered([
        read(r#"{"path":"a"}"#, "one\n\ttwo \u{1f600}\nthree\n"),
        read(r#"{"path":"a","offset":2,"limit":1}"#, "\ttwo \u{1f600}\n"),
        // As long as the file, but not contained in it.
        read(r#"{"path":"a"}"#, "The disk is gone, try it tomorrow."),
        // Contained in its bytes as written, where a backslash precedes an `n`.
        read(r#"{"path":"a"}"#, "a\\nx"),
        read(r#"{"path":"a"}"#, "\nx"),
        ("Read", r#"{"file_path":"a"}"#, numbered(1, 3)),
    ]);
    assert_eq!(
        covered,
        [
            [1, 1, 0, 0, 0, 0],
            [0, 1, 0, 0, 0, 0],
            [0, 0, 1, 0, 0, 0],
            [0, 0, 0, 1, 0, 0],
            [0, 0, 0, 0, 1, 0],
            [1, 1, 1, 1, 1, 1],
        ]
    );
}

#[test]
fn options_keep_reads_apart() {
    let options = |input: &str| {
        let transcript = anthropic(&[("Read", input, ResultText::Fine("x"))]);
        let reads = in_main(&transcript, reads);
        (
            reads[0].path.clone(),
            String::from_utf8(reads[0].options.clone()).unwrap(),
        )
    };
    let pair = |path: &str, options: &str| (path.to_owned(), options.to_owned());
    assert_eq!(
        options(r#"{"file_path":"a","offset":3,"limit":null}"#),
        pair("a", "")
    );
    assert_eq!(
        options(r#"{"path":"r","filename":"a","limit":1}"#),
        pair("r", "filename:\"a\"")
    );
    let both = pair("a", "encoding:\"hex\"\npages:\"1-5\"");
    assert_eq!(
        options(r#"{"pages":"1-5","path":"a","encoding":"hex"}"#),
        both
    );
    // An unknown key is an option: it is not known which lines these are.
    assert_eq!(
        options(r#"{"path":"a","offset":-5,"limit":0}"#),
        pair("a", "limit:0\noffset:-5")
    );
}

#[test]
fn a_hint_that_there_is_more_says_up_to_where_a_file_was_shown() {
    let hint = "[Showing lines 1-2 of 9. Use offset=3 to continue.]";
    let shown = one("read", r#"{"path":"/a"}"#, &format!("a\nb\n\n{hint}"));
    let first_two = lines(1, Some(2));
    assert_eq!(both(shown), Some((first_two, Some(first_two))));
    let hint = "[5 more lines in file. Use offset=5 to continue.]";
    let shown = one(
        "read",
        r#"{"path":"/a","offset":3,"limit":2}"#,
        &format!("c\nd\n\n{hint}"),
    );
    let next_two = lines(3, Some(4));
    assert_eq!(both(shown), Some((next_two, Some(next_two))));
}

#[test]
fn a_part_with_its_hint_is_held_by_the_whole_file() {
    let transcript = anthropic(&[
        (
            "read",
            r#"{"path":"/a","limit":2}"#,
            ResultText::Fine("a\nb\n\n[1 more lines in file. Use offset=3 to continue.]"),
        ),
        ("read", r#"{"path":"/a"}"#, ResultText::Fine("a\nb\nc")),
        ("read", r#"{"path":"/a"}"#, ResultText::Fine("a\nx\nc")),
    ]);
    let all = shown(&transcript);
    let [part, whole, other] = [0, 1, 2].map(|n| all[n].1.unwrap());
    let covers =
        |later: Shown, earlier| later.covers(&transcript, &EarlierRead::new(&transcript, earlier));
    assert!(covers(whole, part));
    assert!(!covers(other, part));
    assert!(!covers(part, whole));
}
