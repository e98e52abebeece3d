//! The results of `stats`, for people (a table) and for programs (JSON).
//!
//! Writes only to the given writer. Text from a transcript cannot control the terminal that shows it.

mod columns;
mod largest;
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

/// The counts of a run. Its inputs may be stored anywhere; all of them were read once.
#[expect(missing_debug_implementations, reason = "entries need not have one")]
pub struct Stats<'e> {
    pub(super) head: Head<StatsHeader, Totals>,
    entries: &'e dyn Entries<Examined<FileStats>>,
    seen: Seen,
}

/// How a run counted. The fields are the JSON keys, in order.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StatsHeader {
    /// The policy by which tokens were counted.
    pub policy: PolicyRef,
    /// The name of the estimator that counted the tokens.
    pub estimator: Cow<'static, str>,
    /// The tokens above which the policy summarises, if it does at all.
    pub threshold: Option<u64>,
    /// All thresholds of the policy.
    pub thresholds: Thresholds,
    /// The maximum number of consumers to list, for an input and for all.
    #[serde(default = "usual_top")]
    pub top: usize,
}

/// The number of consumers if a report does not state it.
fn usual_top() -> usize {
    10
}

/// How much of the counts to show.
#[derive(Debug, Clone, Copy)]
pub struct View {
    /// Where.
    pub screen: Screen,
    /// The maximum number of tools, paths, consumers and conversations.
    pub top: usize,
    /// Which turns.
    pub turns: Turns,
}

/// Which turns to show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Turns {
    /// Some, if there is only one conversation.
    Some,
    /// All turns of each conversation shown.
    All,
}

/// The maximum number of tools, paths, consumers and conversations to show in a comment.
const TOP_OF_MARKDOWN: usize = 10;

impl<'e> Stats<'e> {
    /// The sums over `entries`, which are in path order, with as many of the largest consumers as `about` says.
    ///
    /// # Errors
    /// If an entry cannot be read.
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

    /// The same report, also saying what was not read.
    #[must_use]
    pub fn with_not_read(mut self, not_read: Vec<NotRead>) -> Self {
        self.head.not_read = not_read;
        self
    }

    /// The same report, also saying how long the run and its phases took.
    #[must_use]
    pub fn with_timings(mut self, wall: Option<Duration>) -> Self {
        self.head.timings = wall.map(|wall| RunTimings::new(wall, self.seen.phases.clone()));
        self
    }

    /// What it says about the run as a whole.
    pub fn head(&self) -> &Head<StatsHeader, Totals> {
        &self.head
    }

    /// The folder that contains all inputs, with a trailing `/`; empty for a single input.
    fn folder(&self) -> &str {
        self.seen.folder.name()
    }

    /// The columns shown for each input.
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
    /// The errors of `show`, or if an entry cannot be read.
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
    /// The header for a policy with these thresholds and the `top` largest consumers.
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
