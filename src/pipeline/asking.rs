//! What another summariser is asked, and whether its answer can stand.
//!
//! A provider is given what the layers before have left, with offloaded results back in their places; secrets are masked.
//! An answer that names what it was not given is none.

use std::borrow::Cow;

use super::{Input, Pipeline};
use crate::artifacts::{Question, Refused, Reply};
use crate::policy::{Layer, Source};
use crate::summarizer::gate::invented;
use crate::summarizer::prompt::prompt;
use crate::summarizer::reading::rounds;
use crate::transcript::{Conversation, Transcript};

/// Nobody can tell anything in fewer tokens.
const LEAST: u64 = 64;
/// So many of the names that were made up are shown.
const SHOWN: usize = 3;

/// One conversation of which a summary is asked for.
#[derive(Clone, Copy)]
pub(super) struct ToTell<'t> {
    /// As it was read, with offloaded results in their places, and as it is now.
    pub(super) versions: [(&'t Transcript<'t>, &'t Conversation); 2],
    /// How many of its messages are to be told.
    pub(super) tail: usize,
    /// In how many tokens.
    pub(super) tokens: u64,
    /// What the summary must keep.
    pub(super) instructions: &'t str,
}

/// An answer.
pub(super) struct Answer {
    pub(super) reply: Reply,
    /// How many names and figures in it were made up.
    pub(super) invented: u64,
}

impl Pipeline<'_> {
    /// Asks for a summary; `None` where it is not for others to write.
    pub(super) fn ask(
        &self,
        input: Input<'_, '_>,
        next_reply: &mut usize,
        telling: ToTell<'_>,
    ) -> Option<Answer> {
        let summary = &self.policy.summary;
        let [as_read, as_is] = telling.versions;
        let restores =
            self.policy.has(Layer::Offload) && self.policy.offload.restore_before_summary;
        let (transcript, conversation) = if restores { as_read } else { as_is };
        let given = || rounds(self.policy, transcript, conversation, 0..telling.tail);
        let (reply, given) = match (summary.source, self.server) {
            (Source::Extractive, _) | (Source::Anthropic | Source::Openai, None) => return None,
            (Source::Scripted, _) => (self.replies.ask(next_reply, summary), given()),
            (Source::Anthropic | Source::Openai, Some(server)) => {
                let size = telling.tokens.max(LEAST);
                let format = input.format;
                let model = match summary.model.as_str() {
                    "" => format.model(transcript, conversation).unwrap_or_default(),
                    named => named.to_owned(),
                };
                let rounds = self.without_secrets(given());
                let question = Question {
                    policy: summary,
                    prompt: &prompt(self.policy, size, telling.instructions),
                    model: &model,
                    rounds: &rounds,
                    max_tokens: (size as f64 * summary.output_factor).ceil() as u64,
                };
                (server.ask(&question, input.place.store), rounds)
            }
        };
        Some(self.gated(reply, given, telling.instructions))
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

    /// The answer, unless it says what it cannot know.
    fn gated(&self, reply: Reply, given: Vec<String>, instructions: &str) -> Answer {
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
            let text = Err(Refused::Failed(crate::text::printable(&why).into_owned()));
            return Answer {
                reply: Reply { text, ..reply },
                invented: count,
            };
        }
        Answer {
            reply,
            invented: count,
        }
    }
}
