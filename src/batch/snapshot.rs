//! A look at an input: what it was, and when.
//!
//! Plain data; looks at nothing itself.

use std::time::{Duration, Instant};

use crate::store::FileIdentity;

/// How long a look at an input stays valid: until then it counts as if the input had been processed at once.
const FRESH_FOR: Duration = Duration::from_secs(1);

/// What an input was when a walk met it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Snapshot {
    /// What was seen.
    pub(super) seen: FileIdentity,
    /// When.
    at: Instant,
}

impl Snapshot {
    /// What is seen now.
    pub(super) fn now(seen: FileIdentity) -> Self {
        let at = Instant::now();
        Snapshot { seen, at }
    }

    /// Whether that is a moment ago at most.
    pub(super) fn is_fresh(&self) -> bool {
        self.at.elapsed() < FRESH_FOR
    }
}
