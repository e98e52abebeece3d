//! The results of `eval`, for people (tables), for programs (JSON) and for data frames (CSV).
//!
//! Writes only to the given writer. Text from a transcript cannot control the terminal that shows it.

mod columns;
mod page;
mod render;
mod rounds;
mod table;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::io::{self, Write};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::PolicyRef;
use super::csv;
use super::run::Head;
use super::times::RunTimings;
use crate::eval::{Budget, FileEval, Totals};
use crate::outcome::{Entries, Examined, NotRead, Timings};

use columns::{Row, columns};

pub(super) use columns::csv_header;
pub use table::write as write_eval_table;

/// The measurements of a run. Its inputs may be stored anywhere.
#[expect(missing_debug_implementations, reason = "entries need not have one")]
pub struct Evals<'e> {
    pub(super) head: Head<EvalHeader, Totals>,
    entries: &'e dyn Entries<Examined<FileEval>>,
}

/// How a run measured. The fields are the JSON keys, in order.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EvalHeader {
    /// The policies, without their budgets.
    pub policies: Vec<PolicyRef>,
    /// The vocabulary that counts for all of them.
    pub vocabulary: Cow<'static, str>,
    /// Budgets in percent of the tokens before a cut; null for a policy with its own settings.
    pub budgets: Vec<Budget>,
}

/// Which rows to show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rows {
    /// The rows of the whole run.
    Totals,
    /// Also the rows of each session.
    Sessions,
}

impl EvalHeader {
    /// The header for these policies and budgets.
    pub fn new(policies: Vec<PolicyRef>, budgets: Vec<Budget>) -> Self {
        EvalHeader {
            policies,
            vocabulary: "cl100k_base".into(),
            budgets,
        }
    }
}

impl<'e> Evals<'e> {
    /// The means over `entries`, which are in path order.
    ///
    /// # Errors
    /// If an entry cannot be read.
    pub fn of(about: EvalHeader, entries: &'e dyn Entries<Examined<FileEval>>) -> io::Result<Self> {
        let totals = Totals::of(entries)?;
        Ok(Evals::recorded(about, totals, entries))
    }

    /// The report with means that were computed before: those from the scores of a report, which are rounded, may differ.
    pub(super) fn recorded(
        about: EvalHeader,
        totals: Totals,
        entries: &'e dyn Entries<Examined<FileEval>>,
    ) -> Self {
        Evals {
            head: Head::new(about, totals),
            entries,
        }
    }

    /// The same report, also saying what was not read.
    #[must_use]
    pub fn with_not_read(mut self, not_read: Vec<NotRead>) -> Self {
        self.head.not_read = not_read;
        self
    }

    /// The same report, also saying how long the run and its phases took.
    ///
    /// # Errors
    /// If an entry cannot be read.
    pub fn with_timings(mut self, wall: Option<Duration>) -> io::Result<Self> {
        let Some(wall) = wall else {
            return Ok(self);
        };
        let mut phases = Timings::default();
        self.entries.each(&mut |file| {
            if let Some(timings) = &file.file.timings {
                phases += timings;
            }
            Ok(())
        })?;
        self.head.timings = Some(RunTimings::new(wall, phases));
        Ok(self)
    }

    /// What it says about the run as a whole.
    pub fn head(&self) -> &Head<EvalHeader, Totals> {
        &self.head
    }
}

/// Writes a header and a row for each method and budget; rows of the whole run have an empty path.
///
/// Errors are the writer's, and those of entries that cannot be read.
pub fn write_eval_csv(evals: &Evals<'_>, rows: Rows, out: &mut dyn Write) -> io::Result<()> {
    let all = evals.head.totals.scores.iter().map(|of| Row {
        path: "",
        session: "",
        of,
    });
    csv::write(&columns(), all, out)?;
    match rows {
        Rows::Totals => Ok(()),
        Rows::Sessions => evals.entries.each(&mut |file| {
            let sessions = file.found.sessions.iter().flat_map(|session| {
                session.scores.iter().map(|of| Row {
                    path: &file.file.path,
                    session: &session.id,
                    of,
                })
            });
            csv::write_rows(&columns(), sessions, out)
        }),
    }
}
