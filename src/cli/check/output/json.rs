//! The result of a check as one JSON object.

use std::io::{self, Write};

use serde_json::{Value, json};

use crate::cli::check::cases::Case;
use crate::cli::check::verdict::{Checked, Verdict};
use crate::outcome::path_text;
use crate::text::PrintableJson;

/// Incremented when a key changes its meaning or is removed.
const SCHEMA_VERSION: u32 = 1;

impl Checked {
    /// Errors are those of the writer.
    pub(super) fn write_json(&self, out: &mut dyn Write) -> io::Result<()> {
        serde_json::to_writer_pretty(PrintableJson(&mut *out), &self.json())?;
        writeln!(out)
    }

    /// All of it but the cases, on one line.
    pub(super) fn head(&self) -> Value {
        let mut head = self.json();
        if let Some(head) = head.as_object_mut() {
            head.remove("cases");
        }
        head
    }

    fn json(&self) -> Value {
        let [same, updated, differ, failed] = self.numbers();
        let cases: Vec<Value> = self
            .cases
            .iter()
            .map(|(case, verdict)| entry(case, verdict))
            .collect();
        json!({
            "schema_version": SCHEMA_VERSION,
            "version": self.version,
            "policy": self.policy,
            "totals": {"cases": self.cases.len(), "same": same, "updated": updated, "differ": differ, "failed": failed,
                       "own_policy": self.own},
            "cases": cases,
        })
    }
}

/// The entry for a case.
pub(super) fn entry(case: &Case, verdict: &Verdict) -> Value {
    let (status, difference, error) = match verdict {
        Verdict::Same => ("same", None, None),
        Verdict::Updated => ("updated", None, None),
        Verdict::Differs(difference) => ("differs", Some(difference), None),
        Verdict::Failed(error) => ("failed", None, Some(error)),
    };
    let changed = difference.and_then(|difference| difference.changed.as_ref());
    let lines: Option<Vec<&str>> = difference.map(|difference| difference.how.lines().collect());
    let error = error.map(|error| {
        json!({"kind": error.kind, "message": error.message, "line": error.line, "hint": error.hint,
               "file": error.path.as_deref().map(path_text)})
    });
    json!({"case": path_text(case.path()), "status": status, "difference": lines, "changed": changed, "error": error})
}
