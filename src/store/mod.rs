//! The store: what ctxpack keeps beside its outputs so that nothing is lost, and how it writes files.
//!
//! One folder with originals (`archive/`: compressed, and as plain copies where a text names them), tool outputs that were moved
//! out of transcripts (`offloaded/`), answers of models (`cache/`), what was asked of them in batches (`batches/`), records of
//! which output was made from which input (`manifests/`, one file for each finished run; `journal/`, one file for each unfinished
//! run), and of what runs have done, for the next one (`finished/`). Names are BLAKE3 hashes of content. Knows nothing of
//! transcripts or policies, and creates nothing before the first write. No text from a transcript becomes part of a path, except
//! a name of exactly our own form (see [`Store::read_offload`]).
//!
//! A store is not trusted, even if the user owns it: it may have come with another person's repository. Its folder and everything
//! below is opened by the rules of [`folder`], and a link, pipe or device in the place of a file of this program is an error that
//! names it.

use std::ffi::OsStr;
use std::fs::{File, Metadata, TryLockError};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use crate::error::{Error, ErrorKind, Result};

mod answers;
mod archive;
pub mod atomic;
mod contents;
pub mod finished;
pub mod folder;
mod frames;
pub mod gc;
mod hashes;
mod identity;
mod jobs;
mod keys;
mod line_file;
pub mod manifest;
mod name;
mod offload;
mod open_folders;
mod open_path;
mod path;
mod regular;
mod resolved;
mod rows;
mod sorted;
mod table;
pub mod undo;
pub(crate) mod unnamed;
mod unpack;

pub use answers::{AnswerClaim, answer_name};
pub use archive::{ArchiveWriter, Archived, archive_name, copy_name};
pub use hashes::{has_hash, hash, hash_of};
pub use identity::FileIdentity;
pub use jobs::{JobsLock, job_name};
pub use offload::{OffloadHash, is_offload_name, offload_in, offload_name, offload_names_in};
pub use open_folders::OpenFolders;
pub use open_path::{Missing, OpenPath};
pub use regular::{open_met, open_seen, open_transcript, read_regular};
pub use resolved::resolved;
pub use unpack::unpacked;

use atomic::Written;
use contents::Contents;
use finished::OwnNotes;
use folder::Durability;
use folder::{Access, Folder, folder_of, not_plain};
use hashes::{NAME_DIGITS, content_name, digits, hash_text, is_content_name};
use manifest::Journal;
use resolved::Resolved;

/// The name of a store unless the user gives another; walks over transcripts skip such folders.
pub const FOLDER: &str = ".ctxpack";

/// The folders in a store.
const PARTS: [&str; 7] = [
    archive::ARCHIVE,
    offload::OFFLOADED,
    answers::CACHE,
    jobs::BATCHES,
    manifest::MANIFESTS,
    manifest::JOURNAL,
    finished::FINISHED,
];
const LOCK: &str = "lock";
const COPY_BYTES: usize = 64 * 1024;

/// Whether a folder looks like a store, whatever its name: a walk over transcripts skips it, too.
pub fn is_store(folder: &Path) -> bool {
    let is = |name, is_kind: fn(&Metadata) -> bool| {
        let seen = folder.join(name).symlink_metadata();
        seen.is_ok_and(|seen| is_kind(&seen))
    };
    is(LOCK, Metadata::is_file)
        && (is(manifest::MANIFESTS, Metadata::is_dir) || is(manifest::JOURNAL, Metadata::is_dir))
}

/// One store, as used by one run. Threads share it.
///
/// Any number of runs may write to one store at once. From its first write to its end, a run holds a shared lock on the store,
/// so that no one can lock it exclusively (see [`Store::lock`]).
#[derive(Debug)]
pub struct Store {
    root: PathBuf,
    /// The folder that contains it: determined once, since millions of files are named relative to it.
    above: PathBuf,
    durability: Durability,
    folder: Mutex<Option<Folder>>,
    in_use: Mutex<Option<File>>,
    journal: Mutex<Option<Journal>>,
    finished: Mutex<Option<OwnNotes>>,
    resolved: Resolved,
    contents: Contents,
}

/// A store that is locked exclusively, until this is dropped or the process ends.
#[derive(Debug)]
#[must_use]
pub struct StoreLock {
    _file: File,
}

impl Store {
    /// A store at `root`. Accesses no file.
    ///
    /// [`Durability::Lazy`] is for runs that do not change their inputs: after a power cut they can run again. Archives are always
    /// durable.
    pub fn new(root: impl Into<PathBuf>, durability: Durability) -> Self {
        let root = root.into();
        Store {
            above: folder_of(&root).to_owned(),
            root,
            durability,
            folder: Mutex::new(None),
            in_use: Mutex::new(None),
            journal: Mutex::new(None),
            finished: Mutex::new(None),
            resolved: Resolved::default(),
            contents: Contents::default(),
        }
    }

    /// The store's folder, as it was given.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Locks the store exclusively, to delete from it.
    ///
    /// Does not wait: a run can take hours.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Store`] when there is no store, or when a run uses it (this process's own included).
    pub fn lock(&self) -> Result<StoreLock> {
        let Some(folder) = self.opened()? else {
            return Err(Error::new(ErrorKind::Store, "there is no store here")
                .at(&self.root)
                .hint("name the store's folder with --store"));
        };
        let file = lock_file(&folder, LOCK)?;
        match file.try_lock() {
            Ok(()) => Ok(StoreLock { _file: file }),
            Err(TryLockError::WouldBlock) => {
                Err(Error::new(ErrorKind::Store, "another run uses the store")
                    .at(&self.root)
                    .hint("wait until it has finished, then run again"))
            }
            Err(TryLockError::Error(e)) => Err(Error::io(&self.root, "lock the store", e)),
        }
    }

    /// The name of a file in manifests: relative to the folder that holds the store if the file is in it or next to it (`../in/a`),
    /// otherwise absolute; with `/` on every system. Links in the folders are resolved, but not one at the end. A byte that is not
    /// Unicode is written as U+0000 and its two hexadecimal digits, which cannot occur in a path otherwise.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Usage`] when no text can name the path on this system.
    pub fn name_of(&self, path: &Path) -> Result<String> {
        let unnamed = || {
            Error::new(
                ErrorKind::Usage,
                "the file's name is not Unicode, so no record of it can be kept",
            )
            .at(path)
            .hint("rename the file")
        };
        let above = &self.above;
        let name = match folder::split(path) {
            Some((folder, name)) => self.resolved.below(above, folder, name),
            None => {
                let path = resolved::resolved(path);
                let here = self.resolved.of(above);
                resolved::text(&resolved::seen_from(&here, &path))
            }
        };
        name.ok_or_else(unnamed)
    }

    /// The path of a file named in a manifest: the reverse of [`Store::name_of`].
    pub fn path_of(&self, name: &str) -> PathBuf {
        self.above.join(name::to_path(name))
    }

    /// The same path for a reader: without the detour through the folder that holds the store, if it can be omitted.
    pub fn shown_path_of(&self, name: &str) -> PathBuf {
        let above = &self.above;
        match (name.strip_prefix("../"), above.file_name()) {
            (Some(rest), Some(_)) => above.with_file_name(name::to_path(rest)),
            (Some(_) | None, _) => self.path_of(name),
        }
    }

    /// The store's own folder; `None` if there is no store.
    fn opened(&self) -> Result<Option<Folder>> {
        let mut slot = self.folder.lock().unwrap_or_else(PoisonError::into_inner);
        if slot.is_none() {
            let opened = match self.root.file_name() {
                // The user may reach it through links; the store itself must not be one.
                Some(name) => {
                    Folder::open(&self.above).and_then(|above| above.below(Path::new(name)))
                }
                None => Folder::open(&self.root),
            };
            match opened {
                Ok(folder) => *slot = Some(folder),
                Err(e) if e.kind() == io::ErrorKind::NotFound => {}
                Err(e) => return Err(not_plain(&self.root, "open the store", e)),
            }
        }
        Ok(slot.clone())
    }

    /// A folder of the store, for reading; `None` if it does not exist.
    fn part(&self, name: &str) -> Result<Option<Folder>> {
        let Some(folder) = self.opened()? else {
            return Ok(None);
        };
        match folder.below(Path::new(name)) {
            Ok(folder) => Ok(Some(folder)),
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(e) => Err(not_plain(&self.root.join(name), "open", e)),
        }
    }

    /// Opens a content of the store, named `folder/file`; `doing` and `hint` are for messages.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Store`] when the file does not exist, or is anything but a regular file.
    fn open_content(&self, name: &str, doing: &str, hint: &str) -> Result<File> {
        let path = self.root.join(name);
        let failed = |e| match folder::NotPlain::of(&e) {
            Some(_) => not_plain(&path, doing, e),
            None => Error {
                kind: ErrorKind::Store,
                ..Error::io(&path, doing, e).hint(hint)
            },
        };
        let missing = || failed(io::ErrorKind::NotFound.into());
        let (part, file) = name.split_once('/').ok_or_else(missing)?;
        let part = self.part(part)?.ok_or_else(missing)?;
        part.read(OsStr::new(file)).map_err(failed)
    }

    /// A folder of the store, for writing: creates it and the store, and marks the store as in use.
    fn folder(&self, name: &str) -> Result<Folder> {
        let folder = self.begin()?;
        folder.below_or_make(Path::new(name), Access::Private, Durability::Durable)
    }

    /// Releases the store at the end of the run.
    fn release(&self) {
        let mut in_use = self.in_use.lock().unwrap_or_else(PoisonError::into_inner);
        drop(in_use.take());
    }

    fn begin(&self) -> Result<Folder> {
        let mut in_use = self.in_use.lock().unwrap_or_else(PoisonError::into_inner);
        let folder = match self.opened()? {
            Some(folder) => folder,
            None => self.make()?,
        };
        if in_use.is_none() {
            look_over(&folder)?;
            let file = lock_file(&folder, LOCK)?;
            let locked = loop {
                match file.lock_shared() {
                    // A signal interrupted the wait.
                    Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                    locked => break locked,
                }
            };
            match locked {
                // If the file system does not support locks, runs still do not interfere with each other; only a sweep could.
                Err(e) if e.kind() != io::ErrorKind::Unsupported => {
                    return Err(Error::io(&self.root, "lock the store", e));
                }
                Ok(()) | Err(_) => *in_use = Some(file),
            }
        }
        Ok(folder)
    }

    /// Flushes the store's folders, so that their names survive a power cut.
    fn sync(&self) -> Result<()> {
        match self.opened()? {
            Some(folder) => folder
                .sync()
                .map_err(|e| Error::io(&self.root, "flush the folder", e)),
            None => Ok(()),
        }
    }

    /// Removes incomplete files of killed runs. Errors are ignored: leftovers are harmless.
    pub fn sweep(&self) {
        let parts = PARTS.iter().map(|part| self.part(part));
        let folders = std::iter::once(self.opened()).chain(parts);
        for folder in folders.filter_map(|folder| folder.ok().flatten()) {
            atomic::sweep(&folder);
        }
    }

    fn make(&self) -> Result<Folder> {
        let above = Folder::open_or_make(&self.above, Durability::Durable)?;
        let folder = match self.root.file_name() {
            Some(name) => {
                above.below_or_make(Path::new(name), Access::Private, Durability::Durable)?
            }
            None => above,
        };
        let mut slot = self.folder.lock().unwrap_or_else(PoisonError::into_inner);
        *slot = Some(folder.clone());
        Ok(folder)
    }
}

/// Checks, before anything is written to a store, that our own folders and files are of the right kinds.
///
/// # Errors
///
/// [`ErrorKind::Store`] for a link, or for anything else that no run of ours can have made.
fn look_over(store: &Folder) -> Result<()> {
    let wrong =
        |path: &Path, why: folder::NotPlain| Err(not_plain(path, "use the store", why.into()));
    let unseen = |path: &Path, e| Error::io(path, "look at it", e);
    for part in PARTS {
        let path = store.path().join(part);
        let Some(seen) = store.look(OsStr::new(part)).map_err(|e| unseen(&path, e))? else {
            continue;
        };
        if seen.is_symlink() {
            return wrong(&path, folder::NotPlain::Link);
        }
        if !seen.is_dir() {
            return wrong(&path, folder::NotPlain::NoFolder);
        }
        if !matches!(
            part,
            manifest::MANIFESTS | manifest::JOURNAL | finished::FINISHED
        ) {
            continue;
        }
        let part = store
            .below(Path::new(part))
            .map_err(|e| not_plain(&path, "open", e))?;
        for name in part.names().map_err(|e| Error::io(&path, "list", e))? {
            let path = path.join(&name);
            match part.look(&name).map_err(|e| unseen(&path, e))? {
                Some(seen) if seen.is_symlink() => return wrong(&path, folder::NotPlain::Link),
                Some(seen) if !seen.is_file() => return wrong(&path, folder::NotPlain::NoFile),
                Some(_) | None => {}
            }
        }
    }
    Ok(())
}

/// The lock file of a store, created if it is missing.
fn lock_file(folder: &Folder, name: &str) -> Result<File> {
    let (name, path) = (OsStr::new(name), folder.path().join(name));
    loop {
        match folder.open_lock(name) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => {}
            opened => return opened.map_err(|e| not_plain(&path, "open", e)),
        }
        match folder.create(name, Access::Private) {
            // Another run was faster.
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
            made => return made.map_err(|e| Error::io(&path, "create", e)),
        }
    }
}

/// Copies, hashes and counts everything; reports which side failed, because the remedies differ.
fn pour(
    from: &mut dyn Read,
    to: &mut dyn Write,
    read_error: impl Fn(io::Error) -> Error,
) -> Result<Written> {
    let mut hasher = blake3::Hasher::new();
    let mut buffer = vec![0; COPY_BYTES];
    let mut bytes = 0;
    loop {
        let n = match from.read(&mut buffer) {
            Ok(0) => break,
            Ok(n) => n,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
            Err(e) => return Err(read_error(e)),
        };
        hasher.update(&buffer[..n]);
        to.write_all(&buffer[..n]).map_err(write_failed)?;
        bytes += n as u64;
    }
    to.flush().map_err(write_failed)?;
    Ok(Written {
        hash: hash_text(&hasher.finalize()),
        bytes,
    })
}

/// An error of a stream whose name only the caller knows.
fn write_failed(source: io::Error) -> Error {
    Error {
        message: format!("cannot write: {source}"),
        source: Some(source),
        ..Error::new(ErrorKind::Io, "")
    }
}

#[cfg(test)]
mod tests;
