//! Finds the inputs that a command line names: files, folders, patterns, lists, standard input.
//!
//! Decides by names alone; opens no transcript. Holds a bounded number of inputs in memory.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::{fs, io};

use globset::{GlobBuilder, GlobMatcher};

use super::exclude::Exclude;
use super::found::Found;
use super::gather::Gatherer;
use super::globs::refused;
use super::list::unkept;
use super::names::{COMPACT, STATS, has_ending, inputs_of, is_output, split_ending};
use super::paths::Paths;
use super::shard::Shard;
use super::skipped::SkipReason;
use super::source::{FileSource, Origin};
use super::walk::{Interest, Leave, Shows, WalkedFile, walk_each};
use crate::error::{Error, ErrorKind, Result};
use crate::store::folder::folder_of;
use crate::text::{count, nearest};

/// What is looked for in folders.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wanted {
    /// Transcripts, except our own outputs.
    Transcripts,
    /// Every file: any of them may be one of our outputs.
    Outputs,
}

/// How inputs are looked for.
#[derive(Debug, Clone, Copy)]
pub struct Search<'s> {
    /// This folder is left out of those that are walked.
    pub skip: Option<&'s Path>,
    /// What the user excluded.
    pub exclude: &'s Exclude,
    /// The part of the inputs that is wanted.
    pub shard: Option<Shard>,
    /// Where unnamed files go, if it exists.
    pub scratch: &'s Path,
}

impl Search<'_> {
    /// Finds what `paths` name. Folders are walked without following links.
    ///
    /// # Errors
    /// [`ErrorKind::NoInput`] if nothing at all was found; [`ErrorKind::Usage`] for standard input if a part is wanted; if the disk
    /// is full.
    pub fn inputs(self, paths: &Paths) -> Result<Found> {
        self.search(paths, Wanted::Transcripts)
    }

    /// Finds the files that may include our outputs: those that are named, and all that are below folders or match patterns, with
    /// the folder that was walked. Does not check whether a file really is an output.
    ///
    /// # Errors
    /// As [`Search::inputs`].
    pub fn outputs(self, paths: &Paths) -> Result<Found> {
        self.search(paths, Wanted::Outputs)
    }

    fn search(self, paths: &Paths, wanted: Wanted) -> Result<Found> {
        let leave = Leave {
            skip: self.skip,
            exclude: self.exclude,
        };
        let mut named = Named {
            leave,
            wanted,
            found: Gatherer::new(self.scratch),
            folders: Vec::new(),
            missing: Vec::new(),
        };
        for path in paths.iter() {
            named.add(&path?).map_err(unkept)?;
        }
        let Named {
            found,
            folders,
            missing,
            ..
        } = named;
        // Two arguments may name one folder.
        let mut missing = once_each(missing);
        // If the user excluded everything, that is not an error.
        if found.has_none() && !(found.is_left_out() && missing.is_empty()) {
            return Err(nothing(missing));
        }
        if let Some(shard) = self.shard {
            if found.has_stdin() {
                let message = "standard input cannot be split into shards";
                return Err(Error::new(ErrorKind::Usage, message).hint("name files or folders"));
            }
            shard.retain_errors(&mut missing, &folders);
        }
        let (sources, skipped) = found.finish(self.shard, &folders)?;
        Ok(Found {
            sources,
            folders,
            missing,
            skipped,
            met: 0,
        })
    }
}

/// Errors without those that say the same of the same path as an earlier one.
pub(super) fn once_each(mut errors: Vec<Error>) -> Vec<Error> {
    let mut said = BTreeSet::new();
    errors.retain(|error| said.insert((error.path.clone(), error.message.clone())));
    errors
}

/// The error of a run without inputs: the first error, with the paths of the others.
pub(super) fn nothing(missing: Vec<Error>) -> Error {
    let mut missing = missing.into_iter();
    let Some(mut first) = missing.next() else {
        return Error::new(ErrorKind::NoInput, "no input was named")
            .hint("name a transcript, a folder, or - for standard input");
    };
    let others: Vec<String> = missing
        .filter_map(|error| Some(error.path?.display().to_string()))
        .collect();
    if !others.is_empty() {
        first.message = format!(
            "{}; {} could not be read either",
            first.message,
            others.join(", ")
        );
    }
    first
}

/// What the arguments name.
struct Named<'n> {
    leave: Leave<'n>,
    wanted: Wanted,
    found: Gatherer,
    folders: Vec<PathBuf>,
    missing: Vec<Error>,
}

impl Named<'_> {
    fn add(&mut self, path: &Path) -> io::Result<()> {
        if path == Path::new("-") {
            self.found.stdin();
        } else if path.is_dir() {
            self.folders.push(path.to_owned());
            self.folder(path)?;
        } else if path.exists() {
            let place = path.canonicalize();
            let file = FileSource {
                path: path.to_owned(),
                folder: None,
                origin: Origin::Named,
            };
            self.found.file(file, place.as_deref().unwrap_or(path))?;
        } else if let Some((folder, matcher)) = pattern(path) {
            self.pattern(path, &folder, &matcher)?;
        } else {
            self.missing.push(not_there(path));
        }
        Ok(())
    }

    fn folder(&mut self, path: &Path) -> io::Result<()> {
        let wanted = self.wanted;
        let interest = |path: &Path, name: &str| match wanted {
            Wanted::Transcripts => interest(path, name),
            // An output can have any name; anything that is not a file, or is a link, is of interest only if its name looks like
            // one.
            Wanted::Outputs => {
                let is_file = || path.symlink_metadata().is_ok_and(|seen| seen.is_file());
                match has_ending(name) || is_file() {
                    true => Interest::Wanted,
                    false => Interest::Ignored,
                }
            }
        };
        let nothing = |outputs| match wanted {
            Wanted::Transcripts => no_transcript(path, outputs),
            Wanted::Outputs => Error::new(ErrorKind::NoInput, "no file below this folder").at(path),
        };
        self.walk(path, Some(path), interest, nothing)
    }

    fn pattern(&mut self, path: &Path, folder: &Path, matcher: &GlobMatcher) -> io::Result<()> {
        // Our own outputs are only found if they are named.
        let name = path.file_name().unwrap_or_default();
        let ours = self.wanted == Wanted::Outputs || name.to_string_lossy().contains(COMPACT);
        let interest =
            |path: &Path, name: &str| match (matcher.is_match(path), ours || !is_output(name)) {
                (true, true) => Interest::Wanted,
                (true, false) => of_output(path, name),
                (false, _) => Interest::Ignored,
            };
        let nothing = |_| {
            Error::new(ErrorKind::NoInput, "no file matches this pattern")
                .at(path)
                .hint("* does not match /, ** does; for a name that contains *, ?, [ or {, name its folder")
        };
        let base = match self.wanted {
            Wanted::Transcripts => None,
            Wanted::Outputs => Some(folder),
        };
        match folder.as_os_str().is_empty() || folder.exists() {
            true => self.walk(folder, base, interest, nothing),
            // If the folder does not exist, nothing matches.
            false => {
                self.missing.push(nothing(0));
                Ok(())
            }
        }
    }

    /// Walks `folder`; the inputs are found below `base`. `nothing` gets the number of files that are named like outputs.
    fn walk(
        &mut self,
        folder: &Path,
        base: Option<&Path>,
        interest: impl Fn(&Path, &str) -> Interest,
        nothing: impl Fn(u64) -> Error,
    ) -> io::Result<()> {
        let base: Option<Arc<Path>> = base.map(Arc::from);
        let plain = match folder.as_os_str().is_empty() {
            true => Path::new(".").canonicalize(),
            false => folder.canonicalize(),
        };
        let found = RefCell::new(&mut self.found);
        let kept = RefCell::new(Ok(()));
        let (mut is_bare, mut is_left_out, mut outputs) = (true, false, 0);
        let show = &mut |met, _: &Shows<'_>| {
            is_bare = false;
            let (path, place) = match met {
                // No link was followed on the way to it.
                WalkedFile::File(path) => {
                    let below = path.strip_prefix(folder).ok();
                    let place = plain
                        .as_ref()
                        .ok()
                        .zip(below)
                        .map(|(plain, below)| plain.join(below));
                    (path, place)
                }
                WalkedFile::Link(path, target) => (path, Some(target)),
            };
            let place = place.or_else(|| path.canonicalize().ok());
            let place = place.unwrap_or_else(|| path.clone());
            let file = FileSource {
                path,
                folder: base.clone(),
                origin: Origin::Walked,
            };
            let added = found.borrow_mut().file(file, &place);
            match added {
                Ok(()) => ControlFlow::Continue(()),
                failed => {
                    *kept.borrow_mut() = failed;
                    ControlFlow::Break(())
                }
            }
        };
        let pass = &mut |path: PathBuf, why: SkipReason| {
            is_left_out |= why.is_asked_for();
            outputs += u64::from(why == SkipReason::Output);
            let mut kept = kept.borrow_mut();
            if kept.is_ok() {
                *kept = found.borrow_mut().skip(path, why);
            }
        };
        let errors = walk_each(folder, self.leave, interest, (show, pass));
        if is_bare && errors.is_empty() && !is_left_out {
            self.missing.push(nothing(outputs));
        }
        self.missing.extend(errors);
        kept.into_inner()
    }
}

/// The error for a folder without transcripts, in which so many files are named like outputs of ours.
pub(super) fn no_transcript(folder: &Path, outputs: u64) -> Error {
    let nothing = "no transcript below this folder";
    let (message, hint) = match outputs {
        0 => (
            nothing.to_owned(),
            "transcripts are files that end in .jsonl, .jsonl.gz or .jsonl.zst",
        ),
        _ => (
            format!(
                "{nothing}, except for {} named like an output of ctxpack",
                count(outputs, "file")
            ),
            "a file that is named itself is read, whatever its name",
        ),
    };
    Error::new(ErrorKind::NoInput, message)
        .at(folder)
        .hint(hint)
}

/// The error for a path that names nothing: a broken link, a file in an inaccessible folder, or a typo.
pub(super) fn not_there(path: &Path) -> Error {
    match path.metadata() {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Error::io(path, "look at it", error)
        }
        _ if path.is_symlink() => Error::new(ErrorKind::NotFound, "the link is broken").at(path),
        _ => {
            let error = Error::new(ErrorKind::NotFound, "no such file or folder").at(path);
            match near(path) {
                Some(name) => error.hint(format!("did you mean {name:?}?")),
                None if looks_like_id(path) => error.hint(
                    "check the path; `ctxpack sessions` lists the ids of sessions, of which four characters are enough",
                ),
                None => error.hint("check the path; - reads standard input"),
            }
        }
    }
}

/// Whether a path that names nothing may have been meant as the id of a session: one word without an ending.
fn looks_like_id(path: &Path) -> bool {
    path.components().count() == 1 && path.extension().is_none()
}

/// Whether a file in a folder is a transcript by its name; our own outputs and reports are of no interest.
pub(super) fn interest(path: &Path, name: &str) -> Interest {
    match (has_ending(name), is_output(name)) {
        (true, false) => Interest::Wanted,
        (_, true) => of_output(path, name),
        (false, false) if !name.ends_with(STATS) => Interest::Noted(SkipReason::OtherExtension),
        (false, false) => Interest::Ignored,
    }
}

/// The interest of a file with the name of an output: a transcript may have such a name, too.
fn of_output(path: &Path, name: &str) -> Interest {
    match inputs_of(name).any(|input| path.with_file_name(input).is_file()) {
        true => Interest::Ignored,
        false => Interest::Noted(SkipReason::Output),
    }
}

/// A path with wildcards: the folder before the first one, and the pattern.
fn pattern(path: &Path) -> Option<(PathBuf, GlobMatcher)> {
    let text = path.to_str()?;
    let is_wild = |part: Component<'_>| {
        part.as_os_str()
            .to_string_lossy()
            .contains(['*', '?', '[', '{'])
    };
    if !path.components().any(is_wild) || refused(text).is_some() {
        return None;
    }
    let folder: PathBuf = path
        .components()
        .take_while(|part| !is_wild(*part))
        .collect();
    let glob = GlobBuilder::new(text)
        .literal_separator(true)
        .build()
        .ok()?;
    Some((folder, glob.compile_matcher()))
}

/// A file beside `path` with a similar name.
fn near(path: &Path) -> Option<String> {
    let folder = folder_of(path);
    let (wanted, ending) = split_ending(path.file_name()?.to_str()?);
    // A user who typed an ending does not mean a folder.
    let is_file = |entry: &fs::DirEntry| entry.path().is_file();
    let mut names: Vec<String> = folder
        .read_dir()
        .ok()?
        .flatten()
        .take(10_000)
        .filter(|entry| ending.is_empty() || is_file(entry))
        .filter_map(|entry| entry.file_name().into_string().ok())
        .collect();
    names.sort();
    // Endings are the same for all, and would make any short name similar.
    let near = nearest(wanted, names.iter().map(|name| split_ending(name).0))?;
    names
        .iter()
        .find(|name| split_ending(name).0 == near)
        .cloned()
}

#[cfg(test)]
mod tests;
