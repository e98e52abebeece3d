//! The artifacts of a planned summary: a model's answer, and the files to restore after it.
//!
//! A provider is sent the conversation as the free layers have left it, with offloaded results restored and secrets masked.
//! An answer with too many invented names is rejected.

use std::borrow::Cow;

use super::{Context, ModelError, ModelReply, ModelRequest, Sources, UnreadFile, recents};
use crate::plan::{Cut, Recents, Subject, SummaryRequest};
use crate::policy::{Layer, Reads, Source};
use crate::summarizer::gate::invented;
use crate::summarizer::prompt::prompt;
use crate::summarizer::reading::rounds;

/// The smallest summary that is requested, in tokens: fewer are no use.
const LEAST: u64 = 64;
/// How many invented names an error shows.
const SHOWN: usize = 3;

/// The artifacts of one summary.
#[derive(Debug, Default)]
pub struct SummaryArtifacts<'t> {
    /// The answer, if a summary was requested.
    pub answer: Option<Answer>,
    /// The files that may be restored, if any.
    pub recents: Option<Recents<'t>>,
    /// Recent files that are not restored.
    pub unread: Vec<UnreadFile>,
    /// What the summary must keep; "" = nothing special.
    pub instructions: String,
}

/// The answer to a request for a summary.
#[derive(Debug)]
pub struct Answer {
    /// The reply.
    pub reply: ModelReply,
    /// The number of names and figures in it that are invented.
    pub invented: u64,
}

impl Sources<'_> {
    /// Gathers the artifacts of one summary.
    pub(super) fn summary<'t>(
        &'t self,
        context: Context<'_>,
        next_reply: &mut usize,
        subject: &Subject<'t>,
        cut: Cut,
        request: Option<SummaryRequest>,
    ) -> SummaryArtifacts<'t> {
        let mut instructions = subject.instructions.clone();
        if let Some(adviser) = context.adviser
            && (request.is_some() || subject.cutter.has_span(cut))
        {
            let Some(advice) = adviser.advice() else {
                // What is made without them is never used.
                return SummaryArtifacts::default();
            };
            instructions = [instructions.trim(), advice].join("\n").trim().to_owned();
        }
        let answer = request
            .and_then(|request| self.ask(context, next_reply, subject, &instructions, request));
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
            instructions,
        }
    }

    /// Requests a summary; `None` if the built-in summariser writes it.
    fn ask(
        &self,
        context: Context<'_>,
        next_reply: &mut usize,
        subject: &Subject<'_>,
        instructions: &str,
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
        let end = match summary.reads {
            Reads::Replaced => request.first_kept,
            Reads::All => conversation.messages.len(),
        };
        let given = || rounds(self.policy, transcript, conversation, 0..end);
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
                    prompt: &prompt(self.policy, size, instructions),
                    model: &model,
                    rounds: &rounds,
                    max_tokens: (size as f64 * summary.output_factor).ceil() as u64,
                };
                (server.summarize(&request, context.store), rounds)
            }
        };
        Some(self.checked(reply, given, instructions))
    }

    /// The rounds to send, with secrets masked unless the policy says never.
    fn without_secrets(&self, rounds: Vec<String>) -> Vec<String> {
        match &self.redactor {
            Some(redactor) => {
                let mask = |round: String| redactor.redact(&round).text.into_owned();
                rounds.into_iter().map(mask).collect()
            }
            None => rounds,
        }
    }

    /// The answer, or a failure if it has more invented names than the policy allows.
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
