//! `ctxpack report`: renders a report in another form, without another run; and merges several reports into one.
//!
//! Reads reports only, never transcripts. Entries about inputs are on the disk when they are many.

use std::env::temp_dir;
use std::fs::{File, Metadata};
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};

use super::reports::{Planned, ReportArgs, RowArgs, write_all};
use super::shape::{Shape, ShapeArgs};
use super::{Context, check, flush, stdout_failed};
use crate::batch::Spool;
use crate::error::{Error, ErrorKind, Result};
use crate::eval::FileEval;
use crate::outcome::{Examined, NoticeLevel, Notices, Outcome, Totals};
use crate::replay::{self, FileReplay};
use crate::report::read::{self, Command, Merged, Parts};
use crate::report::{AnyReport, CsvRows, Render, ReportFormat};
use crate::stats::{self, FileStats};
use crate::store::open_transcript;
use crate::text::count;

/// A larger report is refused, if it has to be in memory.
const MAX_REPORT_BYTES: u64 = 4 << 30;

/// Render a report again, or add several up.
///
/// FILE is a .json or .jsonl report of compact, stats, replay, eval, check or diff. Without -o, it is printed as text, or as JSON.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
#[command(after_long_help = "\
Examples:
  ctxpack report small/ctxpack.stats.json    the table of a run, again
  ctxpack report run.json -o run.html        the same as a page
  ctxpack report merge 1.json 2.json -o all.csv
                                             the inputs of two shards together")]
pub(super) struct ReportCommand {
    #[command(subcommand)]
    verb: Option<Verb>,
    /// The report
    #[arg(required = true, value_name = "FILE")]
    file: Option<PathBuf>,
    /// More reports (an error: use `report merge`)
    #[arg(hide = true, value_name = "FILE")]
    others: Vec<PathBuf>,
    #[command(flatten)]
    out: Out,
}

/// Where the report goes: only here does `-o` name a report.
#[derive(Debug, Args)]
struct Out {
    /// Write it to OUT as .json, .jsonl, .csv, .md or .html; repeatable
    #[arg(short, long = "report", value_name = "OUT")]
    out: Vec<PathBuf>,
    #[command(flatten)]
    rows: RowArgs,
    #[command(flatten)]
    shape: ShapeArgs,
}

impl Out {
    /// `finer` lists what rows can represent besides files.
    fn planned(&self, finer: &[CsvRows]) -> Result<Vec<Planned>> {
        let reports = ReportArgs::to(self.out.clone());
        self.rows.of(reports.checked()?, finer)
    }
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Add up several reports of compact, or of stats: all their inputs, with new totals
    #[command(after_long_help = "\
Examples:
  ctxpack report merge 1.json 2.json -o all.html
                                             the reports of two shards")]
    Merge {
        /// The reports
        #[arg(required = true, value_name = "FILE")]
        files: Vec<PathBuf>,
        #[command(flatten)]
        out: Out,
    },
}

impl ReportCommand {
    pub(super) fn run(&self, context: &Context) -> Result<u8> {
        match (&self.verb, &self.file) {
            (Some(Verb::Merge { files, out }), _) => merge(context, files, out),
            (None, Some(_)) if !self.others.is_empty() => Err(Error::new(
                ErrorKind::Usage,
                "`ctxpack report` takes one report",
            )
            .hint("`ctxpack report merge FILE...` adds several up")),
            (None, Some(file)) => render(context, file, &self.out),
            (None, None) => Err(Error::new(ErrorKind::Usage, "no report was given")),
        }
    }
}

/// Opens a report.
fn open(path: &Path) -> Result<(File, Metadata)> {
    open_transcript(path).map_err(|error| match error.source {
        Some(_) => error,
        // It is not a regular file.
        None => error.hint("name a .json or .jsonl report of ctxpack"),
    })
}

/// Renders a report again.
fn render(context: &Context, path: &Path, out: &Out) -> Result<u8> {
    let (mut text, metadata) = open(path)?;
    let stored = read::open(path, &mut text)?;
    match stored.command() {
        Command::Compact => {
            let mut outcomes = Spool::<Outcome>::new(&temp_dir());
            let back = stored.compact(&mut |outcome| outcomes.push(outcome))?;
            let outcomes = outcomes.sorted(&mut |_| {})?;
            let report = back.report(outcomes.totals(), &outcomes)?;
            tell(context, out, &AnyReport::Compact(Box::new(report)))
        }
        Command::Stats => {
            let mut counted = Spool::<Examined<FileStats>>::new(&temp_dir());
            let back = stored.stats(&mut |file| counted.push(file))?;
            let counted = counted.sorted(&mut |_| {})?;
            let report = back.report(&counted)?;
            tell(context, out, &AnyReport::Stats(Box::new(report)))
        }
        Command::Replay => {
            let mut replayed = Spool::<Examined<FileReplay>>::new(&temp_dir());
            let back = stored.replay(&mut |file| replayed.push(file))?;
            let replayed = replayed.sorted(&mut |_| {})?;
            let report = back.report(&replayed)?;
            tell(context, out, &AnyReport::Replay(Box::new(report)))
        }
        Command::Eval => {
            let mut measured = Spool::<Examined<FileEval>>::new(&temp_dir());
            let back = stored.eval(&mut |file| measured.push(file))?;
            let measured = measured.sorted(&mut |_| {})?;
            let report = back.report(&measured);
            tell(context, out, &AnyReport::Eval(Box::new(report)))
        }
        Command::Check => {
            check_size(path, &metadata)?;
            check::render_again(context, stored, (&out.out, &out.rows), out.shape.shape())
        }
        Command::Diff => {
            check_size(path, &metadata)?;
            let report = AnyReport::Diff(Box::new(stored.diff()?));
            tell(context, out, &report)
        }
        Command::DiffOfTwo => {
            check_size(path, &metadata)?;
            let report = AnyReport::DiffOfTwo(Box::new(stored.diff_of_two()?));
            tell(context, out, &report)
        }
    }
}

/// Merges reports.
fn merge(context: &Context, files: &[PathBuf], out: &Out) -> Result<u8> {
    let mut parts = Parts::default();
    let mut outcomes = Spool::<Outcome>::new(&temp_dir());
    let mut counted = Spool::<Examined<FileStats>>::new(&temp_dir());
    for path in files {
        let (mut text, _) = open(path)?;
        let stored = read::open(path, &mut text)?;
        let command = stored.command();
        match command {
            Command::Compact => {
                let mut totals = Totals::default();
                let part = stored.compact(&mut |outcome| {
                    totals += &outcome;
                    outcomes.push(outcome)
                })?;
                parts.add_compact(part, &totals)?;
            }
            Command::Stats => {
                let mut totals = stats::Totals::default();
                let part = stored.stats(&mut |file| {
                    totals.add(&file, 0);
                    counted.push(file)
                })?;
                parts.add_stats(part, &totals)?;
            }
            // A damaged report is reported as such, before the error that it cannot be merged.
            Command::Replay => {
                let mut totals = replay::Totals::default();
                let part = stored.replay(&mut |file| {
                    totals.add(&file);
                    Ok(())
                })?;
                part.check(&totals)?;
                parts.add_other(command);
            }
            Command::Eval => {
                stored.eval(&mut |_| Ok(()))?;
                parts.add_other(command);
            }
            Command::Check | Command::Diff | Command::DiffOfTwo => parts.add_other(command),
        }
    }
    let mut twice = Twice::default();
    match parts.merged()? {
        Merged::Compact(merged) => {
            let outcomes = outcomes.sorted(&mut |path| twice.see(path))?;
            context.notices(twice.notices);
            let report = merged.report(outcomes.totals(), &outcomes);
            tell(context, out, &AnyReport::Compact(Box::new(report)))
        }
        Merged::Stats(merged) => {
            let counted = counted.sorted(&mut |path| twice.see(path))?;
            context.notices(twice.notices);
            let report = merged.report(&counted)?;
            tell(context, out, &AnyReport::Stats(Box::new(report)))
        }
    }
}

/// The inputs that occur more than once in a sorted sequence of paths. For standard input, this is unknown.
#[derive(Default)]
struct Twice {
    last: String,
    notices: Notices,
}

impl Twice {
    fn see(&mut self, path: &str) {
        if path == self.last && path != "-" {
            let message =
                "these reports contain this input more than once; it is counted each time";
            let (level, kind) = (NoticeLevel::Warning, "counted_twice");
            self.notices.add(level, kind, message, None, (path, None));
        }
        path.clone_into(&mut self.last);
    }
}

/// The entries of `check` and `diff` are held in memory, so a report that would not fit is rejected.
fn check_size(path: &Path, metadata: &Metadata) -> Result<()> {
    if metadata.len() <= MAX_REPORT_BYTES {
        return Ok(());
    }
    let message = format!("it has more than {}", count(MAX_REPORT_BYTES, "byte"));
    let error = Error::new(ErrorKind::Io, message).at(path);
    Err(error.hint("ctxpack never writes files this large; check what it is"))
}

/// Writes the requested reports. Prints the report to stdout if it is asked for as JSON, or the table if no file is.
fn tell(context: &Context, out: &Out, report: &AnyReport<'_>) -> Result<u8> {
    let planned = out.planned(report.finer_rows())?;
    let all_written = planned.is_empty() || write_all(context, &planned, report);
    let shape = out.shape.shape();
    if planned.is_empty() || shape == Shape::Json {
        let mut out = BufWriter::new(io::stdout().lock());
        let written = match shape {
            Shape::Text => report.write_table(context.color.screen(&io::stdout()), &mut out),
            Shape::Json => report.render(ReportFormat::Json, &mut out),
        };
        written.map_err(|e| stdout_failed(&e))?;
        flush(&mut out)?;
    }
    Ok(if all_written { 0 } else { 2 })
}
