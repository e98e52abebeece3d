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

use serde::{Deserialize, Serialize};

use super::csv;
use super::{PolicyRef, RunReport};
use crate::eval::{Budget, FileEval, Totals};
use crate::outcome::Examined;

use columns::{Row, columns};

pub(super) use columns::csv_header;
pub use table::write as write_eval_table;

/// The measurements of a run.
pub type Evals = RunReport<EvalHeader, Totals, Examined<FileEval>>;

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

impl Evals {
    /// The means over `files`, which are in path order.
    pub fn new(
        policies: Vec<PolicyRef>,
        budgets: Vec<Budget>,
        files: Vec<Examined<FileEval>>,
    ) -> Self {
        let about = EvalHeader {
            policies,
            vocabulary: "cl100k_base".into(),
            budgets,
        };
        RunReport::of(about, Totals::of(&files), files)
    }

    /// The same report read back, with its recorded means: means computed from its scores, which are rounded, may differ.
    pub(super) fn read_back(
        about: EvalHeader,
        totals: Totals,
        files: Vec<Examined<FileEval>>,
    ) -> std::result::Result<Self, String> {
        let counted = Totals::of(&files);
        let ways = |totals: &Totals| -> Vec<(String, String)> {
            let scores = totals.scores.iter();
            scores
                .map(|of| (of.method.clone(), of.budget.to_string()))
                .collect()
        };
        let sizes = |totals: &Totals| (totals.sessions, totals.cuts);
        if sizes(&counted) != sizes(&totals) || ways(&counted) != ways(&totals) {
            return Err("its totals are not those of its files".to_owned());
        }
        Ok(RunReport::of(about, totals, files))
    }
}

/// Writes a header and a row for each method and budget; rows of the whole run have an empty path.
///
/// Errors are the writer's.
pub fn write_eval_csv(evals: &Evals, rows: Rows, out: &mut dyn Write) -> io::Result<()> {
    let all = evals.head.totals.scores.iter().map(|of| Row {
        path: "",
        session: "",
        of,
    });
    let sessions = match rows {
        Rows::Totals => &[][..],
        Rows::Sessions => &evals.files,
    };
    let sessions = sessions.iter().flat_map(|file| {
        file.found.sessions.iter().flat_map(|session| {
            session.scores.iter().map(|of| Row {
                path: &file.file.path,
                session: &session.id,
                of,
            })
        })
    });
    csv::write(&columns(), all.chain(sessions), out)
}
