//! What a policy still allows in a session: what depends on the turns before.
//!
//! `trigger.max_compactions` bounds the compactions that were made, `summary.breaker` the failures in a row. Nothing is
//! counted in tokens here.

use crate::policy::Policy;

/// The gates of a session.
#[derive(Debug)]
pub(super) struct Gates<'p> {
    policy: &'p Policy,
    compactions: u64,
    failures: u64,
}

impl<'p> Gates<'p> {
    /// All open.
    pub(super) fn new(policy: &'p Policy) -> Self {
        Gates {
            policy,
            compactions: 0,
            failures: 0,
        }
    }

    /// The gate that holds a summary back, if one does.
    pub(super) fn closed(&self) -> Option<String> {
        let gates = [
            (
                "trigger.max_compactions",
                self.policy.trigger.max_compactions,
                self.compactions,
            ),
            (
                "summary.breaker",
                self.policy.summary.breaker,
                self.failures,
            ),
        ];
        gates
            .iter()
            .find(|(_, most, so_far)| *most > 0 && so_far >= most)
            .map(|(key, most, _)| format!("{key} = {most}"))
    }

    /// A compaction was made.
    pub(super) fn made(&mut self) {
        self.compactions += 1;
    }

    /// The summariser that was asked has answered.
    pub(super) fn answered(&mut self) {
        self.failures = 0;
    }

    /// The summariser that was asked has failed.
    pub(super) fn failed(&mut self) {
        self.failures += 1;
    }
}
