//! Reads a file as text: a compressed file is unpacked, piece by piece.
//!
//! Compression is recognised by the first bytes, never by the name. Has no limits: the caller decides how much it reads.

use std::io::{self, BufRead, BufReader, Read};

/// The text of a file that may be compressed with gzip or Zstandard.
///
/// # Errors
/// Those of the reader; for a damaged file, they occur while its text is read.
pub fn unpacked(file: impl Read + 'static) -> io::Result<Box<dyn Read>> {
    let mut file = BufReader::new(file);
    Ok(match file.fill_buf()? {
        [0x1f, 0x8b, ..] => Box::new(flate2::bufread::MultiGzDecoder::new(file)),
        [0x28, 0xb5, 0x2f, 0xfd, ..] => Box::new(zstd::Decoder::with_buffer(file)?),
        _ => Box::new(file),
    })
}
