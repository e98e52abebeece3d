//! Corrects recorded usage figures to what a provider would count now: an agent that believes its window to be full compacts
//! again at once, our summary included.
//!
//! One correction for everything a policy has done, by the share of the window that is left. A policy that counts only a part
//! of what a model reads cannot tell that share; for it, everything is counted separately.

use std::collections::BTreeMap;

use super::{Pipeline, Round, Work};
use crate::apply::apply;
use crate::error::Result;
use crate::format::Share;
use crate::policy::{Scope, Tokens};
use crate::tokens::{Estimator, Sizes};
use crate::transcript::{ChangeSet, ConversationId};

/// The tokens of each conversation, everything counted.
pub(super) type Windows = BTreeMap<ConversationId, u64>;

/// An estimator of everything that a model reads, if the policy's own estimator counts only a part.
pub(super) fn whole(settings: &Tokens) -> Result<Option<Estimator>> {
    match settings.scope {
        Scope::Content | Scope::MessageJson | Scope::HistoryJson | Scope::RoleContent => Ok(None),
        Scope::Strings => {
            let all = Tokens {
                scope: Scope::Content,
                ..settings.clone()
            };
            Estimator::new(&all).map(Some)
        }
    }
}

impl Pipeline<'_> {
    /// The sizes of the conversations.
    pub(super) fn windows(&self, work: &mut Work<'_, '_>) -> Windows {
        if !work.input.format.dialect().acts_on_usage() {
            return Windows::new();
        }
        let totals = match &self.whole {
            None => work.totals(),
            Some(estimator) => {
                let mut sizes = Sizes::new(estimator.clone());
                let transcript = &work.transcript;
                let each = transcript.conversations.iter();
                each.map(|c| sizes.conversation(transcript, c)).collect()
            }
        };
        let ids = work.transcript.conversations.iter().map(|c| c.id.clone());
        ids.zip(totals).collect()
    }

    /// Corrects recorded figures that an agent would act on, after a round that began with the windows `before`.
    pub(super) fn correct(&self, work: &mut Work<'_, '_>, before: &Windows, round: &Round) {
        let after = self.windows(work);
        let results = round.summaries.conversations.iter();
        let renamed: BTreeMap<&str, &ConversationId> = results
            .map(|result| (result.id_after.as_str(), &result.id))
            .collect();
        let format = work.input.format;
        let mut corrections = ChangeSet::default();
        for conversation in &work.transcript.conversations {
            let id = conversation.id.to_string();
            let id = renamed.get(id.as_str()).copied();
            let was = before.get(id.unwrap_or(&conversation.id));
            if let (Some(before), Some(after)) = (was, after.get(&conversation.id)) {
                let (before, after) = (*before, *after);
                let share = Share { before, after };
                let corrected =
                    format
                        .dialect()
                        .corrected_usage(&work.transcript, conversation, share);
                corrections.replace.extend(corrected);
            }
        }
        apply(format, &mut work.transcript, corrections);
    }
}
