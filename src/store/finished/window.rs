//! Pieces of a file of finished work: inputs come in about the same order as last time, so their lines are close together.
//!
//! Knows nothing about the contents of lines.

use std::fs::File;
use std::ops::{Deref, Range};
use std::sync::Arc;

use crate::store::folder::read_exact_at;
use crate::store::line_file::Place;

/// The number of bytes read around a line that is near the previous one, and the number of these that precede it.
pub(super) const WINDOW_BYTES: u64 = 256 << 10;
const BEFORE: u64 = WINDOW_BYTES / 4;

/// The bytes of a line, possibly as part of a piece.
#[derive(Debug)]
pub(super) struct LineBytes {
    of: Arc<Vec<u8>>,
    range: Range<usize>,
}

impl From<Vec<u8>> for LineBytes {
    fn from(line: Vec<u8>) -> Self {
        LineBytes {
            range: 0..line.len(),
            of: Arc::new(line),
        }
    }
}

impl Deref for LineBytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.of[self.range.clone()]
    }
}

/// A piece of a file, for lines that are looked up in about their order: most runs meet their inputs in the same order as last
/// time, in threads that are a few lines apart.
#[derive(Debug, Default)]
pub(super) struct Window {
    bytes: Arc<Vec<u8>>,
    /// Where the piece begins.
    offset: u64,
    /// The offset of the line that was last looked up.
    last: u64,
}

impl Window {
    /// A line of a file with `end` bytes; `None` if it is far from the previous one, so that no piece is read in vain.
    pub(super) fn line(&mut self, (file, end): (&File, u64), place: Place) -> Option<LineBytes> {
        let is_near = place.offset.abs_diff(self.last) < WINDOW_BYTES;
        self.last = place.offset;
        if self.here(place).is_none() && is_near {
            self.offset = place.offset.saturating_sub(BEFORE);
            let room = end.saturating_sub(self.offset).min(WINDOW_BYTES);
            let mut bytes = vec![0; usize::try_from(room).ok()?];
            self.bytes = match read_exact_at(file, &mut bytes, self.offset) {
                Ok(()) => Arc::new(bytes),
                Err(_) => Arc::default(),
            };
        }
        let range = self.here(place)?;
        Some(LineBytes {
            of: Arc::clone(&self.bytes),
            range,
        })
    }

    fn here(&self, place: Place) -> Option<Range<usize>> {
        let at = usize::try_from(place.offset.checked_sub(self.offset)?).ok()?;
        let end = at.checked_add(place.bytes as usize)?;
        (end <= self.bytes.len()).then_some(at..end)
    }
}
