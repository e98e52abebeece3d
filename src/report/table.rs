//! The short table that a person sees on a terminal after a run.
//!
//! Aligned by character count; without colour. Never lets text from a transcript steer the terminal, and never
//! grows with the batch: of a long one, it shows what went wrong and the largest savings.

use std::io::{self, Write};

use super::Report;
use super::cells::{elide, has_sizes, hidden_note, saved, select, statuses, trouble};
use crate::outcome::Spent;
use crate::text::{count, printable, size, thousands};

/// What stands before each column but the first.
const GAPS: [&str; COLUMNS - 1] = ["  ", "  ", " → ", "  ", "  ", " → "];
/// File, status, tokens before and after, saving, bytes before and after.
const COLUMNS: usize = 7;
/// Paths are never cut shorter than this, even where the table then exceeds its width.
const NAME_MIN: usize = 16;

/// Writes the table with rows of at most `width` characters; what is said about an input may be longer.
///
/// Errors are the writer's.
pub fn write(report: &Report, width: usize, out: &mut dyn Write) -> io::Result<()> {
    let (shown, hidden) = select(report.files());
    let header = [
        "file", "status", "tokens", "after", "saved", "bytes", "after",
    ]
    .map(String::from);
    let totals = report.head().totals();
    let foot = row(
        "total",
        count(totals.files, "file"),
        [totals.tokens_before, totals.tokens_after],
        [totals.bytes_before, totals.bytes_after],
    );
    let mut rows: Vec<([String; COLUMNS], Option<String>)> = Vec::with_capacity(shown.len());
    for outcome in shown {
        let name = printable(&outcome.input);
        let status = outcome.status.to_string();
        let cells = if has_sizes(outcome.status) {
            row(
                &name,
                status,
                [outcome.tokens_before(), outcome.tokens_after()],
                [outcome.bytes_before, outcome.bytes_after],
            )
        } else {
            let mut cells: [String; COLUMNS] = Default::default();
            cells[0] = name.into_owned();
            cells[1] = status;
            cells
        };
        rows.push((cells, trouble(outcome)));
    }

    let mut widths = [0; COLUMNS];
    for cells in rows.iter().map(|(cells, _)| cells).chain([&header, &foot]) {
        for (widest, cell) in widths.iter_mut().zip(cells) {
            *widest = (*widest).max(cell.chars().count());
        }
    }
    let others: usize = widths[1..].iter().sum::<usize>()
        + GAPS.iter().map(|gap| gap.chars().count()).sum::<usize>();
    widths[0] = widths[0].min(width.saturating_sub(others).max(NAME_MIN));

    write_row(&header, &widths, out)?;
    for (cells, trouble) in &rows {
        write_row(cells, &widths, out)?;
        if let Some(trouble) = trouble {
            writeln!(out, "  {}", printable(trouble))?;
        }
    }
    if hidden > 0 {
        writeln!(out, "{}", hidden_note(hidden))?;
    }
    write_row(&foot, &widths, out)?;
    if totals.files > 0 {
        writeln!(out, "{}", statuses(totals))?;
    }
    if let Some(spent) = &totals.spent {
        writeln!(out, "{}", asked(spent))?;
    }
    Ok(())
}

/// What asking a server took.
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

fn row(name: &str, status: String, tokens: [u64; 2], bytes: [u64; 2]) -> [String; COLUMNS] {
    [
        name.to_owned(),
        status,
        thousands(tokens[0]),
        thousands(tokens[1]),
        saved(tokens[0], tokens[1]),
        size(bytes[0]),
        size(bytes[1]),
    ]
}

/// Names to the left, numbers to the right; a row without numbers ends after its status.
fn write_row(
    cells: &[String; COLUMNS],
    widths: &[usize; COLUMNS],
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut line = format!("{:<1$}", elide(&cells[0], widths[0]), widths[0]);
    line.push_str(&format!("{}{:<2$}", GAPS[0], cells[1], widths[1]));
    if !cells[2].is_empty() {
        for i in 2..COLUMNS {
            line.push_str(&format!("{}{:>2$}", GAPS[i - 1], cells[i], widths[i]));
        }
    }
    writeln!(out, "{}", line.trim_end())
}
