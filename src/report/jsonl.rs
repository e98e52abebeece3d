//! The report as JSON lines: one a transcript, as it is finished, and a last one for the run.
//!
//! The one format that a batch can write while it works, so its two kinds of line are public. Never sorts.

use std::io::{self, Write};

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

/// Writes one input's line.
pub fn write_file(outcome: &Outcome, out: &mut dyn Write) -> io::Result<()> {
    write_line(outcome, out)
}

/// Writes the last line. It alone has the key `totals`.
pub fn write_totals(head: &Head, out: &mut dyn Write) -> io::Result<()> {
    write_line(head, out)
}
