//! A table's rows as data in the page: one line per row, and one line for the details that unfold below it.
//!
//! Never holds more than one row in memory. The script reads the lines with details only when a row is unfolded.

use std::io::{self, Write};

use serde::{Serialize, Serializer};
use serde_json::json;

use super::safe::Inert;
use super::{Align, Cell, Column, ColumnKind, Detail, DetailTable, Table};
use crate::text::printable;

/// Writes the two blocks of data.
pub(super) fn write(table: &Table<'_>, out: &mut dyn Write) -> io::Result<()> {
    write!(out, "<script type=\"application/json\" id=\"rows\">")?;
    let columns: Vec<_> = table.columns.iter().map(column).collect();
    let (what, columns) = (json!(table.what), json!(columns));
    write!(out, "{{\"what\":{what},\"columns\":{columns},\"rows\":[")?;
    let mut before: &[u8] = b"\n";
    table.rows.each_row(&mut |row| {
        out.write_all(before)?;
        before = b",\n";
        Ok(serde_json::to_writer(Inert(&mut *out), row)?)
    })?;
    writeln!(out, "\n]}}</script>")?;
    write!(out, "<script type=\"application/json\" id=\"details\">")?;
    table.rows.each_detail(&mut |detail| {
        out.write_all(b"\n")?;
        match detail {
            Some(detail) => Ok(serde_json::to_writer(Inert(&mut *out), &detail)?),
            None => Ok(()),
        }
    })?;
    writeln!(out, "\n</script>")
}

fn column(column: &Column) -> serde_json::Value {
    json!({"heading": column.heading, "kind": column.kind.name()})
}

impl ColumnKind {
    /// Its name in the data and in classes.
    pub(super) fn name(self) -> &'static str {
        match self {
            ColumnKind::Name => "name",
            ColumnKind::Note => "note",
            ColumnKind::Word => "word",
            ColumnKind::Number => "number",
            ColumnKind::Bytes => "bytes",
            ColumnKind::Share => "share",
        }
    }
}

impl Serialize for Cell<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Cell::Text(text) => serializer.serialize_str(&printable(text)),
            Cell::Number(n) => serializer.serialize_u64(*n),
            // Four decimals are enough for what is shown.
            Cell::Share(share) => serializer.serialize_f64((share * 10_000.0).round() / 10_000.0),
            Cell::Fall(before, after) => {
                serializer.serialize_i128(i128::from(*before) - i128::from(*after))
            }
            Cell::Nothing => serializer.serialize_none(),
        }
    }
}

impl Serialize for Detail {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Shown<'d> {
            facts: Vec<[std::borrow::Cow<'d, str>; 2]>,
            tables: Vec<ShownTable<'d>>,
        }
        let facts = self.facts.iter();
        let shown = Shown {
            facts: facts
                .map(|(name, value)| [(*name).into(), printable(value)])
                .collect(),
            tables: self.tables.iter().map(ShownTable::of).collect(),
        };
        shown.serialize(serializer)
    }
}

#[derive(Serialize)]
struct ShownTable<'d> {
    title: std::borrow::Cow<'d, str>,
    /// Each heading, and 1 if its column is of numbers.
    head: Vec<(&'d str, u8)>,
    rows: Vec<Vec<std::borrow::Cow<'d, str>>>,
    note: std::borrow::Cow<'d, str>,
}

impl<'d> ShownTable<'d> {
    fn of(table: &'d DetailTable) -> Self {
        let head = table.headings.iter().map(|(heading, align)| match align {
            Align::Left => (*heading, 0),
            Align::Right => (*heading, 1),
        });
        let rows = table.rows.iter();
        ShownTable {
            title: printable(&table.title),
            head: head.collect(),
            rows: rows
                .map(|row| row.iter().map(|cell| printable(cell)).collect())
                .collect(),
            note: printable(&table.note),
        }
    }
}
