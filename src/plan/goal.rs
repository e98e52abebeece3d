//! The target of one conversation.
//!
//! PURE. Whether it may be missed for the user's words is said by its kind, and nowhere else.

use crate::outcome::TargetOutcome;
use crate::policy::{Target, TargetKind};

/// How many live tokens a conversation is to have afterwards.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Goal {
    /// The tokens that were asked for.
    pub tokens: u64,
    /// What may be given up for it.
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

    /// The live tokens of the whole conversation that reach it: nothing can save those of system messages, and they count
    /// only against a cap.
    pub fn cap(&self) -> u64 {
        self.tokens + self.beside()
    }

    /// What a result of `total` live tokens means for it.
    pub fn outcome(&self, total: u64) -> TargetOutcome {
        let target = TargetOutcome::new(self.tokens, total);
        target.of_kind(self.kind, self.beside()).after(total)
    }

    fn beside(&self) -> u64 {
        match self.kind {
            TargetKind::Aim => self.system,
            TargetKind::Cap => 0,
        }
    }

    /// The live tokens without those of system messages, where they alone are held against it.
    pub fn content(&self, total: u64) -> Option<u64> {
        let is_aim = self.kind == TargetKind::Aim;
        is_aim.then(|| total.saturating_sub(self.system))
    }
}
