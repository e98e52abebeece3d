//! Unnamed files, for data that exceeds the memory limit, and the merging of their sorted parts.
//!
//! Nothing is left of such a file, however the run ends.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read};
use std::path::Path;

use super::folder::read_exact_at;

/// Size of the write buffer, in bytes.
const WRITE_BUFFER: usize = 1 << 20;
/// Bytes of each part that are read at once.
const READ_BUFFER: usize = 16 << 10;

/// Creates a file in `folder` if that exists, or else in the system's temporary folder.
///
/// # Errors
/// The system's.
pub(crate) fn unnamed(folder: &Path) -> io::Result<BufWriter<File>> {
    let file = tempfile::tempfile_in(folder).or_else(|_| tempfile::tempfile())?;
    Ok(BufWriter::with_capacity(WRITE_BUFFER, file))
}

/// What is between two offsets of a file.
#[derive(Debug)]
pub(crate) struct Part<'f> {
    file: &'f File,
    at: u64,
    end: u64,
}

impl<'f> Part<'f> {
    /// From `at` to `end`.
    pub(crate) fn of(file: &'f File, at: u64, end: u64) -> BufReader<Self> {
        BufReader::with_capacity(READ_BUFFER, Part { file, at, end })
    }

    /// All parts of a file, given the offset at which each of them ends.
    pub(crate) fn all(file: &'f File, ends: &[u64]) -> Vec<BufReader<Self>> {
        let begins = std::iter::once(&0).chain(ends);
        let parts = begins.zip(ends);
        parts.map(|(at, end)| Part::of(file, *at, *end)).collect()
    }
}

impl Read for Part<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let left = usize::try_from(self.end - self.at).unwrap_or(usize::MAX);
        let bytes = left.min(into.len());
        read_exact_at(self.file, &mut into[..bytes], self.at)?;
        self.at += bytes as u64;
        Ok(bytes)
    }
}

/// Calls `show` with the elements of sorted parts, in sorted order.
///
/// # Errors
/// The errors of the parts and of `show`.
pub(crate) fn merge<T: Ord>(
    parts: impl IntoIterator<Item = impl Iterator<Item = io::Result<T>>>,
    show: &mut dyn FnMut(T) -> io::Result<()>,
) -> io::Result<()> {
    merged(parts)?.try_for_each(|one| show(one?))
}

/// The elements of sorted parts, in sorted order, up to the first error.
///
/// # Errors
/// The errors of the parts at their beginnings.
pub(crate) fn merged<T: Ord, P: Iterator<Item = io::Result<T>>>(
    parts: impl IntoIterator<Item = P>,
) -> io::Result<impl Iterator<Item = io::Result<T>>> {
    let mut parts: Vec<P> = parts.into_iter().collect();
    let mut first = BinaryHeap::with_capacity(parts.len());
    for (number, part) in parts.iter_mut().enumerate() {
        if let Some(one) = part.next() {
            first.push(Reverse((one?, number)));
        }
    }
    Ok(std::iter::from_fn(move || {
        let mut least = first.peek_mut()?;
        let Reverse((_, number)) = *least;
        match parts.get_mut(number).and_then(Iterator::next) {
            // Replaces the previous element, so that the heap is reordered only once.
            Some(Ok(next)) => {
                let Reverse((one, _)) = std::mem::replace(&mut *least, Reverse((next, number)));
                Some(Ok(one))
            }
            Some(Err(error)) => {
                drop(least);
                first.clear();
                Some(Err(error))
            }
            None => {
                let Reverse((one, _)) = PeekMut::pop(least);
                Some(Ok(one))
            }
        }
    }))
}
