//! Why a conversation is not summarised, in words for the report.
//!
//! PURE. Decides nothing.

use std::fmt;

/// Why a conversation stays as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum KeepReason {
    /// A dry run sends no requests.
    DryRun,
    /// The answer is to come.
    InBatch,
    /// No summary could be written.
    Failed(String),
    /// The summary would say nothing.
    Empty,
    /// Only an earlier summary comes before the kept messages.
    OnlyEarlierSummary,
    /// Nothing comes before the kept messages.
    NoMessages,
    /// A summary would be too large, and there is nothing but the last turns.
    OnlyLastTurns,
    /// A summary would take as many tokens as what it replaces.
    NotSmaller,
    /// Almost everything must be kept.
    SavesTooLittle,
    /// The target is reached without a summary, and would be missed with one.
    NoRoom,
    /// The target is reached without a summary, which would repeat the user's words alone.
    AddsNothing,
}

impl KeepReason {
    /// Whether a summary was due and could not be written.
    pub(super) fn is_failure(&self) -> bool {
        match self {
            KeepReason::Failed(_) | KeepReason::Empty => true,
            KeepReason::DryRun
            | KeepReason::InBatch
            | KeepReason::OnlyEarlierSummary
            | KeepReason::NoMessages
            | KeepReason::OnlyLastTurns
            | KeepReason::NotSmaller
            | KeepReason::SavesTooLittle
            | KeepReason::NoRoom
            | KeepReason::AddsNothing => false,
        }
    }
}

impl fmt::Display for KeepReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words = match self {
            KeepReason::DryRun => {
                "pending: a dry run sends no requests, and the store has no earlier answer"
            }
            KeepReason::InBatch => {
                "pending: the request is in a batch that has not been answered yet"
            }
            KeepReason::Failed(why) => return write!(f, "no summary could be written: {why}"),
            KeepReason::Empty => "a summary would be empty",
            KeepReason::OnlyEarlierSummary => {
                "nothing to compact: only an earlier summary comes before the kept messages"
            }
            KeepReason::NoMessages => {
                "nothing to compact: there are no messages before the kept ones"
            }
            KeepReason::OnlyLastTurns => {
                "a summary would be too large, and the last turns are all there is"
            }
            KeepReason::NotSmaller => "a summary would not be smaller",
            KeepReason::SavesTooLittle => {
                "a summary would save too little: almost everything must be kept"
            }
            KeepReason::NoRoom => "the target is already met and leaves no room for a summary",
            KeepReason::AddsNothing => {
                "the target is reached, and a summary would add nothing about the cleared results"
            }
        };
        f.write_str(words)
    }
}
