//! A snapshot of an input: its identity, and when it was taken.
//!
//! Plain data; looks at nothing itself.

use std::time::{Duration, Instant};

use crate::store::FileIdentity;

/// How long a snapshot stays valid: until then the input counts as processed immediately.
const FRESH_FOR: Duration = Duration::from_secs(1);

/// The identity of an input when a walk found it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Snapshot {
    /// What was seen.
    pub(super) seen: FileIdentity,
    /// When.
    at: Instant,
}

impl Snapshot {
    /// A snapshot taken now.
    pub(super) fn now(seen: FileIdentity) -> Self {
        let at = Instant::now();
        Snapshot { seen, at }
    }

    /// Whether it was taken only a moment ago.
    pub(super) fn is_fresh(&self) -> bool {
        self.at.elapsed() < FRESH_FOR
    }
}
