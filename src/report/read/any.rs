//! A report of whichever command: rendered again in every form.

use std::io::{self, Write};

use crate::report::stats::{Turns, View};
use crate::report::{
    CsvRows, Depth, Detail, Evals, Render, Replays, Report, ReportFormat, Rows, Screen, Stats,
    write_eval_table, write_replay_table, write_stats_table, write_table,
};

/// A report of whichever command.
#[derive(Debug, Clone, PartialEq)]
pub enum AnyReport {
    /// Of `compact`.
    Compact(Report),
    /// Of `stats`.
    Stats(Box<Stats>),
    /// Of `replay`.
    Replay(Replays),
    /// Of `eval`.
    Eval(Evals),
}

impl AnyReport {
    /// The name of its command.
    pub fn command(&self) -> &'static str {
        match self {
            AnyReport::Compact(_) => "compact",
            AnyReport::Stats(_) => "stats",
            AnyReport::Replay(_) => "replay",
            AnyReport::Eval(_) => "eval",
        }
    }

    /// What a row of CSV can be beside a file.
    pub fn finer_rows(&self) -> &'static [CsvRows] {
        match self {
            AnyReport::Compact(_) => &[CsvRows::Action],
            AnyReport::Stats(_) => &[CsvRows::Turn, CsvRows::Conversation],
            AnyReport::Replay(_) => &[CsvRows::Turn],
            AnyReport::Eval(_) => &[],
        }
    }

    /// Writes the table for this screen.
    ///
    /// # Errors
    /// The writer's.
    pub fn write_table(&self, screen: Screen, out: &mut dyn Write) -> io::Result<()> {
        match self {
            AnyReport::Compact(report) => write_table(report, Depth::Sums, screen, out),
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
        }
    }
}

impl Render for AnyReport {
    fn render(&self, format: ReportFormat, out: &mut dyn Write) -> io::Result<()> {
        match self {
            AnyReport::Compact(report) => report.render(format, out),
            AnyReport::Stats(report) => report.render(format, out),
            AnyReport::Replay(report) => report.render(format, out),
            AnyReport::Eval(report) => report.render(format, out),
        }
    }
}
