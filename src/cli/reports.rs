//! `--report FILE`: where reports go, what may be replaced there, and how they are written.
//!
//! The rules are the same for every command. Never replaces a file that is not a report of ctxpack, unless the user says so.

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};

use super::Context;
use crate::batch::Overwrite;
use crate::error::{Error, ErrorKind, Result};
use crate::report::{CsvRows, Render, ReportFormat, is_report};
use crate::store::atomic::{AtomicWriter, Existing, Mode, sweep_beside};
use crate::store::folder::{Durability, names_folder};
use crate::store::{FileIdentity, Missing, OpenPath, resolved};

/// The heading of flags on outputs.
pub(super) const OUTPUT: &str = "Output";

/// Which reports to write.
#[derive(Debug, Args)]
pub(super) struct ReportArgs {
    /// Write a report as .json, .jsonl, .csv, .md or .html; repeatable
    #[arg(long = "report", value_name = "FILE", help_heading = OUTPUT)]
    reports: Vec<PathBuf>,
}

/// What the rows of CSV reports are.
#[derive(Debug, Args)]
pub(super) struct RowArgs {
    /// What a row of a .csv report is [default: file]
    #[arg(long, value_enum, value_name = "WHAT", help_heading = OUTPUT)]
    csv_rows: Option<Row>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Row {
    /// An input
    File,
    /// Something that was done to a conversation (compact, report)
    Action,
    /// A turn of a conversation (stats, replay)
    Turn,
    /// A conversation (stats)
    Conversation,
}

impl RowArgs {
    /// The reports with these rows. `finer` lists what the command supports besides files.
    pub(super) fn of(&self, planned: Vec<Planned>, finer: &[CsvRows]) -> Result<Vec<Planned>> {
        let Some(row) = self.csv_rows else {
            return Ok(planned);
        };
        let rows = match row {
            Row::File => CsvRows::File,
            Row::Action => CsvRows::Action,
            Row::Turn => CsvRows::Turn,
            Row::Conversation => CsvRows::Conversation,
        };
        if rows != CsvRows::File && !finer.contains(&rows) {
            let message = "this command has no such rows";
            return Err(Error::new(ErrorKind::Usage, message)
                .hint("actions are those of compact and report; turns those of stats and replay; conversations those of stats"));
        }
        let mut is_used = false;
        let with_rows = |(path, format): Planned| match format {
            ReportFormat::Csv(_) => {
                is_used = true;
                (path, ReportFormat::Csv(rows))
            }
            ReportFormat::Json
            | ReportFormat::Jsonl
            | ReportFormat::Markdown
            | ReportFormat::Html => (path, format),
        };
        let planned = planned.into_iter().map(with_rows).collect();
        if !is_used {
            return Err(
                Error::new(ErrorKind::Usage, "--csv-rows needs a .csv report")
                    .hint("add --report FILE.csv"),
            );
        }
        Ok(planned)
    }
}

/// A report that is to be written.
pub(super) type Planned = (PathBuf, ReportFormat);

impl ReportArgs {
    /// Reports to these files.
    pub(super) fn to(reports: Vec<PathBuf>) -> Self {
        ReportArgs { reports }
    }

    /// The requested reports; an extension that does not name a format is a usage error.
    pub(super) fn planned(&self) -> Result<Vec<Planned>> {
        let reports = self.reports.iter();
        reports
            .map(|path| {
                // The extension of `out.html/` names a format, too.
                if names_folder(path) {
                    let message = "a report needs a file, and this is a folder";
                    return Err(Error::new(ErrorKind::Usage, message)
                        .at(path)
                        .hint("name a file: .json, .jsonl, .csv, .md or .html"));
                }
                Ok((path.clone(), ReportFormat::from_path(path)?))
            })
            .collect()
    }

    /// The same, for a command that only reads: a report that cannot be written is an error before the work begins.
    pub(super) fn checked(&self) -> Result<Vec<Planned>> {
        let planned = self.planned()?;
        check_each(&planned, Overwrite::OwnOnly)?;
        for (path, _) in &planned {
            if let Ok(spot) = OpenPath::named(path, Missing::Refuse) {
                sweep_beside(&spot);
            }
        }
        Ok(planned)
    }
}

/// The hint if a report may not replace an existing file, for commands without `--overwrite`.
const ELSEWHERE: &str = "--report FILE writes elsewhere";

/// Gives the hint for a command that has `--overwrite`.
fn may_overwrite(error: Error) -> Error {
    match error.kind {
        ErrorKind::Exists => error.hint(format!("--overwrite replaces it; {ELSEWHERE}")),
        _ => error,
    }
}

/// Fails if a report would replace what it may not; for a command that has `--overwrite`.
pub(super) fn check(planned: &[Planned], overwrite: Overwrite) -> Result<()> {
    check_each(planned, overwrite).map_err(may_overwrite)
}

/// Fails if a report would replace one of these files, the named inputs and the output: not even `--overwrite` allows that. Inputs
/// that a walk finds have the names of transcripts, which no report replaces.
pub(super) fn check_apart<'p>(
    planned: &[Planned],
    others: impl Iterator<Item = Result<Cow<'p, Path>>>,
) -> Result<()> {
    if planned.is_empty() {
        return Ok(());
    }
    let reports: Vec<PathBuf> = planned.iter().map(|(path, _)| resolved(path)).collect();
    let mut first = reports.len();
    for other in others {
        let other = resolved(&other?);
        let same = reports.iter().position(|report| *report == other);
        first = same.map_or(first, |same| same.min(first));
    }
    match planned.get(first) {
        None => Ok(()),
        Some((path, _)) => {
            let message = "the report would replace an input or an output of this run";
            Err(Error::new(ErrorKind::Usage, message)
                .at(path)
                .hint(ELSEWHERE))
        }
    }
}

fn check_each(planned: &[Planned], overwrite: Overwrite) -> Result<()> {
    for (path, format) in planned {
        if let Ok(spot) = OpenPath::named(path, Missing::Refuse) {
            existing(&spot, *format, overwrite)?;
        }
    }
    Ok(())
}

/// Writes all of them, and prints what went wrong; returns whether all were written.
pub(super) fn write_all(context: &Context, planned: &[Planned], report: &dyn Render) -> bool {
    let mut all = true;
    for (path, format) in planned {
        let spot = OpenPath::named(path, Missing::Make);
        let written = spot.and_then(|spot| write_one(&spot, report, *format, Overwrite::OwnOnly));
        if let Err(error) = written {
            context.error(&error);
            all = false;
        }
    }
    all
}

/// Writes one report, for a command that has `--overwrite`; returns the identity of the file, if it is known.
pub(super) fn write(
    spot: OpenPath,
    report: &dyn Render,
    format: ReportFormat,
    overwrite: Overwrite,
) -> Result<Option<FileIdentity>> {
    write_one(&spot, report, format, overwrite).map_err(may_overwrite)
}

fn write_one(
    spot: &OpenPath,
    report: &dyn Render,
    format: ReportFormat,
    overwrite: Overwrite,
) -> Result<Option<FileIdentity>> {
    let try_once = || {
        let existing = existing(spot, format, overwrite)?;
        // Outputs have flags of their own; a report has this one, whatever the command.
        let file = AtomicWriter::create(spot.clone(), existing, Mode::Default, Durability::Lazy);
        let mut file = file.map_err(|error| match error.kind {
            ErrorKind::Io => error.hint(ELSEWHERE),
            _ => error,
        })?;
        let written = report.render(format, &mut file);
        written.map_err(|e| Error::io(spot.path(), "write the report", e))?;
        file.commit_seen()
    };
    match try_once() {
        // Another run of the same command may just have written its own, which may be replaced like any other.
        Err(error) if error.kind == ErrorKind::Exists => try_once(),
        written => written,
    }
}

/// Whether an existing file may be replaced.
fn existing(spot: &OpenPath, format: ReportFormat, overwrite: Overwrite) -> Result<Existing> {
    if spot.look()?.is_none() {
        return Ok(Existing::Refuse);
    }
    let may_be_transcript = matches!(format, ReportFormat::Jsonl);
    if overwrite == Overwrite::Any && !may_be_transcript {
        return Ok(Existing::Overwrite);
    }
    let ends = ends(spot.read()?).map_err(|e| Error::io(spot.path(), "read", e))?;
    if is_report(&ends, format) {
        return Ok(Existing::Overwrite);
    }
    if overwrite == Overwrite::Any {
        if ends.is_empty() {
            return Ok(Existing::Overwrite);
        }
        // Uses an error kind of its own: the hint for existing files would suggest overwriting it.
        let message =
            "a file of that name exists and may be a transcript, which a report never replaces";
        return Err(Error::new(ErrorKind::Usage, message)
            .at(spot.path())
            .hint(ELSEWHERE));
    }
    Err(Error::new(
        ErrorKind::Exists,
        "a file of that name exists, and it is not a report of ctxpack",
    )
    .at(spot.path())
    .hint(ELSEWHERE))
}

/// The beginning and end of a file: enough to recognise a report of ours, however large the file may be.
fn ends(mut file: File) -> io::Result<Vec<u8>> {
    const ENOUGH: u64 = 64 << 10;
    let length = file.metadata()?.len();
    let mut bytes = Vec::new();
    if length <= 2 * ENOUGH {
        file.take(length).read_to_end(&mut bytes)?;
        return Ok(bytes);
    }
    Read::by_ref(&mut file)
        .take(ENOUGH)
        .read_to_end(&mut bytes)?;
    file.seek(SeekFrom::End(-(ENOUGH as i64)))?;
    file.take(ENOUGH).read_to_end(&mut bytes)?;
    Ok(bytes)
}
