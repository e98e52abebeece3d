//! What `check` prints: for people, for programs, for JUnit readers, for GitHub's annotations, for GitLab's Code Quality reports.
//!
//! Names and texts from a case are made safe for each of these.

mod github;
mod gitlab;
mod json;
mod junit;
mod markdown;
mod page;
mod report;

use std::io::{self, Write};
use std::path::PathBuf;

use clap::ValueEnum;

use super::cases::{Case, Part};
use super::verdict::{Checked, Verdict};
use crate::cli::Voice;
use crate::outcome::{FaultKind, path_text};
use crate::text::{count, printable};

pub(super) use report::CheckReports;

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum OutputFormat {
    /// Each difference, and a closing line
    #[value(alias = "text")]
    Full,
    /// One line for each case that is not as expected
    Concise,
    /// One object
    Json,
    /// XML for test reports
    Junit,
    /// Annotations of GitHub Actions
    Github,
    /// A report on Code Quality for GitLab
    Gitlab,
}

/// What to do if a case differs on purpose.
const ACCEPT: &str =
    "hint: ctxpack check --update PATH accepts what differs, --review asks about each";

/// Whether cases that are as expected are listed, and the closing lines printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Listing {
    All,
    Some,
    /// Not even the closing lines are printed.
    Bare,
}

/// A case that is not as expected: the message, and the file that it is about.
struct Wrong<'c> {
    case: &'c Case,
    file: PathBuf,
    line: Option<u64>,
    kind: String,
    severity: Severity,
    text: String,
}

/// Whether a case differs, or could not be run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Severity {
    Differs,
    Failed,
}

impl Listing {
    /// As much as the user wants to hear.
    pub(super) fn of(voice: Voice) -> Self {
        match voice {
            Voice::Quiet => Listing::Bare,
            Voice::Normal => Listing::Some,
            Voice::Loud => Listing::All,
        }
    }
}

impl Checked {
    fn wrong(&self) -> impl Iterator<Item = Wrong<'_>> {
        self.cases.iter().filter_map(|(case, verdict)| {
            let wrong = match verdict {
                Verdict::Same | Verdict::Updated => return None,
                Verdict::Differs(difference) => Wrong {
                    case,
                    file: case.golden(),
                    line: None,
                    kind: "differs".to_owned(),
                    severity: Severity::Differs,
                    text: difference.how.clone(),
                },
                Verdict::Failed(error) => Wrong {
                    case,
                    file: error.path.clone().unwrap_or_else(|| case.file(Part::Input)),
                    line: error.line,
                    kind: FaultKind::Error(error.kind).to_string(),
                    severity: Severity::Failed,
                    text: error.to_string(),
                },
            };
            Some(wrong)
        })
    }

    /// Errors are those of the writer.
    pub(super) fn write(
        &self,
        format: OutputFormat,
        listing: Listing,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        match format {
            OutputFormat::Full | OutputFormat::Concise => self.text(format, listing, out),
            OutputFormat::Json => self.write_json(out),
            OutputFormat::Junit => self.write_junit(out),
            OutputFormat::Github => self.write_github(out),
            OutputFormat::Gitlab => self.write_gitlab(out),
        }
    }

    fn text(&self, format: OutputFormat, listing: Listing, out: &mut dyn Write) -> io::Result<()> {
        for (case, verdict) in &self.cases {
            let name = name(case);
            match verdict {
                Verdict::Same if listing == Listing::All => writeln!(out, "ok      {name}")?,
                Verdict::Same => {}
                Verdict::Updated => writeln!(out, "updated {name}")?,
                Verdict::Differs(difference) if format == OutputFormat::Concise => {
                    writeln!(out, "differs {name}: {}", difference.first_line())?;
                }
                Verdict::Differs(difference) => write!(out, "differs {name}\n{}", difference.how)?,
                Verdict::Failed(error) if format == OutputFormat::Concise => {
                    writeln!(out, "failed  {name}: {}", printable(&error.message))?;
                }
                // The error itself goes to stderr.
                Verdict::Failed(_) => writeln!(out, "failed  {name}")?,
            }
        }
        if listing == Listing::Bare {
            return Ok(());
        }
        writeln!(out, "{}", self.counted())?;
        let policy = format!("{} ({})", printable(&self.policy.name), self.policy.hash);
        writeln!(out, "policy: {}", self.under(policy))?;
        let mut cases = self.cases.iter();
        let can_be_accepted = cases.any(|(_, verdict)| match verdict {
            // No golden fixes a missing input.
            Verdict::Differs(difference) => difference.can_be_accepted(),
            Verdict::Same | Verdict::Updated | Verdict::Failed(_) => false,
        });
        match can_be_accepted {
            true => writeln!(out, "{ACCEPT}"),
            false => Ok(()),
        }
    }

    /// The number of cases with each verdict.
    fn counted(&self) -> String {
        let [same, updated, differ, failed] = self.numbers();
        let cases = count(self.cases.len() as u64, "case");
        format!("{cases}: {same} as expected, {updated} updated, {differ} differ, {failed} failed")
    }

    /// The policies under which the cases ran; `policy` is the one in effect.
    fn under(&self, policy: String) -> String {
        match self.own {
            0 => policy,
            own if own == self.cases.len() as u64 => "each case's own".to_owned(),
            1 => format!("{policy}; 1 case has its own"),
            own => format!("{policy}; {} have their own", count(own, "case")),
        }
    }
}

fn name(case: &Case) -> String {
    printable(&path_text(case.path())).into_owned()
}
