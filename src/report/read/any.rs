//! A report of any command, rendered again in any format.

use std::io::{self, Write};

use crate::report::stats::{Turns, View};
use crate::report::{
    ComparisonReport, CsvRows, Depth, Detail, DiffReport, Evals, Render, Replays, ReportFormat,
    Rows, Screen, Stats, StreamedReport, write_eval_table, write_replay_table, write_stats_table,
};

/// A report of any command.
#[expect(missing_debug_implementations, reason = "entries need not have one")]
pub enum AnyReport<'e> {
    /// Of `compact`.
    Compact(Box<StreamedReport<'e>>),
    /// Of `stats`.
    Stats(Box<Stats<'e>>),
    /// Of `replay`.
    Replay(Box<Replays<'e>>),
    /// Of `eval`.
    Eval(Box<Evals<'e>>),
    /// Of `diff`, on two files.
    Diff(Box<DiffReport>),
    /// Of `diff`, on two policies.
    DiffOfTwo(Box<ComparisonReport>),
}

impl AnyReport<'_> {
    /// What a CSV row can be besides a file.
    pub fn finer_rows(&self) -> &'static [CsvRows] {
        match self {
            AnyReport::Compact(_) => &[CsvRows::Action],
            AnyReport::Stats(_) => &[CsvRows::Turn, CsvRows::Conversation],
            AnyReport::Replay(_) => &[CsvRows::Turn],
            AnyReport::Eval(_) | AnyReport::Diff(_) | AnyReport::DiffOfTwo(_) => &[],
        }
    }

    /// Writes the table for this screen.
    ///
    /// # Errors
    /// The writer's, or if an entry cannot be read.
    pub fn write_table(&self, screen: Screen, out: &mut dyn Write) -> io::Result<()> {
        match self {
            AnyReport::Compact(report) => report.write_table(Depth::Sums, screen, out),
            AnyReport::Stats(report) => {
                let view = View {
                    screen,
                    top: report.head().about().top,
                    turns: Turns::Some,
                };
                write_stats_table(report, view, out)
            }
            AnyReport::Replay(report) => write_replay_table(report, Detail::Totals, screen, out),
            AnyReport::Eval(report) => write_eval_table(report, Rows::Totals, screen, out),
            AnyReport::Diff(report) => report.write_listing(screen, out),
            AnyReport::DiffOfTwo(report) => report.write_listing(screen, out),
        }
    }
}

impl Render for AnyReport<'_> {
    fn render(&self, format: ReportFormat, out: &mut dyn Write) -> io::Result<()> {
        match self {
            AnyReport::Compact(report) => report.render(format, out),
            AnyReport::Stats(report) => report.render(format, out),
            AnyReport::Replay(report) => report.render(format, out),
            AnyReport::Eval(report) => report.render(format, out),
            AnyReport::Diff(report) => report.render(format, out),
            AnyReport::DiffOfTwo(report) => report.render(format, out),
        }
    }
}
