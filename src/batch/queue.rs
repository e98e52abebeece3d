//! Inputs on their way from a walk to the threads that process them; the largest waiting input is handed out first.
//!
//! Holds a bounded number, however many the walk finds. Knows nothing about their processing.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::{Condvar, Mutex, PoisonError};

use super::Source;
use super::snapshot::Snapshot;

/// How many inputs may wait: enough to find the large ones early, and few compared with the memory that a single large one takes.
const MAX_WAITING: usize = 4_096;
/// A walk that is waiting for room continues once only this many inputs are left, so that it is not woken for each of them.
const REFILL_AT: usize = MAX_WAITING / 2;

/// Small inputs are handed out several at a time: up to this share of the waiting ones, so that all threads finish together, up to
/// this many, and until they reach this many bytes.
const SHARE: usize = 64;
const MOST_AT_ONCE: usize = 32;
const ENOUGH: u64 = 64 << 10;

/// The waiting inputs.
#[derive(Debug, Default)]
pub(super) struct Queue {
    waiting: Mutex<Waiting>,
    added: Condvar,
    /// Notified when there is room again.
    taken: Condvar,
}

#[derive(Debug, Default)]
struct Waiting {
    /// By size; among equals, the first one added: comparing paths would cost more than anything else here.
    inputs: BinaryHeap<(u64, Reverse<u64>, QueuedInput)>,
    /// The number of inputs added so far.
    added: u64,
    has_ended: bool,
    /// Whether no thread takes an input any more.
    is_closed: bool,
    /// The number of threads waiting for an input.
    idle: usize,
    is_full: bool,
}

/// An input, and what the walk saw of it, if it could be looked at.
pub(super) type QueuedInput = (Source, Option<Snapshot>);

/// The end of a queue: when it is dropped, no more inputs come.
#[derive(Debug)]
pub(super) struct Filler<'q>(&'q Queue);

impl Queue {
    /// The producer's end.
    pub(super) fn filler(&self) -> Filler<'_> {
        Filler(self)
    }

    /// The next inputs: the largest, or several small ones; blocks until there is one. Empty if there are no more, or the queue was
    /// closed.
    pub(super) fn next(&self) -> Vec<QueuedInput> {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        while !waiting.is_closed {
            let dealt = waiting.deal();
            if waiting.is_full && waiting.inputs.len() <= REFILL_AT {
                waiting.is_full = false;
                self.taken.notify_one();
            }
            if !dealt.is_empty() || waiting.has_ended {
                return dealt;
            }
            waiting.idle += 1;
            waiting = self
                .added
                .wait(waiting)
                .unwrap_or_else(PoisonError::into_inner);
            waiting.idle -= 1;
        }
        Vec::new()
    }

    /// Closes the queue: waiting inputs are dropped, and so are any that are added later.
    pub(super) fn close(&self) {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.is_closed = true;
        waiting.inputs = BinaryHeap::new();
        self.added.notify_all();
        self.taken.notify_all();
    }
}

impl Waiting {
    fn deal(&mut self) -> Vec<QueuedInput> {
        let most = (self.inputs.len() / SHARE).clamp(1, MOST_AT_ONCE);
        let mut dealt = Vec::with_capacity(most);
        let mut sum = 0;
        while dealt.len() < most && sum < ENOUGH {
            let Some((.., met)) = self.inputs.pop() else {
                break;
            };
            // An input that could not be examined may have any size.
            sum += met.1.map_or(ENOUGH, |look| look.seen.bytes);
            dealt.push(met);
        }
        dealt
    }
}

impl Filler<'_> {
    /// Adds an input; waits until there is room.
    pub(super) fn put(&self, met: QueuedInput) {
        let waiting = &self.0.waiting;
        let waiting = waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let mut waiting = self
            .0
            .taken
            .wait_while(waiting, |waiting| waiting.is_full && !waiting.is_closed)
            .unwrap_or_else(PoisonError::into_inner);
        if waiting.is_closed {
            return;
        }
        let number = Reverse(waiting.added);
        waiting.added += 1;
        let bytes = met.1.map_or(0, |look| look.seen.bytes);
        waiting.inputs.push((bytes, number, met));
        waiting.is_full = waiting.inputs.len() >= MAX_WAITING;
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
    use crate::store::FileIdentity;

    fn met(bytes: u64, n: usize) -> QueuedInput {
        let file = FileSource {
            path: PathBuf::from(format!("{n}.jsonl")),
            folder: None,
            origin: Origin::Walked,
        };
        let seen = FileIdentity {
            bytes,
            modified: None,
            touched: None,
        };
        (Source::File(file), Some(Snapshot::now(seen)))
    }

    /// All inputs handed out until nothing more comes.
    fn dealt(queue: &Queue) -> Vec<QueuedInput> {
        let next = || Some(queue.next()).filter(|dealt| !dealt.is_empty());
        std::iter::from_fn(next).flatten().collect()
    }

    #[test]
    fn few_and_large_ones_are_dealt_one_by_one() {
        for (bytes, n, at_once) in [
            (1, 1, 1),
            (1, SHARE, 1),
            (1, 3 * SHARE, 3),
            (1, MAX_WAITING - 1, MOST_AT_ONCE),
            (ENOUGH / 2, 3 * SHARE, 2),
            (ENOUGH, 3 * SHARE, 1),
        ] {
            let queue = Queue::default();
            let filler = queue.filler();
            (0..n).for_each(|n| filler.put(met(bytes, n)));
            assert_eq!(queue.next().len(), at_once, "{n} of {bytes} bytes");
        }
    }

    #[test]
    fn what_waits_is_dealt_by_size_and_equals_as_they_came() {
        let queue = Queue::default();
        let filler = queue.filler();
        for (n, bytes) in [3, 9, 1, 9].into_iter().enumerate() {
            filler.put(met(bytes, n));
        }
        drop(filler);
        let dealt = dealt(&queue).into_iter();
        let dealt: Vec<_> = dealt
            .map(|(source, look)| (source, look.unwrap().seen))
            .collect();
        let expected = [(9, 1), (9, 3), (3, 0), (1, 2)];
        let met = |(bytes, n)| {
            let (source, look) = met(bytes, n);
            (source, look.unwrap().seen)
        };
        assert_eq!(dealt, expected.map(met));
    }

    #[test]
    fn a_closed_queue_deals_nothing_and_holds_up_no_walk() {
        let queue = Queue::default();
        let filler = queue.filler();
        thread::scope(|scope| {
            let walk = scope.spawn(|| (0..MAX_WAITING * 2).for_each(|n| filler.put(met(1, n))));
            while !queue.waiting.lock().unwrap().is_full {
                thread::yield_now();
            }
            queue.close();
            walk.join().unwrap();
        });
        assert_eq!(queue.next(), []);
        assert!(queue.waiting.lock().unwrap().inputs.is_empty());
    }

    #[test]
    fn each_input_is_dealt_once_and_few_wait() {
        let queue = Queue::default();
        let all = MAX_WAITING * 3;
        let dealt = thread::scope(|scope| {
            let workers: Vec<_> = (0..4)
                .map(|_| {
                    scope.spawn(|| {
                        let looks = dealt(&queue).into_iter().filter_map(|(_, look)| look);
                        looks.map(|look| look.seen.bytes).collect::<Vec<_>>()
                    })
                })
                .collect();
            let filler = queue.filler();
            for n in 0..all {
                filler.put(met(n as u64, n));
                assert!(queue.waiting.lock().unwrap().inputs.len() <= MAX_WAITING);
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
