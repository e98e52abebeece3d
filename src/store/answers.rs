//! A cache of answers from models, by the hash of the request, so that a second run need not pay again.
//!
//! Names are hashes, never text of a transcript. A damaged answer counts as missing.

use std::ffi::OsStr;
use std::fs::{File, TryLockError};
use std::io::{Read, Write};
use std::thread;
use std::time::Duration;

use super::atomic::{IfTaken, Mode, Temp};
use super::folder::Durability;
use super::folder::{NotPlain, not_plain};
use super::{Store, content_name, is_content_name, lock_file};
use crate::error::{Error, ErrorKind, Result};

pub(super) const CACHE: &str = "cache";
const ENDING: &str = ".json";
/// The size limit in bytes, larger than any answer.
const MOST_BYTES: u64 = 16 << 20;

/// Names of locks. Answers whose names begin with the same two digits share a lock, so that there are never more than 256.
const LOCK: &str = "lock-";
const LOCK_DIGITS: usize = 2;
/// How often to check whether another run is still waiting for its answer.
const POLL: Duration = Duration::from_millis(50);

/// Keeps other runs from requesting the same answer, until this is dropped or the process ends.
#[derive(Debug)]
#[must_use]
pub struct AnswerClaim {
    /// `None` where locks do not work: then two runs may request the same answer.
    _lock: Option<File>,
}

/// The name of the answer to a request of these parts: `cache/<32hex>.json`, relative to the store. Pure.
pub fn answer_name(asked: &[&[u8]]) -> String {
    let mut hasher = blake3::Hasher::new();
    for part in asked {
        // Includes the lengths, so that different lists of parts never hash the same bytes.
        hasher.update(&(part.len() as u64).to_le_bytes());
        hasher.update(part);
    }
    content_name(CACHE, &hasher.finalize(), ENDING)
}

impl Store {
    /// The answer of that name, if it is there.
    pub fn read_answer(&self, name: &str) -> Option<Vec<u8>> {
        let file = is_content_name(name, CACHE, ENDING)
            .then(|| self.open_content(name, "read the answer", ""))?
            .ok()?;
        let mut bytes = Vec::new();
        file.take(MOST_BYTES).read_to_end(&mut bytes).ok()?;
        Some(bytes)
    }

    /// Stores an answer that only its owner can read, and replaces an earlier one. With [`Durability::Durable`], its bytes are on
    /// the disk afterwards, and its name after [`Store::sync_answers`].
    ///
    /// # Errors
    /// [`ErrorKind::Store`] for a name that [`answer_name`] cannot return; [`ErrorKind::Io`] when the system refuses.
    pub fn put_answer(&self, name: &str, bytes: &[u8], durability: Durability) -> Result<()> {
        if !is_content_name(name, CACHE, ENDING) {
            return Err(Error::new(ErrorKind::Store, "no name of an answer").at(name));
        }
        let folder = self.folder(CACHE)?;
        let path = self.root().join(name);
        let file = OsStr::new(&name[CACHE.len() + 1..]);
        let failed = |e| not_plain(&path, "write", e);
        if folder
            .look(file)
            .map_err(failed)?
            .is_some_and(|seen| seen.is_symlink())
        {
            return Err(failed(NotPlain::Link.into()));
        }
        let mut temp = Temp::create(&folder, Mode::Private, None).map_err(failed)?;
        temp.write_all(bytes).map_err(failed)?;
        if durability == Durability::Durable {
            temp.sync().map_err(failed)?;
        }
        // If a power cut loses the name of an answer, the answer is requested again.
        let named = temp.persist(file, IfTaken::Replace, Durability::Lazy);
        named.map(drop).map_err(failed)
    }

    /// Waits until no other run is requesting the answer with this name; `None` if `is_over` says that waiting is pointless.
    pub fn claim_answer(&self, name: &str, is_over: impl Fn() -> bool) -> Option<AnswerClaim> {
        let open = || {
            let digits = name.get(CACHE.len() + 1..)?.get(..LOCK_DIGITS)?;
            let folder = self.folder(CACHE).ok()?;
            lock_file(&folder, &format!("{LOCK}{digits}")).ok()
        };
        let Some(file) = open() else {
            return Some(AnswerClaim { _lock: None });
        };
        loop {
            match file.try_lock() {
                Ok(()) => return Some(AnswerClaim { _lock: Some(file) }),
                Err(TryLockError::Error(_)) => return Some(AnswerClaim { _lock: None }),
                Err(TryLockError::WouldBlock) if is_over() => return None,
                Err(TryLockError::WouldBlock) => thread::sleep(POLL),
            }
        }
    }

    /// Flushes the names of answers to the disk, after many were stored.
    ///
    /// # Errors
    /// [`ErrorKind::Io`] when the system refuses.
    pub fn sync_answers(&self) -> Result<()> {
        let folder = self.folder(CACHE)?;
        let synced = folder.sync();
        synced.map_err(|e| Error::io(folder.path(), "flush the folder", e))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_found_by_what_was_asked_and_by_nothing_else() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::new(dir.path().join(".ctxpack"), Durability::Lazy);
        let name = answer_name(&[b"a", b"bc"]);
        assert_ne!(name, answer_name(&[b"ab", b"c"]));
        assert_eq!(store.read_answer(&name), None);
        store.put_answer(&name, b"old", Durability::Lazy).unwrap();
        store
            .put_answer(&name, b"new", Durability::Durable)
            .unwrap();
        assert_eq!(store.read_answer(&name).as_deref(), Some(&b"new"[..]));
        assert_eq!(store.read_answer(&answer_name(&[b"a"])), None);
        assert_eq!(store.read_answer("cache/../lock"), None);
        assert!(
            store
                .put_answer("cache/x.json", b"", Durability::Lazy)
                .is_err()
        );
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let path = store.root().join(&name);
            let mode = std::fs::metadata(path).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
        }
    }
}
