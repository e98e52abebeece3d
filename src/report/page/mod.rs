//! A report as a self-contained page: what any command's page consists of, and how it is written as a single HTML file.
//!
//! The model is closed and holds text, numbers and shares only: never markup. The page loads nothing, and its content security
//! policy allows one style and one script, by their hashes. Figures and charts are in the page itself, so that they also appear on
//! paper and without a script; a table's rows are data that the script shows as they are scrolled into view, however many there
//! are.

mod charts;
mod curves;
mod data;
mod document;
mod histogram;
mod parts;
mod safe;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::io;

use super::PolicyRef;

pub(super) use document::write;
pub(super) use safe::{amount, amount_of, figure, unbroken};

/// The page of one report.
pub(super) struct Page<'r> {
    /// The command that made the report.
    pub(super) command: &'static str,
    /// What a reader wants to know first.
    pub(super) headline: String,
    /// One sentence below it.
    pub(super) lead: String,
    /// The headline as a bar, if it is a share of a whole.
    pub(super) bar: Option<Vec<(Tone, u64)>>,
    /// The most important figures.
    pub(super) facts: Vec<Fact>,
    /// What is worth explaining in words, such as why nothing was done.
    pub(super) lists: Vec<List>,
    /// The charts, in page order.
    pub(super) charts: Vec<Chart>,
    /// The rows.
    pub(super) table: Table<'r>,
    /// The policies in force.
    pub(super) policies: &'r [PolicyRef],
}

/// A figure with its name.
pub(super) struct Fact {
    pub(super) name: &'static str,
    pub(super) value: String,
    /// More, in small type; empty if there is none.
    pub(super) note: String,
}

/// Texts, each with the number of times it applies.
pub(super) struct List {
    pub(super) title: &'static str,
    pub(super) items: Vec<(u64, String)>,
}

/// A chart.
pub(super) enum Chart {
    /// Horizontal bars of several parts.
    Bars(Bars),
    /// How values are spread.
    Histogram(Histogram),
    /// Lines over a common axis.
    Curves(Curves),
}

/// Horizontal bars, all on one scale.
pub(super) struct Bars {
    pub(super) title: &'static str,
    /// What is shown, in a sentence.
    pub(super) about: String,
    /// The parts of a bar, in order.
    pub(super) parts: Vec<(Tone, &'static str)>,
    pub(super) bars: Vec<Bar>,
}

/// One bar.
pub(super) struct Bar {
    pub(super) name: String,
    /// More, in small type; empty if there is none.
    pub(super) note: String,
    /// The size of each part.
    pub(super) parts: Vec<(Tone, u64)>,
    /// The figures beside it.
    pub(super) value: String,
}

/// How many things have a value in each tenth of 0 to 100 percent.
pub(super) struct Histogram {
    pub(super) title: &'static str,
    pub(super) about: String,
    /// What is counted: `file`.
    pub(super) what: &'static str,
    /// From 0–10 % to 90–100 %.
    pub(super) tenths: [u64; 10],
    /// Things far from the others, named, with their values.
    pub(super) outliers: Vec<(String, String)>,
}

/// Lines over a common axis.
pub(super) struct Curves {
    pub(super) title: &'static str,
    pub(super) about: String,
    /// What the axes mean.
    pub(super) x: Axis,
    pub(super) y: Axis,
    pub(super) lines: Vec<Line>,
    /// Horizontal lines with a name.
    pub(super) limits: Vec<(f64, String)>,
}

/// An axis from 0 on, or from the least value.
pub(super) struct Axis {
    pub(super) name: &'static str,
    pub(super) unit: Unit,
}

/// The unit of an axis.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Unit {
    /// Whole numbers, such as tokens or turns.
    One,
    /// From 0 to 100.
    Percent,
}

/// A line.
pub(super) struct Line {
    pub(super) name: String,
    pub(super) tone: Tone,
    /// In ascending order of x.
    pub(super) points: Vec<(f64, f64)>,
    /// Where something happened, with what it was.
    pub(super) marks: Vec<(f64, f64, String)>,
}

/// A colour by its meaning.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Tone {
    /// What is still there.
    Stays,
    /// What was there before.
    Gone,
    /// What exists only afterwards.
    Added,
    /// One of several tones that only serve to distinguish things, by its number.
    Nth(usize),
}

/// A table that may be very long.
pub(super) struct Table<'r> {
    /// What a row is: `file`.
    pub(super) what: &'static str,
    pub(super) columns: Vec<Column>,
    pub(super) rows: &'r dyn Rows,
}

/// A column.
pub(super) struct Column {
    pub(super) heading: Cow<'static, str>,
    pub(super) kind: ColumnKind,
}

impl Column {
    pub(super) fn new(heading: impl Into<Cow<'static, str>>, kind: ColumnKind) -> Self {
        let heading = heading.into();
        Column { heading, kind }
    }
}

/// How a column's cells are shown and sorted.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum ColumnKind {
    /// What the row is about; the first column, and the only one of this kind.
    Name,
    /// A sentence shown below the name.
    Note,
    /// A word.
    Word,
    /// A whole number.
    Number,
    /// A size in bytes.
    Bytes,
    /// A share of 1, shown in percent.
    Share,
}

/// Is shown the cells of a row, in the order of the columns.
pub(super) type ShowRow<'s> = &'s mut dyn FnMut(&[Cell<'_>]) -> io::Result<()>;
/// Is shown the details that unfold below a row, if any.
pub(super) type ShowDetail<'s> = &'s mut dyn FnMut(Option<Detail>) -> io::Result<()>;

/// The rows, one by one, so that they are never all in memory a second time.
pub(super) trait Rows {
    /// How many there are.
    fn len(&self) -> usize;

    /// Shows at most so many rows from the beginning.
    ///
    /// # Errors
    /// The errors of `show`, or if a row cannot be read.
    fn first_rows(&self, most: usize, show: ShowRow<'_>) -> io::Result<()>;

    /// Shows all rows.
    ///
    /// # Errors
    /// The errors of `show`, or if a row cannot be read.
    fn each_row(&self, show: ShowRow<'_>) -> io::Result<()>;

    /// Shows the details of all rows.
    ///
    /// # Errors
    /// The errors of `show`, or if a row cannot be read.
    fn each_detail(&self, show: ShowDetail<'_>) -> io::Result<()>;
}

/// Rows in memory, each of which is found by its index.
pub(super) trait RowsByIndex {
    /// How many there are.
    fn len(&self) -> usize;

    /// The cells of a row, in the order of the columns.
    fn row(&self, at: usize) -> Vec<Cell<'_>>;

    /// The details that unfold below a row, if any.
    fn detail(&self, at: usize) -> Option<Detail>;
}

impl<R: RowsByIndex> Rows for R {
    fn len(&self) -> usize {
        RowsByIndex::len(self)
    }

    fn first_rows(&self, most: usize, show: ShowRow<'_>) -> io::Result<()> {
        let mut first = 0..RowsByIndex::len(self).min(most);
        first.try_for_each(|at| show(&self.row(at)))
    }

    fn each_row(&self, show: ShowRow<'_>) -> io::Result<()> {
        self.first_rows(usize::MAX, show)
    }

    fn each_detail(&self, show: ShowDetail<'_>) -> io::Result<()> {
        (0..RowsByIndex::len(self)).try_for_each(|at| show(self.detail(at)))
    }
}

/// A cell.
pub(super) enum Cell<'r> {
    Text(Cow<'r, str>),
    Number(u64),
    /// The decrease of a number from the first value to the second.
    Fall(u64, u64),
    /// A share of 1.
    Share(f64),
    /// Nothing is known; sorts last.
    Nothing,
}

/// What unfolds below a row.
#[derive(Default)]
pub(super) struct Detail {
    /// Names and values.
    pub(super) facts: Vec<(&'static str, String)>,
    pub(super) tables: Vec<DetailTable>,
}

/// A short table below a row.
pub(super) struct DetailTable {
    pub(super) title: String,
    /// Headings of number columns are right-aligned.
    pub(super) headings: &'static [(&'static str, Align)],
    pub(super) rows: Vec<Vec<String>>,
    /// What is left out, in words; empty if nothing is.
    pub(super) note: String,
}

/// How a short table's column is aligned.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Align {
    Left,
    Right,
}
