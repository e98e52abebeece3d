//! The room that the newest outputs leave for a summary, and the room that they get where it is too little.
//!
//! PURE. The user's words come first, then the newest outputs and what else there is to tell.

use super::Room;
use super::draft::{LEAST, TAIL};
use super::summary::Summing;
use crate::plan::Cut;

impl Summing<'_> {
    /// The room for the newest outputs, those behind the cut that keeps `least`, where one of them is larger than the target
    /// and all else in these messages could stay; `sizes` are their tokens. `None` where that is not so, or there is nothing
    /// to summarise.
    ///
    /// What does not fit otherwise is told like what is older, which leaves more of it than its start and its end. The
    /// outputs may have the share that kept messages have of what is below the target, and what there is too little to tell
    /// to make use of; less where the user's words need it.
    pub fn crowded(&self, least: Cut, sizes: &[u64]) -> Option<Room> {
        let target = self.policy.target.cap(self.before)?;
        let largest = sizes.iter().max().filter(|size| **size > target)?;
        if !self.cutter.has_span(least) {
            return None;
        }
        let words = self.policy.summary.user_words;
        let words = self.extract(least).summary(0, words, self.estimator).tokens;
        let half = target.saturating_sub(self.system() + words) * LEAST / 100;
        let tail: u64 = self.tokens()[least.tail..].iter().sum();
        half.checked_sub(tail.saturating_sub(*largest))?;
        let kept = tail.saturating_sub(sizes.iter().sum());
        let room = target.saturating_sub(kept + self.system());
        let told = (room * (100 - TAIL) / 100).min(self.span(least));
        Some(Room {
            target,
            tokens: half.saturating_sub(kept).min(room - told),
        })
    }
}
