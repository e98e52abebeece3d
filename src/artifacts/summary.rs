//! The artifacts of a planned summary: a model's answer, and the files to restore after it.
//!
//! A provider is sent the conversation with secrets masked: for a narrative, as it was before the free layers; otherwise, as they
//! have left it. `answer` judges the answer.

use super::answer::{Answer, judged};
use super::asking::Asking;
use super::chunked::{PartReader, PartRequest, ReadCoverage, SummaryReply};
use super::{Context, ModelRequest, Sources, SummaryModel, UnreadFile, recents};
use crate::outcome::RoundsRead;
use crate::plan::{Cut, Recents, Subject, SummaryRequest};
use crate::policy::Source;
use crate::summarizer::gate::Given;
use crate::summarizer::reading::clipped;

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
        if let Some(instruction_source) = context.instruction_source
            && (request.is_some() || subject.cutter.has_span(cut))
        {
            let Some(added) = instruction_source.instructions() else {
                // Nothing is compacted without them, so these artifacts are never used.
                return SummaryArtifacts::default();
            };
            instructions = [instructions.trim(), added].join("\n").trim().to_owned();
        }
        let answer = request.and_then(|request| {
            let asking = Asking::new(self.policy, context, subject, &instructions, request);
            self.ask(next_reply, &asking)
        });
        let (recents, unread) =
            recents(subject, self.policy, &self.placeholders, self.root.as_ref());
        SummaryArtifacts {
            answer,
            recents,
            unread,
            instructions,
        }
    }

    /// Requests a summary; `None` if the built-in summariser writes it.
    fn ask(&self, next_reply: &mut usize, asking: &Asking<'_>) -> Option<Answer> {
        match (self.policy.summary.source, self.server) {
            (Source::Extractive, _) | (Source::Anthropic | Source::Openai, None) => None,
            (Source::Scripted, _) => Some(self.ask_scripted(next_reply, asking)),
            (Source::Anthropic | Source::Openai, Some(server)) => {
                Some(self.ask_server(server, asking))
            }
        }
    }

    fn ask_scripted(&self, next_reply: &mut usize, asking: &Asking<'_>) -> Answer {
        let summary = &self.policy.summary;
        let prompt = asking.prompt(asking.size());
        let first = self.replies.ask(next_reply, summary);
        let again = |_: &str| self.replies.ask(next_reply, summary);
        let answer = judged(summary, &prompt, &asking.given(), first, again);
        asking.cited(answer)
    }

    fn ask_server(&self, server: &dyn SummaryModel, asking: &Asking<'_>) -> Answer {
        let summary = &self.policy.summary;
        let (model, window, given) = (asking.model(), asking.window(), asking.given());
        let ask = |asked: &PartRequest, given: &Given| {
            let request = ModelRequest {
                policy: summary,
                prompt: &asked.prompt,
                model: &model,
                rounds: &asked.rounds,
                given,
                max_tokens: asked.max_tokens,
                requester: asking.context.requester,
            };
            server.summarize(&request, asking.context.store)
        };
        let reader = PartReader {
            summary,
            window,
            estimator: asking.subject.estimator,
            size: asking.size(),
            prompt: &|size| asking.prompt(size),
            given: &given,
            ask: &ask,
        };
        let rounds = asking.rounds(window);
        let all = rounds.len() as u64;
        let (rounds, beyond) = clipped(rounds, summary.input_chars);
        let SummaryReply {
            reply,
            asked,
            reading,
        } = reader.read(self.without_secrets(rounds));
        let read = RoundsRead {
            all,
            read: reading.rounds.read.min(all - beyond),
            ..reading.rounds
        };
        // For a conversation in parts, the summaries of the parts are sent again.
        let again = |more: &str| {
            let mut asked = asked.clone();
            asked.prompt.push_str(more);
            ask(&asked, &given)
        };
        let answer = asking.cited(judged(summary, &asked.prompt, &given, reply, again));
        Answer {
            reading: Some(ReadCoverage {
                rounds: read,
                beyond,
                ..reading
            }),
            ..answer.doubted(summary, &asked.prompt, &given)
        }
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
}
