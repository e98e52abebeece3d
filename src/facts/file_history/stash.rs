//! What git keeps in its stash, and which files exist again after it is restored.
//!
//! PURE. Guesses nothing about an entry whose creation is not in the conversation: it may contain anything that was removed.

use super::{Call, FileHistory};
use crate::facts::exchanges::FactLocation;
use crate::facts::file_effects::Entry;
use crate::facts::operation::{Done, FileAction, Operation};
use crate::facts::path_scope::{PathScope, UnmatchedOperation};

impl FileHistory<'_, '_> {
    /// The stash entries that `entry` refers to; removed from the stash if it is known which they are.
    fn entries(&mut self, entry: Entry) -> Vec<(FactLocation, Vec<usize>)> {
        match entry {
            Entry::Last => self.stash.pop().into_iter().collect(),
            Entry::All => std::mem::take(&mut self.stash),
            Entry::Some => self.stash.clone(),
        }
    }

    /// Restores what was kept in a stash.
    pub(super) fn unstash(&mut self, call: &Call<'_, '_>, entry: Entry, done: Done) {
        let is_sure = done == Done::Yes && entry == Entry::Last;
        let entries = self.entries(entry);
        if entries.is_empty() {
            self.may_be_back();
            let operation = call.operation("", FileAction::Unstash, Done::Unclear);
            self.unmatched.push(UnmatchedOperation {
                site: PathScope::Repository(None),
                operation,
            });
        }
        for (stashed, files) in entries {
            let is_it = |o: &Operation| o.what == FileAction::Stash && o.call == stashed;
            if is_sure {
                // The operation is undone completely.
                let before = self.unmatched.len();
                self.unmatched
                    .retain(|operation| !is_it(&operation.operation));
                if self.unmatched.len() < before {
                    self.gone.unmatched_moved(&self.unmatched);
                }
            }
            for file in files {
                let file = &mut self.files[file];
                if is_sure {
                    file.operations.retain(|o| !is_it(o));
                } else if file.last_change().is_some_and(is_it) {
                    file.hit(call.operation(&file.path, FileAction::Unstash, Done::Unclear));
                }
            }
        }
    }

    /// Records that anything that was removed may exist again.
    fn may_be_back(&mut self) {
        let (files, unmatched) = self.gone.take_all();
        for file in files {
            let of = &mut self.files[file];
            if let Some(last) = of.removal() {
                of.operations[last].done = Done::Unclear;
            }
        }
        for stray in unmatched {
            self.unmatched[stray].operation.done = Done::Unclear;
        }
    }

    /// Discards what was kept in a stash.
    pub(super) fn drop(&mut self, call: &Call<'_, '_>, entry: Entry) {
        for (stashed, files) in self.entries(entry) {
            for file in files {
                let file = &mut self.files[file];
                let is_it = |o: &Operation| o.what == FileAction::Stash && o.call == stashed;
                if file.last_change().is_some_and(is_it) {
                    file.hit(call.operation(&file.path, FileAction::Revert, Done::Unclear));
                }
            }
        }
    }
}
