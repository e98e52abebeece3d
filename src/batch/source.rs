//! What an input is: a file or a stream, and how it came to be one.
//!
//! PURE. Plain data; looks at nothing itself.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::store::folder::below;

/// One input.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Source {
    /// Standard input.
    Stdin,
    /// A file.
    File(FileSource),
}

/// A file that was named, or found below a folder that was.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct FileSource {
    /// The path as given.
    pub path: PathBuf,
    /// The folder argument below which it was found.
    pub folder: Option<Arc<Path>>,
    /// How it came to be an input.
    pub origin: Origin,
}

/// How a file came to be an input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Origin {
    /// The user named it.
    Named,
    /// It was found below a folder, or by a pattern.
    Walked,
}

impl Source {
    /// The input as it is called in a report.
    pub fn path(&self) -> &Path {
        match self {
            Source::Stdin => Path::new("-"),
            Source::File(file) => &file.path,
        }
    }

    /// The folder argument below which it was found.
    pub fn folder(&self) -> Option<&Path> {
        match self {
            Source::Stdin => None,
            Source::File(file) => file.folder.as_deref(),
        }
    }
}

impl FileSource {
    /// Its path relative to an output folder.
    pub fn relative(&self) -> &Path {
        let folder = self.folder.as_ref();
        let rest = folder.and_then(|folder| below(&self.path, folder));
        let alone = || {
            self.path
                .file_name()
                .map(Path::new)
                .unwrap_or(Path::new(""))
        };
        rest.unwrap_or_else(alone)
    }
}
