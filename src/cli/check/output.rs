//! What `check` prints: for people, for programs, for JUnit's readers, for GitHub's annotations.
//!
//! Names and texts from a case are made safe for each of these.

use std::io::{self, Write};

use clap::ValueEnum;
use serde_json::{Value, json};

use super::cases::{Case, Part};
use crate::error::Error;
use crate::outcome::path_text;
use crate::report::PolicyRef;
use crate::text::{count, printable};

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum OutputFormat {
    /// Each difference, and a closing line
    Full,
    /// One line for each case that is not as expected
    Concise,
    /// One object
    Json,
    /// XML for test reports
    Junit,
    /// Annotations of GitHub Actions
    Github,
}

/// The result of a case.
pub(super) enum Verdict {
    Same,
    Updated,
    /// How it differs, for people: lines.
    Differs(String),
    /// Why it could not be run.
    Failed(Error),
}

/// All cases of a run.
pub(super) struct Checked {
    /// Cases without a policy of their own are compacted under it.
    pub(super) policy: PolicyRef,
    /// How many cases have their own.
    pub(super) own: u64,
    pub(super) cases: Vec<(Case, Verdict)>,
}

/// Whether cases that are as expected are listed, and the closing lines printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Listing {
    All,
    Some,
    /// Nor the closing lines.
    Bare,
}

impl Checked {
    /// The numbers of cases that are as expected, updated, different, failed.
    pub(super) fn numbers(&self) -> [usize; 4] {
        let number =
            |is: fn(&Verdict) -> bool| self.cases.iter().filter(|(_, verdict)| is(verdict)).count();
        [
            number(|verdict| matches!(verdict, Verdict::Same)),
            number(|verdict| matches!(verdict, Verdict::Updated)),
            number(|verdict| matches!(verdict, Verdict::Differs(_))),
            number(|verdict| matches!(verdict, Verdict::Failed(_))),
        ]
    }

    /// Errors are the writer's.
    pub(super) fn write(
        &self,
        format: OutputFormat,
        listing: Listing,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        match format {
            OutputFormat::Full | OutputFormat::Concise => self.text(format, listing, out),
            OutputFormat::Json => writeln!(out, "{:#}", self.json()),
            OutputFormat::Junit => self.junit(out),
            OutputFormat::Github => self.github(out),
        }
    }

    fn text(&self, format: OutputFormat, listing: Listing, out: &mut dyn Write) -> io::Result<()> {
        for (case, verdict) in &self.cases {
            let name = name(case);
            match verdict {
                Verdict::Same if listing == Listing::All => writeln!(out, "ok      {name}")?,
                Verdict::Same => {}
                Verdict::Updated => writeln!(out, "updated {name}")?,
                Verdict::Differs(how) if format == OutputFormat::Concise => {
                    writeln!(out, "differs {name}: {}", first_line(how))?;
                }
                Verdict::Differs(how) => write!(out, "differs {name}\n{how}")?,
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
        let [same, updated, differ, failed] = self.numbers();
        writeln!(
            out,
            "{}: {same} as expected, {updated} updated, {differ} differ, {failed} failed",
            count(self.cases.len() as u64, "case")
        )?;
        let (policy, all) = (&self.policy, self.cases.len() as u64);
        let policy = format!("{} ({})", printable(&policy.name), policy.hash);
        match self.own {
            0 => writeln!(out, "policy: {policy}"),
            own if own == all => writeln!(out, "policy: each case's own"),
            1 => writeln!(out, "policy: {policy}; 1 case has its own"),
            own => writeln!(
                out,
                "policy: {policy}; {} have their own",
                count(own, "case")
            ),
        }
    }

    fn json(&self) -> Value {
        let [same, updated, differ, failed] = self.numbers();
        let cases = self.cases.iter().map(|(case, verdict)| {
            let (status, difference, error) = match verdict {
                Verdict::Same => ("same", None, None),
                Verdict::Updated => ("updated", None, None),
                Verdict::Differs(how) => ("differs", Some(how.lines().collect::<Vec<_>>()), None),
                Verdict::Failed(error) => ("failed", None, Some(error)),
            };
            let error = error.map(|error| {
                json!({"kind": error.kind, "message": error.message, "line": error.line, "hint": error.hint,
                       "file": error.path.as_deref().map(path_text)})
            });
            json!({"case": path_text(case.path()), "status": status, "difference": difference, "error": error})
        });
        json!({
            "schema_version": 1,
            "version": env!("CARGO_PKG_VERSION"),
            "policy": self.policy,
            "totals": {"cases": self.cases.len(), "same": same, "updated": updated, "differ": differ, "failed": failed,
                       "own_policy": self.own},
            "cases": cases.collect::<Vec<_>>(),
        })
    }

    fn junit(&self, out: &mut dyn Write) -> io::Result<()> {
        let [_, _, differ, failed] = self.numbers();
        let numbers = format!(
            "tests=\"{}\" failures=\"{differ}\" errors=\"{failed}\"",
            self.cases.len()
        );
        writeln!(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>")?;
        writeln!(out, "<testsuites {numbers}>")?;
        writeln!(out, "  <testsuite name=\"ctxpack check\" {numbers}>")?;
        for (case, verdict) in &self.cases {
            let path = path_text(case.path());
            let (class, name) = path.rsplit_once('/').unwrap_or(("", &path));
            write!(
                out,
                "    <testcase classname=\"{}\" name=\"{}\"",
                xml(class),
                xml(name)
            )?;
            let (what, message, text) = match verdict {
                Verdict::Same | Verdict::Updated => {
                    writeln!(out, "/>")?;
                    continue;
                }
                Verdict::Differs(how) => ("failure", first_line(how).to_owned(), how.clone()),
                Verdict::Failed(error) => ("error", error.message.clone(), error.to_string()),
            };
            writeln!(
                out,
                ">\n      <{what} message=\"{}\">{}</{what}>\n    </testcase>",
                xml(&message),
                xml(&text)
            )?;
        }
        writeln!(out, "  </testsuite>\n</testsuites>")
    }

    fn github(&self, out: &mut dyn Write) -> io::Result<()> {
        for (case, verdict) in &self.cases {
            let (file, text) = match verdict {
                Verdict::Same | Verdict::Updated => continue,
                Verdict::Differs(how) => (case.file(Part::Expected), how.clone()),
                Verdict::Failed(error) => {
                    let file = error.path.clone();
                    (
                        file.unwrap_or_else(|| case.file(Part::Input)),
                        error.to_string(),
                    )
                }
            };
            writeln!(
                out,
                "::error file={},title={}::{}",
                property(&path_text(&file)),
                property(&format!("ctxpack check: {}", path_text(case.path()))),
                data(text.trim_end())
            )?;
        }
        Ok(())
    }
}

fn name(case: &Case) -> String {
    printable(&path_text(case.path())).into_owned()
}

fn first_line(how: &str) -> &str {
    how.lines().next().unwrap_or_default().trim_start()
}

/// Text that is safe in an element and in an attribute; what XML cannot hold is shown as on a terminal.
fn xml(text: &str) -> String {
    let lines: Vec<String> = text
        .split('\n')
        .map(|line| {
            printable(line)
                .replace('&', "&amp;")
                .replace('<', "&lt;")
                .replace('>', "&gt;")
                .replace('"', "&quot;")
        })
        .collect();
    lines.join("\n")
}

/// The text of a workflow command.
fn data(text: &str) -> String {
    text.replace('%', "%25")
        .replace('\r', "%0D")
        .replace('\n', "%0A")
}

/// A property of one.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}
