//! The report on `eval` in every format but the terminal's.
//!
//! Formats for programs have each session; Markdown has the means.

use std::io::{self, Write};

use serde::Serialize;

use super::table::{budgets, note};
use super::{Evals, Rows, page, write_eval_csv, write_eval_json};
use crate::eval::Totals;
use crate::report::markdown::write_foot;
use crate::report::{PolicyRef, Render, ReportFormat, jsonl};
use crate::text::count;

impl Render for Evals {
    fn render(&self, format: ReportFormat, out: &mut dyn Write) -> io::Result<()> {
        match format {
            ReportFormat::Json => write_eval_json(self, out),
            ReportFormat::Jsonl => {
                let last = Last {
                    schema_version: self.schema_version,
                    version: self.version,
                    policies: &self.policies,
                    vocabulary: self.vocabulary,
                    budgets: &self.budgets,
                    totals: &self.totals,
                };
                jsonl::write_lines(&self.files, &last, out)
            }
            ReportFormat::Csv(_) => write_eval_csv(self, Rows::Sessions, out),
            ReportFormat::Markdown => markdown(self, out),
            ReportFormat::Html => page::write(self, out),
        }
    }
}

/// The last line: the report without its files.
#[derive(Serialize)]
struct Last<'e> {
    schema_version: u32,
    version: &'e str,
    policies: &'e [PolicyRef],
    vocabulary: &'e str,
    budgets: &'e [f64],
    totals: &'e Totals,
}

fn markdown(evals: &Evals, out: &mut dyn Write) -> io::Result<()> {
    writeln!(
        out,
        "**{}** in {}: what is left to be found, in percent",
        count(evals.totals.cuts, "cut"),
        count(evals.totals.sessions, "session")
    )?;
    for table in budgets(evals) {
        writeln!(out)?;
        table.write_markdown(out)?;
    }
    for line in note(&evals.totals).lines() {
        writeln!(out, "\n{line}")?;
    }
    write_foot(&evals.policies, out)
}
