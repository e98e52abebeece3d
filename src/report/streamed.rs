//! A report on more inputs than memory should hold: its entries are read one after the other, wherever they are.
//!
//! Every format is that of [`Report`], to the byte. JSON, JSON lines and CSV never hold more than one entry; Markdown and pages
//! compare all entries, and hold them.

use std::io::{self, Write};

use serde::ser::{Error as _, SerializeSeq};
use serde::{Serialize, Serializer};

use super::json::{write_line, write_pretty};
use super::run::Head;
use super::screen::Screen;
use super::table::{Depth, Shown, write_shown};
use super::{Compacting, CsvRows, PolicyRef, Render, Report, ReportFormat, columns, csv};
use crate::outcome::{ConversationOutcome, Interrupted, NotRead, Outcome, Totals};

/// How many of the largest savings a table shows.
pub use super::cells::SAVINGS_SHOWN;

/// The entries of a report, in path order.
pub trait Entries {
    /// Shows them all, one after the other.
    ///
    /// # Errors
    /// Those of `show`, and where an entry cannot be read.
    fn each(&self, show: &mut dyn FnMut(Outcome) -> io::Result<()>) -> io::Result<()>;
}

/// A report whose entries are elsewhere.
#[expect(missing_debug_implementations, reason = "entries need not have one")]
pub struct StreamedReport<'e> {
    head: Head<Compacting, Totals>,
    entries: &'e dyn Entries,
}

impl<'e> StreamedReport<'e> {
    /// The report on these entries, whose sums are `totals`.
    pub fn new(policy: PolicyRef, totals: Totals, entries: &'e dyn Entries) -> Self {
        let about = Compacting {
            policy,
            estimate: None,
        };
        StreamedReport {
            head: Head::new(about, totals),
            entries,
        }
    }

    /// The same report, which also says what was not read, and what an interrupted run has not come to.
    #[must_use]
    pub fn with_left(mut self, not_read: Vec<NotRead>, interrupted: Option<Interrupted>) -> Self {
        self.head.not_read = not_read;
        self.head.totals.interrupted = interrupted;
        self
    }

    /// Writes the table of these of its inputs, and the sums of all.
    ///
    /// # Errors
    /// The writer's.
    pub fn write_table(
        &self,
        selected: &[Outcome],
        depth: Depth,
        screen: Screen,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        let totals = &self.head.totals;
        let sum = sum(totals);
        let hidden = usize::try_from(totals.files).unwrap_or(usize::MAX);
        let shown = Shown {
            totals,
            timings: None,
            selected: selected.iter().collect(),
            hidden: hidden.saturating_sub(selected.len()),
            all: vec![&sum],
        };
        write_shown(&shown, &columns::columns(), depth, screen, out)
    }

    fn write_csv(&self, rows: CsvRows, out: &mut dyn Write) -> io::Result<()> {
        match rows {
            CsvRows::Action => {
                writeln!(out, "{}", csv::header(&columns::action_columns()))?;
                self.entries.each(&mut |entry| {
                    let entry = [entry];
                    csv::write_rows(&columns::action_columns(), columns::actions(&entry), out)
                })
            }
            CsvRows::File | CsvRows::Turn | CsvRows::Conversation => {
                let columns = columns::columns();
                writeln!(out, "{}", csv::header(&columns))?;
                self.entries
                    .each(&mut |entry| csv::write_rows(&columns, [entry], out))
            }
        }
    }

    /// All of it in memory.
    fn held(&self) -> io::Result<Report> {
        let mut files = Vec::new();
        self.entries.each(&mut |entry| {
            files.push(entry);
            Ok(())
        })?;
        let report = Report::new(self.head.about.policy.clone(), files);
        Ok(report
            .with_not_read(self.head.not_read.clone())
            .with_interrupted(self.head.totals.interrupted))
    }
}

impl Render for StreamedReport<'_> {
    fn render(&self, format: ReportFormat, out: &mut dyn Write) -> io::Result<()> {
        match format {
            ReportFormat::Json => write_pretty(
                &Whole {
                    head: &self.head,
                    files: Listed(self.entries),
                },
                out,
            ),
            ReportFormat::Jsonl => {
                self.entries.each(&mut |entry| write_line(&entry, out))?;
                write_line(&self.head, out)
            }
            ReportFormat::Csv(rows) => self.write_csv(rows, out),
            ReportFormat::Markdown | ReportFormat::Html => self.held()?.render(format, out),
        }
    }
}

/// The report as JSON: the keys of `RunReport`.
#[derive(Serialize)]
struct Whole<'r> {
    #[serde(flatten)]
    head: &'r Head<Compacting, Totals>,
    files: Listed<'r>,
}

/// The entries as a JSON list.
struct Listed<'r>(&'r dyn Entries);

impl Serialize for Listed<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(None)?;
        let written = self.0.each(&mut |entry| {
            let written = list.serialize_element(&entry);
            written.map_err(io::Error::other_text)
        });
        written.map_err(S::Error::custom)?;
        list.end()
    }
}

/// Errors of a serialiser, which need not be `'static`, as errors of the system.
trait OtherText {
    fn other_text(error: impl std::fmt::Display) -> Self;
}

impl OtherText for io::Error {
    fn other_text(error: impl std::fmt::Display) -> Self {
        io::Error::other(error.to_string())
    }
}

/// The sums of all inputs as one outcome, for the last row of a table.
fn sum(totals: &Totals) -> Outcome {
    let mut conversation =
        ConversationOutcome::unchanged("", "", totals.tokens_before, totals.messages_before);
    conversation.tokens_after = totals.tokens_after;
    conversation.messages_after = totals.messages_after;
    Outcome {
        bytes_after: totals.bytes_after,
        conversations: vec![conversation],
        ..Outcome::unchanged(std::path::Path::new(""), totals.bytes_before, "")
    }
}
