//! Walks a folder and everything below, and notes what it could not access: folders that cannot be listed, files that cannot
//! be examined, links that lead elsewhere.
//!
//! Follows no link to a folder, and opens no file. Files are reported as they are found, in path order, so that work on them need
//! not wait for the end of the walk.

use std::fs;
use std::io;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use ignore::WalkBuilder;

use super::exclude::{Exclude, Excluding, IGNORE};
use super::skipped::SkipReason;
use crate::error::{Error, ErrorKind};
use crate::store::atomic::is_temp;
use crate::store::{FOLDER, is_store};

/// What is below a folder.
#[derive(Debug, Default)]
pub(super) struct Walked {
    /// The files that were wanted, sorted by path.
    pub files: Vec<PathBuf>,
    /// What could not be accessed.
    pub errors: Vec<Error>,
    /// What a walk skips without an error; see [`SkipReason`].
    pub skipped: Vec<(PathBuf, SkipReason)>,
}

/// How a walk treats a file, given its path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Interest {
    /// It is collected.
    Wanted,
    /// It is not collected but noted, because the user may wonder why.
    Noted(SkipReason),
    /// It is of no interest.
    Ignored,
}

/// What a walk leaves out.
#[derive(Debug, Clone, Copy)]
pub(super) struct Leave<'l> {
    /// This folder.
    pub skip: Option<&'l Path>,
    /// What the user excluded.
    pub exclude: &'l Exclude,
}

/// A wanted file.
#[derive(Debug)]
pub(super) enum WalkedFile {
    /// The file itself.
    File(PathBuf),
    /// A link to a file: the link, and its target as resolved by the system.
    Link(PathBuf, PathBuf),
}

/// Whether the walk would also reach this file directly, without the link.
pub(super) type Shows<'w> = dyn Fn(&Path) -> bool + 'w;

/// Receives the wanted files; can end the walk.
type Show<'s> = dyn FnMut(WalkedFile, &Shows<'_>) -> ControlFlow<()> + 's;

/// Receives what a walk skips without an error; see [`SkipReason`].
type OnSkipped<'p> = dyn FnMut(PathBuf, SkipReason) + 'p;

/// Walks `folder` and collects the files that `interest` wants.
pub(super) fn walk(
    folder: &Path,
    leave: Leave<'_>,
    interest: impl Fn(&Path, &str) -> Interest,
) -> Walked {
    let (mut files, mut skipped) = (Vec::new(), Vec::new());
    let show = &mut |met, _: &Shows<'_>| match met {
        WalkedFile::File(path) | WalkedFile::Link(path, _) => {
            files.push(path);
            ControlFlow::Continue(())
        }
    };
    let errors = walk_each(
        folder,
        leave,
        interest,
        (show, &mut |path, why| {
            skipped.push((path, why));
        }),
    );
    Walked {
        files,
        errors,
        skipped,
    }
}

/// Walks `folder` and passes the files that `interest` wants to `show`, sorted by path, each with a function that tells whether the
/// walk reaches a file below the folder directly. Also passes on what it skips. Returns what could not be accessed.
pub(super) fn walk_each(
    folder: &Path,
    leave: Leave<'_>,
    interest: impl Fn(&Path, &str) -> Interest,
    (show, pass): (&mut Show<'_>, &mut OnSkipped<'_>),
) -> Vec<Error> {
    let walk = Walk::of(folder, leave, interest);
    let shows = |path: &Path| walk.shows(path);
    let mut errors = Vec::new();
    for entry in walk.entries() {
        walk.report_left_out(pass);
        let entry = match entry {
            Ok(entry) => entry,
            Err(error) => {
                let (path, error) = fault(error);
                let path = path.map_or_else(|| walk.folder.to_owned(), |path| walk.named(&path));
                errors.push(Error::io(path, "list", error));
                continue;
            }
        };
        let Some(kind) = entry.file_type().filter(|kind| !kind.is_dir()) else {
            continue;
        };
        let path = walk.named(entry.path());
        let interest = match is_temp(entry.file_name()) || entry.file_name() == IGNORE {
            true => Interest::Ignored,
            false => (walk.interest)(&path, &entry.file_name().to_string_lossy()),
        };
        if kind.is_symlink() {
            match target(walk.folder, entry.path(), &path, interest) {
                Ok(Some(target)) => {
                    if show(WalkedFile::Link(path, target), &shows).is_break() {
                        break;
                    }
                }
                Ok(None) => {}
                Err(LinkRefusal::Skipped(why)) => pass(path, why),
                Err(LinkRefusal::Unseen(error)) => errors.push(error),
            }
            continue;
        }
        match (interest, kind.is_file()) {
            (Interest::Wanted, true) => {
                if show(WalkedFile::File(path), &shows).is_break() {
                    break;
                }
            }
            (Interest::Wanted, false) => pass(path, SkipReason::NoFile),
            (Interest::Noted(why), true) => pass(path, why),
            (Interest::Noted(_), false) | (Interest::Ignored, _) => {}
        }
    }
    walk.report_left_out(pass);
    errors.extend(walk.excluding.faults());
    errors
}

/// A walk below a folder.
struct Walk<'w, I> {
    folder: &'w Path,
    /// Whether no folder was named: then names are relative to the current one.
    is_here: bool,
    /// The folder that is left out, as the system resolves it.
    skip: Option<PathBuf>,
    excluding: Arc<Excluding>,
    /// What was left out since this was reported last.
    left: Arc<Mutex<Vec<LeftOut>>>,
    interest: I,
}

impl<'w, I: Fn(&Path, &str) -> Interest> Walk<'w, I> {
    fn of(folder: &'w Path, leave: Leave<'_>, interest: I) -> Self {
        let is_here = folder.as_os_str().is_empty();
        let folder = if is_here { Path::new(".") } else { folder };
        Walk {
            folder,
            is_here,
            skip: leave.skip.and_then(|skip| skip.canonicalize().ok()),
            excluding: Arc::new(Excluding::below(folder, leave.exclude)),
            left: Arc::default(),
            interest,
        }
    }

    /// The entries, but for those that are left out: these are noted.
    fn entries(&self) -> ignore::Walk {
        // Most outputs go elsewhere: no folder here need then be checked for that.
        let can_be_below = self.skip.as_ref().is_some_and(|skip| {
            let plain = self.folder.canonicalize();
            plain.map_or(true, |folder| skip.starts_with(folder))
        });
        let skip = self.skip.clone();
        let (excluding, left) = (Arc::clone(&self.excluding), Arc::clone(&self.left));
        WalkBuilder::new(self.folder)
            // Transcripts are in hidden folders, and often in ignored ones.
            .standard_filters(false)
            .filter_entry(move |entry| {
                if entry.depth() == 0 {
                    return true;
                }
                let kind = entry.file_type();
                let is_folder = kind.is_some_and(|kind| kind.is_dir());
                // Only a folder, or a link to one, can be the skipped folder: other paths are not resolved.
                let can_be_skipped = match is_folder {
                    true => can_be_below,
                    false => kind.is_none_or(|kind| !kind.is_file()),
                };
                let is_skipped = can_be_skipped && is_at(entry.path(), skip.as_deref());
                if entry.file_name() == FOLDER || is_skipped {
                    return false;
                }
                let excluded = excluding.leaves_out(entry.path(), is_folder);
                let is_store = || is_folder && is_store(entry.path());
                let Some(why) = excluded.or_else(|| is_store().then_some(SkipReason::Store)) else {
                    return true;
                };
                let path = entry.path().to_owned();
                let mut left = left.lock().unwrap_or_else(PoisonError::into_inner);
                left.push(LeftOut {
                    path,
                    why,
                    is_folder,
                });
                false
            })
            // Of the same folder, so that this is the order of their names, which need not be found in the paths.
            .sort_by_file_path(|a, b| a.as_os_str().cmp(b.as_os_str()))
            .build()
    }

    /// How a path is named.
    fn named(&self, path: &Path) -> PathBuf {
        match self.is_here.then(|| path.strip_prefix(".")) {
            Some(Ok(below)) if !below.as_os_str().is_empty() => below.to_owned(),
            _ => path.to_owned(),
        }
    }

    /// Whether the walk shows a file by itself.
    fn shows(&self, path: &Path) -> bool {
        let Ok(below) = path.strip_prefix(self.folder) else {
            return false;
        };
        let mut folders = below
            .ancestors()
            .skip(1)
            .filter(|f| !f.as_os_str().is_empty());
        let name = path.file_name().unwrap_or_default();
        let is_open = |below: &Path| {
            let path = self.folder.join(below);
            below.file_name().is_some_and(|name| name != FOLDER)
                && !is_at(&path, self.skip.as_deref())
                && self.excluding.leaves_out(&path, true).is_none()
                && !is_store(&path)
        };
        let named = self.named(path);
        let is_wanted = (self.interest)(&named, &name.to_string_lossy()) == Interest::Wanted;
        !(is_temp(name) || name == IGNORE)
            && is_wanted
            && self.excluding.leaves_out(path, false).is_none()
            && folders.all(is_open)
    }

    /// Shows what was left out since the last time.
    fn report_left_out(&self, pass: &mut OnSkipped<'_>) {
        let left = std::mem::take(&mut *self.left.lock().unwrap_or_else(PoisonError::into_inner));
        for LeftOut {
            path,
            why,
            is_folder,
        } in left
        {
            let path = self.named(&path);
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            // No need to report an exclusion for a file that would not have been read anyway.
            if is_folder || (self.interest)(&path, &name) == Interest::Wanted {
                pass(path, why);
            }
        }
    }
}

/// A path that the user excluded.
struct LeftOut {
    path: PathBuf,
    why: SkipReason,
    is_folder: bool,
}

/// Why a link is not taken.
enum LinkRefusal {
    Skipped(SkipReason),
    Unseen(Error),
}

/// The target of a link, as the system resolves it. Links are not trusted: only targets below the walked folder are taken. `None`
/// for a link of no interest.
fn target(
    folder: &Path,
    link: &Path,
    name: &Path,
    interest: Interest,
) -> Result<Option<PathBuf>, LinkRefusal> {
    let resolved = fs::canonicalize(link);
    let noted = match interest {
        Interest::Noted(why) => Some(why),
        Interest::Wanted | Interest::Ignored => None,
    };
    let is_below =
        |path: &Path| fs::canonicalize(folder).is_ok_and(|folder| path.starts_with(folder));
    let skipped = |why| Err(LinkRefusal::Skipped(why));
    match (resolved, noted) {
        (Ok(path), _) if path.is_dir() => match is_below(&path) {
            true => Ok(None),
            false => skipped(SkipReason::FolderLink),
        },
        // Nothing is there to be read. A target that is there and out of reach is an error.
        (Err(_), Some(_)) => skipped(SkipReason::BrokenLink),
        (Err(error), None)
            if interest == Interest::Wanted && error.kind() == io::ErrorKind::NotFound =>
        {
            skipped(SkipReason::BrokenLink)
        }
        (Ok(path), Some(why)) if path.is_file() => skipped(why),
        _ if interest != Interest::Wanted => Ok(None),
        (Err(error), _) => Err(LinkRefusal::Unseen(Error::io(
            name,
            "follow the link",
            error,
        ))),
        (Ok(path), _) if !is_below(&path) => Err(LinkRefusal::Unseen(
            Error::new(
                ErrorKind::Link,
                "the link leads out of the folder, and is not read",
            )
            .at(name)
            .hint("name the link itself to read its target"),
        )),
        (Ok(path), _) if path.is_file() => Ok(Some(path)),
        (Ok(_), _) => skipped(SkipReason::NoFile),
    }
}

/// Whether a path refers to this folder, which is free of links.
fn is_at(path: &Path, folder: Option<&Path>) -> bool {
    folder.is_some_and(|folder| path.canonicalize().is_ok_and(|path| path == *folder))
}

/// Extracts the path and the system's error from an error of the walker.
fn fault(error: ignore::Error) -> (Option<PathBuf>, io::Error) {
    match error {
        ignore::Error::WithPath { path, err } => (Some(path), fault(*err).1),
        ignore::Error::WithDepth { err, .. } | ignore::Error::WithLineNumber { err, .. } => {
            fault(*err)
        }
        ignore::Error::Partial(mut errors) if !errors.is_empty() => fault(errors.swap_remove(0)),
        ignore::Error::Io(error) => (None, without_path(error)),
        other => (None, io::Error::other(other.to_string())),
    }
}

/// The system's own error in one of the walker's, whose text names the path again.
fn without_path(error: io::Error) -> io::Error {
    let inner = error.get_ref().and_then(|walker| walker.source());
    let system = inner.and_then(|inner| inner.downcast_ref::<io::Error>());
    let code = system.and_then(io::Error::raw_os_error);
    code.map_or(error, io::Error::from_raw_os_error)
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn a_path_is_named_once() {
        let tree = tempfile::tempdir().unwrap();
        let leave = Leave {
            skip: None,
            exclude: &Exclude::default(),
        };
        let walked = walk(&tree.path().join("gone"), leave, |_, _| Interest::Ignored);
        let said = &walked.errors[0].message;
        assert_eq!(said, "cannot list: No such file or directory (os error 2)");
    }

    #[test]
    fn what_is_not_seen_is_kept_with_its_reason() {
        let tree = tempfile::tempdir().unwrap();
        let at = |name: &str| tree.path().join(name);
        fs::create_dir_all(at("in/below")).unwrap();
        fs::create_dir(at("out")).unwrap();
        for name in ["in/a.jsonl", "in/below/b.jsonl", "out/c.jsonl"] {
            fs::write(at(name), "{}").unwrap();
        }
        symlink("below/b.jsonl", at("in/inner.jsonl")).unwrap();
        symlink("below", at("in/inner-folder")).unwrap();
        symlink("../out/c.jsonl", at("in/leads-out.jsonl")).unwrap();
        symlink("../out/c.jsonl", at("in/leads-out.txt")).unwrap();
        symlink("../out", at("in/folder")).unwrap();
        symlink("nowhere", at("in/broken.jsonl")).unwrap();
        symlink("loop.jsonl", at("in/loop.jsonl")).unwrap();
        let _socket = std::os::unix::net::UnixListener::bind(at("in/socket.jsonl")).unwrap();
        let folder = at("in");
        let leave = Leave {
            skip: None,
            exclude: &Exclude::default(),
        };
        let walked = walk(&folder, leave, |_, name| {
            if name.ends_with(".jsonl") {
                Interest::Wanted
            } else {
                Interest::Ignored
            }
        });
        let below = |path: &Path| path.strip_prefix(&folder).unwrap().display().to_string();
        let files: Vec<String> = walked.files.iter().map(|path| below(path)).collect();
        assert_eq!(files, ["a.jsonl", "below/b.jsonl", "inner.jsonl"]);
        let errors = walked.errors.iter();
        let errors: Vec<(String, ErrorKind)> = errors
            .map(|error| (below(error.path.as_ref().unwrap()), error.kind))
            .collect();
        let name = |name: &str| name.to_owned();
        assert_eq!(
            errors,
            [
                (name("leads-out.jsonl"), ErrorKind::Link),
                (name("loop.jsonl"), ErrorKind::Io),
            ]
        );
        let skipped: Vec<(String, SkipReason)> = walked
            .skipped
            .iter()
            .map(|(path, why)| (below(path), *why))
            .collect();
        assert_eq!(
            skipped,
            [
                (name("broken.jsonl"), SkipReason::BrokenLink),
                (name("folder"), SkipReason::FolderLink),
                (name("socket.jsonl"), SkipReason::NoFile)
            ]
        );
    }
}
