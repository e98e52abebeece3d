//! `ctxpack report`: a report in another form, without another run; and several reports in one.
//!
//! Reads reports only, never transcripts.

use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};

use super::reports::{Planned, ReportArgs, RowArgs, write_all};
use super::{Context, flush, stdout_failed};
use crate::error::{Error, ErrorKind, Result};
use crate::outcome::{NoticeLevel, Notices};
use crate::report::{AnyReport, CsvRows, read};
use crate::store::read_regular;

/// A larger report is refused.
const MOST: u64 = 4 << 30;

/// Render a report again, or add several up.
///
/// FILE is a .json or .jsonl report of compact, stats, replay or eval. Without -o, the table is printed.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub(super) struct ReportCommand {
    #[command(subcommand)]
    verb: Option<Verb>,
    /// The report
    #[arg(required = true, value_name = "FILE")]
    file: Option<PathBuf>,
    /// Others, to be told how several are added up
    #[arg(hide = true, value_name = "FILE")]
    others: Vec<PathBuf>,
    #[command(flatten)]
    out: Out,
}

/// Where it goes: here alone `-o` is a report.
#[derive(Debug, Args)]
struct Out {
    /// Write it to OUT as .json, .jsonl, .csv, .md or .html; repeatable
    #[arg(short, long = "report", value_name = "OUT")]
    out: Vec<PathBuf>,
    #[command(flatten)]
    rows: RowArgs,
}

impl Out {
    /// `finer` is what rows can be beside files.
    fn planned(&self, finer: &[CsvRows]) -> Result<Vec<Planned>> {
        let reports = ReportArgs::to(self.out.clone());
        self.rows.of(reports.checked()?, finer)
    }
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Add up several reports of compact, or of stats: all their inputs, with new totals
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
            (Some(Verb::Merge { files, out }), _) => {
                let files = files.iter().map(|file| load(file));
                let reports = files.collect::<Result<Vec<_>>>()?;
                let mut notices = Notices::default();
                for input in read::shared(&reports) {
                    let message = "in more than one of the reports, and counted in each";
                    notices.add(
                        NoticeLevel::Warning,
                        "counted_twice",
                        message,
                        None,
                        (input, None),
                    );
                }
                context.notices(notices);
                let merged = read::merge(reports)?;
                tell(context, &out.planned(merged.finer_rows())?, &merged)
            }
            (None, Some(_)) if !self.others.is_empty() => Err(Error::new(
                ErrorKind::Usage,
                "`ctxpack report` takes one report",
            )
            .hint("`ctxpack report merge FILE...` adds several up")),
            (None, Some(file)) => {
                let report = load(file)?;
                tell(context, &self.out.planned(report.finer_rows())?, &report)
            }
            (None, None) => Err(Error::new(ErrorKind::Usage, "no report is named")),
        }
    }
}

fn load(path: &Path) -> Result<AnyReport> {
    read::read(path, &read_regular(path, MOST)?)
}

/// Writes what was asked for, or else the table to stdout.
fn tell(context: &Context, planned: &[Planned], report: &AnyReport) -> Result<u8> {
    if planned.is_empty() {
        let mut out = BufWriter::new(io::stdout().lock());
        let screen = context.color.screen(&io::stdout());
        let written = report.write_table(screen, &mut out);
        written.map_err(|e| stdout_failed(&e))?;
        flush(&mut out)?;
        return Ok(0);
    }
    Ok(if write_all(context, planned, report) {
        0
    } else {
        2
    })
}
