//! Reports as JSON: the contract that scripts read.
//!
//! Streams to the writer; never builds the text in memory. What could steer a terminal is escaped.

use std::io::{self, BufWriter, Write};

use serde::Serialize;

use crate::text::PrintableJson;

/// Writes one indented object, and a line end after it.
pub(super) fn write_pretty(report: &impl Serialize, out: &mut dyn Write) -> io::Result<()> {
    let mut text = in_pieces(out);
    serde_json::to_writer_pretty(&mut text, report)?;
    text.write_all(b"\n")?;
    done(text)
}

/// Writes one object on one line.
pub(super) fn write_line(report: &impl Serialize, out: &mut dyn Write) -> io::Result<()> {
    let mut text = in_pieces(out);
    serde_json::to_writer(&mut text, report)?;
    text.write_all(b"\n")?;
    done(text)
}

/// Hands over what is left; whether `out` is flushed is its owner's affair.
fn done(text: BufWriter<PrintableJson<&mut dyn Write>>) -> io::Result<()> {
    text.into_inner()
        .map(drop)
        .map_err(io::IntoInnerError::into_error)
}

/// Collects what is written, so that it is looked at in pieces of some length: a serialiser writes a few bytes at a time. No write
/// is split, so that each piece has whole characters.
fn in_pieces(out: &mut dyn Write) -> BufWriter<PrintableJson<&mut dyn Write>> {
    /// Most pieces are ASCII, which is passed on at once.
    const PIECE: usize = 4 << 10;
    BufWriter::with_capacity(PIECE, PrintableJson(out))
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
