//! A temporary file on its way to a name: it hashes and counts what it is given, and has the mode and owner of what it
//! replaces.
//!
//! Dropped, it leaves nothing. Locked for as long as it lives, so that a sweep can tell it from what a killed run left.

use std::collections::BTreeSet;
use std::fs::{self, File, Metadata, OpenOptions, Permissions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError, RwLock, RwLockWriteGuard};
use std::time::{Duration, SystemTime};

use tempfile::{Builder, NamedTempFile};

use super::{Durability, Mode, Stamp, TEMP_PREFIX, TEMP_RANDOM, TEMP_SUFFIX, Why, Written, put};
use crate::store::folders::{folder_of, sync};

/// Collects the many small slices of a spliced transcript into few system calls.
const BUFFER_BYTES: usize = 64 * 1024;

/// The temporary files of this process. Locked while one is made, so that [`halt`] knows all that there are.
static LIVE: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());
/// Held for reading while a file takes its name, by [`halt`] for writing: halfway, the old file is the one with the
/// temporary name. To be taken before [`LIVE`].
static NAMING: RwLock<()> = RwLock::new(());

/// No output of this process can be begun or take its name while this is held.
#[derive(Debug)]
#[must_use]
pub struct Halted {
    _naming: RwLockWriteGuard<'static, ()>,
    _live: MutexGuard<'static, BTreeSet<PathBuf>>,
}

/// Removes the temporary files of all threads, for a process that ends at once. Waits for those that are taking their names.
pub fn halt() -> Halted {
    let naming = NAMING.write().unwrap_or_else(PoisonError::into_inner);
    let live = LIVE.lock().unwrap_or_else(PoisonError::into_inner);
    for path in live.iter() {
        // What cannot be removed is left to the next run.
        let _ = fs::remove_file(path);
    }
    Halted {
        _naming: naming,
        _live: live,
    }
}

/// A temporary file's entry in [`LIVE`].
#[derive(Debug)]
struct Entry(PathBuf);

impl Drop for Entry {
    fn drop(&mut self) {
        let mut live = LIVE.lock().unwrap_or_else(PoisonError::into_inner);
        live.remove(&self.0);
    }
}

/// What a rename does when its name is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::store) enum IfTaken {
    Replace,
    Fail,
}

/// What became of a file that was to be replaced if it had not changed.
pub(super) enum Replaced {
    Done(Written),
    Not(Why),
}

/// A temporary file that hashes and counts what it is given, and has no name yet.
///
/// The store uses it directly where the name depends on the bytes.
#[derive(Debug)]
pub(in crate::store) struct Temp {
    out: BufWriter<Hashing>,
    mode: Mode,
    pub(super) old: Option<Metadata>,
    /// When it says that it was written, if not now.
    pub(super) time: Option<SystemTime>,
}

impl Temp {
    /// A fresh file in `folder`; `old` is what it will replace, whose mode and owner it takes over.
    pub(in crate::store) fn create(
        folder: &Path,
        mode: Mode,
        old: Option<Metadata>,
    ) -> io::Result<Self> {
        // Only a file that everybody may read in the end may be read by everybody before it.
        let open_to_all = old.is_none() && mode == Mode::Default;
        let (file, entry) = fresh(folder, if open_to_all { 0o666 } else { 0o600 })?;
        Ok(Temp {
            out: BufWriter::with_capacity(
                BUFFER_BYTES,
                Hashing {
                    file,
                    entry,
                    hasher: blake3::Hasher::new(),
                    bytes: 0,
                },
            ),
            mode,
            old,
            time: None,
        })
    }

    pub(super) fn written(&mut self) -> io::Result<Written> {
        self.out.flush()?;
        Ok(self.out.get_ref().written())
    }

    /// Puts the bytes on the disk; their name is not yet there.
    pub(in crate::store) fn sync(&mut self) -> io::Result<()> {
        self.out.flush()?;
        self.out.get_ref().file.as_file().sync_all()
    }

    /// Gives the file its name. On failure nothing is left.
    pub(in crate::store) fn persist(
        self,
        target: &Path,
        if_taken: IfTaken,
        durability: Durability,
    ) -> io::Result<Written> {
        let (file, _entry, written) = self.complete(durability)?;
        {
            let _naming = NAMING.read();
            match if_taken {
                IfTaken::Replace => file.persist(target),
                IfTaken::Fail => file.persist_noclobber(target),
            }
            .map_err(|e| e.error)?;
        }
        if durability == Durability::Durable {
            sync(folder_of(target))?;
        }
        Ok(written)
    }

    /// Gives the file the name of the one that `stamp` is of, if that is possible without harm.
    pub(super) fn replace(
        self,
        target: &Path,
        stamp: &Stamp,
        durability: Durability,
    ) -> io::Result<Replaced> {
        let (file, _entry, written) = self.complete(durability)?;
        let put = {
            let _naming = NAMING.read();
            put(file, target, stamp)?
        };
        if let Some(why) = put {
            return Ok(Replaced::Not(why));
        }
        if durability == Durability::Durable {
            sync(folder_of(target))?;
        }
        Ok(Replaced::Done(written))
    }

    /// The file with all its bytes, mode and owner, as far on the disk as was asked for.
    fn complete(mut self, durability: Durability) -> io::Result<(NamedTempFile, Entry, Written)> {
        let written = self.written()?;
        dress(
            self.out.get_ref().file.as_file(),
            &self.mode,
            self.old.as_ref(),
        )?;
        if let Some(time) = self.time {
            self.out.get_ref().file.as_file().set_modified(time)?;
        }
        if durability == Durability::Durable {
            self.sync()?;
        }
        let out = self
            .out
            .into_inner()
            .map_err(io::IntoInnerError::into_error)?;
        Ok((out.file, out.entry, written))
    }
}

impl Write for Temp {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        self.out.write(buf)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

#[derive(Debug)]
struct Hashing {
    file: NamedTempFile,
    /// Dropped after the file: what is there is in the list.
    entry: Entry,
    hasher: blake3::Hasher,
    bytes: u64,
}

impl Hashing {
    fn written(&self) -> Written {
        Written {
            hash: crate::store::hash_text(&self.hasher.finalize()),
            bytes: self.bytes,
        }
    }
}

impl Write for Hashing {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        let n = self.file.as_file().write(buf)?;
        self.hasher.update(&buf[..n]);
        self.bytes += n as u64;
        Ok(n)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A new temporary file, locked for as long as it is open so that [`remove_leftover`] lets it be.
fn fresh(
    folder: &Path,
    #[cfg_attr(not(unix), allow(unused))] mode: u32,
) -> io::Result<(NamedTempFile, Entry)> {
    let mut builder = Builder::new();
    builder
        .prefix(TEMP_PREFIX)
        .suffix(TEMP_SUFFIX)
        .rand_bytes(TEMP_RANDOM);
    let mut options = OpenOptions::new();
    options.read(true).write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, mode);
    loop {
        let (temp, entry) = {
            let mut live = LIVE.lock().unwrap_or_else(PoisonError::into_inner);
            // The crate's own way to open it would put the temporary name into messages.
            let temp = builder.make_in(folder, |path| options.open(path))?;
            let path = temp.path().to_owned();
            live.insert(path.clone());
            (temp, Entry(path))
        };
        if claim(temp.as_file())? {
            return Ok((temp, entry));
        }
        // A sweep caught it between its birth and its lock; the pause lets the sweep pass on.
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[cfg(unix)]
fn claim(file: &File) -> io::Result<bool> {
    use std::fs::TryLockError;
    use std::os::unix::fs::MetadataExt;
    match file.try_lock() {
        Ok(()) => Ok(file.metadata()?.nlink() > 0),
        Err(TryLockError::WouldBlock) => Ok(false),
        // A file system without locks: a sweep cannot lock there either, so it removes nothing.
        Err(TryLockError::Error(_)) => Ok(true),
    }
}

#[cfg(not(unix))]
fn claim(_file: &File) -> io::Result<bool> {
    Ok(true)
}

#[cfg(unix)]
fn dress(file: &File, mode: &Mode, old: Option<&Metadata>) -> io::Result<()> {
    use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};
    let mode = match (old, mode) {
        (Some(old), _) => {
            let new = file.metadata()?;
            if (old.uid(), old.gid()) != (new.uid(), new.gid()) {
                // Only root may give a file away; for everybody else the file becomes the writer's, as with cp.
                let _ = fchown(file, Some(old.uid()), Some(old.gid()))
                    .or_else(|_| fchown(file, None, Some(old.gid())));
            }
            old.mode()
        }
        (None, Mode::Default) => return Ok(()),
        (None, Mode::Private) => 0o600,
        (None, Mode::Like(permissions)) => permissions.mode(),
    };
    // A transcript is never a program: the bits that lend rights are not handed on.
    file.set_permissions(Permissions::from_mode(mode & 0o777))
}

#[cfg(not(unix))]
fn dress(_file: &File, _mode: &Mode, _old: Option<&Metadata>) -> io::Result<()> {
    Ok(())
}
