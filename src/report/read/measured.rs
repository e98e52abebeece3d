//! What the entries of a report on `eval` say about its means, which cannot be computed from them again: they are rounded.
//!
//! PURE.

use crate::eval::{FileEval, MethodScores, Totals};
use crate::outcome::Examined;

/// The sizes of means, and what they are of.
#[derive(Debug, Default)]
pub(super) struct Measured {
    sessions: u64,
    cuts: u64,
    /// The methods of the first session, with their budgets.
    ways: Vec<(String, String)>,
}

impl Measured {
    /// Adds the sessions of an entry.
    pub(super) fn add(&mut self, file: &Examined<FileEval>) {
        let sessions = file.found.sessions.iter();
        for session in sessions.filter(|session| session.skipped.is_none()) {
            if self.sessions == 0 {
                self.ways = ways(&session.scores);
            }
            self.sessions += 1;
            self.cuts += session.cuts.len() as u64;
        }
    }

    /// Whether these are means over so many sessions, of these methods.
    pub(super) fn is_of(&self, totals: &Totals) -> bool {
        let sizes = (totals.sessions, totals.cuts);
        sizes == (self.sessions, self.cuts) && ways(&totals.scores) == self.ways
    }
}

fn ways(scores: &[MethodScores]) -> Vec<(String, String)> {
    let scores = scores.iter();
    scores
        .map(|of| (of.method.clone(), of.budget.to_string()))
        .collect()
}
