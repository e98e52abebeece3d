//! What a planned summary needs: somebody else's answer, and the files that come back after it.
//!
//! A provider is given what the layers before have left, with offloaded results back in their places; secrets are masked.
//! An answer that names what it was not given is refused.

use std::borrow::Cow;

use super::{Context, ModelError, ModelReply, ModelRequest, Sources, UnreadFile, recents};
use crate::plan::{Recents, Subject, SummaryRequest};
use crate::policy::{Layer, Source};
use crate::summarizer::gate::invented;
use crate::summarizer::prompt::prompt;
use crate::summarizer::reading::rounds;

/// The least tokens that are asked for: nobody can summarise anything in fewer.
const LEAST: u64 = 64;
/// How many of the invented names are shown.
const SHOWN: usize = 3;

/// What was gathered for one summary.
#[derive(Debug, Default)]
pub struct SummaryArtifacts<'t> {
    /// The answer of whoever was asked, if anybody was.
    pub answer: Option<Answer>,
    /// The files that may come back, if any.
    pub recents: Option<Recents<'t>>,
    /// Files that do not come back although they were among the last ones.
    pub unread: Vec<UnreadFile>,
}

/// The answer to a request for a summary.
#[derive(Debug)]
pub struct Answer {
    /// What came of asking.
    pub reply: ModelReply,
    /// How many names and figures in it were made up.
    pub invented: u64,
}

impl Sources<'_> {
    /// Gathers what one summary needs.
    pub(super) fn summary<'t>(
        &'t self,
        context: Context<'_>,
        next_reply: &mut usize,
        subject: &Subject<'t>,
        request: Option<SummaryRequest>,
    ) -> SummaryArtifacts<'t> {
        let answer = request.and_then(|request| self.ask(context, next_reply, subject, request));
        let (recents, unread) = recents(
            subject.transcript,
            subject.conversation,
            self.policy,
            &self.placeholders,
            self.root.as_ref(),
        );
        SummaryArtifacts {
            answer,
            recents,
            unread,
        }
    }

    /// Asks for a summary; `None` where it is not for others to write.
    fn ask(
        &self,
        context: Context<'_>,
        next_reply: &mut usize,
        subject: &Subject<'_>,
        request: SummaryRequest,
    ) -> Option<Answer> {
        let summary = &self.policy.summary;
        let restores =
            self.policy.has(Layer::Offload) && self.policy.offload.restore_before_summary;
        let (transcript, conversation) = if restores {
            (subject.transcript, subject.conversation)
        } else {
            (subject.current, subject.current_conversation())
        };
        let given = || rounds(self.policy, transcript, conversation, 0..request.first_kept);
        let (reply, given) = match (summary.source, self.server) {
            (Source::Extractive, _) | (Source::Anthropic | Source::Openai, None) => return None,
            (Source::Scripted, _) => (self.replies.ask(next_reply, summary), given()),
            (Source::Anthropic | Source::Openai, Some(server)) => {
                let size = request.tokens.max(LEAST);
                let model = match summary.model.as_str() {
                    "" => context
                        .format
                        .model(transcript, conversation)
                        .unwrap_or_default(),
                    named => named.to_owned(),
                };
                let rounds = self.without_secrets(given());
                let request = ModelRequest {
                    policy: summary,
                    prompt: &prompt(self.policy, size, &subject.instructions),
                    model: &model,
                    rounds: &rounds,
                    max_tokens: (size as f64 * summary.output_factor).ceil() as u64,
                };
                (server.summarize(&request, context.store), rounds)
            }
        };
        Some(self.checked(reply, given, &subject.instructions))
    }

    /// What is sent, with secrets masked unless the policy says never.
    fn without_secrets(&self, rounds: Vec<String>) -> Vec<String> {
        match &self.redactor {
            Some(redactor) => {
                let mask = |round: String| redactor.redact(&round).text.into_owned();
                rounds.into_iter().map(mask).collect()
            }
            None => rounds,
        }
    }

    /// The answer, unless it names more than the policy allows of what its writer was not given.
    fn checked(&self, reply: ModelReply, given: Vec<String>, instructions: &str) -> Answer {
        let Ok(text) = &reply.text else {
            return Answer { reply, invented: 0 };
        };
        let mut given: Vec<Cow<'_, str>> = given.into_iter().map(Cow::Owned).collect();
        given.push(Cow::Borrowed(instructions));
        let invented = invented(text, &given);
        let count = invented.len() as u64;
        let most = self.policy.summary.max_invented;
        if u64::try_from(most).is_ok_and(|most| count > most) {
            let shown = invented[..invented.len().min(SHOWN)].join(", ");
            let why = format!("the answer names what it was not given: {shown}");
            let text = Err(ModelError::Failed(
                crate::text::printable(&why).into_owned(),
            ));
            return Answer {
                reply: ModelReply { text, ..reply },
                invented: count,
            };
        }
        Answer {
            reply,
            invented: count,
        }
    }
}
