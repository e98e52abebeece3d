//! `ctxpack verify`: is this history valid for the provider's API?

use std::io::{self, BufWriter};

use clap::{Args, ValueEnum};
use serde_json::json;

use super::reading::{Reading, say};
use super::{Context, flush, json_line, put};
use crate::batch::{self, Job};
use crate::error::Result;
use crate::outcome::{FileStatus, Notices};
use crate::text::printable;
use crate::verify::{Finding, Severity};

/// Check histories against their provider's rules, as the provider would.
///
/// Exit code 1 when one is broken. Warnings are shown but do not count.
#[derive(Debug, Args)]
pub(super) struct Verify {
    /// How findings are written to stdout
    #[arg(long, value_enum, default_value_t = Shape::Text, value_name = "FORMAT")]
    format: Shape,
    #[command(flatten)]
    reading: Reading,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Shape {
    /// `path:line: rule: what is wrong`
    Text,
    /// One JSON object a finding
    Json,
}

impl Verify {
    pub(super) fn run(&self, context: &Context) -> Result<u8> {
        self.reading.check_named()?;
        let files = self.reading.each(context, Job::Once, batch::verify)?;
        let failed = say(context, &files);
        let mut out = BufWriter::new(io::stdout().lock());
        let mut broken = false;
        let mut notices = Notices::default();
        for file in &files {
            if let FileStatus::Unsupported(why) = &file.status {
                notices.unsupported(&file.path, &why.to_string(), "not checked");
            }
            for finding in &file.found {
                broken |= finding.severity == Severity::Error;
                put(&mut out, self.line(&file.path, finding).as_bytes())?;
            }
        }
        flush(&mut out)?;
        context.notices(notices);
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
        match self.format {
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
