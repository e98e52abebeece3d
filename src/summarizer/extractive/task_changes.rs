//! What changed of tasks that an earlier summary tells, and the labels of their states.
//!
//! PURE. Whether a row is one of these tasks is for others to say.

use std::collections::BTreeSet;
use std::collections::hash_map::Entry;

use crate::facts::{ChangeSource, StateChange, TaskChange, TodoState};
use crate::ids::IdMap;

/// The labels of to-dos.
pub(super) const PENDING: &str = "pending";
pub(super) const IN_PROGRESS: &str = "in progress";
pub(super) const DONE: &str = "done";
pub(super) const CANCELLED: &str = "cancelled";

/// What was changed of tasks that were made before the span.
#[derive(Debug, Default)]
pub(super) struct TaskChanges {
    /// All that was changed of each.
    pub(super) by_number: IdMap<String, TaskChange>,
    /// Whether a call has changed one.
    has_calls: bool,
    /// The labels of those that a list tells.
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
                    // One that was deleted stays so.
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

    /// Whether one without a number, with that label, may be one of those that were changed. A list may only repeat its state.
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
