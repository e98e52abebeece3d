//! The input as it was read, from which summaries are made.

use std::collections::BTreeMap;

use super::Pipeline;
use super::work::{SummarySource, View};
use crate::apply::apply;
use crate::artifacts::returned;
use crate::policy::{Layer, SummaryWhen};
use crate::transcript::{Conversation, ConversationId, Transcript};

/// The input as it was read, with secrets masked and offloaded results restored.
#[derive(Debug)]
pub(super) struct Original<'a> {
    transcript: Transcript<'a>,
    by_id: BTreeMap<ConversationId, usize>,
}

impl Pipeline<'_> {
    /// What summaries are made from, if not the transcript as it is at the time. Called before the first change: the bytes stay
    /// where they are, and copying what is known of them takes a fraction of the time of reading them again.
    pub(super) fn original<'a>(&self, view: View<'_, 'a, '_>) -> Option<Original<'a>> {
        let summarises =
            self.policy.has(Layer::Summarize) && self.policy.summary.when != SummaryWhen::Never;
        match view.source {
            SummarySource::Input if summarises => {}
            SummarySource::Input | SummarySource::Current => return None,
        }
        let mut transcript = view.transcript.clone();
        let by_id = transcript.conversations.iter().map(|c| c.id.clone());
        let by_id = by_id.zip(0..).collect();
        let offload = &self.policy.offload;
        if self.policy.has(Layer::Offload) && offload.restore_before_summary {
            let returned = returned(&transcript, self.policy, view.input.stored.store);
            apply(view.input.format, &mut transcript, returned);
        }
        Some(Original { transcript, by_id })
    }
}

impl<'a> Original<'a> {
    /// A conversation as it was read; as it is now if the two differ because lines were broken.
    pub(super) fn of<'s>(
        &'s self,
        current: &'s Transcript<'a>,
        number: usize,
    ) -> (&'s Transcript<'a>, &'s Conversation) {
        let now = &current.conversations[number];
        let was = self.by_id.get(&now.id).and_then(|number| {
            let was = &self.transcript.conversations[*number];
            let is_same = was.messages.len() == now.messages.len();
            is_same.then_some((&self.transcript, was))
        });
        was.unwrap_or((current, now))
    }
}
