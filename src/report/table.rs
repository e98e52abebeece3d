//! The short table that a person sees on a terminal after a run.
//!
//! Aligned by character count; without colour. Never lets text from a transcript steer the terminal, and never
//! grows with the batch: of a long one, it shows what went wrong and the largest savings.

use std::io::{self, Write};

use super::Report;
use super::cells::{has_sizes, hidden_note, select, statuses, trouble};
use super::columns::{self, Column};
use super::done::{done, recorded};
use super::rows::{Table, common_folder};
use crate::outcome::{Outcome, Spent};
use crate::text::{count, printable, thousands};

/// Writes the table with rows of at most `width` characters; messages about an input may be longer.
///
/// Errors are the writer's.
pub fn write(report: &Report, width: usize, out: &mut dyn Write) -> io::Result<()> {
    let columns = columns::shown();
    let (shown, _) = select(report.files());
    let folder = common_folder(shown.iter().map(|outcome| outcome.input.as_str()));
    if !folder.is_empty() {
        writeln!(out, "in {}", printable(folder))?;
    }
    // A narrow terminal gets fewer columns.
    let mut most = columns.len();
    let with_columns = |columns| table(report, &shown, folder, columns);
    let mut table = with_columns(&columns[..]);
    while most > 1 && !table.fits(width) {
        most -= 1;
        table = with_columns(&columns[..most]);
    }
    table.write(width, out)?;
    let totals = report.head().totals();
    if totals.files > 0 {
        writeln!(out, "{}", statuses(totals))?;
    }
    if let Some(spent) = &totals.spent {
        writeln!(out, "{}", asked(spent))?;
    }
    Ok(())
}

/// The rows of the inputs that are shown, and the totals.
fn table(report: &Report, shown: &[&Outcome], folder: &str, columns: &[&Column]) -> Table {
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
    for outcome in shown {
        let mut row = vec![
            printable(&outcome.input[folder.len()..]).into_owned(),
            outcome.status.to_string(),
        ];
        if has_sizes(outcome.status) {
            row.extend(figures(columns, &[outcome]));
        }
        table.rows.push(row);
        let one = report.files().len() == 1;
        let remarks = [
            done(outcome),
            recorded(outcome).filter(|_| one),
            trouble(outcome),
        ];
        let next = table.rows.len();
        let remarks = remarks.into_iter().flatten();
        let remarks = remarks.map(|remark| (next, format!("  {}", printable(&remark))));
        table.remarks.extend(remarks);
    }
    let hidden = report.files().len() - shown.len();
    if hidden > 0 {
        table.remarks.push((table.rows.len(), hidden_note(hidden)));
    }
    let all: Vec<&Outcome> = report.files().iter().collect();
    let totals = report.head().totals();
    let mut foot = vec!["total".to_owned(), count(totals.files, "file")];
    foot.extend(figures(columns, &all));
    table.rows.push(foot);
    table
}

fn figures(columns: &[&Column], outcomes: &[&Outcome]) -> Vec<String> {
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
