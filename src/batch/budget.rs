//! The memory that all threads of a run share.
//!
//! An input takes what it is likely to need before it is read, and waits until that is free. What it needs beyond that,
//! because it unpacks to more or holds more than others of its size, it takes as it grows, and never waits then: where
//! others hold too much it gives everything back and is tried again when it is alone. So nobody waits with memory in hand.

use std::sync::{Condvar, Mutex, PoisonError};

use super::limits::{Extent, Job, Limits, usual_bytes, usual_need};
use super::memory;
use crate::error::{Error, ErrorKind, Result};
use crate::text::size;

/// What a thread may hold beside the largest file, where there is memory.
const A_THREAD: u64 = 384 << 20;
/// The share of what is free that inputs may take: the rest is for the program, its outputs, and others.
const SHARE: (u64, u64) = (3, 4);
/// What an input that is read a line at a time holds to begin with.
const A_LINE: u64 = 4 << 20;
/// Small files are done however little there is.
const LEAST: u64 = 4 << 20;
/// Where the system does not say what is free.
const UNKNOWN: u64 = 4 << 30;

/// Memory that may be taken.
#[derive(Debug)]
pub(super) struct Budget {
    /// What may be taken by inputs that begin.
    begin: u64,
    /// What may be taken at all.
    most: u64,
    limits: Limits,
    job: Job,
    used: Mutex<u64>,
    returned: Condvar,
}

/// What is known of the size of an input that is too large.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Known {
    /// A file of so many bytes.
    File(u64),
    /// The file is not so large, but has many small things in it.
    Content,
    /// It is more than its file.
    Unpacked,
    /// It has not ended yet.
    Stream,
}

/// Memory taken, given back when this is dropped.
#[derive(Debug)]
pub(super) struct Share<'b> {
    budget: &'b Budget,
    bytes: u64,
}

impl Budget {
    /// Enough for the largest of the files and the threads, which are to run already, as far as there is memory.
    pub(super) fn new(
        sizes: impl Iterator<Item = u64>,
        threads: usize,
        limits: Limits,
        job: Job,
    ) -> Self {
        let free = memory::free().unwrap_or(UNKNOWN);
        let most = (free / SHARE.1 * SHARE.0).max(LEAST);
        Budget::of(most, sizes, threads, limits, job)
    }

    fn of(
        most: u64,
        sizes: impl Iterator<Item = u64>,
        threads: usize,
        limits: Limits,
        job: Job,
    ) -> Self {
        let mut budget = Budget {
            begin: most,
            most,
            limits,
            job,
            used: Mutex::new(0),
            returned: Condvar::new(),
        };
        let largest = sizes.filter(|bytes| budget.admits(*bytes)).max();
        let wanted =
            usual_need(largest.unwrap_or(0), job).saturating_add(A_THREAD * threads as u64);
        budget.begin = wanted.min(most);
        budget
    }

    pub(super) fn limits(&self) -> Limits {
        self.limits
    }

    /// Waits until what an input of `bytes` bytes usually needs is free. One that cannot be held whole is refused, or is
    /// read a line at a time.
    pub(super) fn take(&self, bytes: u64) -> Share<'_> {
        let held = if self.admits(bytes) { bytes } else { A_LINE };
        let bytes = usual_need(held, self.job).min(self.begin);
        let used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        let mut used = self
            .returned
            .wait_while(used, |used| *used + bytes > self.begin)
            .unwrap_or_else(PoisonError::into_inner);
        *used += bytes;
        Share {
            budget: self,
            bytes,
        }
    }

    /// Whether a file may be read whole, told from its size.
    pub(super) fn admits(&self, bytes: u64) -> bool {
        match self.limits.file_bytes {
            Some(most) => bytes <= most,
            None => bytes <= usual_bytes(self.most, self.job),
        }
    }

    /// Why an input is not read. How much memory there is stands in the hint alone: a report is the same everywhere.
    pub(super) fn too_large(&self, known: Known) -> Error {
        let what = match known {
            Known::File(bytes) => format!("the file has {}, more than ", size(bytes)),
            Known::Content => "what is in the file takes more than ".to_owned(),
            Known::Unpacked => "the file unpacks to more than ".to_owned(),
            Known::Stream => "the stream has more than ".to_owned(),
        };
        let (most, hint) = match self.limits.file_bytes {
            Some(most) => (
                format!("--max-file-bytes allows ({})", size(most)),
                "a larger --max-file-bytes lets it in".to_owned(),
            ),
            None => (
                "there is memory for".to_owned(),
                format!(
                    "{} can be used here, enough for most files of {}; --max-file-bytes SIZE tries larger ones",
                    size(self.most),
                    size(usual_bytes(self.most, self.job))
                ),
            ),
        };
        Error::new(ErrorKind::TooLarge, what + &most).hint(hint)
    }
}

impl Share<'_> {
    pub(super) fn budget(&self) -> &Budget {
        self.budget
    }

    /// Takes what an input needs in all, now that more of it is known; `known` says it if that is too much.
    ///
    /// # Errors
    /// [`ErrorKind::Crowded`] where others hold what it needs: it can be tried again when they are done.
    /// [`ErrorKind::TooLarge`] where there is not so much, unless the user has said how large a file may be.
    pub(super) fn hold(&mut self, extent: Extent, packed: u64, known: Known) -> Result<()> {
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

    /// The system gave no memory.
    pub(super) fn refused(&self) -> Error {
        let used = self.budget.used.lock();
        if *used.unwrap_or_else(PoisonError::into_inner) > self.bytes {
            return crowded();
        }
        Error::new(
            ErrorKind::TooLarge,
            "the system gives no memory for this file",
        )
        .hint("other programs may hold it; a smaller --max-file-bytes leaves such files out")
    }

    /// Gives back what turned out not to be needed.
    pub(super) fn settle(&mut self, extent: Extent, packed: u64) {
        let need = extent.need(self.budget.job) + packed;
        if need < self.bytes {
            self.give_back(self.bytes - need);
        }
    }

    fn give_back(&mut self, bytes: u64) {
        self.bytes -= bytes;
        *self
            .budget
            .used
            .lock()
            .unwrap_or_else(PoisonError::into_inner) -= bytes;
        self.budget.returned.notify_all();
    }
}

impl Drop for Share<'_> {
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
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::thread;

    use super::*;

    const MIB: u64 = 1 << 20;

    fn budget(most: u64, largest: u64, file_bytes: Option<u64>) -> Budget {
        let limits = Limits {
            file_bytes,
            ..Limits::default()
        };
        Budget::of(most, [largest].into_iter(), 2, limits, Job::Once)
    }

    fn extent(bytes: u64) -> Extent {
        Extent {
            bytes,
            ..Extent::default()
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
        // Neither waits for ever, and the one that cannot be held whole leaves room for others.
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
