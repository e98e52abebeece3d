//! The figures of an outcome for sums, exit codes and lists, so that the outcome itself need not be kept.
//!
//! PURE. Contains nothing that the outcome does not.

use serde::{Deserialize, Serialize, Serializer};

use super::{Exit, Outcome, Spent, Status};
use crate::policy::Source;

/// The figures of an outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
struct Said {
    degraded: bool,
    /// Whether a request for a summary failed.
    failed_summary: bool,
    broken_cap: bool,
    /// Whether there is anything else for a list of remarkable inputs to report.
    more: bool,
}

/// Serialises as a row without keys, in field order: a repeated run may read back a million.
impl Serialize for Figures {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let said = &self.said;
        (
            self.status,
            self.bytes_before,
            self.bytes_after,
            self.stored_before,
            self.stored_after,
            self.messages_before,
            self.messages_after,
            self.tokens_before,
            self.tokens_after,
            self.spent,
            (
                said.degraded,
                said.failed_summary,
                said.broken_cap,
                said.more,
            ),
        )
            .serialize(serializer)
    }
}

/// The positions of flags beside the status: see [`Figures::to_words`].
const DEGRADED: u64 = 1 << 8;
const FAILED_SUMMARY: u64 = 1 << 9;
const BROKEN_CAP: u64 = 1 << 10;
const MORE: u64 = 1 << 11;
const STORED_BEFORE: u64 = 1 << 12;
const STORED_AFTER: u64 = 1 << 13;

impl Figures {
    /// The number of numbers.
    pub const WORDS: usize = 9;

    /// The figures as numbers; `None` if there is no output, or if a server was asked.
    pub fn to_words(self) -> Option<[u64; Self::WORDS]> {
        let mut first = match self.status {
            Status::Compacted => 0,
            Status::Unchanged => 1,
            Status::Failed | Status::Skipped | Status::Unsupported | Status::Rejected => {
                return None;
            }
        };
        self.spent.is_none().then_some(())?;
        for (flag, is_set) in [
            (DEGRADED, self.said.degraded),
            (FAILED_SUMMARY, self.said.failed_summary),
            (BROKEN_CAP, self.said.broken_cap),
            (MORE, self.said.more),
            (STORED_BEFORE, self.stored_before.is_some()),
            (STORED_AFTER, self.stored_after.is_some()),
        ] {
            first |= if is_set { flag } else { 0 };
        }
        Some([
            first,
            self.bytes_before,
            self.bytes_after,
            self.stored_before.unwrap_or(0),
            self.stored_after.unwrap_or(0),
            self.messages_before,
            self.messages_after,
            self.tokens_before,
            self.tokens_after,
        ])
    }

    /// The reverse of [`Figures::to_words`]; `None` if it cannot have written them.
    pub fn of_words(words: &[u64; Self::WORDS]) -> Option<Self> {
        let &[
            first,
            bytes_before,
            bytes_after,
            stored_before,
            stored_after,
            ref rest @ ..,
        ] = words;
        let &[messages_before, messages_after, tokens_before, tokens_after] = rest;
        let has = |flag: u64| first & flag != 0;
        Some(Figures {
            status: match first & 0xff {
                0 => Status::Compacted,
                1 => Status::Unchanged,
                _ => return None,
            },
            bytes_before,
            bytes_after,
            stored_before: has(STORED_BEFORE).then_some(stored_before),
            stored_after: has(STORED_AFTER).then_some(stored_after),
            messages_before,
            messages_after,
            tokens_before,
            tokens_after,
            spent: None,
            said: Said {
                degraded: has(DEGRADED),
                failed_summary: has(FAILED_SUMMARY),
                broken_cap: has(BROKEN_CAP),
                more: has(MORE),
            },
        })
    }

    /// The figures of an outcome.
    pub fn of(outcome: &Outcome) -> Self {
        let mut said = Said {
            degraded: !outcome.degraded.is_empty(),
            broken_cap: outcome.missed_target().is_some(),
            more: outcome.file.error.is_some() || !outcome.warnings.is_empty(),
            ..Said::default()
        };
        let mut spent: Option<Spent> = None;
        for conversation in &outcome.conversations {
            if let Some(summary) = &conversation.summary {
                said.failed_summary |= summary.error.is_some();
                said.more |= summary.source != Source::Extractive.name();
                if let Some(cost) = summary.spent {
                    *spent.get_or_insert_default() += cost;
                }
            }
            let target = conversation.target;
            said.more |= target.is_some_and(|target| target.reason.is_some());
        }
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

    /// The number of tokens saved.
    pub fn tokens_saved(&self) -> u64 {
        self.tokens_before.saturating_sub(self.tokens_after)
    }

    /// Whether something that was requested failed.
    pub fn is_degraded(&self) -> bool {
        self.said.degraded
    }

    /// Whether the outcome is final: inputs that failed, are degraded or were skipped are tried again.
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

    /// Whether there is anything to report about the input besides its figures.
    pub fn is_remarkable(&self) -> bool {
        let is_fine = match self.status {
            Status::Compacted | Status::Unchanged | Status::Skipped => true,
            Status::Failed | Status::Unsupported | Status::Rejected => false,
        };
        !is_fine || self.said.degraded || self.said.broken_cap || self.said.more
    }
}
