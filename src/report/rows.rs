//! Rows of cells, aligned by character count.
//!
//! Colours and bars are for screens that support them; they never convey more than the text.

use std::io::{self, Write};

use super::quoted::{heading, quoted};
use super::screen::{Ink, Screen, Tint, bar, first_words};
use crate::text::floor_boundary;

/// The minimum width of the first column, if a cell needs that much.
const NAME_MIN: usize = 16;

/// The same for narrow screens, where more would leave no room for figures: names are then on lines of their own.
const NAME_MIN_NARROW: usize = 4;

/// The minimum width of a column of sentences.
const SENTENCE_MIN: usize = 8;

/// Screens with fewer columns are narrow.
const NARROW: usize = 40;

/// The minimum width of the first column.
fn name_min(width: usize) -> usize {
    match width < NARROW {
        true => NAME_MIN_NARROW,
        false => NAME_MIN,
    }
}

/// The maximum length of a text cell in Markdown, in characters.
const MARKDOWN_MAX: usize = 120;

/// The length of a bar, in characters.
const BAR: usize = 8;

/// Rows under a header: words on the left, numbers on the right. A text that is too long for the first column gets a line of its
/// own: truncated, it could be mistaken for another one.
pub(super) struct Table {
    header: Vec<String>,
    /// Which columns are words.
    pub(super) words: &'static [usize],
    /// How much of the last column a narrow screen shows.
    pub(super) last: Last,
    /// The columns joined to the previous one by an arrow.
    pub(super) joined: Vec<usize>,
    /// The headings of columns to omit on a narrow screen, the least important first.
    pub(super) spare: &'static [&'static str],
    pub(super) rows: Vec<Vec<String>>,
    /// Texts of any length, each before the row of this number (from 0).
    pub(super) remarks: Vec<(usize, String)>,
    /// The share shown by each row's bar, in thousandths; no bars if empty.
    pub(super) bars: Vec<u16>,
    /// Tints of cells, by row and column.
    pub(super) tints: Vec<(usize, usize, Tint)>,
    /// Whether the last row is the sum of the others.
    pub(super) foot: Foot,
    /// The text below if rows were left out.
    pub(super) note: Option<String>,
}

/// How much of the cells in the last column a narrow screen shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Last {
    /// All of them.
    Whole,
    /// Their first words: they are sentences.
    Words,
}

/// What the last row of a table is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Foot {
    /// A row like the others.
    Row,
    /// The sum of the others.
    Sum,
}

impl Table {
    /// Creates a table without rows.
    pub(super) fn new<S: Into<String>>(header: impl IntoIterator<Item = S>) -> Self {
        Table {
            header: header.into_iter().map(Into::into).collect(),
            words: &[0],
            last: Last::Whole,
            joined: Vec::new(),
            spare: &[],
            rows: Vec::new(),
            remarks: Vec::new(),
            bars: Vec::new(),
            tints: Vec::new(),
            foot: Foot::Row,
            note: None,
        }
    }

    /// Writes the table as Markdown, its note below it.
    pub(super) fn write_markdown(&self, out: &mut dyn Write) -> io::Result<()> {
        let columns = self.header.len();
        let cell = |(at, text): (usize, &String)| match self.words.contains(&at) && !text.is_empty()
        {
            true => quoted(text, MARKDOWN_MAX),
            false => text.clone(),
        };
        writeln!(
            out,
            "| {} |",
            self.header
                .iter()
                .map(|h| heading(h, MARKDOWN_MAX))
                .collect::<Vec<_>>()
                .join(" | ")
        )?;
        let align = |at| {
            if self.words.contains(&at) {
                "---"
            } else {
                "---:"
            }
        };
        writeln!(
            out,
            "| {} |",
            (0..columns).map(align).collect::<Vec<_>>().join(" | ")
        )?;
        for row in &self.rows {
            let mut cells: Vec<String> = row.iter().enumerate().map(cell).collect();
            cells.resize(columns, String::new());
            writeln!(out, "| {} |", cells.join(" | "))?;
        }
        for line in self.note.iter().flat_map(|note| note.lines()) {
            writeln!(out, "\n{}", heading(line, MARKDOWN_MAX))?;
        }
        Ok(())
    }

    /// The width of each column.
    fn widths(&self) -> Vec<usize> {
        let mut widths = vec![0; self.header.len()];
        for row in self.rows.iter().chain([&self.header]) {
            for (widest, cell) in widths.iter_mut().zip(row) {
                *widest = (*widest).max(cell.chars().count());
            }
        }
        widths
    }

    /// The text before a column.
    fn gap(&self, column: usize) -> &'static str {
        match column {
            0 => "",
            column if self.joined.contains(&column) => " → ",
            _ => "  ",
        }
    }

    /// The width of all columns except the first and the omitted ones, including the gap before each.
    fn others(&self, widths: &[usize], left_out: &[usize]) -> usize {
        let wide = |(i, width): (usize, &usize)| width + self.gap(i).chars().count();
        let columns = widths.iter().enumerate().skip(1);
        columns
            .filter(|(i, _)| !left_out.contains(i))
            .map(wide)
            .sum()
    }

    /// Whether rows of `width` characters have room for every column.
    pub(super) fn fits(&self, width: usize) -> bool {
        self.others(&self.widths(), &[]) + name_min(width) <= width
    }

    /// The columns to omit on a screen of `width` characters.
    fn left_out(&self, widths: &[usize], width: usize) -> Vec<usize> {
        let mut left_out = Vec::new();
        for heading in self.spare {
            if self.others(widths, &left_out) + name_min(width) <= width {
                break;
            }
            left_out.extend(self.header.iter().position(|of| of == heading));
        }
        left_out
    }

    pub(super) fn write(&self, screen: Screen, out: &mut dyn Write) -> io::Result<()> {
        let Screen { width, ink, .. } = screen;
        let mut widths = self.widths();
        let left_out = self.left_out(&widths, width);
        let others = self.others(&widths, &left_out);
        widths[0] = widths[0].min(width.saturating_sub(others).max(name_min(width)));
        let over = (widths[0].saturating_add(others)).saturating_sub(width);
        let last = match self.last {
            Last::Words if over > 0 => Some(widths.len() - 1),
            Last::Words | Last::Whole => None,
        };
        if let Some(last) = last {
            widths[last] = widths[last].saturating_sub(over).max(SENTENCE_MIN);
        }
        let is_room = widths[0].saturating_add(others) + "  ".len() + BAR <= width;
        let line = |row: &[String], tint: &dyn Fn(usize) -> Option<Tint>| {
            let mut line = String::new();
            let cells = row.iter().zip(&widths).enumerate();
            for (i, (cell, &width)) in cells.filter(|(i, _)| !left_out.contains(i)) {
                line.push_str(self.gap(i));
                let aligned = if i == 0 && cell.chars().count() > width {
                    line.push_str(&ink.paint(cell, tint(i)));
                    format!("\n{}", " ".repeat(width))
                } else if last == Some(i) {
                    first_words(cell, width)
                } else if self.words.contains(&i) {
                    format!("{cell:<width$}")
                } else {
                    format!("{cell:>width$}")
                };
                line.push_str(&ink.paint(&aligned, tint(i)));
            }
            line
        };
        writeln!(
            out,
            "{}",
            line(&self.header, &|_| Some(Tint::Strong)).trim_end()
        )?;
        let mut remarks = self.remarks.iter().peekable();
        for (number, row) in self.rows.iter().enumerate() {
            while let Some((_, remark)) = remarks.next_if(|(next, _)| *next == number) {
                let remark = screen.folded(remark);
                writeln!(out, "{}", ink.paint(&remark, Some(Tint::Faint)))?;
            }
            let mut text = line(row, &|column| self.tint(number, column));
            match (ink, self.bars.get(number)) {
                (Ink::Colour, Some(share)) if is_room => {
                    text.push_str("  ");
                    text.push_str(&bar(*share, BAR));
                }
                (Ink::Colour | Ink::Plain, _) => {}
            }
            writeln!(out, "{}", text.trim_end())?;
        }
        for line in self.note.iter().flat_map(|note| note.lines()) {
            let line = screen.folded(line);
            writeln!(out, "{}", ink.paint(&line, Some(Tint::Faint)))?;
        }
        Ok(())
    }

    fn tint(&self, row: usize, column: usize) -> Option<Tint> {
        match self.foot {
            Foot::Sum if row + 1 == self.rows.len() => Some(Tint::Strong),
            Foot::Sum | Foot::Row => {
                let mut tints = self.tints.iter();
                let (_, _, tint) = tints.find(|(r, c, _)| (*r, *c) == (row, column))?;
                Some(*tint)
            }
        }
    }
}

/// The folder that contains all names, with a trailing `/`; empty for a single name.
pub(super) fn common_folder<'n>(names: impl IntoIterator<Item = &'n str>) -> &'n str {
    let mut names = names.into_iter();
    let Some(first) = names.next() else { return "" };
    let mut common = folder_of(first);
    let mut number = 1;
    for name in names {
        number += 1;
        common = shared(first, common, name);
    }
    if number > 1 { &first[..common] } else { "" }
}

/// The same for names that arrive one by one.
#[derive(Debug, Default)]
pub(super) struct Folder {
    first: Option<String>,
    common: usize,
    is_shared: bool,
}

impl Folder {
    pub(super) fn see(&mut self, name: &str) {
        match &self.first {
            None => {
                self.common = folder_of(name);
                self.first = Some(name.to_owned());
            }
            Some(first) => {
                self.common = shared(first, self.common, name);
                self.is_shared = true;
            }
        }
    }

    /// The result, as by [`common_folder`].
    pub(super) fn name(&self) -> &str {
        match &self.first {
            Some(first) if self.is_shared => &first[..self.common],
            Some(_) | None => "",
        }
    }
}

/// The length in bytes of a name's folder.
fn folder_of(name: &str) -> usize {
    name.rfind('/').map_or(0, |at| at + 1)
}

/// The length in bytes of the folder that `name` shares with `first`, at most `common`, the length shared so far.
fn shared(first: &str, common: usize, name: &str) -> usize {
    let alike = first.bytes().zip(name.bytes()).take_while(|(a, b)| a == b);
    let alike = alike.count().min(common);
    // Two characters may differ only from their second byte on.
    folder_of(&first[..floor_boundary(first, alike)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_share_a_folder() {
        for (names, common) in [
            (vec!["a/b/c.jsonl"], ""),
            (vec!["a/b/c.jsonl", "a/b/d.jsonl"], "a/b/"),
            (vec!["a/b/c.jsonl", "a/bc/d.jsonl"], "a/"),
            (vec!["/x/1", "/y/1"], "/"),
            (vec!["x", "y/1"], ""),
            (vec!["é/1", "è/1"], ""),
        ] {
            let mut folder = Folder::default();
            names.iter().for_each(|name| folder.see(name));
            assert_eq!(folder.name(), common);
            assert_eq!(common_folder(names), common);
        }
    }

    #[test]
    fn a_narrow_screen_gets_fewer_columns() {
        let mut table = Table::new(["file", "kind", "turns", "tokens"]);
        table.spare = &["turns", "kind"];
        table.rows = vec![["a", "x", "1", "12"].map(str::to_owned).to_vec()];
        let at = |width: usize| {
            let mut out = Vec::new();
            table.write(Screen::plain(width), &mut out).unwrap();
            String::from_utf8(out).unwrap()
        };
        assert_eq!(
            at(40),
            "file  kind  turns  tokens\na        x      1      12\n"
        );
        assert_eq!(at(22), "file  kind  tokens\na        x      12\n");
        assert_eq!(at(13), "file  tokens\na         12\n");
    }

    #[test]
    fn a_narrow_screen_gets_the_first_words_of_a_sentence() {
        let mut table = Table::new(["policy", "limit", "status"]);
        table.words = &[0, 2];
        table.last = Last::Words;
        let row = |name: &str, status: &str| [name, "10 000", status].map(str::to_owned).to_vec();
        table.rows = vec![
            row("a", "over since turn 1 (now 36 433)"),
            row("b", "not over it"),
            row("c", "0 of 3 results over it; the newest 5 stay"),
        ];
        let at = |width: usize| {
            let mut out = Vec::new();
            table.write(Screen::plain(width), &mut out).unwrap();
            String::from_utf8(out).unwrap()
        };
        let whole = at(100);
        assert!(
            whole.contains("over since turn 1 (now 36 433)\n"),
            "{whole}"
        );
        assert_eq!(at(57), whole);
        // No number is cut: 36 433 would become 36.
        assert_eq!(
            at(42),
            "\
policy   limit  status
a       10 000  over since turn 1 (now…
b       10 000  not over it
c       10 000  0 of 3 results over it…
"
        );
    }

    #[test]
    fn a_name_that_is_too_long_is_not_cut() {
        let mut table = Table::new(["file", "tokens"]);
        table.rows = vec![
            vec!["a-name-of-thirty-characters-xx".to_owned(), "7".to_owned()],
            vec!["short".to_owned(), "12".to_owned()],
        ];
        let mut out = Vec::new();
        table.write(Screen::plain(24), &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        let expected = "file              tokens\na-name-of-thirty-characters-xx\n                       7\nshort                 12\n";
        assert_eq!(text, expected);
    }
}
