//! A second implementation of placing summaries: computed from the result of the free layers and the number of replaced
//! messages in the report.

use std::collections::BTreeMap;

use ctxpack::format::{Format, Warnings};
use ctxpack::outcome::ConversationOutcome;
use ctxpack::policy::{History, OnFailure, Role, Slot, Substitutions};
use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;
use serde_json::{Value, json};

use super::super::case::{Case, Run, split};
use super::super::json::{self, Node};
use super::super::known::Chain;
use super::super::policies;
use super::super::view::view;
use super::is_summarised;
use super::words::{self, Counter};

/// A message as the second reader reads it.
struct Message {
    bytes: Vec<u8>,
    /// Its line, from 0.
    line: usize,
    role: String,
    typed: Option<String>,
    thinks: bool,
    calls: Vec<String>,
    results: Vec<String>,
}

impl Message {
    fn new(line_number: usize, line: &[u8], node: &Node) -> Message {
        let string =
            |node: &Node, key: &str| node.get(key).map(|n| n.text(line)).unwrap_or_default();
        let mut message = Message {
            bytes: node.of(line).to_vec(),
            line: line_number,
            role: string(node, "role"),
            typed: words::typed_in(line, node),
            thinks: node
                .get("reasoning_content")
                .or(node.get("reasoning"))
                .is_some(),
            calls: Vec::new(),
            results: Vec::new(),
        };
        for block in node.get("content").map(Node::list).unwrap_or_default() {
            match string(block, "type").as_str() {
                "tool_use" => message.calls.push(string(block, "id")),
                "tool_result" => message.results.push(string(block, "tool_use_id")),
                "thinking" | "redacted_thinking" | "reasoning" => message.thinks = true,
                "tool-call" => message.calls.push(string(block, "toolCallId")),
                "tool-result" => message.results.push(string(block, "toolCallId")),
                _ => {}
            }
        }
        let calls = node.get("tool_calls").map(Node::list).unwrap_or_default();
        message
            .calls
            .extend(calls.iter().map(|call| string(call, "id")));
        if let Some(call) = node.get("function_call") {
            message
                .calls
                .push(format!("function {}", string(call, "name")));
        }
        match message.role.as_str() {
            "tool" => message.results.push(string(node, "tool_call_id")),
            "function" => message
                .results
                .push(format!("function {}", string(node, "name"))),
            _ => {}
        }
        message
    }

    fn is_system(&self) -> bool {
        matches!(self.role.as_str(), "system" | "developer")
    }
}

/// The messages of a file with one on each line, without those of other lines.
fn messages(bytes: &[u8]) -> Vec<Message> {
    let lines = split(bytes).1.into_iter().enumerate();
    let message = |(number, (line, _)): (usize, (&[u8], &[u8]))| {
        let root = json::object(line)?;
        root.get("role")
            .is_some()
            .then(|| Message::new(number, line, &root))
    };
    lines.filter_map(message).collect()
}

/// Checks the new messages against the policy; `next` is the message after them.
fn check_new(case: &Case, format: Format, new: &[&[u8]], next: Option<&Message>) -> TestCaseResult {
    let new: Vec<Value> = new
        .iter()
        .map(|line| serde_json::from_slice(line).unwrap())
        .collect();
    let summary = &case.policy.summary;
    let role = match (summary.role, format) {
        (Role::Assistant, Format::OpenAi | Format::AiSdk) => "assistant",
        _ => "user",
    };
    let text = new[0]["content"].as_str().unwrap_or_default();
    prop_assert_eq!(&new[0], &json!({"role": role, "content": text}));
    prop_assert!(text.starts_with(summary.text.prefix()), "{}", text);
    if summary.text.holds(Slot::Name) {
        let values = summary.text.matches(text);
        let is_own = |name: &str| case.archives().iter().any(|own| own == name);
        prop_assert!(values.is_some_and(|values| is_own(values.name)), "{}", text);
    }
    match new.get(1) {
        Some(ack) => {
            prop_assert_eq!(ack, &json!({"role": "assistant", "content": summary.ack}));
            prop_assert!(!summary.ack.is_empty());
        }
        None => {
            let thinks = next.is_some_and(|next| next.role == "assistant" && next.thinks);
            prop_assert!(summary.ack.is_empty() || thinks);
        }
    }
    prop_assert!(new.len() <= 2);
    Ok(())
}

/// How many of these messages a conversation's summary replaces, and the number of the first kept one.
fn replaced(
    outcome: &ConversationOutcome,
    messages: &[Message],
) -> Result<(Vec<bool>, usize), TestCaseError> {
    let summary = outcome.summary.as_ref().unwrap();
    let mut left = summary.messages;
    let goes: Vec<bool> = messages
        .iter()
        .map(|message| {
            let goes = !message.is_system() && left > 0;
            left -= u64::from(goes);
            goes
        })
        .collect();
    prop_assert_eq!(left, 0);
    let is_kept = |n: &usize| !goes[*n] && !messages[*n].is_system();
    let first = (0..messages.len()).find(is_kept);
    let kept = (0..messages.len()).filter(is_kept).count();
    prop_assert_eq!(kept as u64, summary.preserved_messages);
    Ok((goes, first.unwrap_or(messages.len())))
}

/// A file with one message per line: the replaced lines are removed, the new ones are before the first kept line, or where the
/// last one was; every other line is as the free layers wrote it.
pub(in super::super) fn file(case: &Case, format: Format, free: &Run, run: &Run) -> TestCaseResult {
    let [outcome] = run.outcome.conversations.as_slice() else {
        return Err(TestCaseError::fail("one conversation"));
    };
    if !is_summarised(outcome) {
        prop_assert!(run.bytes == free.bytes);
        return Ok(());
    }
    let messages = messages(&free.bytes);
    let (goes, first) = replaced(outcome, &messages)?;
    let removed: Vec<usize> = (0..messages.len()).filter(|n| goes[*n]).collect();
    let place = match messages.get(first) {
        Some(message) => message.line,
        None => messages[removed[removed.len() - 1]].line + 1,
    };
    let removed: Vec<usize> = removed.iter().map(|n| messages[*n].line).collect();
    let (mark, before) = split(&free.bytes);
    let (mark_after, after) = split(&run.bytes);
    prop_assert_eq!(mark, mark_after);
    let count = after.len() + removed.len() - before.len();
    let mut at = 0;
    let mut new: &[(&[u8], &[u8])] = &[];
    for number in 0..=before.len() {
        if number == place {
            new = &after[at..at + count];
            at += count;
        }
        if number < before.len() && !removed.contains(&number) {
            prop_assert_eq!(before[number].0, after[at].0);
            at += 1;
        }
    }
    prop_assert_eq!(at, after.len());
    let new: Vec<&[u8]> = new.iter().map(|(line, _)| *line).collect();
    check_new(case, format, &new, messages.get(first))?;
    // No two lines are joined, and the line endings of the file are kept.
    let ends: Vec<&[u8]> = before.iter().map(|(_, end)| *end).collect();
    for (number, (_, end)) in after.iter().enumerate() {
        prop_assert!(!end.is_empty() || number + 1 == after.len());
        prop_assert!(ends.contains(end) || before.len() == 1, "{:?}", end);
    }
    Ok(())
}

/// A file with one conversation per line: the same in each list, and nothing around the lists has changed.
pub(in super::super) fn lines(
    case: &Case,
    format: Format,
    free: &Run,
    run: &Run,
) -> TestCaseResult {
    let (before, after) = (split(&free.bytes).1, split(&run.bytes).1);
    prop_assert_eq!(before.len(), after.len());
    let outcomes = run.outcome.conversations.iter();
    let outcomes: BTreeMap<&str, _> = outcomes.map(|c| (c.id.as_str(), c)).collect();
    for (number, (before, after)) in before.into_iter().zip(after).enumerate() {
        prop_assert_eq!(before.1, after.1);
        let outcome = outcomes.get(format!("line:{}", number + 1).as_str());
        let Some(outcome) = outcome.filter(|outcome| is_summarised(outcome)) else {
            prop_assert_eq!(before.0, after.0);
            continue;
        };
        let list = |line: &[u8]| json::object(line).unwrap().get("messages").unwrap().clone();
        let (was, is) = (list(before.0), list(after.0));
        prop_assert_eq!(&before.0[..was.span.start], &after.0[..is.span.start]);
        prop_assert_eq!(&before.0[was.span.end..], &after.0[is.span.end..]);
        let message = |line: &[u8], node: &Node| Message::new(number, line, node);
        let was: Vec<Message> = was.list().iter().map(|n| message(before.0, n)).collect();
        let is: Vec<Message> = is.list().iter().map(|n| message(after.0, n)).collect();
        let (goes, first) = replaced(outcome, &was)?;
        // It is before the kept messages, or in the place of the last one.
        let last = goes.iter().rposition(|goes| *goes).unwrap_or(0);
        let place = if first < was.len() { first } else { last };
        let count = is.len() + goes.iter().filter(|goes| **goes).count() - was.len();
        let mut at = 0;
        let mut new: &[Message] = &[];
        for (n, was) in was.iter().enumerate() {
            if n == place {
                new = &is[at..at + count];
                at += count;
            }
            if !goes[n] {
                prop_assert_eq!(&was.bytes, &is[at].bytes);
                at += 1;
            }
        }
        prop_assert_eq!(at, is.len());
        let new: Vec<&[u8]> = new.iter().map(|message| message.bytes.as_slice()).collect();
        check_new(case, format, &new, was.get(first))?;
    }
    Ok(())
}

/// A session: the live lines are a boundary, the summary, which is its child, and the end of what was live; every kept line
/// is as the free layers wrote it.
pub(in super::super) fn session(case: &Case, free: &Run, run: &Run) -> TestCaseResult {
    let summarised: Vec<bool> = run
        .outcome
        .conversations
        .iter()
        .map(is_summarised)
        .collect();
    if !summarised.contains(&true) {
        prop_assert!(run.bytes == free.bytes);
        return Ok(());
    }
    let (before, after) = (split(&free.bytes).1, split(&run.bytes).1);
    let ids = |lines: &[(&[u8], &[u8])]| -> Vec<Option<Vec<u8>>> {
        let id = |line: &[u8]| Some(view(Format::ClaudeCode, line)?.id?.of(line).to_vec());
        lines.iter().map(|(line, _)| id(line)).collect()
    };
    let (ids_before, ids_after) = (ids(&before), ids(&after));
    let has_new_id = |n: &usize| ids_after[*n].is_some() && !ids_before.contains(&ids_after[*n]);
    let parsed = |n: usize| serde_json::from_slice::<Value>(after[n].0).unwrap_or_default();
    let boundaries: Vec<Value> = (0..after.len())
        .filter(has_new_id)
        .map(|n| parsed(n)["uuid"].clone())
        .collect();
    // A summary may have the id of the last line, if that is removed.
    let is_summary = |n: usize| {
        let line = parsed(n);
        line["isCompactSummary"] == true && boundaries.contains(&line["parentUuid"])
    };
    let is_new = |n: &usize| has_new_id(n) || is_summary(*n);
    // Line by line: each is new, or it is the next kept line of the input.
    let mut stays = Vec::new();
    let mut next = 0;
    for n in (0..after.len()).filter(|n| !is_new(n)) {
        let is_it =
            |m: &usize| same_but_for_links(Format::ClaudeCode, before[*m].0, after[n].0).is_ok();
        let Some(found) = (next..before.len()).find(is_it) else {
            return Err(TestCaseError::fail(format!(
                "nobody wrote {}",
                after[n].0.escape_ascii()
            )));
        };
        stays.push(found);
        next = found + 1;
    }
    if case.policy.history == History::Keep {
        prop_assert_eq!(stays.len(), before.len());
    }
    let transcript = Format::ClaudeCode.read(&run.bytes, 1, &mut Warnings::default());
    if case.policy.history == History::Drop {
        prop_assert_eq!(
            Format::ClaudeCode.dead(&transcript).drop,
            Default::default()
        );
    }
    let free_line = |id: &Vec<u8>| -> Value {
        let mut ids = ids_before.iter();
        let line = ids.rposition(|other| other.as_ref() == Some(id));
        let line = line.map(|line| serde_json::from_slice(before[line].0));
        line.and_then(Result::ok).unwrap_or_default()
    };
    let is_followed = |id: &Vec<u8>| {
        let parent = |line: &[u8]| {
            let object = json::object(line)?;
            Some(object.get("parentUuid")?.of(line).to_vec())
        };
        before
            .iter()
            .any(|(line, _)| parent(line).as_ref() == Some(id))
    };
    // The live lines of each conversation by their ids.
    let path = |path: &[u32]| -> Vec<Vec<u8>> {
        let id = |line: &u32| ids_after[*line as usize].clone().unwrap();
        path.iter().map(id).collect()
    };
    let mut paths: Vec<Vec<Vec<u8>>> = transcript
        .conversations
        .iter()
        .map(|c| path(&c.path))
        .collect();
    let original = split(&case.bytes).1;
    let original = ids(&original);
    for (window, outcome) in case.known.windows.iter().zip(&run.outcome.conversations) {
        if outcome.messages_after == 0 {
            continue;
        }
        let was: Vec<Vec<u8>> = window
            .lines
            .iter()
            .map(|l| original[*l].clone().unwrap())
            .collect();
        let is_it = |path: &Vec<Vec<u8>>| match (is_summarised(outcome), &path[..]) {
            (true, [boundary, _, tail @ ..]) => {
                !ids_before.contains(&Some(boundary.clone())) && was.ends_with(tail)
            }
            (true, _) => false,
            (false, path) => path == was,
        };
        let Some(at) = paths.iter().position(is_it) else {
            return Err(TestCaseError::fail(format!(
                "{}: no path of {paths:?} ends {was:?}",
                outcome.id
            )));
        };
        let path = paths.remove(at);
        if !is_summarised(outcome) {
            continue;
        }
        let line = |id: &Vec<u8>| -> Value {
            // Of two lines with one id the later one counts.
            let mut ids = ids_after.iter();
            parsed(ids.rposition(|other| other.as_ref() == Some(id)).unwrap())
        };
        let (boundary, summary) = (line(&path[0]), line(&path[1]));
        prop_assert_eq!(&boundary["subtype"], "compact_boundary");
        prop_assert_eq!(&summary["isCompactSummary"], true);
        prop_assert_eq!(&summary["parentUuid"], &boundary["uuid"]);
        prop_assert_eq!(&summary["message"]["role"], "user");
        // The lines that are pruned afterwards may have been the only answers.
        let is_pruned = case.policy.summary.on_failure == OnFailure::Prune;
        // Where links are broken, no agent can have it open.
        let is_whole = case.known.chain == Chain::Whole;
        if outcome.id == "main" && is_whole && !is_pruned {
            check_open_end(&was, &path, &line, &free_line, &is_followed)?;
        }
        let text = summary["message"]["content"].as_str().unwrap();
        prop_assert!(text.starts_with(case.policy.summary.text.prefix()));
        for line in [&boundary, &summary] {
            prop_assert_eq!(&line["sessionId"], "5c0375b4");
            prop_assert_eq!(&line["cwd"], "/w");
            prop_assert!(line["timestamp"].is_string());
        }
    }
    prop_assert!(paths.iter().all(Vec::is_empty), "{:?}", paths);
    Ok(())
}

/// An agent that has the session open continues after the last line that it knows; and where no answer is kept, the parent of
/// the boundary is an empty answer with the same model.
fn check_open_end(
    was: &[Vec<u8>],
    path: &[Vec<u8>],
    after: &impl Fn(&Vec<u8>) -> Value,
    before: &impl Fn(&Vec<u8>) -> Value,
    is_followed: &impl Fn(&Vec<u8>) -> bool,
) -> TestCaseResult {
    let is_answer = |line: &Value| {
        line["type"] == "assistant"
            && line["isSidechain"] != true
            && line["isApiErrorMessage"] != true
            && line["message"]["model"] != "<synthetic>"
    };
    let is_sidechain = |id: &Vec<u8>| before(id)["isSidechain"] == true;
    // The parent of other lines stays where it is.
    let is_free = was.last().is_some_and(|last| !is_followed(last));
    if path.len() == 2 && is_free && !was.iter().any(is_sidechain) {
        prop_assert!(was.contains(&path[1]), "{:?} is no end of {was:?}", path[1]);
    }
    // A line with a number that serde_json cannot represent may be one, too.
    let may_be_answer = |line: Value| line.is_null() || is_answer(&line);
    if path[2..].iter().any(|id| may_be_answer(after(id))) {
        return Ok(());
    }
    let Some(last) = was.iter().map(before).rfind(is_answer) else {
        return Ok(());
    };
    let above = after(&path[0])["parentUuid"].clone();
    prop_assert!(above.is_string(), "{above}");
    let above = after(&above.to_string().into_bytes());
    if above.is_null() {
        // It exists, with a number that serde_json cannot represent.
        return Ok(());
    }
    prop_assert_eq!(&above["message"]["model"], &last["message"]["model"]);
    prop_assert_eq!(&above["message"]["content"], &json!([]));
    prop_assert_eq!(&above["parentUuid"], &Value::Null);
    Ok(())
}

/// Two lines differ only in their parents and in the figures that a provider counted.
pub(in super::super) fn same_but_for_links(
    format: Format,
    before: &[u8],
    after: &[u8],
) -> TestCaseResult {
    let (Some(was), Some(is)) = (view(format, before), view(format, after)) else {
        prop_assert_eq!(before, after);
        return Ok(());
    };
    let holes = |view: super::super::view::LineView| {
        let holes = view.link.into_iter().chain(view.figures);
        let mut holes: Vec<Node> = holes.chain(view.sums).collect();
        holes.sort_by_key(|node| node.span.start);
        holes
    };
    let (was, is) = (holes(was), holes(is));
    prop_assert_eq!(was.len(), is.len());
    let (mut at, mut at_after) = (0, 0);
    for (was, is) in was.into_iter().zip(is) {
        prop_assert_eq!(&before[at..was.span.start], &after[at_after..is.span.start]);
        (at, at_after) = (was.span.end, is.span.end);
        let (old, new) = (was.number(before), is.number(after));
        // A summary can contain more of the outputs than was left after clearing them: the figure follows the whole.
        prop_assert_eq!(old.is_none(), new.is_none());
    }
    prop_assert_eq!(&before[at..], &after[at_after..]);
    Ok(())
}

/// The tokens of the smallest possible result, and the number of messages that it keeps: the system's messages, the last typed
/// message, and everything from the last answer on. `None` where it is the unchanged conversation, or where a message would have
/// to be clipped.
pub(super) fn smallest(case: &Case, format: Format) -> Option<(u64, u64)> {
    let free = case.compact_by(&policies::free(&case.policy), &case.bytes);
    let all = messages(&free.bytes);
    let (system, rest): (Vec<&Message>, Vec<&Message>) = all.iter().partition(|m| m.is_system());
    let first = match rest.iter().rposition(|m| m.role == "assistant") {
        Some(last) => (0..=last).rev().find(|n| is_whole(&rest, *n))?,
        None => rest.len().saturating_sub(1),
    };
    let next = rest.get(first);
    if first == 0
        || matches!(format, Format::OpenAi | Format::AiSdk) && next.is_some_and(|next| next.thinks)
    {
        return None;
    }
    let typed = rest.iter().rposition(|m| m.typed.is_some());
    let summary = match typed.filter(|typed| *typed < first) {
        Some(typed) => {
            let words = rest[typed].typed.as_deref().unwrap_or_default();
            if !Counter::new(case).fits(words) {
                return None;
            }
            row(rest[typed].line + 1, words)
        }
        None => String::new(),
    };
    let settings = &case.policy.summary;
    let text = settings.text.render(&Substitutions {
        name: &case.archive(),
        summary: &summary,
        ..Substitutions::default()
    });
    let role = match (settings.role, format) {
        (Role::Assistant, Format::OpenAi | Format::AiSdk) => "assistant",
        _ => "user",
    };
    let mut lines: Vec<Vec<u8>> = system.iter().map(|m| m.bytes.clone()).collect();
    lines.push(
        json!({"role": role, "content": text})
            .to_string()
            .into_bytes(),
    );
    let thinks = next.is_some_and(|next| next.role == "assistant" && next.thinks);
    if !settings.ack.is_empty() && !thinks {
        lines.push(
            json!({"role": "assistant", "content": settings.ack})
                .to_string()
                .into_bytes(),
        );
    }
    lines.extend(rest[first..].iter().map(|m| m.bytes.clone()));
    let counted = words::count(case, format, &lines.join(&b'\n'));
    Some((counted, (rest.len() - first) as u64))
}

/// Whether no call is separated from its results where the conversation begins with this message.
fn is_whole(rest: &[&Message], first: usize) -> bool {
    let of_earlier = |n: usize, id: &String| {
        let call = rest[..=n].iter().rposition(|m| m.calls.contains(id));
        call.is_some_and(|call| call < first)
    };
    let is_parted = (first..rest.len()).any(|n| rest[n].results.iter().any(|id| of_earlier(n, id)));
    let goes_on = first > 0
        && rest[first].role == "assistant"
        && rest[first - 1].role == "assistant"
        && rest[first - 1].thinks;
    !is_parted && !goes_on
}

/// A summary that consists only of a user's message.
fn row(line: usize, words: &str) -> String {
    if words.trim().is_empty() {
        return String::new();
    }
    let head = format!("## User requests\nL{line}");
    if words.trim() == words && !words.contains('\n') {
        format!("{head} {words}")
    } else {
        format!("{head}\n~~~\n{words}\n~~~")
    }
}
