//! The report on `replay` in every format but the terminal's: JSON, one row per session and policy in CSV, Markdown.
//!
//! The turns are only in JSON and on the page.

use std::io::{self, Write};

use super::columns::{Row, columns, turn_columns};
use super::table::{files, policies};
use super::{Replays, page};
use crate::report::csv;
use crate::report::left_out;
use crate::report::markdown::{write_foot, write_times};
use crate::report::{CsvRows, Render, ReportFormat};
use crate::text::count;

impl Render for Replays {
    fn render(&self, format: ReportFormat, out: &mut dyn Write) -> io::Result<()> {
        match format {
            ReportFormat::Json => self.write_json(out),
            ReportFormat::Jsonl => self.write_json_lines(out),
            ReportFormat::Csv(CsvRows::Turn) => {
                let turns = self.replayed().flat_map(|(path, session, policy)| {
                    let turns = policy.turns.iter();
                    turns.map(move |turn| (path, session, policy, turn))
                });
                csv::write(&turn_columns(), turns, out)
            }
            ReportFormat::Csv(CsvRows::File | CsvRows::Action | CsvRows::Conversation) => {
                csv::write(&columns(), self.replayed().map(Row::of), out)
            }
            ReportFormat::Markdown => markdown(self, out),
            ReportFormat::Html => page::write(self, out),
        }
    }
}

fn markdown(replays: &Replays, out: &mut dyn Write) -> io::Result<()> {
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
    if replays.files.len() > 1 {
        writeln!(out)?;
        files(replays).write_markdown(out)?;
    }
    left_out::write_markdown(replays.head.not_read(), out)?;
    write_times(replays.head.timings(), out)?;
    write_foot(&replays.head.about.policies, out)
}
