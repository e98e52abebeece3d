//! What a summary is composed from: the conversation, and the artifacts gathered for it.
//!
//! The methods of [`Composer`] are in six more files: `summary.rs` decides whether there is a summary and finishes it, `draft.rs`
//! writes drafts until one fits its budget, `put_back.rs` and `files.rs` put files back, `words.rs` looks up which words of the
//! user are in the result, and `budget.rs` computes token limits.

use crate::artifacts::{Answer, SummaryArtifacts};
use crate::plan::{Recents, Subject, SummaryRequest};

/// Composes the summary of one conversation.
#[derive(Debug, Clone, Copy)]
pub(super) struct Composer<'s> {
    /// The conversation.
    pub(super) subject: &'s Subject<'s>,
    /// The live tokens of the input.
    pub(super) before: u64,
    /// The answer of a model or of a scripted summariser, if one was asked.
    pub(super) answer: Option<&'s Answer>,
    /// The request that it answers.
    pub(super) request: Option<SummaryRequest>,
    /// The files that may be restored, if any.
    pub(super) recents: Option<&'s Recents<'s>>,
    /// What the summary must keep; "" = nothing special.
    pub(super) instructions: &'s str,
}

impl<'s> Composer<'s> {
    /// Creates a composer with no artifacts.
    pub(super) fn new(subject: &'s Subject<'s>) -> Self {
        Composer {
            subject,
            before: subject.before,
            answer: None,
            request: None,
            recents: None,
            instructions: &subject.instructions,
        }
    }

    /// The same composer with the artifacts that were gathered for `request`.
    #[must_use]
    pub(super) fn with(
        self,
        artifacts: &'s SummaryArtifacts<'s>,
        request: Option<SummaryRequest>,
    ) -> Self {
        Composer {
            answer: artifacts.answer.as_ref(),
            request,
            recents: artifacts.recents.as_ref(),
            instructions: &artifacts.instructions,
            ..self
        }
    }
}
