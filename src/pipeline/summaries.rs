//! The outcomes of summarising, one for each conversation.

use super::Rejected;
use crate::outcome::{
    Action, ActionKind, ConversationOutcome, Degraded, DegradedKind, NOT_SUMMARISED, Rejection,
    TargetOutcome, Warning,
};
use crate::plan::SummaryPlan;
use crate::settle::{
    ConversationSettlement, KeptMessages, Placement, Summarised, SummaryResult, Tried,
};
use crate::text::count;
use crate::transcript::{Conversation, ConversationId};

/// The outcome of summarising one conversation.
#[derive(Debug)]
pub(super) struct ConversationResult {
    /// The conversation's id in the input.
    pub(super) id: ConversationId,
    /// The conversation's id in the result.
    pub(super) id_after: String,
    /// The line (from 0) and the number (from 0) of the first message that a summary replaces.
    pub(super) first: (u32, usize),
    /// Why it was summarised, or why not.
    pub(super) why: String,
    /// The summary, or why there is none.
    pub(super) summary: SummaryResult,
}

/// The outcomes of summarising a transcript.
#[derive(Debug, Default)]
pub(super) struct RoundSummaries {
    /// The conversations that were considered.
    pub(super) conversations: Vec<ConversationResult>,
    /// Warnings about the summaries.
    pub(super) warnings: Vec<Warning>,
    /// The summaries that were requested and failed.
    pub(super) degraded: Vec<Degraded>,
    /// Why the result is rejected, if it is.
    pub(super) rejected: Option<Rejected>,
}

/// A conversation after its summary was placed in it.
#[derive(Debug)]
pub(super) struct Placed {
    pub(super) result: ConversationResult,
    /// Where the summary was placed.
    pub(super) placement: Placement,
}

impl RoundSummaries {
    /// Adds the outcome of a planned summary, or returns it if the summary was placed: then there is more to do.
    pub(super) fn add(
        &mut self,
        planned: &SummaryPlan<'_>,
        settlement: ConversationSettlement,
    ) -> Option<Placed> {
        self.warnings.extend(settlement.warnings);
        self.degraded.extend(settlement.degraded);
        let result = ConversationResult {
            id: planned.id.clone(),
            id_after: planned.id.to_string(),
            first: planned.first,
            why: settlement.why,
            summary: settlement.result,
        };
        match settlement.placement {
            Some(placement) => Some(Placed { result, placement }),
            None => {
                self.conversations.push(result);
                None
            }
        }
    }

    /// Whether a summary is requested in a batch and not there yet.
    pub(super) fn is_to_come(&self) -> bool {
        let mut degraded = self.degraded.iter();
        degraded.any(|one| one.kind == DegradedKind::SummaryPending)
    }

    /// The summaries that were written, with their conversations.
    pub(super) fn summaries(&self) -> impl Iterator<Item = (&ConversationResult, &Summarised)> {
        let results = self.conversations.iter();
        results.filter_map(|result| Some((result, result.summarised()?)))
    }
}

impl ConversationResult {
    /// The summary, if one was written.
    pub(super) fn summarised(&self) -> Option<&Summarised> {
        match &self.summary {
            SummaryResult::Summarised(summarised) => Some(summarised),
            SummaryResult::Unchanged { .. } => None,
        }
    }

    /// The target of a conversation whose summary is written or not needed.
    pub(super) fn target(&mut self) -> Option<&mut TargetOutcome> {
        match &mut self.summary {
            SummaryResult::Summarised(summarised) => summarised.target.as_mut(),
            SummaryResult::Unchanged { tried, target, .. } => match tried {
                Tried::No | Tried::Empty(_) => target.as_mut(),
                Tried::Failed(_) => None,
            },
        }
    }

    /// Adds this result to the conversation's outcome.
    pub(super) fn report(&self, first_line: u64, outcome: &mut ConversationOutcome) {
        let summarised = match &self.summary {
            SummaryResult::Unchanged { tried, target, .. } => {
                outcome.summary = tried.outcome().cloned();
                outcome.target = *target;
                return;
            }
            SummaryResult::Summarised(summarised) => summarised,
        };
        let action = |kind, reason: &str, tokens_before, tokens_after| Action {
            kind,
            line: u64::from(self.first.0) + first_line,
            message: self.first.1 as u64 + 1,
            tool: None,
            reason: reason.to_owned(),
            tokens_before,
            tokens_after,
        };
        let (kind, tokens) = match &summarised.message {
            Some(message) => (ActionKind::Summarize, message.tokens),
            None => (ActionKind::Prune, 0),
        };
        let made = action(kind, &self.why, summarised.replaced, tokens);
        outcome.actions.push(made);
        let restored = summarised.restored.iter();
        let restored = restored.map(|file| action(ActionKind::Restore, &file.path, 0, file.tokens));
        outcome.actions.extend(restored);
        outcome.summary = Some(summarised.outcome.clone());
        outcome.restored.clone_from(&summarised.restored);
        outcome.target = summarised.target;
    }

    /// This result in words, for the report.
    pub(super) fn in_words(&self) -> String {
        match &self.summary {
            SummaryResult::Summarised(summarised) => {
                let messages = count(summarised.outcome.messages, "message");
                let what = match (&summarised.message, summarised.kept) {
                    (Some(_), _) => "summarised",
                    (None, KeptMessages::Whole) => "left out, as a summary would be too large",
                    (None, KeptMessages::Pruned) => "left out, as no summary could be written",
                };
                format!("{messages} {what}: {}", self.why)
            }
            SummaryResult::Unchanged { .. } => format!("{NOT_SUMMARISED}{}", self.why),
        }
    }
}

impl Placed {
    /// Rejects a result in which kept messages are missing. An agent that meets a broken link silently loses what is before it,
    /// and so does our reader.
    pub(super) fn check(&self, found: Option<&Conversation>) -> Option<Rejected> {
        let place = &self.placement;
        let messages = found.map_or(0, |conversation| conversation.messages.len());
        (messages != place.messages).then(|| Rejected {
            why: Rejection::LostMessages,
            message: format!(
                "the result would have {messages} instead of {} in conversation {}",
                count(place.messages as u64, "message"),
                self.result.id
            ),
            line: None,
        })
    }
}
