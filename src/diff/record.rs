//! A record of the run, looked up for conversations, messages and their parts.
//!
//! A record adds reasons. If the bytes leave it open, it also says what happened: which text is a summary, which action made an
//! edit, which conversation was removed. A record that does not match the bytes is not used.

use std::collections::VecDeque;

use crate::ids::IdMap;
use crate::outcome::{Action, ActionKind, ConversationOutcome};

use super::Fate;

/// The records of the conversations of a file.
#[derive(Debug)]
pub(super) struct Records<'t>(IdMap<&'t str, &'t ConversationOutcome>);

impl<'t> Records<'t> {
    pub(super) fn new(outcomes: &'t [ConversationOutcome]) -> Self {
        let mut by_id = IdMap::default();
        for outcome in outcomes {
            by_id.entry(outcome.id.as_str()).or_insert(outcome);
        }
        Records(by_id)
    }

    /// Whether the conversation with this id was removed as a whole.
    pub(super) fn is_gone(&self, id: &str) -> bool {
        let outcome = self.0.get(id);
        outcome.is_some_and(|outcome| outcome.messages_after == 0)
    }

    /// The recorded actions of the conversation with this id.
    pub(super) fn of(&self, id: &str) -> RecordedActions<'t> {
        let mut actions = RecordedActions::default();
        for action in self
            .0
            .get(id)
            .into_iter()
            .flat_map(|outcome| &outcome.actions)
        {
            match action.kind {
                ActionKind::Clear | ActionKind::Demote | ActionKind::Offload => {
                    let place = (action.message, action.line);
                    actions.open.entry(place).or_default().push_back(action);
                }
                ActionKind::Summarize => actions.summarised = actions.summarised.or(Some(action)),
                ActionKind::Prune | ActionKind::Drop => {
                    actions.dropped = actions.dropped.or(Some(action))
                }
                ActionKind::Redact | ActionKind::Restore => {}
            }
        }
        actions
    }
}

/// The recorded actions of a conversation.
#[derive(Debug, Default)]
pub(super) struct RecordedActions<'t> {
    /// The actions on results that no part has claimed yet, by message and line.
    open: IdMap<(u64, u64), VecDeque<&'t Action>>,
    /// The first action of each kind that makes messages leave.
    summarised: Option<&'t Action>,
    dropped: Option<&'t Action>,
}

impl<'t> RecordedActions<'t> {
    /// What was done to a result, by its message and line in the old file. Each action is claimed once: results that share
    /// a line are in the same order.
    pub(super) fn claim(&mut self, message: u64, line: u64, seen: Fate) -> Option<&'t Action> {
        let here = self.open.get_mut(&(message, line))?;
        let best = here
            .iter()
            .position(|action| fate_of(action.kind) == Some(seen));
        here.remove(best.unwrap_or_default())
    }

    /// Why messages were summarised or left out.
    pub(super) fn why_gone(&self, fate: Fate) -> Option<String> {
        let action = match fate {
            Fate::Summarised => self.summarised,
            Fate::Dropped => self.dropped,
            Fate::Kept
            | Fate::Cleared
            | Fate::Offloaded
            | Fate::Demoted
            | Fate::Edited
            | Fate::Summary
            | Fate::Acknowledgement
            | Fate::Inserted => None,
        };
        action.map(|action| action.reason.clone())
    }

    /// Whether a summary was written.
    pub(super) fn has_summary(&self) -> bool {
        self.summarised.is_some()
    }
}

/// What an action makes of a result.
pub(super) fn fate_of(kind: ActionKind) -> Option<Fate> {
    match kind {
        ActionKind::Clear => Some(Fate::Cleared),
        ActionKind::Demote => Some(Fate::Demoted),
        ActionKind::Offload => Some(Fate::Offloaded),
        ActionKind::Redact
        | ActionKind::Drop
        | ActionKind::Summarize
        | ActionKind::Restore
        | ActionKind::Prune => None,
    }
}
