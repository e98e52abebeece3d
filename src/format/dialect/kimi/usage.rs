//! The tokens that the agent believes to be in its window, what a provider counted for an answer, and the model that gave it.
//!
//! After a compaction, the agent uses the last count that covers no more messages than there are: all counts since then are reduced
//! by the share of the window that was removed. The count that a compaction itself starts with is right.

use crate::format::finish;
use crate::format::usage::Share;
use crate::scan::Value;
use crate::transcript::{Conversation, LinkKind, Message, Replace, Transcript};

/// The figures that add up to a request's tokens.
const PARTS: [&str; 3] = ["inputOther", "inputCacheRead", "inputCacheCreation"];

/// The corrected counts, given the share of the window that is left.
pub(super) fn corrected(transcript: &Transcript<'_>, share: Share) -> Vec<Replace> {
    let links = (0u32..).zip(transcript.links());
    let counts = links.filter(|(_, link)| link.kind == LinkKind::Count && !link.content.is_empty());
    let lowered = counts.filter_map(|(line, link)| {
        let bytes = transcript.line(line);
        memchr::memmem::find(bytes, b"\"token_counting.rebased\"")
            .is_none()
            .then_some(())?;
        let (span, tokens) = Value::part(bytes, link.content).figure()?;
        let saved = share.saved(tokens);
        (saved > 0).then(|| Replace::number(line, span, tokens - saved))
    });
    lowered.collect()
}

/// The tokens of the request that an answer belongs to.
pub(super) fn recorded(
    transcript: &Transcript<'_>,
    conversation: &Conversation,
    answer: &Message,
) -> Option<u64> {
    let end = *conversation.lines(answer).last()?;
    let usage = Value::of(transcript.line(end)).within(&["event", "usage"]);
    let parts = usage.fields(PARTS).into_iter();
    parts.filter_map(Value::number).reduce(u64::saturating_add)
}

/// The model that was asked for an answer: the request is logged between the beginning and the end of its step.
pub(super) fn model_of(
    transcript: &Transcript<'_>,
    conversation: &Conversation,
    answer: &Message,
) -> Option<String> {
    let lines = conversation.lines(answer);
    let (first, last) = (*lines.first()?, *lines.last()?);
    (first..last)
        .rev()
        .find_map(|line| requested(transcript, line))
}

/// The model of the last request before a line.
pub(super) fn model_before(transcript: &Transcript<'_>, end: u32) -> Option<String> {
    (0..end).rev().find_map(|line| requested(transcript, line))
}

fn requested(transcript: &Transcript<'_>, line: u32) -> Option<String> {
    let bytes = transcript.line(line);
    memchr::memmem::find(bytes, b"\"llm.request\"")?;
    let [kind, model] = Value::of(bytes).fields(["type", "model"]);
    let model = finish::string_of(model)?;
    (kind.string() == Some(b"llm.request")).then_some(model)
}
