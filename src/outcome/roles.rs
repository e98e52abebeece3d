//! The tokens of a conversation by role; they add up to the conversation's totals before and after.
//!
//! Does not count tokens itself: `tokens` does.

use serde::{Deserialize, Serialize};

use crate::tokens::{Voice, Voices};

/// The tokens of one role in a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RoleOutcome {
    /// The role, as in `stats`.
    pub role: Voice,
    /// Tokens before.
    pub tokens_before: u64,
    /// Tokens after.
    pub tokens_after: u64,
}

impl RoleOutcome {
    /// The roles of a conversation that is left as it is.
    pub(super) fn unchanged(voices: &Voices) -> Vec<Self> {
        RoleOutcome::all(|voice| [voices.of(voice); 2])
    }

    /// The roles of a conversation that now has these tokens.
    pub(super) fn become_of(roles: &[Self], voices: &Voices) -> Vec<Self> {
        let before = |voice| {
            let of = roles.iter().find(|one| one.role == voice);
            of.map_or(0, |one| one.tokens_before)
        };
        RoleOutcome::all(|voice| [before(voice), voices.of(voice)])
    }

    /// The roles of a conversation that was left alone.
    pub(super) fn left_alone(roles: Vec<Self>) -> Vec<Self> {
        let before = roles.into_iter().map(|role| RoleOutcome {
            tokens_after: role.tokens_before,
            ..role
        });
        before.filter(RoleOutcome::has_any).collect()
    }

    /// The roles with any tokens; `of` returns a role's tokens before and after.
    fn all(of: impl Fn(Voice) -> [u64; 2]) -> Vec<Self> {
        let each = Voice::ALL.into_iter().map(|role| {
            let [tokens_before, tokens_after] = of(role);
            RoleOutcome {
                role,
                tokens_before,
                tokens_after,
            }
        });
        each.filter(RoleOutcome::has_any).collect()
    }

    fn has_any(&self) -> bool {
        self.tokens_before + self.tokens_after > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sizes(roles: &[RoleOutcome]) -> Vec<(&'static str, u64, u64)> {
        let roles = roles.iter();
        roles
            .map(|one| (one.role.name(), one.tokens_before, one.tokens_after))
            .collect()
    }

    #[test]
    fn each_role_with_tokens_before_or_after_is_there() {
        let (mut before, mut after) = (Voices::default(), Voices::default());
        before += (Voice::ToolResult, 900);
        before += (Voice::User, 10);
        after += (Voice::User, 70);
        after += (Voice::Assistant, 5);
        let unchanged = RoleOutcome::unchanged(&before);
        assert_eq!(
            sizes(&unchanged),
            [("user", 10, 10), ("tool_result", 900, 900)]
        );
        let changed = RoleOutcome::become_of(&unchanged, &after);
        assert_eq!(
            sizes(&changed),
            [
                ("user", 10, 70),
                ("assistant", 0, 5),
                ("tool_result", 900, 0)
            ]
        );
        assert_eq!(RoleOutcome::left_alone(changed), unchanged);
    }
}
