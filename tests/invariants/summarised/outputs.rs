//! Outputs that were shortened for a target, compared with the result of the free layers.

use ctxpack::format::{Format, Layout};
use ctxpack::outcome::{ConversationOutcome, Status};
use ctxpack::policy::Policy;
use ctxpack::store::offload_in;
use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;

use super::super::case::{Case, Run, offload_path, split};
use super::super::policies;
use super::super::replaced::same_but_for_results;
use super::super::view::{result_text, view};

/// Whether an output of a conversation was shortened.
pub(super) fn are_fitted_in(conversation: &ConversationOutcome) -> bool {
    let mut actions = conversation.actions.iter();
    actions.any(|action| action.reason.contains("too large for the target of"))
}

/// Whether any output was shortened.
pub(super) fn are_fitted(run: &Run) -> bool {
    run.outcome.conversations.iter().any(are_fitted_in)
}

/// The same case without a target.
pub(super) fn without_target(case: &Case) -> Case {
    let mut case = case.clone();
    (case.policy.target.tokens, case.policy.target.percent) = (0, 0.0);
    case
}

/// Every output is as the free layers wrote it, or is reduced to its beginning and its end, or names where it is; everything
/// else on its line is unchanged.
pub(super) fn check(case: &Case) -> TestCaseResult {
    let run = case.compact();
    let free = case.compact_by(&policies::free(&case.policy), &case.bytes);
    let Some((format, layout)) = run.detected else {
        return Ok(());
    };
    if run.outcome.status == Status::Rejected {
        return Ok(());
    }
    let before = split(&free.bytes).1;
    let contents: Vec<(String, Vec<u8>)> = before
        .iter()
        .flat_map(|(line, _)| contents(format, line))
        .collect();
    let mut is_fitted = false;
    for (line, _) in split(&run.bytes).1 {
        let mut is_edited = false;
        for (id, is) in self::contents(format, line) {
            let mut was = contents.iter().filter(|(of, _)| *of == id).map(|(_, w)| w);
            if was.clone().any(|was| *was == is) {
                continue;
            }
            is_edited = true;
            prop_assert!(
                was.any(|was| is_smaller(&case.policy, was, &is)),
                "{id}: {}",
                is.escape_ascii()
            );
        }
        is_fitted |= is_edited;
        // Items that a compaction keeps are on its line, which is new.
        if is_edited && layout == Layout::File && format != Format::Codex {
            let mut before = before.iter();
            prop_assert!(
                before.any(|(was, _)| same_but_for_results(format, was, line).is_ok()),
                "{}",
                line.escape_ascii()
            );
        }
    }
    prop_assert!(!is_fitted || are_fitted(&run));
    prop_assert!(!is_fitted || case.policy.target.asked(1).is_some());
    Ok(())
}

/// The texts of the results on a line, by their ids.
fn contents(format: Format, line: &[u8]) -> Vec<(String, Vec<u8>)> {
    let results = view(format, line).map(|view| view.results);
    let results = results.unwrap_or_default().into_iter();
    results
        .filter_map(|result| Some((result.id, result_text(line, &result.content?))))
        .collect()
}

fn is_smaller(policy: &Policy, was: &[u8], is: &[u8]) -> bool {
    let (was, is) = (String::from_utf8_lossy(was), String::from_utf8_lossy(is));
    // A name: that of the earlier text, or the name that the earlier text contained.
    let name = offload_path(was.as_bytes());
    let named = policy.demote.text.matches(&was).map(|values| values.name);
    let name = named
        .filter(|name| offload_in(name).is_some())
        .unwrap_or(&name);
    if is.contains(name) {
        return true;
    }
    let lines: Vec<&str> = is.split('\n').collect();
    let mut all = lines.iter();
    let marker = all.position(|line| line.starts_with("[… ") && line.ends_with(" omitted …]"));
    marker.is_some_and(|at| {
        let (head, tail) = (lines[..at].join("\n"), lines[at + 1..].join("\n"));
        was.starts_with(&head) && was.ends_with(&tail)
    })
}
