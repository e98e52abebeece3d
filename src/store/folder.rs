//! An open folder, whose files are accessed by plain names.
//!
//! Anyone who can write to a folder can put a link where ctxpack expects a file of its own: a cloned repository can contain a
//! whole store. So nothing below a folder is reached by a path. Each step is one name in a folder that is already open, no link
//! is followed, only regular files are opened, and new files are created exclusively. Only the path of the folder that a user
//! named may contain links; they are followed once, when the folder is opened.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::fs::{File, Metadata};
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use super::identity::FileIdentity;
use crate::error::{Error, ErrorKind, Result};

#[cfg(not(unix))]
mod paths;
#[cfg(unix)]
mod unix;

#[cfg(not(unix))]
use paths as system;
#[cfg(unix)]
use unix as system;

use system::Handle;

/// An open folder. Clones share the handle.
#[derive(Clone)]
pub struct Folder {
    handle: Arc<Handle>,
    /// Its path, for messages.
    path: PathBuf,
}

/// Whether the bytes must survive a power cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    /// The bytes are on the disk before the name appears, and the name is on the disk before `commit` returns.
    Durable,
    /// Left to the system: about 60 times faster for small files. A batch calls [`Folder::sync`] at its end.
    Lazy,
}

/// Who may use a new folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// According to the user's umask.
    Default,
    /// Only the owner.
    Private,
}

/// Why something that exists was not opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NotPlain {
    /// A link, which could lead anywhere.
    Link,
    /// A folder, pipe, socket or device.
    NoFile,
    /// Not a folder.
    NoFolder,
    /// A file with this many names, some of which may be elsewhere.
    Names(u64),
}

impl fmt::Display for NotPlain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NotPlain::Link => f.write_str("it is a link"),
            NotPlain::NoFile => f.write_str("it is not a regular file"),
            NotPlain::NoFolder => f.write_str("it is not a folder"),
            NotPlain::Names(names) => write!(f, "it has {names} hard links"),
        }
    }
}

impl std::error::Error for NotPlain {}

impl From<NotPlain> for io::Error {
    fn from(why: NotPlain) -> Self {
        io::Error::new(io::ErrorKind::InvalidInput, why)
    }
}

impl NotPlain {
    /// Whether a system error is one of these.
    pub(super) fn of(error: &io::Error) -> Option<NotPlain> {
        error.get_ref()?.downcast_ref::<NotPlain>().copied()
    }
}

impl Folder {
    /// Opens a folder that the user named. Links in its path are followed now, once.
    ///
    /// # Errors
    ///
    /// The system's.
    pub fn open(path: &Path) -> io::Result<Self> {
        let path = if path.as_os_str().is_empty() {
            Path::new(".")
        } else {
            path
        };
        Ok(Folder {
            handle: Arc::new(system::open(path)?),
            path: path.to_owned(),
        })
    }

    /// Opens a folder whose path has just been resolved: a link that has been put into it since is an error.
    pub(super) fn open_resolved(path: &Path) -> io::Result<Self> {
        Ok(Folder {
            handle: Arc::new(system::open_resolved(path)?),
            path: path.to_owned(),
        })
    }

    /// Like [`Folder::open`], but creates missing folders.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Io`] when the system refuses, or when something there is not a folder.
    pub fn open_or_make(path: &Path, durability: Durability) -> Result<Self> {
        match (Folder::open(path), path.file_name()) {
            (Err(e), Some(name)) if e.kind() == io::ErrorKind::NotFound => {
                let above = folder_of(path);
                if above == path {
                    return Err(Error::io(path, "create the folder", e));
                }
                Folder::open_or_make(above, durability)?.below_or_make(
                    Path::new(name),
                    Access::Default,
                    durability,
                )
            }
            (opened, _) => opened.map_err(|e| Error::io(path, "create the folder", e)),
        }
    }

    /// The folder's path, for messages.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// A folder below this one, reached by plain names.
    ///
    /// # Errors
    ///
    /// The system's; also if the path contains `..`, a link, or anything else that is not a folder.
    pub fn below(&self, relative: &Path) -> io::Result<Self> {
        let mut folder = self.clone();
        for name in plain_names(relative)? {
            folder = folder.step(name)?;
        }
        Ok(folder)
    }

    /// Like [`Folder::below`], but creates missing folders.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Io`] when the system refuses, or when something on the way is a link or not a folder.
    pub fn below_or_make(
        &self,
        relative: &Path,
        access: Access,
        durability: Durability,
    ) -> Result<Self> {
        let mut folder = self.clone();
        for name in plain_names(relative).map_err(|e| Error::io(relative, "open", e))? {
            folder = folder.step_or_make(name, access, durability)?;
        }
        Ok(folder)
    }

    fn step(&self, name: &OsStr) -> io::Result<Self> {
        Ok(Folder {
            handle: Arc::new(system::folder(&self.handle, name)?),
            path: self.path.join(name),
        })
    }

    fn step_or_make(&self, name: &OsStr, access: Access, durability: Durability) -> Result<Self> {
        match self.step(name) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => {}
            opened => return opened.map_err(|e| not_plain(&self.path.join(name), "open", e)),
        }
        let path = self.path.join(name);
        match system::make_folder(&self.handle, name, access) {
            Ok(()) => {}
            // Another thread or run was faster.
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
            Err(e) => return Err(Error::io(&path, "create the folder", e)),
        }
        if durability == Durability::Durable {
            self.sync()
                .map_err(|e| Error::io(&self.path, "flush the folder", e))?;
        }
        self.step(name).map_err(|e| not_plain(&path, "open", e))
    }

    /// The metadata of a name; for a link, of the link itself; `None` if it does not exist.
    ///
    /// # Errors
    ///
    /// The system's.
    pub fn look(&self, name: &OsStr) -> io::Result<Option<Metadata>> {
        match system::look(&self.handle, name) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
            seen => seen.map(Some),
        }
    }

    /// Opens a regular file for reading. Never blocks on a pipe or a device.
    ///
    /// # Errors
    ///
    /// The system's; also for a link or anything else that is not a regular file.
    pub fn read(&self, name: &OsStr) -> io::Result<File> {
        system::read(&self.handle, name)
    }

    /// The identity of a regular file, without opening it.
    pub(super) fn seen(&self, name: &OsStr) -> io::Result<FileIdentity> {
        system::seen(&self.handle, name)
    }

    /// Opens for reading what was just seen to be a regular file, without checking again: for callers that compare what they read,
    /// and read no more than was seen.
    pub(super) fn read_seen(&self, name: &OsStr) -> io::Result<File> {
        system::read_seen(&self.handle, name)
    }

    /// Opens a regular file to append to it.
    #[cfg(unix)]
    pub(super) fn append(&self, name: &OsStr) -> io::Result<File> {
        system::append(&self.handle, name)
    }

    /// Opens a regular file that is only used for locking.
    pub(super) fn open_lock(&self, name: &OsStr) -> io::Result<File> {
        system::open_lock(&self.handle, name)
    }

    /// Creates a file for reading and writing; nothing with that name may exist, not even a link.
    pub(super) fn create(&self, name: &OsStr, access: Access) -> io::Result<File> {
        system::create(&self.handle, name, access)
    }

    /// Renames a file in the folder; replaces a file of the new name.
    pub(super) fn rename(&self, from: &OsStr, to: &OsStr) -> io::Result<()> {
        system::rename(&self.handle, from, to)
    }

    /// Renames a file in the folder; the new name must be free.
    pub(super) fn rename_to_free(&self, from: &OsStr, to: &OsStr) -> io::Result<()> {
        system::rename_to_free(&self.handle, from, to)
    }

    /// Exchanges the names of two files in the folder.
    #[cfg(unix)]
    pub(super) fn exchange(&self, a: &OsStr, b: &OsStr) -> io::Result<()> {
        system::exchange(&self.handle, a, b)
    }

    /// Removes a file.
    pub(super) fn remove(&self, name: &OsStr) -> io::Result<()> {
        system::remove(&self.handle, name)
    }

    /// Fails if the user may not create files in it, as far as the system tells without trying.
    pub(super) fn check_writable(&self) -> io::Result<()> {
        system::check_writable(&self.handle)
    }

    /// The names in the folder, in no particular order.
    ///
    /// # Errors
    ///
    /// The system's.
    pub fn names(&self) -> io::Result<Vec<OsString>> {
        system::names(&self.handle)
    }

    /// Flushes the folder, so that its names survive a power cut.
    ///
    /// # Errors
    ///
    /// The system's.
    pub fn sync(&self) -> io::Result<()> {
        match system::sync(&self.handle) {
            // Some network file systems cannot flush a folder; nothing more can be done there.
            Err(e) if e.kind() == io::ErrorKind::InvalidInput => Ok(()),
            done => done,
        }
    }
}

impl fmt::Debug for Folder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Folder").field(&self.path).finish()
    }
}

/// The error for a link, or another kind of file, in the place of a file of this program; other errors are the system's.
pub(super) fn not_plain(path: &Path, doing: &str, error: io::Error) -> Error {
    let Some(why) = NotPlain::of(&error) else {
        return Error::io(path, doing, error);
    };
    let hint = match why {
        NotPlain::Link => {
            "ctxpack neither creates nor follows links in a store; remove it if it is not yours"
        }
        NotPlain::NoFile | NotPlain::NoFolder | NotPlain::Names(_) => {
            "ctxpack did not make it; move it away"
        }
    };
    Error {
        kind: ErrorKind::Store,
        ..Error::io(path, doing, error).hint(hint)
    }
}

/// The folder that contains `path`; the current folder for a bare file name.
pub fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if folder.as_os_str().is_empty() => Path::new("."),
        Some(folder) => folder,
        None => path,
    }
}

/// Whether a path can only name a folder: one is there, or it is spelled like one (`out/`, `out/.`, `..`).
pub fn names_folder(path: &Path) -> bool {
    let bytes = path.as_os_str().as_encoded_bytes();
    let mut parts = bytes.rsplit(|byte| std::path::is_separator(char::from(*byte)));
    path.is_dir() || matches!(parts.next(), Some(b"" | b"." | b".."))
}

/// The folder that contains the file, as in [`folder_of`], and the file's name.
pub(super) fn split(path: &Path) -> Option<(&Path, &OsStr)> {
    system::split(path).or_else(|| Some((folder_of(path), path.file_name()?)))
}

/// The part of a path that is below `folder`; `None` if the path is not below it.
pub fn below<'p>(path: &'p Path, folder: &Path) -> Option<&'p Path> {
    system::below(path, folder).or_else(|| path.strip_prefix(folder).ok())
}

/// The names in a relative path, which must lead downward.
fn plain_names(relative: &Path) -> io::Result<Vec<&OsStr>> {
    let names = relative.components().filter_map(|part| match part {
        Component::Normal(name) => Some(Ok(name)),
        Component::CurDir => None,
        Component::ParentDir | Component::RootDir | Component::Prefix(_) => Some(Err(
            io::Error::new(io::ErrorKind::InvalidInput, "it leads out of its folder"),
        )),
    });
    names.collect()
}

/// Opens one of the user's files, following links, without blocking on a pipe.
pub(super) fn open_without_waiting(path: &Path) -> io::Result<File> {
    system::open_without_waiting(path)
}

/// Reads bytes at an offset of a file, independently of the handle's position. On Windows, the handle is positioned after them
/// afterwards.
///
/// # Errors
///
/// The system's; [`io::ErrorKind::UnexpectedEof`] if the file ends too early.
pub fn read_exact_at(file: &File, into: &mut [u8], offset: u64) -> io::Result<()> {
    system::read_exact_at(file, into, offset)
}

/// An unpredictable name of 32 hexadecimal digits.
pub(super) fn random_name() -> String {
    // The standard library's only source of randomness: its hashers are seeded by the system.
    let half = || RandomState::new().hash_one(0_u8);
    format!("{:016x}{:016x}", half(), half())
}

#[cfg(test)]
mod tests;
