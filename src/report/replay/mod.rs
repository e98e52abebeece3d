//! The results of `replay`, for people (a table) and for programs (JSON).
//!
//! Writes only to the given writer. Text from a transcript cannot control the terminal that shows it.

mod columns;
mod page;
mod render;
mod table;
#[cfg(test)]
mod tests;

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::{PolicyRef, RunReport};
use crate::outcome::Examined;
use crate::replay::{FileReplay, Totals};

pub(super) use columns::csv_headers;
pub use table::write as write_replay_table;

/// The results of a replay run.
pub type Replays = RunReport<ReplayHeader, Totals, Examined<FileReplay>>;

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

impl Replays {
    /// The sums over `files`, which are in path order.
    pub fn new(
        policies: Vec<PolicyRef>,
        estimator: impl Into<Cow<'static, str>>,
        files: Vec<Examined<FileReplay>>,
    ) -> Self {
        let names = policies.iter().map(|policy| policy.name.clone());
        let totals = Totals::of(&files, names);
        let about = ReplayHeader {
            policies,
            estimator: estimator.into(),
        };
        RunReport::of(about, totals, files)
    }
    /// The same report read back; an error says why its sessions do not fit its policies.
    pub(super) fn read_back(
        about: ReplayHeader,
        files: Vec<Examined<FileReplay>>,
    ) -> std::result::Result<Self, String> {
        let policies = about.policies.len();
        let mut sessions = files.iter().flat_map(|file| &file.found.sessions);
        if sessions.any(|session| session.policies.len() != policies) {
            return Err("a session in it was not replayed under all of its policies".to_owned());
        }
        Ok(Replays::new(about.policies, about.estimator, files))
    }
}
