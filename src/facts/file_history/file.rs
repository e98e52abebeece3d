//! A file that calls have named, and how it is noted what was done to it.
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
    /// What was done last to the file that may have changed it.
    pub(super) fn last_change(&self) -> Option<&Operation> {
        let mut operations = self.operations.iter();
        operations.rfind(|o| o.done != Done::Failed && !o.what.is_read_only())
    }

    /// Its removal, if nothing else was done to it since.
    pub(super) fn removal(&self) -> Option<usize> {
        let mut operations = self.operations.iter();
        let last = operations.rposition(|o| o.done != Done::Failed && !o.what.is_read_only())?;
        let what = self.operations[last].what;
        matches!(what, FileAction::Delete | FileAction::MoveFrom).then_some(last)
    }

    /// Notes what a command did that does not name the file, but a place that it is in, or what git knows.
    ///
    /// Every such command hits every file there, so that many commands and many files would make far more operations than a
    /// session has calls. Of a file that was hit very often, only the last one in a row is kept: none of them leaves the content
    /// known, and what was done last is what is told.
    pub(super) fn hit(&mut self, operation: Operation) {
        /// So many operations are kept before that.
        const MOST: usize = 64;
        if self.operations.len() >= MOST {
            self.operations.pop_if(|last| takes_away(last.what));
        }
        self.operations.push(operation);
    }
}

/// Whether the content is unknown after it, whatever it was before.
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
