//! The inputs below folders, however many there are, where work on the first can begin before the last is found.
//!
//! Finds and reports the same as [`Search::inputs`](super::Search::inputs). Holds each path only as long as its input is in
//! progress.

mod folders;

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use super::feed::look;
use super::skipped::SkipReason;
use super::snapshot::Snapshot;
use super::{Destination, Exclude, Filter, Found, Options, Scope, Shard, Source};
use crate::error::Result;
use crate::store::FOLDER;
use folders::Folders;

/// Folders whose inputs are not listed.
#[derive(Debug)]
pub struct StreamingWalk {
    folders: Folders,
    /// Selects the files; applied by the threads that process them.
    filter: Filter,
}

impl StreamingWalk {
    /// A streaming walk for `paths`; `None` if they have to be listed. That is so if they are not all folders, if one contains
    /// another, and if an output may be that of another input as well, replace one, or be found by the walk.
    pub fn of(
        paths: &[PathBuf],
        options: &Options,
        (exclude, filter): (&Exclude, &Filter),
        shard: Option<Shard>,
    ) -> Option<Self> {
        let skip = match &options.destination {
            Destination::Folder(out) => Some(out.as_path()),
            // The walk skips what is written there because of its name.
            Destination::InPlace | Destination::Beside => None,
            Destination::File(_) | Destination::Stdout => return None,
        };
        let folders = Folders::of(paths, skip, (exclude, shard))?;
        let is_meant = options.fork.is_none() && begins_at_once(paths, options);
        is_meant.then(|| StreamingWalk {
            folders,
            filter: filter.clone(),
        })
    }

    /// The folders, as they were named.
    pub(super) fn folders(&self) -> &[PathBuf] {
        self.folders.paths()
    }

    /// The first inputs, up to this number; a part of the walk is done for that.
    ///
    /// # Errors
    /// Those of finding the inputs.
    pub fn first(&self, most: usize) -> Result<Vec<Source>> {
        let mut first = Vec::new();
        self.folders.each(&mut |file| {
            if self.filter.takes(&file.path) {
                first.push(Source::File(file));
            }
            match first.len() < most {
                true => ControlFlow::Continue(()),
                false => ControlFlow::Break(()),
            }
        })?;
        Ok(first)
    }

    /// The approximate number of inputs.
    pub(super) fn count(&self) -> u64 {
        self.folders.count()
    }

    /// Shows each input with its snapshot, if one can be taken. Returns the rest of what was found.
    ///
    /// # Errors
    /// [`crate::ErrorKind::NoInput`] if nothing at all was found.
    pub(super) fn each(&self, show: &mut dyn FnMut(Source, Option<Snapshot>)) -> Result<Found> {
        self.folders.each(&mut |file| {
            let source = Source::File(file);
            let look = look(&source);
            show(source, look);
            ControlFlow::Continue(())
        })
    }

    /// Whether all files that are found are inputs.
    pub(super) fn has_only_inputs(&self) -> bool {
        self.filter.takes_all()
    }

    /// Why a file that was found is not an input, if it is not.
    pub(super) fn leaves_out(&self, path: &Path) -> Option<SkipReason> {
        self.filter.leaves_out(path)
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
