//! The input as it was read: what summaries are made from.

use std::collections::BTreeMap;

use super::work::{SummarySource, View};
use super::{Input, Pipeline};
use crate::apply::apply;
use crate::artifacts::returned;
use crate::format::Warnings;
use crate::policy::Layer;
use crate::transcript::{Conversation, ConversationId, Transcript};

/// The input as it was read, with secrets masked and offloaded results restored.
#[derive(Debug)]
pub(super) struct Original<'a> {
    transcript: Transcript<'a>,
    by_id: BTreeMap<ConversationId, usize>,
}

impl Pipeline<'_> {
    /// What summaries are made from, if not the transcript as it is now.
    pub(super) fn original<'a>(&self, view: View<'_, 'a, '_>) -> Option<Original<'a>> {
        match view.source {
            SummarySource::Current => return None,
            SummarySource::Input => {}
        }
        let input: Input<'a, '_> = view.input;
        let mut ignored = Warnings::default();
        let mut transcript =
            input
                .format
                .read_again(input.bytes, input.strings, input.first_line, &mut ignored);
        let by_id = transcript.conversations.iter().map(|c| c.id.clone());
        let by_id = by_id.zip(0..).collect();
        self.mask(input, &mut transcript);
        let offload = &self.policy.offload;
        if self.policy.has(Layer::Offload) && offload.restore_before_summary {
            let returned = returned(&transcript, self.policy, input.stored.store);
            apply(input.format, &mut transcript, returned);
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
