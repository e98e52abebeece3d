//! The results of `diff`: of one compaction, and of two policies on the same input; for people, for programs, as a page.
//!
//! Writes only to the given writer. Text from a transcript cannot control the terminal that shows it.

mod compared;
mod listing;
mod page;
mod paint;
mod read;
mod render;
mod stat;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::io::{self, Write};

use serde::{Deserialize, Serialize};

use super::json::write_pretty;
use super::{PolicyRef, SCHEMA_VERSION, Screen};
use crate::diff::{Diff, Fate, Stat, compare::Comparison};
use crate::text::thousands;

pub use compared::{write as write_comparison, write_differences};
pub use listing::write as write_diff;
pub(super) use read::{AboutFiles, AboutPolicies};
pub(super) use render::CSV_HEADERS;
pub use stat::{write_comparison_stat, write_diff_stat};

/// The fates of the messages of a transcript. The fields are the JSON keys, in order.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DiffReport {
    schema_version: u32,
    version: Cow<'static, str>,
    /// The policy by which tokens are counted.
    policy: PolicyRef,
    estimator: Cow<'static, str>,
    format: Cow<'static, str>,
    old: Compared,
    new: Compared,
    /// The report that provided the reasons.
    record: Option<String>,
    stat: Vec<Stat>,
    #[serde(flatten)]
    diff: Diff,
}

/// The results of two policies on the same transcript. The fields are the JSON keys, in order.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ComparisonReport {
    schema_version: u32,
    version: Cow<'static, str>,
    policies: Vec<PolicyRef>,
    estimator: Cow<'static, str>,
    format: Cow<'static, str>,
    input: Compared,
    #[serde(flatten)]
    comparison: Comparison,
}

/// A file that is compared.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Compared {
    /// Its path as given, or a description.
    pub path: String,
    /// Its hash on disk; `None` if it was made in memory.
    pub hash: Option<String>,
    /// Its size in bytes, unpacked.
    pub bytes: u64,
}

impl DiffReport {
    /// The report on a diff of these two.
    pub fn new(
        policy: PolicyRef,
        estimator: &'static str,
        format: &'static str,
        [old, new]: [Compared; 2],
        record: Option<String>,
        diff: Diff,
    ) -> Self {
        DiffReport {
            schema_version: SCHEMA_VERSION,
            version: env!("CARGO_PKG_VERSION").into(),
            policy,
            estimator: estimator.into(),
            format: format.into(),
            old,
            new,
            record,
            stat: crate::diff::stat(&diff),
            diff,
        }
    }

    /// Writes the listing for this screen.
    pub(super) fn write_listing(&self, screen: Screen, out: &mut dyn Write) -> io::Result<()> {
        write_diff(self, screen.width, screen.ink, out)
    }

    /// What was found.
    pub fn diff(&self) -> &Diff {
        &self.diff
    }
}

impl ComparisonReport {
    /// The report on the results of these two policies on an input.
    pub fn new(
        policies: [PolicyRef; 2],
        estimator: &'static str,
        format: &'static str,
        input: Compared,
        comparison: Comparison,
    ) -> Self {
        ComparisonReport {
            schema_version: SCHEMA_VERSION,
            version: env!("CARGO_PKG_VERSION").into(),
            policies: policies.into(),
            estimator: estimator.into(),
            format: format.into(),
            input,
            comparison,
        }
    }

    /// Writes the listing for this screen.
    pub(super) fn write_listing(&self, screen: Screen, out: &mut dyn Write) -> io::Result<()> {
        write_comparison(self, screen.width, screen.ink, out)
    }

    /// What was found.
    pub fn comparison(&self) -> &Comparison {
        &self.comparison
    }

    /// The names of the two policies.
    fn names(&self) -> [&str; 2] {
        match &self.policies[..] {
            [first, second, ..] => [&first.name, &second.name],
            _ => ["", ""],
        }
    }
}

/// Writes one indented JSON object, followed by a line ending.
///
/// # Errors
/// The writer's.
pub fn write_diff_json(report: &DiffReport, out: &mut dyn Write) -> io::Result<()> {
    write_pretty(report, out)
}

/// Writes one indented JSON object, followed by a line ending.
///
/// # Errors
/// The writer's.
pub fn write_comparison_json(report: &ComparisonReport, out: &mut dyn Write) -> io::Result<()> {
    write_pretty(report, out)
}

/// `12 345 → 2 345`
fn change(before: u64, after: u64) -> String {
    format!("{} → {}", thousands(before), thousands(after))
}

/// The relative change of an amount: `−81.0%`.
fn share(before: u64, after: u64) -> String {
    if before == 0 {
        return "no tokens before".to_owned();
    }
    let percent = before.abs_diff(after) as f64 * 100.0 / before as f64;
    let sign = if after > before { "+" } else { "−" };
    match before == after {
        true => "the same".to_owned(),
        false => format!("{sign}{percent:.1}%"),
    }
}

/// The sign in front of a line, as in diffs.
fn sign(fate: Fate) -> char {
    match fate {
        Fate::Kept => ' ',
        Fate::Cleared | Fate::Offloaded | Fate::Demoted | Fate::Edited => '~',
        Fate::Summarised | Fate::Dropped => '-',
        Fate::Summary | Fate::Acknowledgement | Fate::Inserted => '+',
    }
}
