//! A plain table for stdout: columns as wide as what is in them, two spaces between.
//!
//! Never escapes: what comes in must be safe to show.

/// To which side a column's cells keep.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Aligned {
    /// Words.
    Left,
    /// Figures.
    Right,
}

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

    /// Adds a row, a cell for each column.
    pub(super) fn row(&mut self, cells: Vec<String>) {
        self.rows.push(cells);
    }

    /// The lines, without spaces at their ends.
    pub(super) fn text(&self) -> String {
        let width = |at: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(at));
            cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..self.aligned.len()).map(width).collect();
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
    }
}
