//! A folder that is held open, and the files in it by their plain names.
//!
//! Whoever can write to a folder can put a link where ctxpack expects a file of its own: a cloned repository can hold a whole
//! store. So what lies below a folder is never reached by a path. Each step is one name in a folder that is open already, no
//! link is followed, only regular files are opened, and what is new is created exclusively. Only the way to the folder that a
//! user named may lead through links; it is followed once, when the folder is opened.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::fs::{File, Metadata};
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

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

/// A folder that is open. Copies share the handle.
#[derive(Clone)]
pub struct Folder {
    handle: Arc<Handle>,
    /// For messages.
    path: PathBuf,
}

/// Whether the bytes must survive a power cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    /// On the disk before the name appears, and the name on the disk before `commit` returns.
    Durable,
    /// Left to the system: some 60 times faster for small files. A batch calls [`Folder::sync`] at its end.
    Lazy,
}

/// Who may use a folder that is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// What the user's umask says.
    Default,
    /// The owner alone.
    Private,
}

/// Why something was not opened that is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NotPlain {
    /// A link, which could lead anywhere.
    Link,
    /// A folder, pipe, socket or device.
    NoFile,
    /// Anything but a folder.
    NoFolder,
    /// So many names lead to it, and some may be elsewhere.
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
    /// Opens a folder that the user named; links that lead to it are followed now, and not again.
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

    /// Opens a folder whose path was resolved just now: a link anywhere on the way, put there since, is an error.
    pub(super) fn open_resolved(path: &Path) -> io::Result<Self> {
        Ok(Folder {
            handle: Arc::new(system::open_resolved(path)?),
            path: path.to_owned(),
        })
    }

    /// [`Folder::open`]; what is missing of the path is made.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Io`] when the system refuses, or when something there is no folder.
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

    /// A folder below this one, by plain names.
    ///
    /// # Errors
    ///
    /// The system's; also where a link or anything else that is no folder is on the way, or `..` is.
    pub fn below(&self, relative: &Path) -> io::Result<Self> {
        let mut folder = self.clone();
        for name in plain_names(relative)? {
            folder = folder.step(name)?;
        }
        Ok(folder)
    }

    /// [`Folder::below`]; what is missing is made.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Io`] when the system refuses, or when something on the way is a link or no folder.
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

    /// What stands under a name, links as such; none where there is nothing.
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

    /// Opens a regular file for reading. Never waits for what is no regular file.
    ///
    /// # Errors
    ///
    /// The system's; also for a link or anything else that is no regular file.
    pub fn read(&self, name: &OsStr) -> io::Result<File> {
        system::read(&self.handle, name)
    }

    /// Opens a regular file to append to it.
    #[cfg(unix)]
    pub(super) fn append(&self, name: &OsStr) -> io::Result<File> {
        system::append(&self.handle, name)
    }

    /// Opens a regular file that nothing is ever written to but locks.
    pub(super) fn open_lock(&self, name: &OsStr) -> io::Result<File> {
        system::open_lock(&self.handle, name)
    }

    /// Makes a file for reading and writing, where there is nothing of that name: no link either.
    pub(super) fn create(&self, name: &OsStr, access: Access) -> io::Result<File> {
        system::create(&self.handle, name, access)
    }

    /// Gives a file in here another name; what had it is replaced.
    pub(super) fn rename(&self, from: &OsStr, to: &OsStr) -> io::Result<()> {
        system::rename(&self.handle, from, to)
    }

    /// Gives a file in here another name, which must be free.
    pub(super) fn rename_to_free(&self, from: &OsStr, to: &OsStr) -> io::Result<()> {
        system::rename_to_free(&self.handle, from, to)
    }

    /// Two files in here get each other's names.
    #[cfg(unix)]
    pub(super) fn exchange(&self, a: &OsStr, b: &OsStr) -> io::Result<()> {
        system::exchange(&self.handle, a, b)
    }

    /// Takes a file's name away.
    pub(super) fn remove(&self, name: &OsStr) -> io::Result<()> {
        system::remove(&self.handle, name)
    }

    /// The names in here, in no order.
    ///
    /// # Errors
    ///
    /// The system's.
    pub fn names(&self) -> io::Result<Vec<OsString>> {
        system::names(&self.handle)
    }

    /// Makes the names in here survive a power cut.
    ///
    /// # Errors
    ///
    /// The system's.
    pub fn sync(&self) -> io::Result<()> {
        match system::sync(&self.handle) {
            // Some network file systems cannot flush a folder; there is nothing more to be done there.
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

/// What a link or any other file in the place of one of ours comes to; other faults are the system's.
pub(super) fn not_plain(path: &Path, doing: &str, error: io::Error) -> Error {
    let Some(why) = NotPlain::of(&error) else {
        return Error::io(path, doing, error);
    };
    let hint = match why {
        NotPlain::Link => {
            "ctxpack makes no links and follows none here; remove it if you did not make it"
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

/// The folder that holds `path`; the current one for a bare name.
pub(super) fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if folder.as_os_str().is_empty() => Path::new("."),
        Some(folder) => folder,
        None => path,
    }
}

/// The names on a relative way down.
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

/// Opens a file of the user's, by whatever way, without waiting for the writer of a pipe.
pub(super) fn open_without_waiting(path: &Path) -> io::Result<File> {
    system::open_without_waiting(path)
}

/// What nobody can foresee, in 32 hexadecimal digits.
pub(super) fn chance() -> String {
    // The standard library's only source of chance: its hashes are keyed by the system's.
    let half = || RandomState::new().hash_one(std::process::id());
    format!("{:016x}{:016x}", half(), half())
}

#[cfg(test)]
mod tests;
