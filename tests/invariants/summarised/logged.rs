//! A second implementation of placing a summary that is an event of a log, after one that says what stays.

use std::collections::BTreeMap;

use ctxpack::format::{Format, Warnings};
use ctxpack::policy::History;
use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;

use super::super::case::{Case, Run, split};
use super::super::json;
use super::is_summarised;
use super::spliced::same_but_for_links;

/// The live events are the summary and the end of what was live; every other kept line is as the free layers wrote it, and what
/// leaves besides are compactions that would count for more than the new one.
pub(in super::super) fn session(case: &Case, free: &Run, run: &Run) -> TestCaseResult {
    let main = run.outcome.conversations.first();
    if !main.is_some_and(is_summarised) {
        prop_assert!(run.bytes == free.bytes);
        return Ok(());
    }
    let (before, after) = (split(&free.bytes).1, split(&run.bytes).1);
    let kept = free.kept(&case.bytes);
    let mut stays = BTreeMap::new();
    let (mut next, mut new) = (0, Vec::new());
    for (n, (line, _)) in after.iter().enumerate() {
        let is_it = |m: &usize| same_but_for_links(Format::Copilot, before[*m].0, line).is_ok();
        match (next..before.len()).find(is_it) {
            Some(found) => {
                stays.insert(n, kept[found].line);
                next = found + 1;
            }
            None => new.push(n),
        }
    }
    let [begun, done] = new[..] else {
        return Err(TestCaseError::fail(format!("{} lines are new", new.len())));
    };
    prop_assert_eq!(begun + 1, done);
    let string = |n: usize, key: &str| string_under(after[n].0, key);
    prop_assert_eq!(
        string(begun, "type"),
        Some("session.compaction_start".to_owned())
    );
    prop_assert_eq!(
        string(done, "type"),
        Some("session.compaction_complete".to_owned())
    );
    prop_assert_eq!(string(done, "parentId"), string(begun, "id"));
    // What leaves is a compaction, or dead.
    if case.policy.history == History::Keep {
        let original = split(&case.bytes).1;
        let is_there = |line: &usize| stays.values().any(|stays| stays == line);
        for line in kept
            .iter()
            .map(|kept| kept.line)
            .filter(|line| !is_there(line))
        {
            let kind = string_under(original[line].0, "type").unwrap_or_default();
            prop_assert!(kind.starts_with("session.compaction_"), "{kind} left");
        }
    }
    let transcript = Format::Copilot.read(&run.bytes, 1, &mut Warnings::default());
    if case.policy.history == History::Drop {
        prop_assert_eq!(Format::Copilot.dead(&transcript).drop, Default::default());
    }
    let path = &transcript.conversations[0].path;
    prop_assert_eq!(path.first().copied(), Some(done as u32));
    let tail = path[1..].iter().map(|line| stays[&(*line as usize)]);
    let tail: Vec<usize> = tail.collect();
    let lines = &case.known.windows[0].lines;
    prop_assert!(lines.ends_with(&tail), "{tail:?} is no end of {lines:?}");
    // The first kept message follows at once; where nothing is kept, nothing follows.
    match tail.first() {
        Some(first) => {
            prop_assert_eq!(stays.get(&(done + 1)), Some(first));
            prop_assert_eq!(string(done + 1, "parentId"), string(done, "id"));
        }
        None => prop_assert_eq!(done + 1, after.len()),
    }
    let root = json::object(after[done].0);
    let text = root.as_ref().and_then(|root| {
        let text = root.get("data")?.get("summaryContent")?;
        Some(text.text(after[done].0))
    });
    let text = text.unwrap_or_default();
    prop_assert!(
        text.starts_with(case.policy.summary.text.prefix()),
        "{text:?}"
    );
    Ok(())
}

fn string_under(line: &[u8], key: &str) -> Option<String> {
    Some(json::object(line)?.get(key)?.text(line))
}
