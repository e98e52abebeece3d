//! Walks a folder and everything below, and notes what it could not access: folders that cannot be listed, files that cannot
//! be examined, links that lead elsewhere.
//!
//! Follows no link to a folder, and opens no file.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use ignore::WalkBuilder;

use crate::error::{Error, ErrorKind};
use crate::store::FOLDER;
use crate::store::atomic::is_temp;

/// What is below a folder.
#[derive(Debug, Default)]
pub(super) struct Walked {
    /// The files that were wanted, sorted by path.
    pub files: Vec<PathBuf>,
    /// What could not be accessed.
    pub unseen: Vec<Error>,
    /// What a walk skips without an error; see [`PassedBy`].
    pub passed: Vec<(PathBuf, PassedBy)>,
}

/// Why something in a walked folder is skipped although nothing failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum PassedBy {
    /// A link to a folder that is not itself below the walked one.
    FolderLink,
    /// A pipe, socket or device with the name of a transcript.
    NoFile,
}

impl PassedBy {
    /// The sentence about it.
    pub fn message(self) -> &'static str {
        match self {
            PassedBy::FolderLink => "links to folders are not followed",
            PassedBy::NoFile => "not a regular file, not read",
        }
    }

    /// What to do about it.
    pub fn hint(self) -> Option<&'static str> {
        match self {
            PassedBy::FolderLink => Some("name the folder itself to search it"),
            PassedBy::NoFile => None,
        }
    }
}

/// Walks `folder` and collects the files that `wanted` accepts; the folder `skip` is left out.
pub(super) fn walk(
    folder: &Path,
    skip: Option<&Path>,
    wanted: impl Fn(&Path, &str) -> bool,
) -> Walked {
    let skip = skip.and_then(|skip| skip.canonicalize().ok());
    let is_here = folder.as_os_str().is_empty();
    let folder = if is_here { Path::new(".") } else { folder };
    let walker = WalkBuilder::new(folder)
        // Transcripts are in hidden folders, and often in ignored ones.
        .standard_filters(false)
        .filter_entry(move |entry| {
            let is_skipped = skip
                .as_ref()
                .is_some_and(|skip| entry.path().canonicalize().is_ok_and(|path| path == *skip));
            entry.file_name() != FOLDER && (entry.depth() == 0 || !is_skipped)
        })
        .sort_by_file_path(Path::cmp)
        .build();
    // Without a folder, names are relative to the current one.
    let named = |path: &Path| match path.strip_prefix(".") {
        Ok(below) if is_here && !below.as_os_str().is_empty() => below.to_owned(),
        _ => path.to_owned(),
    };
    let mut walked = Walked::default();
    for entry in walker {
        let entry = match entry {
            Ok(entry) => entry,
            Err(error) => {
                let (path, error) = fault(error);
                let path = path.map_or_else(|| folder.to_owned(), |path| named(&path));
                walked.unseen.push(Error::io(path, "list", error));
                continue;
            }
        };
        let Some(kind) = entry.file_type().filter(|kind| !kind.is_dir()) else {
            continue;
        };
        let path = named(entry.path());
        let is_wanted =
            !is_temp(entry.file_name()) && wanted(&path, &entry.file_name().to_string_lossy());
        if kind.is_symlink() {
            walked.link(folder, entry.path(), path, is_wanted);
        } else if is_wanted && kind.is_file() {
            walked.files.push(path);
        } else if is_wanted {
            walked.passed.push((path, PassedBy::NoFile));
        }
    }
    walked
}

impl Walked {
    /// Links are not trusted: only targets below the walked folder are taken.
    fn link(&mut self, folder: &Path, link: &Path, name: PathBuf, is_wanted: bool) {
        let resolved = fs::canonicalize(link);
        let is_below =
            |path: &Path| fs::canonicalize(folder).is_ok_and(|folder| path.starts_with(folder));
        match resolved {
            Ok(path) if path.is_dir() => {
                if !is_below(&path) {
                    self.passed.push((name, PassedBy::FolderLink));
                }
            }
            _ if !is_wanted => {}
            Err(error) => self.unseen.push(Error::io(name, "follow the link", error)),
            Ok(path) if !is_below(&path) => self.unseen.push(
                Error::new(
                    ErrorKind::Store,
                    "the link leads out of the folder, and is not read",
                )
                .at(name)
                .hint("name the link itself to read its target"),
            ),
            Ok(path) if path.is_file() => self.files.push(name),
            Ok(_) => self.passed.push((name, PassedBy::NoFile)),
        }
    }
}

/// The path and the system's error in an error of the walker.
fn fault(error: ignore::Error) -> (Option<PathBuf>, io::Error) {
    match error {
        ignore::Error::WithPath { path, err } => (Some(path), fault(*err).1),
        ignore::Error::WithDepth { err, .. } | ignore::Error::WithLineNumber { err, .. } => {
            fault(*err)
        }
        ignore::Error::Partial(mut errors) if !errors.is_empty() => fault(errors.swap_remove(0)),
        ignore::Error::Io(error) => (None, error),
        other => (None, io::Error::other(other.to_string())),
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

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
        let walked = walk(&folder, None, |_, name| name.ends_with(".jsonl"));
        let below = |path: &Path| path.strip_prefix(&folder).unwrap().display().to_string();
        let files: Vec<String> = walked.files.iter().map(|path| below(path)).collect();
        assert_eq!(files, ["a.jsonl", "below/b.jsonl", "inner.jsonl"]);
        let unseen = walked.unseen.iter();
        let unseen: Vec<(String, ErrorKind)> = unseen
            .map(|error| (below(error.path.as_ref().unwrap()), error.kind))
            .collect();
        let name = |name: &str| name.to_owned();
        assert_eq!(
            unseen,
            [
                (name("broken.jsonl"), ErrorKind::NotFound),
                (name("leads-out.jsonl"), ErrorKind::Store),
                (name("loop.jsonl"), ErrorKind::Io),
            ]
        );
        let passed: Vec<(String, PassedBy)> = walked
            .passed
            .iter()
            .map(|(path, why)| (below(path), *why))
            .collect();
        assert_eq!(
            passed,
            [
                (name("folder"), PassedBy::FolderLink),
                (name("socket.jsonl"), PassedBy::NoFile)
            ]
        );
    }
}
