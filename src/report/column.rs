//! A column of a report: its name and what it reads from a row, described once for all renderings.
//!
//! A CSV report has the columns with a CSV name, in order; reports for people (tables, Markdown, pages) have those with a heading.
//! Knows no command; a command's list of columns is next to its report.

use super::cells::{self, saved};
use super::page::{self, ColumnKind};
use crate::outcome;
use crate::text::{size, thousands};

/// A column of rows `R`.
pub(super) struct Column<R> {
    /// The heading in CSV; for a change, the common prefix of two headings. `None` if the value follows from other columns.
    name: Option<&'static str>,
    /// The heading in reports for people, and the column's position there; `None` if they do not include it.
    shown: Option<(u8, &'static str)>,
    read: Read<R>,
}

type Reader<R, T> = Box<dyn Fn(&R) -> T>;

/// What a column reads. The figures of several rows can be added up.
enum Read<R> {
    Text(Reader<R, String>),
    /// An amount, if known.
    Number(Unit, Reader<R, Option<u64>>),
    /// An amount before and after.
    Change(Unit, Reader<R, [u64; 2]>),
    /// The ratio of two amounts, before and after; people are shown what was saved.
    Ratio(Reader<R, [u64; 2]>),
    /// A part of a whole.
    Part(Reader<R, [u64; 2]>),
    /// A percentage, if known.
    Percent(Reader<R, Option<f64>>),
    /// A time in seconds, if known; for programs only.
    Seconds(Reader<R, Option<f64>>),
}

/// The unit of an amount.
#[derive(Clone, Copy)]
pub(super) enum Unit {
    One,
    Byte,
}

/// A cell of a CSV report.
pub(super) enum Cell {
    /// Text, which may be untrusted.
    Text(String),
    /// Digits, or nothing.
    Number(String),
}

/// What a column reads from several rows, added up row by row.
#[derive(Debug, Clone, Default)]
pub(super) struct Sum {
    rows: u64,
    /// The text of the only row: texts do not add up.
    text: String,
    /// Whether any of the amounts is known.
    known: bool,
    amounts: [u64; 2],
}

/// The columns of reports for people, in their order.
pub(super) fn shown<R>(columns: &[Column<R>]) -> Vec<&Column<R>> {
    let mut shown: Vec<_> = columns.iter().filter(|c| c.shown.is_some()).collect();
    shown.sort_by_key(|column| column.shown);
    shown
}

impl<R> Column<R> {
    /// A column of text.
    pub(super) fn text(name: &'static str, read: impl Fn(&R) -> String + 'static) -> Self {
        Column::named(name, Read::Text(Box::new(read)))
    }

    /// A column of amounts that are always known.
    pub(super) fn number(name: &'static str, read: impl Fn(&R) -> u64 + 'static) -> Self {
        Column::amount(name, Unit::One, move |row| Some(read(row)))
    }

    /// A column of amounts.
    pub(super) fn amount(
        name: &'static str,
        unit: Unit,
        read: impl Fn(&R) -> Option<u64> + 'static,
    ) -> Self {
        Column::named(name, Read::Number(unit, Box::new(read)))
    }

    /// A column of amounts before and after.
    pub(super) fn change(
        name: &'static str,
        unit: Unit,
        read: impl Fn(&R) -> [u64; 2] + 'static,
    ) -> Self {
        Column::named(name, Read::Change(unit, Box::new(read)))
    }

    /// A column of ratios of an amount after to that before.
    pub(super) fn ratio(name: &'static str, read: impl Fn(&R) -> [u64; 2] + 'static) -> Self {
        Column::named(name, Read::Ratio(Box::new(read)))
    }

    /// A column of parts of a whole, for people only: programs have both amounts.
    pub(super) fn part(read: impl Fn(&R) -> [u64; 2] + 'static) -> Self {
        Column {
            name: None,
            shown: None,
            read: Read::Part(Box::new(read)),
        }
    }

    /// A column of percentages.
    pub(super) fn percent(name: &'static str, read: impl Fn(&R) -> Option<f64> + 'static) -> Self {
        Column::named(name, Read::Percent(Box::new(read)))
    }

    /// A column of seconds, for programs only.
    pub(super) fn seconds(name: &'static str, read: impl Fn(&R) -> Option<f64> + 'static) -> Self {
        Column::named(name, Read::Seconds(Box::new(read)))
    }

    /// A column of amounts for people only: programs have their parts.
    pub(super) fn for_people(read: impl Fn(&R) -> Option<u64> + 'static) -> Self {
        Column {
            name: None,
            shown: None,
            read: Read::Number(Unit::One, Box::new(read)),
        }
    }

    fn named(name: &'static str, read: Read<R>) -> Self {
        Column {
            name: Some(name),
            shown: None,
            read,
        }
    }

    /// The same column, shown to people at this position.
    pub(super) fn shown(self, place: u8, heading: &'static str) -> Self {
        Column {
            shown: Some((place, heading)),
            ..self
        }
    }

    /// The heading in reports for people.
    pub(super) fn heading(&self) -> &'static str {
        self.shown.map_or("", |(_, heading)| heading)
    }

    /// The headings in CSV.
    pub(super) fn names(&self) -> Vec<String> {
        let Some(name) = self.name else {
            return Vec::new();
        };
        match self.read {
            Read::Text(_)
            | Read::Number(..)
            | Read::Ratio(_)
            | Read::Part(_)
            | Read::Percent(_)
            | Read::Seconds(_) => {
                vec![name.to_owned()]
            }
            Read::Change(..) => ["before", "after"]
                .map(|when| format!("{name}_{when}"))
                .to_vec(),
        }
    }

    /// The cells of a row in CSV.
    pub(super) fn cells(&self, row: &R) -> Vec<Cell> {
        if self.name.is_none() {
            return Vec::new();
        }
        let number = |number: u64| Cell::Number(number.to_string());
        let known = |text: Option<String>| vec![Cell::Number(text.unwrap_or_default())];
        match &self.read {
            Read::Text(read) => vec![Cell::Text(read(row))],
            Read::Number(_, read) => known(read(row).map(|number| number.to_string())),
            Read::Change(_, read) => Vec::from(read(row).map(number)),
            Read::Ratio(read) => {
                let [before, after] = read(row);
                vec![Cell::Number(format!(
                    "{:.4}",
                    outcome::ratio(before, after)
                ))]
            }
            Read::Part(read) => read(row).map(number).into(),
            Read::Percent(read) => known(read(row).map(|share| format!("{share:.2}"))),
            Read::Seconds(read) => known(read(row).map(|seconds| format!("{seconds:.6}"))),
        }
    }

    /// The number of cells in reports for people: a change has two.
    pub(super) fn width(&self) -> usize {
        match self.read {
            Read::Change(..) => 2,
            Read::Text(_)
            | Read::Number(..)
            | Read::Ratio(_)
            | Read::Part(_)
            | Read::Percent(_)
            | Read::Seconds(_) => 1,
        }
    }

    /// The formatted figures of one row, or of several together; texts and percentages do not add up.
    pub(super) fn figures(&self, rows: &[&R]) -> Vec<String> {
        let mut sum = Sum::default();
        rows.iter().for_each(|row| self.add(&mut sum, row));
        self.figures_of(&sum)
    }

    /// Adds a row to a sum of this column.
    pub(super) fn add(&self, sum: &mut Sum, row: &R) {
        sum.rows += 1;
        // Only the text of a single row is shown.
        let only = |text: &dyn Fn() -> String| match sum.rows {
            1 => text(),
            _ => String::new(),
        };
        match &self.read {
            Read::Text(read) => sum.text = only(&|| read(row)),
            Read::Number(_, read) => {
                if let Some(amount) = read(row) {
                    sum.known = true;
                    sum.amounts[0] += amount;
                }
            }
            Read::Change(_, read) | Read::Ratio(read) | Read::Part(read) => {
                let [a, b] = read(row);
                sum.amounts[0] += a;
                sum.amounts[1] += b;
            }
            Read::Percent(read) => {
                sum.text = only(&|| match read(row) {
                    Some(share) => format!("{share:.1}"),
                    None => "-".to_owned(),
                });
            }
            Read::Seconds(_) => {}
        }
    }

    /// The formatted figures of a sum.
    pub(super) fn figures_of(&self, sum: &Sum) -> Vec<String> {
        let [first, second] = sum.amounts;
        match &self.read {
            Read::Text(_) | Read::Percent(_) => vec![sum.text.clone()],
            Read::Number(unit, _) => match sum.known || sum.rows == 0 {
                true => vec![unit.figure(first)],
                false => vec![String::new()],
            },
            Read::Change(unit, _) => sum.amounts.map(|amount| unit.figure(amount)).to_vec(),
            Read::Ratio(_) => vec![saved(first, second)],
            Read::Part(_) => vec![cells::percent(first, second)],
            Read::Seconds(_) => vec![String::new()],
        }
    }

    /// The columns of a page's table.
    pub(super) fn on_page(&self) -> Vec<page::Column> {
        let heading = self.heading();
        match &self.read {
            Read::Text(_) => vec![page::Column::new(heading, ColumnKind::Word)],
            Read::Number(unit, _) => vec![page::Column::new(heading, unit.kind())],
            Read::Change(unit, _) => ["before", "after"]
                .map(|when| page::Column::new(format!("{heading} {when}"), unit.kind()))
                .into(),
            Read::Ratio(_) | Read::Part(_) | Read::Percent(_) => {
                vec![page::Column::new(heading, ColumnKind::Share)]
            }
            Read::Seconds(_) => vec![page::Column::new(heading, ColumnKind::Word)],
        }
    }

    /// The cells of a row on a page; empty ones if nothing is known about the row.
    pub(super) fn page_cells(&self, row: Option<&R>) -> Vec<page::Cell<'static>> {
        let Some(row) = row else {
            return (0..self.width()).map(|_| page::Cell::Nothing).collect();
        };
        let share = |part: f64, whole: u64| match whole {
            0 => page::Cell::Nothing,
            _ => page::Cell::Share(part / whole as f64),
        };
        match &self.read {
            Read::Text(read) => vec![page::Cell::Text(read(row).into())],
            Read::Number(_, read) => {
                vec![read(row).map_or(page::Cell::Nothing, page::Cell::Number)]
            }
            Read::Change(_, read) => read(row).map(page::Cell::Number).into(),
            Read::Ratio(read) => {
                let [before, after] = read(row);
                vec![share(before as f64 - after as f64, before)]
            }
            Read::Part(read) => {
                let [part, whole] = read(row);
                vec![share(part as f64, whole)]
            }
            Read::Percent(read) => {
                let known = read(row).map(|percent| page::Cell::Share(percent / 100.0));
                vec![known.unwrap_or(page::Cell::Nothing)]
            }
            Read::Seconds(_) => vec![page::Cell::Nothing],
        }
    }
}

impl Unit {
    fn figure(self, amount: u64) -> String {
        match self {
            Unit::One => thousands(amount),
            Unit::Byte => size(amount),
        }
    }

    fn kind(self) -> ColumnKind {
        match self {
            Unit::One => ColumnKind::Number,
            Unit::Byte => ColumnKind::Bytes,
        }
    }
}
