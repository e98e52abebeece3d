//! The target of one conversation.
//!
//! PURE. Whether it may be missed for the user's words depends on its kind alone.

use crate::outcome::TargetOutcome;
use crate::policy::{Target, TargetKind};

/// The most live tokens that a conversation should have afterwards.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Goal {
    /// The tokens that the policy asks for.
    pub tokens: u64,
    /// Whether it may be missed.
    pub kind: TargetKind,
    /// The tokens of system messages.
    system: u64,
}

impl Goal {
    /// The goal of a conversation that had `original` live tokens before anything was compacted, and has `system` in system
    /// messages.
    pub fn of(target: &Target, original: u64, system: u64) -> Option<Goal> {
        let tokens = target.asked(original)?;
        Some(Goal {
            tokens,
            kind: target.kind,
            system,
        })
    }

    /// The most live tokens that the whole conversation may have to reach the goal. Tokens of system messages cannot be saved; they
    /// count against a cap, not against an aim.
    pub fn cap(&self) -> u64 {
        self.tokens + self.allowance()
    }

    /// Whether a result of `total` live tokens reaches the goal.
    pub fn outcome(&self, total: u64) -> TargetOutcome {
        let target = TargetOutcome::new(self.tokens, total);
        target.of_kind(self.kind, self.allowance()).after(total)
    }

    /// The tokens that do not count towards the goal.
    fn allowance(&self) -> u64 {
        match self.kind {
            TargetKind::Aim => self.system,
            TargetKind::Cap => 0,
        }
    }

    /// The live tokens that count against an aim: all but those of system messages. `None` for a cap.
    pub fn content(&self, total: u64) -> Option<u64> {
        let is_aim = self.kind == TargetKind::Aim;
        is_aim.then(|| total.saturating_sub(self.system))
    }
}
