//! The place of a summary in a rollout, compared with the result of the free layers.

use ctxpack::format::{Format, Warnings};
use ctxpack::policy::History;
use ctxpack::transcript::Role;
use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;
use serde_json::Value;

use super::super::case::{Case, Run, split};
use super::super::view::view;
use super::is_summarised;

/// The role of a message, and the text of each of its blocks.
type MessageTexts = (Role, Vec<Vec<u8>>);

/// The messages of the live window.
fn message_texts(bytes: &[u8]) -> Vec<MessageTexts> {
    let transcript = Format::Codex.read(bytes, 1, &mut Warnings::default());
    let conversation = &transcript.conversations[0];
    let value = |b: &u32| {
        let block = transcript.block(*b);
        transcript.bytes(block.line, block.value).to_vec()
    };
    let messages = conversation.messages.iter();
    messages
        .map(|m| (m.role, conversation.blocks(m).iter().map(value).collect()))
        .collect()
}

/// The live messages are the encrypted items, the summary, and the end of what was live; every kept line is as the free
/// layers wrote it, except for the figures that a provider counted.
pub(in super::super) fn check(case: &Case, free: &Run, run: &Run) -> TestCaseResult {
    let [outcome] = run.outcome.conversations.as_slice() else {
        return Err(TestCaseError::fail("one conversation"));
    };
    if !is_summarised(outcome) {
        prop_assert!(run.bytes == free.bytes);
        return Ok(());
    }
    let summary = outcome.summary.as_ref().unwrap();
    let (was, is) = (message_texts(&free.bytes), message_texts(&run.bytes));
    let kept = was.iter().rev().filter(|(role, _)| *role != Role::System);
    prop_assert!(kept.count() as u64 == summary.messages + summary.preserved_messages);
    let mut tail = was.len();
    let mut left = summary.preserved_messages;
    while left > 0 {
        tail -= 1;
        left -= u64::from(was[tail].0 != Role::System);
    }
    let opaque = was[..tail].iter().filter(|(role, _)| *role == Role::System);
    let opaque: Vec<&MessageTexts> = opaque.collect();
    let new = is.len() - (was.len() - tail);
    prop_assert_eq!(&is[new..], &was[tail..]);
    let (summed, before): (&MessageTexts, Vec<&MessageTexts>) =
        (&is[new - 1], is[..new - 1].iter().collect());
    prop_assert_eq!(before, opaque);
    prop_assert_eq!(summed.0, Role::User);
    let text: String = serde_json::from_slice(&summed.1[0]).unwrap();
    prop_assert!(text.starts_with(case.policy.summary.text.prefix()));
    lines(case, free, run)
}

/// Kept lines are lines of the input; the only new line is a compaction or, without envelopes, the message.
pub(in super::super) fn lines(case: &Case, free: &Run, run: &Run) -> TestCaseResult {
    let (before, after) = (split(&free.bytes).1, split(&run.bytes).1);
    let mut next = 0;
    let mut new = Vec::new();
    for (line, _) in &after {
        let found = (next..before.len()).find(|at| is_same(before[*at].0, line));
        match found {
            Some(at) => next = at + 1,
            None => new.push(*line),
        }
    }
    prop_assert!(new.len() <= 1, "{:?}", new.len());
    let key = b"\"payload\"";
    let is_bare = |line: &&[u8]| !line.windows(key.len()).any(|bytes| bytes == key);
    if case.policy.history == History::Keep && !new.iter().any(is_bare) {
        // An item that an earlier compaction kept may be a part of its line.
        prop_assert!(after.len() + 1 >= before.len() + new.len());
    } else {
        let transcript = Format::Codex.read(&run.bytes, 1, &mut Warnings::default());
        prop_assert_eq!(Format::Codex.dead(&transcript).drop, Default::default());
    }
    for line in new.iter().filter(|line| !is_bare(line)) {
        // An earlier compaction that was pruned; one that an agent wrote may end with an item of any kind.
        let is_earlier = |was: &&[u8]| words(was).is_some() && words(was) == words(line);
        if before.iter().any(|(was, _)| is_earlier(was)) {
            continue;
        }
        let value: Value = match serde_json::from_slice(line) {
            Ok(value) => value,
            // Items that an earlier compaction kept are copied with their numbers, of which serde_json can read only some.
            Err(error) if error.to_string().contains("number out of range") => continue,
            Err(error) => return Err(TestCaseError::fail(error.to_string())),
        };
        prop_assert_eq!(&value["type"], "compacted");
        prop_assert!(value["timestamp"].is_string());
        prop_assert!(value["payload"]["message"].is_string());
        let items = value["payload"]["replacement_history"].as_array().unwrap();
        prop_assert_eq!(&items.last().unwrap()["role"], "user");
    }
    Ok(())
}

/// The summary of a compaction.
fn words(line: &[u8]) -> Option<String> {
    let value: Value = serde_json::from_slice(line).ok()?;
    let is_compaction = value["type"] == "compacted";
    let words = value["payload"]["message"].as_str();
    words.filter(|_| is_compaction).map(str::to_owned)
}

/// Whether two lines differ at most in the figures that a provider counted.
fn is_same(before: &[u8], after: &[u8]) -> bool {
    if before == after {
        return true;
    }
    let figures = |line| view(Format::Codex, line).map(|view| view.figures);
    let (Some(was), Some(is)) = (figures(before), figures(after)) else {
        return false;
    };
    let (mut at, mut at_after) = (0, 0);
    if was.is_empty() || was.len() != is.len() {
        return false;
    }
    let sorted = |mut figures: Vec<super::super::json::Node>| {
        figures.sort_by_key(|figure| figure.span.start);
        figures
    };
    for (was, is) in sorted(was).into_iter().zip(sorted(is)) {
        if before[at..was.span.start] != after[at_after..is.span.start] {
            return false;
        }
        (at, at_after) = (was.span.end, is.span.end);
    }
    before[at..] == after[at_after..]
}
