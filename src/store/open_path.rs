//! The location of an output: a name in an open folder.
//!
//! Made once for each output, before it is examined; no path is resolved after that.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File, Metadata};
use std::io;
use std::path::{Path, PathBuf};

use super::folder::{Access, Durability, Folder, NotPlain, below, folder_of, split};
use super::identity::FileIdentity;
use crate::error::{Error, ErrorKind, Result};

/// A name in an open folder.
#[derive(Debug, Clone)]
pub struct OpenPath {
    pub(super) folder: Folder,
    pub(super) name: OsString,
    /// The path as the user named it, for messages.
    path: PathBuf,
}

/// What to do about missing folders on the way to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Missing {
    /// Fail with [`ErrorKind::NotFound`].
    Refuse,
    /// Create them.
    Make,
}

impl OpenPath {
    /// A path given by the user. Links in the path of its folder are followed; the file itself must not be a link.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Io`] or [`ErrorKind::NotFound`] when its folder cannot be opened; [`ErrorKind::Usage`] when it does not name a
    /// file.
    pub fn named(path: &Path, missing: Missing) -> Result<Self> {
        let above = folder_of(path);
        let folder = match missing {
            Missing::Refuse => {
                Folder::open(above).map_err(|e| Error::io(path, "open its folder", e))?
            }
            Missing::Make => match Folder::open(above) {
                Err(e) if e.kind() == io::ErrorKind::NotFound => {
                    Folder::open_or_make(above, Durability::Lazy)?
                }
                opened => opened.map_err(|e| Error::io(path, "open its folder", e))?,
            },
        };
        OpenPath::in_folder(folder, path)
    }

    /// A path that was found or made below `base`, a folder of the user's. There must be no link below it.
    ///
    /// # Errors
    ///
    /// Those of [`OpenPath::named`]; [`ErrorKind::Store`] where there is a link.
    pub fn below(base: &Path, path: &Path, missing: Missing) -> Result<Self> {
        let Some(relative) = below(path, base) else {
            return OpenPath::named(path, missing);
        };
        let way = relative.parent().unwrap_or(Path::new(""));
        let folder = match missing {
            Missing::Refuse => Folder::open(base)
                .and_then(|base| base.below(way))
                .map_err(|e| super::folder::not_plain(path, "open its folder", e))?,
            Missing::Make => Folder::open_or_make(base, Durability::Lazy)?.below_or_make(
                way,
                Access::Default,
                Durability::Lazy,
            )?,
        };
        OpenPath::in_folder(folder, path)
    }

    /// One of the user's files, which may be given as a link; the link is resolved here, once, to its target. If the file was found
    /// below a folder `base`, the target must be there too.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NotFound`] or [`ErrorKind::Io`] when there is no such file; [`ErrorKind::Link`] when a link leads out of
    /// `base`.
    pub fn resolved(path: &Path, base: Option<&Path>) -> Result<Self> {
        let failed = |e| Error::io(path, "open", e);
        let is_link = fs::symlink_metadata(path).map_err(failed)?.is_symlink();
        if !is_link {
            return match base {
                Some(base) => OpenPath::below(base, path, Missing::Refuse),
                None => OpenPath::named(path, Missing::Refuse),
            };
        }
        let plain = fs::canonicalize(path).map_err(|e| Error::io(path, "follow the link", e))?;
        if let Some(base) = base {
            let base = fs::canonicalize(base).map_err(failed)?;
            if !plain.starts_with(&base) {
                return Err(
                    Error::new(ErrorKind::Link, "the link leads out of the folder")
                        .at(path)
                        .hint("name the link itself to compact its target"),
                );
            }
        }
        let folder = Folder::open_resolved(folder_of(&plain)).map_err(failed)?;
        Ok(OpenPath {
            path: path.to_owned(),
            ..OpenPath::in_folder(folder, &plain)?
        })
    }

    pub(super) fn in_folder(folder: Folder, path: &Path) -> Result<Self> {
        let (_, name) = split(path).ok_or_else(|| {
            Error::new(ErrorKind::Usage, "not a file name")
                .at(path)
                .hint("name a file")
        })?;
        Ok(OpenPath {
            folder,
            name: name.to_owned(),
            path: path.to_owned(),
        })
    }

    /// A name in one of our own folders.
    pub(super) fn of(folder: &Folder, name: &OsStr) -> Self {
        OpenPath {
            folder: folder.clone(),
            name: name.to_owned(),
            path: folder.path().join(name),
        }
    }

    /// The path as the user named it.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The metadata of the file; `None` if it does not exist.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Exists`] for a link; [`ErrorKind::Io`] when the system refuses.
    pub fn look(&self) -> Result<Option<Metadata>> {
        match self.folder.look(&self.name) {
            Ok(Some(seen)) if seen.is_symlink() => Err(self.is_link()),
            Err(e) if NotPlain::of(&e) == Some(NotPlain::Link) => Err(self.is_link()),
            seen => seen.map_err(|e| Error::io(&self.path, "look at the file", e)),
        }
    }

    /// The identity of the regular file, without opening it.
    ///
    /// # Errors
    ///
    /// Those of [`OpenPath::read`].
    pub fn seen(&self) -> Result<FileIdentity> {
        self.folder
            .seen(&self.name)
            .map_err(|e| self.not_plain("look at the file", e))
    }

    /// Opens for reading what was just [`seen`](OpenPath::seen), without checking again: for callers that compare what they read,
    /// and read no more than was seen.
    ///
    /// # Errors
    ///
    /// Those of [`OpenPath::read`].
    pub fn read_seen(&self) -> Result<File> {
        self.folder
            .read_seen(&self.name)
            .map_err(|e| self.not_plain("open", e))
    }

    /// Opens the regular file for reading.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Exists`] for a link; [`ErrorKind::Io`] for anything else that is not a regular file, and when the system
    /// refuses.
    pub fn read(&self) -> Result<File> {
        self.folder
            .read(&self.name)
            .map_err(|e| self.not_plain("open", e))
    }

    fn not_plain(&self, doing: &str, error: io::Error) -> Error {
        match NotPlain::of(&error) {
            Some(NotPlain::Link) => self.is_link(),
            Some(_) => Error::new(ErrorKind::Io, "not a regular file").at(&self.path),
            None => Error::io(&self.path, doing, error),
        }
    }

    fn is_link(&self) -> Error {
        Error::new(
            ErrorKind::Exists,
            "the output path is a link, and outputs are not written through links",
        )
        .at(&self.path)
        .hint("remove the link, or write to another name")
    }
}
