//! The room for an output that alone is larger than the target.
//!
//! PURE.

use super::composer::Composer;
use super::draft::TAIL;
use crate::plan::{Cut, Room};

impl Composer<'_> {
    /// The room for the newest outputs, those after the cut that keeps `least`, where one of them is larger than the target
    /// and all else fits into it; `sizes` are their tokens. `None` where that is not so, or there is nothing to
    /// summarise.
    ///
    /// Where more than that does not fit, the summary tells of the outputs as of what is older: measured, that leaves more
    /// of what is needed next than their start and end do.
    pub fn overflow(&self, least: Cut, sizes: &[u64]) -> Option<Room> {
        let goal = self.subject.goal?;
        let target = goal.tokens;
        let largest = sizes.iter().max().filter(|size| **size > target)?;
        let now = goal
            .content(self.subject.total())
            .unwrap_or(self.subject.total());
        let others = now.saturating_sub(*largest);
        if others > target * (100 - TAIL) / 100 || !self.subject.cutter.has_span(least) {
            return None;
        }
        let all: u64 = sizes.iter().sum();
        Some(Room {
            target,
            tokens: target.saturating_sub(now.saturating_sub(all)),
        })
    }
}
