//! The report as GitHub Markdown: a headline and a small table, for a comment on a pull request.
//!
//! Fits such a comment (65 536 characters) whatever the batch. Never lets text from a transcript leave its cell,
//! format anything or mention anyone.

use std::io::{self, Write};

use super::PolicyRef;
use super::cells::{has_sizes, hidden_note, problems, saved, select, statuses, stored};
use super::column::{Column, shown};
use super::groups::{self, Figures, Groups};
use super::left_out;
use super::quoted::quoted;
use super::times::RunTimings;
use super::view::{View, grouped};
use crate::outcome::Outcome;
use crate::text::{count, shown_name, thousands};

/// The maximum length of a path, in characters.
const NAME_MAX: usize = 80;
/// The maximum length of a message, in characters.
const MESSAGE_MAX: usize = 160;

/// Writes the headline, the table and the policy's name.
pub(super) fn write(report: View<'_>, out: &mut dyn Write) -> io::Result<()> {
    let View { head, entries, .. } = report;
    let totals = head.totals();
    let (before, after) = (totals.tokens_before, totals.tokens_after);
    write!(
        out,
        "**{} → {} tokens, {} saved** in {}",
        thousands(before),
        thousands(after),
        saved(before, after),
        count(totals.files, "file")
    )?;
    let statuses = statuses(totals);
    if !statuses.is_empty() {
        write!(out, ": {statuses}")?;
    }
    writeln!(out)?;

    let selected = select(entries)?;
    let hidden = entries.len() - selected.len();
    if !selected.is_empty() {
        let all = report.columns();
        let columns = shown(&all);
        writeln!(out)?;
        write!(out, "| file | status |")?;
        for column in &columns {
            write!(out, " {} |", column.heading())?;
        }
        write!(out, "\n| --- | --- |")?;
        writeln!(out, "{}", " ---: |".repeat(columns.len()))?;
        for at in selected {
            write_row(&*entries.get(at)?, &columns, out)?;
        }
    }
    if hidden > 0 {
        writeln!(out, "\n{}", hidden_note(hidden))?;
    }
    if let Some(note) = stored(totals) {
        writeln!(out, "\n{note}")?;
    }
    let mut groups = Groups::default();
    entries.each(&mut |outcome| {
        grouped(outcome).iter().for_each(|entry| groups.add(entry));
        Ok(())
    })?;
    groups::write_markdown(&groups, Figures::Change, out)?;
    left_out::write_markdown(head.not_read(), out)?;
    write_times(head.timings(), out)?;
    write_foot(std::slice::from_ref(&head.about().policy), out)
}

fn write_row(
    outcome: &Outcome,
    columns: &[&Column<Outcome>],
    out: &mut dyn Write,
) -> io::Result<()> {
    let name = quoted(&shown_name(&outcome.file.path), NAME_MAX);
    let status = match problems(outcome) {
        Some(why) => format!("{}: {}", outcome.status, quoted(&why, MESSAGE_MAX)),
        None => outcome.status.to_string(),
    };
    write!(out, "| {name} | {status} |")?;
    for column in columns {
        if has_sizes(outcome.status) {
            write!(out, " {}", column.figures(&[outcome]).join(" → "))?;
        }
        write!(out, " |")?;
    }
    writeln!(out)
}

/// How long the run took, if timings were requested.
pub(super) fn write_times(times: Option<&RunTimings>, out: &mut dyn Write) -> io::Result<()> {
    match times {
        Some(times) => writeln!(out, "\n{}", times.line()),
        None => Ok(()),
    }
}

/// The end of every Markdown report, by which it is recognised.
pub(super) fn write_foot(policies: &[PolicyRef], out: &mut dyn Write) -> io::Result<()> {
    let names: Vec<String> = policies
        .iter()
        .map(|policy| quoted(&policy.name, NAME_MAX))
        .collect();
    let noun = match names.len() {
        1 => "policy",
        _ => "policies",
    };
    writeln!(
        out,
        "\nctxpack {}, {noun} {}",
        env!("CARGO_PKG_VERSION"),
        names.join(", ")
    )
}
