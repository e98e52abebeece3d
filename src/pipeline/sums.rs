//! Makes the actions of each conversation add up: their savings are what the conversation has lost.
//!
//! Every action is counted by itself, with the roundings of its estimator; a summary is counted by what it replaced when it was
//! written, after clearing. The total that the conversation has lost therefore decides: a summary accounts for the messages that it
//! replaced as they were in the input, and a rounding difference goes to the other actions. Never changes the sizes of a
//! conversation.

use crate::outcome::{Action, ActionKind, ConversationOutcome};

/// Why a sidechain is gone.
const WITH_ITS_TASK: &str = "removed together with its task";

/// Makes the actions of a conversation add up; `line` is its first line in the input, from 1.
pub(super) fn add_up(outcome: &mut ConversationOutcome, line: u64) {
    if outcome.messages_before > 0 && outcome.messages_after == 0 && !is_replaced(outcome) {
        leave(outcome, line);
    }
    let saved = |action: &Action| signed(action.tokens_before) - signed(action.tokens_after);
    let restored: u64 = outcome.restored.iter().map(|file| file.tokens).sum();
    let whole = outcome.actions.iter().rposition(replaces_messages);
    if let Some(action) = whole.map(|at| &mut outcome.actions[at]) {
        // The files that were restored are a part of the summary's message, and actions of their own.
        action.tokens_after = action.tokens_after.saturating_sub(restored);
    }
    let all: i128 = outcome.actions.iter().map(saved).sum();
    let missing = signed(outcome.tokens_before) - signed(outcome.tokens_after) - all;
    match whole {
        Some(at) => add(&mut outcome.actions[at], missing),
        None => spread(&mut outcome.actions, missing),
    }
}

/// Records that a conversation was removed as a whole, whatever was done to it before.
fn leave(outcome: &mut ConversationOutcome, line: u64) {
    outcome
        .actions
        .retain(|action| action.kind == ActionKind::Drop);
    outcome.actions.push(Action {
        kind: ActionKind::Prune,
        line,
        message: 1,
        tool: None,
        reason: WITH_ITS_TASK.to_owned(),
        tokens_before: outcome.tokens_before,
        tokens_after: 0,
    });
    WITH_ITS_TASK.clone_into(&mut outcome.reason);
}

fn is_replaced(outcome: &ConversationOutcome) -> bool {
    outcome.actions.iter().any(replaces_messages)
}

/// Whether an action replaces or removes whole messages.
fn replaces_messages(action: &Action) -> bool {
    match action.kind {
        ActionKind::Summarize | ActionKind::Prune => true,
        ActionKind::Redact
        | ActionKind::Drop
        | ActionKind::Demote
        | ActionKind::Clear
        | ActionKind::Offload
        | ActionKind::Restore => false,
    }
}

/// Spreads `missing` tokens of saving over the actions on results, as evenly as their sizes allow.
fn spread(actions: &mut [Action], missing: i128) {
    let mut left = missing;
    let mut counted: Vec<&mut Action> = actions
        .iter_mut()
        .filter(|action| !matches!(action.kind, ActionKind::Redact | ActionKind::Drop))
        .collect();
    let count = counted.len();
    for (at, action) in counted.iter_mut().enumerate() {
        let others = signed((count - at) as u64);
        let share = left / others + (left % others).signum();
        add(action, share);
        left -= share;
    }
}

/// Adds to what an action has saved; sizes never become negative.
fn add(action: &mut Action, saved: i128) {
    let before = signed(action.tokens_before) + saved;
    action.tokens_before = unsigned(before);
    action.tokens_after += unsigned(-before);
}

fn signed(tokens: u64) -> i128 {
    i128::from(tokens)
}

/// The number, or 0 for a negative one.
fn unsigned(tokens: i128) -> u64 {
    u64::try_from(tokens).unwrap_or_default()
}
