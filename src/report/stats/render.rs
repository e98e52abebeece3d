//! The report on `stats` in every format but the terminal's: JSON lines, a row an input in CSV, Markdown for a comment.
//!
//! Lists are cut in Markdown only.

use std::io::{self, Write};

use super::table::parts;
use super::{Stats, Turns, View, page};
use crate::outcome::FileStatus;
use crate::report::csv::text;
use crate::report::markdown::write_foot;
use crate::report::{CsvRows, Render, ReportFormat, Screen};
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
            ReportFormat::Csv(CsvRows::Turn) => turns(self, out),
            ReportFormat::Csv(CsvRows::File | CsvRows::Action) => csv(self, out),
            ReportFormat::Markdown => markdown(self, out),
            ReportFormat::Html => page::write(self, out),
        }
    }
}

fn csv(stats: &Stats, out: &mut dyn Write) -> io::Result<()> {
    writeln!(
        out,
        "path,format,status,error_message,bytes,conversations,messages,turns,tokens,live_bytes,dead_lines,dead_bytes,dead_tokens,mirror_bytes"
    )?;
    for file in &stats.files {
        let counts = &file.found.counts;
        let (live, dead) = (&counts.live, &counts.dead);
        let status = match file.status {
            FileStatus::Examined => "counted",
            FileStatus::Unsupported(_) => "unsupported",
            FileStatus::Failed => "failed",
        };
        let error = file.error.as_ref().map(|error| text(&error.message));
        let numbers = [
            counts.bytes,
            live.conversations,
            live.messages,
            live.turns,
            live.tokens,
            live.bytes,
            dead.lines,
            dead.bytes,
            dead.tokens,
            counts.mirrors.bytes,
        ];
        writeln!(
            out,
            "{},{},{status},{},{}",
            text(&file.path),
            text(file.format.as_deref().unwrap_or_default()),
            error.unwrap_or_default(),
            numbers.map(|n| n.to_string()).join(",")
        )?;
    }
    Ok(())
}

/// A row a turn of a live window.
fn turns(stats: &Stats, out: &mut dyn Write) -> io::Result<()> {
    writeln!(
        out,
        "path,conversation,turn,line,messages,tokens,context,recorded"
    )?;
    for (file, conversation) in stats.conversations() {
        for turn in &conversation.timeline {
            let recorded = turn.recorded.map(|tokens| tokens.to_string());
            writeln!(
                out,
                "{},{},{},{},{},{},{},{}",
                text(&file.path),
                text(&conversation.id),
                turn.turn,
                turn.line,
                turn.messages,
                turn.tokens,
                turn.context,
                recorded.unwrap_or_default()
            )?;
        }
    }
    Ok(())
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
    for table in parts(stats, VIEW).into_iter().flatten() {
        writeln!(out)?;
        table.write_markdown(out)?;
    }
    write_foot(std::slice::from_ref(&stats.head.about.policy), out)
}
