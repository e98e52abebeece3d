//! `ctxpack verify`: is this history valid for the provider's API?

use std::io::{self, BufWriter, Write};

use clap::Args;
use serde_json::json;

use super::reading::{Reading, say, unsupported};
use super::shape::{Shape, ShapeArgs};
use super::timings::{TimingArgs, wall};
use super::{Context, Voice, flush, json_line, put};
use crate::batch::{self, Job};
use crate::error::Result;
use crate::outcome::{Examined, FileStatus};
use crate::report::times_line;
use crate::text::{count, printable};
use crate::verify::{Finding, Severity};

/// Check histories against their provider's rules.
///
/// The exit code is 1 if a rule is broken. Warnings are shown and do not count.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  ctxpack verify in.jsonl
  ctxpack verify sessions/ --format json")]
pub(super) struct Verify {
    #[command(flatten)]
    shape: ShapeArgs,
    #[command(flatten)]
    timings: TimingArgs,
    #[command(flatten)]
    reading: Reading,
}

impl Verify {
    pub(super) fn run(&self, context: &Context) -> Result<u8> {
        self.reading.check_named()?;
        let clock = self.timings.clock();
        let job = (Job::Once, clock.as_ref());
        let (files, _) = self.reading.each(context, job, batch::verify)?;
        let failed = say(context, &files);
        let mut out = BufWriter::new(io::stdout().lock());
        let mut broken = false;
        for file in &files {
            for finding in &file.found {
                broken |= finding.severity == Severity::Error;
                put(&mut out, self.line(&file.file.path, finding).as_bytes())?;
            }
        }
        flush(&mut out)?;
        context.notices(unsupported(&files, "not checked"));
        if context.voice > Voice::Quiet {
            let mut err = io::stderr().lock();
            // Of one file the findings say everything, and none is no news.
            if files.len() > 1 {
                let _ = writeln!(err, "{}", total(&files));
            }
            if let Some(wall) = wall(clock.as_ref()) {
                let _ = writeln!(err, "{}", times_line(wall, &files));
            }
        }
        Ok(if failed { 3 } else { u8::from(broken) })
    }

    fn line(&self, path: &str, finding: &Finding) -> String {
        let Finding {
            rule,
            severity,
            line,
            conversation,
            id,
            message,
        } = finding;
        let severity = match severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
        };
        match self.shape.shape() {
            Shape::Text => format!(
                "{}:{line}: {severity}: {}: {}\n",
                printable(path),
                rule.name(),
                printable(message)
            ),
            Shape::Json => {
                let json = json!({
                    "path": path, "line": line, "rule": rule.name(), "severity": severity,
                    "conversation": conversation, "id": id, "message": message,
                });
                format!("{}\n", json_line(&json))
            }
        }
    }
}

/// `3 files checked: 2 errors, 1 warning in 1 of them`
fn total(files: &[Examined<Vec<Finding>>]) -> String {
    let checked = files.iter().filter(|f| f.status == FileStatus::Examined);
    let checked = count(checked.count() as u64, "file");
    let findings = files.iter().flat_map(|file| &file.found);
    let of = |severity| {
        let findings = findings.clone().filter(|one| one.severity == severity);
        findings.count() as u64
    };
    let errors = count(of(Severity::Error), "error");
    let warnings = count(of(Severity::Warning), "warning");
    match files.iter().filter(|file| !file.found.is_empty()).count() {
        0 => format!("{checked} checked: no rule is broken"),
        concerned => format!("{checked} checked: {errors}, {warnings} in {concerned} of them"),
    }
}
