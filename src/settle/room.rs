//! The room that the newest outputs leave for a summary, and the room that they get where it is too little.
//!
//! PURE. The user's words come first, then the newest outputs and what else there is to tell.

use super::Room;
use super::draft::{LEAST, TAIL};
use super::summary::Summing;
use crate::plan::Cut;

impl Summing<'_> {
    /// The room for the newest outputs, those behind the cut that keeps `least`, where one of them alone is larger than the
    /// target; `sizes` are their tokens. `None` where there is none of that kind, or nothing to summarise.
    ///
    /// Where several together are too large, they are told like what is older. Else they may have the share that kept
    /// messages have of what is below the target, and what there is too little to tell to make use of; less where the
    /// user's words need it.
    pub fn crowded(&self, least: Cut, sizes: &[u64]) -> Option<Room> {
        let target = self.policy.target.cap(self.before)?;
        let is_larger = sizes.iter().any(|size| *size > target);
        if !is_larger || self.now() <= target || !self.cutter.has_span(least) {
            return None;
        }
        let tail: u64 = self.tokens()[least.tail..].iter().sum();
        let kept = tail.saturating_sub(sizes.iter().sum());
        let room = target.saturating_sub(kept + self.system());
        let told = (room * (100 - TAIL) / 100).min(self.span(least));
        let words = self.policy.summary.user_words;
        let words = self.extract(least).summary(0, words, self.estimator).tokens;
        let half = target.saturating_sub(self.system() + words) * LEAST / 100;
        // Where the answer alone takes too much, nothing is kept, and what is in the outputs is told.
        let beside = half.checked_sub(kept)?;
        Some(Room {
            target,
            tokens: beside.min(room - told),
        })
    }
}
