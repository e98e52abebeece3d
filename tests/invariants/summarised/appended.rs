//! A second implementation of placing a summary that is an entry on the path to a session's last entry.

use std::collections::BTreeMap;

use ctxpack::format::{Format, Warnings};
use ctxpack::policy::History;
use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;

use super::super::case::{Case, Kept, Run, split};
use super::super::json;
use super::is_summarised;
use super::spliced::same_but_for_links;

/// The live entries are the new entry and the end of what was live; every other kept line is as the free layers wrote it.
pub(in super::super) fn session(case: &Case, free: &Run, run: &Run) -> TestCaseResult {
    let [outcome] = run.outcome.conversations.as_slice() else {
        return Err(TestCaseError::fail("one conversation"));
    };
    if !is_summarised(outcome) {
        prop_assert!(run.bytes == free.bytes);
        return Ok(());
    }
    let (before, after) = (split(&free.bytes).1, split(&run.bytes).1);
    // Line by line: each is the next kept line of the input, by their numbers there.
    let numbers: Vec<usize> = free
        .kept(&case.bytes)
        .iter()
        .map(|k: &Kept| k.line)
        .collect();
    let mut stays = BTreeMap::new();
    let (mut next, mut new) = (0, None);
    for (n, line) in after.iter().enumerate() {
        let is_it = |m: &usize| same_but_for_links(Format::Pi, before[*m].0, line.0).is_ok();
        match (next..before.len()).find(is_it) {
            Some(found) => {
                stays.insert(n, numbers[found]);
                next = found + 1;
            }
            None if new.is_none() => new = Some(n),
            None => {
                let line = line.0.escape_ascii();
                return Err(TestCaseError::fail(format!("nobody wrote {line}")));
            }
        }
    }
    let Some(at) = new else {
        return Err(TestCaseError::fail("no line is new"));
    };
    let transcript = Format::Pi.read(&run.bytes, 1, &mut Warnings::default());
    match case.policy.history {
        History::Keep => prop_assert_eq!(stays.len(), before.len()),
        History::Drop => prop_assert_eq!(Format::Pi.dead(&transcript).drop, Default::default()),
    }
    let path = &transcript.conversations[0].path;
    prop_assert_eq!(path.first().copied(), Some(at as u32));
    let tail = path[1..].iter().map(|line| stays[&(*line as usize)]);
    let tail: Vec<usize> = tail.collect();
    prop_assert!(
        case.known.windows[0].lines.ends_with(&tail),
        "{tail:?} is no end of {:?}",
        case.known.windows[0].lines
    );
    let new_line = after[at].0;
    let Some(new) = json::object(new_line) else {
        return Err(TestCaseError::fail("the new line is no object"));
    };
    let string = |key| new.get(key).map(|node| node.text(new_line));
    prop_assert_eq!(string("type"), Some("compaction".to_owned()));
    let text = string("summary").unwrap_or_default();
    let begins = text.starts_with(case.policy.summary.text.prefix());
    prop_assert!(begins, "{text:?}");
    // A kept answer is not newer than the summary.
    let original = split(&case.bytes).1;
    let last = tail.last().or(case.known.windows[0].lines.last());
    let last = original[*last.unwrap()].0;
    let entry = json::object(last).unwrap();
    let time = entry.get("timestamp").map(|node| node.text(last));
    prop_assert_eq!(string("timestamp"), time);
    let has_ids = entry.get("id").is_some();
    prop_assert_eq!(new.get("id").is_some(), has_ids);
    prop_assert_eq!(new.get("parentId").is_some(), has_ids);
    if has_ids {
        // An earlier compaction counts first, wherever it is.
        let leaf = case.known.windows[0].lines.iter().max().unwrap();
        let leaf = string_under(original[*leaf].0, "id").unwrap();
        leads_to_new(&after, leaf, &string("id").unwrap_or_default())?;
    }
    Ok(())
}

/// The parent of what an agent appends, which had the session open, is its last entry, `leaf`: from there, the path to the root
/// must lead to `new`.
fn leads_to_new(lines: &[(&[u8], &[u8])], leaf: String, new: &str) -> TestCaseResult {
    // Of two entries with the same id, the later one counts.
    let parents: BTreeMap<String, Option<String>> = lines
        .iter()
        .filter_map(|(line, _)| Some((string_under(line, "id")?, string_under(line, "parentId"))))
        .collect();
    let mut at = Some(leaf);
    for _ in 0..=lines.len() {
        let Some(id) = at else { break };
        if id == new {
            return Ok(());
        }
        at = parents.get(&id).cloned().flatten();
    }
    Err(TestCaseError::fail(
        "the last entry does not hang on the summary",
    ))
}

fn string_under(line: &[u8], key: &str) -> Option<String> {
    Some(json::object(line)?.get(key)?.text(line))
}
