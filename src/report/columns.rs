//! The columns of a report on `compact`: each is described here once, and every rendering derives from this list.
//!
//! The CSV report has all of them, in this order. The table, the Markdown report and the page show an input's name and status,
//! then the columns that have a heading. The JSON report is the record itself.

use crate::outcome::{Outcome, OutcomeError, ratio};
use crate::text::{size, thousands};

use super::cells::saved;

/// A column: what it is called, and what it reads from an input's outcome.
pub(super) struct Column {
    /// The heading in CSV; of a change the beginning of two.
    name: &'static str,
    /// The heading in reports for people, and the place among the columns there; `None` where they do not have it.
    shown: Option<(u8, &'static str)>,
    read: Read,
}

/// What a column reads. Figures of several inputs add up.
enum Read {
    Text(fn(&Outcome) -> String),
    Number(fn(&Outcome) -> u64),
    /// An amount before and after.
    Change(Unit, fn(&Outcome) -> [u64; 2]),
    /// The ratio of two amounts; people are shown what was saved.
    Ratio(fn(&Outcome) -> [u64; 2]),
}

#[derive(Clone, Copy)]
enum Unit {
    One,
    Byte,
}

/// A cell of the CSV report.
pub(super) enum Cell {
    /// Text, which may be foreign.
    Text(String),
    /// Digits.
    Number(String),
}

const COLUMNS: [Column; 21] = [
    text("input", |o| o.input.clone()),
    text("output", |o| o.output.clone().unwrap_or_default()),
    text("format", |o| o.format.clone().unwrap_or_default()),
    text("status", |o| o.status.to_string()),
    text("error_kind", |o| error(o, |e| Some(e.kind.to_string()))),
    text("error_line", |o| {
        error(o, |e| e.line.map(|n| n.to_string()))
    }),
    text("error_message", |o| error(o, |e| Some(e.message.clone()))),
    text("original", |o| {
        let original = o.original.as_ref();
        original
            .map(|original| original.path.clone())
            .unwrap_or_default()
    }),
    change("findings", Unit::One, |o| {
        [o.findings_before, o.findings_after]
    }),
    text("hash_before", |o| o.hash_before.clone().unwrap_or_default()),
    text("hash_after", |o| o.hash_after.clone().unwrap_or_default()),
    change("bytes", Unit::Byte, |o| [o.bytes_before, o.bytes_after]).shown(3, "bytes"),
    change("tokens", Unit::One, tokens).shown(1, "tokens"),
    Column {
        name: "ratio",
        shown: Some((2, "saved")),
        read: Read::Ratio(tokens),
    },
    change("messages", Unit::One, |o| {
        [o.messages_before(), o.messages_after()]
    }),
    number("conversations", |o| o.conversations.len() as u64),
    number("actions", |o| {
        o.conversations.iter().map(|c| c.actions.len() as u64).sum()
    }),
    text("degraded", |o| {
        let kinds: Vec<&str> = o.degraded.iter().map(|d| d.kind.name()).collect();
        kinds.join(" ")
    }),
    number("warnings", |o| o.warnings.len() as u64),
    text("stored_before", |o| stored(o.stored_before)),
    text("stored_after", |o| stored(o.stored_after)),
];

/// Of a file that is not compressed, nothing.
fn stored(bytes: Option<u64>) -> String {
    bytes.map(|bytes| bytes.to_string()).unwrap_or_default()
}

const fn text(name: &'static str, read: fn(&Outcome) -> String) -> Column {
    Column {
        name,
        shown: None,
        read: Read::Text(read),
    }
}

const fn number(name: &'static str, read: fn(&Outcome) -> u64) -> Column {
    Column {
        name,
        shown: None,
        read: Read::Number(read),
    }
}

const fn change(name: &'static str, unit: Unit, read: fn(&Outcome) -> [u64; 2]) -> Column {
    Column {
        name,
        shown: None,
        read: Read::Change(unit, read),
    }
}

fn tokens(outcome: &Outcome) -> [u64; 2] {
    [outcome.tokens_before(), outcome.tokens_after()]
}

fn error(outcome: &Outcome, part: fn(&OutcomeError) -> Option<String>) -> String {
    outcome.error.as_ref().and_then(part).unwrap_or_default()
}

/// All columns, in the order of the CSV report.
pub(super) fn all() -> impl Iterator<Item = &'static Column> {
    COLUMNS.iter()
}

/// The columns of reports for people, in their order there.
pub(super) fn shown() -> Vec<&'static Column> {
    let mut shown: Vec<_> = all().filter(|column| column.shown.is_some()).collect();
    shown.sort_by_key(|column| column.shown);
    shown
}

impl Column {
    /// The same column, shown to people at that place.
    const fn shown(self, place: u8, heading: &'static str) -> Column {
        Column {
            shown: Some((place, heading)),
            ..self
        }
    }

    /// The heading in reports for people.
    pub(super) fn heading(&self) -> &'static str {
        self.shown.map_or(self.name, |(_, heading)| heading)
    }

    /// The headings in CSV.
    pub(super) fn names(&self) -> Vec<String> {
        match self.read {
            Read::Text(_) | Read::Number(_) | Read::Ratio(_) => vec![self.name.to_owned()],
            Read::Change(..) => ["before", "after"]
                .map(|when| format!("{}_{when}", self.name))
                .to_vec(),
        }
    }

    /// The cells of an input in CSV.
    pub(super) fn cells(&self, outcome: &Outcome) -> Vec<Cell> {
        let number = |number: u64| Cell::Number(number.to_string());
        match self.read {
            Read::Text(read) => vec![Cell::Text(read(outcome))],
            Read::Number(read) => vec![number(read(outcome))],
            Read::Change(_, read) => Vec::from(read(outcome).map(number)),
            Read::Ratio(read) => {
                let [before, after] = read(outcome);
                vec![Cell::Number(format!("{:.4}", ratio(before, after)))]
            }
        }
    }

    /// How many figures people are shown: of a change both amounts.
    pub(super) fn width(&self) -> usize {
        match self.read {
            Read::Change(..) => 2,
            Read::Text(_) | Read::Number(_) | Read::Ratio(_) => 1,
        }
    }

    /// The figures of one input or of several together, as people read them; those of texts do not add up.
    pub(super) fn figures(&self, outcomes: &[&Outcome]) -> Vec<String> {
        let sum = |read: fn(&Outcome) -> [u64; 2]| {
            let amounts = outcomes.iter().map(|outcome| read(outcome));
            amounts.fold([0, 0], |[a, b], [before, after]| [a + before, b + after])
        };
        match self.read {
            Read::Text(read) => match outcomes {
                [one] => vec![read(one)],
                _ => vec![String::new()],
            },
            Read::Number(read) => vec![thousands(outcomes.iter().map(|o| read(o)).sum())],
            Read::Change(Unit::One, read) => sum(read).map(thousands).to_vec(),
            Read::Change(Unit::Byte, read) => sum(read).map(size).to_vec(),
            Read::Ratio(read) => {
                let [before, after] = sum(read);
                vec![saved(before, after)]
            }
        }
    }
}
