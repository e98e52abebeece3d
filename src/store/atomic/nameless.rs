//! Files with temporary names, and the list of those created by this process.
//!
//! Locked while they exist, so that a sweep can tell them from leftovers of a killed run.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError, RwLock, RwLockWriteGuard};
use std::time::Duration;

use super::temp_name;
use crate::store::folder::{Access, Folder};

/// The temporary files of this process. Locked while one is created, so that [`halt`] knows them all.
static LIVE: Mutex<Live> = Mutex::new(Live {
    next: 0,
    files: BTreeMap::new(),
});
/// Locked for reading while a file is renamed, and for writing by [`halt`]: in the middle of a rename, the old file has the
/// temporary name. Must be locked before [`LIVE`].
pub(super) static NAMING: RwLock<()> = RwLock::new(());

/// Temporary files, numbered in the order of creation.
#[derive(Debug)]
struct Live {
    next: u64,
    files: BTreeMap<u64, (Folder, OsString)>,
}

/// While this is held, no output of this process can be begun or renamed.
#[derive(Debug)]
#[must_use]
pub struct Halted {
    _naming: RwLockWriteGuard<'static, ()>,
    _live: MutexGuard<'static, Live>,
}

/// Removes the temporary files of all threads, for a process that ends immediately. Waits for renames that are in progress.
pub fn halt() -> Halted {
    let naming = NAMING.write().unwrap_or_else(PoisonError::into_inner);
    let live = LIVE.lock().unwrap_or_else(PoisonError::into_inner);
    for (folder, name) in live.files.values() {
        // What cannot be removed is left to the next run.
        let _ = folder.remove(name);
    }
    Halted {
        _naming: naming,
        _live: live,
    }
}

/// A file with a temporary name.
#[derive(Debug)]
pub(super) struct TempFile {
    pub(super) file: File,
    pub(super) name: TempName,
}

/// The temporary name of a file; the file is removed when this is dropped.
#[derive(Debug)]
pub(super) struct TempName {
    pub(super) folder: Folder,
    pub(super) name: OsString,
    /// Its number in [`LIVE`].
    number: u64,
    /// Whether a file still has the name.
    is_taken: bool,
}

impl TempFile {
    /// Creates a file with an unpredictable name, locked while it is open so that [`super::remove_leftover`] does not remove it.
    pub(super) fn create(folder: &Folder, access: Access) -> io::Result<Self> {
        loop {
            let made = {
                let mut live = LIVE.lock().unwrap_or_else(PoisonError::into_inner);
                let name = temp_name();
                match folder.create(&name, access) {
                    Err(e) if e.kind() == io::ErrorKind::AlreadyExists => continue,
                    Err(e) => return Err(e),
                    Ok(file) => {
                        live.next += 1;
                        let number = live.next;
                        live.files.insert(number, (folder.clone(), name.clone()));
                        let name = TempName {
                            folder: folder.clone(),
                            name,
                            number,
                            is_taken: true,
                        };
                        TempFile { file, name }
                    }
                }
            };
            if claim(&made.file)? {
                return Ok(made);
            }
            // A sweep found it between its creation and its lock; the pause lets the sweep move on.
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

impl TempName {
    /// Renames the file to `target`, and replaces any file of that name.
    pub(super) fn rename(&mut self, target: &OsStr) -> io::Result<()> {
        self.folder.rename(&self.name, target)?;
        self.is_taken = false;
        Ok(())
    }

    pub(super) fn rename_to_free(&mut self, target: &OsStr) -> io::Result<()> {
        self.folder.rename_to_free(&self.name, target)?;
        self.is_taken = false;
        Ok(())
    }
}

impl Drop for TempName {
    fn drop(&mut self) {
        if self.is_taken {
            // What cannot be removed is left to the next run.
            let _ = self.folder.remove(&self.name);
        }
        let mut live = LIVE.lock().unwrap_or_else(PoisonError::into_inner);
        live.files.remove(&self.number);
    }
}

#[cfg(unix)]
fn claim(file: &File) -> io::Result<bool> {
    use std::fs::TryLockError;
    use std::os::unix::fs::MetadataExt;
    match file.try_lock() {
        Ok(()) => Ok(file.metadata()?.nlink() > 0),
        Err(TryLockError::WouldBlock) => Ok(false),
        // The file system has no locks: a sweep cannot lock either, so it removes nothing.
        Err(TryLockError::Error(_)) => Ok(true),
    }
}

#[cfg(not(unix))]
fn claim(_file: &File) -> io::Result<bool> {
    Ok(true)
}
