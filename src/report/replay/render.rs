//! The report on `replay` in every format but the terminal's: JSON, one row per session and policy in CSV, Markdown.
//!
//! The turns are only in JSON and on the page.

use std::io::{self, Write};

use super::columns::{Row, columns, replayed, turn_columns};
use super::table::{files, policies};
use super::{Replays, page};
use crate::report::csv;
use crate::report::json::{write_each, write_line, write_list};
use crate::report::left_out;
use crate::report::markdown::{write_foot, write_times};
use crate::report::{CsvRows, Render, ReportFormat};
use crate::text::count;

impl Render for Replays<'_> {
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
                    let turns = replayed(file).flat_map(|(path, session, policy)| {
                        let turns = policy.turns.iter();
                        turns.map(move |turn| (path, session, policy, turn))
                    });
                    csv::write_rows(&turn_columns(), turns, out)
                })
            }
            ReportFormat::Csv(CsvRows::File | CsvRows::Action | CsvRows::Conversation) => {
                writeln!(out, "{}", csv::header(&columns()))?;
                self.entries
                    .each(&mut |file| csv::write_rows(&columns(), replayed(file).map(Row::of), out))
            }
            ReportFormat::Markdown => markdown(self, out),
            ReportFormat::Html => page::write(self, out),
        }
    }
}

fn markdown(replays: &Replays<'_>, out: &mut dyn Write) -> io::Result<()> {
    writeln!(
        out,
        "**{}** in {}, under {}\n",
        count(replays.head.totals.requests, "request"),
        count(replays.head.totals.sessions, "session"),
        match replays.head.about.policies.len() {
            1 => "1 policy".to_owned(),
            n => format!("{n} policies"),
        }
    )?;
    policies(replays).write_markdown(out)?;
    if replays.entries.len() > 1 {
        writeln!(out)?;
        files(replays)?.write_markdown(out)?;
    }
    left_out::write_markdown(replays.head.not_read(), out)?;
    write_times(replays.head.timings(), out)?;
    write_foot(&replays.head.about.policies, out)
}
