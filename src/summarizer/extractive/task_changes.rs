//! Changes of tasks from an earlier summary, and the labels of task states.
//!
//! PURE. Does not decide whether a row is one of these tasks.

use std::collections::BTreeSet;
use std::collections::hash_map::Entry;

use crate::facts::{ChangeSource, StateChange, TaskChange, TodoState};
use crate::ids::IdMap;

/// The labels of to-dos.
pub(super) const PENDING: &str = "pending";
pub(super) const IN_PROGRESS: &str = "in progress";
pub(super) const DONE: &str = "done";
pub(super) const CANCELLED: &str = "cancelled";

/// The changes of tasks that were created before the span.
#[derive(Debug, Default)]
pub(super) struct TaskChanges {
    /// The combined changes of each task, keyed by number.
    pub(super) by_number: IdMap<String, TaskChange>,
    /// Whether a call changed a task.
    has_calls: bool,
    /// The labels of tasks in a list.
    listed: BTreeSet<&'static str>,
}

impl TaskChanges {
    pub(super) fn of(changes: Vec<TaskChange>) -> Self {
        let mut all = TaskChanges::default();
        for change in changes {
            match (change.source, change.state) {
                (ChangeSource::List, StateChange::To(state)) => {
                    all.listed.insert(label(state));
                }
                (ChangeSource::List | ChangeSource::Call, _) => all.has_calls = true,
            }
            match all.by_number.entry(change.number.clone()) {
                Entry::Occupied(mut before) => {
                    let before = before.get_mut();
                    // A deleted task stays deleted.
                    match (before.state, change.state) {
                        (StateChange::Deleted, _) | (_, StateChange::Unchanged) => {}
                        (StateChange::Unchanged | StateChange::To(_), state) => {
                            before.state = state;
                        }
                    }
                    before.text = change.text.or(before.text.take());
                }
                Entry::Vacant(none) => {
                    none.insert(change);
                }
            }
        }
        all
    }

    /// Whether a task without a number, with this label, may have been changed. A list may merely repeat its state.
    pub(super) fn may_concern(&self, label: &str) -> bool {
        self.has_calls || self.listed.iter().any(|listed| *listed != label)
    }
}

/// The label of a state.
pub(super) fn label(state: TodoState) -> &'static str {
    match state {
        TodoState::Pending => PENDING,
        TodoState::InProgress => IN_PROGRESS,
        TodoState::Completed => DONE,
        TodoState::Cancelled => CANCELLED,
    }
}
