//! Reads an input: plain or compressed, hashed while reading, whole or line by line.
//!
//! Files are read, not mapped: a live writer may truncate them. Compressed inputs are recognised by their first bytes, not by
//! their names. All memory is taken from the run's budget first; for a compressed input, as it unpacks.

mod gauge;
#[cfg(unix)]
mod parts;

use std::fs::{File, Metadata};
use std::io::{self, Read, Write};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::budget::{Known, Reservation};
use super::{Source, Stdin};
use crate::error::{Error, ErrorKind, Result};
use crate::scan::LARGE;
use crate::store::FileIdentity;
use crate::store::atomic::FileVersion;
use crate::store::{ArchiveWriter, open_transcript};
use crate::threads;
use gauge::Gauge;

/// How a file is compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Codec {
    /// Not at all.
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

    /// How a file of this name is taken to be compressed.
    pub(super) fn of_name(path: &Path) -> Codec {
        let extension = path.extension().unwrap_or_default();
        if extension.eq_ignore_ascii_case("gz") {
            Codec::Gzip
        } else if extension.eq_ignore_ascii_case("zst") {
            Codec::Zstd
        } else {
            Codec::Plain
        }
    }
}

/// An open input.
pub(super) struct Input<'s> {
    path: &'s Path,
    reader: Box<dyn Read + 's>,
    /// The file that is read, if threads share the work on it; it has one position with the reader.
    large: Option<File>,
    stop: &'s AtomicUsize,
    gauge: Gauge<'s>,
    /// Text that was read but not yet taken.
    pub(super) buffer: Vec<u8>,
    at_end: bool,
    /// `None` if the hash is not needed.
    hasher: Option<blake3::Hasher>,
    bytes: u64,
    /// The length of a compressed input's text.
    unpacked: Option<u64>,
    /// The file's size when it was opened.
    size: Option<u64>,
    pub(super) codec: Codec,
    /// The state of the file when it was opened.
    pub(super) stamp: Option<FileVersion>,
    /// The same, as the next run compares it.
    pub(super) seen: Option<FileIdentity>,
    /// The bytes of a compressed file; empty for plain ones.
    pub(super) raw: Vec<u8>,
    /// Receives a copy of every byte that is read, if the original must be kept.
    pub(super) copy: Option<ArchiveWriter>,
}

/// Bytes to read at a time: enough for the hash to use the widest registers.
const CHUNK: u64 = 1 << 20;
/// Files up to this size, in bytes, get room for all of it before anything is read. Whether more of a larger one is needed is not
/// known yet.
const AT_ONCE: u64 = 64 << 20;
/// Extra room, in bytes, in which a reader sees the end of the input without growing the buffer itself.
const BEYOND: u64 = 64;
/// A compressed input may unpack to this many times its size, or to [`SMALL`].
const RATIO: u64 = 200;
const SMALL: u64 = 64 << 20;

impl<'s> Input<'s> {
    /// Opens an input and reads its beginning; a compressed one is read whole.
    ///
    /// # Errors
    /// If it cannot be opened or read, is not a regular file, or is too large.
    pub(super) fn open(
        source: &'s Source,
        path: &'s Path,
        stop: &'s AtomicUsize,
        share: Reservation<'s>,
    ) -> Result<Self> {
        match source {
            Source::Stdin => Input::of(Box::new(Stdin::open(stop)?), None, path, stop, share),
            Source::File(_) => Input::of_file(open_transcript(path)?, path, stop, share),
        }
    }

    /// The same for a file that is open.
    ///
    /// # Errors
    /// If it cannot be read, or is too large.
    pub(super) fn of_file(
        (file, metadata): (File, Metadata),
        path: &'s Path,
        stop: &'s AtomicUsize,
        share: Reservation<'s>,
    ) -> Result<Self> {
        // Taken before anything is read, because a compressed input is unpacked as a whole.
        let seen = FileIdentity::of_input(path, &metadata).settled();
        // Without a second handle, the file is read in one piece.
        let is_large = metadata.len() >= LARGE as u64 && threads::can_share();
        let large = is_large.then(|| file.try_clone().ok()).flatten();
        let mut input = Input::of(Box::new(file), Some(metadata.len()), path, stop, share)?;
        input.stamp = Some(FileVersion::of(&metadata));
        input.seen = Some(seen);
        input.large = large;
        Ok(input)
    }

    /// The same for the bytes of a file, in memory; errors name `path`.
    ///
    /// # Errors
    /// If it cannot be unpacked, or is too large.
    pub(super) fn of_bytes(
        bytes: &'s [u8],
        path: &'s Path,
        stop: &'s AtomicUsize,
        share: Reservation<'s>,
    ) -> Result<Self> {
        let size = Some(bytes.len() as u64);
        Input::of(Box::new(bytes), size, path, stop, share)
    }

    fn of(
        reader: Box<dyn Read + 's>,
        size: Option<u64>,
        path: &'s Path,
        stop: &'s AtomicUsize,
        share: Reservation<'s>,
    ) -> Result<Self> {
        let mut input = Input {
            path,
            reader,
            large: None,
            stop,
            gauge: Gauge::new(share, size.map_or(Known::Stream, |_| Known::Content)),
            buffer: Vec::new(),
            at_end: false,
            hasher: Some(blake3::Hasher::new()),
            bytes: 0,
            unpacked: None,
            size,
            codec: Codec::Plain,
            stamp: None,
            seen: None,
            raw: Vec::new(),
            copy: None,
        };
        if input.gauge.share.budget().limits().file_bytes.is_some() {
            input.admit()?;
        }
        if let Some(size) = size.filter(|size| *size <= AT_ONCE) {
            // A buffer that grows later is copied.
            input.reserve(size)?;
        }
        let new = input.fill()?;
        input.codec = Codec::of(&input.buffer);
        match input.codec {
            Codec::Plain => input.measure(new)?,
            Codec::Gzip | Codec::Zstd => input.decode()?,
        }
        Ok(input)
    }

    /// Reads a compressed file to its end and unpacks it.
    fn decode(&mut self) -> Result<()> {
        self.gauge.known = Known::Unpacked;
        if let Some(size) = self.size {
            let left = size.saturating_sub(self.bytes);
            self.reserve(left)?;
        }
        while !self.at_end {
            self.fill()?;
            let held = self.gauge.hold(self.buffer.len() as u64);
            held.map_err(|error| error.at(self.path))?;
        }
        let raw = std::mem::take(&mut self.buffer);
        let packed = raw.len() as u64;
        let most = (packed * RATIO).max(SMALL);
        let mut decoder: Box<dyn Read + '_> = match self.codec {
            Codec::Plain => return Ok(()),
            Codec::Gzip => Box::new(flate2::read::MultiGzDecoder::new(raw.as_slice())),
            Codec::Zstd => Box::new(
                zstd::stream::read::Decoder::new(raw.as_slice())
                    .map_err(|e| broken(self.path, &e))?,
            ),
        };
        loop {
            self.go_on()?;
            self.reserve(CHUNK)?;
            let start = self.buffer.len();
            let read = decoder.by_ref().take(CHUNK).read_to_end(&mut self.buffer);
            read.map_err(|e| broken(self.path, &e))?;
            let new = &self.buffer[start..];
            if new.is_empty() {
                break;
            }
            let measured = self.gauge.add(new, packed);
            measured.map_err(|error| error.at(self.path))?;
            if self.buffer.len() as u64 > most {
                return Err(Error::new(
                    ErrorKind::Decode,
                    format!("unpacks to more than {RATIO} times its size"),
                )
                .at(self.path)
                .hint("unpack it yourself if you trust it"));
            }
        }
        drop(decoder);
        self.unpacked = Some(self.buffer.len() as u64);
        self.raw = raw;
        Ok(())
    }

    /// Reads more into the buffer; `false` at the end.
    pub(super) fn more(&mut self) -> Result<bool> {
        if self.at_end {
            return Ok(false);
        }
        let new = self.fill()?;
        self.measure(new)?;
        Ok(new > 0)
    }

    /// Reads the rest of the input into the buffer.
    ///
    /// # Errors
    /// [`ErrorKind::TooLarge`] if there is not enough memory.
    pub(super) fn rest(&mut self) -> Result<()> {
        self.make_room()?;
        self.read_parts()?;
        while self.more()? {}
        self.gauge.settle(self.raw.len() as u64);
        Ok(())
    }

    /// Whether the rest is best read at once, because several threads can read it.
    pub(super) fn is_large(&self) -> bool {
        cfg!(unix) && self.large.is_some() && self.codec == Codec::Plain
    }

    /// Reads what is left of a large file into the room for it, except for what is left if the file changes meanwhile.
    #[cfg(unix)]
    fn read_parts(&mut self) -> Result<()> {
        use std::io::{Seek, SeekFrom};

        let (Some(mut file), Some(size)) = (self.large.take(), self.size) else {
            return Ok(());
        };
        if self.codec != Codec::Plain || self.copy.is_some() {
            return Ok(());
        }
        let Input {
            path,
            stop,
            gauge,
            buffer,
            hasher,
            bytes,
            ..
        } = self;
        let left = usize::try_from(size.saturating_sub(*bytes)).unwrap_or(usize::MAX);
        let room = left.min(buffer.capacity() - buffer.len());
        let read = parts::read(
            (&file, path, *bytes),
            &mut buffer.spare_capacity_mut()[..room],
            |new, measure| {
                go_on(stop)?;
                let measured = gauge.add_measured(new, measure, 0);
                measured.map_err(|error| error.at(*path))
            },
            |new| {
                if let Some(hasher) = hasher {
                    hasher.update(new);
                }
            },
        )?;
        let len = buffer.len() + read;
        // SAFETY: `parts::read` has filled the first `read` bytes of the spare capacity.
        #[allow(unsafe_code)]
        unsafe {
            buffer.set_len(len);
        }
        *bytes += read as u64;
        let at = SeekFrom::Start(*bytes);
        file.seek(at).map_err(|e| Error::io(path, "read", e))?;
        Ok(())
    }

    /// The same where files are read from front to back only.
    #[cfg(not(unix))]
    fn read_parts(&mut self) -> Result<()> {
        self.large = None;
        Ok(())
    }

    /// Reserves room for the rest.
    ///
    /// # Errors
    /// As for [`Input::rest`].
    pub(super) fn make_room(&mut self) -> Result<()> {
        self.admit()?;
        match self.size {
            // A single allocation for the whole file: growing the buffer would copy it and temporarily take twice the memory.
            Some(size) if !self.at_end => self.reserve(size.saturating_sub(self.bytes)),
            Some(_) | None => Ok(()),
        }
    }

    /// Fails if the file is too large to be held in memory.
    fn admit(&self) -> Result<()> {
        match (self.codec, self.size) {
            // A compressed file has already been unpacked within the budget.
            (Codec::Plain, Some(size)) if !self.gauge.share.budget().admits(size) => {
                let error = self.gauge.share.budget().too_large(Known::File(size));
                Err(error.at(self.path))
            }
            (Codec::Plain | Codec::Gzip | Codec::Zstd, _) => Ok(()),
        }
    }

    /// Removes the first bytes of the buffer, which were used.
    pub(super) fn pass(&mut self, bytes: usize) {
        self.gauge
            .pass(&self.buffer[..bytes], &self.buffer[bytes..]);
        self.buffer.drain(..bytes);
    }

    /// Reserves room for `bytes` bytes, or fails: one file must not stop the others.
    fn reserve(&mut self, bytes: u64) -> Result<()> {
        let room = usize::try_from(bytes.saturating_add(BEYOND)).unwrap_or(usize::MAX);
        let reserved = self.buffer.try_reserve(room);
        reserved.map_err(|_| self.gauge.share.refused().at(self.path))
    }

    /// Fails if the run was stopped.
    pub(super) fn go_on(&self) -> Result<()> {
        go_on(self.stop)
    }

    /// Reads the next raw bytes of the input; returns how many.
    fn fill(&mut self) -> Result<usize> {
        self.go_on()?;
        // No more than is left: the buffer has room for that, and is copied if it grows.
        let left = self.size.map(|size| size.saturating_sub(self.bytes));
        self.reserve(left.map_or(CHUNK, |left| left.min(CHUNK)))?;
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
        if let Some(hasher) = &mut self.hasher {
            hasher.update(new);
        }
        self.bytes += new.len() as u64;
        if let Some(copy) = &mut self.copy {
            copy.write_all(new)
                .map_err(|e| Error::io(self.path, "keep a copy", e))?;
        }
        // Fewer than asked for: `read_to_end` has seen the end.
        self.at_end = (new.len() as u64) < CHUNK;
        Ok(new.len())
    }

    /// Measures the last `new` bytes of the buffer.
    fn measure(&mut self, new: usize) -> Result<()> {
        let new = &self.buffer[self.buffer.len() - new..];
        let measured = self.gauge.add(new, 0);
        measured.map_err(|error| error.at(self.path))
    }

    /// The raw bytes that were read when the input was opened: all of them if it is compressed.
    pub(super) fn so_far(&self) -> &[u8] {
        match self.codec {
            Codec::Plain => &self.buffer,
            Codec::Gzip | Codec::Zstd => &self.raw,
        }
    }

    /// All bytes of the input as it is stored, if they are still in memory.
    pub(super) fn whole(&self) -> Option<&[u8]> {
        let so_far = self.so_far();
        (self.at_end && so_far.len() as u64 == self.bytes).then_some(so_far)
    }

    /// Whether the whole input is in the buffer.
    pub(super) fn is_at_end(&self) -> bool {
        self.at_end
    }

    /// The length of the text, once everything has been read.
    pub(super) fn text_bytes(&self) -> u64 {
        self.unpacked.unwrap_or(self.bytes)
    }

    /// The length of the input as it is stored, if it is compressed.
    pub(super) fn stored_bytes(&self) -> Option<u64> {
        self.unpacked.map(|_| self.bytes)
    }

    /// The hash and the number of the file's bytes, once all were read.
    pub(super) fn hash(&self) -> (String, u64) {
        let hash = self.hasher.as_ref().map(blake3::Hasher::finalize);
        let hash = hash.map_or_else(String::new, |hash| format!("blake3:{}", hash.to_hex()));
        (hash, self.bytes)
    }

    /// Declares that the hash will not be needed.
    pub(super) fn leave_unhashed(&mut self) {
        self.hasher = None;
    }
}

/// Fails if the run was stopped.
fn go_on(stop: &AtomicUsize) -> Result<()> {
    match stop.load(Ordering::Relaxed) {
        0 => Ok(()),
        _ => Err(Error::new(ErrorKind::Interrupted, "interrupted")),
    }
}

fn broken(path: &Path, error: &io::Error) -> Error {
    Error::new(ErrorKind::Decode, format!("cannot unpack: {error}"))
        .at(path)
        .hint("the file is damaged, or was still being written")
}
