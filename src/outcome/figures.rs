//! What sums, exit codes and lists need of an outcome: taken from it, or read off its JSON without the rest.
//!
//! PURE. Says nothing that the outcome itself would not say.

use std::borrow::Cow;
use std::ops::Deref;

use serde::Deserialize;
use serde::de::IgnoredAny;

use super::{Exit, Outcome, Spent, Status, TargetOutcome};
use crate::policy::Source;

/// The figures of an outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Figures {
    /// The status of the input.
    pub status: Status,
    /// As in [`Outcome`].
    pub bytes_before: u64,
    /// As in [`Outcome`].
    pub bytes_after: u64,
    /// As in [`Outcome`].
    pub stored_before: Option<u64>,
    /// As in [`Outcome`].
    pub stored_after: Option<u64>,
    /// Of all live windows.
    pub messages_before: u64,
    /// Of all live windows.
    pub messages_after: u64,
    /// Of all live windows.
    pub tokens_before: u64,
    /// Of all live windows.
    pub tokens_after: u64,
    /// What requests for summaries cost, if a server was asked.
    pub spent: Option<Spent>,
    said: Said,
}

/// What an outcome says besides its sizes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Said {
    degraded: bool,
    /// Whether a request for a summary failed.
    failed_summary: bool,
    broken_cap: bool,
    /// Whether there is anything else that a list of remarkable inputs tells.
    more: bool,
}

/// What is told of one conversation: its target, and of a summary the source, whether it failed, and its cost.
type Told<'c> = (
    Option<TargetOutcome>,
    Option<(&'c str, bool, Option<Spent>)>,
);

impl Said {
    /// The same with what the conversations say, and what all of them cost.
    fn with<'c>(mut self, conversations: impl Iterator<Item = Told<'c>>) -> (Said, Option<Spent>) {
        let mut all: Option<Spent> = None;
        for (target, summary) in conversations {
            if let Some((source, has_failed, spent)) = summary {
                self.failed_summary |= has_failed;
                self.more |= source != Source::Extractive.name();
                if let Some(spent) = spent {
                    *all.get_or_insert_default() += spent;
                }
            }
            self.more |= target.is_some_and(|target| target.reason.is_some());
            self.broken_cap |= target.is_some_and(|target| target.is_broken());
        }
        (self, all)
    }
}

impl Figures {
    /// Those of an outcome.
    pub fn of(outcome: &Outcome) -> Self {
        let conversations = outcome.conversations.iter().map(|conversation| {
            let summary = conversation.summary.as_ref();
            let summary = summary.map(|s| (s.source.as_str(), s.error.is_some(), s.spent));
            (conversation.target, summary)
        });
        let said = Said {
            degraded: !outcome.degraded.is_empty(),
            more: outcome.file.error.is_some() || !outcome.warnings.is_empty(),
            ..Said::default()
        };
        let (said, spent) = said.with(conversations);
        Figures {
            status: outcome.status,
            bytes_before: outcome.bytes_before,
            bytes_after: outcome.bytes_after,
            stored_before: outcome.stored_before,
            stored_after: outcome.stored_after,
            messages_before: outcome.messages_before(),
            messages_after: outcome.messages_after(),
            tokens_before: outcome.tokens_before(),
            tokens_after: outcome.tokens_after(),
            spent,
            said,
        }
    }

    /// The tokens that were saved.
    pub fn tokens_saved(&self) -> u64 {
        self.tokens_before.saturating_sub(self.tokens_after)
    }

    /// Whether something that was asked for failed.
    pub fn is_degraded(&self) -> bool {
        self.said.degraded
    }

    /// Whether the outcome is final: what failed, is degraded or was left alone is tried again.
    pub fn is_final(&self) -> bool {
        let is_done = match self.status {
            Status::Compacted | Status::Unchanged | Status::Unsupported | Status::Rejected => true,
            Status::Failed | Status::Skipped => false,
        };
        is_done && !self.said.degraded && !self.said.failed_summary
    }

    /// The exit code for this input alone.
    pub fn exit(&self) -> Exit {
        match self.status {
            Status::Failed => Exit::Partial,
            _ if self.said.degraded => Exit::Partial,
            Status::Rejected => Exit::Check,
            Status::Compacted | Status::Unchanged | Status::Unsupported | Status::Skipped => {
                match self.said.broken_cap {
                    true => Exit::Check,
                    false => Exit::Done,
                }
            }
        }
    }

    /// Whether anything is said of the input besides its figures.
    pub fn is_remarkable(&self) -> bool {
        let is_fine = match self.status {
            Status::Compacted | Status::Unchanged | Status::Skipped => true,
            Status::Failed | Status::Unsupported | Status::Rejected => false,
        };
        !is_fine || self.said.degraded || self.said.broken_cap || self.said.more
    }
}

/// An outcome as far as whoever takes it over as it stands has to know it; read off its JSON.
#[derive(Debug, Deserialize)]
pub struct Brief<'j> {
    /// The input's path.
    #[serde(rename = "input", borrow)]
    pub path: JsonText<'j>,
    /// Where the result was written, if it was.
    pub output: Option<JsonText<'j>>,
    /// The hash of the input's bytes, if it was read.
    pub hash_before: Option<JsonText<'j>>,
    /// The hash of the result's bytes.
    pub hash_after: Option<JsonText<'j>>,
    /// The status of the input.
    pub status: Status,
    error: Option<IgnoredAny>,
    bytes_before: u64,
    bytes_after: u64,
    #[serde(default)]
    stored_before: Option<u64>,
    #[serde(default)]
    stored_after: Option<u64>,
    messages_before: u64,
    messages_after: u64,
    tokens_before: u64,
    tokens_after: u64,
    degraded: Vec<IgnoredAny>,
    warnings: Vec<IgnoredAny>,
    conversations: Vec<BriefConversation<'j>>,
}

#[derive(Debug, Deserialize)]
struct BriefConversation<'j> {
    target: Option<TargetOutcome>,
    #[serde(borrow)]
    summary: Option<BriefSummary<'j>>,
}

#[derive(Debug, Deserialize)]
struct BriefSummary<'j> {
    #[serde(borrow)]
    source: JsonText<'j>,
    #[serde(default)]
    error: Option<IgnoredAny>,
    #[serde(default)]
    spent: Option<Spent>,
}

/// A text of JSON, borrowed where it holds no escapes.
#[derive(Debug, Deserialize, PartialEq, Eq)]
pub struct JsonText<'j>(#[serde(borrow)] Cow<'j, str>);

impl Deref for JsonText<'_> {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl Brief<'_> {
    /// The figures.
    pub fn figures(&self) -> Figures {
        let conversations = self.conversations.iter().map(|conversation| {
            let summary = conversation.summary.as_ref();
            let summary = summary.map(|s| (&*s.source, s.error.is_some(), s.spent));
            (conversation.target, summary)
        });
        let said = Said {
            degraded: !self.degraded.is_empty(),
            more: self.error.is_some() || !self.warnings.is_empty(),
            ..Said::default()
        };
        let (said, spent) = said.with(conversations);
        Figures {
            status: self.status,
            bytes_before: self.bytes_before,
            bytes_after: self.bytes_after,
            stored_before: self.stored_before,
            stored_after: self.stored_after,
            messages_before: self.messages_before,
            messages_after: self.messages_after,
            tokens_before: self.tokens_before,
            tokens_after: self.tokens_after,
            spent,
            said,
        }
    }
}
