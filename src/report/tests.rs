//! Tests of a small report, compared in full in each format with the documents in `tests/`; of hostile text; of long batches.

mod read_back;

use std::io;
use std::path::PathBuf;

use crate::outcome::{
    Action, ActionKind, ConversationOutcome, Coverage, Degraded, DegradedKind, NotUnderstood,
    Original, OriginalKind, Rejection, Restored, RestoredFrom, Status, SummaryOutcome,
    TargetOutcome, Usage, Voice, Warning, WarningKind,
};

use super::cells::{elide, saved};
use super::*;
use crate::text::size;
use crate::tokens::Voices;

/// What someone could put into a name or a message to harm a reader of the report.
const HOSTILE: &str = "\u{1b}]52;c;x\u{7}|`<b>\n@org *x* \\ \u{9b}31m\u{202e}\u{7f}";

fn policy() -> PolicyRef {
    PolicyRef {
        name: "auto".into(),
        hash: "blake3:a0".into(),
        overrides: vec![OverrideRef {
            key: "clear.keep".into(),
            value: 5.into(),
            origin: "--set".into(),
        }],
    }
}

fn unchanged(input: &str, tokens: u64, messages: u64, bytes: u64, hash: &str) -> Outcome {
    Outcome {
        conversations: vec![ConversationOutcome::unchanged(
            "main", "classes", tokens, messages,
        )],
        ..Outcome::unchanged(Path::new(input), bytes, hash)
    }
}

fn compacted(input: &str, before: u64, after: u64) -> Outcome {
    let mut outcome = unchanged(input, before, 10, before * 4, "blake3:00");
    outcome.status = Status::Compacted;
    outcome.bytes_after = after * 4;
    outcome.conversations[0].tokens_after = after;
    outcome
}

fn failed(input: &str, message: &str) -> Outcome {
    Outcome::failed(Path::new(input), &Error::new(ErrorKind::Decode, message))
}

fn main_conversation() -> ConversationOutcome {
    ConversationOutcome {
        usage: Some(Usage {
            recorded: 81_000,
            overhead: 21_000,
            factor: 1.25,
        }),
        messages_after: 38,
        threshold: Some(20_000),
        target: Some(TargetOutcome::new(10_000, 9_700)),
        reason: "over the threshold".into(),
        actions: vec![
            Action {
                kind: ActionKind::Clear,
                line: 12,
                message: 9,
                tool: Some("Bash".into()),
                reason: "older than the last 3 results".into(),
                tokens_before: 4_000,
                tokens_after: 10,
            },
            Action {
                kind: ActionKind::Summarize,
                line: 1,
                message: 1,
                tool: None,
                reason: "over the threshold".into(),
                tokens_before: 36_000,
                tokens_after: 1_700,
            },
        ],
        summary: Some(SummaryOutcome {
            source: "extractive".into(),
            model: None,
            success: true,
            messages: 81,
            preserved_messages: 37,
            tokens: 1_700,
            attempts: 1,
            fallback: None,
            error: None,
            invented: 0,
            sentences_dropped: 0,
            cut_moved: 1,
            user_verbatim: 3,
            narrative: None,
            spent: None,
            rounds: None,
            user_clipped: 0,
        }),
        restored: vec![Restored {
            path: "src/main.rs".into(),
            tokens: 300,
            source: RestoredFrom::Transcript,
        }],
        deleted_files: vec!["offloaded/00.txt".into()],
        ..said([
            (Voice::User, 6_000, 2_700),
            (Voice::ToolResult, 42_000, 7_000),
        ])
    }
}

/// A conversation of these roles, with their tokens before and after.
fn said(roles: [(Voice, u64, u64); 2]) -> ConversationOutcome {
    let (mut before, mut after) = (Voices::default(), Voices::default());
    for (voice, was, is) in roles {
        before += (voice, was);
        after += (voice, is);
    }
    let mut outcome = ConversationOutcome::unchanged("main", "classes", 0, 118).said_by(&before);
    outcome.becomes(&after);
    outcome
}

/// One input of each of the four common fates, not in path order.
fn sample() -> Report {
    let mut a = Outcome {
        output: Some("out/a.jsonl".into()),
        status: Status::Compacted,
        original: Some(Original {
            kind: OriginalKind::Input,
            path: "logs/a.jsonl".into(),
        }),
        findings_before: 1,
        hash_after: Some("blake3:a2".into()),
        bytes_after: 96 * 1024,
        coverage: Some(Coverage {
            lines: 61,
            lines_read: 60,
            calls: 24,
            calls_understood: 22,
            unknown: [(
                "deploy".to_owned(),
                NotUnderstood {
                    calls: 2,
                    kind: None,
                },
            )]
            .into(),
        }),
        warnings: vec![
            Warning {
                kind: WarningKind::Line(crate::format::WarningKind::BadJson),
                line: Some(7),
                message: "not JSON, passed through".into(),
            },
            Warning {
                kind: WarningKind::Line(crate::format::WarningKind::NoFinalNewline),
                line: None,
                message: "the last line has no end".into(),
            },
        ],
        conversations: vec![
            main_conversation(),
            ConversationOutcome {
                tokens_after: 100,
                reason: "below the threshold".into(),
                ..ConversationOutcome::unchanged("agent-1", "classes", 211, 2)
            },
        ],
        ..Outcome::unchanged(Path::new("logs/a.jsonl"), 512 * 1024, "blake3:a1")
    };
    a.file.format = Some("claude-code".into());
    a.file.project = Some("/home/u/app".into());
    a.file.last_message = Some("2026-11-25T10:00:00Z".into());
    let mut b = Outcome {
        degraded: vec![Degraded {
            kind: DegradedKind::SummaryFailed,
            message: "no summary could be written: timed out".into(),
        }],
        ..unchanged("logs/b.jsonl", 1_200, 14, 4096, "blake3:b1")
    };
    let c = Outcome::failed(
        Path::new("logs/c.jsonl"),
        &Error::io(
            "logs/c.jsonl",
            "read",
            io::Error::from(io::ErrorKind::PermissionDenied),
        ),
    );
    b.file.format = Some("openai".into());
    let mut d = Outcome {
        findings_before: 2,
        findings_after: 3,
        ..unchanged("logs/d.jsonl", 9_000, 30, 36 * 1024, "blake3:d1")
    }
    .rejected(Rejection::NewFinding, "a call lost its result", Some(12));
    d.file.format = Some("codex".into());
    Report::new(policy(), vec![d, b, a, c])
}

fn text(write: impl FnOnce(&mut Vec<u8>) -> io::Result<()>) -> String {
    let mut out = Vec::new();
    write(&mut out).unwrap();
    String::from_utf8(out).unwrap()
}

fn rendered(files: Vec<Outcome>, format: ReportFormat) -> String {
    text(|out| Report::new(policy(), files).render(format, out))
}

fn table(files: Vec<Outcome>, width: usize) -> String {
    text(|out| {
        write_table(
            &Report::new(policy(), files),
            Depth::Sums,
            Screen::plain(width),
            out,
        )
    })
}

/// The estimate of one file is shown next to what the provider counted, and sidechains separately from what it sends.
#[test]
fn one_file_is_compared_with_what_the_provider_counted() {
    let one = sample()
        .files()
        .iter()
        .find(|file| file.file.path == "logs/a.jsonl")
        .cloned();
    let table = text(|out| {
        let report = Report::new(policy(), vec![one.unwrap()]);
        write_table(&report, Depth::Sums, Screen::plain(100), out)
    });
    for line in [
        "  main: 48 000 → 9 700; 1 other conversation: 211 → 100 (a target is for each of them)\n",
        "  the provider counted 81 000 tokens in main: about 21 000 outside the file + 60 000 in it (estimate: 48 000)\n",
    ] {
        // Numbers never break.
        assert!(table.replace('\u{a0}', " ").contains(line), "{table}");
    }
    let several = text(|out| write_table(&sample(), Depth::Sums, Screen::plain(100), out));
    assert!(!several.contains("provider counted"), "{several}");
}

#[test]
fn each_format_renders_the_sample_as_its_document_says() {
    let documents = [
        (ReportFormat::Json, include_str!("tests/report.json")),
        (ReportFormat::Jsonl, include_str!("tests/report.jsonl")),
        (
            ReportFormat::Csv(CsvRows::File),
            include_str!("tests/report.csv"),
        ),
        (ReportFormat::Markdown, include_str!("tests/report.md")),
        (ReportFormat::Html, include_str!("tests/report.html")),
    ];
    for (format, document) in documents {
        let expected = document.replace("{VERSION}", env!("CARGO_PKG_VERSION"));
        let mut written = text(|out| sample().render(format, out));
        // The style and the script are in files of their own, and their hashes are tested there.
        for (name, start, end) in [
            ("style", "<style>", "</style>"),
            ("script", "<script>", "</script>"),
        ] {
            if let Some((before, after)) = written.split_once(start) {
                let after = after.split_once(end).unwrap().1;
                written = format!("{before}<{name}/>{after}");
            }
        }
        let hashes = written.split("sha256-").skip(1).map(|h| h[..44].to_owned());
        for hash in hashes.collect::<Vec<_>>() {
            written = written.replace(&hash, "{HASH}");
        }
        assert_eq!(written, expected, "{format:?}");
    }
    assert_eq!(
        text(|out| write_table(&sample(), Depth::Sums, Screen::plain(80), out)),
        include_str!("tests/report.txt")
    );
}

#[test]
fn an_empty_run_is_still_a_report() {
    assert_eq!(
        rendered(vec![], ReportFormat::Markdown),
        format!(
            "**0 → 0 tokens, 0.0% saved** in 0 files\n\nctxpack {}, policy <code>auto</code>\n",
            env!("CARGO_PKG_VERSION")
        )
    );
    assert_eq!(
        table(vec![], 80),
        "file   status   tokens → after  saved  bytes → after\n\
         total  0 files       0 →     0   0.0%    0 B →   0 B\n"
    );
}

#[test]
fn a_report_knows_its_formats_by_extension() {
    for (path, format) in [
        ("out/r.json", ReportFormat::Json),
        ("r.jsonl", ReportFormat::Jsonl),
        ("R.CSV", ReportFormat::Csv(CsvRows::File)),
        ("a.json/r.md", ReportFormat::Markdown),
        ("r.html", ReportFormat::Html),
    ] {
        assert_eq!(ReportFormat::from_path(Path::new(path)).unwrap(), format);
    }
    for path in ["report", "report.yaml", ".json", "-", ""] {
        let error = ReportFormat::from_path(Path::new(path)).unwrap_err();
        assert_eq!(
            (error.kind, error.hint.as_deref()),
            (
                ErrorKind::Usage,
                Some("use one of .json, .jsonl, .csv, .md, .html")
            )
        );
    }
}

#[test]
fn csv_cells_are_quoted_and_never_formulas() {
    let cases = [
        ("plain", "plain"),
        ("a,b", "\"a,b\""),
        ("say \"hi\"", "\"say \"\"hi\"\"\""),
        ("=1+1", "\"'=1+1\""),
        ("+1", "\"'+1\""),
        ("-", "\"'-\""),
        ("@SUM(A1)", "\"'@SUM(A1)\""),
        ("\t=1", "\"' =1\""),
        ("\r=1", "\"' =1\""),
        ("=\"a\",b", "\"'=\"\"a\"\",b\""),
        ("two\nlines", "two lines"),
        ("\u{1b}[2J", "\\u{1b}[2J"),
    ];
    // In a file name, a line break is not shown as a space: another file may have that name.
    let name = |input, cell: &str| match input {
        "\t=1" => "\\u{9}=1".to_owned(),
        "\r=1" => "\\u{d}=1".to_owned(),
        "two\nlines" => "two\\u{a}lines".to_owned(),
        _ => cell.to_owned(),
    };
    for (input, cell) in cases {
        let name = name(input, cell);
        let csv = rendered(vec![failed(input, input)], ReportFormat::Csv(CsvRows::File));
        let row = csv.split_once('\n').unwrap().1;
        assert_eq!(
            row,
            format!("{name},,,failed,decode,,{cell},,0,0,,,0,0,0,0,1.0000,0,0,0,0,,0,,,,,,,\n")
        );
    }
}

#[test]
fn hostile_text_stays_text_in_markdown() {
    let markdown = rendered(vec![failed(HOSTILE, "x|y")], ReportFormat::Markdown);
    let row = markdown.lines().nth(4).unwrap();
    assert_eq!(
        row,
        "| <code>\\\\u{1b}\\]52;c;x\\\\u{7}\\|\\`\\<b\\>\\\\u{a}@org \\*x\\* \\\\ \\\\u{9b}31m\\\\u{202e}\\\\u{7f}</code> \
         | failed: <code>x\\|y</code> | | | |"
    );
}

#[test]
fn hostile_text_stays_text_on_a_page() {
    let html = rendered(
        vec![failed(HOSTILE, "<img src=x onerror='a()'> & \"b\"")],
        ReportFormat::Html,
    );
    assert!(!html.contains("<img"));
    let row = html.lines().find(|line| line.starts_with("[\"")).unwrap();
    assert_eq!(
        row,
        "[\"\\\\u{1b}]52;c;x\\\\u{7}|`\\u003cb\\u003e\\\\u{a}@org *x* \\\\ \\\\u{9b}31m\\\\u{202e}\\\\u{7f}\",\
         \"\\u003cimg src=x onerror='a()'\\u003e \\u0026 \\\"b\\\"\",\"failed\",\"\",null,null,null,null,null,null]"
    );
}

#[test]
fn pages_of_all_versions_are_recognised() {
    let page = rendered(vec![], ReportFormat::Html);
    let first = "<!DOCTYPE html>\n<html lang=\"en\">\n<title>ctxpack</title>\n";
    for (page, is_ours) in [
        (&page[..], true),
        (first, true),
        ("<!DOCTYPE html>\n<title>mine</title>", false),
    ] {
        assert_eq!(is_report(page.as_bytes(), ReportFormat::Html), is_ours);
    }
}

#[test]
fn hostile_text_stays_text_on_a_terminal() {
    assert_eq!(
        table(vec![failed("a\u{1b}[2Jb", HOSTILE)], 80),
        [
            "file         status  tokens → after  saved  bytes → after",
            "a\\u{1b}[2Jb  failed",
            "  \\u{1b}]52;c;x\\u{7}|`<b> @org *x* \\ \\u{9b}31m\\u{202e}\\u{7f}",
            "total        1 file       0 →     0   0.0%    0 B →   0 B",
            "1 failed",
            "",
        ]
        .join("\n")
    );
}

#[test]
fn a_target_that_was_missed_is_named() {
    let mut outcome = compacted("a.jsonl", 8_000, 1_500);
    outcome.conversations[0].target = Some(TargetOutcome::new(1_000, 1_500));
    assert_eq!(
        table(vec![outcome], 80),
        "file     status     tokens → after  saved     bytes →   after\n\
         a.jsonl  compacted   8 000 → 1 500  81.3%  31.3 KiB → 5.9 KiB\n  \
           target not reached in main: 1 500 tokens left, 1 000 asked for\n\
         total    1 file      8 000 → 1 500  81.3%  31.3 KiB → 5.9 KiB\n\
         1 compacted\n"
    );
}

#[test]
fn targets_that_several_conversations_miss_are_counted_by_their_reasons() {
    let mut outcome = compacted("a.jsonl", 8_000, 1_500);
    let first = outcome.conversations.remove(0);
    for (id, reason) in [
        ("main", "3 messages summarised: over the trigger"),
        ("one", "3 results cleared; not summarised: no link"),
        ("two", "not summarised: no link"),
    ] {
        outcome.conversations.push(ConversationOutcome {
            id: id.to_owned(),
            reason: reason.to_owned(),
            target: Some(TargetOutcome::new(1_000, 1_500)),
            ..first.clone()
        });
    }
    let shown = table(vec![outcome], 80);
    for line in [
        "target not reached in main: 1 500 tokens left, 1 000 asked for\n",
        "target not reached in 2 conversations, the first one: 1 500 tokens left, 1 000 asked for; not summarised: no link\n",
    ] {
        assert!(shown.contains(line), "{shown}");
    }
}

#[test]
fn long_paths_have_a_line_of_their_own() {
    let name = "archive/2026/é世界/a-session-with-a-long-name.jsonl";
    let shown = table(vec![compacted(name, 100, 50)], 70);
    assert_eq!(
        shown,
        [
            "file                   status     tokens → after  saved  bytes → after",
            "archive/2026/é世界/a-session-with-a-long-name.jsonl",
            "                       compacted     100 →    50  50.0%  400 B → 200 B",
            "total                  1 file        100 →    50  50.0%  400 B → 200 B",
            "1 compacted",
            "",
        ]
        .join("\n")
    );
    assert_eq!(shown.lines().map(|l| l.chars().count()).max(), Some(70));
    // Too narrow for anything else: only the tokens stay.
    assert_eq!(
        table(vec![compacted(name, 100, 50)], 10).lines().nth(2),
        Some("      compacted     100 →    50")
    );
}

/// 60 inputs in path order: savings of 0 to 580 tokens, the largest last, and two that failed.
fn long_batch() -> Vec<Outcome> {
    let mut files: Vec<Outcome> = (0..60)
        .map(|i| compacted(&format!("{i:02}.jsonl"), 1_000, 1_000 - i * 10))
        .collect();
    files[30] = failed("30.jsonl", "bad gzip");
    files[59] = failed("59.jsonl", "bad gzip");
    files
}

#[test]
fn a_long_batch_shows_trouble_and_the_largest_savings_in_path_order() {
    let names = |text: &str| -> Vec<String> {
        text.match_indices(".jsonl")
            .map(|(at, _)| text[at - 2..at].to_owned())
            .collect()
    };
    let expected = [
        "30", "49", "50", "51", "52", "53", "54", "55", "56", "57", "58", "59",
    ];
    let note = "and 48 more files (shown: up to 40 that went wrong, the 10 largest savings)";
    for shown in [
        table(long_batch(), 80),
        rendered(long_batch(), ReportFormat::Markdown),
    ] {
        assert_eq!(names(&shown), expected);
        assert!(shown.lines().any(|line| line == note), "{shown}");
        assert!(shown.contains("58 compacted, 2 failed"), "{shown}");
    }
}

#[test]
fn a_batch_of_twenty_is_shown_whole_and_savings_of_nothing_are_not_savings() {
    let files = |n: u64| -> Vec<Outcome> {
        (0..n)
            .map(|i| unchanged(&format!("{i}.jsonl"), 10, 1, 10, "blake3:00"))
            .collect()
    };
    // The header and the two lines of totals come on top.
    assert_eq!(table(files(20), 80).lines().count(), 23);
    // Includes the note about the 21 that are left out.
    assert_eq!(table(files(21), 80).lines().count(), 4);
}

#[test]
fn markdown_fits_a_comment_whatever_the_batch() {
    let files: Vec<Outcome> = (0..500)
        .map(|i| failed(&format!("{i}{}", "|".repeat(300)), &"`".repeat(2_000)))
        .collect();
    let markdown = rendered(files, ReportFormat::Markdown);
    assert!(markdown.chars().count() < 65_536);
    assert_eq!(markdown.matches("failed: ").count(), 40);
}

#[test]
fn numbers_read_well() {
    let sizes = [
        (0, "0 B"),
        (1_023, "1023 B"),
        (1_024, "1.0 KiB"),
        (1_587, "1.5 KiB"),
        (1_048_524, "1023.9 KiB"),
        (1_048_525, "1.0 MiB"),
        (5 << 30, "5.0 GiB"),
        (u64::MAX, "16.0 EiB"),
    ];
    for (bytes, expected) in sizes {
        assert_eq!(size(bytes), expected);
    }
    let savings = [
        ((0, 0), "0.0%"),
        ((1_000, 1_000), "0.0%"),
        ((1_000, 0), "100.0%"),
        ((3, 2), "33.3%"),
        ((2_000, 1_999), "0.1%"),
        ((100, 112), "-12.0%"),
    ];
    for ((before, after), expected) in savings {
        assert_eq!(saved(before, after), expected);
    }
    let paths = [
        ("abcdef", 6, "abcdef"),
        ("abcdef", 5, "ab…ef"),
        ("abcdef", 4, "a…ef"),
        ("é世界ü", 3, "é…ü"),
        ("abc", 1, "…"),
    ];
    for (path, max, expected) in paths {
        assert_eq!(elide(path, max), expected);
    }
}
