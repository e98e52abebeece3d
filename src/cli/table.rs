//! A plain table for stdout: columns are as wide as their contents, with two spaces in between.
//!
//! Does not escape anything: cells must be safe to show.

/// How a column's cells are aligned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Aligned {
    /// Words.
    Left,
    /// Figures.
    Right,
}

/// The number of characters of the last column that should fit next to the others.
const LAST: usize = 16;

/// A table with a line of headings.
#[derive(Debug)]
pub(super) struct Table {
    aligned: Vec<Aligned>,
    rows: Vec<Vec<String>>,
}

impl Table {
    pub(super) fn new(columns: &[(&str, Aligned)]) -> Self {
        Table {
            aligned: columns.iter().map(|(_, aligned)| *aligned).collect(),
            rows: vec![columns.iter().map(|(name, _)| (*name).to_owned()).collect()],
        }
    }

    /// Adds a row, with one cell per column.
    pub(super) fn row(&mut self, cells: Vec<String>) {
        self.rows.push(cells);
    }

    /// The same table for a screen of this width: without as many columns of `less`, in this order, as needed to avoid breaking
    /// figures. The last column contains words, which may wrap.
    pub(super) fn within(mut self, width: usize, less: &[usize]) -> Self {
        let mut gone: Vec<usize> = Vec::new();
        for column in less {
            let widths = self.widths();
            let last = widths.len().saturating_sub(1);
            let shown = (0..=last).filter(|at| !gone.contains(at));
            let taken: usize = shown
                .map(|at| match at == last {
                    true => widths[at].min(LAST),
                    false => widths[at] + "  ".len(),
                })
                .sum();
            if taken <= width {
                break;
            }
            gone.push(*column);
        }
        gone.sort_unstable();
        for column in gone.into_iter().rev() {
            self.aligned.remove(column);
            for row in &mut self.rows {
                row.remove(column);
            }
        }
        self
    }

    /// The width of each column.
    fn widths(&self) -> Vec<usize> {
        let width = |at: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(at));
            cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
        };
        (0..self.aligned.len()).map(width).collect()
    }

    /// The lines, without trailing spaces.
    pub(super) fn text(&self) -> String {
        let widths = self.widths();
        let mut text = String::new();
        for row in &self.rows {
            let columns = row.iter().zip(&self.aligned).zip(&widths);
            let cells: Vec<String> = columns
                .map(|((cell, aligned), width)| match aligned {
                    Aligned::Left => format!("{cell:<width$}"),
                    Aligned::Right => format!("{cell:>width$}"),
                })
                .collect();
            text.push_str(cells.join("  ").trim_end());
            text.push('\n');
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_keep_left_and_figures_right() {
        let mut table = Table::new(&[
            ("name", Aligned::Left),
            ("n", Aligned::Right),
            ("x", Aligned::Left),
        ]);
        table.row(vec!["a".to_owned(), "10".to_owned(), String::new()]);
        assert_eq!(table.text(), "name   n  x\na     10\n");
        assert_eq!(table.within(11, &[1]).text(), "name   n  x\na     10\n");
    }

    #[test]
    fn narrow_screens_have_fewer_columns() {
        let table = || {
            let mut table = Table::new(&[
                ("name", Aligned::Left),
                ("n", Aligned::Right),
                ("size", Aligned::Right),
                ("place", Aligned::Left),
            ]);
            let cells = ["a", "10", "2", "/a/place/that/is/long"];
            table.row(cells.map(str::to_owned).to_vec());
            table
        };
        let first = |width| table().within(width, &[2, 1]).text();
        assert!(first(32).starts_with("name   n  size  place\n"));
        assert!(first(31).starts_with("name   n  place\n"));
        assert!(first(20).starts_with("name  place\n"));
    }
}
