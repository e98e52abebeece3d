//! The same question is asked by one thread at a time: whoever comes second finds the answer in the store.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};

use crate::semaphore::POLL;

/// The questions that are being asked.
#[derive(Debug, Default)]
pub(super) struct Once {
    names: Mutex<BTreeSet<String>>,
    done: Condvar,
}

/// A question that nobody else asks, until this is dropped.
#[must_use]
pub(super) struct Asking<'o> {
    once: &'o Once,
    name: &'o str,
}

impl Once {
    /// Waits until nobody asks the question of that name; `None` where the run is stopped before.
    pub(super) fn ask<'o>(&'o self, name: &'o str, stop: &AtomicUsize) -> Option<Asking<'o>> {
        let mut names = self.names.lock().unwrap_or_else(PoisonError::into_inner);
        while names.contains(name) {
            if stop.load(Ordering::Relaxed) != 0 {
                return None;
            }
            (names, _) = self
                .done
                .wait_timeout(names, POLL)
                .unwrap_or_else(PoisonError::into_inner);
        }
        names.insert(name.to_owned());
        Some(Asking { once: self, name })
    }
}

impl Drop for Asking<'_> {
    fn drop(&mut self) {
        let mut names = self
            .once
            .names
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        names.remove(self.name);
        self.once.done.notify_all();
    }
}
