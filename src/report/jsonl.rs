//! The report as JSON lines: one a transcript, as it is finished, and a last one for the run.
//!
//! The one format that a batch can write while it works, so its two kinds of line are public. Never sorts.

use std::io::{self, Write};

use serde::Serialize;

use super::json::write_line;
use super::{Head, Report};
use crate::outcome::Outcome;

/// Writes the whole report.
pub(super) fn write(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    for file in report.files() {
        write_file(file, out)?;
    }
    write_totals(report.head(), out)
}

/// Writes a line for each of `files` and a last one, for reports of any command.
pub(super) fn write_lines<T: Serialize>(
    files: &[T],
    last: &impl Serialize,
    out: &mut dyn Write,
) -> io::Result<()> {
    for file in files {
        write_line(file, out)?;
    }
    write_line(last, out)
}

/// Writes one input's line.
pub fn write_file(outcome: &Outcome, out: &mut dyn Write) -> io::Result<()> {
    write_line(outcome, out)
}

/// Writes the last line. It alone has the key `totals`.
pub fn write_totals(head: &Head, out: &mut dyn Write) -> io::Result<()> {
    write_line(head, out)
}
