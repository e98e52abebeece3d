//! What was requested but not done, and warnings: closed lists of kinds.
//!
//! States for each kind whether the end of a run shows it without `-v`. Callers decide when one applies.

use serde::{Deserialize, Serialize, Serializer};

use crate::format::{self, LineWarning};

/// Something that was requested but failed, although the input was processed. The exit code is 3.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Degraded {
    /// Its kind.
    pub kind: DegradedKind,
    /// One sentence; the same for all inputs with the same reason, so that they share a notice.
    pub message: String,
}

/// The names that `degraded[].kind` can take.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum DegradedKind {
    /// The summariser that the policy names wrote no summary.
    SummaryFailed,
    /// The request is in a batch that has not been answered yet: the input is left as it is until then.
    SummaryPending,
    /// The policy's offload step was due, and there was no store.
    NoStore,
}

/// The beginning of the message for a failed summary; the reason follows.
pub const NO_SUMMARY: &str = "no summary could be written: ";
/// The beginning of the message for a pending summary; what it waits for follows.
pub const WAITS_FOR: &str = "no summary yet: it waits for ";
/// What follows until the run has sent the batch and knows its name.
pub const TO_BE_SENT: &str = "a batch";

impl DegradedKind {
    /// The name in a report.
    pub fn name(self) -> &'static str {
        match self {
            DegradedKind::SummaryFailed => "summary_failed",
            DegradedKind::SummaryPending => "summary_pending",
            DegradedKind::NoStore => "no_store",
        }
    }

    /// What to do about it.
    pub fn hint(self) -> Option<&'static str> {
        match self {
            DegradedKind::SummaryFailed | DegradedKind::SummaryPending => None,
            DegradedKind::NoStore => Some("name a folder for the store: --store DIR"),
        }
    }
}

impl Serialize for DegradedKind {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

/// Something about the input or the result that is worth knowing but is not a failure.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Warning {
    /// Its kind.
    pub kind: WarningKind,
    /// The line, from 1; `None` for the whole file.
    pub line: Option<u64>,
    /// One sentence, without names or figures of this input if the end of a run shows this kind.
    pub message: String,
}

impl From<LineWarning> for Warning {
    fn from(of_line: LineWarning) -> Self {
        Warning {
            kind: WarningKind::Line(of_line.kind),
            line: Some(of_line.line),
            message: of_line.message,
        }
    }
}

/// The names that `warnings[].kind` can take.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum WarningKind {
    /// The file is left as it is, because something in it is not supported.
    Unsupported,
    /// The file was read as the format that the user named, and looks like another one.
    OtherFormat,
    /// Typed messages are not kept in full.
    UserWords,
    /// A picture or a document in a typed message was removed.
    Pictures,
    /// The model was not sent everything that its summary replaces.
    NotSummarised,
    /// The server silently reads less than it is sent.
    SilentCut,
    /// The model's summary may not be a summary of the conversation, and the policy accepts it anyway.
    Doubtful,
    /// The model's summary ended at its size limit.
    CutOff,
    /// A server rejected a parameter that the policy sets.
    ParameterRefused,
    /// A summary was due and would have been empty.
    EmptySummary,
    /// Fewer messages were kept besides a summary than the policy asks for.
    KeptLess,
    /// A file could not be read from the files' folder.
    FileNotRead,
    /// A file was not restored, because files of that name contain secrets.
    FileWithheld,
    /// A line contained secrets, which are now masked.
    Redacted,
    /// A hook failed.
    Hook,
    /// An offload that nothing refers to any more could not be deleted.
    NotCleanedUp,
    /// A replaced file had attributes that could not be set on the new one.
    AttributesLost,
    /// The output is compressed as its input is, which its name does not say.
    Misnamed,
    /// The output overwrote that of another input that still exists.
    WroteOver,
    /// An oversize result was not moved to the store, because there is none.
    NotDemoted,
    /// An oversize result was not moved to the store, because it is not only text.
    NotOnlyText,
    /// Many calls are not understood, so that summaries and restored files miss their effects.
    Coverage,
    /// A line is odd and was passed through. The names are those of the line warnings.
    #[serde(untagged)]
    Line(format::WarningKind),
}

impl WarningKind {
    /// The name in a report.
    pub fn name(self) -> &'static str {
        match self {
            WarningKind::Line(kind) => kind.name(),
            WarningKind::Unsupported => "unsupported",
            WarningKind::OtherFormat => "other_format",
            WarningKind::UserWords => "user_words",
            WarningKind::Pictures => "pictures",
            WarningKind::NotSummarised => "not_summarised",
            WarningKind::SilentCut => "silent_cut",
            WarningKind::Doubtful => "doubtful",
            WarningKind::CutOff => "cut_off",
            WarningKind::ParameterRefused => "parameter_refused",
            WarningKind::EmptySummary => "empty_summary",
            WarningKind::KeptLess => "kept_less",
            WarningKind::FileNotRead => "file_not_read",
            WarningKind::FileWithheld => "file_withheld",
            WarningKind::Redacted => "redacted",
            WarningKind::Hook => "hook",
            WarningKind::NotCleanedUp => "not_cleaned_up",
            WarningKind::AttributesLost => "attributes_lost",
            WarningKind::Misnamed => "misnamed",
            WarningKind::WroteOver => "wrote_over",
            WarningKind::NotDemoted => "not_demoted",
            WarningKind::NotOnlyText => "not_only_text",
            WarningKind::Coverage => "coverage",
        }
    }

    /// Whether the end of a run shows it without `-v`.
    pub fn is_always_said(self) -> bool {
        match self {
            // The first with what became of the file, the second summed up over all files.
            WarningKind::Unsupported | WarningKind::Coverage | WarningKind::Redacted => false,
            WarningKind::Line(kind) => kind.is_always_said(),
            WarningKind::OtherFormat
            | WarningKind::UserWords
            | WarningKind::Pictures
            | WarningKind::NotSummarised
            | WarningKind::SilentCut
            | WarningKind::Doubtful
            | WarningKind::CutOff
            | WarningKind::ParameterRefused
            | WarningKind::EmptySummary
            | WarningKind::KeptLess
            | WarningKind::FileNotRead
            | WarningKind::FileWithheld
            | WarningKind::Hook
            | WarningKind::NotCleanedUp
            | WarningKind::AttributesLost
            | WarningKind::Misnamed
            | WarningKind::WroteOver
            | WarningKind::NotDemoted
            | WarningKind::NotOnlyText => true,
        }
    }

    /// What to do about it.
    pub fn hint(self) -> Option<&'static str> {
        match self {
            WarningKind::NotDemoted => DegradedKind::NoStore.hint(),
            WarningKind::Doubtful => {
                Some("to have such answers rejected: --set summary.max_invented=0")
            }
            WarningKind::WroteOver => {
                Some("name the folder that contains both: its tree is kept; or another --out-dir")
            }
            WarningKind::Misnamed => {
                Some("name it like the input: .jsonl, .jsonl.gz or .jsonl.zst")
            }
            WarningKind::CutOff => {
                Some("to ask again with more room instead: --set summary.cut_off=retry")
            }
            WarningKind::SilentCut => {
                Some("give the server a larger context window, such as num_ctx of Ollama")
            }
            WarningKind::KeptLess => {
                Some("a higher trigger.tokens or target.tokens leaves room for them")
            }
            WarningKind::OtherFormat => {
                Some("leave out --input-format to detect the format from the content of the file")
            }
            // What helps depends on what is not understood.
            WarningKind::Coverage
            | WarningKind::Line(_)
            | WarningKind::Unsupported
            | WarningKind::UserWords
            | WarningKind::Pictures
            | WarningKind::NotSummarised
            | WarningKind::ParameterRefused
            | WarningKind::EmptySummary
            | WarningKind::FileNotRead
            | WarningKind::FileWithheld
            | WarningKind::Redacted
            | WarningKind::Hook
            | WarningKind::NotCleanedUp
            | WarningKind::NotOnlyText
            | WarningKind::AttributesLost => None,
        }
    }
}

impl Serialize for WarningKind {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}
