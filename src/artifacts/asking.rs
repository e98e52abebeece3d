//! What a summary is asked for: which rounds of a conversation, for which model, in how many tokens.
//!
//! Sends nothing. Reads the store, for contents that earlier runs have moved there.

use std::ops::Range;

use super::Context;
use super::answer::Answer;
use super::offloaded::stored_contents;
use crate::ids::IdMap;
use crate::plan::{Subject, SummaryRequest};
use crate::policy::{Layer, Policy, Reads};
use crate::summarizer::evidence::Evidence;
use crate::summarizer::gate::Given;
use crate::summarizer::prompt::prompt;
use crate::summarizer::reading::{record, rounds};
use crate::transcript::{Conversation, Transcript};

/// The smallest summary that is requested, in tokens: fewer are no use.
const SMALLEST: u64 = 64;

/// The tokens for the prompt, beside the conversation.
const PROMPT: u64 = 2_000;

/// Divisor: this fraction of a window stays free, since tokens are estimated.
const MARGIN: u64 = 10;

/// The tokens that a conversation may have in the model's window beside an answer of `max_tokens`; a window of 0 means unknown.
fn room(policy: &Policy, window: u64, max_tokens: u64) -> u64 {
    let window = match window {
        0 => policy.window.context,
        known => known,
    };
    (window - window / MARGIN).saturating_sub(max_tokens + PROMPT)
}

/// A summary that is asked for.
pub(super) struct Asking<'a> {
    policy: &'a Policy,
    pub(super) context: Context<'a>,
    pub(super) subject: &'a Subject<'a>,
    instructions: &'a str,
    request: SummaryRequest,
    /// What earlier runs have moved to the store, of the conversation, if the model is to see it.
    stored: IdMap<u32, String>,
}

impl<'a> Asking<'a> {
    pub(super) fn new(
        policy: &'a Policy,
        context: Context<'a>,
        subject: &'a Subject<'a>,
        instructions: &'a str,
        request: SummaryRequest,
    ) -> Self {
        let (transcript, conversation) = (subject.transcript, subject.conversation);
        let stored = match policy.summary.gives_evidence() {
            true => stored_contents(transcript, conversation, policy, context.store),
            false => IdMap::default(),
        };
        Asking {
            policy,
            context,
            subject,
            instructions,
            request,
            stored,
        }
    }

    /// The size of the summary, in tokens.
    pub(super) fn size(&self) -> u64 {
        self.request.tokens.max(SMALLEST)
    }

    /// The prompt for a summary of `size` tokens.
    pub(super) fn prompt(&self, size: u64) -> String {
        prompt(self.policy, size, self.instructions)
    }

    /// The conversation that the model reads: as it was, or as the free layers have left it.
    fn read(&self) -> (&'a Transcript<'a>, &'a Conversation) {
        let (policy, subject) = (self.policy, self.subject);
        match policy.has(Layer::Offload) && policy.offload.restore_before_summary {
            true => (subject.transcript, subject.conversation),
            false => (subject.current, subject.current_conversation()),
        }
    }

    /// The messages that the model reads.
    fn span(&self) -> Range<usize> {
        match self.policy.summary.reads {
            Reads::Replaced => 0..self.request.first_kept,
            Reads::All => 0..self.read().1.messages.len(),
        }
    }

    /// The model that is to answer; "" if that is not known.
    pub(super) fn model(&self) -> String {
        let (transcript, conversation) = self.read();
        match self.policy.summary.model.as_str() {
            "" => {
                let recorded = self.context.format.model(transcript, conversation);
                recorded.unwrap_or_default()
            }
            named => named.to_owned(),
        }
    }

    /// The model's context window, in tokens; 0 if it is not known.
    pub(super) fn window(&self) -> u64 {
        let summary = &self.policy.summary;
        match (summary.window, summary.model.as_str()) {
            // The window recorded in the session is that of the session's own model.
            (0, "") => {
                let (transcript, conversation) = self.read();
                let format = self.context.format;
                let recorded = format.context_window(transcript, conversation);
                recorded.unwrap_or_default()
            }
            (known, _) => known,
        }
    }

    /// The rounds that a model with such a window reads.
    pub(super) fn rounds(&self, window: u64) -> Vec<String> {
        let summary = &self.policy.summary;
        let max_tokens = (self.size() as f64 * summary.output_factor).ceil() as u64;
        match summary.gives_evidence() {
            true => {
                let room = room(self.policy, window, max_tokens);
                self.evidence().rounds(self.span(), room)
            }
            false => {
                let (transcript, conversation) = self.read();
                rounds(self.policy, transcript, conversation, self.span())
            }
        }
    }

    /// What the summary may name. Names that occur in an output that has been cleared, or in a message that is kept, are not
    /// invented.
    pub(super) fn given(&self) -> Given {
        let record = record(
            self.policy,
            self.subject.transcript,
            self.subject.conversation,
        );
        let stored = self.stored.values();
        let texts = record.iter().chain(stored).map(String::as_str);
        Given::new(texts.chain([self.instructions]))
    }

    /// An answer with its citations checked, if it is to have some.
    pub(super) fn cited(&self, answer: Answer) -> Answer {
        match self.policy.summary.gives_evidence() {
            true => answer.cited(&self.evidence().lines()),
            false => answer,
        }
    }

    fn evidence(&self) -> Evidence<'_, 'a> {
        Evidence {
            transcript: self.subject.transcript,
            conversation: self.subject.conversation,
            origins: self.subject.cutter.origins(),
            earlier: self.subject.earlier,
            first_line: self.subject.first_line,
            stored: &self.stored,
            policy: self.policy,
            estimator: self.subject.estimator,
        }
    }
}
