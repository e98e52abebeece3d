//! What a policy still allows in a session: what depends on the turns before.
//!
//! `trigger.max_compactions` bounds the compactions that were made, `summary.breaker` the failures in a row; where a failure
//! has something in its place, that goes on. An aim that a summary has missed (what a person typed stays, whatever the aim)
//! is tried for again when the window has grown by an eighth: until then every request would summarise the same words again.

use super::round::Asked;
use crate::policy::{OnFailure, Policy, TargetKind};
use crate::summarizer::retry::Breaker;

/// The gates of a session.
#[derive(Debug)]
pub(super) struct Gates<'p> {
    policy: &'p Policy,
    compactions: u64,
    breaker: Breaker,
    /// Nothing over the trigger is summarised below so many live tokens.
    resume: u64,
}

/// A missed aim is tried for again when the window has grown by one part in so many.
const GROWTH: u64 = 8;

impl<'p> Gates<'p> {
    /// All open.
    pub(super) fn new(policy: &'p Policy) -> Self {
        Gates {
            policy,
            compactions: 0,
            breaker: Breaker::new(policy.summary.breaker),
            resume: 0,
        }
    }

    /// The gate that holds a summary back, if one does.
    pub(super) fn closed(&self) -> Option<String> {
        let most = self.policy.trigger.max_compactions;
        if most > 0 && self.compactions >= most {
            return Some(format!("trigger.max_compactions = {most}"));
        }
        let summary = &self.policy.summary;
        let is_held = match summary.on_failure {
            OnFailure::Keep => self.breaker.is_open(),
            OnFailure::Extractive | OnFailure::Prune => false,
        };
        is_held.then(|| format!("summary.breaker = {}", summary.breaker))
    }

    /// The aim that holds a summary of so many live tokens back, if one does; not one that the session itself asks for.
    pub(super) fn waits(&self, total: u64) -> Option<String> {
        let aim = self.policy.target.tokens;
        (total < self.resume).then(|| format!("target.tokens = {aim}, an aim that was missed"))
    }

    /// A summary was tried, and so many live tokens are left.
    pub(super) fn left(&mut self, total: u64) {
        let target = &self.policy.target;
        let is_missed =
            target.kind == TargetKind::Aim && target.tokens > 0 && total > target.tokens;
        self.resume = if is_missed {
            total + total / GROWTH + 1
        } else {
            0
        };
    }

    /// A compaction was made.
    pub(super) fn made(&mut self) {
        self.compactions += 1;
    }

    /// A summary was asked for, or not.
    pub(super) fn asked(&mut self, asked: Asked) {
        match asked {
            Asked::Nobody => {}
            Asked::Answered => self.breaker.succeeded(),
            Asked::Failed => self.breaker.failed(),
        }
    }
}
