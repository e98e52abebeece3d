//! `ctxpack verify`: is this history valid for the provider's API?

use std::io::{self, BufWriter};

use clap::Args;
use serde_json::json;

use super::reading::{Reading, say, unsupported};
use super::shape::{Shape, ShapeArgs};
use super::{Context, flush, json_line, put};
use crate::batch::{self, Job};
use crate::error::Result;
use crate::text::printable;
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
    reading: Reading,
}

impl Verify {
    pub(super) fn run(&self, context: &Context) -> Result<u8> {
        self.reading.check_named()?;
        let (files, _) = self
            .reading
            .each(context, (Job::Once, None), batch::verify)?;
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
