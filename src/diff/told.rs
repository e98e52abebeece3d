//! The reasons in a record of the run, looked up for messages and their parts.
//!
//! A record adds reasons, and never decides: where it does not fit the bytes, it is not used.

use crate::outcome::{Action, ActionKind, ConversationOutcome};

use super::Fate;

/// What a record says of a conversation.
#[derive(Debug)]
pub(super) struct Told<'t> {
    outcome: Option<&'t ConversationOutcome>,
    /// The actions that no part has claimed yet.
    open: Vec<&'t Action>,
}

impl<'t> Told<'t> {
    /// What is said of the conversation of this id.
    pub(super) fn of(told: &'t [ConversationOutcome], id: &str) -> Self {
        let outcome = told.iter().find(|outcome| outcome.id == id);
        Told {
            outcome,
            open: outcome.iter().flat_map(|o| &o.actions).collect(),
        }
    }

    /// What was done to a result, by its message and line in the old file. Each action is claimed once: results that share
    /// a line are in the same order.
    pub(super) fn claim(&mut self, message: u64, line: u64, seen: Fate) -> Option<&'t Action> {
        let is_here = |action: &&Action| {
            action.message == message && action.line == line && fate_of(action.kind).is_some()
        };
        let mut places = self.open.iter();
        let best = places.position(|action| is_here(action) && fate_of(action.kind) == Some(seen));
        let at = best.or_else(|| self.open.iter().position(is_here))?;
        Some(self.open.remove(at))
    }

    /// Why messages were summarised or left out.
    pub(super) fn why_gone(&self, fate: Fate) -> Option<String> {
        let kinds: &[ActionKind] = match fate {
            Fate::Summarised => &[ActionKind::Summarize],
            Fate::Dropped => &[ActionKind::Prune, ActionKind::Drop],
            Fate::Kept
            | Fate::Cleared
            | Fate::Offloaded
            | Fate::Demoted
            | Fate::Edited
            | Fate::Summary
            | Fate::Acknowledgement
            | Fate::Inserted => &[],
        };
        let mut actions = self.outcome.iter().flat_map(|o| &o.actions);
        let action = actions.find(|action| kinds.contains(&action.kind));
        action.map(|action| action.reason.clone())
    }

    /// Whether a summary was written.
    pub(super) fn has_summary(&self) -> bool {
        let actions = self.outcome.iter().flat_map(|o| &o.actions);
        let mut kinds = actions.map(|action| action.kind);
        kinds.any(|kind| kind == ActionKind::Summarize)
    }
}

/// What an action on a result makes of it.
pub(super) fn fate_of(kind: ActionKind) -> Option<Fate> {
    match kind {
        ActionKind::Clear => Some(Fate::Cleared),
        ActionKind::Demote => Some(Fate::Demoted),
        ActionKind::Offload => Some(Fate::Offloaded),
        ActionKind::Drop | ActionKind::Summarize | ActionKind::Restore | ActionKind::Prune => None,
    }
}
