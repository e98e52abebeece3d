//! The report as one indented JSON object: the contract that scripts read.
//!
//! Streams to the writer; never builds the text in memory.

use std::io::{self, Write};

use super::Report;

/// Writes the report, and a line end after it.
pub(super) fn write(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *out, report)?;
    out.write_all(b"\n")
}
