//! `ctxpack verify`: checks whether a history is valid for the provider's API.

use std::collections::BTreeMap;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use clap::Args;
use serde_json::json;

use super::gates::nothing;
use super::reading::{Reading, say_of};
use super::shape::{Shape, ShapeArgs};
use super::timings::{TimingArgs, wall};
use super::{Context, Fault, Voice, flush, json_line, put};
use crate::batch::{self, FileFindings, Origin, Sorted, Source, Workload, unread};
use crate::error::{ErrorKind, Result};
use crate::outcome::{Entries, Examined, FileStatus, LINES, Notices, Timings, Unread};
use crate::report::times_line;
use crate::text::{count, printable, thousands};
use crate::verify::{Finding, Severity};

/// The notice for an input in an unsupported format.
const NOT_CHECKED: &str = "not checked";

/// Check histories against their provider's rules.
///
/// The exit code is 1 if a rule is broken, or if a named file, or a file that is partly a transcript, could not be checked. Other
/// files in a folder cause only a warning. Warnings do not affect the exit code; equal ones of a file share a line, except with -v.
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
        let is_named = |source: &Source| match source {
            Source::Stdin => true,
            Source::File(file) => file.origin == Origin::Named,
        };
        let verify =
            |over: &batch::Over<'_>| Ok((batch::verify(over)?, over.found.names_of(is_named)?));
        let ((files, named), _) = self.reading.each(context, job, verify)?;
        let mut failed = false;
        let mut see = |_, file: &_| {
            failed |= say_of(context, file);
            Ok(())
        };
        files.each_remarkable(&mut see).map_err(unread)?;
        let is_any_checked = is_any_checked(&files)?;
        let mut out = BufWriter::new(io::stdout().lock());
        let mut sums = Sums::default();
        let mut foreign = Notices::default();
        for at in 0..files.len() {
            let file = files.get(at).map_err(unread)?;
            let path = &file.file.path;
            if let FileStatus::Unsupported(not_read) = &file.status {
                let is_needed = !is_any_checked
                    || file.found.is_part()
                    || named.has(Path::new(path)).map_err(unread)?;
                let severity = match is_needed {
                    true => Severity::Error,
                    false => Severity::Warning,
                };
                sums.are_any_needed |= is_needed;
                self.unchecked(context, path, not_read, severity, &mut foreign);
                put(
                    &mut out,
                    self.line_unchecked(path, not_read, severity).as_bytes(),
                )?;
            }
            foreign.warnings(path, &file.warnings, "lines that cannot be read");
            sums.add(&file);
            let each = match (self.shape.shape(), context.voice) {
                (Shape::Json, _) | (Shape::Text, Voice::Loud) => Equal::Apart,
                (Shape::Text, Voice::Quiet | Voice::Normal) => Equal::Together,
            };
            for (finding, others) in grouped(&file.found.list, each) {
                put(&mut out, self.line(path, finding, &others).as_bytes())?;
            }
        }
        flush(&mut out)?;
        context.notices(foreign);
        if context.is_for_people() {
            let mut err = io::stderr().lock();
            // Of a single file that was not checked, its error says everything.
            if is_any_checked || files.len() > 1 {
                let _ = writeln!(err, "{}", sums.line());
            }
            if let Some(wall) = wall(clock.as_ref()) {
                let _ = writeln!(err, "{}", times_line(wall, sums.phases.clone()));
            }
        }
        if files.is_empty() {
            return Ok(context.gates(&[nothing("rule")]));
        }
        let is_broken = sums.errors > 0 || sums.are_any_needed;
        Ok(if failed { 3 } else { u8::from(is_broken) })
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

    /// A finding, and the lines of others that are like it.
    fn line(&self, path: &str, finding: &Finding, others: &[u64]) -> String {
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
                "{}:{line}: {severity}: {}: {}{}\n",
                printable(path),
                rule.name(),
                printable(message),
                and_more(others)
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

/// How warnings that differ only in their lines and ids are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Equal {
    Apart,
    Together,
}

/// The findings of a file, each with the lines of later ones that are like it: of equal warnings, one may be enough; each error has
/// to be mended.
fn grouped(findings: &[Finding], equal: Equal) -> Vec<(&Finding, Vec<u64>)> {
    let mut groups: Vec<(&Finding, Vec<u64>)> = Vec::new();
    let mut numbers: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for finding in findings {
        if finding.severity == Severity::Warning && equal == Equal::Together {
            let words = finding.message.strip_suffix(finding.id.as_str());
            let key = (finding.rule.name(), words.unwrap_or(&finding.message));
            let number = *numbers.entry(key).or_insert(groups.len());
            if let Some((_, others)) = groups.get_mut(number) {
                others.push(finding.line);
                continue;
            }
        }
        groups.push((finding, Vec::new()));
    }
    groups
}

/// ` (and 7 more like it, on lines 3, 4, 5, 6, 7 and 2 more; -v prints each)`
fn and_more(lines: &[u64]) -> String {
    if lines.is_empty() {
        return String::new();
    }
    let named = lines.iter().take(LINES).map(u64::to_string);
    let named = named.collect::<Vec<_>>().join(", ");
    let more = match lines.len().saturating_sub(LINES) {
        0 => String::new(),
        more => format!(" and {} more", thousands(more as u64)),
    };
    let all = thousands(lines.len() as u64);
    let noun = if lines.len() == 1 { "line" } else { "lines" };
    format!(" (and {all} more like it, on {noun} {named}{more}; -v prints each)")
}

fn severity_name(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
    }
}

/// Whether any input was checked.
fn is_any_checked(files: &Sorted<Examined<FileFindings>>) -> Result<bool> {
    for at in 0..files.len() {
        if files.get(at).map_err(unread)?.status == FileStatus::Examined {
            return Ok(true);
        }
    }
    Ok(false)
}

/// What was found in all inputs.
#[derive(Debug, Default)]
struct Sums {
    checked: u64,
    errors: u64,
    warnings: u64,
    /// The number of inputs with errors or warnings.
    concerned: u64,
    /// Whether an input that should have been checked was not.
    are_any_needed: bool,
    phases: Timings,
}

impl Sums {
    fn add(&mut self, file: &Examined<FileFindings>) {
        self.checked += u64::from(file.status == FileStatus::Examined);
        for finding in &file.found.list {
            *match finding.severity {
                Severity::Error => &mut self.errors,
                Severity::Warning => &mut self.warnings,
            } += 1;
        }
        self.concerned += u64::from(!file.found.list.is_empty());
        if let Some(timings) = &file.file.timings {
            self.phases += timings;
        }
    }

    /// `3 files checked: 2 errors, 1 warning in 1 of them`
    fn line(&self) -> String {
        let checked = count(self.checked, "file");
        let errors = count(self.errors, "error");
        let warnings = count(self.warnings, "warning");
        match self.concerned {
            0 => format!("{checked} checked: no rule is broken"),
            concerned => format!("{checked} checked: {errors}, {warnings} in {concerned} of them"),
        }
    }
}
