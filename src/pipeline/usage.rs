//! Corrects recorded usage figures to what a provider would count now: an agent that believes its window to be full compacts again
//! at once, including our summary.
//!
//! One correction for everything a policy has done, by the share of the window that is left. A policy that counts only a part
//! of what a model reads, or the base64 of pictures, cannot tell that share; for it, everything is counted separately.

use std::collections::BTreeMap;

use super::{Pipeline, Round, Work};
use crate::apply::apply;
use crate::error::Result;
use crate::format::Share;
use crate::policy::{Images, Scope, Tokens};
use crate::tokens::{Estimator, Sizes};
use crate::transcript::{BlockKind, ChangeSet, ConversationId, Transcript};

/// The tokens of each conversation, everything counted.
pub(super) type Windows = BTreeMap<ConversationId, u64>;

/// An estimator of everything that a model reads, with pictures as providers count them; `None` if the policy's own estimator is
/// one.
pub(super) fn whole(settings: &Tokens) -> Result<Option<Estimator>> {
    let scope = match settings.scope {
        Scope::Strings => Scope::Content,
        other => other,
    };
    let counts_pictures = settings.images == Images::Flat && settings.image_tokens > 0;
    if scope == settings.scope && counts_pictures {
        return Ok(None);
    }
    let usual = Tokens::default();
    let all = Tokens {
        scope,
        images: usual.images,
        image_tokens: usual.image_tokens,
        document_tokens: usual.document_tokens,
        ..settings.clone()
    };
    Estimator::new(&all).map(Some)
}

/// Whether a policy's own estimator can tell the share all the same: it counts everything, and there are no pictures.
fn counts_alike(settings: &Tokens, transcript: &Transcript<'_>) -> bool {
    let conversations = transcript.conversations.iter();
    let mut blocks = conversations.flat_map(|c| c.all_blocks().map(|(_, block)| block));
    let has_pictures = |block: u32| {
        let block = transcript.block(block);
        let is_one = matches!(block.kind, BlockKind::Image | BlockKind::Document);
        is_one || block.images > 0 || block.documents > 0
    };
    settings.scope != Scope::Strings && !blocks.any(has_pictures)
}

impl Pipeline<'_> {
    /// The sizes of the conversations.
    pub(super) fn windows(&self, work: &mut Work<'_, '_>) -> Windows {
        if !work.input.format.dialect().acts_on_usage() {
            return Windows::new();
        }
        let totals = match &self.whole {
            None => work.totals(),
            Some(_) if counts_alike(&self.policy.tokens, &work.transcript) => work.totals(),
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
