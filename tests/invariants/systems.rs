//! The promises that hold for the published systems, with windows that small transcripts fill: what is moved to the store, what
//! a call of the agent asks for, and what happens where no summary can be written.
//!
//! There are 75 cases for each property and format, or `PROPTEST_CASES`.

use std::collections::BTreeMap;

use ctxpack::artifacts::Replies;
use ctxpack::format::{Format, Layout, Warnings};
use ctxpack::outcome::{ActionKind, Status};
use ctxpack::pipeline::{Input, Pipeline, Stored};
use ctxpack::policy::{Layer, OnFailure, Source};
use ctxpack::store::{offload_in, offload_name};
use proptest::prelude::*;
use proptest::test_runner::{TestCaseResult, TestRunner};

use super::case::{Case, Kind, split};
use super::policies;
use super::view::{result_text, view};

every_format! { super::super::config_of(75), of_system;
    of_any: Any [
        no_rule_is_broken
        never_more_tokens
        a_second_run_changes_nothing
        the_same_bytes_every_time
        what_left_for_the_store_can_be_found
    ]
    of_valid: Valid [
        what_the_system_says_stays
        the_last_words_of_the_user_stay
    ]
}

/// Invariant 3.
fn no_rule_is_broken(case: &Case) -> TestCaseResult {
    // A pruned result may break a rule; then the input is kept unchanged.
    if case.policy.summary.on_failure == OnFailure::Prune
        && case.compact().outcome.status == Status::Rejected
    {
        return Ok(());
    }
    super::no_rule_is_broken(case)
}

/// Invariant 4; and a fresh count of the output gives the same figures.
fn never_more_tokens(case: &Case) -> TestCaseResult {
    let run = case.compact();
    for conversation in &run.outcome.conversations {
        prop_assert!(conversation.tokens_after <= conversation.tokens_before);
    }
    let again = case.compact_by(&policies::none(&case.policy), &run.bytes);
    let sorted = |sizes: &mut dyn Iterator<Item = (u64, u64)>| {
        let mut sizes: Vec<_> = sizes.filter(|(_, messages)| *messages > 0).collect();
        sizes.sort_unstable();
        sizes
    };
    let said = run.outcome.conversations.iter();
    let said = said.map(|c| (c.tokens_after, c.messages_after));
    let counted = again.outcome.conversations.iter();
    let counted = counted.map(|c| (c.tokens_before, c.messages_before));
    // Plain texts could be of either message format; and in noise, the conversation of a line depends on the other lines.
    if again.detected == run.detected && !case.known.windows.is_empty() {
        prop_assert_eq!(sorted(&mut { said }), sorted(&mut { counted }));
    }
    Ok(())
}

/// Invariant 5. A summariser that failed for one conversation may have an answer for it when it is no longer asked for the
/// others, or when there is one message less before the kept ones.
fn a_second_run_changes_nothing(case: &Case) -> TestCaseResult {
    let once = case.compact();
    let twice = case.compact_bytes(&once.bytes);
    let conversations = &once.outcome.conversations;
    let is_new = |kind| matches!(kind, ActionKind::Summarize | ActionKind::Prune);
    let is_done = |n: usize| conversations[n].actions.iter().any(|a| is_new(a.kind));
    let is_asked_again = case.policy.summary.source == Source::Scripted
        && conversations.len() > 1
        && !(0..conversations.len()).all(is_done);
    // Plain texts could be of either message format.
    if once.detected != twice.detected || is_asked_again {
        return Ok(());
    }
    // A summary names lines, and their numbers have fewer digits where lines were removed.
    let mut again = twice.outcome.conversations.iter();
    let was_close =
        |c: &ctxpack::outcome::ConversationOutcome| c.reason.contains("would not be smaller");
    if conversations.iter().any(was_close) && again.all(|c| c.tokens_before - c.tokens_after <= 3) {
        return Ok(());
    }
    // There is no store here: the second run cannot read what the first one offloaded, and its summary states that.
    let was_empty = |c: &ctxpack::outcome::ConversationOutcome| {
        let is_offloaded = c.actions.iter().any(|a| a.kind == ActionKind::Offload);
        is_offloaded && c.reason.contains("a summary would be empty")
    };
    if conversations.iter().any(was_empty) {
        return Ok(());
    }
    prop_assert!(
        once.bytes == twice.bytes,
        "{:?}\n{}\n{:?}\n{}",
        conversations,
        once.bytes.escape_ascii().to_string().replace("\\n{", "\n{"),
        twice.outcome.conversations,
        twice
            .bytes
            .escape_ascii()
            .to_string()
            .replace("\\n{", "\n{")
    );
    // A pruned result may break a rule; then the input is kept unchanged.
    let may_be = super::may_be_rejected(case) || case.policy.summary.on_failure == OnFailure::Prune;
    let again = once.outcome.status == Status::Rejected && may_be;
    prop_assert!(super::is_unchanged(&twice) || again);
    Ok(())
}

/// Invariant 6.
fn the_same_bytes_every_time(case: &Case) -> TestCaseResult {
    prop_assert!(case.compact() == case.compact_bytes(&case.bytes));
    Ok(())
}

/// Invariant 11: the system's and the developer's messages occur in the output as often as in the input.
fn what_the_system_says_stays(case: &Case) -> TestCaseResult {
    let count = |bytes: &[u8]| {
        // The content of an agent's own compaction is removed with it.
        let is_own = |line: &&[u8]| memchr::memmem::find(line, b"replacement_history").is_none();
        let times = |word: &str| {
            let lines = bytes.split(|byte| *byte == b'\n').filter(is_own);
            let found = lines.map(|line| memchr::memmem::find_iter(line, word.as_bytes()).count());
            found.sum::<usize>()
        };
        [times(r#""role":"system""#), times(r#""role":"developer""#)]
    };
    if !case.is_session() {
        let run = case.compact();
        prop_assert_eq!(count(&case.bytes), count(&run.bytes));
    }
    Ok(())
}

/// Invariant 10, as far as it holds under every policy.
fn the_last_words_of_the_user_stay(case: &Case) -> TestCaseResult {
    super::summarised::the_words_of_the_user_stay(case)
}

/// Invariant 7: every new name in a result is that of content given to the store.
fn what_left_for_the_store_can_be_found(case: &Case) -> TestCaseResult {
    let run = case.compact();
    let Some((format, layout)) = run.detected else {
        return Ok(());
    };
    let pipeline = Pipeline::new(&case.policy, case.keeping).unwrap();
    let pipeline = pipeline.with_replies(Replies::parse(&case.replies).unwrap());
    let mut kept: BTreeMap<String, Vec<u8>> = BTreeMap::new();
    for (bytes, first_line, part) in super::transcripts(layout, &case.bytes) {
        let input = Input {
            format,
            bytes,
            first_line,
            part,
            stored: Stored::default(),
            strings: &ctxpack::scan::NO_STRINGS,
            instruction_source: None,
            weights: &ctxpack::summarizer::extractive::WEIGHTS,
        };
        let compacted = pipeline.compact(input, &mut Warnings::default());
        for (name, content) in compacted.offloads() {
            let mut bytes = Vec::new();
            content.pieces(|piece| bytes.extend_from_slice(piece));
            prop_assert_eq!(offload_name(&bytes), name);
            kept.insert(name.to_owned(), bytes);
        }
    }
    let mut named: Vec<String> = Vec::new();
    for (line, _) in split(&run.bytes).1 {
        for result in view(format, line).into_iter().flat_map(|view| view.results) {
            let Some(content) = result.content else {
                continue;
            };
            let text = String::from_utf8_lossy(&result_text(line, &content)).into_owned();
            let found = [&case.policy.offload.text, &case.policy.demote.text];
            let found = found.iter().filter_map(|text_of| text_of.matches(&text));
            named.extend(
                found
                    .filter_map(|values| offload_in(values.name))
                    .map(str::to_owned),
            );
        }
    }
    let is_new = |name: &&String| memchr::memmem::find(&case.bytes, name.as_bytes()).is_none();
    for name in named.iter().filter(is_new) {
        prop_assert!(kept.contains_key(name), "{name} is nowhere");
    }
    for name in kept.keys() {
        prop_assert!(named.contains(name), "{name} is kept for nothing");
    }
    Ok(())
}

/// The generators and the policies make all of these cases occur: otherwise the properties would prove little.
#[test]
fn the_systems_are_exercised() {
    use proptest::strategy::ValueTree;

    let mut runner = TestRunner::deterministic();
    for format in crate::invariants::formats::of_lines() {
        let cases = Case::of_system(format, Kind::Valid);
        let mut times: BTreeMap<&str, usize> = BTreeMap::new();
        for _ in 0..250 {
            let case = cases.new_tree(&mut runner).unwrap().current();
            let run = case.compact();
            let is_line = matches!(run.detected, Some((_, Layout::Line)));
            for conversation in &run.outcome.conversations {
                let did = |kind| conversation.actions.iter().any(|a| a.kind == kind);
                let fallback = conversation.summary.as_ref();
                let fallback = fallback.and_then(|summary| summary.fallback.as_deref());
                let reason = &conversation.reason;
                for (what, happens) in [
                    ("offloaded", did(ActionKind::Offload)),
                    ("summarised", did(ActionKind::Summarize)),
                    ("last turns", fallback == Some("last_turns")),
                    ("pruned", fallback == Some("prune")),
                    ("asked for", reason.contains("the agent asked for it")),
                    ("kept", reason.contains("no summary could be written")),
                    ("a line", is_line && did(ActionKind::Summarize)),
                ] {
                    *times.entry(what).or_default() += usize::from(happens);
                }
            }
            let has = |layer| case.policy.has(layer);
            *times.entry("with offload").or_default() += usize::from(has(Layer::Offload));
        }
        for (what, times) in times {
            let never = what == "a line" && format != Format::OpenAi;
            assert!(times > 0 || never, "{format:?}: {what} {times} times");
        }
    }
}
