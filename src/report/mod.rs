//! Reports: the outcomes of a run's inputs in path order, their totals and the policy, rendered in several formats.
//!
//! Writes only to the given writer. Never contains a host name, and times only if the user asked for them. On a terminal, in a
//! spreadsheet or on a web page, text from a transcript is shown as plain text only.

use std::io::{self, Write};
use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::error::{Error, ErrorKind, Result};
use crate::outcome::{Interrupted, Outcome, Totals};

mod cells;
#[cfg(feature = "cli")]
mod check;
mod column;
mod columns;
mod csv;
mod diff;
mod done;
mod eval;
mod groups;
mod html;
mod json;
mod left_out;
mod markdown;
mod page;
mod pieces;
mod quoted;
mod ranking;
pub mod read;
mod reasons;
mod replay;
mod rows;
mod run;
mod screen;
mod stats;
mod streamed;
mod table;
#[cfg(test)]
mod tests;
mod times;
mod view;

#[cfg(feature = "cli")]
pub(crate) use check::{CheckPage, CheckedCase, CheckedMessage, write_check_page};
#[cfg(feature = "cli")]
pub(crate) use csv::text as csv_text;
pub use diff::{
    Compared, ComparisonReport, DiffReport, write_comparison, write_comparison_json,
    write_comparison_stat, write_diff, write_diff_json, write_diff_stat, write_differences,
};
pub use eval::{EvalHeader, Evals, Rows, write_eval_csv, write_eval_table};
pub(crate) use pieces::in_turn;
#[cfg(feature = "cli")]
pub(crate) use quoted::quoted;
pub use read::AnyReport;
pub use replay::{Detail, ReplayHeader, Replays, write_replay_table};
use run::SCHEMA_VERSION;
pub use run::{Head, RunReport};
pub use screen::{Ink, Lines, Screen};
pub use stats::{Stats, StatsHeader, Turns, View, write_stats_table};
pub use streamed::StreamedReport;
pub use table::{Depth, write as write_table};
pub use times::times_line;
use view::View as Viewed;

/// The minimum number of columns that a report with one row per input has had in any version.
const LEAST_COLUMNS: usize = 6;

/// The header lines of all CSV reports.
fn csv_headers() -> Vec<String> {
    let mut headers = vec![
        csv::header(&columns::columns()),
        csv::header(&columns::action_columns()),
        "case,check,message".to_owned(),
    ];
    headers.extend(stats::csv_headers());
    headers.extend(replay::csv_headers());
    headers.push(eval::csv_header());
    headers.extend(diff::CSV_HEADERS.map(str::to_owned));
    headers
}

/// Whether `bytes` begin and end like a report of that format by some version of the program.
pub fn is_report(bytes: &[u8], format: ReportFormat) -> bool {
    let last_line = || {
        bytes
            .trim_ascii_end()
            .rsplit(|b| *b == b'\n')
            .next()
            .unwrap_or_default()
    };
    match format {
        ReportFormat::Json => bytes.starts_with(b"{\n  \"schema_version\":"),
        ReportFormat::Jsonl => last_line().starts_with(b"{\"schema_version\":"),
        ReportFormat::Csv(_) => {
            let first = bytes.split(|b| *b == b'\n').next().unwrap_or_default();
            let first: Vec<&[u8]> = first.trim_ascii_end().split(|b| *b == b',').collect();
            // Versions add columns at the end.
            csv_headers().iter().any(|known| {
                let known: Vec<&[u8]> = known.split(',').map(str::as_bytes).collect();
                let alike = known.iter().zip(&first).take_while(|(a, b)| a == b).count();
                alike == known.len() || alike == first.len() && alike >= LEAST_COLUMNS
            })
        }
        ReportFormat::Markdown => bytes.starts_with(b"**") && last_line().starts_with(b"ctxpack "),
        ReportFormat::Html => {
            let head = &bytes[..bytes.len().min(1024)];
            let has = |what: &[u8]| memchr::memmem::find(head, what).is_some();
            // The title is that of the first versions.
            bytes.starts_with(b"<!DOCTYPE html>")
                && (has(b"<meta name=\"generator\" content=\"ctxpack ")
                    || has(b"<title>ctxpack</title>"))
        }
    }
}

/// What `compact` did.
pub type Report = RunReport<CompactHeader, Totals, Outcome>;

/// How `compact` was run. The fields are the JSON keys, in order.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CompactHeader {
    /// The policy that was in force.
    pub policy: PolicyRef,
    /// What a run would ask a server for, if this was a dry run that would ask one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub estimate: Option<Estimate>,
}

/// What a run would ask a server for. Parts of long conversations and second answers can come on top.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// Requests.
    pub requests: u64,
    /// Their tokens, estimated.
    pub input_tokens: u64,
    /// The maximum number of tokens in their answers.
    pub output_tokens: u64,
    /// Their maximum cost, in the currency of the prices, if prices were given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price: Option<f64>,
}

impl Report {
    /// The report on `files`, which are sorted by input path (in character order) and added up.
    pub fn new(policy: PolicyRef, mut files: Vec<Outcome>) -> Self {
        files.sort_by(|a, b| a.file.path.cmp(&b.file.path));
        let about = CompactHeader {
            policy,
            estimate: None,
        };
        RunReport::of(about, Totals::of(&files), files)
    }

    /// The same report, with what a run would ask a server for.
    #[must_use]
    pub fn with_estimate(mut self, estimate: Option<Estimate>) -> Self {
        self.head.about.estimate = estimate;
        self
    }

    /// The same report, also saying what an interrupted run did not reach.
    #[must_use]
    pub fn with_interrupted(mut self, interrupted: Option<Interrupted>) -> Self {
        self.head.totals.interrupted = interrupted;
        self
    }

    /// What renderings read; `files` are those of the report.
    fn view<'r>(&'r self, files: &'r &'r [Outcome]) -> Viewed<'r> {
        Viewed {
            head: &self.head,
            entries: files,
            diff: None,
        }
    }

    /// The policy that was in force.
    pub fn policy(&self) -> &PolicyRef {
        &self.head.about.policy
    }
}

/// Which policy was in force, precisely enough to repeat the run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PolicyRef {
    /// The preset's name, or the file's own.
    pub name: String,
    /// The hash of every key's effective value.
    pub hash: String,
    /// The keys that differ from the named policy.
    pub overrides: Vec<OverrideRef>,
}

/// A key that was set from outside the policy.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OverrideRef {
    /// The key's full name, such as `clear.keep`.
    pub key: String,
    /// The value in force.
    pub value: Value,
    /// Where it was set: a flag or an environment variable.
    pub origin: String,
}

/// A format that a report file can have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReportFormat {
    /// One object, indented.
    Json,
    /// One line for each input, and a last one for the run.
    Jsonl,
    /// Rows for spreadsheets.
    Csv(CsvRows),
    /// A short table for a pull request.
    Markdown,
    /// A self-contained page.
    Html,
}

/// What a row of a CSV report is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CsvRows {
    /// An input; for `replay` and `eval`, a session under a policy.
    File,
    /// Something that was done to a conversation.
    Action,
    /// A turn of a conversation.
    Turn,
    /// A conversation.
    Conversation,
}

impl ReportFormat {
    const ALL: [ReportFormat; 5] = [
        ReportFormat::Json,
        ReportFormat::Jsonl,
        ReportFormat::Csv(CsvRows::File),
        ReportFormat::Markdown,
        ReportFormat::Html,
    ];

    /// The format that a file's extension names; another extension is a usage error.
    pub fn from_path(path: &Path) -> Result<Self> {
        let extension = path.extension().unwrap_or_default();
        ReportFormat::ALL
            .into_iter()
            .find(|format| extension.eq_ignore_ascii_case(format.extension()))
            .ok_or_else(|| {
                let known = ReportFormat::ALL.map(|format| format!(".{}", format.extension()));
                Error::new(
                    ErrorKind::Usage,
                    "the report's format cannot be told from its extension",
                )
                .at(path)
                .hint(format!("use one of {}", known.join(", ")))
            })
    }

    /// The extension, without its dot.
    pub fn extension(self) -> &'static str {
        match self {
            ReportFormat::Json => "json",
            ReportFormat::Jsonl => "jsonl",
            ReportFormat::Csv(_) => "csv",
            ReportFormat::Markdown => "md",
            ReportFormat::Html => "html",
        }
    }
}

/// What a command has to report, in every format.
pub trait Render {
    /// Writes it in `format`, piece by piece: pass a buffered writer. If it does not have the requested kind of rows, rows of
    /// inputs are written.
    ///
    /// # Errors
    /// The writer's.
    fn render(&self, format: ReportFormat, out: &mut dyn Write) -> io::Result<()>;
}

impl Render for Report {
    fn render(&self, format: ReportFormat, out: &mut dyn Write) -> io::Result<()> {
        streamed::render(self.view(&self.files()), format, out)
    }
}
