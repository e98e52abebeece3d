//! `ctxpack verify`: checks whether a history is valid for the provider's API.

use std::collections::BTreeSet;
use std::io::{self, BufWriter, Write};

use clap::Args;
use serde_json::json;

use super::gates::nothing;
use super::reading::{Reading, say};
use super::shape::{Shape, ShapeArgs};
use super::timings::{TimingArgs, wall};
use super::{Context, Fault, flush, json_line, put};
use crate::batch::{self, Found, Origin, Source, Workload};
use crate::error::{ErrorKind, Result};
use crate::format::Fit;
use crate::outcome::{Examined, FileStatus, Notices, Unread, path_text};
use crate::report::times_line;
use crate::text::{count, printable};
use crate::verify::{Finding, Severity};

/// The notice for an input in an unsupported format.
const NOT_CHECKED: &str = "not checked";

/// Check histories against their provider's rules.
///
/// The exit code is 1 if a rule is broken, or if a named file, or a file that is partly a transcript, could not be checked. Other
/// files in a folder cause only a warning. Warnings do not affect the exit code.
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
        let job = (Workload::Once, clock.as_ref());
        let verify = |over: &batch::Over<'_>| Ok((batch::verify(over)?, named(over.found)));
        let ((files, named), _) = self.reading.each(context, job, verify)?;
        let failed = say(context, &files);
        let is_checked = |file: &Examined<_>| file.status == FileStatus::Examined;
        let is_any_checked = files.iter().any(is_checked);
        let mut out = BufWriter::new(io::stdout().lock());
        let mut broken = false;
        let mut foreign = Notices::default();
        for file in &files {
            let path = &file.file.path;
            if let FileStatus::Unsupported(unread) = &file.status {
                let is_needed =
                    !is_any_checked || unread.fit == Fit::Part || named.contains(path.as_str());
                let severity = match is_needed {
                    true => Severity::Error,
                    false => Severity::Warning,
                };
                broken |= is_needed;
                self.unchecked(context, path, unread, severity, &mut foreign);
                put(
                    &mut out,
                    self.line_unchecked(path, unread, severity).as_bytes(),
                )?;
            }
            foreign.warnings(path, &file.warnings, "lines that cannot be read");
            for finding in &file.found {
                broken |= finding.severity == Severity::Error;
                put(&mut out, self.line(path, finding).as_bytes())?;
            }
        }
        flush(&mut out)?;
        context.notices(foreign);
        if context.is_for_people() {
            let mut err = io::stderr().lock();
            // Of a single file that was not checked, its error says everything.
            let is_any_checked = files.iter().any(|f| f.status == FileStatus::Examined);
            if is_any_checked || files.len() > 1 {
                let _ = writeln!(err, "{}", total(&files));
            }
            if let Some(wall) = wall(clock.as_ref()) {
                let _ = writeln!(err, "{}", times_line(wall, &files));
            }
        }
        if files.is_empty() {
            return Ok(context.gates(&[nothing("rule")]));
        }
        Ok(if failed { 3 } else { u8::from(broken) })
    }

    /// Reports on stderr that an input was not checked.
    fn unchecked(
        &self,
        context: &Context,
        path: &str,
        unread: &Unread,
        severity: Severity,
        notices: &mut Notices,
    ) {
        match severity {
            Severity::Warning => notices.unsupported(path, &unread.why, NOT_CHECKED),
            Severity::Error => context.fault(&Fault {
                kind: json!(ErrorKind::Unsupported),
                file: Some(path.to_owned()),
                line: None,
                message: &format!("{}; {NOT_CHECKED}", unread.why),
                hint: None,
            }),
        }
    }

    /// The same for programs, which take an empty output as success.
    fn line_unchecked(&self, path: &str, unread: &Unread, severity: Severity) -> String {
        match self.shape.shape() {
            Shape::Text => String::new(),
            Shape::Json => {
                let json = json!({
                    "path": path, "line": null, "rule": "not-checked", "severity": severity_name(severity),
                    "conversation": null, "id": "", "message": unread.why,
                });
                format!("{}\n", json_line(&json))
            }
        }
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
        let severity = severity_name(*severity);
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
                    "conversation": **conversation, "id": id, "message": message,
                });
                format!("{}\n", json_line(&json))
            }
        }
    }
}

fn severity_name(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
    }
}

/// The inputs that were named, as they are called in reports.
fn named(found: &Found) -> BTreeSet<String> {
    let is_named = |source: &&Source| match source {
        Source::Stdin => true,
        Source::File(file) => file.origin == Origin::Named,
    };
    let sources = found.sources.iter().filter(is_named);
    sources.map(|source| path_text(source.path())).collect()
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
