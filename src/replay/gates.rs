//! Limits that depend on what happened earlier in the session.
//!
//! `trigger.max_compactions` limits the compactions of a turn, `summary.breaker` consecutive failures; the replacement of a failed
//! summary is not affected. If a summary misses an aim (typed messages are kept regardless of it), the next attempt is made when
//! the window has grown by an eighth: otherwise every request would summarise the same words again.

use super::round::Asked;
use crate::policy::{OnFailure, Policy, TargetKind};
use crate::summarizer::retry::Breaker;

/// The gates of a session.
#[derive(Debug)]
pub(super) struct Gates<'p> {
    policy: &'p Policy,
    /// The compactions since the last typed message.
    compactions: u64,
    breaker: Breaker,
    /// Nothing is summarised below this many live tokens, even over the trigger.
    resume: u64,
}

/// After a missed aim, the window must grow by 1/8 before the next attempt.
const GROWTH: u64 = 8;

impl<'p> Gates<'p> {
    /// Gates that are all open.
    pub(super) fn new(policy: &'p Policy) -> Self {
        Gates {
            policy,
            compactions: 0,
            breaker: Breaker::new(policy.summary.breaker),
            resume: 0,
        }
    }

    /// The gate that prevents a summary, if one does.
    pub(super) fn closed(&self) -> Option<String> {
        let most = self.policy.trigger.max_compactions;
        if most > 0 && self.compactions >= most {
            return Some(format!("trigger.max_compactions = {most}"));
        }
        let summary = &self.policy.summary;
        let is_held = match summary.on_failure {
            OnFailure::Keep | OnFailure::Fail => self.breaker.is_open(),
            OnFailure::Extractive | OnFailure::Prune => false,
        };
        is_held.then(|| format!("summary.breaker = {}", summary.breaker))
    }

    /// The missed aim that prevents a summary of `total` live tokens, if one does. Does not apply to a summary that the
    /// session asks for.
    pub(super) fn waits(&self, total: u64) -> Option<String> {
        let aim = self.policy.target.tokens;
        (total < self.resume).then(|| format!("target.tokens = {aim}, an aim that was missed"))
    }

    /// Records an attempt, and the live tokens after it.
    pub(super) fn record_attempt(&mut self, total: u64) {
        let target = &self.policy.target;
        let is_missed =
            target.kind == TargetKind::Aim && target.tokens > 0 && total > target.tokens;
        self.resume = if is_missed {
            total + total / GROWTH + 1
        } else {
            0
        };
    }

    /// Begins a turn with a typed message and resets the count of compactions.
    pub(super) fn turn(&mut self) {
        self.compactions = 0;
    }

    /// Records a compaction.
    pub(super) fn made(&mut self) {
        self.compactions += 1;
    }

    /// Records whether a summary was requested, and whether that failed.
    pub(super) fn asked(&mut self, asked: Asked) {
        match asked {
            Asked::Nobody => {}
            Asked::Answered => self.breaker.succeeded(),
            Asked::Failed => self.breaker.failed(),
        }
    }
}
