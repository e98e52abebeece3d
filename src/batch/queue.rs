//! Inputs on their way from a walk to the threads that process them; the largest waiting input is handed out first.
//!
//! Inputs are first handed out as they are found, to be looked up among those that earlier runs have finished: neighbours are
//! looked up together. What has to be processed comes back and waits. Holds a bounded number, however many the walk finds. Knows
//! nothing about their processing.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::Source;
use super::snapshot::Snapshot;

/// How many inputs may wait: enough to find the large ones early, and few compared with the memory that a single large one takes.
const MAX_WAITING: usize = 4_096;
/// How many inputs can be added without waiting for room.
pub(super) const ROOM: usize = MAX_WAITING - FOUND_AT_ONCE;
/// A walk that is waiting for room continues once only this many inputs are left, so that it is not woken for each of them.
const REFILL_AT: usize = MAX_WAITING / 2;

/// Small inputs are handed out several at a time: up to this share of the waiting ones, so that all threads finish together, up to
/// this many, and until they reach this many bytes.
const SHARE: usize = 64;
const MOST_AT_ONCE: usize = 32;
const ENOUGH: u64 = 64 << 10;

/// A walk adds this many inputs at a time, so that threads are not woken for each; fewer if it took longer than this to find them.
const FOUND_AT_ONCE: usize = 64;
const SOON: Duration = Duration::from_millis(1);

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
    /// As they were found, and their number.
    found: VecDeque<Vec<QueuedInput>>,
    not_looked_up: usize,
    /// What has to be processed, by size; among equals, the first one added: comparing paths would cost more than anything else
    /// here.
    inputs: BinaryHeap<(u64, Reverse<u64>, QueuedInput)>,
    /// The number of inputs added so far.
    added: u64,
    /// The number of threads that look up inputs, some of which may come back.
    looking: usize,
    has_ended: bool,
    /// Whether no thread takes an input any more.
    is_closed: bool,
    /// The number of threads waiting for an input.
    idle: usize,
    is_full: bool,
}

/// An input, and what the walk saw of it, if it could be looked at.
pub(super) type QueuedInput = (Source, Option<Snapshot>);

/// Inputs for a thread.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Dealt {
    /// Inputs to be looked up, in the order in which they were found; those that have to be processed go to [`Queue::put_back`],
    /// which must be called even if there are none.
    Found(Vec<QueuedInput>),
    /// Inputs to be processed: the largest, or several small ones.
    Largest(Vec<QueuedInput>),
}

/// The end of a queue: when it is dropped, no more inputs come.
#[derive(Debug)]
pub(super) struct Filler<'q> {
    queue: &'q Queue,
    /// Inputs still to be added, and when the first of them was found.
    found: Vec<QueuedInput>,
    since: Instant,
}

impl Queue {
    /// The producer's end.
    pub(super) fn filler(&self) -> Filler<'_> {
        Filler {
            queue: self,
            found: Vec::new(),
            since: Instant::now(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next inputs; blocks until there are some. `None` if there are no more, or the queue was closed.
    pub(super) fn next(&self) -> Option<Dealt> {
        let mut waiting = self.lock();
        while !waiting.is_closed {
            let dealt = waiting.deal();
            if waiting.is_full && waiting.len() <= REFILL_AT {
                waiting.is_full = false;
                self.taken.notify_one();
            }
            if dealt.is_some() || waiting.has_ended && waiting.looking == 0 {
                return dealt;
            }
            waiting.idle += 1;
            waiting = self
                .added
                .wait(waiting)
                .unwrap_or_else(PoisonError::into_inner);
            waiting.idle -= 1;
        }
        None
    }

    /// Takes back those of the inputs found that have to be processed.
    pub(super) fn put_back(&self, rest: Vec<QueuedInput>) {
        let mut waiting = self.lock();
        waiting.looking -= 1;
        let is_end = waiting.has_ended && waiting.looking == 0;
        if !waiting.is_closed {
            for met in rest {
                let number = Reverse(waiting.added);
                waiting.added += 1;
                let bytes = met.1.map_or(0, |look| look.seen.bytes);
                waiting.inputs.push((bytes, number, met));
            }
        }
        let is_awaited = waiting.idle > 0 && (is_end || !waiting.inputs.is_empty());
        drop(waiting);
        if is_awaited {
            self.added.notify_all();
        }
    }

    /// Closes the queue: waiting inputs are dropped, and so are any that are added later.
    pub(super) fn close(&self) {
        let mut waiting = self.lock();
        waiting.is_closed = true;
        waiting.inputs = BinaryHeap::new();
        waiting.found = VecDeque::new();
        waiting.not_looked_up = 0;
        self.added.notify_all();
        self.taken.notify_all();
    }

    /// Adds inputs as they were found; waits until there is room.
    fn add(&self, found: Vec<QueuedInput>) {
        let mut waiting = self
            .taken
            .wait_while(self.lock(), |waiting| waiting.is_full && !waiting.is_closed)
            .unwrap_or_else(PoisonError::into_inner);
        if waiting.is_closed {
            return;
        }
        waiting.not_looked_up += found.len();
        waiting.found.push_back(found);
        waiting.is_full = waiting.len() > ROOM;
        let is_awaited = waiting.idle > 0;
        drop(waiting);
        if is_awaited {
            self.added.notify_one();
        }
    }
}

impl Waiting {
    fn len(&self) -> usize {
        self.not_looked_up + self.inputs.len()
    }

    /// What was found is looked up first: only then the largest is known.
    fn deal(&mut self) -> Option<Dealt> {
        if let Some(found) = self.found.pop_front() {
            self.not_looked_up -= found.len();
            self.looking += 1;
            return Some(Dealt::Found(found));
        }
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
        (!dealt.is_empty()).then_some(Dealt::Largest(dealt))
    }
}

impl Filler<'_> {
    /// Adds an input; waits until there is room.
    pub(super) fn put(&mut self, met: QueuedInput) {
        if self.found.is_empty() {
            self.since = Instant::now();
            self.found.reserve(FOUND_AT_ONCE);
        }
        self.found.push(met);
        if self.found.len() >= FOUND_AT_ONCE || self.since.elapsed() > SOON {
            self.queue.add(std::mem::take(&mut self.found));
        }
    }
}

impl Drop for Filler<'_> {
    fn drop(&mut self) {
        if !self.found.is_empty() {
            self.queue.add(std::mem::take(&mut self.found));
        }
        self.queue.lock().has_ended = true;
        self.queue.added.notify_all();
    }
}

#[cfg(test)]
mod tests;
