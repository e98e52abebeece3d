//! Pieces of a file of finished work: inputs come in about the same order as last time, so their lines are close together.
//!
//! Knows nothing about the contents of lines.

use std::fs::File;
use std::ops::{Deref, Range};
use std::sync::Arc;

use crate::store::folder::read_exact_at;
use crate::store::line_file::Place;

/// The size of a piece, and how much of the next one is read with it: lines that begin in a piece may end there.
pub(super) const PIECE_BYTES: u64 = 256 << 10;
const BEYOND: u64 = PIECE_BYTES / 16;
/// The number of pieces that are held: runs process the largest of some thousand waiting inputs first, so that lines are in the
/// order of a walk only within some megabytes.
const PIECES: usize = 48;

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

/// Some pieces of a file.
#[derive(Debug, Default)]
pub(super) struct Window(Vec<Piece>);

#[derive(Debug, Clone, Default)]
struct Piece {
    /// Its number, once it was read.
    number: Option<u64>,
    bytes: Arc<Vec<u8>>,
    /// The number of the piece that was asked for in its place.
    wanted: Option<u64>,
}

impl Window {
    /// A line of a file with `end` bytes; `None` if it is the first one that is looked up in its piece, so that no piece is read for
    /// a single line.
    pub(super) fn line(&mut self, (file, end): (&File, u64), place: Place) -> Option<LineBytes> {
        if self.0.is_empty() {
            self.0 = vec![Piece::default(); PIECES];
        }
        let number = place.offset / PIECE_BYTES;
        let count = self.0.len() as u64;
        let piece = self.0.get_mut(usize::try_from(number % count).ok()?)?;
        if piece.number != Some(number) {
            if piece.wanted != Some(number) {
                piece.wanted = Some(number);
                return None;
            }
            piece.read(number, (file, end))?;
        }
        let begin = usize::try_from(place.offset % PIECE_BYTES).ok()?;
        let range = begin..begin.checked_add(place.bytes as usize)?;
        (range.end <= piece.bytes.len()).then(|| LineBytes {
            of: Arc::clone(&piece.bytes),
            range,
        })
    }
}

impl Piece {
    fn read(&mut self, number: u64, (file, end): (&File, u64)) -> Option<()> {
        self.number = None;
        let begin = number * PIECE_BYTES;
        let room = end.saturating_sub(begin).min(PIECE_BYTES + BEYOND);
        // New memory would cost as much as what is read into it.
        let old = std::mem::take(&mut self.bytes);
        let mut bytes = Arc::try_unwrap(old).unwrap_or_default();
        bytes.resize(usize::try_from(room).ok()?, 0);
        read_exact_at(file, &mut bytes, begin).ok()?;
        self.bytes = Arc::new(bytes);
        self.number = Some(number);
        Some(())
    }
}
