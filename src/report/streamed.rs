//! A report on more inputs than should be held in memory: its entries are read one by one, wherever they are stored.
//!
//! Every format equals that of [`Report`](super::Report), byte for byte.

use std::io::{self, Write};
use std::time::Duration;

use super::json::{write_each, write_line, write_list};
use super::run::Head;
use super::screen::Screen;
use super::table::{self, Depth};
use super::times::RunTimings;
use super::view::View;
use super::{
    CompactHeader, CsvRows, Estimate, PolicyRef, Render, ReportFormat, columns, csv, html, markdown,
};
use crate::diff::Diff;
use crate::outcome::{Entries, Interrupted, NotRead, Timings, Totals};
use crate::store::hash;

/// A report whose entries are stored elsewhere.
#[expect(missing_debug_implementations, reason = "entries need not have one")]
pub struct StreamedReport<'e> {
    pub(super) head: Head<CompactHeader, Totals>,
    entries: &'e dyn Entries,
    diff: Option<Diff>,
}

impl<'e> StreamedReport<'e> {
    /// The report on these entries, whose sums are `totals`.
    pub fn new(policy: PolicyRef, totals: Totals, entries: &'e dyn Entries) -> Self {
        let about = CompactHeader {
            policy,
            estimate: None,
        };
        StreamedReport {
            head: Head::new(about, totals),
            entries,
            diff: None,
        }
    }

    /// The same report, also saying what was not read, and what an interrupted run did not reach.
    #[must_use]
    pub fn with_left(mut self, not_read: Vec<NotRead>, interrupted: Option<Interrupted>) -> Self {
        self.head.not_read = not_read;
        self.head.totals.interrupted = interrupted;
        self
    }

    /// The same report, with what a run would ask a server for.
    #[must_use]
    pub fn with_estimate(mut self, estimate: Option<Estimate>) -> Self {
        self.head.about.estimate = estimate;
        self
    }

    /// The same report, also saying how long the run and its phases took.
    ///
    /// # Errors
    /// If an entry cannot be read.
    pub fn with_timings(mut self, wall: Option<Duration>) -> io::Result<Self> {
        let Some(wall) = wall else {
            return Ok(self);
        };
        let mut phases = Timings::default();
        self.entries.each(&mut |outcome| {
            if let Some(timings) = &outcome.file.timings {
                phases += timings;
            }
            Ok(())
        })?;
        self.head.timings = Some(RunTimings::new(wall, phases));
        Ok(self)
    }

    /// The same report on a single file, whose page also shows the fates of its messages.
    #[must_use]
    pub fn with_messages(mut self, diff: Option<Diff>) -> Self {
        self.diff = diff;
        self
    }

    /// A hash of everything that the report in this format is made of, if `entries` stands for its entries; `None` for the report on
    /// a single file with its messages.
    pub fn key(&self, format: ReportFormat, entries: &str) -> Option<String> {
        let head = match &self.diff {
            None => serde_json::to_string(&self.head).ok()?,
            Some(_) => return None,
        };
        Some(hash(format!("{format:?} {entries} {head}").as_bytes()))
    }

    /// Writes the table for this screen.
    ///
    /// # Errors
    /// The writer's, or if an entry cannot be read.
    pub fn write_table(&self, depth: Depth, screen: Screen, out: &mut dyn Write) -> io::Result<()> {
        table::write_view(self.view(), depth, screen, out)
    }

    fn view(&self) -> View<'_> {
        View {
            head: &self.head,
            entries: self.entries,
            diff: self.diff.as_ref(),
        }
    }
}

impl Render for StreamedReport<'_> {
    fn render(&self, format: ReportFormat, out: &mut dyn Write) -> io::Result<()> {
        render(self.view(), format, out)
    }
}

/// Writes a report in `format`.
pub(super) fn render(view: View<'_>, format: ReportFormat, out: &mut dyn Write) -> io::Result<()> {
    let View { head, entries, .. } = view;
    match format {
        ReportFormat::Json => write_list(head, entries, out),
        ReportFormat::Jsonl => {
            write_each(entries, out)?;
            write_line(head, out)
        }
        ReportFormat::Csv(CsvRows::Action) => {
            writeln!(out, "{}", csv::header(&columns::action_columns()))?;
            entries.each(&mut |entry| {
                csv::write_rows(&columns::action_columns(), columns::actions(entry), out)
            })
        }
        ReportFormat::Csv(CsvRows::File | CsvRows::Turn | CsvRows::Conversation) => {
            let columns = view.columns();
            writeln!(out, "{}", csv::header(&columns))?;
            entries.each(&mut |entry| csv::write_rows(&columns, [entry], out))
        }
        ReportFormat::Markdown => markdown::write(view, out),
        ReportFormat::Html => html::write(view, out),
    }
}
