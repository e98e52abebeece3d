//! Measures what can still be found after a compaction, against what the agent did next.
//!
//! A recorded session is cut at 35, 50, 65 and 80 % of its tokens (only up to its first recorded compaction). Each policy, with
//! the built-in summariser, and each baseline compacts the part before the cut to a budget. The part after the cut shows what
//! was needed. No model is asked.
//!
//! | figure | what it is, in percent |
//! | --- | --- |
//! | `need` | names from before the cut that are used after it before any result shows them again, so that the agent had to know them: the share that is kept |
//! | `grounded` | the same, but a name counts only within three consecutive words of the original, so that a bare list of names scores nothing |
//! | `far` | the same as `need` for names that a sliding window of the same budget does not contain |
//! | `user` | sentences of the user, of 8 to 400 characters, that are kept word for word |
//! | `mod`, `cmd`, `err` | changed files; commands (their first 50 characters); error messages in failed results (without digits, the first 60 characters) |
//! | `state_files`, `state_cmd` | true statements of a summary about what was last done to a file, and about how a command ended |
//! | `used` | tokens that are kept |
//! | `invented` | a count: names that did not occur before the cut |
//!
//! Means over sessions have 95 % confidence intervals (`intervals.rs`). A session can also be compacted several times in a row,
//! like a long one (`rounds.rs`).
//!
//! Tokens are counted by `cl100k_base` for every policy. A share of fewer than three things is not measured. A session's figures
//! are means over its cuts; those of a run are means over its sessions.
//!
//! The evaluation shares no code with the summariser: it reads names, sentences, files, commands and statuses independently. Only
//! the kinds of tools, the texts of results and the form of rows are read by common code. A kept name proves that it can be found,
//! not that a model will find it.
//!
//! PURE. The fields of the results are the JSON's keys, in its order.

mod background_ends;
mod baselines;
mod call;
mod candidate;
mod cell;
mod cutting;
mod error_messages;
mod error_shapes;
mod evaluate;
mod events;
mod index;
mod intervals;
mod labelled;
mod names;
mod open;
mod references;
mod rounds;
mod scores;
mod segment;
mod sought;
mod state;
mod todos;
mod totals;
mod unroll;

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::outcome::{Examined, Find, ReadBack};

pub use candidate::Candidate;
pub use cutting::Cutting;
pub use evaluate::Evaluator;
pub use intervals::{Interval, Intervals, METRICS as INTERVAL_METRICS};
pub use labelled::{Labelled, labelled};
pub use rounds::{Kept, RoundScores};
pub use scores::{Metric, Scores};
pub use totals::{FormatTotals, Totals};

/// The result for one input.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct FileEval {
    /// Its sessions, in the order of the transcript.
    pub sessions: Vec<SessionEval>,
}

impl ReadBack for Examined<FileEval> {
    fn read_back(json: &[u8]) -> serde_json::Result<Self> {
        serde_json::from_slice(json)
    }
}

impl Find for FileEval {
    fn status(&self) -> &'static str {
        let mut sessions = self.sessions.iter();
        match sessions.any(|session| session.skipped.is_none()) {
            true => "measured",
            false => "nothing_to_measure",
        }
    }

    fn parts(&self) -> usize {
        // The scores of a method take about as much as two parts.
        let scores = |session: &SessionEval| 2 * (session.scores.len() + session.rounds.len());
        let sessions = self.sessions.iter();
        sessions.map(|session| 1 + scores(session)).sum()
    }

    fn exact(&self) -> Vec<u8> {
        let mut exact = Vec::new();
        for session in &self.sessions {
            let methods = session.scores.iter().map(|of| &of.scores);
            let rounds = session.rounds.iter().map(|of| &of.scores);
            let all = methods.chain(rounds);
            all.for_each(|scores| scores.put_exact(&mut exact));
        }
        exact
    }

    fn set_exact(&mut self, mut exact: &[u8]) -> Option<()> {
        for session in &mut self.sessions {
            let methods = session.scores.iter_mut().map(|of| &mut of.scores);
            let rounds = session.rounds.iter_mut().map(|of| &mut of.scores);
            for scores in methods.chain(rounds) {
                scores.take_exact(&mut exact)?;
            }
        }
        exact.is_empty().then_some(())
    }
}

/// One session under all methods.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SessionEval {
    /// `main`, a sidechain's id, or `line:7`.
    pub id: String,
    /// Messages before its first compaction.
    pub messages: u64,
    /// Their tokens.
    pub tokens: u64,
    /// Why it was not measured, if it was not.
    pub skipped: Option<Skipped>,
    /// The places where it was cut.
    pub cuts: Vec<Cut>,
    /// The scores of each method, budget by budget, in the order of the methods.
    pub scores: Vec<MethodScores>,
    /// The scores of each round, method by method and budget by budget, if the session was compacted several times in a row.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rounds: Vec<RoundScores>,
}

/// Why a session was not measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Skipped {
    /// There are no messages before its first compaction.
    CompactedFromTheStart,
    /// Every cut would separate a call from its result.
    NoCut,
    /// It has fewer tokens than the requested minimum.
    TooSmall,
}

/// A place where a session was cut, and the number of things to find there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cut {
    /// The first message after it, from 1.
    pub message: u64,
    /// The line of the file on which that message begins, from 1.
    pub line: u64,
    /// Tokens before it.
    pub tokens: u64,
    /// Names that are used after it before they are shown again.
    pub need: u64,
    /// Sentences of the user before it.
    pub user: u64,
    /// Files that were changed before it.
    #[serde(rename = "mod")]
    pub modified: u64,
    /// Commands before it.
    #[serde(rename = "cmd")]
    pub commands: u64,
    /// Error messages before it.
    #[serde(rename = "err")]
    pub errors: u64,
}

/// A method with one budget.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MethodScores {
    /// The name of a policy or a baseline.
    pub method: String,
    /// Whether it is a policy.
    pub kind: Kind,
    /// How much it could keep.
    pub budget: Budget,
    /// Its scores.
    #[serde(flatten)]
    pub scores: Scores,
    /// The confidence intervals of its means over sessions; `None` for one session.
    #[serde(default, rename = "ci95", skip_serializing_if = "Option::is_none")]
    pub intervals: Option<Intervals>,
}

/// How much a method may keep of the tokens before a cut.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Budget {
    /// This percentage of them.
    Percent(f64),
    /// No limit: a policy works with its own settings. In JSON, null.
    Own,
}

impl Budget {
    /// The tokens that may be kept of `before`.
    pub(crate) fn tokens(self, before: u64) -> u64 {
        match self {
            Budget::Percent(percent) => (before as f64 * percent / 100.0).floor() as u64,
            Budget::Own => u64::MAX,
        }
    }
}

impl fmt::Display for Budget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Budget::Percent(percent) => write!(f, "a budget of {percent}%"),
            Budget::Own => f.write_str("no budget"),
        }
    }
}

/// The kind of a method.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A policy.
    Policy,
    /// A simple method to compare with.
    Baseline,
}

/// A simple method to compare policies with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Baseline {
    /// The end.
    Window,
    /// The start and the end, half of the budget each.
    HeadAndTail,
    /// Masks all results but the last five, and keeps the end of that.
    MaskKeep5,
    /// Masks all results, and keeps the end of that.
    MaskKeep0,
}

impl Baseline {
    /// Whether the baseline works with this budget: whether it omits something even without one.
    pub(crate) fn works_with(self, budget: Budget) -> bool {
        match (self, budget) {
            (_, Budget::Percent(_)) | (Baseline::MaskKeep5 | Baseline::MaskKeep0, _) => true,
            (Baseline::Window | Baseline::HeadAndTail, Budget::Own) => false,
        }
    }

    /// All of them.
    pub const ALL: [Baseline; 4] = [
        Baseline::Window,
        Baseline::HeadAndTail,
        Baseline::MaskKeep5,
        Baseline::MaskKeep0,
    ];

    /// The name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Baseline::Window => "sliding window",
            Baseline::HeadAndTail => "head+tail",
            Baseline::MaskKeep5 => "mask keep 5",
            Baseline::MaskKeep0 => "mask keep 0",
        }
    }
}
