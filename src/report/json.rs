//! Reports as JSON: the contract that scripts read.
//!
//! Streams to the writer; never builds the text in memory. What could steer a terminal is escaped.

use std::io::{self, Write};

use serde::Serialize;

use crate::text::PrintableJson;

/// Writes one indented object, and a line end after it.
pub(super) fn write_pretty(report: &impl Serialize, out: &mut dyn Write) -> io::Result<()> {
    serde_json::to_writer_pretty(PrintableJson(&mut *out), report)?;
    out.write_all(b"\n")
}

/// Writes one object on one line.
pub(super) fn write_line(report: &impl Serialize, out: &mut dyn Write) -> io::Result<()> {
    serde_json::to_writer(PrintableJson(&mut *out), report)?;
    out.write_all(b"\n")
}

/// Writes a line for each of `files` and a last one for all.
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
