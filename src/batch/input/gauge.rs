//! Measures the text of an input as it is read, and holds the memory for it.
//!
//! Never looks at the text, except for where its lines end.

use crate::batch::budget::{Known, Reservation};
use crate::batch::limits::InputMeasure;
use crate::error::Result;

/// The measures of the text in the buffer, and the memory that is held for it.
pub(super) struct Gauge<'s> {
    pub(super) share: Reservation<'s>,
    pub(super) known: Known,
    extent: InputMeasure,
    /// The number of bytes of all text so far.
    bytes: u64,
    /// The number of line ends before the buffer.
    passed: u64,
    /// Bytes since the last line end.
    tail: u64,
}

impl<'s> Gauge<'s> {
    pub(super) fn new(share: Reservation<'s>, known: Known) -> Self {
        Gauge {
            share,
            known,
            extent: InputMeasure::default(),
            bytes: 0,
            passed: 0,
            tail: 0,
        }
    }

    /// Adds text of an input whose compressed form takes `packed` bytes in addition.
    pub(super) fn add(&mut self, new: &[u8], packed: u64) -> Result<()> {
        self.add_measured(new, InputMeasure::of(new), packed)
    }

    /// The same for text whose measure is known.
    pub(super) fn add_measured(
        &mut self,
        new: &[u8],
        measure: InputMeasure,
        packed: u64,
    ) -> Result<()> {
        self.look_at_lines(new)?;
        self.extent.add(measure);
        self.bytes += new.len() as u64;
        let budget = self.share.budget();
        let most = budget.limits().file_bytes;
        if most.is_some_and(|most| self.bytes > most) {
            return Err(budget.too_large(self.known));
        }
        self.hold(packed)
    }

    pub(super) fn hold(&mut self, packed: u64) -> Result<()> {
        self.share.hold(self.extent, packed, self.known)
    }

    fn look_at_lines(&mut self, new: &[u8]) -> Result<()> {
        let limits = self.share.budget().limits();
        let most = limits.line_bytes;
        let Some(last) = memchr::memrchr(b'\n', new) else {
            self.tail += new.len() as u64;
            if self.tail > most {
                return Err(limits.long_line(self.passed + self.extent.lines + 1));
            }
            return Ok(());
        };
        if self.tail + new.len() as u64 > most {
            let (mut start, mut before) = (0, self.tail);
            let line = self.passed + self.extent.lines + 1;
            let ends = memchr::memchr_iter(b'\n', new).chain([new.len()]);
            for (line, end) in (line..).zip(ends) {
                if before + (end - start) as u64 > most {
                    return Err(limits.long_line(line));
                }
                (start, before) = (end + 1, 0);
            }
        }
        self.tail = (new.len() - last - 1) as u64;
        Ok(())
    }

    /// Accounts for text that was removed from the buffer; `rest` remains.
    pub(super) fn pass(&mut self, passed: &[u8], rest: &[u8]) {
        let lines = self.extent.lines;
        self.extent = if rest.is_empty() {
            InputMeasure::default()
        } else {
            InputMeasure::of(rest)
        };
        self.passed += lines - self.extent.lines;
        debug_assert_eq!(
            lines - self.extent.lines,
            memchr::memchr_iter(b'\n', passed).count() as u64
        );
    }

    /// Releases memory that is not needed, now that the whole input has been read.
    pub(super) fn settle(&mut self, packed: u64) {
        self.share.settle(self.extent, packed);
    }
}
