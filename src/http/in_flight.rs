//! Prevents identical requests from being sent at the same time: the second thread finds the first one's answer in the store.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};

use crate::semaphore::POLL;

/// The names of the answers that are being requested.
#[derive(Debug, Default)]
pub(super) struct InFlight {
    names: Mutex<BTreeSet<String>>,
    finished: Condvar,
}

/// Keeps other threads from requesting the same answer until it is dropped.
#[must_use]
pub(super) struct Claim<'f> {
    in_flight: &'f InFlight,
    name: &'f str,
}

impl InFlight {
    /// Waits until no other thread requests the answer `name`; `None` if the run is interrupted first.
    pub(super) fn claim<'f>(&'f self, name: &'f str, stop: &AtomicUsize) -> Option<Claim<'f>> {
        let mut names = self.names.lock().unwrap_or_else(PoisonError::into_inner);
        while names.contains(name) {
            if stop.load(Ordering::Relaxed) != 0 {
                return None;
            }
            (names, _) = self
                .finished
                .wait_timeout(names, POLL)
                .unwrap_or_else(PoisonError::into_inner);
        }
        names.insert(name.to_owned());
        Some(Claim {
            in_flight: self,
            name,
        })
    }
}

impl Drop for Claim<'_> {
    fn drop(&mut self) {
        let names = self.in_flight.names.lock();
        let mut names = names.unwrap_or_else(PoisonError::into_inner);
        names.remove(self.name);
        self.in_flight.finished.notify_all();
    }
}
