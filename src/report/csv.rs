//! Reports as CSV: a header and rows, for spreadsheets and data frames.
//!
//! Quoted as in RFC 4180, with `\n` as the line ending. A record is always one line: control characters are made visible (the JSON
//! report has the exact text). Never writes a text cell that a spreadsheet would run as a formula.

use std::borrow::Borrow;
use std::io::{self, Write};

use super::column::{Cell, Column};
use crate::text::printable;

/// The header line.
pub(super) fn header<R>(columns: &[Column<R>]) -> String {
    let names: Vec<String> = columns.iter().flat_map(Column::names).collect();
    names.join(",")
}

/// Writes the header and the rows.
pub(super) fn write<R>(
    columns: &[Column<R>],
    rows: impl IntoIterator<Item = impl Borrow<R>>,
    out: &mut dyn Write,
) -> io::Result<()> {
    writeln!(out, "{}", header(columns))?;
    write_rows(columns, rows, out)
}

/// Writes rows without a header.
pub(super) fn write_rows<R>(
    columns: &[Column<R>],
    rows: impl IntoIterator<Item = impl Borrow<R>>,
    out: &mut dyn Write,
) -> io::Result<()> {
    for row in rows {
        let cells = columns.iter().flat_map(|column| column.cells(row.borrow()));
        let cells = cells.map(|cell| match cell {
            Cell::Text(value) => text(&value),
            Cell::Number(digits) => digits,
        });
        writeln!(out, "{}", cells.collect::<Vec<_>>().join(","))?;
    }
    Ok(())
}

/// A text cell. Not for numbers, which may begin with a minus sign.
pub(crate) fn text(value: &str) -> String {
    // Spreadsheets run a cell that begins like this as a formula, even if it is quoted; the apostrophe makes it text.
    let formula = value.starts_with(['=', '+', '-', '@', '\t', '\r']);
    let shown = printable(value);
    if !formula && !shown.contains([',', '"']) {
        return shown.into_owned();
    }
    let guard = if formula { "'" } else { "" };
    format!("\"{guard}{}\"", shown.replace('"', "\"\""))
}
