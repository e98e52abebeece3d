//! What was asked for and not done, and what is odd about an input: closed lists of kinds.
//!
//! Each kind says here whether it is told at the end of a run without being asked. Never decides when one holds.

use serde::{Serialize, Serializer};

use crate::format;

/// Something that was asked for and failed, though the input was done. The exit code is 3.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Degraded {
    /// What.
    pub kind: DegradedKind,
    /// One sentence; the same for all inputs with the same reason, so that they can be told as one.
    pub message: String,
}

/// The names that `degraded[].kind` can take.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum DegradedKind {
    /// The summariser that the policy names gave no summary.
    SummaryFailed,
    /// The policy's offload step was due, and there was no store.
    NoStore,
}

impl DegradedKind {
    /// The name in a report.
    pub fn name(self) -> &'static str {
        match self {
            DegradedKind::SummaryFailed => "summary_failed",
            DegradedKind::NoStore => "no_store",
        }
    }

    /// What to do about it.
    pub fn hint(self) -> Option<&'static str> {
        match self {
            DegradedKind::SummaryFailed => None,
            DegradedKind::NoStore => Some("name a folder for what is taken out: --store DIR"),
        }
    }
}

impl Serialize for DegradedKind {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

/// Something about the input or the result that is worth knowing, and no failure.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Warning {
    /// What.
    pub kind: WarningKind,
    /// The line, from 1; none when the whole file is meant.
    pub line: Option<u64>,
    /// One sentence; without names or figures of its own where the kind is told at the end of a run.
    pub message: String,
}

/// The names that `warnings[].kind` can take.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum WarningKind {
    /// A line is odd, and passed through.
    Line(format::WarningKind),
    /// The file is left alone for what it holds, which no reader knows.
    Unsupported,
    /// Words of the user that the policy keeps are not all there.
    UserWords,
    /// A picture or a document that the user put beside words is not there any more.
    Pictures,
    /// The model was not given all that its summary stands for.
    NotSummarised,
    /// A file was not put back from below the files' folder.
    FileNotRead,
    /// A file was not put back: secrets are kept under such names.
    FileWithheld,
    /// A line had secrets, which are masked.
    Redacted,
    /// A command of the user's own did not do well.
    Hook,
    /// An offload that nothing names any more stays in the store.
    NotCleanedUp,
    /// A file that was replaced had what the new one could not be given.
    AttributesLost,
    /// An oversize result was not moved to the store, for there is none.
    NotDemoted,
}

impl WarningKind {
    /// The name in a report.
    pub fn name(self) -> &'static str {
        match self {
            WarningKind::Line(kind) => kind.name(),
            WarningKind::Unsupported => "unsupported",
            WarningKind::UserWords => "user_words",
            WarningKind::Pictures => "pictures",
            WarningKind::NotSummarised => "not_summarised",
            WarningKind::FileNotRead => "file_not_read",
            WarningKind::FileWithheld => "file_withheld",
            WarningKind::Redacted => "redacted",
            WarningKind::Hook => "hook",
            WarningKind::NotCleanedUp => "not_cleaned_up",
            WarningKind::AttributesLost => "attributes_lost",
            WarningKind::NotDemoted => "not_demoted",
        }
    }

    /// Whether the end of a run tells of it without `-v`.
    pub fn is_always_said(self) -> bool {
        match self {
            // The first with what became of the file.
            WarningKind::Unsupported | WarningKind::Line(_) | WarningKind::Redacted => false,
            WarningKind::UserWords
            | WarningKind::Pictures
            | WarningKind::NotSummarised
            | WarningKind::FileNotRead
            | WarningKind::FileWithheld
            | WarningKind::Hook
            | WarningKind::NotCleanedUp
            | WarningKind::AttributesLost
            | WarningKind::NotDemoted => true,
        }
    }

    /// What to do about it.
    pub fn hint(self) -> Option<&'static str> {
        match self {
            WarningKind::NotDemoted => DegradedKind::NoStore.hint(),
            WarningKind::Line(_)
            | WarningKind::Unsupported
            | WarningKind::UserWords
            | WarningKind::Pictures
            | WarningKind::NotSummarised
            | WarningKind::FileNotRead
            | WarningKind::FileWithheld
            | WarningKind::Redacted
            | WarningKind::Hook
            | WarningKind::NotCleanedUp
            | WarningKind::AttributesLost => None,
        }
    }
}

impl Serialize for WarningKind {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}
