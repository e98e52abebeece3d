//! The scores of methods over all sessions: means in which each session has the same weight.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{FileEval, MethodScores, Scores, Skipped};
use crate::outcome::{Examined, FileCounts};

/// The means over all sessions, and how many of them there are.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Totals {
    /// Sessions that were measured.
    pub sessions: u64,
    /// Cuts in them.
    pub cuts: u64,
    /// Sessions that were not measured, by the reason.
    pub skipped: BTreeMap<Skipped, u64>,
    /// Inputs of a format that is not supported.
    pub unsupported: u64,
    /// Inputs that could not be read.
    pub failed: u64,
    /// The scores of each method, budget by budget.
    pub scores: Vec<MethodScores>,
}

impl Totals {
    /// The means over the sessions of `files`.
    pub fn of(files: &[Examined<FileEval>]) -> Totals {
        let counts = FileCounts::of(files);
        let mut totals = Totals {
            unsupported: counts.unsupported,
            failed: counts.failed,
            ..Totals::default()
        };
        let sessions = || files.iter().flat_map(|file| &file.found.sessions);
        for skipped in sessions().filter_map(|session| session.skipped) {
            *totals.skipped.entry(skipped).or_default() += 1;
        }
        let measured = || sessions().filter(|session| session.skipped.is_none());
        totals.sessions = measured().count() as u64;
        totals.cuts = measured().map(|session| session.cuts.len() as u64).sum();
        let Some(first) = measured().next() else {
            return totals;
        };
        for (number, method) in first.scores.iter().enumerate() {
            // A report that is read back may lack one.
            let of_all = measured().filter_map(|session| session.scores.get(number));
            let of_all = of_all.map(|method| &method.scores);
            totals.scores.push(MethodScores {
                scores: Scores::mean(of_all),
                ..method.clone()
            });
        }
        totals
    }
}
