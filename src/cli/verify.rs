//! `ctxpack verify`: is this history valid for the provider's API?

use std::io::{self, BufWriter};
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use serde_json::json;

use super::{Context, all_paths, flush, format_named, json_line, put};
use crate::batch::{self, Inspected};
use crate::error::Result;
use crate::outcome::path_text;
use crate::text::printable;
use crate::verify::{Finding, Severity};

/// Check histories against their provider's rules, as the provider would.
///
/// Exit code 1 when one is broken. Warnings are shown but do not count.
#[derive(Debug, Args)]
pub(super) struct Verify {
    /// Transcripts, folders, patterns, or - for standard input
    #[arg(required_unless_present = "files_from")]
    paths: Vec<PathBuf>,
    /// How findings are written to stdout
    #[arg(long, value_enum, default_value_t = Shape::Text, value_name = "FORMAT")]
    format: Shape,
    /// Read inputs as this format: anthropic, openai, claude-code, codex, pi, ai-sdk
    #[arg(long, value_name = "NAME")]
    input_format: Option<String>,
    /// Read more paths from FILE, one a line; - is standard input
    #[arg(long, value_name = "FILE")]
    files_from: Option<PathBuf>,
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
        let paths = all_paths(&self.paths, self.files_from.as_deref(), &context.stop)?;
        let found = batch::find(&paths, None)?;
        let format = format_named(self.input_format.as_deref())?;
        let mut out = BufWriter::new(io::stdout().lock());
        let (mut broken, mut failed) = (false, !found.missing.is_empty());
        found.missing.iter().for_each(|error| context.error(error));
        for source in &found.sources {
            match batch::inspect(source, format, &context.stop) {
                Ok(Inspected {
                    findings,
                    unsupported,
                    ..
                }) => {
                    let path = path_text(source.path());
                    if let Some(name) = unsupported {
                        put(&mut out, self.unsupported(&path, name).as_bytes())?;
                    }
                    for finding in &findings {
                        broken |= finding.severity == Severity::Error;
                        put(&mut out, self.line(&path, finding).as_bytes())?;
                    }
                }
                Err(error) => {
                    failed = true;
                    context.error(&error);
                }
            }
        }
        flush(&mut out)?;
        Ok(if failed { 3 } else { u8::from(broken) })
    }

    fn unsupported(&self, path: &str, name: &str) -> String {
        match self.format {
            Shape::Text => format!(
                "{}: not checked: {name} is not supported\n",
                printable(path)
            ),
            Shape::Json => String::new(),
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
