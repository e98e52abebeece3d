//! Rows of cells, aligned by character count; without colour.

use std::io::{self, Write};

use crate::report::cells::elide;

/// The column that gives way is never cut shorter than this.
const NAME_MIN: usize = 16;

/// Rows under a header: words on the left, numbers on the right. The first column gives way.
pub(super) struct Table {
    header: Vec<String>,
    /// Which columns are words.
    pub(super) words: &'static [usize],
    /// The columns that an arrow joins to the one before.
    pub(super) joined: Vec<usize>,
    pub(super) rows: Vec<Vec<String>>,
    /// Texts before rows of these numbers (from 0), of any length.
    pub(super) remarks: Vec<(usize, String)>,
    /// The text below if rows were left out.
    pub(super) note: Option<String>,
}

impl Table {
    /// Without rows.
    pub(super) fn new<S: Into<String>>(header: impl IntoIterator<Item = S>) -> Self {
        Table {
            header: header.into_iter().map(Into::into).collect(),
            words: &[0],
            joined: Vec::new(),
            rows: Vec::new(),
            remarks: Vec::new(),
            note: None,
        }
    }

    pub(super) fn write(&self, width: usize, out: &mut dyn Write) -> io::Result<()> {
        let mut widths = vec![0; self.header.len()];
        for row in self.rows.iter().chain([&self.header]) {
            for (widest, cell) in widths.iter_mut().zip(row) {
                *widest = (*widest).max(cell.chars().count());
            }
        }
        let gap = |i: usize| match i {
            0 => "",
            i if self.joined.contains(&i) => " → ",
            _ => "  ",
        };
        let wide = |(i, width): (usize, &usize)| width + gap(i).chars().count();
        let others: usize = widths.iter().enumerate().skip(1).map(wide).sum();
        widths[0] = widths[0].min(width.saturating_sub(others).max(NAME_MIN));
        let write_row = |row: &[String], out: &mut dyn Write| {
            let mut line = String::new();
            for (i, (cell, &width)) in row.iter().zip(&widths).enumerate() {
                line.push_str(gap(i));
                if self.words.contains(&i) {
                    line.push_str(&format!("{:<width$}", elide(cell, width)));
                } else {
                    line.push_str(&format!("{cell:>width$}"));
                }
            }
            writeln!(out, "{}", line.trim_end())
        };
        write_row(&self.header, out)?;
        let mut remarks = self.remarks.iter().peekable();
        for (number, row) in self.rows.iter().enumerate() {
            while let Some((_, remark)) = remarks.next_if(|(next, _)| *next == number) {
                writeln!(out, "{remark}")?;
            }
            write_row(row, out)?;
        }
        self.note
            .iter()
            .try_for_each(|note| writeln!(out, "{note}"))
    }
}

/// A part of a whole, as `66.5%`.
pub(super) fn percent(part: u64, whole: u64) -> String {
    let whole = u128::from(whole.max(1));
    let permille = (u128::from(part) * 2000 + whole) / (whole * 2);
    format!("{}.{}%", permille / 10, permille % 10)
}
