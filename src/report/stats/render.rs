//! The report on `stats` in every format but the terminal's: JSON lines, a row an input in CSV, Markdown for a comment.
//!
//! Lists are cut in Markdown only.

use std::io::{self, Write};

use super::columns::{conversation_columns, turn_columns};
use super::table::parts;
use super::{Stats, Turns, View, page};
use crate::report::groups::{self, Figures};
use crate::report::markdown::{write_foot, write_times};
use crate::report::quoted::quoted;
use crate::report::{CsvRows, Render, ReportFormat, Screen};
use crate::report::{csv, left_out};
use crate::text::{count, thousands};

/// How much of the counts a comment shows.
const VIEW: View = View {
    screen: Screen::plain(usize::MAX),
    top: 10,
    turns: Turns::Some,
};

impl Render for Stats {
    fn render(&self, format: ReportFormat, out: &mut dyn Write) -> io::Result<()> {
        match format {
            ReportFormat::Json => self.write_json(out),
            ReportFormat::Jsonl => self.write_json_lines(out),
            ReportFormat::Csv(CsvRows::Turn) => {
                let turns = self.conversations().flat_map(|(file, conversation)| {
                    let timeline = conversation.timeline.iter();
                    timeline.map(move |turn| (file, conversation, turn))
                });
                csv::write(&turn_columns(), turns, out)
            }
            ReportFormat::Csv(CsvRows::Conversation) => {
                csv::write(&conversation_columns(), self.conversations(), out)
            }
            ReportFormat::Csv(CsvRows::File | CsvRows::Action) => {
                csv::write(&self.columns(), &self.files, out)
            }
            ReportFormat::Markdown => markdown(self, out),
            ReportFormat::Html => page::write(self, out),
        }
    }
}

fn markdown(stats: &Stats, out: &mut dyn Write) -> io::Result<()> {
    let live = &stats.head.totals.counts.live;
    writeln!(
        out,
        "**{} tokens** in {}, {}, {}",
        thousands(live.tokens),
        count(live.messages, "message"),
        count(live.turns, "turn"),
        count(stats.head.totals.files, "file")
    )?;
    let coverage = &stats.head.totals.counts.coverage;
    if coverage.calls > 0 {
        writeln!(out, "\n{}", quoted(&coverage.sentence(), usize::MAX))?;
    }
    let folder = stats.folder();
    if !folder.is_empty() {
        writeln!(out, "\nin {}", quoted(folder, usize::MAX))?;
    }
    for table in parts(stats, VIEW).into_iter().flatten() {
        writeln!(out)?;
        table.write_markdown(out)?;
    }
    groups::write_markdown(&stats.groups(), Figures::Share, out)?;
    left_out::write_markdown(stats.head.not_read(), out)?;
    write_times(stats.head.timings(), out)?;
    write_foot(std::slice::from_ref(&stats.head.about.policy), out)
}
