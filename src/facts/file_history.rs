//! The history of each file: operations by calls and by shell commands.
//!
//! PURE. Tracks which files may still exist, which a command may have affected without naming them, and which went into a stash.

mod file;
mod git;
mod gone;
mod stash;

use std::collections::BTreeMap;

use super::commands;
use super::exchanges::{Exchange, FactLocation, text_of};
use super::exit::CommandStatus;
use super::file_effects::{self, How, PathSpec, Scope, Status, Sure, Target, What};
use super::input::Input;
use super::operation::{Done, FileAction, Operation};
use super::outcome::{answered, flags_failures, of_read};
use super::path::{Folders, below_folder, is_of_windows, on_its_drive};
use super::path_scope::{PathScope, UnmatchedOperation};
use super::refused::never_ran;
use super::shell::{is_shell_tool, output, shows};
use crate::policy::ToolKind;
use crate::transcript::Transcript;
use gone::Gone;

pub use file::File;

/// The files, call after call.
pub(super) struct FileHistory<'t, 'a> {
    transcript: &'t Transcript<'a>,
    folders: &'t Folders<'t, 'a>,
    files: Vec<File>,
    by_path: BTreeMap<String, usize>,
    /// The files that may still exist: deleting a folder deletes its contents.
    there: BTreeMap<String, usize>,
    unmatched: Vec<UnmatchedOperation>,
    gone: Gone,
    /// The stash entries: for each, its call and the files that may be in it.
    stash: Vec<(FactLocation, Vec<usize>)>,
    /// The last call that may have had git record changes.
    recorded: Option<FactLocation>,
    /// The folder of the first call, where it is known.
    start: Option<String>,
    paths: Paths,
    /// How many more files may be looked at for commands that may mean any.
    looks: usize,
    /// The last such command for which no file was looked at: any may be changed since.
    beyond: Option<Operation>,
}

/// A session with 500 files and 500 commands that may mean any of them needs no more; then the time grows with the
/// product of both.
const MOST_LOOKS: usize = 1 << 18;

/// What the paths of a session look like, as far as it has been read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Paths {
    Plain,
    /// Some begin with a drive, so a shell may write drives as folders.
    OfWindows,
}

/// The call of the command being followed.
struct Call<'e, 'i> {
    exchange: &'e Exchange,
    input: &'e Input<'i>,
}

impl Call<'_, '_> {
    fn operation(&self, written: &str, what: FileAction, done: Done) -> Operation {
        let exchange = self.exchange;
        Operation {
            call: exchange.call,
            result: exchange.result,
            written: written.to_owned(),
            what,
            done,
            patch: None,
            basis: exchange.basis,
            inner: exchange.inner.clone(),
        }
    }
}

impl<'t, 'a> FileHistory<'t, 'a> {
    pub(super) fn new(transcript: &'t Transcript<'a>, folders: &'t Folders<'t, 'a>) -> Self {
        FileHistory {
            transcript,
            folders,
            files: Vec::new(),
            by_path: BTreeMap::new(),
            there: BTreeMap::new(),
            unmatched: Vec::new(),
            gone: Gone::default(),
            stash: Vec::new(),
            recorded: None,
            start: None,
            paths: Paths::Plain,
            looks: MOST_LOOKS,
            beyond: None,
        }
    }

    pub(super) fn done(mut self) -> (Vec<File>, Vec<UnmatchedOperation>) {
        if let Some(beyond) = self.beyond {
            for file in &mut self.files {
                let is_gone = file
                    .removal()
                    .is_some_and(|last| file.operations[last].done == Done::Yes);
                let is_before = |last: &Operation| last.call < beyond.call;
                if !is_gone && file.operations.last().is_some_and(is_before) {
                    file.hit(Operation {
                        written: file.path.clone(),
                        done: Done::Unclear,
                        ..beyond.clone()
                    });
                }
            }
        }
        (self.files, self.unmatched)
    }

    /// Whether the files are looked at for a command that may mean any of them; else it is noted for all.
    fn may_look(&mut self, site: &PathScope, operation: &Operation) -> bool {
        if !site.start().is_empty() {
            return true;
        }
        match self.looks.checked_sub(self.by_path.len()) {
            Some(left) => {
                self.looks = left;
                true
            }
            None => {
                if operation.done != Done::Failed {
                    self.beyond = Some(operation.clone());
                }
                false
            }
        }
    }

    /// Records what a call did to the file that it names.
    pub(super) fn push(&mut self, path: String, operation: Operation) {
        if is_of_windows(&path) {
            self.paths = Paths::OfWindows;
        }
        let file = match self.by_path.get(&path) {
            Some(file) => *file,
            None => {
                self.by_path.insert(path.clone(), self.files.len());
                self.files.push(File {
                    path: path.clone(),
                    operations: Vec::new(),
                });
                self.files.len() - 1
            }
        };
        self.files[file].operations.push(operation);
        self.there.entry(path).or_insert(file);
    }

    /// Records what a shell command did.
    pub(super) fn follow(&mut self, exchange: &Exchange) {
        if exchange.kind != ToolKind::Shell {
            return;
        }
        let input = exchange.input(self.transcript);
        let Some(text) = input.command() else {
            return;
        };
        if self.start.is_none() {
            let start = self.folders.in_one_spelling(exchange.call.line, ".");
            self.start = Some(start);
        }
        if file_effects::may_record(&text) {
            self.recorded = Some(exchange.call);
        }
        let call = Call {
            exchange,
            input: &input,
        };
        let was_removed = |place: &PathSpec| match place {
            PathSpec::At(written) => self.gone.has(&self.spelled(&call, written).0),
            PathSpec::Like { .. } => false,
        };
        let seen = shows(&text).map(PathSpec::At).filter(was_removed);
        let before: file_effects::Before<'_> = match self.gone.is_empty() {
            true => None,
            false => Some(&was_removed),
        };
        let changes = file_effects::changes(&text, before);
        if let Some(place) = seen
            && self.is_shown(exchange)
        {
            self.put_back(&call, &place, How::Possibly, Done::Unclear);
        }
        let Some(changes) = changes else {
            return;
        };
        let answered = answered(self.transcript, exchange);
        if answered == Done::Failed && never_ran(self.transcript, exchange) {
            return;
        }
        let is_shown = self.shows_failures(exchange, &text);
        let mut is_in_stash = false;
        for change in changes.all {
            let done = match (answered, changes.status, change.sure) {
                (Done::Failed, Status::Own, _) => Done::Failed,
                (Done::Yes, _, Sure::Yes) if is_shown => Done::Yes,
                (Done::Failed | Done::Unclear | Done::Yes, ..) => Done::Unclear,
            };
            match change.what {
                What::Delete(place) => self.remove(&call, &place, FileAction::Delete, done),
                What::Move { from, to } => {
                    self.remove(&call, &from, FileAction::MoveFrom, done);
                    if let Some(to) = to {
                        self.arrive(&call, to, done);
                    }
                }
                What::Replace(to) => self.replace(&call, to, done),
                What::Again { place, how } => self.put_back(&call, &place, how, done),
                What::Revert(scope) => {
                    self.take_back(&call, &scope, FileAction::Revert, done);
                    if let Scope::PathsOrBranch(place) = &scope {
                        self.put_back(&call, place, How::Possibly, done);
                    }
                }
                What::Stash(scope) => {
                    let files = self.take_back(&call, &scope, FileAction::Stash, done);
                    match self.stash.last_mut() {
                        // Several paths share one entry.
                        Some((_, last)) if is_in_stash => last.extend(files),
                        Some(_) | None if done != Done::Failed => {
                            self.stash.push((exchange.call, files));
                        }
                        Some(_) | None => {}
                    }
                    is_in_stash = matches!(scope, Scope::Paths(_));
                }
                What::Unstash(entry) => self.unstash(&call, entry, done),
                What::Drop(entry) => self.drop(&call, entry),
                What::Clean(place) => self.clean(&call, &place, &text),
                What::Merge(scope) => self.come_back(&call, &scope),
                What::Switch { from, unless } => {
                    let is_file = unless.is_some_and(|place| match place {
                        PathSpec::At(written) => self.knows(&self.spelled(&call, &written).0),
                        PathSpec::Like { .. } => true,
                    });
                    if !is_file {
                        self.come_back(&call, &from);
                        self.leave(&call, &from, done);
                    }
                }
            }
        }
    }

    /// Whether a command meant to show a file did show it.
    fn is_shown(&self, exchange: &Exchange) -> bool {
        exchange.result.is_some_and(|result| {
            let said = text_of(self.transcript, result, exchange.inner.as_deref());
            let answered = answered(self.transcript, exchange);
            of_read(self.transcript, exchange, answered, &output(said)) == Done::Yes
        })
    }

    /// Whether a failure would be visible in the result.
    fn shows_failures(&self, exchange: &Exchange, text: &str) -> bool {
        /// Redirections that hide error messages, and the beginnings of such messages.
        const HIDING: [&str; 3] = ["2>", "&>", ">&"];
        const PROGRAMS: [&str; 10] = [
            "rm: ", "mv: ", "cp: ", "unlink: ", "fatal: ", "error: ", "sudo: ", "bash: ", "sh: ",
            "zsh: ",
        ];
        let has_status = match &exchange.inner {
            Some(inner) => inner.ended.done() == Done::Yes,
            None => {
                let exit = commands::exit(self.transcript, exchange);
                matches!(exit, CommandStatus::Code(0) | CommandStatus::Succeeded)
                    || flags_failures(self.transcript, exchange)
                        && !is_shell_tool(&exchange.tool(self.transcript))
            }
        };
        // Error messages are printed unless redirected.
        let rest = text.replace("2>&1", "");
        let is_hidden = HIDING.iter().any(|hiding| rest.contains(hiding))
            || rest.len() < text.len() && rest.contains('>');
        if is_hidden && !has_status {
            return false;
        }
        let Some(result) = exchange.result else {
            return false;
        };
        let said = text_of(self.transcript, result, exchange.inner.as_deref());
        let mut lines = said.lines();
        !lines.any(|line| PROGRAMS.iter().any(|program| line.starts_with(program)))
    }

    /// The normalised path, and whether it is certain: `..` after a link may lead anywhere.
    fn spelled(&self, call: &Call<'_, '_>, written: &str) -> (String, Sure) {
        let path = below_folder(call.input, written);
        let path = self.folders.in_one_spelling(call.exchange.call.line, &path);
        let path = match self.paths {
            // The path may also come from another system that has such folders.
            Paths::OfWindows if !self.knows(&path) => on_its_drive(&path).unwrap_or(path),
            Paths::OfWindows | Paths::Plain => path,
        };
        match PathScope::without_parents(&path) {
            Some(other) if !self.by_path.contains_key(&path) => (other, Sure::No),
            Some(_) | None => (path, Sure::Yes),
        }
    }

    /// Whether a path, or one in it, has been named by a call.
    fn knows(&self, path: &str) -> bool {
        let below = format!("{path}/");
        let inside = self.by_path.range(below.clone()..).next();
        self.by_path.contains_key(path) || inside.is_some_and(|(path, _)| path.starts_with(&below))
    }

    fn site(&self, call: &Call<'_, '_>, place: &PathSpec) -> PathScope {
        match place {
            PathSpec::At(written) => PathScope::Path(self.spelled(call, written).0),
            PathSpec::Like { folder, pattern } => PathScope::Like {
                folder: folder.as_ref().map(|folder| {
                    self.spelled(call, if folder.is_empty() { "." } else { folder })
                        .0
                }),
                pattern: pattern.clone(),
            },
        }
    }

    /// The files of `files` in a place, except the one that the place itself names.
    fn inside(&self, files: &BTreeMap<String, usize>, site: &PathScope) -> Vec<usize> {
        let start = site.start();
        let files = files.range(start.clone()..);
        let files = files.take_while(|(path, _)| path.starts_with(&start));
        let inside = files.filter(|(path, _)| site.holds(path) && !site.is(path));
        inside.map(|(_, file)| *file).collect()
    }

    /// Records that files were deleted or moved away.
    fn remove(&mut self, call: &Call<'_, '_>, place: &PathSpec, what: FileAction, done: Done) {
        let site = self.site(call, place);
        let (written, done) = match place {
            PathSpec::At(written) => (
                below_folder(call.input, written),
                match self.spelled(call, written) {
                    (_, Sure::No) if done == Done::Yes => Done::Unclear,
                    _ => done,
                },
            ),
            PathSpec::Like { .. } => (String::new(), done),
        };
        let operation = call.operation(&written, what, done);
        let inside = match self.may_look(&site, &operation) {
            true => self.inside(&self.there, &site),
            false => Vec::new(),
        };
        for number in inside {
            let file = &mut self.files[number];
            // Repeating the same operation adds nothing.
            let is_same = |last: &Operation| last.what == what && last.done == Done::Unclear;
            if done == Done::Yes {
                self.there.remove(&file.path);
            } else if file.operations.last().is_some_and(is_same) {
                continue;
            }
            self.gone.file(&file.path, number);
            file.hit(Operation {
                written: file.path.clone(),
                done: match done {
                    Done::Yes => Done::Yes,
                    // Part of a folder's contents may be gone.
                    Done::Failed | Done::Unclear => Done::Unclear,
                },
                ..operation.clone()
            });
        }
        if let PathScope::Path(path) = &site
            && let Some(file) = self.by_path.get(path)
        {
            self.files[*file].operations.push(operation);
            self.gone.file(path, *file);
            if done == Done::Yes {
                self.there.remove(path);
            }
            return;
        }
        self.unmatched.push(UnmatchedOperation { site, operation });
        self.gone
            .unmatched(&self.unmatched, self.unmatched.len() - 1);
    }

    /// The target of a copy or move, which may be a folder.
    fn target(&self, call: &Call<'_, '_>, to: Target) -> (String, String, Sure) {
        let written = below_folder(call.input, &to.path);
        let (path, sure) = self.spelled(call, &to.path);
        let below = format!("{path}/");
        let inside = self.there.range(below.clone()..).next();
        match to.name {
            Some(name) if inside.is_some_and(|(path, _)| path.starts_with(&below)) => {
                (format!("{below}{name}"), format!("{written}/{name}"), sure)
            }
            Some(_) | None => (path, written, sure),
        }
    }

    fn arrive(&mut self, call: &Call<'_, '_>, to: Target, done: Done) {
        let (path, mut written, sure) = self.target(call, to);
        if sure == Sure::No {
            written.clone_from(&path);
        }
        let operation = call.operation(&written, FileAction::MoveTo, done);
        self.push(path, operation);
    }

    fn replace(&mut self, call: &Call<'_, '_>, to: Target, done: Done) {
        let (path, written, _) = self.target(call, to);
        let operation = call.operation(&written, FileAction::Edit, done);
        match (self.there.get(&path).copied(), self.removed(&path)) {
            (Some(file), _) => self.files[file].operations.push(operation),
            // It was removed before and exists again.
            (None, Some(file)) => {
                self.files[file].operations.push(Operation {
                    what: FileAction::Write,
                    ..operation
                });
                self.there.insert(path, file);
            }
            (None, None) => self.unmatched.push(UnmatchedOperation {
                site: PathScope::File(path),
                operation,
            }),
        }
    }

    /// The file at this path, if its last operation was its removal.
    fn removed(&self, path: &str) -> Option<usize> {
        let file = *self.by_path.get(path)?;
        self.files[file].removal().map(|_| file)
    }

    /// Records that what was removed exists again, or may.
    fn put_back(&mut self, call: &Call<'_, '_>, place: &PathSpec, how: How, done: Done) {
        let site = self.site(call, place);
        let written = match (place, how) {
            (PathSpec::At(written), How::Written) => Some(below_folder(call.input, written)),
            (PathSpec::At(_) | PathSpec::Like { .. }, _) => None,
        };
        let named = site.path().and_then(|path| self.by_path.get(path));
        let named = named.copied();
        let mut files = self.gone.take_files(&site);
        if let Some(named) = named.filter(|named| !files.contains(named)) {
            files.push(named);
        }
        for file in files {
            let of = &mut self.files[file];
            let Some(last) = of.removal() else {
                continue;
            };
            match &written {
                Some(written) if site.is(&of.path) => {
                    let operation = call.operation(written, FileAction::Write, done);
                    of.operations.push(operation);
                }
                Some(_) | None => of.operations[last].done = Done::Unclear,
            }
            self.there.insert(of.path.clone(), file);
        }
        for stray in self.gone.take_unmatched(&site) {
            self.unmatched[stray].operation.done = Done::Unclear;
        }
    }
}

#[cfg(test)]
mod tests;
