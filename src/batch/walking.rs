//! The inputs below folders, however many there are: work on the first begins before the last is found, where that is possible.
//!
//! Otherwise all are found first, and their paths wait on the disk. Finds and reports the same as [`super::find`]. Holds each path
//! only as long as its input is in progress.

mod folders;
mod outputs;
mod path_list;

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use super::skipped::SkipReason;
use super::snapshot::Snapshot;
use super::{Destination, Exclude, FileSource, Filter, Found, Options, Scope, Shard, Source};
use crate::error::Result;
use crate::store::{FOLDER, FileIdentity};
use folders::Folders;
use path_list::PathList;

/// Folders whose inputs are not held in memory.
#[derive(Debug)]
pub struct StreamingWalk {
    folders: Folders,
    /// Selects the files; applied by the threads that process them.
    filter: Filter,
    /// The inputs, and the rest of what was found, if the walk has ended.
    listed: Option<(PathList, Found)>,
}

/// What becomes of a file that was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// It is compacted.
    Input,
    /// It is not read.
    Skipped(SkipReason),
    /// It is the output of another input.
    Output,
}

impl StreamingWalk {
    /// A streaming walk for `paths`; `None` if only a list in memory can tell what their inputs are. That is so if they are not all
    /// folders, if one contains another, or if an output may be that of another input as well, or replace one. A list takes about
    /// 320 bytes per input: a dry run over 100 000 paths takes 92 MB by a pattern, 61 MB by their folder.
    ///
    /// # Errors
    /// Those of finding the inputs, if all have to be found first.
    pub fn of(
        paths: &[PathBuf],
        options: &Options,
        (exclude, filter): (&Exclude, &Filter),
        shard: Option<Shard>,
    ) -> Result<Option<Self>> {
        let skip = match &options.destination {
            Destination::Folder(out) => Some(out.as_path()),
            // The walk skips what is written there because of its name.
            Destination::InPlace | Destination::Beside => None,
            Destination::File(_) | Destination::Stdout => return Ok(None),
        };
        let folders = Folders::of(paths, skip, (exclude, shard));
        let Some(folders) = folders.filter(|_| options.fork.is_none()) else {
            return Ok(None);
        };
        let filter = filter.clone();
        if begins_at_once(paths, options) {
            return Ok(Some(StreamingWalk {
                folders,
                filter,
                listed: None,
            }));
        }
        let listed = PathList::of(&folders, &filter, options)?;
        Ok(listed.map(|listed| StreamingWalk {
            folders,
            // The list contains only what it selects.
            filter: Filter::default(),
            listed: Some(listed),
        }))
    }

    /// The folders, as they were named.
    pub(super) fn folders(&self) -> &[PathBuf] {
        self.folders.paths()
    }

    /// The first inputs, up to this number; if the walk has not ended, a part of it is done for that.
    ///
    /// # Errors
    /// Those of finding the inputs.
    pub fn first(&self, most: usize) -> Result<Vec<Source>> {
        let mut first = Vec::new();
        let mut add = |file: FileSource| {
            if self.filter.takes(&file.path) {
                first.push(Source::File(file));
            }
            match first.len() < most {
                true => ControlFlow::Continue(()),
                false => ControlFlow::Break(()),
            }
        };
        match &self.listed {
            Some((list, _)) => list.each(&mut add)?,
            None => self.folders.each(&mut |file, _| add(file)).map(drop)?,
        }
        Ok(first)
    }

    /// The approximate number of inputs.
    pub(super) fn count(&self) -> u64 {
        match &self.listed {
            Some((list, _)) => list.len,
            None => self.folders.count(),
        }
    }

    /// Takes out what was found besides inputs, if the walk has ended.
    pub(super) fn take_found(&mut self) -> Option<Found> {
        let listed = self.listed.as_mut();
        listed.map(|(_, found)| std::mem::take(found))
    }

    /// Shows each input with its snapshot, if one can be taken. Returns the rest of what was found, which is `found` if the walk has
    /// ended.
    ///
    /// # Errors
    /// [`crate::ErrorKind::NoInput`] if nothing at all was found; if the list cannot be read.
    pub(super) fn each(
        &self,
        found: Option<Found>,
        show: &mut dyn FnMut(Source, Option<Snapshot>),
    ) -> Result<Found> {
        let mut show = |file: FileSource| {
            let seen = file.path.metadata().ok();
            let look = seen.map(|seen| Snapshot::now(FileIdentity::of_input(&file.path, &seen)));
            show(Source::File(file), look);
            ControlFlow::Continue(())
        };
        match (&self.listed, found) {
            (Some((list, _)), Some(found)) => list.each(&mut show).map(|()| found),
            (Some(_), None) | (None, _) => self.folders.each(&mut |file, _| show(file)),
        }
    }

    /// Whether all files that are found are inputs.
    pub(super) fn has_only_inputs(&self) -> bool {
        let listed = self.listed.as_ref();
        self.filter.takes_all() && !listed.is_some_and(|(list, _)| list.may_leave_out())
    }

    /// What becomes of a file that was found.
    ///
    /// # Errors
    /// If that cannot be looked up.
    pub(super) fn role(&self, path: &Path) -> Result<Role> {
        if let Some((list, _)) = &self.listed
            && list.leaves_out(path)?
        {
            return Ok(Role::Output);
        }
        let why = self.filter.leaves_out(path);
        Ok(why.map_or(Role::Input, Role::Skipped))
    }
}

/// Whether work on an input can begin before the next one is found: outputs go in place, or next to their inputs, or for a single
/// folder in the same tree to one that contains no input; and nothing else that is written can become an input.
fn begins_at_once(folders: &[PathBuf], options: &Options) -> bool {
    let out = match &options.destination {
        Destination::Folder(out) => Some((out, SkipRule::IfThere)),
        Destination::InPlace | Destination::Beside | Destination::File(_) | Destination::Stdout => {
            None
        }
    };
    let may_have_outputs_twice = out.is_some() && folders.len() > 1;
    let store = options.store.iter().map(|store| (store, SkipRule::ByName));
    let mut written = store.chain(out);
    let is_apart = |(written, rule): (&PathBuf, SkipRule)| {
        let mut folders = folders.iter();
        !folders.any(|folder| is_in_the_way(written, folder, rule))
    };
    options.scope == Scope::All
        // A hook may write anything anywhere.
        && options.hooks.pre.is_none()
        && options.hooks.post.is_none()
        // Messages have names like transcripts, and two transcripts may have one name for theirs.
        && options.emit.is_none()
        && !may_have_outputs_twice
        && written.all(is_apart)
}

/// Whether a walk of `folder` could meet what a run writes to `written`, or outputs could replace inputs there. An existing folder
/// is left out of the walk according to `rule`.
fn is_in_the_way(written: &Path, folder: &Path, rule: SkipRule) -> bool {
    let (Some(written), Ok(folder)) = (resolved(written), folder.canonicalize()) else {
        return true;
    };
    let is_left_out = match rule {
        SkipRule::IfThere => written.is_dir(),
        SkipRule::ByName => written.ends_with(FOLDER),
    };
    match rule {
        SkipRule::IfThere if folder.starts_with(&written) => true,
        SkipRule::IfThere | SkipRule::ByName => written.starts_with(&folder) && !is_left_out,
    }
}

/// Which of the folders that a run writes to are left out of its walk.
#[derive(Debug, Clone, Copy)]
enum SkipRule {
    /// The folder, if it exists when the walk begins.
    IfThere,
    /// The folder, if it has the name of a store.
    ByName,
}

/// A path with the links in its existing part resolved.
fn resolved(path: &Path) -> Option<PathBuf> {
    let mut above = path.ancestors();
    above.find_map(|there| {
        let here = match there.as_os_str().is_empty() {
            true => Path::new("."),
            false => there,
        };
        let plain = here.canonicalize().ok()?;
        Some(plain.join(path.strip_prefix(there).ok()?))
    })
}

#[cfg(test)]
mod tests;
