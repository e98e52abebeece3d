//! A summary in the making: the conversation, and what artifacts have gathered for it.

use crate::artifacts::{Answer, SummaryArtifacts};
use crate::plan::{Recents, Subject, SummaryRequest};

/// What a summary is composed from.
#[derive(Debug, Clone, Copy)]
pub struct Composer<'s> {
    /// The conversation.
    pub(super) subject: &'s Subject<'s>,
    /// The live tokens that count as those of the input.
    pub(super) before: u64,
    /// What another summariser has answered, if one was asked.
    pub(super) answer: Option<&'s Answer>,
    /// What it was asked for.
    pub(super) request: Option<SummaryRequest>,
    /// The files that may come back, if any.
    pub(super) recents: Option<&'s Recents<'s>>,
}

impl<'s> Composer<'s> {
    /// A summary of which nothing is known but its conversation.
    pub fn new(subject: &'s Subject<'s>) -> Self {
        Composer {
            subject,
            before: subject.before,
            answer: None,
            request: None,
            recents: None,
        }
    }

    /// The same with what artifacts have gathered for this request.
    #[must_use]
    pub fn with(
        self,
        artifacts: &'s SummaryArtifacts<'s>,
        request: Option<SummaryRequest>,
    ) -> Self {
        Composer {
            answer: artifacts.answer.as_ref(),
            request,
            recents: artifacts.recents.as_ref(),
            ..self
        }
    }
}
