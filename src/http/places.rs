//! So many at once, and no more.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

/// How often somebody who waits looks whether the run has been stopped.
pub(super) const LOOK: Duration = Duration::from_millis(50);

/// A number of places.
#[derive(Debug)]
pub struct Places {
    free: Mutex<usize>,
    freed: Condvar,
}

/// A place, until this is dropped.
#[derive(Debug)]
#[must_use]
pub struct Place<'p>(&'p Places);

impl Places {
    /// So many places; at least one.
    pub fn new(count: usize) -> Self {
        Places {
            free: Mutex::new(count.max(1)),
            freed: Condvar::new(),
        }
    }

    /// Takes a place as soon as one is free.
    pub fn take(&self) -> Place<'_> {
        self.occupy();
        Place(self)
    }

    /// Takes a place; `None` where the run is stopped before one is free.
    pub(super) fn take_unless(&self, stop: &AtomicUsize) -> Option<Place<'_>> {
        let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if stop.load(Ordering::Relaxed) != 0 {
                return None;
            }
            if *free > 0 {
                *free -= 1;
                return Some(Place(self));
            }
            (free, _) = self
                .freed
                .wait_timeout(free, LOOK)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Gives the caller's place to others while `work` runs, and takes one again.
    pub fn lend<T>(&self, work: impl FnOnce() -> T) -> T {
        // Also where the work panics: the place is given back by its owner.
        struct Back<'p>(&'p Places);
        impl Drop for Back<'_> {
            fn drop(&mut self) {
                self.0.occupy();
            }
        }
        self.vacate();
        let _back = Back(self);
        work()
    }

    fn occupy(&self) {
        let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        while *free == 0 {
            free = self
                .freed
                .wait(free)
                .unwrap_or_else(PoisonError::into_inner);
        }
        *free -= 1;
    }

    fn vacate(&self) {
        *self.free.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        self.freed.notify_one();
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.0.vacate();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_than_there_are_places_work_at_once() {
        let places = Places::new(2);
        let (now, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    let _place = places.take();
                    most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                    std::thread::sleep(Duration::from_millis(2));
                    now.fetch_sub(1, Ordering::SeqCst);
                });
            }
        });
        assert!(most.load(Ordering::SeqCst) <= 2);
    }

    #[test]
    fn a_place_that_is_lent_is_anothers_meanwhile() {
        let places = Places::new(1);
        let _own = places.take();
        let was_free = places.lend(|| places.take_unless(&AtomicUsize::new(0)).is_some());
        assert!(was_free);
        assert!(places.take_unless(&AtomicUsize::new(2)).is_none());
    }
}
