//! A whole input in memory, for commands that compare two of them. Nothing is written.

use std::path::Path;
use std::sync::atomic::AtomicUsize;

use super::budget::{Budget, Reservation};
use super::detected::detect;
use super::input::Input;
use super::limits::{Limits, Workload};
use super::strict::BadLines;
use super::{FileSource, Origin, Source};
use crate::error::Result;
use crate::format::{Detected, Format};

/// An input that was read.
#[derive(Debug)]
pub struct Loaded {
    /// Its text, unpacked.
    pub bytes: Vec<u8>,
    /// What it is.
    pub detected: Detected,
    /// The hash of the file as it is on the disk, as records name it.
    pub hash: String,
}

/// How an input is read into memory.
#[derive(Debug, Clone, Copy)]
pub struct Loading<'l> {
    /// The format, if the user named one.
    pub format: Option<Format>,
    /// The maximum size of the input and its lines.
    pub limits: Limits,
    /// What happens to lines that cannot be read.
    pub bad_lines: BadLines,
    /// The signal that ends the run.
    pub stop: &'l AtomicUsize,
}

impl Loading<'_> {
    /// Reads a file, plain or compressed; `-` is the standard input.
    ///
    /// # Errors
    /// If it cannot be read or unpacked, or is too large.
    pub fn file(&self, path: &Path) -> Result<Loaded> {
        let (source, size) = match path == Path::new("-") {
            true => (Source::Stdin, 0),
            false => {
                let source = Source::File(FileSource {
                    path: path.to_owned(),
                    folder: None,
                    origin: Origin::Named,
                });
                (source, std::fs::metadata(path).map_or(0, |seen| seen.len()))
            }
        };
        self.with_share(size, |share| {
            self.whole(path, Input::open(&source, path, self.stop, share)?)
        })
    }

    /// The same for the bytes of a file; errors name `path`.
    ///
    /// # Errors
    /// If they cannot be unpacked, or there are too many.
    pub fn bytes(&self, path: &Path, bytes: &[u8]) -> Result<Loaded> {
        self.with_share(bytes.len() as u64, |share| {
            self.whole(path, Input::of_bytes(bytes, path, self.stop, share)?)
        })
    }

    fn with_share(
        &self,
        size: u64,
        read: impl FnOnce(Reservation<'_>) -> Result<Loaded>,
    ) -> Result<Loaded> {
        let budget = Budget::new(1, self.limits, Workload::Once);
        budget.announce_size(size);
        read(budget.take(size))
    }

    fn whole(&self, path: &Path, mut input: Input<'_>) -> Result<Loaded> {
        let detected = detect(&mut input, self.format)?.detected;
        input.rest()?;
        let checked = self.bad_lines.check(&detected, &input.buffer);
        checked.map_err(|error| error.at(path))?;
        Ok(Loaded {
            hash: input.hash().0,
            bytes: std::mem::take(&mut input.buffer),
            detected,
        })
    }
}
