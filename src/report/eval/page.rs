//! The page of `eval`: the tokens that are kept against what can still be found, for each method and budget.
//!
//! Means are over sessions, as in every other format.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::io::{self, Write};

use super::Evals;
use super::columns::{Row, columns, kind};
use super::table::why;
use crate::eval::{Budget, Kind, MethodScores, Metric};
use crate::outcome::FileStatus;
use crate::report::cells::not_examined;
use crate::report::column::{Column as Described, shown};
use crate::report::left_out;
use crate::report::page::{
    self, Axis, Cell, Chart, Column, ColumnKind, Curves, Detail, Fact, Line, List, Page,
    RowsByIndex, Table, Tone, Unit, amount_of, figure,
};
use crate::report::times::time;

/// Why files were not examined: each reason with the number of files, the most frequent first.
fn not_read(evals: &Evals<'_>) -> io::Result<Vec<(u64, String)>> {
    let mut reasons: BTreeMap<String, u64> = BTreeMap::new();
    evals.entries.each_remarkable(&mut |_, file| {
        let why = not_examined(file);
        let reason = match file.status {
            FileStatus::Examined => return Ok(()),
            FileStatus::Unsupported(_) => format!("unsupported: {why}"),
            FileStatus::Failed => why,
        };
        *reasons.entry(reason).or_default() += 1;
        Ok(())
    })?;
    let mut reasons: Vec<_> = reasons.into_iter().map(|(why, n)| (n, why)).collect();
    // The sort is stable, so that equally frequent reasons stay in alphabetical order.
    reasons.sort_by_key(|(n, _)| Reverse(*n));
    Ok(reasons)
}

/// Writes the page.
pub(super) fn write(evals: &Evals<'_>, out: &mut dyn Write) -> io::Result<()> {
    let totals = &evals.head.totals;
    let best = totals
        .scores
        .iter()
        .filter(|of| of.kind == Kind::Policy)
        .filter_map(|of| Some((of, of.scores.share(Metric::Need)?)))
        .max_by(|a, b| a.1.total_cmp(&b.1));
    let methods = Methods {
        scores: &totals.scores,
        columns: columns(),
    };
    let figures = shown(&methods.columns)
        .into_iter()
        .flat_map(Described::on_page);
    let page = Page {
        command: "eval",
        headline: match best {
            Some((of, need)) => match of.budget {
                Budget::Percent(percent) => format!(
                    "{} keeps {need:.1}% of what is needed in {percent}% of the tokens",
                    of.method
                ),
                Budget::Own => format!("{} keeps {need:.1}% of what is needed", of.method),
            },
            None => "Nothing was measured".to_owned(),
        },
        lead: format!(
            "{} in {}; tokens by {}.",
            amount_of(totals.cuts, "cut"),
            amount_of(totals.sessions, "session"),
            evals.head.about.vocabulary
        ),
        bar: None,
        facts: facts(evals)
            .into_iter()
            .chain(time(evals.head.timings()))
            .collect(),
        lists: vec![
            List {
                title: "Not measured",
                items: totals
                    .skipped
                    .iter()
                    .map(|(skipped, n)| (*n, why(*skipped).to_owned()))
                    .chain(not_read(evals)?)
                    .collect(),
            },
            left_out::list(evals.head.not_read()),
        ],
        charts: vec![
            curves(
                evals,
                "Kept against needed",
                Metric::Need,
                "names that are needed later, in percent",
            ),
            curves(
                evals,
                "Kept against the user's words",
                Metric::User,
                "sentences of the user, in percent",
            ),
        ]
        .into_iter()
        .flatten()
        .collect(),
        table: Table {
            what: "method",
            columns: lead().into_iter().chain(figures).collect(),
            rows: &methods,
        },
        policies: &evals.head.about.policies,
    };
    page::write(&page, out)
}

fn facts(evals: &Evals<'_>) -> Vec<Fact> {
    let scores = evals.head.totals.scores.iter();
    let policies = scores.filter(|of| of.kind == Kind::Policy);
    let (mut over, mut invented) = (0, 0);
    for of in policies {
        over += of.scores.over;
        invented += of.scores.invented;
    }
    vec![
        Fact {
            name: "Over the budget",
            value: figure(over),
            note: "times, by policies".to_owned(),
        },
        Fact {
            name: "Invented names",
            value: figure(invented),
            note: "by policies".to_owned(),
        },
    ]
}

/// What is kept of one kind, against the tokens that are kept, with a line for each method.
fn curves(
    evals: &Evals<'_>,
    title: &'static str,
    metric: Metric,
    name: &'static str,
) -> Option<Chart> {
    let mut lines: Vec<Line> = Vec::new();
    for of in &evals.head.totals.scores {
        let Some((x, y)) = of.scores.share(Metric::Used).zip(of.scores.share(metric)) else {
            continue;
        };
        match lines.iter_mut().find(|line| line.name == of.method) {
            Some(line) => line.points.push((x, y)),
            None => {
                let number = lines.len();
                lines.push(Line {
                    name: of.method.clone(),
                    tone: Tone::Nth(number),
                    points: vec![(x, y)],
                    marks: Vec::new(),
                });
            }
        }
    }
    for line in &mut lines {
        line.points.sort_by(|a, b| a.0.total_cmp(&b.0));
    }
    (!lines.is_empty()).then(|| {
        Chart::Curves(Curves {
            title,
            about: "Higher and further left is better; a dot for each budget.".to_owned(),
            x: Axis {
                name: "tokens kept, in percent",
                unit: Unit::Percent,
            },
            y: Axis {
                name,
                unit: Unit::Percent,
            },
            lines,
            limits: Vec::new(),
        })
    })
}

/// The name and the columns before the figures.
fn lead() -> Vec<Column> {
    vec![
        Column::new("method", ColumnKind::Name),
        Column::new("kind", ColumnKind::Word),
        Column::new("budget", ColumnKind::Share),
    ]
}

struct Methods<'r> {
    scores: &'r [MethodScores],
    columns: Vec<Described<Row<'r>>>,
}

impl RowsByIndex for Methods<'_> {
    fn len(&self) -> usize {
        self.scores.len()
    }

    fn row(&self, at: usize) -> Vec<Cell<'_>> {
        let of = &self.scores[at];
        let mut cells = vec![
            Cell::Text(of.method.as_str().into()),
            Cell::Text(kind(of.kind).into()),
            match of.budget {
                Budget::Percent(percent) => Cell::Share(percent / 100.0),
                Budget::Own => Cell::Nothing,
            },
        ];
        let row = Row {
            path: "",
            session: "",
            of,
        };
        let figures = shown(&self.columns);
        cells.extend(figures.into_iter().flat_map(|c| c.page_cells(Some(&row))));
        cells
    }

    fn detail(&self, at: usize) -> Option<Detail> {
        let examples = &self.scores[at].scores.examples;
        (!examples.is_empty()).then(|| Detail {
            facts: vec![("invented", examples.join(", "))],
            tables: Vec::new(),
        })
    }
}
