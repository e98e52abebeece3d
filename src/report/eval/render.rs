//! The report on `eval` in every format but the terminal's.
//!
//! Formats for programs have each session; Markdown has the means.

use std::io::{self, Write};

use super::table::{budgets, note};
use super::{Evals, Rows, page, write_eval_csv};
use crate::report::json::{write_each, write_line, write_list};
use crate::report::left_out;
use crate::report::markdown::{write_foot, write_times};
use crate::report::{Render, ReportFormat};
use crate::text::count;

impl Render for Evals<'_> {
    fn render(&self, format: ReportFormat, out: &mut dyn Write) -> io::Result<()> {
        match format {
            ReportFormat::Json => write_list(&self.head, self.entries, out),
            ReportFormat::Jsonl => {
                write_each(self.entries, out)?;
                write_line(&self.head, out)
            }
            ReportFormat::Csv(_) => write_eval_csv(self, Rows::Sessions, out),
            ReportFormat::Markdown => markdown(self, out),
            ReportFormat::Html => page::write(self, out),
        }
    }
}

fn markdown(evals: &Evals<'_>, out: &mut dyn Write) -> io::Result<()> {
    writeln!(
        out,
        "**{}** in {}: what is left to be found, in percent",
        count(evals.head.totals.cuts, "cut"),
        count(evals.head.totals.sessions, "session")
    )?;
    for table in budgets(evals) {
        writeln!(out)?;
        table.write_markdown(out)?;
    }
    for line in note(&evals.head.totals).lines() {
        writeln!(out, "\n{line}")?;
    }
    left_out::write_markdown(evals.head.not_read(), out)?;
    write_times(evals.head.timings(), out)?;
    write_foot(&evals.head.about.policies, out)
}
