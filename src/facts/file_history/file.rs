//! A file named by calls, with the record of its operations.
//!
//! PURE. Holds no contents, and decides nothing about other files.

use crate::facts::operation::{Done, FileAction, Operation};

/// A file and the operations on it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct File {
    /// Its normalised path: without `.` and doubled slashes, and absolute if the working folder is recorded.
    pub path: String,
    /// In the order of the calls; at least one.
    pub operations: Vec<Operation>,
}

impl File {
    /// The last operation that may have changed the file.
    pub(super) fn last_change(&self) -> Option<&Operation> {
        let mut operations = self.operations.iter();
        operations.rfind(|o| o.done != Done::Failed && !o.what.is_read_only())
    }

    /// The index of its removal, if no later operation may have changed it.
    pub(super) fn removal(&self) -> Option<usize> {
        let mut operations = self.operations.iter();
        let last = operations.rposition(|o| o.done != Done::Failed && !o.what.is_read_only())?;
        let what = self.operations[last].what;
        matches!(what, FileAction::Delete | FileAction::MoveFrom).then_some(last)
    }

    /// Records what a command did that does not name the file itself but a place that contains it, or what git tracks.
    ///
    /// Every such command hits every file there, so that many commands and many files would create far more operations than a
    /// session has calls. For a file that was hit very often, only the last of several consecutive hits is kept: none of them
    /// leaves the content known, and only the last one is reported.
    pub(super) fn hit(&mut self, operation: Operation) {
        /// The number of operations that are always kept.
        const MOST: usize = 64;
        if self.operations.len() >= MOST {
            self.operations.pop_if(|last| takes_away(last.what));
        }
        self.operations.push(operation);
    }
}

/// Whether the content is unknown after the action, whatever it was before.
fn takes_away(what: FileAction) -> bool {
    match what {
        FileAction::Delete
        | FileAction::MoveFrom
        | FileAction::Revert
        | FileAction::Stash
        | FileAction::Unstash => true,
        FileAction::Read(_)
        | FileAction::Search
        | FileAction::Write
        | FileAction::Edit
        | FileAction::MoveTo => false,
    }
}
