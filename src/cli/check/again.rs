//! Reads a report of `check` from its JSON, and renders it again.
//!
//! Runs and reads no cases: the results are those in the report.

use std::borrow::Cow;
use std::io::{self, BufWriter};
use std::path::PathBuf;

use serde::Deserialize;

use super::cases::Case;
use super::changed::Changed;
use super::output::{CheckReports, Listing, OutputFormat};
use super::verdict::{Checked, Difference, Verdict};
use crate::cli::reports::RowArgs;
use crate::cli::shape::Shape;
use crate::cli::{Context, flush, stdout_failed};
use crate::error::{Error, ErrorKind, Result};
use crate::outcome::ReadBack;
use crate::report::PolicyRef;
use crate::report::read::Stored;

/// The contents of a report besides its cases.
#[derive(Deserialize)]
struct About {
    version: String,
    policy: PolicyRef,
    totals: Sums,
}

#[derive(Deserialize)]
struct Sums {
    cases: usize,
    same: usize,
    updated: usize,
    differ: usize,
    failed: usize,
    own_policy: u64,
}

/// Its entry for a case.
#[derive(Deserialize)]
struct Entry {
    case: String,
    status: Status,
    difference: Option<Vec<String>>,
    changed: Option<Changed>,
    error: Option<Fault>,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Status {
    Same,
    Updated,
    Differs,
    Failed,
}

#[derive(Deserialize)]
struct Fault {
    kind: ErrorKind,
    message: String,
    line: Option<u64>,
    hint: Option<String>,
    file: Option<String>,
}

impl ReadBack for Entry {
    fn read_back(json: &[u8]) -> serde_json::Result<Self> {
        serde_json::from_slice(json)
    }
}

/// Renders a report to these files. Prints it to stdout if it is asked for as JSON, or as text if there are no files.
pub(in crate::cli) fn render_again(
    context: &Context,
    stored: Stored<'_>,
    (files, rows): (&[PathBuf], &RowArgs),
    shape: Shape,
) -> Result<u8> {
    let checked = stored.made(checked)?;
    let reports = CheckReports::checked(files)?.with_rows(rows)?;
    let all_written = files.is_empty() || reports.write(context, &checked);
    if files.is_empty() || shape == Shape::Json {
        let mut out = BufWriter::new(io::stdout().lock());
        let format = match shape {
            Shape::Text => OutputFormat::Full,
            Shape::Json => OutputFormat::Json,
        };
        let written = checked.write(format, Listing::of(context.voice), &mut out);
        written.map_err(|e| stdout_failed(&e))?;
        flush(&mut out)?;
    }
    Ok(if all_written { 0 } else { 2 })
}

/// The run to which these entries belong, if the report's sums match them.
fn checked(about: About, entries: Vec<Entry>) -> Result<Checked, String> {
    let cases = entries.into_iter().map(case).collect::<Result<_, _>>()?;
    let checked = Checked {
        version: Cow::Owned(about.version),
        policy: about.policy,
        own: about.totals.own_policy,
        cases,
    };
    let sums = about.totals;
    let said = [sums.same, sums.updated, sums.differ, sums.failed];
    match said == checked.numbers() && sums.cases == checked.cases.len() {
        true => Ok(checked),
        false => Err("its totals are not those of its cases".to_owned()),
    }
}

fn case(entry: Entry) -> Result<(Case, Verdict), String> {
    let verdict = match (entry.status, entry.difference, entry.error) {
        (Status::Same, None, None) => Verdict::Same,
        (Status::Updated, None, None) => Verdict::Updated,
        (Status::Differs, Some(lines), None) => {
            let how = lines.into_iter().map(|line| line + "\n").collect();
            Verdict::Differs(Difference {
                changed: entry.changed,
                // The files that it was compared with may have changed since, so nothing can be accepted.
                ..Difference::lasting(how)
            })
        }
        (Status::Failed, None, Some(fault)) => Verdict::Failed(Error {
            path: fault.file.map(PathBuf::from),
            line: fault.line,
            hint: fault.hint,
            ..Error::new(fault.kind, fault.message)
        }),
        (Status::Same | Status::Updated | Status::Differs | Status::Failed, _, _) => {
            return Err(format!("what it says of {} contradicts itself", entry.case));
        }
    };
    Ok((Case::Folder(PathBuf::from(entry.case)), verdict))
}
