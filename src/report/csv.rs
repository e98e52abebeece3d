//! The report as CSV: a header and one row an input, or an action, for spreadsheets and data frames.
//!
//! Quoted as in RFC 4180, with `\n` as the line end. A record is always one line: control characters are made
//! visible (the JSON report has the exact text). Never writes a text cell that a spreadsheet would run as a formula.

use std::io::{self, Write};

use super::Report;
use super::columns::{self, Cell};
use crate::text::printable;

/// Writes the header and the rows.
pub(super) fn write(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    let header: Vec<String> = columns::all().flat_map(|column| column.names()).collect();
    writeln!(out, "{}", header.join(","))?;
    for outcome in report.files() {
        let cells = columns::all().flat_map(|column| column.cells(outcome));
        let cells = cells.map(|cell| match cell {
            Cell::Text(value) => text(&value),
            Cell::Number(digits) => digits,
        });
        writeln!(out, "{}", cells.collect::<Vec<_>>().join(","))?;
    }
    Ok(())
}

/// The same with a row for each action: what was done to which message, and why.
pub(super) fn write_actions(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    writeln!(
        out,
        "input,conversation,kind,line,message,tool,reason,tokens_before,tokens_after"
    )?;
    for outcome in report.files() {
        for conversation in &outcome.conversations {
            for action in &conversation.actions {
                writeln!(
                    out,
                    "{},{},{},{},{},{},{},{},{}",
                    text(&outcome.input),
                    text(&conversation.id),
                    action.kind,
                    action.line,
                    action.message,
                    text(action.tool.as_deref().unwrap_or_default()),
                    text(&action.reason),
                    action.tokens_before,
                    action.tokens_after
                )?;
            }
        }
    }
    Ok(())
}

/// A text cell. Not for numbers, which may begin with a minus sign.
pub(crate) fn text(value: &str) -> String {
    // Spreadsheets run a cell that begins so as a formula, even a quoted one; the apostrophe makes it text.
    let formula = value.starts_with(['=', '+', '-', '@', '\t', '\r']);
    let shown = printable(value);
    if !formula && !shown.contains([',', '"']) {
        return shown.into_owned();
    }
    let guard = if formula { "'" } else { "" };
    format!("\"{guard}{}\"", shown.replace('"', "\"\""))
}
