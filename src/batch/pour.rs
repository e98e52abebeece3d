//! Copies text from an input to an output: unchanged, line by line, or with the input's compression.

use std::io::Write;

use super::input::{Codec, Input};
use super::sink::Sink;
use crate::error::Result;
use crate::format::Warnings;
use crate::scan::lines;

/// Copies an input unchanged.
pub(super) fn copy(input: &mut Input<'_>, sink: &mut Sink<'_>) -> Result<()> {
    if input.codec != Codec::Plain {
        return sink.put(&input.raw);
    }
    loop {
        sink.put(&input.buffer)?;
        input.pass(input.buffer.len());
        if !input.more()? {
            return Ok(());
        }
    }
}

/// Reads the lines of a conversation-per-line file; never holds more than the longest of them in memory.
pub(super) fn each_line(
    input: &mut Input<'_>,
    output: &mut Output<'_, '_>,
    warnings: &mut Warnings,
    mut each: impl FnMut(&[u8], u64, &mut Output<'_, '_>, &mut Warnings) -> Result<()>,
) -> Result<()> {
    let mut number = 0;
    loop {
        let whole = match memchr::memrchr(b'\n', &input.buffer) {
            _ if input.is_at_end() || input.codec != Codec::Plain => input.buffer.len(),
            Some(n) => n + 1,
            None => 0,
        };
        let mut done = 0;
        for raw in lines(&input.buffer[..whole]) {
            number += 1;
            let end = raw.end + raw.eol.bytes().len();
            each(&input.buffer[done..end], number, output, warnings)?;
            done = end;
        }
        output.put(&input.buffer[done..whole])?;
        input.pass(whole);
        if !input.more()? && input.buffer.is_empty() {
            return Ok(());
        }
    }
}

/// Where the lines of a conversation-per-line file go.
pub(super) enum Output<'o, 's> {
    /// Written immediately.
    Now(&'o mut Sink<'s>),
    /// Kept until all are known: an unchanged compressed input is copied byte for byte.
    Later(Vec<u8>),
}

impl Output<'_, '_> {
    /// Adds text.
    pub(super) fn put(&mut self, bytes: &[u8]) -> Result<()> {
        match self {
            Output::Now(sink) => sink.put(bytes),
            Output::Later(text) => {
                text.extend_from_slice(bytes);
                Ok(())
            }
        }
    }
}

/// Writes `pieces` in the input's own compression.
pub(super) fn pack<'p>(
    mut pieces: impl Iterator<Item = &'p [u8]>,
    codec: Codec,
    sink: &mut Sink<'_>,
) -> Result<()> {
    let packed = match codec {
        Codec::Plain => return pieces.try_for_each(|piece| sink.put(piece)),
        Codec::Gzip => {
            let mut encoder =
                flate2::write::GzEncoder::new(&mut *sink, flate2::Compression::default());
            pieces
                .try_for_each(|piece| encoder.write_all(piece))
                .and_then(|()| encoder.finish().map(drop))
        }
        Codec::Zstd => zstd::stream::write::Encoder::new(&mut *sink, 3).and_then(|mut encoder| {
            pieces
                .try_for_each(|piece| encoder.write_all(piece))
                .and_then(|()| encoder.finish().map(drop))
        }),
    };
    packed.map_err(|e| sink.failed(&e))
}
