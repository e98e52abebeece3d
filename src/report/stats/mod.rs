//! The results of `stats`, for people (a table) and for programs (JSON).
//!
//! Writes only to the writer that it is given. Text from a transcript cannot steer the terminal that shows it.

mod columns;
mod page;
mod render;
mod table;
#[cfg(test)]
mod tests;
mod windows;

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::column::Column;
use super::groups::{Grouped, Groups};
use super::rows::common_folder;
use super::times::with_times;
use super::{PolicyRef, RunReport, Screen};
use crate::outcome::{Examined, FileStatus};
use crate::stats::{ConversationStats, FileStats, Thresholds, Totals};

pub(super) use columns::csv_headers;
pub use table::write as write_stats_table;

/// What a run has counted.
pub type Stats = RunReport<Counting, Totals, Examined<FileStats>>;

/// How a run has counted. The fields are the JSON's keys, in its order.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Counting {
    /// The policy that has counted.
    pub policy: PolicyRef,
    /// The name of the estimator that counted the tokens.
    pub estimator: Cow<'static, str>,
    /// The tokens above which the policy summarises, if it does at all.
    pub threshold: Option<u64>,
    /// All thresholds of the policy.
    pub thresholds: Thresholds,
    /// The most consumers of an input and of all.
    #[serde(default = "usual_top")]
    pub top: usize,
}

/// The number of consumers where a report does not say it.
fn usual_top() -> usize {
    10
}

/// How much of the counts is shown.
#[derive(Debug, Clone, Copy)]
pub struct View {
    /// Where.
    pub screen: Screen,
    /// The most tools, paths, consumers and conversations.
    pub top: usize,
    /// Which turns.
    pub turns: Turns,
}

/// Which turns are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Turns {
    /// Some, if there is only one conversation.
    Some,
    /// All of each conversation that is shown.
    All,
}

impl Stats {
    /// The folder that all inputs are in, with its `/` at the end; "" for a single one.
    fn folder(&self) -> &str {
        common_folder(self.files.iter().map(|file| file.file.path.as_str()))
    }

    /// The sums over `files`, which are in path order, with the `top` largest consumers; `policy` has counted them.
    pub fn new(
        policy: PolicyRef,
        estimator: impl Into<Cow<'static, str>>,
        thresholds: Thresholds,
        files: Vec<Examined<FileStats>>,
        top: usize,
    ) -> Self {
        let about = Counting {
            policy,
            estimator: estimator.into(),
            threshold: thresholds.trigger,
            thresholds,
            top,
        };
        RunReport::of(about, Totals::of(&files, top), files)
    }

    /// The inputs that were counted, as they are grouped.
    fn groups(&self) -> Groups {
        let counted = self.files.iter();
        let counted = counted.filter(|file| file.status == FileStatus::Examined);
        let entry = |file| {
            let file: &Examined<FileStats> = file;
            Grouped {
                file: &file.file,
                tokens: [file.found.counts.live.tokens; 2],
            }
        };
        counted.map(entry).collect()
    }

    /// What is said of each input.
    fn columns(&self) -> Vec<Column<Examined<FileStats>>> {
        with_times(columns::columns(), self.head.timings())
    }

    /// Every conversation with its file.
    pub fn conversations(
        &self,
    ) -> impl Iterator<Item = (&Examined<FileStats>, &ConversationStats)> {
        let files = self.files.iter();
        files.flat_map(|file| file.found.conversations.iter().map(move |c| (file, c)))
    }
}
