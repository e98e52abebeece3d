//! The artifacts of a planned summary: a model's answer, and the files to restore after it.
//!
//! A provider is sent the conversation with secrets masked: for a narrative as it was before the free layers, else as they have
//! left it. `answer` judges what it answers.

use super::answer::{Answer, judged};
use super::chunked::{PartReader, PartRequest, ReadCoverage, SummaryReply};
use super::offloaded::stored_contents;
use super::{Context, ModelRequest, Sources, UnreadFile, recents};
use crate::ids::IdMap;
use crate::outcome::RoundsRead;
use crate::plan::{Cut, Recents, Subject, SummaryRequest};
use crate::policy::{Layer, Policy, Reads, Source};
use crate::summarizer::evidence::Evidence;
use crate::summarizer::gate::Given;
use crate::summarizer::prompt::prompt;
use crate::summarizer::reading::{clipped, record, rounds};

/// The smallest summary that is requested, in tokens: fewer are no use.
const SMALLEST: u64 = 64;

/// The tokens for the prompt, beside the conversation.
const PROMPT: u64 = 2_000;

/// The share of a window that is left free, as a divisor: tokens are estimated.
const MARGIN: u64 = 10;

/// The tokens that a conversation may have in the model's window beside an answer of `max_tokens`; a window of 0 is not known.
fn room(policy: &Policy, window: u64, max_tokens: u64) -> u64 {
    let window = match window {
        0 => policy.window.context,
        known => known,
    };
    (window - window / MARGIN).saturating_sub(max_tokens + PROMPT)
}

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
                // What is made without them is never used.
                return SummaryArtifacts::default();
            };
            instructions = [instructions.trim(), added].join("\n").trim().to_owned();
        }
        let answer = request
            .and_then(|request| self.ask(context, next_reply, subject, &instructions, request));
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
        let size = request.tokens.max(SMALLEST);
        let max_tokens = (size as f64 * summary.output_factor).ceil() as u64;
        let stored = match summary.gives_evidence() {
            true => self.stored_contents(context, subject),
            false => IdMap::default(),
        };
        let evidence = Evidence {
            transcript: subject.transcript,
            conversation: subject.conversation,
            origins: subject.cutter.origins(),
            earlier: subject.earlier,
            first_line: subject.first_line,
            stored: &stored,
            policy: self.policy,
            estimator: subject.estimator,
        };
        let window = match (summary.window, summary.model.as_str()) {
            // What the session recorded is the window of its own model.
            (0, "") => context
                .format
                .context_window(transcript, conversation)
                .unwrap_or_default(),
            (known, _) => known,
        };
        let rounds = || match summary.gives_evidence() {
            true => evidence.rounds(0..end, room(self.policy, window, max_tokens)),
            false => rounds(self.policy, transcript, conversation, 0..end),
        };
        // What stood in an output that is cleared by now, or stands in a message that is kept, is no invention.
        let given = || {
            let record = record(self.policy, subject.transcript, subject.conversation);
            let record = record.iter().chain(stored.values()).map(String::as_str);
            Given::new(record.chain([instructions]))
        };
        let cited = |answer: Answer| match summary.gives_evidence() {
            true => answer.cited(&evidence.lines()),
            false => answer,
        };
        let prompt = prompt(self.policy, size, instructions);
        match (summary.source, self.server) {
            (Source::Extractive, _) | (Source::Anthropic | Source::Openai, None) => None,
            (Source::Scripted, _) => {
                let first = self.replies.ask(next_reply, summary);
                let again = |_: &str| self.replies.ask(next_reply, summary);
                Some(cited(judged(summary, &prompt, &given(), first, again)))
            }
            (Source::Anthropic | Source::Openai, Some(server)) => {
                let model = match summary.model.as_str() {
                    "" => context
                        .format
                        .model(transcript, conversation)
                        .unwrap_or_default(),
                    named => named.to_owned(),
                };
                let given = given();
                let ask = |asked: &PartRequest, given: &Given| {
                    let request = ModelRequest {
                        policy: summary,
                        prompt: &asked.prompt,
                        model: &model,
                        rounds: &asked.rounds,
                        given,
                        max_tokens: asked.max_tokens,
                        requester: context.requester,
                    };
                    server.summarize(&request, context.store)
                };
                let reader = PartReader {
                    summary,
                    window,
                    estimator: subject.estimator,
                    size,
                    prompt: &|size| self::prompt(self.policy, size, instructions),
                    given: &given,
                    ask: &ask,
                };
                let rounds = rounds();
                let all = rounds.len() as u64;
                let (rounds, beyond) = clipped(rounds, summary.input_chars);
                let SummaryReply {
                    reply,
                    asked,
                    reading,
                } = reader.read(self.without_secrets(rounds));
                // Of a conversation in parts, their summaries are sent again.
                let again = |more: &str| {
                    let mut asked = asked.clone();
                    asked.prompt.push_str(more);
                    ask(&asked, &given)
                };
                let answer = cited(judged(summary, &asked.prompt, &given, reply, again));
                let answer = answer.doubted(summary, &asked.prompt, &given);
                let read = RoundsRead {
                    all,
                    read: reading.rounds.read.min(all - beyond),
                    ..reading.rounds
                };
                Some(Answer {
                    reading: Some(ReadCoverage {
                        rounds: read,
                        beyond,
                        ..reading
                    }),
                    ..answer
                })
            }
        }
    }

    /// What earlier runs have moved to the store, of the conversation that is summarised.
    fn stored_contents(&self, context: Context<'_>, subject: &Subject<'_>) -> IdMap<u32, String> {
        let (transcript, conversation) = (subject.transcript, subject.conversation);
        stored_contents(transcript, conversation, self.policy, context.store)
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
