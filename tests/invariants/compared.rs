//! What `diff` finds in an input and its output agrees with the report, for every format and policy: with and without access to
//! the report.

use ctxpack::diff::{Diff, Differ, Fate, Row, Source, stat};
use ctxpack::format::Format;
use ctxpack::outcome::{ActionKind, ConversationOutcome};
use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;

use super::case::{Case, Kind, Run};

every_format! { super::super::config_of(100), of;
    replaced_results_are_accounted_for: Any
}

every_format! { super::super::config_of(100), summarised;
    summarised_messages_are_accounted_for: Any
}

every_format! { super::super::config_of(75), of_system;
    messages_of_systems_are_accounted_for: Any
}

fn replaced_results_are_accounted_for(case: &Case) -> TestCaseResult {
    accounted_for(case)
}

fn summarised_messages_are_accounted_for(case: &Case) -> TestCaseResult {
    accounted_for(case)
}

fn messages_of_systems_are_accounted_for(case: &Case) -> TestCaseResult {
    accounted_for(case)
}

/// Every message of the input and of the output is in one row, in order; tokens add up to the report's; what happened to
/// messages is what the report states, with its reasons.
fn accounted_for(case: &Case) -> TestCaseResult {
    let run = case.compact();
    let Some((format, layout)) = run.detected else {
        return Ok(());
    };
    let differ = Differ::new(&case.policy).unwrap();
    let source = |bytes| Source {
        bytes,
        format,
        layout,
    };
    let outcomes = &run.outcome.conversations;
    let told = differ.diff(source(&case.bytes), source(&run.bytes), outcomes);
    let untold = differ.diff(source(&case.bytes), source(&run.bytes), &[]);
    prop_assert_eq!(told.is_same(), case.bytes == run.bytes);
    let sums = [
        (told.tokens_before, run.outcome.tokens_before()),
        (told.tokens_after, run.outcome.tokens_after()),
        (told.messages_before, run.outcome.messages_before()),
        (told.messages_after, run.outcome.messages_after()),
    ];
    for diff in [&told, &untold] {
        in_order(diff)?;
        let stats = stat(diff);
        prop_assert_eq!(
            stats.iter().map(|s| s.tokens_before).sum::<u64>(),
            diff.tokens_before
        );
        prop_assert_eq!(
            stats.iter().map(|s| s.tokens_after).sum::<u64>(),
            diff.tokens_after
        );
    }
    // In noise, the conversation of a line depends on the other lines, and the report counts by the input's conversations.
    if case.known.windows.is_empty() {
        return Ok(());
    }
    for (found, said) in sums {
        prop_assert_eq!(found, said, "{:?}", sums);
    }
    for outcome in outcomes
        .iter()
        .filter(|outcome| outcome.messages_before > 0)
    {
        as_reported(&told, outcome, &run)?;
    }
    // Without a report the result is the same, except for the reasons.
    if !is_pruned(&run) {
        prop_assert_eq!(fates(&told), fates(&untold));
    }
    Ok(())
}

/// Whether messages were removed without a summary: where sidechains are removed with them, only the report shows it.
fn is_pruned(run: &Run) -> bool {
    let mut actions = run.outcome.conversations.iter().flat_map(|c| &c.actions);
    actions.any(|action| action.kind == ActionKind::Prune)
}

fn fates(diff: &Diff) -> Vec<(String, Vec<Fate>)> {
    let conversations = diff.conversations.iter();
    conversations
        .map(|c| (c.id.clone(), c.rows.iter().map(|row| row.fate).collect()))
        .collect()
}

fn in_order(diff: &Diff) -> TestCaseResult {
    for conversation in &diff.conversations {
        let numbers = |at: fn(&Row) -> Option<u64>| -> Vec<u64> {
            conversation.rows.iter().filter_map(at).collect()
        };
        let olds = numbers(|row| row.old.map(|at| at.message));
        prop_assert_eq!(olds, (1..=conversation.messages_before).collect::<Vec<_>>());
        let news = numbers(|row| row.new.map(|at| at.message));
        prop_assert_eq!(news, (1..=conversation.messages_after).collect::<Vec<_>>());
    }
    Ok(())
}

fn as_reported(diff: &Diff, outcome: &ConversationOutcome, run: &Run) -> TestCaseResult {
    let found = diff.conversations.iter().find(|c| c.id == outcome.id);
    let Some(found) = found else {
        return Err(TestCaseError::fail(format!(
            "no conversation {}",
            outcome.id
        )));
    };
    prop_assert_eq!(found.tokens_before, outcome.tokens_before);
    prop_assert_eq!(found.tokens_after, outcome.tokens_after);
    let of = |fate: Fate| {
        found
            .rows
            .iter()
            .filter(move |row| row.fate == fate)
            .count() as u64
    };
    let actions = |kind: ActionKind| outcome.actions.iter().filter(move |a| a.kind == kind);
    // Changes of messages that a summary then replaced have no row of their own.
    let summarised = match actions(ActionKind::Summarize).next() {
        Some(_) => outcome
            .summary
            .as_ref()
            .map_or(0, |summary| summary.messages),
        None => 0,
    };
    prop_assert_eq!(of(Fate::Summary), u64::from(summarised > 0));
    prop_assert_eq!(of(Fate::Summarised), summarised);
    if outcome.messages_after > 0 && actions(ActionKind::Prune).next().is_none() {
        prop_assert_eq!(
            of(Fate::Dropped) + of(Fate::Inserted),
            0,
            "{:?}",
            run.outcome.status
        );
    }
    // Where the messages between two answers are pruned, the answers can become one message.
    for row in found.rows.iter().filter(|_| !is_pruned(run)) {
        let has_fate = row.old.is_some() && row.fate != Fate::Kept;
        prop_assert_eq!(row.reason.is_some(), has_fate, "{:?}", row);
    }
    Ok(())
}

every_format! { super::super::config_of(50), summarised;
    outputs_of_one_policy_are_the_same: Any
    outputs_of_two_policies_differ_where_fates_do: Valid
}

/// Two runs on the same input have no difference.
fn outputs_of_one_policy_are_the_same(case: &Case) -> TestCaseResult {
    let run = case.compact();
    let Some((format, layout)) = run.detected else {
        return Ok(());
    };
    let source = |bytes| Source {
        bytes,
        format,
        layout,
    };
    let differ = Differ::new(&case.policy).unwrap();
    let output = source(&run.bytes);
    let compared = differ.outputs(source(&case.bytes), [output, output], [&[], &[]]);
    prop_assert!(
        compared.is_same() && compared.first_byte.is_none(),
        "{:?}",
        compared
    );
    Ok(())
}

/// An output against the input itself: the same messages as those of a diff, and no line without a reason.
fn outputs_of_two_policies_differ_where_fates_do(case: &Case) -> TestCaseResult {
    let run = case.compact();
    let Some((format, layout)) = run.detected else {
        return Ok(());
    };
    let source = |bytes| Source {
        bytes,
        format,
        layout,
    };
    let differ = Differ::new(&case.policy).unwrap();
    let (input, output) = (source(&case.bytes), source(&run.bytes));
    let diff = differ.diff(input, output, &[]);
    let compared = differ.outputs(input, [input, output], [&[], &[]]);
    let changed = diff.conversations.iter().flat_map(|c| &c.rows);
    let changed = changed
        .filter(|row| row.old.is_some() && row.fate != Fate::Kept)
        .count();
    let listed = compared
        .conversations
        .iter()
        .map(|c| c.rows.len())
        .sum::<usize>();
    prop_assert_eq!(changed, listed);
    prop_assert_eq!(
        compared.tokens_after,
        [diff.tokens_before, diff.tokens_after]
    );
    prop_assert_eq!(compared.first_byte.is_none(), run.bytes == case.bytes);
    prop_assert_eq!(compared.is_same(), run.bytes == case.bytes);
    Ok(())
}
