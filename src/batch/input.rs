//! An input being read: plain or compressed, hashed on the way, whole or a line at a time.
//!
//! Files are read, not mapped: a live writer may cut them short. Compressed inputs are told by their first bytes, not by
//! their names, and stop at a limit, so that a small file cannot fill the memory.

use std::io::{self, Read, Write};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::{Source, Stdin};
use crate::error::{Error, ErrorKind, Result};
use crate::store::atomic::Stamp;
use crate::store::{ArchiveWriter, open_transcript};

/// How a file's bytes hold its text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Codec {
    /// As they are.
    Plain,
    /// gzip, possibly several members.
    Gzip,
    /// Zstandard frames.
    Zstd,
}

impl Codec {
    fn of(start: &[u8]) -> Codec {
        match start {
            [0x1f, 0x8b, ..] => Codec::Gzip,
            [0x28, 0xb5, 0x2f, 0xfd, ..] => Codec::Zstd,
            _ => Codec::Plain,
        }
    }
}

/// An open input.
pub(super) struct Input<'s> {
    path: &'s Path,
    reader: Box<dyn Read + 's>,
    stop: &'s AtomicUsize,
    /// Text that was read and not yet taken.
    pub(super) buffer: Vec<u8>,
    at_end: bool,
    hasher: blake3::Hasher,
    bytes: u64,
    pub(super) codec: Codec,
    /// The file as it was when it was opened.
    pub(super) stamp: Option<Stamp>,
    /// A compressed file as it stands; empty for plain ones.
    pub(super) raw: Vec<u8>,
    /// Gets a copy of every byte that is read from now on, where the original must be kept.
    pub(super) copy: Option<ArchiveWriter>,
}

/// So much is read at a time: enough for the hash to use the widest registers.
const CHUNK: u64 = 1 << 20;
/// A compressed input may grow to so many times its size, or to [`SMALL`].
const RATIO: u64 = 200;
const SMALL: u64 = 64 << 20;

impl<'s> Input<'s> {
    /// Opens an input and reads its beginning.
    ///
    /// # Errors
    /// Where it cannot be opened or read, or is no regular file.
    pub(super) fn open(source: &'s Source, path: &'s Path, stop: &'s AtomicUsize) -> Result<Self> {
        let (reader, size, stamp): (Box<dyn Read + 's>, _, _) = match source {
            Source::Stdin => (Box::new(Stdin::open(stop)?), 0, None),
            Source::File(_) => {
                let (file, metadata) = open_transcript(path)?;
                (Box::new(file), metadata.len(), Some(Stamp::of(&metadata)))
            }
        };
        let mut input = Input {
            path,
            reader,
            stop,
            buffer: Vec::new(),
            at_end: false,
            hasher: blake3::Hasher::new(),
            bytes: 0,
            codec: Codec::Plain,
            stamp,
            raw: Vec::new(),
            copy: None,
        };
        // One allocation for the whole file: growing would copy it, and hold it twice while it does.
        input
            .buffer
            .reserve_exact(usize::try_from(size).unwrap_or(0).saturating_add(1));
        input.more()?;
        input.codec = Codec::of(&input.buffer);
        if input.codec != Codec::Plain {
            input.decode()?;
        }
        Ok(input)
    }

    /// Reads a compressed file to its end and unpacks it.
    fn decode(&mut self) -> Result<()> {
        while self.more()? {}
        self.raw = std::mem::take(&mut self.buffer);
        let limit = (self.raw.len() as u64 * RATIO).max(SMALL);
        let mut decoder: Box<dyn Read + '_> = match self.codec {
            Codec::Plain => return Ok(()),
            Codec::Gzip => Box::new(flate2::read::MultiGzDecoder::new(self.raw.as_slice())),
            Codec::Zstd => Box::new(
                zstd::stream::read::Decoder::new(self.raw.as_slice())
                    .map_err(|e| broken(self.path, &e))?,
            ),
        };
        let mut text = Vec::new();
        decoder
            .by_ref()
            .take(limit + 1)
            .read_to_end(&mut text)
            .map_err(|e| broken(self.path, &e))?;
        drop(decoder);
        if text.len() as u64 > limit {
            return Err(Error::new(
                ErrorKind::Decode,
                format!("unpacks to more than {RATIO} times its size"),
            )
            .at(self.path)
            .hint("unpack it yourself if you trust it"));
        }
        self.buffer = text;
        Ok(())
    }

    /// Reads more into the buffer; `false` at the end.
    pub(super) fn more(&mut self) -> Result<bool> {
        if self.at_end {
            return Ok(false);
        }
        if self.stop.load(Ordering::Relaxed) != 0 {
            return Err(Error::new(ErrorKind::Interrupted, "interrupted"));
        }
        let start = self.buffer.len();
        let read = self
            .reader
            .by_ref()
            .take(CHUNK)
            .read_to_end(&mut self.buffer);
        read.map_err(|e| match self.stop.load(Ordering::Relaxed) {
            0 => Error::io(self.path, "read", e),
            _ => Error::new(ErrorKind::Interrupted, "interrupted"),
        })?;
        let new = &self.buffer[start..];
        self.hasher.update(new);
        self.bytes += new.len() as u64;
        if let Some(copy) = &mut self.copy {
            copy.write_all(new)
                .map_err(|e| Error::io(self.path, "keep a copy", e))?;
        }
        // Less than was asked for, or nothing: `read_to_end` has seen the end.
        self.at_end = (new.len() as u64) < CHUNK;
        Ok(!new.is_empty())
    }

    /// The input's own bytes, as far as they were read while it was opened: all of them if it is compressed.
    pub(super) fn so_far(&self) -> &[u8] {
        match self.codec {
            Codec::Plain => &self.buffer,
            Codec::Gzip | Codec::Zstd => &self.raw,
        }
    }

    /// Whether everything is in the buffer.
    pub(super) fn is_at_end(&self) -> bool {
        self.at_end
    }

    /// The hash of the file's bytes and their number, once all is read.
    pub(super) fn hash(&self) -> (String, u64) {
        (
            format!("blake3:{}", self.hasher.finalize().to_hex()),
            self.bytes,
        )
    }
}

fn broken(path: &Path, error: &io::Error) -> Error {
    Error::new(ErrorKind::Decode, format!("cannot unpack: {error}"))
        .at(path)
        .hint("the file is damaged, or was still being written")
}
