//! Records of requests that were sent together and are answered hours later, and the lock that protects them.
//!
//! A record is on the disk before [`Store::put_job`] returns: what follows may cost money, and must not be forgotten by a crash.
//! Knows nothing about the content of a record. Names are hashes.

use std::ffi::OsStr;
use std::fs::{File, TryLockError};
use std::io::{self, Read, Write};
use std::sync::atomic::{AtomicUsize, Ordering};

use super::atomic::{IfTaken, Mode, Scratch, Temp};
use super::folder::{Access, Durability, not_plain};
use super::{Store, content_name, is_content_name};
use crate::error::{Error, ErrorKind, Result};
use crate::semaphore::POLL;

pub(super) const BATCHES: &str = "batches";
const ENDING: &str = ".json";
const LOCK: &str = "lock";
/// More bytes than any record has: 100 000 requests take four million.
const MOST_BYTES: u64 = 64 << 20;

/// The right to change the records of a store, until this is dropped or the process ends.
#[derive(Debug)]
#[must_use]
pub struct JobsLock {
    _file: File,
}

/// The name of the record of a job of these parts: `batches/<32hex>.json`, relative to the store. Pure.
pub fn job_name(parts: &[&[u8]]) -> String {
    let mut hasher = blake3::Hasher::new();
    for part in parts {
        hasher.update(&(part.len() as u64).to_le_bytes());
        hasher.update(part);
    }
    content_name(BATCHES, &hasher.finalize(), ENDING)
}

impl Store {
    /// Waits for the right to change the records; `None` if `stop` is set before that.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Io`] or [`ErrorKind::Store`] when the lock cannot be opened.
    pub fn lock_jobs(&self, stop: &AtomicUsize) -> Result<Option<JobsLock>> {
        let folder = self.folder(BATCHES)?;
        let path = folder.path().join(LOCK);
        let file = loop {
            match folder.open_lock(OsStr::new(LOCK)) {
                Err(e) if e.kind() == io::ErrorKind::NotFound => {}
                opened => break opened.map_err(|e| not_plain(&path, "open", e))?,
            }
            match folder.create(OsStr::new(LOCK), Access::Private) {
                // Another run was faster.
                Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
                made => break made.map_err(|e| Error::io(&path, "create", e))?,
            }
        };
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(Some(JobsLock { _file: file })),
                Err(TryLockError::WouldBlock) if stop.load(Ordering::Relaxed) != 0 => {
                    return Ok(None);
                }
                Err(TryLockError::WouldBlock) => std::thread::sleep(POLL),
                Err(TryLockError::Error(e)) => {
                    return Err(Error::io(&path, "lock", e).hint(
                        "batches need a file system with locks: name a store on another one with --store",
                    ));
                }
            }
        }
    }

    /// The records with their names, sorted by name; none if there is no store.
    ///
    /// # Errors
    ///
    /// When one of them cannot be read.
    pub fn jobs(&self) -> Result<Vec<(String, Vec<u8>)>> {
        let Some(folder) = self.part(BATCHES)? else {
            return Ok(Vec::new());
        };
        let names = folder.names();
        let names = names.map_err(|e| Error::io(folder.path(), "list", e))?;
        let names = names.iter().filter_map(|name| name.to_str());
        let mut names: Vec<String> = names.map(|name| format!("{BATCHES}/{name}")).collect();
        names.retain(|name| is_content_name(name, BATCHES, ENDING));
        names.sort_unstable();
        let mut jobs = Vec::new();
        for name in names {
            let path = self.root().join(&name);
            let file = match folder.read(OsStr::new(&name[BATCHES.len() + 1..])) {
                // Another run has just collected it.
                Err(e) if e.kind() == io::ErrorKind::NotFound => continue,
                opened => opened.map_err(|e| not_plain(&path, "read", e))?,
            };
            let mut bytes = Vec::new();
            let read = file.take(MOST_BYTES).read_to_end(&mut bytes);
            read.map_err(|e| Error::io(&path, "read", e))?;
            jobs.push((name, bytes));
        }
        Ok(jobs)
    }

    /// Adds or replaces a record. It is on the disk when this returns.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Store`] for a name that [`job_name`] cannot return; [`ErrorKind::Io`] when the system refuses.
    pub fn put_job(&self, name: &str, bytes: &[u8]) -> Result<()> {
        let (folder, file) = (self.folder(BATCHES)?, job_file(name)?);
        let path = self.root().join(name);
        let failed = |e| not_plain(&path, "write", e);
        let mut temp = Temp::create(&folder, Mode::Private, None).map_err(failed)?;
        temp.write_all(bytes).map_err(failed)?;
        let named = temp.persist(file, IfTaken::Replace, Durability::Durable);
        named.map(drop).map_err(failed)
    }

    /// Removes a record that is no longer needed.
    ///
    /// # Errors
    ///
    /// Those of [`Store::put_job`].
    pub fn remove_job(&self, name: &str) -> Result<()> {
        let (folder, file) = (self.folder(BATCHES)?, job_file(name)?);
        let path = self.root().join(name);
        match folder.remove(file) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(()),
            removed => removed.map_err(|e| Error::io(&path, "remove", e)),
        }
    }

    /// A file for requests or results on their way, gone when it is dropped.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Io`] when the system refuses.
    pub fn scratch(&self) -> Result<Scratch> {
        let folder = self.folder(BATCHES)?;
        Scratch::create(&folder).map_err(|e| Error::io(folder.path(), "create a file", e))
    }
}

fn job_file(name: &str) -> Result<&OsStr> {
    match is_content_name(name, BATCHES, ENDING) {
        true => Ok(OsStr::new(&name[BATCHES.len() + 1..])),
        false => Err(Error::new(ErrorKind::Store, "not a batch record name").at(name)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_kept_by_name_and_one_run_at_a_time_may_change_them() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::new(dir.path().join(".ctxpack"), Durability::Lazy);
        assert!(store.jobs().unwrap().is_empty());
        let (go, stop) = (AtomicUsize::new(0), AtomicUsize::new(2));
        let lock = store.lock_jobs(&go).unwrap().unwrap();
        let other = Store::new(store.root(), Durability::Lazy);
        assert!(other.lock_jobs(&stop).unwrap().is_none());
        drop(lock);
        assert!(other.lock_jobs(&stop).unwrap().is_some());
        let name = job_name(&[b"a", b"bc"]);
        assert_ne!(name, job_name(&[b"ab", b"c"]));
        store.put_job(&name, b"old").unwrap();
        store.put_job(&name, b"new").unwrap();
        std::fs::write(store.root().join("batches/notes.txt"), "mine").unwrap();
        assert_eq!(other.jobs().unwrap(), [(name.clone(), b"new".to_vec())]);
        store.remove_job(&name).unwrap();
        store.remove_job(&name).unwrap();
        assert!(store.jobs().unwrap().is_empty());
        assert!(store.put_job("batches/../lock", b"").is_err());
    }

    #[test]
    fn a_scratch_file_leaves_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::new(dir.path().join(".ctxpack"), Durability::Lazy);
        let mut scratch = store.scratch().unwrap();
        scratch.append(b"one").unwrap();
        scratch.append(b"two").unwrap();
        let mut copy = Vec::new();
        scratch.copy_to((2, 3), &mut copy).unwrap();
        assert_eq!(copy, b"etw");
        assert!(scratch.copy_to((5, 2), &mut copy).is_err());
        let mut whole = String::new();
        scratch
            .opened()
            .unwrap()
            .read_to_string(&mut whole)
            .unwrap();
        assert_eq!(whole, "onetwo");
        drop(scratch);
        let left = std::fs::read_dir(store.root().join("batches")).unwrap();
        assert_eq!(left.count(), 0);
    }
}
