//! The results of `replay`, for people (a table) and for programs (JSON).
//!
//! Writes only to the given writer. Text from a transcript cannot control the terminal that shows it.

mod columns;
mod page;
mod render;
mod seen;
mod table;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::io;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::PolicyRef;
use super::run::Head;
use super::times::RunTimings;
use crate::outcome::{Entries, Examined, NotRead};
use crate::replay::{FileReplay, Totals};
use seen::Seen;

pub(super) use columns::csv_headers;
pub use table::write as write_replay_table;

/// The results of a replay run. Its inputs may be stored anywhere; all of them were read once.
#[expect(missing_debug_implementations, reason = "entries need not have one")]
pub struct Replays<'e> {
    pub(super) head: Head<ReplayHeader, Totals>,
    entries: &'e dyn Entries<Examined<FileReplay>>,
    seen: Seen,
}

/// How a run replayed. The fields are the JSON keys, in order.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ReplayHeader {
    /// The policies, in the order used in each session.
    pub policies: Vec<PolicyRef>,
    /// The name of the estimator that counted for all of them.
    pub estimator: Cow<'static, str>,
}

/// How much to show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Detail {
    /// The sums for each policy.
    Totals,
    /// Also each turn, and each step at which something happened.
    Timeline,
}

impl<'e> Replays<'e> {
    /// The sums over `entries`, which are in path order.
    ///
    /// # Errors
    /// If an entry cannot be read.
    pub fn of(
        about: ReplayHeader,
        entries: &'e dyn Entries<Examined<FileReplay>>,
    ) -> io::Result<Self> {
        let names = about.policies.iter().map(|policy| policy.name.clone());
        let (seen, totals) = Seen::of(entries, names)?;
        Ok(Replays {
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
    pub fn head(&self) -> &Head<ReplayHeader, Totals> {
        &self.head
    }
}
