//! How many tokens are left for outputs when one of them alone is larger than the target.
//!
//! PURE.

use super::composer::Composer;
use super::draft::TAIL;
use crate::plan::{Cut, Room};

impl Composer<'_> {
    /// The room for the newest outputs (those after the cut `least`, with the token counts `sizes`) if one of them is larger
    /// than the target and everything else fits into it. `None` otherwise, or if there is nothing to summarise.
    ///
    /// If more than one output does not fit, the summary covers the outputs too, like older messages: measurements showed
    /// that this keeps more of what is needed next than the start and end of each output.
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
