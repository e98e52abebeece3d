//! The report on `stats` in every format but the terminal's: JSON lines, a row an input in CSV, Markdown for a comment.
//!
//! Lists are cut in Markdown only.

use std::io::{self, Write};

use serde::Serialize;

use super::table::parts;
use super::{Stats, Turns, View, page, write_stats_json};
use crate::outcome::{FileStatus, NotRead};
use crate::report::csv::text;
use crate::report::markdown::write_foot;
use crate::report::{CsvRows, PolicyRef, Render, ReportFormat, Screen, jsonl};
use crate::stats::{Thresholds, Totals};
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
            ReportFormat::Json => write_stats_json(self, out),
            ReportFormat::Jsonl => jsonl::write_lines(&self.files, &Last::of(self), out),
            ReportFormat::Csv(CsvRows::Turn) => turns(self, out),
            ReportFormat::Csv(CsvRows::File | CsvRows::Action) => csv(self, out),
            ReportFormat::Markdown => markdown(self, out),
            ReportFormat::Html => page::write(self, out),
        }
    }
}

/// The last line: the report without its files.
#[derive(Serialize)]
struct Last<'s> {
    schema_version: u32,
    version: &'s str,
    policy: &'s PolicyRef,
    estimator: &'s str,
    threshold: Option<u64>,
    thresholds: &'s Thresholds,
    totals: &'s Totals,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    not_read: &'s [NotRead],
}

impl<'s> Last<'s> {
    fn of(stats: &'s Stats) -> Self {
        Last {
            schema_version: stats.schema_version,
            version: stats.version,
            policy: &stats.policy,
            estimator: stats.estimator,
            threshold: stats.threshold,
            thresholds: &stats.thresholds,
            totals: &stats.totals,
            not_read: &stats.not_read,
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
    let live = &stats.totals.counts.live;
    writeln!(
        out,
        "**{} tokens** in {}, {}, {}",
        thousands(live.tokens),
        count(live.messages, "message"),
        count(live.turns, "turn"),
        count(stats.totals.files, "file")
    )?;
    for table in parts(stats, VIEW).into_iter().flatten() {
        writeln!(out)?;
        table.write_markdown(out)?;
    }
    write_foot(std::slice::from_ref(&stats.policy), out)
}
