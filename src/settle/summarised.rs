//! The result of composing a summary, as the next steps and the report need it.
//!
//! PURE. Decides nothing.

use crate::outcome::{Restored, SummaryOutcome, TargetOutcome};
use crate::transcript::{Conversation, Role};

/// The result of composing a summary.
#[derive(Debug)]
pub enum SummaryResult {
    /// The messages before the cut are replaced.
    Summarised(Box<Summarised>),
    /// The conversation stays as it is.
    Unchanged {
        /// Why.
        why: String,
        /// The attempt, if there was one.
        tried: Tried,
        /// Whether the target is reached, if there is one.
        target: Option<TargetOutcome>,
    },
}

/// An attempt at a summary that led to none.
#[derive(Debug)]
pub enum Tried {
    /// No summary was attempted.
    No,
    /// A model or a scripted summariser was asked and failed.
    Failed(Box<SummaryOutcome>),
    /// The built-in summary would say nothing.
    Empty(Box<SummaryOutcome>),
}

impl Tried {
    /// For the report.
    pub fn outcome(&self) -> Option<&SummaryOutcome> {
        match self {
            Tried::No => None,
            Tried::Failed(outcome) | Tried::Empty(outcome) => Some(outcome),
        }
    }
}

/// What replaces old messages: a summary, or nothing.
#[derive(Debug)]
pub struct Summarised {
    /// The first message that stays, from 0; the number of messages if none stays.
    pub first_kept: usize,
    /// The message that replaces the others; `None` if they are only removed.
    pub message: Option<SummaryMessage>,
    /// Whether the kept messages are pruned.
    pub kept: KeptMessages,
    /// The tokens of the messages that are removed.
    pub replaced: u64,
    /// The live tokens before the summary, after the free layers.
    pub now: u64,
    /// The live tokens that the result must stay below: `now`, or those of the input.
    pub baseline: u64,
    /// The live tokens of the result.
    pub total: u64,
    /// For the report.
    pub outcome: SummaryOutcome,
    /// The lines (from 0) of typed messages that are not kept word for word, and why.
    pub lost: (Vec<u32>, LossReason),
    /// The lines (from 0) of pictures and documents that were removed with typed messages.
    pub pictures: Vec<u32>,
    /// The restored files.
    pub restored: Vec<Restored>,
    /// The target, if there is one.
    pub target: Option<TargetOutcome>,
}

impl Summarised {
    /// The number of messages that the conversation has afterwards.
    pub(super) fn messages_after(&self, conversation: &Conversation) -> usize {
        let messages = conversation.messages.iter().take(self.first_kept);
        let system = messages.filter(|message| message.role == Role::System);
        let new = match &self.message {
            Some(message) if message.acknowledgement.is_empty() => 1,
            Some(_) => 2,
            None => 0,
        };
        system.count() + new + conversation.messages.len() - self.first_kept
    }
}

/// A summary as a message, and the answer to it.
#[derive(Debug)]
pub struct SummaryMessage {
    /// The text of the message.
    pub text: String,
    /// Its role.
    pub role: Role,
    /// The text of the answer; "" = none.
    pub acknowledgement: String,
    /// The tokens of the message and of the answer.
    pub tokens: u64,
}

/// Why typed messages are not kept word for word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LossReason {
    /// They are longer than `summary.user_message_max`.
    TooLong,
    /// The target leaves no room for them.
    Target,
    /// `summary.user_words` does not ask for it.
    Policy,
    /// Messages are dropped, and no summary stands in their place.
    NoSummary,
}

/// Whether kept messages are pruned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeptMessages {
    /// They stay as they are.
    Whole,
    /// Reasoning, calls and results are removed from all but the last answer.
    Pruned,
}
