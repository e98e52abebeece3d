//! What is still to be found after a compaction, measured against what the agent did next.
//!
//! A recorded session is cut where 35, 50, 65 and 80 % of its tokens are over (only what stands before its first recorded
//! compaction counts). Each policy, with the embedded summariser, and each baseline leaves so many percent of what came
//! before a cut; then what the session shows behind the cut is the key. No model is asked.
//!
//! | figure | what it is, in percent |
//! | --- | --- |
//! | `need` | of the names from before that somebody uses behind the cut before any result shows them again, those that are left. The agent had to know them |
//! | `grounded` | the same, where a name counts only in three words in a row that stand in the original: a bare list of names comes to nothing |
//! | `far` | of these names, those that a sliding window of the same budget does not hold |
//! | `user` | sentences of the user, of 8 to 400 characters, that are left word for word |
//! | `mod`, `cmd`, `err` | changed files; commands (their first 50 characters); lines of failing results that say what went wrong (without digits, the first 60 characters) |
//! | `state_files`, `state_cmd` | of what a summary says was done last to a file, and of how it says a command ended, what is true |
//! | `used` | tokens that are left, of those before |
//! | `invented` | a count: names that did not stand in what came before |
//!
//! Tokens are those of `cl100k_base`, for every policy. Fewer than three things are not measured. A session's figures are the
//! means over its cuts; those of a run are the means over its sessions.
//!
//! The judge shares no code with the summariser: names, sentences, files, commands and statuses are read here anew; only
//! which tool is of which kind, what a result says and what a row is are read as everywhere. A name that is left proves that
//! it can be found, not that a model finds it.
//!
//! PURE. The fields of what comes of it are the JSON's keys, in its order.

mod baselines;
mod call;
mod evaluate;
mod events;
mod index;
mod names;
mod references;
mod scores;
mod segment;
mod sought;
mod state;
mod totals;

use serde::Serialize;

use crate::outcome::Find;

pub use evaluate::{Candidate, Evaluator};
pub use scores::{Metric, Scores};
pub use totals::Totals;

/// What came of one input.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct FileEval {
    /// Its sessions, in the order of the transcript.
    pub sessions: Vec<SessionEval>,
}

impl Find for FileEval {
    fn status(&self) -> &'static str {
        let mut sessions = self.sessions.iter();
        match sessions.any(|session| session.skipped.is_none()) {
            true => "measured",
            false => "nothing_to_measure",
        }
    }
}

/// One session under all methods.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SessionEval {
    /// `main`, a sidechain's id, or `line:7`.
    pub id: String,
    /// Messages before its first compaction.
    pub messages: u64,
    /// Their tokens.
    pub tokens: u64,
    /// Why it was not measured, if it was not.
    pub skipped: Option<Skipped>,
    /// The places at which it was cut.
    pub cuts: Vec<Cut>,
    /// What each method comes to, budget by budget, in the order of the methods.
    pub scores: Vec<MethodScores>,
}

/// Why a session was not measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Skipped {
    /// Nobody speaks before its first compaction.
    CompactedFromTheStart,
    /// There is no place to cut it at, with a call's result on the side of the call.
    NoCut,
}

/// A place at which a session was cut, and what was looked for there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Cut {
    /// The first message behind it, from 1.
    pub message: u64,
    /// The line of the file on which that begins, from 1.
    pub line: u64,
    /// Tokens before it.
    pub tokens: u64,
    /// Names that are used behind it before they are shown again.
    pub need: u64,
    /// Sentences of the user before it.
    pub user: u64,
    /// Files that were changed before it.
    #[serde(rename = "mod")]
    pub modified: u64,
    /// Commands before it.
    #[serde(rename = "cmd")]
    pub commands: u64,
    /// Lines before it that say what went wrong.
    #[serde(rename = "err")]
    pub errors: u64,
}

/// A method with one budget.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MethodScores {
    /// A policy's name, or what a baseline does.
    pub method: String,
    /// Whether it is a policy.
    pub kind: Kind,
    /// The budget, in percent of the tokens before a cut.
    pub budget: f64,
    /// What it comes to.
    #[serde(flatten)]
    pub scores: Scores,
}

/// What a method is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A policy.
    Policy,
    /// What anybody could do instead.
    Baseline,
}

/// What anybody could do instead of a policy.
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
