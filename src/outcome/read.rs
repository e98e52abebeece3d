//! Reads an outcome back from its JSON.
//!
//! Declares all keys side by side, as they are written: serde reads a flattened structure through a list of all its keys and
//! values, which costs more than the rest of the reading. PURE.

use serde::Deserialize;

use super::{
    ConversationOutcome, Coverage, Degraded, FileRecord, Original, Outcome, OutcomeError, Status,
    Timings, Warning,
};

/// An [`Outcome`] as it is stored: see there.
#[derive(Deserialize)]
pub(super) struct Stored {
    // As in [`FileRecord`].
    #[serde(rename = "input or path", alias = "input", alias = "path")]
    path: String,
    format: Option<String>,
    #[serde(default)]
    project: Option<String>,
    #[serde(default)]
    last_message: Option<String>,
    error: Option<OutcomeError>,
    #[serde(default)]
    timings: Option<Timings>,
    output: Option<String>,
    status: Status,
    original: Option<Original>,
    findings_before: u64,
    findings_after: u64,
    hash_before: Option<String>,
    hash_after: Option<String>,
    bytes_before: u64,
    bytes_after: u64,
    #[serde(default)]
    stored_before: Option<u64>,
    #[serde(default)]
    stored_after: Option<u64>,
    #[serde(default)]
    coverage: Option<Coverage>,
    degraded: Vec<Degraded>,
    warnings: Vec<Warning>,
    conversations: Vec<ConversationOutcome>,
}

impl From<Stored> for Outcome {
    fn from(stored: Stored) -> Self {
        Outcome {
            file: FileRecord {
                path: stored.path,
                format: stored.format,
                project: stored.project,
                last_message: stored.last_message,
                error: stored.error,
                timings: stored.timings,
            },
            output: stored.output,
            status: stored.status,
            original: stored.original,
            findings_before: stored.findings_before,
            findings_after: stored.findings_after,
            hash_before: stored.hash_before,
            hash_after: stored.hash_after,
            bytes_before: stored.bytes_before,
            bytes_after: stored.bytes_after,
            stored_before: stored.stored_before,
            stored_after: stored.stored_after,
            coverage: stored.coverage,
            degraded: stored.degraded,
            warnings: stored.warnings,
            conversations: stored.conversations,
        }
    }
}
