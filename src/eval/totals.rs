//! The scores of methods over all sessions: means in which each session has the same weight.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{FileEval, Intervals, MethodScores, RoundScores, Scores, SessionEval, Skipped, rounds};
use crate::outcome::{Examined, FileCounts};

/// The means over all sessions, and the number of sessions.
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
    /// The same for the sessions of each format, by its name.
    #[serde(default)]
    pub formats: Vec<FormatTotals>,
    /// The scores of each round, if sessions were compacted several times in a row: means over the sessions that have it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rounds: Vec<RoundScores>,
}

/// The means over the sessions of one format.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FormatTotals {
    /// The format.
    pub format: String,
    /// Sessions that were measured.
    pub sessions: u64,
    /// Cuts in them.
    pub cuts: u64,
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
        let measured: Vec<&SessionEval> = sessions().filter(|s| s.skipped.is_none()).collect();
        totals.sessions = measured.len() as u64;
        totals.cuts = cuts(&measured);
        totals.scores = means(&measured);
        totals.rounds = rounds::means(&measured);
        let mut by_format: BTreeMap<&str, Vec<&SessionEval>> = BTreeMap::new();
        for file in files {
            let sessions = file.found.sessions.iter();
            let sessions = sessions.filter(|session| session.skipped.is_none());
            let format = file.file.format.as_deref().unwrap_or_default();
            by_format.entry(format).or_default().extend(sessions);
        }
        let formats = by_format.into_iter().filter(|(_, of)| !of.is_empty());
        totals.formats = formats
            .map(|(format, of)| FormatTotals {
                format: format.to_owned(),
                sessions: of.len() as u64,
                cuts: cuts(&of),
                scores: means(&of),
            })
            .collect();
        totals
    }
}

fn cuts(sessions: &[&SessionEval]) -> u64 {
    sessions
        .iter()
        .map(|session| session.cuts.len() as u64)
        .sum()
}

/// The mean of each method with each budget.
fn means(sessions: &[&SessionEval]) -> Vec<MethodScores> {
    let Some(first) = sessions.first() else {
        return Vec::new();
    };
    let methods = first.scores.iter().enumerate();
    methods
        .map(|(number, method)| {
            // A report that was read back may lack some.
            let of_all = sessions
                .iter()
                .filter_map(|session| session.scores.get(number));
            let of_all: Vec<&Scores> = of_all.map(|method| &method.scores).collect();
            MethodScores {
                method: method.method.clone(),
                kind: method.kind,
                budget: method.budget,
                scores: Scores::mean(of_all.iter().copied()),
                intervals: Intervals::of(&of_all),
            }
        })
        .collect()
}
