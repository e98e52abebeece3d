//! A spool that threads add to: the slow work is done before taking the lock.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use super::{Kept, Spool, Written};
use crate::error::Result;

/// Collects the entries of all threads.
pub(in crate::batch) struct Shared<E: Kept> {
    spool: Mutex<Spool<E>>,
    /// Whether entries go to disk, so that they are serialised before the lock is taken.
    are_spooled: AtomicBool,
}

impl<E: Kept> Shared<E> {
    /// Creates an empty spool; otherwise like [`Spool::new`].
    pub(in crate::batch) fn new(folder: &Path) -> Self {
        Shared {
            spool: Mutex::new(Spool::new(folder)),
            are_spooled: AtomicBool::new(false),
        }
    }

    /// Adds an entry.
    ///
    /// # Errors
    /// The errors of [`Spool::push`].
    pub(in crate::batch) fn push(&self, entry: E) -> Result<()> {
        let lock = || self.spool.lock().unwrap_or_else(PoisonError::into_inner);
        if self.are_spooled.load(Ordering::Relaxed) {
            let written = Written::of(entry)?;
            return lock().push_written(written);
        }
        let mut spool = lock();
        let pushed = spool.push(entry);
        self.are_spooled
            .store(spool.are_spooled(), Ordering::Relaxed);
        pushed
    }

    /// All entries.
    pub(in crate::batch) fn into_spool(self) -> Spool<E> {
        let spool = self.spool.into_inner();
        spool.unwrap_or_else(PoisonError::into_inner)
    }
}
