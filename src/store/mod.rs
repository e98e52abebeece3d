//! The store: what ctxpack keeps beside its outputs so that nothing is lost, and how it writes files at all.
//!
//! One folder holds compressed originals (`archive/`), tool outputs that left a transcript (`offloaded/`), answers of
//! servers that were paid for (`cache/`), and who came from what (`manifests/`, one file a finished run; `journal/`, one file a run that has not finished).
//! Names are BLAKE3 hashes of content. Knows nothing of transcripts or policies; creates nothing before the
//! first write; no text from a transcript ever becomes part of a path, save a name that has exactly our own form
//! (see [`Store::read_offload`]).

use std::fs::{self, File, Metadata, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use crate::error::{Error, ErrorKind, Result};

mod answers;
mod archive;
pub mod atomic;
pub mod folders;
pub mod gc;
pub mod manifest;
mod offload;
pub mod undo;

pub use answers::answer_name;
pub use archive::{ArchiveWriter, Archived, archive_name};
pub use offload::{OffloadHash, is_offload_name, offload_name};

use atomic::{Durability, Written};
use manifest::Journal;

/// The name of a store that the user did not name; a walk over transcripts leaves such folders out.
pub const FOLDER: &str = ".ctxpack";

/// A BLAKE3 hash is cut to this many hexadecimal digits where it is a file's name.
const NAME_DIGITS: usize = 32;
const COPY_BYTES: usize = 64 * 1024;

/// One store, as one run uses it. Threads share it.
///
/// Any number of runs may write to one store at once. From its first write to its end a run holds the store's
/// lock as one of many, so that nobody can hold it alone (see [`Store::lock`]) meanwhile.
#[derive(Debug)]
pub struct Store {
    root: PathBuf,
    durability: Durability,
    in_use: Mutex<Option<File>>,
    journal: Mutex<Option<Journal>>,
}

/// A store held by one alone, until this is dropped or its process ends.
#[derive(Debug)]
#[must_use]
pub struct StoreLock {
    _file: File,
}

impl Store {
    /// A store at `root`. Touches nothing.
    ///
    /// [`Durability::Lazy`] is for runs that leave their inputs alone: after a power cut they can run again.
    /// Archives are durable in any case.
    pub fn new(root: impl Into<PathBuf>, durability: Durability) -> Self {
        Store {
            root: root.into(),
            durability,
            in_use: Mutex::new(None),
            journal: Mutex::new(None),
        }
    }

    /// The store's folder, as it was given.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Holds the store alone, to delete from it.
    ///
    /// Does not wait: a run can take hours.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Store`] when there is no store, or when a run uses it (this process's own included).
    pub fn lock(&self) -> Result<StoreLock> {
        if !self.root.is_dir() {
            return Err(Error::new(ErrorKind::Store, "there is no store here")
                .at(&self.root)
                .hint("name the store's folder with --store"));
        }
        let file = self.lock_file()?;
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

    /// How manifests name a file: relative to the folder that holds the store when it is inside, else absolute;
    /// with `/` on every system. Links in the folders are resolved, one at the end is not.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Usage`] when the path is not Unicode: JSON could not name it, so `undo` could not find it.
    pub fn name_of(&self, path: &Path) -> Result<String> {
        let path = named(path);
        let here = resolved(folders::folder_of(&self.root));
        let path = path.strip_prefix(&here).unwrap_or(&path);
        let name = path.to_str().ok_or_else(|| {
            Error::new(
                ErrorKind::Usage,
                "the file's name is not Unicode, so no record of it can be kept",
            )
            .at(path)
            .hint("rename the file")
        })?;
        Ok(if cfg!(windows) {
            name.trim_start_matches(r"\\?\").replace('\\', "/")
        } else {
            name.to_owned()
        })
    }

    /// The file that a manifest names: the reverse of [`Store::name_of`].
    pub fn path_of(&self, name: &str) -> PathBuf {
        folders::folder_of(&self.root).join(name)
    }

    /// A folder of the store, for a write: it and the store are there afterwards, and the store is in use.
    fn folder(&self, name: &str) -> Result<PathBuf> {
        self.begin()?;
        let folder = self.root.join(name);
        folders::create_private_folder(&folder)?;
        Ok(folder)
    }

    /// The run no longer uses the store.
    fn release(&self) {
        let mut in_use = self.in_use.lock().unwrap_or_else(PoisonError::into_inner);
        drop(in_use.take());
    }

    fn begin(&self) -> Result<()> {
        let mut in_use = self.in_use.lock().unwrap_or_else(PoisonError::into_inner);
        if in_use.is_none() {
            folders::create_private_folder(&self.root)?;
            let file = self.lock_file()?;
            match file.lock_shared() {
                // Without locks in the file system the runs still do not disturb each other; only a sweep could.
                Err(e) if e.kind() != io::ErrorKind::Unsupported => {
                    return Err(Error::io(&self.root, "lock the store", e));
                }
                Ok(()) | Err(_) => *in_use = Some(file),
            }
        }
        Ok(())
    }

    fn lock_file(&self) -> Result<File> {
        let path = self.root.join("lock");
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true);
        private(&mut options)
            .open(&path)
            .map_err(|e| Error::io(&path, "open", e))
    }
}

/// `blake3:` and the 64 hexadecimal digits of the hash of `bytes`: how hashes are written everywhere.
pub fn hash(bytes: &[u8]) -> String {
    hash_text(&blake3::hash(bytes))
}

fn hash_text(hash: &blake3::Hash) -> String {
    format!("blake3:{}", hash.to_hex())
}

/// `folder/<32hex><ending>`, after the hash of the content.
fn content_name(folder: &str, hash: &blake3::Hash, ending: &str) -> String {
    format!("{folder}/{}{ending}", &hash.to_hex()[..NAME_DIGITS])
}

/// Whether `name` is exactly what [`content_name`] makes, so that it can be joined to the root unseen.
fn is_content_name(name: &str, folder: &str, ending: &str) -> bool {
    name.strip_prefix(folder)
        .and_then(|name| name.strip_prefix('/'))
        .and_then(|name| name.strip_suffix(ending))
        .is_some_and(|digits| {
            digits.len() == NAME_DIGITS
                && digits
                    .bytes()
                    .all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
        })
}

/// Opens a regular file, and nothing else: no link, pipe or device.
///
/// What was looked at is compared with what was opened, so a link that is slipped in between is noticed. A pipe
/// slipped in between would make us wait; whoever can do that can delete the store as well.
fn open_regular(path: &Path) -> io::Result<File> {
    let seen = fs::symlink_metadata(path)?;
    let refused = || io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file");
    if !seen.is_file() {
        return Err(refused());
    }
    let file = File::open(path)?;
    #[cfg(unix)]
    if atomic::place(&file.metadata()?) != atomic::place(&seen) {
        return Err(refused());
    }
    Ok(file)
}

/// Opens a transcript, which may be behind a link: a regular file. Whoever opens a named pipe waits for its writer, for ever
/// if there is none, so what is there is looked at first.
///
/// # Errors
///
/// [`ErrorKind::Io`] for anything that is no regular file; what [`Error::io`] makes of the system's refusal.
pub fn open_transcript(path: &Path) -> Result<(File, Metadata)> {
    let unreadable = |e| Error::io(path, "open", e);
    check_regular(path, &fs::metadata(path).map_err(unreadable)?)?;
    let file = File::open(path).map_err(unreadable)?;
    let metadata = file.metadata().map_err(unreadable)?;
    check_regular(path, &metadata)?;
    Ok((file, metadata))
}

fn check_regular(path: &Path, metadata: &Metadata) -> Result<()> {
    if metadata.is_file() {
        return Ok(());
    }
    let hint = if metadata.is_dir() {
        "name the files in it"
    } else {
        "a stream comes by standard input: `ctxpack compact - < FILE`"
    };
    let error = Error::new(ErrorKind::Io, "not a regular file");
    Err(error.at(path).hint(hint))
}

/// Copies everything, hashing and counting it; says which side failed, because the remedy differs.
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

/// A write to a stream that only the caller can name.
fn write_failed(source: io::Error) -> Error {
    Error {
        message: format!("cannot write: {source}"),
        source: Some(source),
        ..Error::new(ErrorKind::Io, "")
    }
}

fn private(options: &mut OpenOptions) -> &mut OpenOptions {
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600);
    options
}

/// The path with the links of its folders resolved; its last part is kept, whether a link or not there yet.
fn named(path: &Path) -> PathBuf {
    match path.file_name() {
        Some(name) => resolved(folders::folder_of(path)).join(name),
        None => resolved(path),
    }
}

/// The path with links resolved as far as it exists.
fn resolved(path: &Path) -> PathBuf {
    match (fs::canonicalize(path), path.file_name()) {
        (Ok(path), _) => path,
        (Err(_), Some(name)) => resolved(folders::folder_of(path)).join(name),
        (Err(_), None) => std::path::absolute(path).unwrap_or_else(|_| path.to_owned()),
    }
}

#[cfg(test)]
mod tests;
