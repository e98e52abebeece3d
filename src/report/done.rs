//! What was done to an input, in one line for people: by kind, with the tokens that each kind saved; or why nothing was done.
//!
//! Says nothing that the outcome does not contain. Text from a transcript is not escaped here.

use crate::outcome::{Action, ActionKind, ConversationOutcome, Outcome, Status};
use crate::text::{count, thousands};

/// The kinds, in the order in which a person would mention them.
const KINDS: [ActionKind; 8] = [
    ActionKind::Redact,
    ActionKind::Drop,
    ActionKind::Clear,
    ActionKind::Demote,
    ActionKind::Offload,
    ActionKind::Summarize,
    ActionKind::Prune,
    ActionKind::Restore,
];

/// What was done to an input, or why nothing was; `None` if its error says it.
pub(super) fn done(outcome: &Outcome) -> Option<String> {
    match outcome.status {
        Status::Failed | Status::Rejected | Status::Unsupported => None,
        Status::Skipped => {
            let is_told = outcome.file.error.is_some();
            (!is_told).then(|| "not read: an earlier run of ctxpack wrote it".to_owned())
        }
        Status::Unchanged => nothing_done(outcome),
        Status::Compacted => {
            let all = || outcome.conversations.iter().flat_map(|c| &c.actions);
            let kinds = KINDS.into_iter();
            let parts: Vec<String> = kinds
                .filter_map(|kind| part(kind, outcome, all()))
                .collect();
            match parts.is_empty() {
                true => None,
                false => Some(parts.join(", ")),
            }
        }
    }
}

/// Why nothing was done. Each conversation has its own trigger, so the reason is never given for their sum.
fn nothing_done(outcome: &Outcome) -> Option<String> {
    let why = &main(outcome)?.reason;
    if why.is_empty() {
        return None;
    }
    let all = outcome.conversations.len() as u64;
    let others = outcome.conversations.iter().filter(|c| c.reason != *why);
    Some(match (all, others.count() as u64) {
        (1, _) => format!("nothing done: {why}"),
        (_, 0) => format!(
            "nothing done in any of {}: {why}",
            count(all, "conversation")
        ),
        (_, others) => format!(
            "nothing done in any of {}: {why}; other reasons for {} of them",
            count(all, "conversation"),
            thousands(others)
        ),
    })
}

/// The main conversation separately from the others, which an agent does not send when it continues the session.
pub(super) fn apart(outcome: &Outcome) -> Option<String> {
    let main = main(outcome)?;
    let others = outcome.conversations.len() as u64 - 1;
    if others == 0 || main.id != MAIN {
        return None;
    }
    let change = |before: u64, after: u64| format!("{} → {}", thousands(before), thousands(after));
    let target = outcome.conversations.iter().any(|c| c.target.is_some());
    Some(format!(
        "main: {}; {}: {}{}",
        change(main.tokens_before, main.tokens_after),
        count(others, "other conversation"),
        change(
            outcome.tokens_before() - main.tokens_before,
            outcome.tokens_after() - main.tokens_after
        ),
        if target {
            " (a target is for each of them)"
        } else {
            ""
        }
    ))
}

/// The provider's count for the main conversation, and how much of it is in the file, which the table has as an estimate.
pub(super) fn recorded(outcome: &Outcome) -> Option<String> {
    let main = main(outcome)?;
    let usage = main.usage?;
    // Next to the sum of several conversations, it would seem to be theirs.
    let of = match outcome.conversations.len() {
        0 | 1 => String::new(),
        _ => format!(" in {}", main.id),
    };
    let content = usage.recorded.checked_sub(usage.overhead)?;
    Some(format!(
        "the provider counted {} tokens{of}: about {} outside the file + {} in it (estimate: {})",
        thousands(usage.recorded),
        thousands(usage.overhead),
        thousands(content),
        thousands(main.tokens_before)
    ))
}

/// The id of the main conversation, in formats that have one.
const MAIN: &str = "main";

/// The main conversation, or the largest one in formats without one.
fn main(outcome: &Outcome) -> Option<&ConversationOutcome> {
    let conversations = || outcome.conversations.iter();
    let main = conversations().find(|conversation| conversation.id == MAIN);
    // Among equals, the first one.
    let largest = || {
        conversations()
            .rev()
            .max_by_key(|conversation| conversation.tokens_before)
    };
    main.or_else(largest)
}

/// Everything of one kind that was done.
fn part<'a>(
    kind: ActionKind,
    outcome: &Outcome,
    actions: impl Iterator<Item = &'a Action>,
) -> Option<String> {
    let (mut number, mut before, mut after) = (0, 0, 0);
    for action in actions.filter(|action| action.kind == kind) {
        number += 1;
        before += action.tokens_before;
        after += action.tokens_after;
    }
    if number == 0 {
        return None;
    }
    let what = match kind {
        ActionKind::Redact => "secrets masked".to_owned(),
        // Dead lines are not part of what a model sees, so they have no tokens.
        ActionKind::Drop => return Some("dead lines dropped".to_owned()),
        ActionKind::Clear => format!("{} cleared", count(number, "result")),
        ActionKind::Demote => format!("{} moved to the store", count(number, "output")),
        ActionKind::Offload => format!("{} offloaded", count(number, "result")),
        ActionKind::Summarize => {
            let summaries = outcome
                .conversations
                .iter()
                .filter_map(|c| c.summary.as_ref());
            let messages = summaries.map(|summary| summary.messages).sum();
            format!("{} summarised", count(messages, "message"))
        }
        ActionKind::Prune => "messages removed".to_owned(),
        ActionKind::Restore => format!("{} restored", count(number, "file")),
    };
    let sign = if after > before { '+' } else { '−' };
    Some(format!(
        "{what} {sign}{}",
        thousands(before.abs_diff(after))
    ))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn action(kind: ActionKind, tokens_before: u64, tokens_after: u64) -> Action {
        Action {
            kind,
            line: 1,
            message: 1,
            tool: None,
            reason: "why".to_owned(),
            tokens_before,
            tokens_after,
        }
    }

    #[test]
    fn kinds_add_up_and_reasons_are_told() {
        let mut outcome = Outcome::unchanged(Path::new("a"), 1, "blake3:00");
        assert_eq!(done(&outcome), None);
        let mut conversation = ConversationOutcome::unchanged("main", "classes", 9_000, 9);
        conversation.reason = "no layer is on".to_owned();
        outcome.conversations.push(conversation);
        let said = |outcome: &Outcome| done(outcome).unwrap();
        assert_eq!(said(&outcome), "nothing done: no layer is on");
        let other = outcome.conversations[0].clone();
        outcome.conversations.push(other);
        let both = "nothing done in any of 2 conversations: no layer is on";
        assert_eq!(said(&outcome), both);
        outcome.conversations[1].reason = "a target is met".to_owned();
        assert_eq!(
            said(&outcome),
            format!("{both}; other reasons for 1 of them")
        );
        outcome.conversations.pop();
        outcome.status = Status::Compacted;
        outcome.conversations[0].actions = vec![
            action(ActionKind::Restore, 0, 40),
            action(ActionKind::Clear, 500, 10),
            action(ActionKind::Drop, 0, 0),
            action(ActionKind::Clear, 1_500, 10),
        ];
        assert_eq!(
            said(&outcome),
            "dead lines dropped, 2 results cleared −1 980, 1 file restored +40"
        );
        let skipped = Outcome::skipped(Path::new("b"));
        assert_eq!(
            said(&skipped),
            "not read: an earlier run of ctxpack wrote it"
        );
    }
}
