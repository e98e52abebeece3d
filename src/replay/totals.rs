//! Sums over inputs.

use serde::Serialize;

use super::{Done, Figures, FileReplay};
use crate::outcome::{Examined, FileStatus};

/// Sums over many inputs.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Totals {
    /// All inputs.
    pub files: u64,
    /// Of these, replayed.
    pub replayed: u64,
    /// Of these, unsupported.
    pub unsupported: u64,
    /// Of these, failed.
    pub failed: u64,
    /// Sessions.
    pub sessions: u64,
    /// Model requests.
    pub requests: u64,
    /// The cost without compaction.
    pub whole: Figures,
    /// The sums for each policy.
    pub policies: Vec<PolicyTotals>,
}

/// Sums for one policy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PolicyTotals {
    /// The policy's name.
    pub policy: String,
    /// What was done.
    #[serde(flatten)]
    pub done: Done,
    /// Tokens by the estimator that is the same for all policies.
    pub tokens: Figures,
    /// Tokens by the policy's own estimator.
    pub own: Figures,
}

impl Totals {
    /// The sums over no inputs yet, for policies of these names, in the order of each session's results.
    pub fn new(policies: impl IntoIterator<Item = String>) -> Self {
        let policies = policies.into_iter().map(|policy| PolicyTotals {
            policy,
            done: Done::default(),
            tokens: Figures::default(),
            own: Figures::default(),
        });
        Totals {
            policies: policies.collect(),
            ..Totals::default()
        }
    }

    /// Adds an input.
    pub fn add(&mut self, file: &Examined<FileReplay>) {
        self.files += 1;
        *match file.status {
            FileStatus::Examined => &mut self.replayed,
            FileStatus::Unsupported(_) => &mut self.unsupported,
            FileStatus::Failed => &mut self.failed,
        } += 1;
        for session in &file.found.sessions {
            self.sessions += 1;
            self.requests += session.requests;
            self.whole.add(&session.whole);
            for (sum, policy) in self.policies.iter_mut().zip(&session.policies) {
                sum.done.compactions += policy.done.compactions;
                sum.done.failures += policy.done.failures;
                sum.done.edits += policy.done.edits;
                sum.tokens.add(&policy.tokens);
                sum.own.add(&policy.own);
            }
        }
    }
}

impl Figures {
    /// Adds another session's cost; keeps the higher of the two peaks.
    fn add(&mut self, other: &Figures) {
        self.sent += other.sent;
        self.cache_lost += other.cache_lost;
        self.peak = self.peak.max(other.peak);
        self.last += other.last;
    }
}
