//! How many bytes of input are in memory at once.
//!
//! Files are read whole, so without a limit two threads would hold the two largest at the same time. The largest file
//! always fits; small ones never wait.

use std::sync::{Condvar, Mutex, PoisonError};

/// What each thread may hold beside the largest file.
const A_THREAD: u64 = 40 << 20;

/// Bytes that may be in memory.
pub(super) struct Budget {
    free: Mutex<u64>,
    returned: Condvar,
}

/// Bytes taken, given back when this is dropped.
pub(super) struct Share<'b> {
    budget: &'b Budget,
    bytes: u64,
}

impl Budget {
    /// Enough for the largest file and 40 MiB for each thread.
    pub(super) fn new(largest: u64, threads: usize) -> Self {
        Budget {
            free: Mutex::new(largest + A_THREAD * threads as u64),
            returned: Condvar::new(),
        }
    }

    /// Waits until `bytes` are free. They are at most those of the largest file.
    pub(super) fn take(&self, bytes: u64) -> Share<'_> {
        let free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        let mut free = self
            .returned
            .wait_while(free, |free| *free < bytes)
            .unwrap_or_else(PoisonError::into_inner);
        *free -= bytes;
        Share {
            budget: self,
            bytes,
        }
    }
}

impl Drop for Share<'_> {
    fn drop(&mut self) {
        *self
            .budget
            .free
            .lock()
            .unwrap_or_else(PoisonError::into_inner) += self.bytes;
        self.budget.returned.notify_all();
    }
}
