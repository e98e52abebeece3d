//! The page of `check`: a row for each case with its result and its tokens; the differences unfold below it.
//!
//! Only displays what it is given: the command determines the cases and what is wrong with them.

use std::io::{self, Write};

use super::PolicyRef;
use super::page::{
    self, Align, Cell, Column, ColumnKind, Detail, DetailTable, Fact, Page, RowsByIndex, Table,
    Tone, amount_of, figure,
};

/// The maximum number of lines to show of a difference.
const LINES: usize = 200;
/// The maximum number of messages to list.
const MESSAGES: usize = 200;

/// A run of `check`.
pub(crate) struct CheckPage<'r> {
    pub(crate) cases: Vec<CheckedCase<'r>>,
    /// The numbers of cases that are as expected, updated, different, failed.
    pub(crate) numbers: [u64; 4],
    /// A description of the policies that they ran under.
    pub(crate) under: String,
    /// The policy in effect.
    pub(crate) policy: &'r PolicyRef,
}

/// A case of such a run.
pub(crate) struct CheckedCase<'r> {
    pub(crate) name: String,
    pub(crate) status: &'static str,
    /// Tokens before, expected and actual, if the output could be compared by message.
    pub(crate) tokens: Option<[u64; 3]>,
    /// The first line of the problem; empty if there is none.
    pub(crate) what: String,
    /// The difference, as shown on a terminal.
    pub(crate) difference: &'r str,
    pub(crate) messages: Vec<CheckedMessage>,
}

/// A message whose outcome changed.
pub(crate) struct CheckedMessage {
    /// Where it is.
    pub(crate) place: String,
    /// The names of its tools, or its role.
    pub(crate) name: String,
    /// Its expected and its actual fate.
    pub(crate) fates: [&'static str; 2],
    /// Tokens before, expected and actual.
    pub(crate) tokens: [u64; 3],
}

const HEADINGS: &[(&str, Align)] = &[
    ("message", Align::Left),
    ("tool", Align::Left),
    ("expected", Align::Left),
    ("got", Align::Left),
    ("tokens before", Align::Right),
    ("expected", Align::Right),
    ("got", Align::Right),
];

/// Writes the page.
///
/// # Errors
/// The writer's.
pub(crate) fn write_check_page(report: &CheckPage<'_>, out: &mut dyn Write) -> io::Result<()> {
    let [same, updated, differ, failed] = report.numbers;
    let all: u64 = report.numbers.iter().sum();
    let columns = [
        ("case", ColumnKind::Name),
        ("what", ColumnKind::Note),
        ("check", ColumnKind::Word),
        ("messages that differ", ColumnKind::Number),
        ("tokens before", ColumnKind::Number),
        ("tokens expected", ColumnKind::Number),
        ("tokens got", ColumnKind::Number),
    ];
    let fact = |name, value| Fact {
        name,
        value: figure(value),
        note: String::new(),
    };
    let page = Page {
        command: "check",
        headline: match differ + failed {
            0 => format!("{} as expected", amount_of(all, "case")),
            wrong => format!(
                "{} of {} not as expected",
                figure(wrong),
                amount_of(all, "case")
            ),
        },
        lead: format!("Policy: {}.", report.under),
        bar: Some(vec![
            (Tone::Stays, same + updated),
            (Tone::Gone, differ + failed),
        ]),
        facts: vec![
            fact("As expected", same),
            fact("Updated", updated),
            fact("Differ", differ),
            fact("Failed", failed),
        ],
        lists: Vec::new(),
        charts: Vec::new(),
        table: Table {
            what: "case",
            columns: columns
                .into_iter()
                .map(|(heading, kind)| Column::new(heading, kind))
                .collect(),
            rows: &Cases(&report.cases),
        },
        policies: std::slice::from_ref(report.policy),
    };
    page::write(&page, out)
}

struct Cases<'r>(&'r [CheckedCase<'r>]);

impl RowsByIndex for Cases<'_> {
    fn len(&self) -> usize {
        self.0.len()
    }

    fn row(&self, at: usize) -> Vec<Cell<'_>> {
        let case = &self.0[at];
        let mut cells = vec![
            Cell::Text(case.name.as_str().into()),
            Cell::Text(case.what.as_str().into()),
            Cell::Text(case.status.into()),
        ];
        match case.tokens {
            Some(tokens) => {
                cells.push(Cell::Number(case.messages.len() as u64));
                cells.extend(tokens.map(Cell::Number));
            }
            None => cells.extend([(); 4].map(|()| Cell::Nothing)),
        }
        cells
    }

    fn detail(&self, at: usize) -> Option<Detail> {
        let case = &self.0[at];
        let mut tables = Vec::new();
        if !case.messages.is_empty() {
            let rows = case.messages.iter().take(MESSAGES).map(|message| {
                let words = [&message.place[..], &message.name];
                let words = words.into_iter().chain(message.fates).map(str::to_owned);
                words.chain(message.tokens.map(figure)).collect()
            });
            tables.push(DetailTable {
                title: "Became something else".to_owned(),
                headings: HEADINGS,
                rows: rows.collect(),
                note: left_out(case.messages.len(), MESSAGES, "message"),
            });
        }
        let lines = case.difference.lines().count();
        if lines > 0 {
            let shown = case.difference.lines().take(LINES);
            tables.push(DetailTable {
                title: "How it differs".to_owned(),
                headings: &[("line", Align::Left)],
                rows: shown.map(|line| vec![line.to_owned()]).collect(),
                note: left_out(lines, LINES, "line"),
            });
        }
        (!tables.is_empty()).then(|| Detail {
            facts: Vec::new(),
            tables,
        })
    }
}

fn left_out(all: usize, most: usize, what: &str) -> String {
    match all.saturating_sub(most) {
        0 => String::new(),
        hidden => format!("{} more", amount_of(hidden as u64, what)),
    }
}
