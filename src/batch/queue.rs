//! Inputs on their way from a walk to the threads that work on them: of those that wait, the largest is dealt first.
//!
//! Holds a bounded number, however many the walk finds. Knows nothing of what is done with them.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;
use std::sync::{Condvar, Mutex, PoisonError};

use super::Source;

/// How many inputs may wait: enough to find the large ones early, and few beside what one of them takes.
const MOST: usize = 4_096;
/// A walk that waited for room goes on when so few wait, so that it is not woken for each of them.
const FEW: usize = MOST / 2;

/// The inputs that wait.
#[derive(Debug, Default)]
pub(super) struct Queue {
    waiting: Mutex<Waiting>,
    added: Condvar,
    /// There is room again.
    taken: Condvar,
}

#[derive(Debug, Default)]
struct Waiting {
    inputs: BinaryHeap<Input>,
    /// How many were added.
    added: u64,
    has_ended: bool,
    /// How many threads wait for an input.
    idle: usize,
    is_full: bool,
}

/// An input with its size. Of equals the first is dealt first: to compare paths would cost more than anything else here.
#[derive(Debug)]
struct Input {
    rank: (u64, Reverse<u64>),
    source: Source,
}

impl PartialEq for Input {
    fn eq(&self, other: &Self) -> bool {
        self.rank == other.rank
    }
}

impl Eq for Input {}

impl PartialOrd for Input {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Input {
    fn cmp(&self, other: &Self) -> Ordering {
        self.rank.cmp(&other.rank)
    }
}

/// The end of a queue: when it is dropped, no more inputs come.
#[derive(Debug)]
pub(super) struct Filler<'q>(&'q Queue);

impl Queue {
    /// What fills it.
    pub(super) fn filler(&self) -> Filler<'_> {
        Filler(self)
    }

    /// The next input with its size; waits for one. `None` where there are no more.
    pub(super) fn next(&self) -> Option<(u64, Source)> {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if let Some(Input { rank, source }) = waiting.inputs.pop() {
                if waiting.is_full && waiting.inputs.len() <= FEW {
                    waiting.is_full = false;
                    self.taken.notify_one();
                }
                return Some((rank.0, source));
            }
            if waiting.has_ended {
                return None;
            }
            waiting.idle += 1;
            waiting = self
                .added
                .wait(waiting)
                .unwrap_or_else(PoisonError::into_inner);
            waiting.idle -= 1;
        }
    }
}

impl Filler<'_> {
    /// Adds an input of `bytes` bytes; waits until there is room.
    pub(super) fn put(&self, bytes: u64, source: Source) {
        let waiting = &self.0.waiting;
        let waiting = waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let mut waiting = self
            .0
            .taken
            .wait_while(waiting, |waiting| waiting.is_full)
            .unwrap_or_else(PoisonError::into_inner);
        let rank = (bytes, Reverse(waiting.added));
        waiting.added += 1;
        waiting.inputs.push(Input { rank, source });
        waiting.is_full = waiting.inputs.len() >= MOST;
        let is_awaited = waiting.idle > 0;
        drop(waiting);
        if is_awaited {
            self.0.added.notify_one();
        }
    }
}

impl Drop for Filler<'_> {
    fn drop(&mut self) {
        let waiting = &self.0.waiting;
        waiting
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .has_ended = true;
        self.0.added.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;
    use std::thread;

    use super::*;
    use crate::batch::{FileSource, Origin};

    fn source(n: usize) -> Source {
        Source::File(FileSource {
            path: PathBuf::from(format!("{n}.jsonl")),
            folder: None,
            origin: Origin::Walked,
        })
    }

    #[test]
    fn what_waits_is_dealt_by_size() {
        let queue = Queue::default();
        let filler = queue.filler();
        for (n, bytes) in [3, 9, 1, 9].into_iter().enumerate() {
            filler.put(bytes, source(n));
        }
        drop(filler);
        let sizes: Vec<u64> = std::iter::from_fn(|| queue.next().map(|(b, _)| b)).collect();
        assert_eq!(sizes, [9, 9, 3, 1]);
        assert_eq!(queue.next(), None);
    }

    #[test]
    fn each_input_is_dealt_once_and_few_wait() {
        let queue = Queue::default();
        let all = MOST * 3;
        let dealt = thread::scope(|scope| {
            let workers: Vec<_> = (0..4)
                .map(|_| {
                    scope.spawn(|| {
                        std::iter::from_fn(|| queue.next().map(|(n, _)| n)).collect::<Vec<_>>()
                    })
                })
                .collect();
            let filler = queue.filler();
            for n in 0..all {
                filler.put(n as u64, source(n));
                assert!(queue.waiting.lock().unwrap().inputs.len() <= MOST);
            }
            drop(filler);
            let dealt = workers
                .into_iter()
                .flat_map(|worker| worker.join().unwrap());
            dealt.collect::<std::collections::BTreeSet<u64>>()
        });
        assert_eq!(dealt.len(), all);
    }
}
