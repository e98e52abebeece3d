//! The to-dos that are open at an event: those of the last list that a call wrote, or the tasks that were created and not closed.
//!
//! Reads them independently of `facts`. A failed call changes no list.

use std::collections::BTreeMap;

use super::events::EventKind;
use super::index::Index;
use super::todos::{CLOSED, Task};

/// The tasks that are open before the event `cut`; `None` if none was created.
fn tasks(index: &Index, cut: usize) -> Option<Vec<String>> {
    let mut tasks: BTreeMap<String, Task> = BTreeMap::new();
    for (number, event) in index.events[..cut].iter().enumerate() {
        let EventKind::Call { call, .. } = &event.what else {
            continue;
        };
        let Some(change) = &call.task else {
            continue;
        };
        let answer = index.answer_to(number, cut);
        let named = || {
            let (_, rest) = answer?.split_once("Task #")?;
            let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
            Some(digits)
        };
        let failed = index
            .end_of(number, cut)
            .is_some_and(|end| end.is_failure());
        let Some(id) = change.number.clone().or_else(named).filter(|_| !failed) else {
            continue;
        };
        let task = tasks.entry(id).or_default();
        task.words = change.words.clone().or(task.words.take());
        task.state = change.state.clone().or(task.state.take());
    }
    if tasks.is_empty() {
        return None;
    }
    let is_open = |task: &Task| {
        let state = task.state.as_deref().unwrap_or_default();
        !CLOSED.contains(&state)
    };
    let open = tasks.into_values().filter(is_open);
    Some(open.filter_map(|task| task.words).collect())
}

/// The open to-dos before the event `cut`, the beginnings of their texts with single blanks.
pub(super) fn open(index: &Index, cut: usize) -> Vec<String> {
    if let Some(tasks) = tasks(index, cut) {
        return tasks;
    }
    let events = index.events[..cut].iter().enumerate().rev();
    let lists = events.filter_map(|(number, event)| match &event.what {
        EventKind::Call { call, .. } => {
            let failed = index
                .end_of(number, cut)
                .is_some_and(|end| end.is_failure());
            call.todos.as_ref().filter(|_| !failed)
        }
        EventKind::User | EventKind::Agent | EventKind::Result { .. } | EventKind::Notice => None,
    });
    lists.into_iter().next().cloned().unwrap_or_default()
}
