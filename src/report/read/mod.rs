//! Reports of `compact` read back from JSON or JSON lines, and several added up.
//!
//! Sums are computed again and never taken from the file. A report of a later version, or of another command, is refused:
//! nothing is guessed.

use std::collections::BTreeSet;
use std::path::Path;

use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::{PolicyRef, Report, ReportFormat, SCHEMA_VERSION};
use crate::error::{Error, ErrorKind, Result};
use crate::outcome::{NotRead, NotReads, Outcome};

/// What tells whether the rest can be understood.
#[derive(Deserialize)]
struct Mark {
    schema_version: Option<u64>,
}

/// A whole report.
#[derive(Deserialize)]
struct Whole {
    version: String,
    policy: PolicyRef,
    #[serde(default)]
    not_read: Vec<NotRead>,
    files: Vec<Outcome>,
}

/// The last line of JSON lines.
#[derive(Deserialize)]
struct Last {
    version: String,
    policy: PolicyRef,
    #[serde(default)]
    not_read: Vec<NotRead>,
}

/// The report that `bytes`, the content of `path`, are; its extension says in which format.
///
/// # Errors
/// What is not a report of `compact` by this version of the format, with its line.
pub fn read(path: &Path, bytes: &[u8]) -> Result<Report> {
    match ReportFormat::from_path(path)? {
        ReportFormat::Json => {
            check_version(path, 1, bytes)?;
            let whole: Whole = parse(path, 1, bytes)?;
            let report = Report::new(whole.policy, whole.files).by_version(whole.version);
            Ok(report.with_not_read(whole.not_read))
        }
        ReportFormat::Jsonl => {
            let lines: Vec<(usize, &[u8])> = (1..)
                .zip(bytes.split(|b| *b == b'\n'))
                .filter(|(_, line)| !line.trim_ascii().is_empty())
                .collect();
            let Some(((number, last), files)) = lines.split_last() else {
                return Err(Error::new(ErrorKind::Unsupported, "it is empty").at(path));
            };
            check_version(path, *number, last)?;
            let last: Last = parse(path, *number, last)?;
            let files = files.iter();
            let files = files.map(|(number, line)| parse::<Outcome>(path, *number, line));
            let files = files.collect::<Result<_>>()?;
            let report = Report::new(last.policy, files).by_version(last.version);
            Ok(report.with_not_read(last.not_read))
        }
        ReportFormat::Csv(_) | ReportFormat::Markdown | ReportFormat::Html => Err(Error::new(
            ErrorKind::Usage,
            "only .json and .jsonl reports can be read back",
        )
        .at(path)),
    }
}

/// Fails for what has no version that is known.
fn check_version(path: &Path, line: usize, bytes: &[u8]) -> Result<()> {
    let mark: Mark = parse(path, line, bytes)?;
    let version = mark.schema_version.ok_or_else(|| {
        Error::new(
            ErrorKind::Unsupported,
            "it is not a report, or its end is missing",
        )
        .at(path)
        .on_line(line as u64)
        .hint("a report has a schema_version; that of .jsonl is on its last line")
    })?;
    if version != u64::from(SCHEMA_VERSION) {
        return Err(Error::new(
            ErrorKind::Unsupported,
            format!("its schema_version is {version}, and this program reads {SCHEMA_VERSION}"),
        )
        .at(path)
        .on_line(line as u64)
        .hint("render it with the version of ctxpack that made it"));
    }
    Ok(())
}

/// `first` is the number of the first line of `bytes` in the file.
fn parse<T: DeserializeOwned>(path: &Path, first: usize, bytes: &[u8]) -> Result<T> {
    serde_json::from_slice(bytes).map_err(|error| {
        let message = match error.is_data() {
            true => format!("it is not a report on `compact`: {error}"),
            false => format!("it is not JSON: {error}"),
        };
        Error::new(ErrorKind::Unsupported, message)
            .at(path)
            .on_line((first + error.line().max(1) - 1) as u64)
    })
}

/// All inputs of several reports in one. Where they were made under different policies, it names them all.
pub fn merge(reports: Vec<Report>) -> Report {
    let policies = reports.iter().map(|report| report.policy());
    let policy = joined(&policies.collect::<Vec<_>>());
    let mut not_read = NotReads::default();
    for report in &reports {
        not_read.extend(report.head().not_read().to_vec());
    }
    let files = reports.into_iter().flat_map(Report::into_files);
    Report::new(policy, files.collect()).with_not_read(not_read.into_list())
}

fn joined(policies: &[&PolicyRef]) -> PolicyRef {
    if let [first, rest @ ..] = policies
        && rest.iter().all(|policy| policy == first)
    {
        return (*first).clone();
    }
    let names: BTreeSet<&str> = policies.iter().map(|policy| &policy.name[..]).collect();
    let hashes: BTreeSet<&str> = policies.iter().map(|policy| &policy.hash[..]).collect();
    let list = |set: BTreeSet<&str>| set.into_iter().collect::<Vec<_>>().join(" + ");
    PolicyRef {
        name: list(names),
        hash: list(hashes),
        overrides: Vec::new(),
    }
}
