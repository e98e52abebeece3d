//! The report on `stats` in every format but the terminal's: JSON, one row per input in CSV, Markdown for a comment.
//!
//! Lists are truncated only in Markdown.

use std::io::{self, Write};

use super::columns::{conversation_columns, turn_columns};
use super::table::parts;
use super::{Stats, TOP_OF_MARKDOWN, Turns, View, page};
use crate::report::groups::{self, Figures};
use crate::report::json::{write_each, write_line, write_list};
use crate::report::markdown::{write_foot, write_times};
use crate::report::quoted::quoted;
use crate::report::{CsvRows, Render, ReportFormat, Screen};
use crate::report::{csv, left_out};
use crate::text::{count, thousands};

/// How much of the counts to show in a comment.
const VIEW: View = View {
    screen: Screen::plain(usize::MAX),
    top: TOP_OF_MARKDOWN,
    turns: Turns::Some,
};

impl Render for Stats<'_> {
    fn render(&self, format: ReportFormat, out: &mut dyn Write) -> io::Result<()> {
        match format {
            ReportFormat::Json => write_list(&self.head, self.entries, out),
            ReportFormat::Jsonl => {
                write_each(self.entries, out)?;
                write_line(&self.head, out)
            }
            ReportFormat::Csv(CsvRows::Turn) => {
                writeln!(out, "{}", csv::header(&turn_columns()))?;
                self.entries.each(&mut |file| {
                    let turns = file.found.conversations.iter().flat_map(|conversation| {
                        let timeline = conversation.timeline.iter();
                        timeline.map(move |turn| (file, conversation, turn))
                    });
                    csv::write_rows(&turn_columns(), turns, out)
                })
            }
            ReportFormat::Csv(CsvRows::Conversation) => {
                writeln!(out, "{}", csv::header(&conversation_columns()))?;
                self.entries.each(&mut |file| {
                    let conversations = file.found.conversations.iter();
                    let conversations = conversations.map(|conversation| (file, conversation));
                    csv::write_rows(&conversation_columns(), conversations, out)
                })
            }
            ReportFormat::Csv(CsvRows::File | CsvRows::Action) => {
                let columns = self.columns();
                writeln!(out, "{}", csv::header(&columns))?;
                self.entries
                    .each(&mut |file| csv::write_rows(&columns, [file], out))
            }
            ReportFormat::Markdown => markdown(self, out),
            ReportFormat::Html => page::write(self, out),
        }
    }
}

fn markdown(stats: &Stats<'_>, out: &mut dyn Write) -> io::Result<()> {
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
    for table in parts(stats, VIEW)?.into_iter().flatten() {
        writeln!(out)?;
        table.write_markdown(out)?;
    }
    groups::write_markdown(&stats.seen.groups, Figures::Share, out)?;
    left_out::write_markdown(stats.head.not_read(), out)?;
    write_times(stats.head.timings(), out)?;
    write_foot(std::slice::from_ref(&stats.head.about.policy), out)
}
