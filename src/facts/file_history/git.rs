//! What git does to files: it reverts and stashes edits, brings deleted files back, and removes files that it does not know.
//!
//! PURE. Reads no repository: where only that would tell, the state of a file is unknown.

use super::super::exchanges::text_of;
use super::super::file_effects::{PathSpec, Scope};
use super::super::operation::{Done, FileAction, Operation};
use super::super::path::below_folder;
use super::super::path_scope::{PathScope, UnmatchedOperation};
use super::super::refused::is_empty;
use super::{Call, FileHistory};

impl FileHistory<'_, '_> {
    /// The repository that a folder, as written, is in.
    pub(super) fn repository(&self, call: &Call<'_, '_>, folder: Option<&str>) -> PathScope {
        let folder = folder.map(|folder| if folder.is_empty() { "." } else { folder });
        let folder = folder.map(|folder| self.spelled(call, folder).0);
        PathScope::of_repository(folder, self.start.as_deref())
    }

    /// What was removed from a repository may be there again: what comes in may have it.
    pub(super) fn come_back(&mut self, call: &Call<'_, '_>, scope: &Scope) {
        let Scope::Repository(folder) = scope else {
            return;
        };
        if self.gone.is_empty() {
            return;
        }
        let site = self.repository(call, folder.as_deref());
        for file in self.gone.take_files(&site) {
            let of = &mut self.files[file];
            if let Some(last) = of.removal() {
                of.operations[last].done = Done::Unclear;
                self.there.insert(of.path.clone(), file);
            }
        }
        for stray in self.gone.take_unmatched(&site) {
            self.unmatched[stray].operation.done = Done::Unclear;
        }
    }

    /// Changes that git has recorded may stay behind with their commit.
    pub(super) fn leave(&mut self, call: &Call<'_, '_>, scope: &Scope, done: Done) {
        let Scope::Repository(folder) = scope else {
            return;
        };
        if done == Done::Failed || self.recorded.is_none() {
            return;
        }
        let site = self.repository(call, folder.as_deref());
        let operation = call.operation("", FileAction::Revert, Done::Unclear);
        if !self.may_look(&site, &operation) {
            return;
        }
        for file in self.inside(&self.there, &site) {
            let last = self.files[file].last_change();
            let is_open = |last: &Operation| match last.what {
                FileAction::Delete | FileAction::MoveFrom | FileAction::Revert => false,
                what => what.is_change(),
            };
            if last.is_some_and(is_open) && self.may_be_recorded(file) {
                let of = &mut self.files[file];
                of.hit(call.operation(&of.path, FileAction::Revert, Done::Unclear));
            }
        }
    }

    /// Applies a git revert; returns the files for which it is uncertain.
    pub(super) fn take_back(
        &mut self,
        call: &Call<'_, '_>,
        scope: &Scope,
        what: FileAction,
        done: Done,
    ) -> Vec<usize> {
        let said = call.exchange.result;
        let said =
            said.map(|result| text_of(self.transcript, result, call.exchange.inner.as_deref()));
        if what == FileAction::Stash && said.is_some_and(|said| said.contains("No local changes")) {
            return Vec::new();
        }
        let (site, written) = match scope {
            Scope::Paths(place @ PathSpec::At(written)) => (self.site(call, place), Some(written)),
            Scope::Paths(place @ PathSpec::Like { .. }) => (self.site(call, place), None),
            Scope::PathsOrBranch(PathSpec::At(written)) => (
                PathScope::File(self.spelled(call, written).0),
                Some(written),
            ),
            Scope::PathsOrBranch(place @ PathSpec::Like { .. }) => (self.site(call, place), None),
            Scope::Repository(folder) => (self.repository(call, folder.as_deref()), None),
        };
        let named = match &site {
            PathScope::Path(path) | PathScope::File(path) => self.by_path.get(path).copied(),
            PathScope::Like { .. } | PathScope::Repository(_) => None,
        };
        if let (Some(file), Some(written)) = (named, written) {
            let may_be_recorded = self.may_be_recorded(file);
            let done = match (done, what) {
                // Git does not revert what it recorded in the meantime.
                (Done::Yes, FileAction::Revert) if !may_be_recorded => Done::Yes,
                (Done::Failed, _) => Done::Failed,
                (Done::Yes | Done::Unclear, _) => Done::Unclear,
            };
            let written = below_folder(call.input, written);
            self.files[file]
                .operations
                .push(call.operation(&written, what, done));
            let path = self.files[file].path.clone();
            self.there.insert(path, file);
        }
        if done == Done::Failed {
            return Vec::new();
        }
        let mut files = match self.may_look(&site, &call.operation("", what, Done::Unclear)) {
            true => self.inside(&self.by_path, &site),
            false => Vec::new(),
        };
        files.retain(|file| {
            self.files[*file]
                .last_change()
                .is_some_and(|last| last.what.is_change())
        });
        for file in &files {
            let file_of = &mut self.files[*file];
            file_of.hit(call.operation(&file_of.path, what, Done::Unclear));
            self.there.insert(file_of.path.clone(), *file);
        }
        files.extend(named);
        let written = written.map_or(String::new(), |written| below_folder(call.input, written));
        self.unmatched.push(UnmatchedOperation {
            site,
            operation: call.operation(&written, what, Done::Unclear),
        });
        files
    }

    /// Whether git may have recorded a change of a file before this call.
    pub(super) fn may_be_recorded(&self, file: usize) -> bool {
        self.recorded.is_some_and(|recorded| {
            let operations = self.files[file].operations.iter();
            let mut changes = operations.filter(|o| o.done != Done::Failed && o.what.is_change());
            changes.any(|change| change.call < recorded)
        })
    }

    /// Records that untracked files were deleted: git lists them, unless told not to.
    pub(super) fn clean(&mut self, call: &Call<'_, '_>, place: &PathSpec, text: &str) {
        let Some(result) = call.exchange.result else {
            return;
        };
        let said = text_of(self.transcript, result, call.exchange.inner.as_deref()).into_owned();
        let removed = said
            .lines()
            .filter_map(|line| line.strip_prefix("Removing "));
        let removed: Vec<PathSpec> = removed.map(|path| PathSpec::At(path.to_owned())).collect();
        for place in &removed {
            self.remove(call, place, FileAction::Delete, Done::Unclear);
        }
        if !removed.is_empty() || is_empty(&said) && !text.contains(['q', '>', '|']) {
            return;
        }
        let site = self.site(call, place);
        let operation = call.operation("", FileAction::Delete, Done::Unclear);
        if !self.may_look(&site, &operation) {
            return;
        }
        for file in self.inside(&self.there, &site) {
            let file = &mut self.files[file];
            let is_new = |o: &Operation| matches!(o.what, FileAction::Write | FileAction::MoveTo);
            if file.last_change().is_some_and(is_new) {
                file.hit(call.operation(&file.path, FileAction::Delete, Done::Unclear));
            }
        }
    }
}
