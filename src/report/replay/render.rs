//! The report on `replay` in every format but the terminal's: JSON lines, a row a session and policy in CSV, Markdown.
//!
//! The turns are in JSON and on the page only.

use std::io::{self, Write};

use super::table::{files, policies};
use super::{Replays, page};
use crate::report::csv::text;
use crate::report::markdown::write_foot;
use crate::report::{CsvRows, Render, ReportFormat};
use crate::text::count;

impl Render for Replays {
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

fn csv(replays: &Replays, out: &mut dyn Write) -> io::Result<()> {
    writeln!(
        out,
        "path,session,policy,requests,compactions,failures,edits,whole_sent,sent,cache_lost,peak,final"
    )?;
    for file in &replays.files {
        for session in &file.found.sessions {
            for policy in &session.policies {
                let (done, tokens) = (&policy.done, &policy.tokens);
                let numbers = [
                    session.requests,
                    done.compactions,
                    done.failures,
                    done.edits,
                    session.whole.sent,
                    tokens.sent,
                    tokens.cache_lost,
                    tokens.peak,
                    tokens.last,
                ];
                writeln!(
                    out,
                    "{},{},{},{}",
                    text(&file.path),
                    text(&session.id),
                    text(&policy.policy),
                    numbers.map(|n| n.to_string()).join(",")
                )?;
            }
        }
    }
    Ok(())
}

/// A row a turn under a policy.
fn turns(replays: &Replays, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "path,session,policy,turn,line,requests,sent,context")?;
    for file in &replays.files {
        for session in &file.found.sessions {
            for policy in &session.policies {
                for turn in &policy.turns {
                    writeln!(
                        out,
                        "{},{},{},{},{},{},{},{}",
                        text(&file.path),
                        text(&session.id),
                        text(&policy.policy),
                        turn.turn,
                        turn.line,
                        turn.requests,
                        turn.sent,
                        turn.context
                    )?;
                }
            }
        }
    }
    Ok(())
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
    write_foot(&replays.head.about.policies, out)
}
