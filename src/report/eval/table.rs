//! The tables for people: the scores of each method for each budget, and the same for each session.

use std::io::{self, Write};

use super::columns::{Row, columns, title};
use super::{Evals, Rows, rounds};
use crate::eval::{Budget, Intervals, Kind, MethodScores, Metric, Skipped, Totals};
use crate::outcome::FileStatus;
use crate::report::Screen;
use crate::report::column::shown;
use crate::report::rows::Table;
use crate::text::{count, printable, shown_name, thousands};

/// Writes the tables for this screen.
///
/// Errors are the writer's, and those of entries that cannot be read.
pub fn write(evals: &Evals<'_>, rows: Rows, screen: Screen, out: &mut dyn Write) -> io::Result<()> {
    for table in budgets(evals) {
        table.write(screen, out)?;
        writeln!(out)?;
    }
    match rows {
        Rows::Totals => {}
        Rows::Sessions => sessions(evals, screen, out)?,
    }
    writeln!(out, "{}", note(&evals.head.totals))?;
    match evals.head.timings() {
        Some(times) => writeln!(out, "{}", times.line()),
        None => Ok(()),
    }
}

/// A table for each budget.
pub(super) fn budgets(evals: &Evals<'_>) -> Vec<Table> {
    let budgets = evals.head.about.budgets.iter().filter_map(|budget| {
        let scores = of_budget(&evals.head.totals.scores, *budget);
        (!scores.is_empty()).then(|| table(title(*budget), &scores))
    });
    budgets.chain(rounds::tables(evals)).collect()
}

fn sessions(evals: &Evals<'_>, screen: Screen, out: &mut dyn Write) -> io::Result<()> {
    evals.entries.each(&mut |file| {
        let path = shown_name(&file.file.path);
        let path = printable(&path);
        match file.status {
            FileStatus::Examined => {}
            FileStatus::Unsupported(_) => writeln!(out, "{path}: unsupported\n")?,
            FileStatus::Failed => writeln!(out, "{path}: failed\n")?,
        }
        for session in &file.found.sessions {
            let name = match &session.id[..] {
                "main" => path.clone(),
                id => format!("{path} {}", printable(id)).into(),
            };
            if let Some(skipped) = session.skipped {
                writeln!(out, "{name}: {}\n", why(skipped))?;
                continue;
            }
            let needed = session.cuts.iter().map(|cut| cut.need.to_string());
            let needed: Vec<String> = needed.collect();
            writeln!(
                out,
                "{name}: {} tokens, {}, {} names needed",
                thousands(session.tokens),
                count(session.cuts.len() as u64, "cut"),
                needed.join(" ")
            )?;
            for budget in &evals.head.about.budgets {
                let scores = of_budget(&session.scores, *budget);
                table(title(*budget), &scores).write(screen, out)?;
            }
            writeln!(out)?;
        }
        Ok(())
    })
}

fn of_budget(scores: &[MethodScores], budget: Budget) -> Vec<&MethodScores> {
    let scores = scores.iter();
    scores.filter(|scores| scores.budget == budget).collect()
}

fn table(title: String, scores: &[&MethodScores]) -> Table {
    let all = columns();
    let figures = shown(&all);
    let header = figures.iter().map(|column| column.heading().to_owned());
    let mut table = Table::new([title].into_iter().chain(header));
    // Being over budget says more than the columns that follow from other figures.
    table.spare = &["ends", "files", "far", "used", "over", "err", "mod", "cmd"];
    for of in scores {
        let row = Row {
            path: "",
            session: "",
            of,
        };
        let mut cells = vec![printable(&of.method).into_owned()];
        cells.extend(figures.iter().flat_map(|column| column.figures(&[&row])));
        let places = cells.len() - 1;
        table.rows.push(cells);
        match (of.kind, &of.intervals) {
            (Kind::Policy, Some(intervals)) => table.rows.push(off(intervals, places)),
            (Kind::Policy | Kind::Baseline, _) => {}
        }
    }
    table
}

/// The row below a policy: the margin of error of each mean. The metrics come first among the figures.
fn off(intervals: &Intervals, places: usize) -> Vec<String> {
    let half = |at: usize| {
        let interval = Metric::ALL
            .get(at)
            .and_then(|metric| intervals.get(*metric));
        interval.map_or_else(String::new, |of| format!("±{:.1}", of.half()))
    };
    let mut cells = vec!["  95 %".to_owned()];
    cells.extend((0..places).map(half));
    cells
}

/// How much was measured, and what was not.
pub(super) fn note(totals: &Totals) -> String {
    let mut note = format!(
        "{} in {}; percent, tokens by cl100k_base",
        count(totals.cuts, "cut"),
        count(totals.sessions, "session")
    );
    let skipped = totals.skipped.iter();
    let skipped = skipped.map(|(why_, number)| format!("{} {}", thousands(*number), why(*why_)));
    let files = [
        (totals.unsupported, "unsupported"),
        (totals.failed, "failed"),
    ];
    let files = files.into_iter().filter(|(number, _)| *number > 0);
    let files = files.map(|(number, what)| format!("{} {what}", thousands(number)));
    let scores = totals.scores.iter().map(|of| &of.scores);
    let [over, unreachable] = scores.fold([0, 0], |[over, unreachable], of| {
        [over + of.over, unreachable + of.unreachable]
    });
    if unreachable > 0 {
        note.push_str(&format!(
            "\nover the budget: {}, {} of them because the policy cannot leave less",
            count(over, "time"),
            thousands(unreachable)
        ));
    }
    let not: Vec<String> = skipped.chain(files).collect();
    if !not.is_empty() {
        note.push_str(&format!("\nnot measured: {}", not.join(", ")));
    }
    note
}

pub(super) fn why(skipped: Skipped) -> &'static str {
    match skipped {
        Skipped::CompactedFromTheStart => "compacted from the start",
        Skipped::NoCut => "with no place for a cut",
        Skipped::TooSmall => "too small",
    }
}
