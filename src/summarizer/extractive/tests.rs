//! Summaries of whole transcripts: their texts, and their common properties.

mod checks;
mod contents;
mod forms;
mod outcomes;
mod properties;
mod said;
mod texts;
mod todos;

use super::*;
use crate::format::{Format, Warnings};
use crate::policy::preset;

/// A transcript that lives as long as the tests run.
pub(super) fn read_as(format: Format, bytes: &[u8]) -> Transcript<'static> {
    let bytes = bytes.to_vec().leak();
    format.read(bytes, 1, &mut Warnings::default())
}

/// The default policy.
pub(super) fn auto() -> Policy {
    preset("auto").unwrap()
}

/// The extract of the messages `span` of a conversation.
pub(super) fn extract(
    transcript: &Transcript<'_>,
    conversation: &Conversation,
    span: Range<usize>,
    first_line: u64,
    policy: &Policy,
) -> Extract {
    let of = |source: super::Source<'_, '_>| Extract::of(source, span);
    with_source(transcript, conversation, first_line, policy, of)
}

/// The extract of a conversation, without instructions besides the policy.
pub(super) fn with_source(
    transcript: &Transcript<'_>,
    conversation: &Conversation,
    first_line: u64,
    policy: &Policy,
    of: impl FnOnce(super::Source<'_, '_>) -> Extract,
) -> Extract {
    let earlier = Earlier::of(policy).unwrap();
    let origins = earlier.origins(transcript, conversation);
    let source = Source {
        transcript,
        conversation,
        acts: &Activity::of(transcript, conversation, &policy.tools),
        origins: &origins,
        earlier: &earlier,
        first_line,
        instructions: &policy.summary.instructions,
        policy,
        weights: &WEIGHTS,
    };
    of(source)
}

/// The summary of all of the first conversation.
pub(super) fn whole(
    transcript: &Transcript<'_>,
    policy: &Policy,
    tokens: u64,
    words: UserWords,
) -> ExtractiveSummary {
    let conversation = &transcript.conversations[0];
    let span = 0..conversation.messages.len();
    let extract = extract(transcript, conversation, span, 1, policy);
    extract.summary(tokens, words, &Estimator::new(&policy.tokens).unwrap())
}

/// A message of the user as Anthropic writes it.
fn user(text: &str) -> String {
    let text = serde_json::to_string(text).unwrap();
    format!("{{\"role\":\"user\",\"content\":{text}}}\n")
}
