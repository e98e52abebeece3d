//! Planned summaries as data: which conversation, where it is cut, why, and what is requested of a model.
//!
//! PURE. The text of a summary, and whether it is worth it, is decided in `settle`.

use std::cell::OnceCell;

use super::{Cut, Cutter, Goal};
use crate::facts::{Activity, Asked, Earlier};
use crate::format::Summaries;
use crate::ids::IdSet;
use crate::outcome::TargetOutcome;
use crate::plan::Force;
use crate::policy::Policy;
use crate::summarizer::extractive::Weights;
use crate::tokens::{Estimator, Size};
use crate::transcript::{Conversation, ConversationId, Role, Transcript};

/// The decision on one conversation that the summary layer considered.
#[derive(Debug)]
pub struct SummaryPlan<'t> {
    /// The conversation's id before it is summarised.
    pub id: ConversationId,
    /// The line (from 0) and the number (from 0) of the first message that a summary could replace.
    pub first: (u32, usize),
    /// Whether it is summarised.
    pub decision: Decision<'t>,
}

/// Whether a conversation is summarised, and why.
#[derive(Debug)]
pub enum Decision<'t> {
    /// A summary is to replace the messages before the cut.
    Summarise {
        /// The conversation, with all that is known of it.
        subject: Box<Subject<'t>>,
        /// The policy's cut.
        cut: Cut,
        /// Why.
        why: String,
        /// The request to a model or a scripted summariser; `None` for the built-in one.
        request: Option<SummaryRequest>,
    },
    /// The conversation is left as it is.
    Leave {
        /// Why.
        why: String,
        /// Whether the target is reached, if there is one.
        target: Option<TargetOutcome>,
    },
}

/// A summary to be written by a model or taken from scripted answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SummaryRequest {
    /// It covers the messages before this one, from 0.
    pub first_kept: usize,
    /// The most tokens that it may have.
    pub tokens: u64,
}

/// A conversation that may be summarised.
#[derive(Debug)]
pub struct Subject<'t> {
    /// Its number in the transcript as it is now.
    pub number: usize,
    /// The input, with nothing cleared and offloaded results restored: what the built-in summary is made from.
    pub transcript: &'t Transcript<'t>,
    /// The conversation in that transcript.
    pub conversation: &'t Conversation,
    /// What the agent did in it, computed on first use.
    pub acts: OnceCell<Activity>,
    /// The transcript as it is now.
    pub current: &'t Transcript<'t>,
    /// Finds the cut, and knows which messages earlier compactions have written.
    pub cutter: Cutter<'t>,
    /// Recognises messages written by earlier compactions.
    pub earlier: &'t Earlier,
    /// The number (from 1) of the transcript's first line in its file.
    pub first_line: u64,
    /// The sizes of the messages as they are now.
    pub sizes: Vec<Size>,
    /// The live tokens of the input.
    pub before: u64,
    /// The most live tokens that it should have afterwards.
    pub goal: Option<Goal>,
    /// The live tokens before the first compaction, if the goal is a share of them.
    pub original: Option<u64>,
    /// The results that a layer has replaced, by their blocks in the input.
    pub replaced: &'t IdSet<u32>,
    /// How the format writes summaries.
    pub summaries: Summaries,
    /// How tokens are counted.
    pub estimator: &'t Estimator,
    /// What the summary must keep, from the policy and from the agent that asked for it; "" = nothing special.
    pub instructions: String,
    /// The name of the original in the store, for templates that use it.
    pub archive: &'t str,
    /// The policy.
    pub policy: &'t Policy,
    /// What the units of the built-in summary are worth.
    pub weights: &'t Weights,
}

impl Subject<'_> {
    /// What the agent did.
    pub fn acts(&self) -> &Activity {
        let tools = &self.policy.tools;
        let found = || Activity::of(self.transcript, self.conversation, tools);
        self.acts.get_or_init(found)
    }

    /// The live tokens now.
    pub fn total(&self) -> u64 {
        self.estimator.total(self.sizes.iter().copied())
    }

    /// The tokens of each message; 0 for system messages, which cuts do not affect.
    pub fn tokens(&self) -> Vec<u64> {
        let tokens = |(n, size): (usize, &Size)| match self.is_system(n) {
            true => 0,
            false => self.estimator.tokens(*size),
        };
        self.sizes.iter().enumerate().map(tokens).collect()
    }

    /// The tokens of system messages.
    pub fn system(&self) -> u64 {
        let sizes = self.sizes.iter().enumerate();
        sizes
            .filter(|(n, _)| self.is_system(*n))
            .map(|(_, size)| self.estimator.tokens(*size))
            .sum()
    }

    /// The tokens of the messages before a cut, without system messages.
    pub fn span(&self, cut: Cut) -> u64 {
        self.tokens()[..cut.first_kept].iter().sum()
    }

    /// Whether it is a system message.
    pub fn is_system(&self, number: usize) -> bool {
        self.conversation.messages[number].role == Role::System
    }

    /// The conversation as it is now.
    pub fn current_conversation(&self) -> &Conversation {
        &self.current.conversations[self.number]
    }
}

/// The instructions of the policy and of the agent that asked for a summary.
pub fn instructions(own: &str, force: &Force) -> String {
    match force {
        Force::Asked(Asked { focus, .. }) if own.is_empty() => focus.clone(),
        Force::Asked(Asked { focus, .. }) if !focus.is_empty() => format!("{own}\n{focus}"),
        Force::Asked(_) | Force::No | Force::Broke(_) | Force::Outside(_) => own.to_owned(),
    }
}
