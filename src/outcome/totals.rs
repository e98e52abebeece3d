//! Sums over outcomes, and the ratio derived from them.
//!
//! Stores only what can be added; derived figures are computed when they are shown.

use std::ops::AddAssign;

use serde::ser::{SerializeMap, Serializer};
use serde::{Deserialize, Serialize};

use super::{Figures, Outcome, Spent, Status};

/// Sums over many outcomes. Adding is associative, so that threads may fold in any grouping.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Totals {
    /// All inputs.
    pub files: u64,
    /// Of these, compacted.
    pub compacted: u64,
    /// Of these, unchanged.
    pub unchanged: u64,
    /// Of these, failed.
    pub failed: u64,
    /// Of these, unsupported.
    pub unsupported: u64,
    /// Of these, skipped.
    pub skipped: u64,
    /// Of these, rejected.
    pub rejected: u64,
    /// Of all, those for which something that was requested failed.
    pub degraded: u64,
    /// Bytes of the inputs that were read, unpacked.
    pub bytes_before: u64,
    /// Bytes of their results, unpacked.
    pub bytes_after: u64,
    /// Compressed inputs that were read.
    pub compressed: u64,
    /// Bytes of the inputs that were read, as they are stored.
    pub stored_before: u64,
    /// Bytes of their results, as they are stored.
    pub stored_after: u64,
    /// Live messages before.
    pub messages_before: u64,
    /// Live messages after.
    pub messages_after: u64,
    /// Live tokens before.
    pub tokens_before: u64,
    /// Live tokens after.
    pub tokens_after: u64,
    /// What requests for summaries cost, if a server was asked.
    pub spent: Option<Spent>,
    /// What an interrupted run did not process: the only figure that no outcome holds.
    pub interrupted: Option<Interrupted>,
}

/// What an interrupted run did not process.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Interrupted {
    /// The number of inputs left for the next run; 0 if unknown, as for a stream.
    pub left: u64,
}

impl Totals {
    /// The sums over `outcomes`.
    pub fn of(outcomes: &[Outcome]) -> Self {
        let mut totals = Totals::default();
        for outcome in outcomes {
            totals += outcome;
        }
        totals
    }

    /// Tokens that were removed from the live windows.
    pub fn tokens_saved(&self) -> u64 {
        self.tokens_before.saturating_sub(self.tokens_after)
    }

    /// Tokens after / before, to 4 decimals.
    pub fn ratio(&self) -> f64 {
        ratio(self.tokens_before, self.tokens_after)
    }
}

impl AddAssign<&Outcome> for Totals {
    fn add_assign(&mut self, outcome: &Outcome) {
        *self += Figures::of(outcome);
    }
}

impl AddAssign<Figures> for Totals {
    fn add_assign(&mut self, figures: Figures) {
        self.files += 1;
        *match figures.status {
            Status::Compacted => &mut self.compacted,
            Status::Unchanged => &mut self.unchanged,
            Status::Rejected => &mut self.rejected,
            Status::Failed => &mut self.failed,
            Status::Unsupported => &mut self.unsupported,
            Status::Skipped => &mut self.skipped,
        } += 1;
        self.degraded += u64::from(figures.is_degraded());
        self.bytes_before += figures.bytes_before;
        self.bytes_after += figures.bytes_after;
        self.compressed += u64::from(figures.stored_before.is_some());
        self.stored_before += figures.stored_before.unwrap_or(figures.bytes_before);
        self.stored_after += figures.stored_after.unwrap_or(figures.bytes_after);
        self.messages_before += figures.messages_before;
        self.messages_after += figures.messages_after;
        self.tokens_before += figures.tokens_before;
        self.tokens_after += figures.tokens_after;
        if let Some(spent) = figures.spent {
            *self.spent.get_or_insert_default() += spent;
        }
    }
}

impl AddAssign for Totals {
    fn add_assign(&mut self, other: Totals) {
        self.files += other.files;
        self.compacted += other.compacted;
        self.unchanged += other.unchanged;
        self.failed += other.failed;
        self.unsupported += other.unsupported;
        self.skipped += other.skipped;
        self.rejected += other.rejected;
        self.degraded += other.degraded;
        self.bytes_before += other.bytes_before;
        self.bytes_after += other.bytes_after;
        self.compressed += other.compressed;
        self.stored_before += other.stored_before;
        self.stored_after += other.stored_after;
        self.messages_before += other.messages_before;
        self.messages_after += other.messages_after;
        self.tokens_before += other.tokens_before;
        self.tokens_after += other.tokens_after;
        if let Some(spent) = other.spent {
            *self.spent.get_or_insert_default() += spent;
        }
        if let Some(Interrupted { left }) = other.interrupted {
            let sum = self.interrupted.get_or_insert_default();
            // A report that was read back may contain any number.
            sum.left = sum.left.saturating_add(left);
        }
    }
}

// By hand, because the saving and the ratio are not stored.
impl Serialize for Totals {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("files", &self.files)?;
        map.serialize_entry("compacted", &self.compacted)?;
        map.serialize_entry("unchanged", &self.unchanged)?;
        map.serialize_entry("failed", &self.failed)?;
        map.serialize_entry("unsupported", &self.unsupported)?;
        map.serialize_entry("skipped", &self.skipped)?;
        map.serialize_entry("rejected", &self.rejected)?;
        map.serialize_entry("degraded", &self.degraded)?;
        map.serialize_entry("bytes_before", &self.bytes_before)?;
        map.serialize_entry("bytes_after", &self.bytes_after)?;
        if self.compressed > 0 {
            map.serialize_entry("stored_before", &self.stored_before)?;
            map.serialize_entry("stored_after", &self.stored_after)?;
        }
        map.serialize_entry("messages_before", &self.messages_before)?;
        map.serialize_entry("messages_after", &self.messages_after)?;
        map.serialize_entry("tokens_before", &self.tokens_before)?;
        map.serialize_entry("tokens_after", &self.tokens_after)?;
        map.serialize_entry("tokens_saved", &self.tokens_saved())?;
        map.serialize_entry("ratio", &self.ratio())?;
        if let Some(spent) = &self.spent {
            map.serialize_entry("spent", spent)?;
        }
        if let Some(interrupted) = &self.interrupted {
            map.serialize_entry("interrupted", interrupted)?;
        }
        map.end()
    }
}

/// `after / before` to 4 decimals, rounding halves up; 1 if `before` is 0.
///
/// Computed in integers until the last step, so that all platforms round alike.
pub fn ratio(before: u64, after: u64) -> f64 {
    if before == 0 {
        return 1.0;
    }
    let (before, after) = (u128::from(before), u128::from(after));
    ((after * 20_000 + before) / (before * 2)) as f64 / 10_000.0
}
