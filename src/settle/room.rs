//! The room that the newest outputs leave for a summary, and the room that they get where it is too little.
//!
//! PURE. The user's words come first, then the newest outputs and what else there is to tell.

use super::Room;
use super::draft::{TAIL, Wrote};
use super::summary::Summing;
use crate::plan::Cut;

impl Summing<'_> {
    /// The room for the newest outputs, those behind the cut that keeps `least`, where they have so many tokens that not even
    /// the user's words fit beside them; `None` where there is a target and they do, or nothing to summarise.
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
        let smallest = self.drafted(least, summary, Wrote::Extractive).total;
        let excess = smallest.checked_sub(target).filter(|excess| *excess > 0)?;
        let beside_words = outputs.checked_sub(excess);
        Some(Room {
            target,
            tokens: beside_words.map_or(share, |tokens| tokens.min(share)),
        })
    }
}
