//! `--report FILE`: the result of a check as a file, in the format of its extension.
//!
//! `cli::reports` determines, for all reports alike, what may be replaced and how files are written; only `check` writes JUnit XML.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::json::entry;
use crate::cli::check::verdict::{Checked, Verdict};
use crate::cli::reports::{Planned, ReportArgs, RowArgs, write_all};
use crate::cli::{Context, json_line};
use crate::error::{Error, ErrorKind, Result};
use crate::outcome::path_text;
use crate::report::{Render, ReportFormat, csv_text};
use crate::store::atomic::{Existing, Mode, write};
use crate::store::folder::Durability;
use crate::store::{Missing, OpenPath, read_regular};
use crate::text::printable;

/// The beginning of every XML report of this program.
const XML_BEGINS: &[u8] = b"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites ";
/// What every such report contains.
const XML_HAS: &[u8] = b"<testsuite name=\"ctxpack check\" ";
/// The size limit of reports that are replaced.
const MAX_REPORT_BYTES: u64 = 1 << 30;

/// The requested reports.
pub(in crate::cli::check) struct CheckReports {
    planned: Vec<Planned>,
    junit: Vec<PathBuf>,
}

impl CheckReports {
    /// The reports with these names; a report that cannot be written is an error before the work begins.
    pub(in crate::cli::check) fn checked(files: &[PathBuf]) -> Result<Self> {
        let is_junit = |file: &&PathBuf| {
            let ending = file.extension().unwrap_or_default();
            ending.eq_ignore_ascii_case("xml")
        };
        let (junit, others): (Vec<&PathBuf>, Vec<&PathBuf>) = files.iter().partition(is_junit);
        let junit: Vec<PathBuf> = junit.into_iter().cloned().collect();
        for file in &junit {
            may_replace(file)?;
        }
        let planned = ReportArgs::to(others.into_iter().cloned().collect());
        let planned = planned.checked().map_err(with_xml)?;
        Ok(CheckReports { planned, junit })
    }

    /// The same, with these rows in CSV.
    pub(in crate::cli::check) fn with_rows(self, rows: &RowArgs) -> Result<Self> {
        let planned = rows.of(self.planned, &[])?;
        Ok(CheckReports { planned, ..self })
    }

    /// Writes all of them, and prints what went wrong; returns whether all were written.
    pub(in crate::cli::check) fn write(&self, context: &Context, checked: &Checked) -> bool {
        let mut all = write_all(context, &self.planned, checked);
        for file in &self.junit {
            if let Err(error) = write_xml(file, checked) {
                context.error(&error);
                all = false;
            }
        }
        all
    }
}

/// An unknown ending's error, with the one that only `check` knows.
fn with_xml(error: Error) -> Error {
    let hint = error.hint.as_deref().unwrap_or_default();
    if error.kind == ErrorKind::Usage && hint.starts_with("use one of ") {
        return error.hint("use one of .json, .jsonl, .csv, .md, .html, .xml");
    }
    error
}

fn write_xml(file: &Path, checked: &Checked) -> Result<()> {
    may_replace(file)?;
    let mut xml = Vec::new();
    checked
        .write_junit(&mut xml)
        .map_err(|e| Error::io(file, "write the report", e))?;
    let spot = OpenPath::named(file, Missing::Make)?;
    let existing = Existing::Overwrite;
    write(spot, &xml, existing, Mode::Default, Durability::Lazy).map(drop)
}

/// Fails if there is a file that is not a report of this program.
fn may_replace(file: &Path) -> Result<()> {
    if file.symlink_metadata().is_err() {
        return Ok(());
    }
    let bytes = read_regular(file, MAX_REPORT_BYTES)?;
    let is_ours = bytes.starts_with(XML_BEGINS) && memchr::memmem::find(&bytes, XML_HAS).is_some();
    if is_ours {
        return Ok(());
    }
    let message = "a file of that name exists, and it is not a report of ctxpack";
    Err(Error::new(ErrorKind::Exists, message)
        .at(file)
        .hint("--report FILE writes elsewhere"))
}

impl Render for Checked {
    fn render(&self, format: ReportFormat, out: &mut dyn Write) -> io::Result<()> {
        match format {
            ReportFormat::Json => self.write_json(out),
            ReportFormat::Jsonl => {
                for (case, verdict) in &self.cases {
                    writeln!(out, "{}", json_line(&entry(case, verdict)))?;
                }
                writeln!(out, "{}", json_line(&self.head()))
            }
            ReportFormat::Csv(_) => self.csv(out),
            ReportFormat::Markdown => self.markdown(out),
            ReportFormat::Html => self.page(out),
        }
    }
}

impl Checked {
    fn csv(&self, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "case,check,message")?;
        for (case, verdict) in &self.cases {
            let (status, message) = row(verdict);
            let case = csv_text(&path_text(case.path()));
            writeln!(out, "{case},{status},{}", csv_text(&message))?;
        }
        Ok(())
    }
}

/// A verdict in a word and a line.
pub(super) fn row(verdict: &Verdict) -> (&'static str, String) {
    match verdict {
        Verdict::Same => ("same", String::new()),
        Verdict::Updated => ("updated", String::new()),
        Verdict::Differs(difference) => ("differs", difference.first_line().to_owned()),
        Verdict::Failed(error) => ("failed", printable(&error.to_string()).into_owned()),
    }
}
