//! The report as CSV: a header and one row an input, for spreadsheets and data frames.
//!
//! Quoted as in RFC 4180, with `\n` as the line end. A record is always one line: control characters are made
//! visible (the JSON report has the exact text). Never writes a text cell that a spreadsheet would run as a formula.

use std::io::{self, Write};

use super::Report;
use crate::outcome::{Outcome, OutcomeError, ratio};
use crate::text::printable;

/// A column's name, and what makes its cell for an input.
struct Column(&'static str, fn(&Outcome) -> String);

const COLUMNS: [Column; 23] = [
    Column("input", |o| text(&o.input)),
    Column("output", |o| optional(o.output.as_deref())),
    Column("format", |o| optional(o.format.as_deref())),
    Column("status", |o| o.status.to_string()),
    Column("error_kind", |o| fault(o, |e| e.kind.to_string())),
    Column("error_line", |o| {
        fault(o, |e| e.line.map(|n| n.to_string()).unwrap_or_default())
    }),
    Column("error_message", |o| fault(o, |e| text(&e.message))),
    Column("original", |o| {
        optional(o.original.as_ref().map(|original| original.path.as_str()))
    }),
    Column("findings_before", |o| o.findings_before.to_string()),
    Column("findings_after", |o| o.findings_after.to_string()),
    Column("hash_before", |o| optional(o.hash_before.as_deref())),
    Column("hash_after", |o| optional(o.hash_after.as_deref())),
    Column("bytes_before", |o| o.bytes_before.to_string()),
    Column("bytes_after", |o| o.bytes_after.to_string()),
    Column("tokens_before", |o| o.tokens_before().to_string()),
    Column("tokens_after", |o| o.tokens_after().to_string()),
    Column("ratio", |o| {
        format!("{:.4}", ratio(o.tokens_before(), o.tokens_after()))
    }),
    Column("messages_before", |o| o.messages_before().to_string()),
    Column("messages_after", |o| o.messages_after().to_string()),
    Column("conversations", |o| o.conversations.len().to_string()),
    Column("actions", |o| {
        o.conversations
            .iter()
            .map(|c| c.actions.len())
            .sum::<usize>()
            .to_string()
    }),
    Column("degraded", |o| {
        let kinds: Vec<&str> = o.degraded.iter().map(|d| d.kind.name()).collect();
        kinds.join(" ")
    }),
    Column("warnings", |o| o.warnings.len().to_string()),
];

/// Writes the header and the rows.
pub(super) fn write(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "{}", COLUMNS.map(|Column(name, _)| name).join(","))?;
    for outcome in report.files() {
        writeln!(
            out,
            "{}",
            COLUMNS.map(|Column(_, cell)| cell(outcome)).join(",")
        )?;
    }
    Ok(())
}

fn optional(value: Option<&str>) -> String {
    value.map(text).unwrap_or_default()
}

fn fault(outcome: &Outcome, part: fn(&OutcomeError) -> String) -> String {
    outcome.error.as_ref().map(part).unwrap_or_default()
}

/// A text cell. Numbers do not come here, so that a minus sign in front of one would stay a minus sign.
pub(super) fn text(value: &str) -> String {
    // Spreadsheets run a cell that begins so as a formula, even a quoted one; the apostrophe makes it text.
    let formula = value.starts_with(['=', '+', '-', '@', '\t', '\r']);
    let shown = printable(value);
    if !formula && !shown.contains([',', '"']) {
        return shown.into_owned();
    }
    let guard = if formula { "'" } else { "" };
    format!("\"{guard}{}\"", shown.replace('"', "\"\""))
}
