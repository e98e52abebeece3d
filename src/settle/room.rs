//! The room that the newest outputs leave for a summary, and the room that they get where it is too little.
//!
//! PURE. The user's words come first, then the newest outputs and what else there is to tell.

use super::Room;
use super::draft::{LEAST, TAIL, Wrote};
use super::summary::Summing;
use crate::plan::Cut;

impl Summing<'_> {
    /// The room for the newest outputs, those behind the cut that keeps `least`, where they have so many tokens that not even
    /// the user's words fit beside them, or that nothing could be kept; `None` where neither is so, or nothing to summarise.
    ///
    /// They may have the share that kept messages have of what is below the target, and what there is too little to tell to
    /// make use of; less where the user's words need it.
    pub fn crowded(&self, least: Cut, outputs: u64) -> Option<Room> {
        let target = self.policy.target.cap(self.before)?;
        if self.now() <= target || !self.cutter.has_span(least) {
            return None;
        }
        let tail: u64 = self.tokens()[least.tail..].iter().sum();
        let others = tail.saturating_sub(outputs) + self.system();
        let room = target.saturating_sub(others);
        let told = (room * (100 - TAIL) / 100).min(self.span(least));
        let share = room - told;
        if outputs <= share {
            return None;
        }
        let words = self.policy.summary.user_words;
        let summary = self.extract(least).summary(0, words, self.estimator);
        let half = target.saturating_sub(self.system() + summary.tokens) * LEAST / 100;
        let kept = tail.saturating_sub(outputs);
        let smallest = self.drafted(least, summary, Wrote::Extractive).total;
        let excess = smallest.saturating_sub(target);
        // Where the answer alone takes too much, nothing is kept, and its outputs are told.
        if excess == 0 && (tail <= half || kept > half) {
            return None;
        }
        let beside_words = outputs.checked_sub(excess);
        let tokens = beside_words.map_or(share, |tokens| tokens.min(share));
        Some(Room {
            target,
            tokens: match half.checked_sub(kept) {
                Some(beside) => tokens.min(beside),
                None => tokens,
            },
        })
    }
}
