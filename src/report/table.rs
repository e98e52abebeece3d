//! The short table that a person sees on a terminal after a run.
//!
//! Aligned by character count. Never lets text from a transcript control the terminal, and never grows with the batch: for a long
//! one, it shows what went wrong and the largest savings.

use std::io::{self, Write};
use std::path::Path;

use super::cells::{has_sizes, hidden_note, select, share, statuses, stored, troubles};
use super::column::{Column, shown};
use super::done::{apart, done, recorded};
use super::reasons::reasons;
use super::rows::{Foot, Table, common_folder};
use super::run::Head;
use super::screen::Tint;
use super::times::{RunTimings, phases};
use super::view::View;
use super::{CompactHeader, Report, Screen};
use crate::outcome::{ConversationOutcome, Outcome, Spent, Status, Totals};
use crate::text::{count, printable, shown_name, thousands};

/// How much to say about each input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Depth {
    /// What was done, by kind.
    Sums,
    /// Also the reasons.
    Reasons,
}

/// Writes the table for this screen; messages about an input may be longer than its width.
///
/// Errors are the writer's.
pub fn write(report: &Report, depth: Depth, screen: Screen, out: &mut dyn Write) -> io::Result<()> {
    let files = report.files();
    write_view(report.view(&files), depth, screen, out)
}

/// The same for entries stored anywhere.
pub(super) fn write_view(
    view: View<'_>,
    depth: Depth,
    screen: Screen,
    out: &mut dyn Write,
) -> io::Result<()> {
    let View { head, entries, .. } = view;
    let selected = select(entries)?.into_iter();
    let selected: io::Result<Vec<_>> = selected.map(|at| entries.get(at)).collect();
    let selected = selected?;
    let shown = Shown {
        totals: head.totals(),
        timings: head.timings(),
        selected: selected.iter().map(|outcome| &**outcome).collect(),
        hidden: entries.len() - selected.len(),
        sum: sum(head),
    };
    write_shown(&shown, &view.columns(), depth, screen, out)
}

/// The sums of all inputs as one outcome, for the last row.
fn sum(head: &Head<CompactHeader, Totals>) -> Outcome {
    let totals = head.totals();
    let mut conversation =
        ConversationOutcome::unchanged("", "", totals.tokens_before, totals.messages_before);
    conversation.tokens_after = totals.tokens_after;
    conversation.messages_after = totals.messages_after;
    let mut sum = Outcome {
        bytes_after: totals.bytes_after,
        conversations: vec![conversation],
        ..Outcome::unchanged(Path::new(""), totals.bytes_before, "")
    };
    let times = head.timings().map(RunTimings::phases);
    sum.file.timings = times
        .filter(|times| times.phases().next().is_some())
        .cloned();
    sum
}

/// The content of a table.
struct Shown<'r> {
    totals: &'r Totals,
    timings: Option<&'r RunTimings>,
    /// The inputs with rows of their own.
    selected: Vec<&'r Outcome>,
    /// How many inputs have no row.
    hidden: usize,
    /// What the last row shows.
    sum: Outcome,
}

/// Writes it for this screen, with those of `all` columns that have something to show.
fn write_shown(
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
        writeln!(out, "in {}", printable(&shown_name(folder)))?;
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
    let statuses = statuses(totals);
    if !statuses.is_empty() {
        writeln!(out, "{statuses}")?;
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
            printable(&shown_name(&outcome.file.path[folder.len()..])).into_owned(),
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
        let remarks = remarks.into_iter().flatten();
        let remarks = remarks.chain(troubles(outcome)).chain(why);
        let remarks = remarks.map(|remark| (next, format!("  {}", printable(&remark))));
        table.remarks.extend(remarks);
    }
    if report.hidden > 0 {
        let note = hidden_note(report.hidden);
        table.remarks.push((table.rows.len(), note));
    }
    let mut foot = vec!["total".to_owned(), count(report.totals.files, "file")];
    foot.extend(figures(columns, &[&report.sum]));
    table.rows.push(foot);
    table.foot = Foot::Sum;
    table
}

/// The tint of a status.
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
