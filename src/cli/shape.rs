//! `--format` and `--json`: in which form a command prints its results.

use clap::{Args, ValueEnum};

/// The form of the output on stdout.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Shape {
    /// For people
    Text,
    /// For programs
    Json,
}

/// The flags that select the form.
#[derive(Debug, Clone, Args)]
pub(super) struct ShapeArgs {
    /// Output format
    #[arg(long, value_enum, default_value_t = Shape::Text, value_name = "FORMAT")]
    format: Shape,
    /// Short for --format json
    #[arg(long, conflicts_with = "format")]
    json: bool,
}

impl ShapeArgs {
    /// The selected form.
    pub(super) fn shape(&self) -> Shape {
        if self.json { Shape::Json } else { self.format }
    }
}

/// The same for a command that can print CSV, too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum TableShape {
    /// For people
    Text,
    /// For programs
    Json,
    /// For spreadsheets
    Csv,
}

/// The flags that select the form.
#[derive(Debug, Clone, Args)]
pub(super) struct TableShapeArgs {
    /// Output format
    #[arg(long, value_enum, default_value_t = TableShape::Text, value_name = "FORMAT")]
    format: TableShape,
    /// Short for --format json
    #[arg(long, conflicts_with_all = ["csv", "format"])]
    json: bool,
    /// Short for --format csv
    #[arg(long, conflicts_with = "format")]
    csv: bool,
}

impl TableShapeArgs {
    /// The selected form.
    pub(super) fn shape(&self) -> TableShape {
        match (self.json, self.csv) {
            (true, _) => TableShape::Json,
            (false, true) => TableShape::Csv,
            (false, false) => self.format,
        }
    }
}
