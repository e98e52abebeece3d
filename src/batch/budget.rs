//! The memory budget that all threads of a run share.
//!
//! Before an input is read, it waits for and takes the memory that it probably needs. If it needs more, because it unpacks to more
//! or contains more small parts than usual, it takes that without waiting; if there is not enough, it releases everything and is
//! tried again alone. A thread therefore never waits while it holds memory.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};

use super::limits::{InputMeasure, Limits, Workload, usual_bytes, usual_need};
use super::memory;
use crate::error::{Error, ErrorKind, Result};
use crate::text::size;

/// The memory for each thread besides the largest file, in bytes, if there is enough.
const BYTES_PER_THREAD: u64 = 384 << 20;
/// The share of free memory that inputs may take; the rest is for the program, its outputs, and other processes.
const FREE_MEMORY_SHARE: (u64, u64) = (3, 4);
/// The first memory of an input that is read line by line, in bytes.
const FIRST_LINE_BYTES: u64 = 4 << 20;
/// Files up to this size, in bytes, are processed however little memory there is.
const MIN_BUDGET: u64 = 4 << 20;
/// The assumed free memory, in bytes, if the system does not say.
const ASSUMED_FREE: u64 = 4 << 30;

/// The memory budget of a run.
#[derive(Debug)]
pub(super) struct Budget {
    /// What inputs may take before they are read: enough for the largest that is expected.
    begin: AtomicU64,
    /// What may be taken in total.
    most: u64,
    threads: u64,
    limits: Limits,
    job: Workload,
    used: Mutex<u64>,
    returned: Condvar,
    /// Number of waiting threads: notifying costs a system call even if none waits.
    waiting: AtomicUsize,
}

/// What is known of the size of an input that is too large.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Known {
    /// A file of this many bytes.
    File(u64),
    /// The file is smaller, but has many small parts.
    Content,
    /// It unpacks to more than the file's size.
    Unpacked,
    /// It has not ended yet.
    Stream,
}

/// Memory that was taken; released when this is dropped.
#[derive(Debug)]
pub(super) struct Reservation<'b> {
    budget: &'b Budget,
    bytes: u64,
}

impl Budget {
    /// A budget for the threads and the largest of the files to be announced, within free memory. The threads must be running
    /// already.
    pub(super) fn new(threads: usize, limits: Limits, job: Workload) -> Self {
        let free = memory::free().unwrap_or(ASSUMED_FREE);
        let most = (free / FREE_MEMORY_SHARE.1 * FREE_MEMORY_SHARE.0).max(MIN_BUDGET);
        Budget::of(most, threads, limits, job)
    }

    fn of(most: u64, threads: usize, limits: Limits, job: Workload) -> Self {
        let budget = Budget {
            begin: AtomicU64::new(0),
            most,
            threads: threads as u64,
            limits,
            job,
            used: Mutex::new(0),
            returned: Condvar::new(),
            waiting: AtomicUsize::new(0),
        };
        budget.announce_size(0);
        budget
    }

    /// Announces a file of this size, before it is read.
    pub(super) fn announce_size(&self, bytes: u64) {
        if self.admits(bytes) {
            let wanted =
                usual_need(bytes, self.job).saturating_add(BYTES_PER_THREAD * self.threads);
            self.begin
                .fetch_max(wanted.min(self.most), Ordering::Relaxed);
        }
    }

    pub(super) fn limits(&self) -> Limits {
        self.limits
    }

    /// Waits until the memory that an input of `bytes` bytes usually needs is free. An input that is too large to be held whole
    /// is refused or read line by line.
    pub(super) fn take(&self, bytes: u64) -> Reservation<'_> {
        let held = if self.admits(bytes) {
            bytes
        } else {
            FIRST_LINE_BYTES
        };
        let begin = self.begin.load(Ordering::Relaxed);
        let bytes = usual_need(held, self.job).min(begin);
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        while *used + bytes > begin {
            self.waiting.fetch_add(1, Ordering::Relaxed);
            used = self
                .returned
                .wait(used)
                .unwrap_or_else(PoisonError::into_inner);
            self.waiting.fetch_sub(1, Ordering::Relaxed);
        }
        *used += bytes;
        Reservation {
            budget: self,
            bytes,
        }
    }

    /// Whether a file of that size may be read whole.
    pub(super) fn admits(&self, bytes: u64) -> bool {
        match self.limits.file_bytes {
            Some(most) => bytes <= most,
            None => bytes <= usual_bytes(self.most, self.job),
        }
    }

    /// The largest input that may be read whole, in bytes.
    pub(super) fn largest(&self) -> u64 {
        let most = usual_bytes(self.most, self.job);
        self.limits.file_bytes.unwrap_or(most)
    }

    /// The error for an input that is too large to be read. Only the hint says how much memory there is, so that a report is the
    /// same on every machine.
    pub(super) fn too_large(&self, known: Known) -> Error {
        let what = match known {
            Known::File(bytes) => format!("the file has {}, more than ", size(bytes)),
            Known::Content => "the contents of the file need more than ".to_owned(),
            Known::Unpacked => "the file unpacks to more than ".to_owned(),
            Known::Stream => "the stream has more than ".to_owned(),
        };
        let (most, hint) = match self.limits.file_bytes {
            Some(most) => (
                format!("--max-file-bytes allows ({})", size(most)),
                "use a larger --max-file-bytes to read it".to_owned(),
            ),
            None => (
                "there is memory for".to_owned(),
                format!(
                    "{} is available, enough for most files up to {}; --max-file-bytes SIZE tries larger ones",
                    size(self.most),
                    size(usual_bytes(self.most, self.job))
                ),
            ),
        };
        Error::new(ErrorKind::TooLarge, what + &most).hint(hint)
    }
}

impl Reservation<'_> {
    pub(super) fn budget(&self) -> &Budget {
        self.budget
    }

    /// Takes the memory that an input needs in total, now that more of it is known. `known` describes it if that is too much.
    ///
    /// # Errors
    /// [`ErrorKind::Crowded`] if other inputs hold the memory that it needs: it can be retried when they have finished.
    /// [`ErrorKind::TooLarge`] if there is not enough memory, unless the user has set how large a file may be.
    pub(super) fn hold(&mut self, extent: InputMeasure, packed: u64, known: Known) -> Result<()> {
        let need = extent.need(self.budget.job) + packed;
        if need <= self.bytes {
            return Ok(());
        }
        let mut used = self
            .budget
            .used
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let others = *used - self.bytes;
        if others + need <= self.budget.most {
            *used = others + need;
            self.bytes = need;
            return Ok(());
        }
        if others > 0 && need <= self.budget.most {
            return Err(crowded());
        }
        if self.budget.limits.file_bytes.is_some() {
            return if others > 0 { Err(crowded()) } else { Ok(()) };
        }
        Err(self.budget.too_large(known))
    }

    /// The error for a failed allocation.
    pub(super) fn refused(&self) -> Error {
        let used = self.budget.used.lock();
        if *used.unwrap_or_else(PoisonError::into_inner) > self.bytes {
            return crowded();
        }
        Error::new(ErrorKind::TooLarge, "not enough memory for this file").hint(
            "other programs may be using it; a smaller --max-file-bytes leaves such files out",
        )
    }

    /// Releases what turned out not to be needed.
    pub(super) fn settle(&mut self, extent: InputMeasure, packed: u64) {
        let need = extent.need(self.budget.job) + packed;
        if need < self.bytes {
            self.give_back(self.bytes - need);
        }
    }

    fn give_back(&mut self, bytes: u64) {
        self.bytes -= bytes;
        let used = &self.budget.used;
        *used.lock().unwrap_or_else(PoisonError::into_inner) -= bytes;
        // A thread holds the lock while it begins to wait, so no waiting thread is missed.
        if self.budget.waiting.load(Ordering::Relaxed) > 0 {
            self.budget.returned.notify_all();
        }
    }
}

impl Drop for Reservation<'_> {
    fn drop(&mut self) {
        self.give_back(self.bytes);
    }
}

fn crowded() -> Error {
    Error::new(
        ErrorKind::Crowded,
        "other inputs hold the memory that this one needs",
    )
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    const MIB: u64 = 1 << 20;

    fn budget(most: u64, largest: u64, file_bytes: Option<u64>) -> Budget {
        let limits = Limits {
            file_bytes,
            ..Limits::default()
        };
        let budget = Budget::of(most, 2, limits, Workload::Once);
        budget.announce_size(largest);
        budget
    }

    fn extent(bytes: u64) -> InputMeasure {
        InputMeasure {
            bytes,
            ..InputMeasure::default()
        }
    }

    fn kind(held: Result<()>) -> Option<ErrorKind> {
        held.err().map(|error| error.kind)
    }

    #[test]
    fn an_input_grows_until_there_is_no_more_and_says_whether_others_are_in_its_way() {
        let budget = budget(1_000 * MIB, MIB, None);
        let mut one = budget.take(MIB);
        let mut other = budget.take(MIB);
        assert_eq!(kind(one.hold(extent(50 * MIB), 0, Known::Unpacked)), None);
        let crowded = other.hold(extent(100 * MIB), 0, Known::Unpacked);
        assert_eq!(kind(crowded), Some(ErrorKind::Crowded));
        let never = other
            .hold(extent(200 * MIB), 0, Known::Unpacked)
            .unwrap_err();
        assert_eq!(never.kind, ErrorKind::TooLarge);
        assert_eq!(
            never.message,
            "the file unpacks to more than there is memory for"
        );
        drop(one);
        assert_eq!(
            kind(other.hold(extent(100 * MIB), 0, Known::Unpacked)),
            None
        );
        drop(other);
        assert_eq!(*budget.used.lock().unwrap(), 0);
    }

    #[test]
    fn what_a_user_admits_is_tried_when_it_is_alone() {
        let budget = budget(100 * MIB, MIB, Some(500 * MIB));
        let mut one = budget.take(400 * MIB);
        assert_eq!(kind(one.hold(extent(400 * MIB), 0, Known::Content)), None);
        drop(one);
        let mut first = budget.take(MIB);
        let _second = budget.take(MIB);
        let crowded = first.hold(extent(400 * MIB), 0, Known::Content);
        assert_eq!(kind(crowded), Some(ErrorKind::Crowded));
        assert!(budget.admits(500 * MIB) && !budget.admits(501 * MIB));
    }

    #[test]
    fn a_file_of_any_size_waits_for_no_more_than_there_is() {
        let budget = budget(100 * MIB, 1 << 50, None);
        assert!(!budget.admits(1 << 50));
        // Neither waits for ever, and the one that cannot be held whole leaves room for the other.
        let huge = budget.take(1 << 50);
        let small = budget.take(MIB);
        drop((huge, small));
        drop(budget.take(100 * MIB));
        assert_eq!(*budget.used.lock().unwrap(), 0);
    }

    #[test]
    fn threads_that_grow_never_wait_for_each_other_and_never_take_more_than_there_is() {
        let budget = budget(200 * MIB, MIB, None);
        let (done, again) = (AtomicU64::new(0), AtomicU64::new(0));
        thread::scope(|scope| {
            for thread in 0..8 {
                let (budget, done, again) = (&budget, &done, &again);
                scope.spawn(move || {
                    for round in 0..200 {
                        let mut share = budget.take(MIB);
                        let grown = (1..=10).try_for_each(|step| {
                            let bytes = step * (1 + (thread + round) % 3) * MIB;
                            let held = share.hold(extent(bytes / 2), 0, Known::Unpacked);
                            assert!(*budget.used.lock().unwrap() <= budget.most);
                            held
                        });
                        match kind(grown) {
                            None => done.fetch_add(1, Ordering::Relaxed),
                            Some(ErrorKind::Crowded) => again.fetch_add(1, Ordering::Relaxed),
                            Some(other) => panic!("{other:?}"),
                        };
                    }
                });
            }
        });
        assert_eq!(*budget.used.lock().unwrap(), 0);
        let (done, again) = (done.into_inner(), again.into_inner());
        assert!(done > 0 && done + again == 1_600, "{done} {again}");
    }
}
