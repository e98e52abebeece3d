//! The results of `replay`, for people (a table) and for programs (JSON).
//!
//! Writes only to the writer that it is given. Text from a transcript cannot steer the terminal that shows it.

mod page;
mod render;
mod table;
#[cfg(test)]
mod tests;

use std::io::{self, Write};

use serde::Serialize;

use super::json::write_pretty;
use super::{PolicyRef, SCHEMA_VERSION};
use crate::outcome::FileRecord;
use crate::replay::{FileReplay, Totals};

pub use table::write as write_replay_table;

/// What a run has replayed. The fields are the JSON's keys, in its order.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Replays {
    schema_version: u32,
    version: &'static str,
    /// The policies, in the order in which each session has them.
    policies: Vec<PolicyRef>,
    /// The name of the estimator that counted for all of them.
    estimator: &'static str,
    totals: Totals,
    files: Vec<FileRecord<FileReplay>>,
}

/// How much is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Detail {
    /// The sums for each policy.
    Totals,
    /// Also each turn, and each step at which something happened.
    Timeline,
}

impl Replays {
    /// The sums over all inputs.
    pub fn totals(&self) -> &Totals {
        &self.totals
    }

    /// The sums over `files`, which are in path order.
    pub fn new(
        policies: Vec<PolicyRef>,
        estimator: &'static str,
        files: Vec<FileRecord<FileReplay>>,
    ) -> Self {
        let names = policies.iter().map(|policy| policy.name.clone());
        Replays {
            schema_version: SCHEMA_VERSION,
            version: env!("CARGO_PKG_VERSION"),
            totals: Totals::of(&files, names),
            policies,
            estimator,
            files,
        }
    }
}

/// Writes one indented JSON object, and a line end after it.
///
/// Errors are the writer's.
pub fn write_replay_json(replays: &Replays, out: &mut dyn Write) -> io::Result<()> {
    write_pretty(replays, out)
}
