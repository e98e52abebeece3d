//! Tests with untrusted text: it must not close a fence, run a formula or control a terminal.

use super::*;
use crate::diff::compare::{Comparison, ConversationComparison, RowComparison};
use crate::diff::{At, ConversationDiff, LineCounts, Row};
use crate::report::{CsvRows, Ink, Render, ReportFormat};
use crate::transcript::Role;

/// A message that replaced nothing.
fn summary(text: &str) -> Row {
    Row {
        fate: Fate::Summary,
        old: None,
        new: Some(At {
            line: 1,
            message: 1,
        }),
        role: Role::User,
        tools: vec!["=cmd()".to_owned()],
        tokens_before: 0,
        tokens_after: 7,
        reason: None,
        words: text.to_owned(),
        changes: Vec::new(),
        text: Some(text.to_owned()),
        restored: Vec::new(),
    }
}

fn report(text: &str) -> DiffReport {
    let file = |path: &str| Compared {
        path: path.to_owned(),
        hash: None,
        bytes: 1,
    };
    let diff = Diff {
        tokens_before: 100,
        tokens_after: 7,
        messages_before: 0,
        messages_after: 1,
        conversations: vec![ConversationDiff {
            id: "main".to_owned(),
            tokens_before: 100,
            tokens_after: 7,
            messages_before: 0,
            messages_after: 1,
            rows: vec![summary(text)],
        }],
        outside: LineCounts::default(),
    };
    let policy = PolicyRef {
        name: "auto".to_owned(),
        hash: "0".to_owned(),
        overrides: Vec::new(),
    };
    let files = [file("old.jsonl"), file("new.jsonl")];
    DiffReport::new(policy, "classes", "anthropic", files, None, diff)
}

fn rendered(text: &str, format: ReportFormat) -> String {
    let mut out = Vec::new();
    report(text).render(format, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn a_fence_in_a_summary_ends_nothing() {
    let markdown = rendered("a\n`````\n</details>", ReportFormat::Markdown);
    assert!(
        markdown.contains("\n``````\na\n`````\n</details>\n``````\n"),
        "{markdown}"
    );
    let plain = rendered("a", ReportFormat::Markdown);
    assert!(plain.contains("\n```\na\n```\n"), "{plain}");
    assert!(crate::report::is_report(
        plain.as_bytes(),
        ReportFormat::Markdown
    ));
}

#[test]
fn a_cell_is_no_formula() {
    let csv = rendered("=1+1", ReportFormat::Csv(CsvRows::File));
    let row = csv.lines().nth(1).unwrap();
    assert_eq!(
        row,
        "new.jsonl,main,summary,,,1,1,user,\"'=cmd()\",0,7,,\"'=1+1\""
    );
    assert!(crate::report::is_report(
        csv.as_bytes(),
        ReportFormat::Csv(CsvRows::File)
    ));
}

#[test]
fn a_listing_is_lines_of_safe_text() {
    let listing = |ink| {
        let mut out = Vec::new();
        write_diff(&report("a\u{1b}[2J\n-b"), 80, ink, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    };
    let plain = listing(Ink::Plain);
    assert!(plain.contains("\n    + a\\u{1b}[2J\n    + -b\n"), "{plain}");
    assert!(
        plain.ends_with("100 → 7 tokens (−93.0%), 0 → 1 messages; anthropic, tokens by classes\n")
    );
    assert!(listing(Ink::Colour).contains("\u{1b}[32m    + a\\u{1b}[2J\u{1b}[0m\n"));
}

#[test]
fn a_change_is_a_share_of_what_was_there() {
    let shares = [(100, 50), (50, 100), (7, 7), (0, 5)].map(|(before, after)| share(before, after));
    assert_eq!(
        shares,
        ["−50.0%", "+100.0%", "the same", "no tokens before"]
    );
}

#[test]
fn a_line_is_a_number_to_copy() {
    let row = RowComparison {
        old: At {
            line: 1_267,
            message: 9,
        },
        role: Role::User,
        tools: Vec::new(),
        words: String::new(),
        tokens_before: 4_321,
        tokens_after: [4_321, 10],
        fates: [Fate::Kept, Fate::Cleared],
        reasons: [None, None],
        texts: Vec::new(),
    };
    let comparison = Comparison {
        tokens_before: 4_321,
        tokens_after: [4_321, 10],
        messages_after: [1, 1],
        conversations: vec![ConversationComparison {
            id: "main".to_owned(),
            tokens_before: 4_321,
            tokens_after: [4_321, 10],
            rows: vec![row],
            added: Vec::new(),
        }],
        lines: Vec::new(),
        first_byte: Some(1),
    };
    let policy = |name: &str| PolicyRef {
        name: name.to_owned(),
        hash: "0".to_owned(),
        overrides: Vec::new(),
    };
    let report = ComparisonReport::new(
        [policy("a"), policy("b")],
        "classes",
        "anthropic",
        Compared {
            path: "in.jsonl".to_owned(),
            hash: None,
            bytes: 1,
        },
        comparison,
    );
    let mut out = Vec::new();
    report.render(ReportFormat::Markdown, &mut out).unwrap();
    let markdown = String::from_utf8(out).unwrap();
    assert!(
        markdown.contains("<code>cleared</code> | 1267 | 4 321 | 4 321 | 10 |"),
        "{markdown}"
    );
}
