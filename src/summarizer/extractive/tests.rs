//! Summaries of whole transcripts: their texts, and what holds for all of them.

mod checks;
mod properties;
mod texts;

use super::*;
use crate::format::{Format, Warnings};
use crate::policy::preset;

/// A transcript for as long as the tests run.
pub(super) fn read_as(format: Format, bytes: &[u8]) -> Transcript<'static> {
    let bytes = bytes.to_vec().leak();
    format.read(bytes, 1, &mut Warnings::default())
}

/// The default policy with the user's words where `user_words` says.
pub(super) fn policy(user_words: UserWords) -> Policy {
    let mut policy = preset("auto").unwrap();
    policy.summary.user_words = user_words;
    policy
}

/// The summary of all of the first conversation.
pub(super) fn whole(transcript: &Transcript<'_>, policy: &Policy, tokens: u64) -> Summary {
    let conversation = &transcript.conversations[0];
    let span = 0..conversation.messages.len();
    let extract = Extract::of(transcript, conversation, span, 1, policy);
    extract.summary(tokens, &Estimator::new(&policy.tokens).unwrap())
}
