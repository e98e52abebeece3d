//! The columns of a report on `eval`: the scores of a method with a budget, over a session or over all.
//!
//! The tables, the Markdown report and the page show the method's name, then the columns with a heading.

use crate::eval::{Budget, Kind, MethodScores, Metric};
use crate::report::column::Column;
use crate::report::csv;
use crate::text::shown_name;

/// A method's scores over a session, or over all of them.
pub(super) struct Row<'r> {
    /// The path of a session's file; empty for all sessions.
    pub(super) path: &'r str,
    pub(super) session: &'r str,
    pub(super) of: &'r MethodScores,
}

/// The columns, in the order of the CSV report.
pub(super) fn columns<'r>() -> Vec<Column<Row<'r>>> {
    type Of<'r> = Column<Row<'r>>;
    let mut columns = vec![
        Of::text("path", |row| shown_name(row.path).into_owned()),
        Of::text("session", |row| row.session.to_owned()),
        Of::text("method", |row| row.of.method.clone()),
        Of::text("kind", |row| kind(row.of.kind).to_owned()),
        Of::text("budget", |row| match row.of.budget {
            Budget::Percent(percent) => percent.to_string(),
            Budget::Own => String::new(),
        }),
        Of::number("cuts", |row| row.of.scores.cuts),
    ];
    for (place, metric) in (1..).zip(Metric::ALL) {
        let score = Of::percent(metric.name(), move |row| row.of.scores.share(metric));
        columns.push(score.shown(place, heading(metric)));
    }
    columns.push(Of::number("over", |row| row.of.scores.over).shown(LAST, "over"));
    let invented = Of::number("invented", |row| row.of.scores.invented);
    columns.push(invented.shown(LAST + 1, "invented"));
    columns
}

/// The position after the metrics.
const LAST: u8 = Metric::ALL.len() as u8 + 1;

/// The heading of what was measured with a budget.
pub(super) fn title(budget: Budget) -> String {
    match budget {
        Budget::Percent(percent) => format!("budget {percent}%"),
        Budget::Own => "no budget".to_owned(),
    }
}

/// The name of a kind of method.
pub(super) fn kind(kind: Kind) -> &'static str {
    match kind {
        Kind::Policy => "policy",
        Kind::Baseline => "baseline",
    }
}

fn heading(metric: Metric) -> &'static str {
    match metric {
        Metric::StateFiles => "files",
        Metric::StateCommands => "ends",
        Metric::Need
        | Metric::Grounded
        | Metric::Far
        | Metric::User
        | Metric::Modified
        | Metric::Commands
        | Metric::Errors
        | Metric::Used => metric.name(),
    }
}

/// The first line of its CSV report.
pub(in crate::report) fn csv_header() -> String {
    csv::header(&columns())
}
