//! To-dos as units, and what became of those in an earlier summary.
//!
//! A list that is written as a whole replaces all others. Tasks are created and changed one by one, so each is listed with the
//! number by which the agent changes it, which also identifies its row in an earlier summary.

use super::clip::clip;
use super::command_units::LONGEST_COMMAND;
use super::form::{Row, Section};
use super::gather::Gather;
use super::names::hash;
use super::task_changes::{CANCELLED, DONE, IN_PROGRESS, PENDING, TaskChanges, label};
use super::units::Claim;
use crate::facts::{Exchange, Reach, StateChange, Todos, last_todos, listed};

/// How labels of plans begin, other than those of to-dos.
pub(super) const PLAN: &str = "plan";

/// The value of a plan besides its names; of a to-do, half of it.
pub(super) const PLANNED: f64 = 1.0;

/// The prefix of the label of a to-do whose state may have changed since.
const WAS: &str = "was ";

/// The key of all to-dos, for comparing rows with newer ones.
const ALL: (Section, u64) = (Section::Plan, 1);

/// Adds the to-dos of the span in their final state, unless a list after it replaces them.
pub(super) fn gather(gather: &mut Gather<'_, '_>, own: &[Exchange], later: &[Exchange]) {
    let (transcript, conversation) = (gather.transcript, gather.conversation);
    let span = gather.span.clone();
    let after = gather.span.end..conversation.messages.len();
    let is_whole = |todos: &Todos| todos.reach == Reach::All;
    let is_replaced = last_todos(transcript, later.iter()).is_some_and(|todos| is_whole(&todos))
        || listed(transcript, conversation, after).is_some();
    if is_replaced {
        gather.known.insert(ALL);
        return;
    }
    // A list kept by a tool takes precedence over one in a text.
    let kept = last_todos(transcript, own.iter().chain(later));
    let Some(todos) = kept.or_else(|| listed(transcript, conversation, span)) else {
        return;
    };
    if is_whole(&todos) {
        gather.known.insert(ALL);
    }
    let end = gather.span.end;
    let is_of_span = |message: u32| (message as usize) < end;
    for todo in todos.items.iter().filter(|todo| is_of_span(todo.message)) {
        let text = clip(todo.text.trim(), LONGEST_COMMAND);
        let text = match &todo.number {
            Some(number) => format!("#{number} {text}"),
            None => text.into_owned(),
        };
        let label = label(todo.state);
        let row = Row {
            label: label.to_owned(),
            ..gather.row(Section::Plan, todos.call.line, &text)
        };
        let claim = match is_open(label) {
            true => Claim::Plan,
            false => Claim::Free,
        };
        gather.add(row, todos.call.message, claim, PLANNED / 2.0);
    }
    gather.task_changes = TaskChanges::of(todos.changes);
}

fn is_open(label: &str) -> bool {
    ![DONE, CANCELLED].contains(&label)
}

/// Whether a row is about a plan and not a to-do.
pub(super) fn is_plan(row: &Row) -> bool {
    row.section == Section::Plan && row.label.starts_with(PLAN)
}

/// Whether a row is a to-do that is no longer open.
pub(super) fn is_closed(row: &Row) -> bool {
    row.section == Section::Plan && !is_open(&row.label)
}

/// The key that a to-do shares with a newer row of itself: the number of a task, otherwise the list as a whole.
pub(super) fn key(row: &Row) -> (Section, u64) {
    match number(&row.text) {
        Some(number) => (Section::Plan, hash(number)),
        None => ALL,
    }
}

/// The number of the task that a row is about, with its mark.
fn number(text: &str) -> Option<&str> {
    let number = text.split(' ').next()?;
    let digits = number.strip_prefix('#')?;
    let is_number = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
    is_number.then_some(number)
}

/// The current state of a to-do from an earlier summary; `None` if it was replaced or removed.
pub(super) fn carried(gather: &Gather<'_, '_>, mut row: Row) -> Option<Row> {
    if is_plan(&row) {
        return Some(row);
    }
    if gather.known.contains(&ALL) {
        return None;
    }
    let Some(number) = number(&row.text).map(str::to_owned) else {
        // Summaries by other versions contain no numbers, so this may be a changed task.
        let is_of_list = [PENDING, IN_PROGRESS].contains(&&row.label[..]);
        if is_of_list && gather.task_changes.may_concern(&row.label) {
            row.label.insert_str(0, WAS);
        }
        return Some(row);
    };
    if let Some(change) = gather.task_changes.by_number.get(&number[1..]) {
        match change.state {
            StateChange::Deleted => return None,
            StateChange::To(state) => row.label = label(state).to_owned(),
            StateChange::Unchanged => {}
        }
        if let Some(text) = &change.text {
            row.text = format!("{number} {}", clip(text.trim(), LONGEST_COMMAND));
        }
    }
    Some(row)
}
