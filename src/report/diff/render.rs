//! The report on `diff` in every format but the terminal's.
//!
//! Formats for programs include every message; Markdown has the sums, the differences, and the text of summaries.

use std::io::{self, Write};

use serde::Serialize;

use super::compared::outside;
use super::{
    Compared, ComparisonReport, DiffReport, change, page, share, write_comparison_json,
    write_diff_json,
};
use crate::diff::{At, Fate, LineCounts, LineDifference, Stat};
use crate::report::csv::text;
use crate::report::json::write_lines;
use crate::report::markdown::write_foot;
use crate::report::quoted::quoted;
use crate::report::rows::Table;
use crate::report::{PolicyRef, Render, ReportFormat};
use crate::text::{count, printable, thousands};

/// The maximum number of messages to list in Markdown.
const LISTED: usize = 50;
/// The maximum length of a path or a text in Markdown, in characters.
const QUOTED: usize = 120;

impl Render for DiffReport {
    fn render(&self, format: ReportFormat, out: &mut dyn Write) -> io::Result<()> {
        match format {
            ReportFormat::Json => write_diff_json(self, out),
            ReportFormat::Jsonl => {
                let last = Last {
                    schema_version: self.schema_version,
                    version: &self.version,
                    policy: &self.policy,
                    estimator: &self.estimator,
                    format: &self.format,
                    old: &self.old,
                    new: &self.new,
                    record: self.record.as_deref(),
                    stat: &self.stat,
                    outside: &self.diff.outside,
                };
                write_lines(&self.diff.conversations, &last, out)
            }
            ReportFormat::Csv(_) => csv(self, out),
            ReportFormat::Markdown => markdown(self, out),
            ReportFormat::Html => page::write(self, out),
        }
    }
}

/// The last line: the report without its conversations.
#[derive(Serialize)]
struct Last<'r> {
    schema_version: u32,
    version: &'r str,
    policy: &'r PolicyRef,
    estimator: &'r str,
    format: &'r str,
    old: &'r Compared,
    new: &'r Compared,
    record: Option<&'r str>,
    stat: &'r [Stat],
    outside: &'r LineCounts,
}

/// The first lines of the CSV reports: on two files, and on two policies.
pub(in crate::report) const CSV_HEADERS: [&str; 2] = [
    "path,conversation,fate,old_line,old_message,new_line,new_message,role,tools,tokens_before,tokens_after,reason,words",
    "path,conversation,old_line,old_message,role,tools,tokens_before,first_fate,second_fate,first_tokens_after,\
     second_tokens_after,words",
];

fn csv(report: &DiffReport, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "{}", CSV_HEADERS[0])?;
    for conversation in &report.diff.conversations {
        for row in &conversation.rows {
            writeln!(
                out,
                "{},{},{},{},{},{},{},{},{},{},{}",
                text(&report.new.path),
                text(&conversation.id),
                row.fate.name(),
                place(row.old),
                place(row.new),
                row.role.name(),
                text(&row.tools.join(" ")),
                row.tokens_before,
                row.tokens_after,
                text(row.reason.as_deref().unwrap_or_default()),
                text(&row.words)
            )?;
        }
    }
    Ok(())
}

/// The cells of a line and a message.
fn place(at: Option<At>) -> String {
    at.map_or_else(
        || ",".to_owned(),
        |at| format!("{},{}", at.line, at.message),
    )
}

fn markdown(report: &DiffReport, out: &mut dyn Write) -> io::Result<()> {
    let diff = &report.diff;
    writeln!(
        out,
        "**{} tokens** ({}), {} messages: {} → {}\n",
        change(diff.tokens_before, diff.tokens_after),
        share(diff.tokens_before, diff.tokens_after),
        change(diff.messages_before, diff.messages_after),
        quoted(&report.old.path, QUOTED),
        quoted(&report.new.path, QUOTED)
    )?;
    let mut sums = Table::new(["became", "messages", "tokens before", "tokens after"]);
    for stat in &report.stat {
        let figures = [stat.messages, stat.tokens_before, stat.tokens_after].map(thousands);
        sums.rows.push(
            [stat.fate.name().to_owned()]
                .into_iter()
                .chain(figures)
                .collect(),
        );
    }
    sums.write_markdown(out)?;
    let mut listed = Table::new(["tool", "became", "line", "before", "after"]);
    listed.words = &[0, 1];
    let rows = || diff.conversations.iter().flat_map(|c| &c.rows);
    let changed = || {
        rows().filter(|row| {
            let is_whole = matches!(row.fate, Fate::Kept | Fate::Summarised);
            !is_whole && row.old.is_some()
        })
    };
    for row in changed().take(LISTED) {
        let tools = match row.tools.is_empty() {
            true => row.role.name().to_owned(),
            false => row.tools.join(" "),
        };
        let line = row.old.map(|at| at.line.to_string()).unwrap_or_default();
        let figures = [row.tokens_before, row.tokens_after].map(thousands);
        listed.rows.push(
            [tools, row.fate.name().to_owned(), line]
                .into_iter()
                .chain(figures)
                .collect(),
        );
    }
    let more = changed().count().saturating_sub(LISTED);
    if more > 0 {
        listed.note = Some(count(more as u64, "more message"));
    }
    if !listed.rows.is_empty() {
        writeln!(out)?;
        listed.write_markdown(out)?;
    }
    for row in rows().filter(|row| row.fate == Fate::Summary) {
        let name = format!("The summary, {}", count(row.tokens_after, "token"));
        let lines = row
            .text
            .as_deref()
            .unwrap_or_default()
            .lines()
            .map(str::to_owned);
        folded(&name, "", lines, out)?;
    }
    write_foot(std::slice::from_ref(&report.policy), out)
}

/// Text that unfolds, in a fence longer than any inside it, so that it cannot close the fence.
fn folded(
    name: &str,
    language: &str,
    lines: impl Iterator<Item = String>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let lines: Vec<String> = lines.map(|line| printable(&line).into_owned()).collect();
    let runs = lines
        .iter()
        .flat_map(|line| line.split(|c| c != '`'))
        .map(str::len);
    let fence = "`".repeat(runs.max().unwrap_or(0).max(2) + 1);
    writeln!(
        out,
        "\n<details><summary>{name}</summary>\n\n{fence}{language}"
    )?;
    lines.iter().try_for_each(|line| writeln!(out, "{line}"))?;
    writeln!(out, "{fence}\n\n</details>")
}

impl Render for ComparisonReport {
    fn render(&self, format: ReportFormat, out: &mut dyn Write) -> io::Result<()> {
        match format {
            ReportFormat::Json => write_comparison_json(self, out),
            ReportFormat::Jsonl => {
                let last = LastOfTwo {
                    schema_version: self.schema_version,
                    version: &self.version,
                    policies: &self.policies,
                    estimator: &self.estimator,
                    format: &self.format,
                    input: &self.input,
                    tokens_before: self.comparison.tokens_before,
                    tokens_after: self.comparison.tokens_after,
                    messages_after: self.comparison.messages_after,
                    lines: &self.comparison.lines,
                    first_byte: self.comparison.first_byte,
                };
                write_lines(&self.comparison.conversations, &last, out)
            }
            ReportFormat::Csv(_) => csv_of_two(self, out),
            ReportFormat::Markdown => markdown_of_two(self, out),
            ReportFormat::Html => page::write_of_two(self, out),
        }
    }
}

/// The last line: the report without its conversations.
#[derive(Serialize)]
struct LastOfTwo<'r> {
    schema_version: u32,
    version: &'r str,
    policies: &'r [PolicyRef],
    estimator: &'r str,
    format: &'r str,
    input: &'r Compared,
    tokens_before: u64,
    tokens_after: [u64; 2],
    messages_after: [u64; 2],
    lines: &'r [LineDifference],
    first_byte: Option<u64>,
}

fn csv_of_two(report: &ComparisonReport, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "{}", CSV_HEADERS[1])?;
    for conversation in &report.comparison.conversations {
        for row in &conversation.rows {
            writeln!(
                out,
                "{},{},{},{},{},{},{},{},{},{},{}",
                text(&report.input.path),
                text(&conversation.id),
                place(Some(row.old)),
                row.role.name(),
                text(&row.tools.join(" ")),
                row.tokens_before,
                row.fates[0].name(),
                row.fates[1].name(),
                row.tokens_after[0],
                row.tokens_after[1],
                text(&row.words)
            )?;
        }
    }
    Ok(())
}

fn markdown_of_two(report: &ComparisonReport, out: &mut dyn Write) -> io::Result<()> {
    let compared = &report.comparison;
    let [first, second] = report.names().map(|name| quoted(name, QUOTED));
    writeln!(
        out,
        "**{} tokens** in {}: {} by {first}, {} by {second}",
        thousands(compared.tokens_before),
        quoted(&report.input.path, QUOTED),
        thousands(compared.tokens_after[0]),
        thousands(compared.tokens_after[1])
    )?;
    let mut listed = Table::new([
        "tool",
        "first",
        "second",
        "line",
        "before",
        "after first",
        "after second",
    ]);
    listed.words = &[0, 1, 2];
    let rows = || compared.conversations.iter().flat_map(|c| &c.rows);
    for row in rows().take(LISTED) {
        let tools = match row.tools.is_empty() {
            true => row.role.name().to_owned(),
            false => row.tools.join(" "),
        };
        let fates = row.fates.map(|fate| fate.name().to_owned());
        let [first, second] = row.tokens_after;
        let figures = [row.tokens_before, first, second].map(thousands);
        listed.rows.push(
            [tools]
                .into_iter()
                .chain(fates)
                .chain([row.old.line.to_string()])
                .chain(figures)
                .collect(),
        );
    }
    let more = rows().count().saturating_sub(LISTED);
    if more > 0 {
        listed.note = Some(count(more as u64, "more message"));
    }
    if !listed.rows.is_empty() {
        writeln!(out)?;
        listed.write_markdown(out)?;
    }
    for added in compared.conversations.iter().flat_map(|c| &c.added) {
        let [left, right] = added.tokens_after.map(|tokens| count(tokens, "token"));
        let name = format!("{}: {left}, then {right}", added.fate.name());
        folded(&name, "diff", added.text.iter().cloned(), out)?;
    }
    if let Some(text) = outside(compared) {
        writeln!(out, "\n{text}")?;
    }
    write_foot(&report.policies, out)
}
