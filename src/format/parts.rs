//! Reads a large text in parts, on all threads that are idle.
//!
//! A line's record follows from its bytes alone, so parts are read each by itself and put together in their order. The result is
//! that of reading the text in one piece, however it is divided.

use std::ops::Range;

use super::{Format, Warnings};
use crate::scan::{LARGE, Strings, lines_in, parts_of_lines};
use crate::threads;
use crate::transcript::Transcript;

/// The size of a part in bytes: what a processor reads in some milliseconds.
pub(super) const PART: usize = LARGE / 8;
/// The number of parts that are read before they are put together; what they hold is in memory twice meanwhile.
pub(super) const PARTS_AT_ONCE: usize = 16;

impl Format {
    /// Reads the lines of a transcript in parts of about `size` bytes.
    pub(super) fn push_parts<'a>(
        self,
        transcript: &mut Transcript<'a>,
        strings: &Strings,
        size: usize,
        warnings: &mut Warnings,
    ) {
        let base = transcript.base();
        let read = |part: Range<usize>| {
            let mut lines = Transcript::new(base);
            let mut warnings = Warnings::default();
            for raw in lines_in(base, part) {
                let strings = strings.of_line(raw.start);
                self.push_known(&mut lines, raw, strings, &mut warnings);
            }
            (lines, warnings)
        };
        let parts = parts_of_lines(base, 0, size);
        for parts in parts.chunks(PARTS_AT_ONCE) {
            for (lines, about) in threads::each(parts.iter().cloned(), read) {
                transcript.append(lines);
                warnings.append(about);
            }
        }
    }
}
