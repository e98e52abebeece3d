//! What a policy still allows in a session: what depends on the turns before.
//!
//! `trigger.max_compactions` bounds the compactions that were made, `summary.breaker` the failures in a row; where a failure
//! has something in its place, that goes on. Nothing is counted in tokens here.

use super::round::Asked;
use crate::policy::{OnFailure, Policy};
use crate::summarizer::retry::Breaker;

/// The gates of a session.
#[derive(Debug)]
pub(super) struct Gates<'p> {
    policy: &'p Policy,
    compactions: u64,
    breaker: Breaker,
}

impl<'p> Gates<'p> {
    /// All open.
    pub(super) fn new(policy: &'p Policy) -> Self {
        Gates {
            policy,
            compactions: 0,
            breaker: Breaker::new(policy.summary.breaker),
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

    /// A compaction was made.
    pub(super) fn made(&mut self) {
        self.compactions += 1;
    }

    /// A summary was asked for, or not.
    pub(super) fn asked(&mut self, asked: Asked) {
        match asked {
            Asked::Nobody => {}
            Asked::Answered => self.breaker.count::<(), ()>(&Ok(())),
            Asked::Failed => self.breaker.count::<(), ()>(&Err(())),
        }
    }
}
