//! A counting semaphore that limits how many threads work at once. The HTTP client and the workers of a batch use it.
//!
//! Never knows what the work is.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// How often a waiting thread checks whether the run has been stopped.
pub const POLL: Duration = Duration::from_millis(50);

/// Sleeps for `time`; returns `None` as soon as `stop` is set.
pub fn sleep_unless(stop: &AtomicUsize, time: Duration) -> Option<()> {
    let start = Instant::now();
    loop {
        if stop.load(Ordering::Relaxed) != 0 {
            return None;
        }
        let left = time.saturating_sub(start.elapsed());
        if left.is_zero() {
            return Some(());
        }
        sleep(left.min(POLL));
    }
}

/// A fixed number of permits.
#[derive(Debug)]
pub struct Semaphore {
    permits: Mutex<Permits>,
    freed: Condvar,
}

#[derive(Debug)]
struct Permits {
    free: usize,
    /// Number of waiting threads. Kept because notifying costs a system call even if none waits.
    waiting: usize,
}

/// A permit, released on drop.
#[derive(Debug)]
#[must_use]
pub struct Permit<'s>(&'s Semaphore);

impl Semaphore {
    /// Creates a semaphore with `permits` permits, but at least one.
    pub fn new(permits: usize) -> Self {
        Semaphore {
            permits: Mutex::new(Permits {
                free: permits.max(1),
                waiting: 0,
            }),
            freed: Condvar::new(),
        }
    }

    /// Waits for a permit.
    pub fn acquire(&self) -> Permit<'_> {
        self.take();
        Permit(self)
    }

    /// Waits for a permit; returns `None` if `stop` is set before one is free.
    pub fn acquire_unless(&self, stop: &AtomicUsize) -> Option<Permit<'_>> {
        let mut permits = self.permits.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if stop.load(Ordering::Relaxed) != 0 {
                return None;
            }
            if permits.free > 0 {
                permits.free -= 1;
                return Some(Permit(self));
            }
            permits.waiting += 1;
            (permits, _) = self
                .freed
                .wait_timeout(permits, POLL)
                .unwrap_or_else(PoisonError::into_inner);
            permits.waiting -= 1;
        }
    }

    /// Releases the caller's permit while `work` runs, and takes one again afterwards.
    pub fn lend<T>(&self, work: impl FnOnce() -> T) -> T {
        // A guard, so that this also happens if the work panics: the owner of the permit will release it.
        struct Retake<'s>(&'s Semaphore);
        impl Drop for Retake<'_> {
            fn drop(&mut self) {
                self.0.take();
            }
        }
        self.release();
        let _retake = Retake(self);
        work()
    }

    fn take(&self) {
        let mut permits = self.permits.lock().unwrap_or_else(PoisonError::into_inner);
        while permits.free == 0 {
            permits.waiting += 1;
            permits = self
                .freed
                .wait(permits)
                .unwrap_or_else(PoisonError::into_inner);
            permits.waiting -= 1;
        }
        permits.free -= 1;
    }

    fn release(&self) {
        let is_awaited = {
            let mut permits = self.permits.lock().unwrap_or_else(PoisonError::into_inner);
            permits.free += 1;
            permits.waiting > 0
        };
        if is_awaited {
            self.freed.notify_one();
        }
    }
}

impl Drop for Permit<'_> {
    fn drop(&mut self) {
        self.0.release();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_threads_work_at_once_than_there_are_permits() {
        let semaphore = Semaphore::new(2);
        let (now, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    let _permit = semaphore.acquire();
                    most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                    std::thread::sleep(Duration::from_millis(2));
                    now.fetch_sub(1, Ordering::SeqCst);
                });
            }
        });
        assert!(most.load(Ordering::SeqCst) <= 2);
    }

    #[test]
    fn a_permit_that_is_lent_is_free_for_others_meanwhile() {
        let semaphore = Semaphore::new(1);
        let _own = semaphore.acquire();
        let was_free = semaphore.lend(|| semaphore.acquire_unless(&AtomicUsize::new(0)).is_some());
        assert!(was_free);
        assert!(semaphore.acquire_unless(&AtomicUsize::new(2)).is_none());
    }
}
