//! The result of a check as a Code Quality report for GitLab: an array with one entry for each case that is not as expected.
//!
//! An entry is recognised by its fingerprint, so that a merge request shows what is new on its branch. The fingerprint depends on
//! the case and the kind of problem, not on the wording of the difference.

use std::io::{self, Write};

use serde_json::{Value, json};

use super::{Severity, Wrong};
use crate::cli::check::verdict::Checked;
use crate::outcome::path_text;
use crate::text::PrintableJson;

impl Checked {
    /// Errors are those of the writer.
    pub(super) fn write_gitlab(&self, out: &mut dyn Write) -> io::Result<()> {
        let entries: Vec<Value> = self.wrong().map(|wrong| entry(&wrong)).collect();
        serde_json::to_writer_pretty(PrintableJson(&mut *out), &entries)?;
        writeln!(out)
    }
}

fn entry(wrong: &Wrong<'_>) -> Value {
    let path = path_text(&wrong.file);
    // GitLab only accepts paths relative to the repository's root.
    let path = path.trim_start_matches("./");
    let case = path_text(wrong.case.path());
    let name = format!("ctxpack check: {}", wrong.kind);
    let fingerprint = blake3::hash(format!("{path}\n{case}\n{}", wrong.kind).as_bytes());
    // If a case could not be run, nothing at all was checked.
    let severity = match wrong.severity {
        Severity::Differs => "major",
        Severity::Failed => "critical",
    };
    json!({
        "description": format!("{case}: {}", wrong.text.trim()),
        "check_name": name,
        "fingerprint": fingerprint.to_hex().as_str(),
        "severity": severity,
        "location": {"path": path, "lines": {"begin": wrong.line.unwrap_or(1)}},
    })
}
