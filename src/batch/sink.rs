//! Where an output's bytes go: a file that is renamed at the end, standard output, memory, or nowhere.

use std::io::{self, BufWriter, Stdout, Write};
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::error::{Error, ErrorKind, Result};
use crate::store::atomic::{AtomicWriter, Written};

/// An output being written.
pub(super) struct Sink<'s> {
    to: To<'s>,
    stop: &'s AtomicUsize,
}

enum To<'s> {
    File(Box<AtomicWriter>),
    Stdout(BufWriter<Stdout>, Tally),
    Memory(&'s mut Vec<u8>, Tally),
    Nothing(Tally),
}

/// Hash and length of what was written.
#[derive(Default)]
struct Tally {
    hasher: blake3::Hasher,
    bytes: u64,
}

impl Tally {
    fn add(&mut self, bytes: &[u8]) {
        self.hasher.update(bytes);
        self.bytes += bytes.len() as u64;
    }

    fn written(&self) -> Written {
        Written {
            hash: format!("blake3:{}", self.hasher.finalize().to_hex()),
            bytes: self.bytes,
        }
    }
}

impl<'s> Sink<'s> {
    /// A sink to a file.
    pub(super) fn file(replace: AtomicWriter, stop: &'s AtomicUsize) -> Self {
        Sink {
            to: To::File(Box::new(replace)),
            stop,
        }
    }

    /// A sink to standard output.
    pub(super) fn stdout(stop: &'s AtomicUsize) -> Self {
        Sink {
            to: To::Stdout(
                BufWriter::with_capacity(1 << 16, io::stdout()),
                Tally::default(),
            ),
            stop,
        }
    }

    /// A sink to memory, which appends to what is there.
    pub(super) fn memory(bytes: &'s mut Vec<u8>, stop: &'s AtomicUsize) -> Self {
        Sink {
            to: To::Memory(bytes, Tally::default()),
            stop,
        }
    }

    /// A sink that only counts the bytes.
    pub(super) fn nothing(stop: &'s AtomicUsize) -> Self {
        Sink {
            to: To::Nothing(Tally::default()),
            stop,
        }
    }

    /// Whether the bytes go to memory.
    pub(super) fn is_memory(&self) -> bool {
        match self.to {
            To::Memory(..) => true,
            To::File(_) | To::Stdout(..) | To::Nothing(_) => false,
        }
    }

    /// The hash and length of what was written so far.
    pub(super) fn written(&mut self) -> Result<Written> {
        match &mut self.to {
            To::File(replace) => replace.written(),
            To::Stdout(_, tally) | To::Memory(_, tally) | To::Nothing(tally) => Ok(tally.written()),
        }
    }

    /// Flushes the bytes to the disk.
    pub(super) fn sync(&mut self) -> Result<()> {
        match &mut self.to {
            To::File(replace) => replace.sync(),
            To::Stdout(..) | To::Memory(..) | To::Nothing(_) => Ok(()),
        }
    }

    /// Ends the output; a file gets its name now. Returns the attributes that could not be copied from the old file.
    pub(super) fn commit(mut self) -> Result<Vec<String>> {
        let flushed = self.flush();
        flushed.map_err(|e| self.failed(&e))?;
        match self.to {
            To::File(replace) => replace.commit().map(|done| done.lost),
            To::Stdout(..) | To::Memory(..) | To::Nothing(_) => Ok(Vec::new()),
        }
    }

    /// Writes all of `bytes`, and checks for a signal in between.
    pub(super) fn put(&mut self, bytes: &[u8]) -> Result<()> {
        bytes
            .chunks(BYTES_PER_SIGNAL_CHECK)
            .try_for_each(|chunk| self.write_all(chunk))
            .map_err(|e| self.failed(&e))
    }

    /// Writes all `pieces` of a large output; those of a file are hashed by an idle thread meanwhile.
    pub(super) fn put_large<'p, I: Iterator<Item = &'p [u8]>>(
        &mut self,
        pieces: impl Fn() -> I + Sync,
    ) -> Result<()> {
        let To::File(replace) = &mut self.to else {
            return pieces().try_for_each(|piece| self.put(piece));
        };
        let goes_on = || self.stop.load(Ordering::Relaxed) == 0;
        let chunks = || {
            let chunks = pieces().flat_map(|piece| piece.chunks(BYTES_PER_SIGNAL_CHECK));
            chunks.take_while(|_| goes_on())
        };
        match replace.write_all_hashed_beside(chunks) {
            Ok(()) if goes_on() => Ok(()),
            Ok(()) => Err(self.failed(&io::Error::other("interrupted"))),
            Err(error) => Err(self.failed(&error)),
        }
    }

    /// The error for a failed write.
    pub(super) fn failed(&self, error: &io::Error) -> Error {
        if self.stop.load(Ordering::Relaxed) != 0 {
            return Error::new(ErrorKind::Interrupted, "interrupted");
        }
        match error.kind() {
            // The reader of the output has closed it, which is not an error.
            io::ErrorKind::BrokenPipe => Error::new(ErrorKind::ClosedPipe, "the output was closed"),
            _ => Error::new(ErrorKind::Io, format!("cannot write the output: {error}")),
        }
    }
}

/// How many bytes to write before checking for a signal.
const BYTES_PER_SIGNAL_CHECK: usize = 4 << 20;

impl Write for Sink<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.stop.load(Ordering::Relaxed) != 0 {
            // Not `Interrupted`, which would make `write_all` retry. The caller checks the signal itself.
            return Err(io::Error::other("interrupted"));
        }
        match &mut self.to {
            To::File(replace) => replace.write(bytes),
            To::Stdout(out, tally) => {
                let n = out.write(bytes)?;
                tally.add(&bytes[..n]);
                Ok(n)
            }
            To::Memory(memory, tally) => {
                memory.extend_from_slice(bytes);
                tally.add(bytes);
                Ok(bytes.len())
            }
            To::Nothing(tally) => {
                tally.add(bytes);
                Ok(bytes.len())
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.to {
            To::File(replace) => replace.flush(),
            To::Stdout(out, _) => out.flush(),
            To::Memory(..) | To::Nothing(_) => Ok(()),
        }
    }
}
