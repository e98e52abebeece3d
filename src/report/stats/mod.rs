//! The results of `stats`, for people (a table) and for programs (JSON).
//!
//! Writes only to the writer that it is given. Text from a transcript cannot steer the terminal that shows it.

mod columns;
mod page;
mod render;
mod seen;
mod table;
#[cfg(test)]
mod tests;
mod windows;

use std::borrow::Cow;
use std::io;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::column::Column;
use super::run::Head;
use super::times::{RunTimings, with_times};
use super::{PolicyRef, Screen};
use crate::outcome::{Entries, Examined, NotRead};
use crate::stats::{ConversationStats, FileStats, Thresholds, Totals};
use seen::Seen;

pub(super) use columns::csv_headers;
pub use table::write as write_stats_table;

/// What a run has counted. Its inputs are wherever they are, and were all looked at once.
#[expect(missing_debug_implementations, reason = "entries need not have one")]
pub struct Stats<'e> {
    pub(super) head: Head<StatsHeader, Totals>,
    entries: &'e dyn Entries<Examined<FileStats>>,
    seen: Seen,
}

/// How a run has counted. The fields are the JSON's keys, in its order.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StatsHeader {
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

/// The most tools, paths, consumers and conversations that a comment shows.
const TOP_OF_MARKDOWN: usize = 10;

impl<'e> Stats<'e> {
    /// The sums over `entries`, which are in path order, with the largest consumers, as many as `about` says.
    ///
    /// # Errors
    /// Where an entry cannot be read.
    pub fn of(
        about: StatsHeader,
        entries: &'e dyn Entries<Examined<FileStats>>,
    ) -> io::Result<Self> {
        let windows = about.top.max(TOP_OF_MARKDOWN);
        let (seen, totals) = Seen::of(entries, about.top, windows)?;
        Ok(Stats {
            head: Head::new(about, totals),
            entries,
            seen,
        })
    }

    /// The same report, which also says what was not read.
    #[must_use]
    pub fn with_not_read(mut self, not_read: Vec<NotRead>) -> Self {
        self.head.not_read = not_read;
        self
    }

    /// The same report, which also says how long the run took, and its phases together.
    #[must_use]
    pub fn with_timings(mut self, wall: Option<Duration>) -> Self {
        self.head.timings = wall.map(|wall| RunTimings::new(wall, self.seen.phases.clone()));
        self
    }

    /// What it says about the run as a whole.
    pub fn head(&self) -> &Head<StatsHeader, Totals> {
        &self.head
    }

    /// The folder that all inputs are in, with its `/` at the end; "" for a single one.
    fn folder(&self) -> &str {
        self.seen.folder.name()
    }

    /// What is said of each input.
    fn columns(&self) -> Vec<Column<Examined<FileStats>>> {
        with_times(columns::columns(), self.head.timings())
    }

    /// How many conversations there are.
    pub fn conversations(&self) -> u64 {
        self.seen.conversations
    }

    /// Shows every conversation with its file.
    ///
    /// # Errors
    /// The errors of `show`, and where an entry cannot be read.
    pub fn each_conversation(
        &self,
        show: &mut dyn FnMut(&Examined<FileStats>, &ConversationStats) -> io::Result<()>,
    ) -> io::Result<()> {
        self.entries.each(&mut |file| {
            let mut conversations = file.found.conversations.iter();
            conversations.try_for_each(|conversation| show(file, conversation))
        })
    }
}

impl StatsHeader {
    /// That by a policy with these thresholds, with the `top` largest consumers.
    pub fn new(
        policy: PolicyRef,
        estimator: impl Into<Cow<'static, str>>,
        thresholds: Thresholds,
        top: usize,
    ) -> Self {
        StatsHeader {
            policy,
            estimator: estimator.into(),
            threshold: thresholds.trigger,
            thresholds,
            top,
        }
    }
}
