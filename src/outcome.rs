//! What happened to each transcript, as plain data that adds up: the `files` entries and the `totals` of a report.
//!
//! The fields are the report's JSON keys, in its order. Sums are computed on demand, so that they cannot disagree with their parts.
//! PURE. Contains no host name or anything else that differs between runs; times only if the user requested them.

use std::fmt;
use std::path::{MAIN_SEPARATOR, Path};

use serde::ser::{SerializeMap, Serializer};
use serde::{Deserialize, Serialize};

use crate::error::{Error, ErrorKind};
use crate::text::shown_path;

pub use crate::emit::Loss;
pub use crate::facts::{Coverage, NotUnderstood};
pub use crate::format::WarningKind as LineWarningKind;
pub use crate::policy::TargetKind;
pub use crate::tokens::{Usage, Voice};

pub use conversation::{
    Action, ActionKind, ConversationOutcome, EmittedOutcome, LossOutcome, MissReason,
    NOT_SUMMARISED, Narrative, Restored, RestoredFrom, RoundsRead, Spent, SummaryOutcome,
    TargetOutcome,
};
pub use degraded::{Degraded, DegradedKind, Warning, WarningKind};
#[doc(hidden)]
pub use degraded::{NO_SUMMARY, TO_BE_SENT, WAITS_FOR};
#[doc(hidden)]
pub use entries::{Entries, Listed, ReadBack, unread};
#[doc(hidden)]
pub use figures::Figures;
pub use file::FileRecord;
#[doc(hidden)]
pub use file::{Entry, Examined, FileStatus, Find, Unread};
#[doc(hidden)]
pub use not_read::{EXAMPLES, NotRead, NotReads};
#[doc(hidden)]
pub use notice::{Inputs, LINES, NAMED, NAMED_AT_MOST, Notice, NoticeLevel, Notices};
pub use roles::RoleOutcome;
#[doc(hidden)]
pub use timings::{Clock, Laps, Phase, Timings, of_seconds, seconds};
#[doc(hidden)]
pub use totals::{Interrupted, Totals, ratio};

mod conversation;
mod degraded;
mod entries;
mod figures;
mod file;
mod not_read;
mod notice;
mod read;
mod roles;
#[cfg(test)]
mod tests;
mod timings;
mod totals;

/// What happened to one input: an entry of the report's `files`.
///
/// If an input was read but not changed, every "after" is equal to its "before". If it was not read, all are 0 and add nothing
/// to the totals.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(from = "read::Stored")]
#[non_exhaustive]
pub struct Outcome {
    /// The input.
    pub file: FileRecord,
    /// Where the result was written, if it was.
    pub output: Option<String>,
    /// The status of the input.
    pub status: Status,
    /// What `undo` would restore; `None` if the original bytes were not kept.
    pub original: Option<Original>,
    /// Violations of the provider's rules in the input.
    pub findings_before: u64,
    /// Violations in the result.
    pub findings_after: u64,
    /// `blake3:` and the hash of the input's bytes, if it was read.
    pub hash_before: Option<String>,
    /// `blake3:` and the hash of the result's bytes.
    pub hash_after: Option<String>,
    /// The size of the input's text in bytes; of a compressed input, unpacked.
    pub bytes_before: u64,
    /// The size of the result's text in bytes, likewise.
    pub bytes_after: u64,
    /// The size of the input as it is stored, if it is compressed.
    pub stored_before: Option<u64>,
    /// The size of the result as it is stored, if it is compressed.
    pub stored_after: Option<u64>,
    /// How many of the lines and calls are understood, if the input was read.
    pub coverage: Option<Coverage>,
    /// What was requested but failed, although the input was processed.
    pub degraded: Vec<Degraded>,
    /// What is worth knowing but not a failure.
    pub warnings: Vec<Warning>,
    /// One entry for each conversation in the transcript; the file's tokens and messages are their sums.
    pub conversations: Vec<ConversationOutcome>,
}

impl Outcome {
    /// An input that could not be read, or whose result could not be written.
    pub fn failed(input: &Path, error: &Error) -> Self {
        Outcome {
            file: FileRecord::failed(input, error),
            ..Outcome::unread(input, Status::Failed)
        }
    }

    /// An input that is left to another run or was processed by an earlier one.
    pub fn skipped(input: &Path) -> Self {
        Outcome::unread(input, Status::Skipped)
    }

    /// An input that was skipped for a reason that is not a failure but should be shown: another program writes to it, or a hook
    /// excluded it.
    pub fn left_alone(input: &Path, error: &Error) -> Self {
        Outcome {
            status: Status::Skipped,
            ..Outcome::failed(input, error)
        }
    }

    /// An unchanged input of `bytes` bytes: the other outcomes are built from this one.
    pub fn unchanged(input: &Path, bytes: u64, hash: impl Into<String>) -> Self {
        let hash = Some(hash.into());
        Outcome {
            hash_before: hash.clone(),
            hash_after: hash,
            bytes_before: bytes,
            bytes_after: bytes,
            ..Outcome::unread(input, Status::Unchanged)
        }
    }

    /// An input that is left as it is because its format is not supported.
    pub fn unsupported(input: &Path, bytes: u64, hash: impl Into<String>) -> Self {
        Outcome {
            status: Status::Unsupported,
            ..Outcome::unchanged(input, bytes, hash)
        }
    }

    /// Whether a summary of the input is still pending, so that it was left as it is.
    pub fn is_pending(&self) -> bool {
        let mut degraded = self.degraded.iter();
        degraded.any(|one| one.kind == DegradedKind::SummaryPending)
    }

    /// Records what the summaries are waiting for that were to be sent when the outcome was made.
    pub fn now_waits_for(&mut self, what: &str) {
        let before = format!("{WAITS_FOR}{TO_BE_SENT}");
        for one in &mut self.degraded {
            if one.kind == DegradedKind::SummaryPending && one.message == before {
                one.message = format!("{WAITS_FOR}{what}");
            }
        }
    }

    /// The outcome for the same input while a summary of it is pending: nothing that was planned happened.
    #[must_use]
    pub fn waiting(self) -> Self {
        let left_alone = |mut conversation: ConversationOutcome| {
            let summary = conversation.summary.take();
            let summary = summary.filter(|summary| !summary.success && summary.fallback.is_none());
            ConversationOutcome {
                summary,
                // It is not yet known whether it will be reached.
                target: None,
                ..conversation.left_alone()
            }
        };
        Outcome {
            status: Status::Unchanged,
            findings_after: self.findings_before,
            conversations: self.conversations.into_iter().map(left_alone).collect(),
            ..self
        }
    }

    /// The outcome for the same input after it failed for lack of a summary: nothing that was planned happened, and the cost is
    /// reported.
    #[must_use]
    pub fn without_summary(self, input: &Path, error: &Error) -> Self {
        let left_alone = |mut conversation: ConversationOutcome| ConversationOutcome {
            summary: conversation.summary.take().filter(|s| !s.success),
            ..conversation.left_alone()
        };
        Outcome {
            status: Status::Failed,
            file: FileRecord {
                error: Some(OutcomeError::new(input, error)),
                ..self.file
            },
            findings_after: self.findings_before,
            degraded: Vec::new(),
            conversations: self.conversations.into_iter().map(left_alone).collect(),
            ..self
        }
    }

    /// The outcome for the same input after its result was rejected: the original is kept, and nothing that was planned happened.
    #[must_use]
    pub fn rejected(self, why: Rejection, message: impl Into<String>, line: Option<u64>) -> Self {
        Outcome {
            status: Status::Rejected,
            file: FileRecord {
                error: Some(OutcomeError {
                    kind: FaultKind::Rejected(why),
                    message: message.into(),
                    line,
                    hint: None,
                }),
                ..self.file
            },
            findings_after: self.findings_before,
            hash_after: self.hash_before.clone(),
            bytes_after: self.bytes_before,
            stored_after: self.stored_before,
            conversations: self
                .conversations
                .into_iter()
                .map(ConversationOutcome::left_alone)
                .collect(),
            ..self
        }
    }

    fn unread(input: &Path, status: Status) -> Self {
        Outcome {
            file: FileRecord::new(input),
            output: None,
            status,
            original: None,
            findings_before: 0,
            findings_after: 0,
            hash_before: None,
            hash_after: None,
            bytes_before: 0,
            bytes_after: 0,
            stored_before: None,
            stored_after: None,
            coverage: None,
            degraded: Vec::new(),
            warnings: Vec::new(),
            conversations: Vec::new(),
        }
    }

    /// Tokens of all live windows before.
    pub fn tokens_before(&self) -> u64 {
        self.conversations.iter().map(|c| c.tokens_before).sum()
    }

    /// Tokens of all live windows after.
    pub fn tokens_after(&self) -> u64 {
        self.conversations.iter().map(|c| c.tokens_after).sum()
    }

    /// Messages of all live windows before.
    pub fn messages_before(&self) -> u64 {
        self.conversations.iter().map(|c| c.messages_before).sum()
    }

    /// Messages of all live windows after.
    pub fn messages_after(&self) -> u64 {
        self.conversations.iter().map(|c| c.messages_after).sum()
    }

    /// The first cap that was exceeded, with its conversation.
    pub fn missed_target(&self) -> Option<(&ConversationOutcome, TargetOutcome)> {
        self.missed_targets().next()
    }

    /// The caps that were exceeded, with their conversations.
    pub fn missed_targets(&self) -> impl Iterator<Item = (&ConversationOutcome, TargetOutcome)> {
        let conversations = self.conversations.iter();
        conversations.filter_map(|c| Some((c, c.target.filter(TargetOutcome::is_broken)?)))
    }

    /// The exit code for this input alone.
    pub fn exit(&self) -> Exit {
        Figures::of(self).exit()
    }
}

impl Entry for Outcome {
    fn file(&self) -> &FileRecord {
        &self.file
    }

    fn file_mut(&mut self) -> &mut FileRecord {
        &mut self.file
    }
}

// By hand, because the four sums come between stored fields.
impl Serialize for Outcome {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        // Listed one by one, so that the compiler reports a missing new field.
        let Outcome {
            file:
                FileRecord {
                    path,
                    format,
                    project,
                    last_message,
                    error,
                    timings,
                },
            output,
            status,
            original,
            findings_before,
            findings_after,
            hash_before,
            hash_after,
            bytes_before,
            bytes_after,
            stored_before,
            stored_after,
            coverage,
            degraded,
            warnings,
            conversations,
        } = self;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("input", path)?;
        map.serialize_entry("output", output)?;
        map.serialize_entry("format", format)?;
        map.serialize_entry("project", project)?;
        map.serialize_entry("last_message", last_message)?;
        map.serialize_entry("status", status)?;
        map.serialize_entry("error", error)?;
        map.serialize_entry("original", original)?;
        map.serialize_entry("findings_before", findings_before)?;
        map.serialize_entry("findings_after", findings_after)?;
        map.serialize_entry("hash_before", hash_before)?;
        map.serialize_entry("hash_after", hash_after)?;
        map.serialize_entry("bytes_before", bytes_before)?;
        map.serialize_entry("bytes_after", bytes_after)?;
        for (key, stored) in [
            ("stored_before", stored_before),
            ("stored_after", stored_after),
        ] {
            if stored.is_some() {
                map.serialize_entry(key, stored)?;
            }
        }
        map.serialize_entry("tokens_before", &self.tokens_before())?;
        map.serialize_entry("tokens_after", &self.tokens_after())?;
        map.serialize_entry("messages_before", &self.messages_before())?;
        map.serialize_entry("messages_after", &self.messages_after())?;
        map.serialize_entry("coverage", coverage)?;
        map.serialize_entry("degraded", degraded)?;
        map.serialize_entry("warnings", warnings)?;
        map.serialize_entry("conversations", conversations)?;
        if timings.is_some() {
            map.serialize_entry("timings", timings)?;
        }
        map.end()
    }
}

/// The status of an input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Status {
    /// The result is smaller.
    Compacted,
    /// Nothing was worth changing.
    Unchanged,
    /// The result broke a rule, so the original was kept.
    Rejected,
    /// The input could not be read, or its result could not be written.
    Failed,
    /// The format is not one that can be compacted.
    Unsupported,
    /// Not part of this run's work.
    Skipped,
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

/// Why an input failed, was rejected or was skipped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct OutcomeError {
    /// The stable name that scripts branch on.
    pub kind: FaultKind,
    /// One sentence.
    pub message: String,
    /// The line of the input that caused it, from 1, if one did.
    pub line: Option<u64>,
    /// What to do about it. For people at a terminal; not in the report.
    #[serde(skip)]
    pub hint: Option<String>,
}

impl OutcomeError {
    /// Why the input could not be read, or its result could not be written.
    pub fn new(input: &Path, error: &Error) -> Self {
        // An error about another file (the store, the output) names that file; its line is not a line of the input.
        let (message, line) = match &error.path {
            Some(path) if path != input => (error.to_string(), None),
            _ => (error.message.clone(), error.line),
        };
        OutcomeError {
            kind: FaultKind::Error(error.kind),
            message,
            line,
            hint: error.hint.clone(),
        }
    }
}

/// The names that `error.kind` can take: those of [`ErrorKind`], and the reasons for a rejection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(untagged)]
#[non_exhaustive]
pub enum FaultKind {
    /// The input failed.
    Error(ErrorKind),
    /// The result was rejected.
    Rejected(Rejection),
}

impl fmt::Display for FaultKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

/// Why a result was rejected before it was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Rejection {
    /// It violates a provider's rule that the input did not.
    NewFinding,
    /// It has more live tokens than the input.
    MoreTokens,
    /// Messages that should have been kept are missing.
    LostMessages,
}

/// Where the original bytes are.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Original {
    /// The untouched input, or a copy of it.
    pub kind: OriginalKind,
    /// Its path as given, or relative to the store.
    pub path: String,
}

/// What holds the original bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum OriginalKind {
    /// The input itself, which was not changed.
    Input,
    /// A copy in the store's archive.
    Archive,
}

/// The process's exit code, as far as inputs determine it. (The binary has others for signals.)
///
/// In ascending order of severity: a batch has the highest code of its inputs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
#[doc(hidden)]
pub enum Exit {
    /// Everything was done.
    Done = 0,
    /// A result was rejected, a target not reached, or a check failed.
    Check = 1,
    /// The run did not begin or was stopped; no outcome has this code.
    Usage = 2,
    /// The run was completed, and some inputs failed or are degraded.
    Partial = 3,
}

impl Exit {
    /// The code for a batch.
    pub fn of(outcomes: &[Outcome]) -> Self {
        outcomes
            .iter()
            .map(Outcome::exit)
            .max()
            .unwrap_or(Exit::Done)
    }

    /// The number that the shell sees.
    pub fn code(self) -> u8 {
        self as u8
    }
}

/// A path as reports show it: as given, with `/` on every system and each byte that is not valid UTF-8 as `\xFF`.
#[doc(hidden)]
pub fn path_text(path: &Path) -> String {
    let text = shown_path(path);
    match MAIN_SEPARATOR {
        '/' => text,
        separator => text.replace(separator, "/"),
    }
}
