//! Where a command takes effect: at a path, in a repository, or wherever a pattern matches.
//!
//! PURE. All paths are normalised.

use super::file_effects::Pattern;
use super::operation::Operation;
use super::path::is_relative;

/// The files that a command may have affected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum PathScope {
    /// A file, or a folder with its contents.
    Path(String),
    /// A file.
    File(String),
    /// All matches, below a folder or anywhere.
    Like {
        folder: Option<String>,
        pattern: Pattern,
    },
    /// The files of the repository below this folder; any file if the folder is unknown.
    Repository(Option<String>),
}

/// What a command did to files that nothing had named before or that it did not name itself; an earlier summary may name them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnmatchedOperation {
    pub(super) site: PathScope,
    /// What was done.
    pub operation: Operation,
}

impl UnmatchedOperation {
    /// Whether the operation may have affected the file at this path.
    pub fn may_be_of(&self, path: &str) -> bool {
        self.site.holds(path)
    }

    /// Whether the command names this path itself, not only a folder that contains it or a pattern.
    pub fn names(&self, path: &str) -> bool {
        self.site.is(path)
    }
}

impl PathScope {
    /// The repository that contains a folder. Agents most often start in the root of one.
    pub(super) fn of_repository(folder: Option<String>, start: Option<&str>) -> PathScope {
        let known = folder.filter(|folder| !is_relative(folder));
        let root = known.map(|folder| match start {
            Some(start) if is_in(&folder, start) => start.to_owned(),
            Some(_) | None => folder,
        });
        PathScope::Repository(root)
    }

    /// Whether the scope names exactly this path.
    pub(super) fn is(&self, path: &str) -> bool {
        match self {
            PathScope::Path(named) | PathScope::File(named) => named == path,
            PathScope::Like { .. } | PathScope::Repository(_) => false,
        }
    }

    /// The path that the scope names, if any.
    pub(super) fn path(&self) -> Option<&str> {
        match self {
            PathScope::Path(path) | PathScope::File(path) => Some(path),
            PathScope::Like { .. } | PathScope::Repository(_) => None,
        }
    }

    /// Whether the scope may include a file.
    pub(super) fn holds(&self, path: &str) -> bool {
        match self {
            PathScope::File(named) => named == path,
            PathScope::Path(named) => named == path || is_in(path, named),
            PathScope::Repository(None) => true,
            PathScope::Repository(Some(root)) => is_relative(path) || is_in(path, root),
            PathScope::Like {
                folder: None,
                pattern,
            } => match path.starts_with('/') {
                true => pattern.fits(path),
                false => pattern.fits(&format!("/{path}")),
            },
            PathScope::Like {
                folder: Some(folder),
                pattern,
            } => below(path, folder).is_some_and(|rest| pattern.fits(rest)),
        }
    }

    /// The prefix shared by the paths of all its files.
    pub(super) fn start(&self) -> String {
        match self {
            PathScope::File(path) | PathScope::Path(path) if path != "." => path.clone(),
            PathScope::Like {
                folder: Some(folder),
                ..
            } if folder != "." => folder.clone(),
            PathScope::File(_)
            | PathScope::Path(_)
            | PathScope::Like { .. }
            | PathScope::Repository(_) => String::new(),
        }
    }

    /// A path without `..`, if it has any.
    pub(super) fn without_parents(path: &str) -> Option<String> {
        if !path.split('/').any(|part| part == "..") {
            return None;
        }
        let mut parts: Vec<&str> = Vec::new();
        for part in path.split('/') {
            match (part, parts.last()) {
                ("..", Some(last)) if !matches!(*last, "" | "..") => {
                    parts.pop();
                }
                (part, _) => parts.push(part),
            }
        }
        match &parts.join("/")[..] {
            "" if path.starts_with('/') => Some("/".to_owned()),
            "" => Some(".".to_owned()),
            joined => Some(joined.to_owned()),
        }
    }
}

/// The part of a path below a folder.
fn below<'p>(path: &'p str, folder: &str) -> Option<&'p str> {
    match folder {
        // An unknown folder, which contains all relative paths.
        "." => is_relative(path).then_some(path),
        folder => path
            .strip_prefix(folder.trim_end_matches('/'))?
            .strip_prefix('/'),
    }
}

fn is_in(path: &str, folder: &str) -> bool {
    path == folder || below(path, folder).is_some()
}
