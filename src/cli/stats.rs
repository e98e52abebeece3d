//! `ctxpack stats`: what is in the window, and what takes most of it.

use std::io::{self, BufWriter};

use clap::{Args, ValueEnum};

use super::config::PolicyArgs;
use super::gates::BudgetArgs;
use super::messages::policy_ref;
use super::reading::{Reading, say_all};
use super::reports::{OUTPUT, Planned, ReportArgs, RowArgs, write_all};
use super::shape::{Shape, ShapeArgs};
use super::timings::{TimingArgs, wall};
use super::useless_flags::{given, refused};
use super::{Context, Voice, flush, stdout_failed};
use crate::batch::{self, Workload, unread};
use crate::error::Result;
use crate::policy::Use;
use crate::report::{
    CsvRows, Render, ReportFormat, Stats as Report, StatsHeader, Turns, View, write_stats_table,
};
use crate::stats::{Counter, Exact};

/// Count tokens by role, tool, file and turn.
///
/// Writes no files. Tokens are estimates, counted as the policy says, and compared with its thresholds. -v shows all turns.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  ctxpack stats in.jsonl                       what takes the tokens
  ctxpack stats sessions/ --format json        for scripts
  ctxpack stats sessions/ --emit csv           a row a conversation, for a spreadsheet
  ctxpack stats in.jsonl --policy layered      against the thresholds of another policy")]
pub(super) struct Stats {
    #[command(flatten)]
    shape: ShapeArgs,
    /// How many of the largest items to show [default: 10]
    #[arg(long, value_name = "N")]
    top: Option<usize>,
    /// Also count exactly with o200k_base and cl100k_base (slower)
    #[arg(long)]
    exact: bool,
    #[command(flatten)]
    policy: PolicyArgs,
    #[command(flatten)]
    reports: ReportArgs,
    #[command(flatten)]
    timings: TimingArgs,
    #[command(flatten)]
    rows: RowArgs,
    /// Print data for analysis instead of the table
    #[arg(long, value_enum, value_name = "FORM", conflicts_with_all = ["format", "json"], help_heading = OUTPUT)]
    emit: Option<Form>,
    #[command(flatten)]
    gate: BudgetArgs,
    #[command(flatten)]
    reading: Reading,
}

/// Which data.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum Form {
    /// A row a conversation, as in a report by --csv-rows conversation
    Csv,
}

impl Stats {
    pub(super) fn run(&self, context: &Context) -> Result<u8> {
        let clock = self.timings.clock();
        let planned = self.rows.of(
            self.reports.checked()?,
            &[CsvRows::Turn, CsvRows::Conversation],
        )?;
        self.check(&planned)?;
        let effective = self.policy.resolve(context)?.effective;
        context.without_effect([&effective], Use::Once);
        let policy = &effective.policy;
        let exact = if self.exact { Exact::Yes } else { Exact::No };
        let counting = Counter::new(policy, self.top(), exact)?;
        let (files, mut not_read) =
            self.reading
                .each(context, (Workload::Once, clock.as_ref()), |over| {
                    batch::stats(over, &counting)
                })?;
        let failed = say_all(context, &files, "not counted", &mut not_read)?;
        let about = StatsHeader::new(
            policy_ref(&effective),
            counting.estimator(),
            counting.thresholds().clone(),
            self.top(),
        );
        let tell = || {
            let report = Report::of(about, &files)
                .map_err(unread)?
                .with_not_read(not_read.into_list())
                .with_timings(wall(clock.as_ref()));
            self.tell(context, &planned, &report)
        };
        let told = self.reading.tell(&files, tell)?;
        Ok(if failed { 3 } else { told })
    }

    fn top(&self) -> usize {
        self.top.unwrap_or(10)
    }

    /// Rejects flags for figures that no row contains.
    fn check(&self, planned: &[Planned]) -> Result<()> {
        let flags = given([
            ("--exact", self.exact.then_some(())),
            ("--top", self.top.map(drop)),
        ]);
        let flags: Vec<&str> = flags.collect();
        let is_shown = planned
            .iter()
            .any(|(_, format)| !matches!(format, ReportFormat::Csv(_)));
        if self.emit.is_none() || flags.is_empty() || is_shown {
            return Ok(());
        }
        Err(refused(&flags, "a row of CSV has no place for it")
            .hint("--format json has it, and --report FILE.json beside the rows"))
    }

    /// Writes the reports and the table; returns the exit code.
    fn tell(&self, context: &Context, planned: &[Planned], report: &Report<'_>) -> Result<u8> {
        let all = write_all(context, planned, report);
        let mut out = BufWriter::new(io::stdout().lock());
        let view = View {
            screen: context.color.screen(&io::stdout()),
            top: self.top(),
            turns: match context.voice {
                Voice::Loud => Turns::All,
                Voice::Quiet | Voice::Normal => Turns::Some,
            },
        };
        let written = match (self.emit, self.shape.shape()) {
            (Some(Form::Csv), _) => {
                report.render(ReportFormat::Csv(CsvRows::Conversation), &mut out)
            }
            (None, Shape::Text) => write_stats_table(report, view, &mut out),
            (None, Shape::Json) => report.render(ReportFormat::Json, &mut out),
        };
        written.map_err(|e| stdout_failed(&e))?;
        flush(&mut out)?;
        let closed = self.gate.of_stats(report).map_err(unread)?;
        let code = context.gates(&closed);
        Ok(if all { code } else { 3 })
    }
}
