//! What came of summarising, conversation by conversation.

use super::Rejected;
use crate::outcome::{Action, ActionKind, ConversationOutcome, Degraded, Warning};
use crate::settle::{Kept, Settled, Summarised};
use crate::text::count;
use crate::transcript::ConversationId;

/// What came of summarising, for one conversation.
#[derive(Debug)]
pub(super) struct Told {
    /// The conversation in the input.
    pub(super) id: ConversationId,
    /// The same conversation in the result.
    pub(super) id_after: String,
    /// The line (from 0) and the number (from 0) of the first message that a summary replaces.
    pub(super) first: (u32, usize),
    /// Why it was summarised; why not, where it was not.
    pub(super) why: String,
    /// What came of it.
    pub(super) settled: Settled,
}

/// What came of summarising a transcript.
#[derive(Debug, Default)]
pub(super) struct Telling {
    /// The conversations that were looked at.
    pub(super) told: Vec<Told>,
    /// The user's words that no longer stand as they were written.
    pub(super) warnings: Vec<Warning>,
    /// The summaries that were asked for and could not be had.
    pub(super) degraded: Vec<Degraded>,
    /// Why the result cannot stand, if it cannot.
    pub(super) rejected: Option<Rejected>,
}

impl Telling {
    /// The summaries that were made, with the conversations that they were made of.
    pub(super) fn summaries(&self) -> impl Iterator<Item = (&Told, &Summarised)> {
        self.told.iter().filter_map(|told| match &told.settled {
            Settled::Summarised(summarised) => Some((told, summarised.as_ref())),
            Settled::Stays { .. } => None,
        })
    }
}

impl Told {
    /// A conversation that is a request of the agent to itself.
    pub(super) fn left_alone(id: &ConversationId) -> Self {
        let why = "a request of the agent to itself".to_owned();
        Told {
            id: id.clone(),
            id_after: id.to_string(),
            first: (0, 0),
            why: why.clone(),
            settled: Settled::Stays {
                why,
                tried: None,
                target: None,
            },
        }
    }

    /// Puts what came of it into the conversation's outcome.
    pub(super) fn report(&self, first_line: u64, outcome: &mut ConversationOutcome) {
        match &self.settled {
            Settled::Stays { tried, target, .. } => {
                outcome.summary = tried.as_deref().cloned();
                outcome.target = *target;
            }
            Settled::Summarised(summarised) => {
                let says = summarised.says.as_ref();
                let action = Action {
                    kind: if says.is_some() {
                        ActionKind::Summarize
                    } else {
                        ActionKind::Prune
                    },
                    line: u64::from(self.first.0) + first_line,
                    message: self.first.1 as u64 + 1,
                    tool: None,
                    reason: self.why.clone(),
                    tokens_before: summarised.replaced,
                    tokens_after: says.map_or(0, |says| says.tokens),
                };
                outcome.actions.push(action);
                let restored = summarised.restored.iter().map(|restored| Action {
                    kind: ActionKind::Restore,
                    line: u64::from(self.first.0) + first_line,
                    message: self.first.1 as u64 + 1,
                    tool: None,
                    reason: restored.path.clone(),
                    tokens_before: 0,
                    tokens_after: restored.tokens,
                });
                outcome.actions.extend(restored);
                outcome.summary = Some(summarised.outcome.clone());
                outcome.restored.clone_from(&summarised.restored);
                outcome.target = summarised.target;
            }
        }
    }

    /// What came of it, for people.
    pub(super) fn in_words(&self) -> String {
        match &self.settled {
            Settled::Summarised(summarised) => {
                let messages = count(summarised.outcome.messages, "message");
                let what = match (&summarised.says, summarised.kept) {
                    (Some(_), _) => "summarised",
                    (None, Kept::Whole) => "left out, as a summary would be too large",
                    (None, Kept::Pruned) => "left out, as no summary could be had",
                };
                format!("{messages} {what}: {}", self.why)
            }
            Settled::Stays { .. } => format!("not summarised: {}", self.why),
        }
    }
}
