//! The short table that a person sees on a terminal after a run.
//!
//! Aligned by character count. Never lets text from a transcript steer the terminal, and never
//! grows with the batch: of a long one, it shows what went wrong and the largest savings.

use std::io::{self, Write};

use super::cells::{has_sizes, hidden_note, select, share, statuses, stored, trouble};
use super::column::{Column, shown};
use super::done::{apart, done, recorded};
use super::reasons::reasons;
use super::rows::{Foot, Table, common_folder};
use super::screen::Tint;
use super::times::{RunTimings, phases};
use super::{Report, Screen};
use crate::outcome::{Outcome, Spent, Status, Totals};
use crate::text::{count, printable, thousands};

/// How much is said of each input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Depth {
    /// What was done, by kind.
    Sums,
    /// The reasons, too.
    Reasons,
}

/// Writes the table for this screen; messages about an input may be longer than its width.
///
/// Errors are the writer's.
pub fn write(report: &Report, depth: Depth, screen: Screen, out: &mut dyn Write) -> io::Result<()> {
    let (selected, hidden) = select(report.files());
    let shown = Shown {
        totals: report.totals(),
        timings: report.head().timings(),
        selected,
        hidden,
        all: report.files().iter().collect(),
    };
    write_shown(&shown, &report.columns(), depth, screen, out)
}

/// What a table says.
pub(super) struct Shown<'r> {
    pub(super) totals: &'r Totals,
    pub(super) timings: Option<&'r RunTimings>,
    /// The inputs with rows of their own.
    pub(super) selected: Vec<&'r Outcome>,
    /// How many have none.
    pub(super) hidden: usize,
    /// What the last row adds up.
    pub(super) all: Vec<&'r Outcome>,
}

/// Writes it for this screen, with what `all` columns have to show.
pub(super) fn write_shown(
    report: &Shown<'_>,
    all: &[Column<Outcome>],
    depth: Depth,
    screen: Screen,
    out: &mut dyn Write,
) -> io::Result<()> {
    let columns = shown(all);
    let selected = &report.selected;
    let folder = common_folder(selected.iter().map(|outcome| outcome.file.path.as_str()));
    if !folder.is_empty() {
        writeln!(out, "in {}", printable(folder))?;
    }
    // A narrow terminal gets fewer columns.
    let mut most = columns.len();
    let with_columns = |columns| table(report, depth, folder, columns);
    let mut table = with_columns(&columns[..]);
    while most > 1 && !table.fits(screen.width) {
        most -= 1;
        table = with_columns(&columns[..most]);
    }
    table.write(screen, out)?;
    let totals = report.totals;
    if totals.files > 0 {
        writeln!(out, "{}", statuses(totals))?;
    }
    if let Some(note) = stored(totals) {
        writeln!(out, "{note}")?;
    }
    if let Some(spent) = &totals.spent {
        writeln!(out, "{}", asked(spent))?;
    }
    if let Some(times) = report.timings {
        writeln!(out, "{}", times.line())?;
    }
    Ok(())
}

/// The rows of the inputs that are shown, and the totals.
fn table(report: &Shown<'_>, depth: Depth, folder: &str, columns: &[&Column<Outcome>]) -> Table {
    let mut header = vec!["file", "status"];
    let mut joined = Vec::new();
    for column in columns {
        header.push(column.heading());
        if column.width() == 2 {
            joined.push(header.len());
            header.push("after");
        }
    }
    let mut table = Table::new(header);
    table.words = &[0, 1];
    table.joined = joined;
    for (number, outcome) in report.selected.iter().enumerate() {
        table.tints.push((number, 1, tint(outcome.status)));
        let [before, after] = [outcome.tokens_before(), outcome.tokens_after()];
        table.bars.push(share(before.saturating_sub(after), before));
        let mut row = vec![
            printable(&outcome.file.path[folder.len()..]).into_owned(),
            outcome.status.to_string(),
        ];
        if has_sizes(outcome.status) {
            row.extend(figures(columns, &[outcome]));
        }
        table.rows.push(row);
        let one = report.totals.files == 1;
        let remarks = [
            done(outcome),
            apart(outcome).filter(|_| one),
            recorded(outcome).filter(|_| one),
            trouble(outcome),
        ];
        let next = table.rows.len();
        let why = match depth {
            Depth::Sums => Vec::new(),
            Depth::Reasons => {
                let took = outcome.file.timings.as_ref().map(phases);
                reasons(outcome).into_iter().chain(took).collect()
            }
        };
        let why = why.into_iter().map(|why| format!("  {why}"));
        let remarks = remarks.into_iter().flatten().chain(why);
        let remarks = remarks.map(|remark| (next, format!("  {}", printable(&remark))));
        table.remarks.extend(remarks);
    }
    if report.hidden > 0 {
        let note = hidden_note(report.hidden);
        table.remarks.push((table.rows.len(), note));
    }
    let mut foot = vec!["total".to_owned(), count(report.totals.files, "file")];
    foot.extend(figures(columns, &report.all));
    table.rows.push(foot);
    table.foot = Foot::Sum;
    table
}

/// How a status looks.
fn tint(status: Status) -> Tint {
    match status {
        Status::Compacted => Tint::Good,
        Status::Unchanged | Status::Skipped => Tint::Faint,
        Status::Unsupported => Tint::Odd,
        Status::Failed | Status::Rejected => Tint::Bad,
    }
}

fn figures(columns: &[&Column<Outcome>], outcomes: &[&Outcome]) -> Vec<String> {
    let figures = columns.iter().map(|column| column.figures(outcomes));
    figures.flatten().collect()
}

/// What requests to a server cost.
fn asked(spent: &Spent) -> String {
    let mut text = format!(
        "{}, {} tokens sent and {} received",
        count(spent.requests, "request"),
        thousands(spent.input_tokens),
        thousands(spent.output_tokens)
    );
    if spent.cached > 0 {
        let answers = count(spent.cached, "answer");
        text.push_str(&format!("; {answers} from the store"));
    }
    text
}
