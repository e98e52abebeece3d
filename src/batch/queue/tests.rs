//! Inputs of several sizes, and the order in which they are handed out.

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

/// The next inputs to be processed, if all have to be.
fn largest(queue: &Queue) -> Option<Vec<QueuedInput>> {
    loop {
        match queue.next()? {
            Dealt::Found(found) => queue.put_back(found),
            Dealt::Largest(dealt) => return Some(dealt),
        }
    }
}

/// All inputs to be processed, until nothing more comes.
fn dealt(queue: &Queue) -> Vec<QueuedInput> {
    std::iter::from_fn(|| largest(queue)).flatten().collect()
}

#[test]
fn few_and_large_ones_are_dealt_one_by_one() {
    for (bytes, n, at_once) in [
        (1, 1, 1),
        (1, SHARE, 1),
        (1, 3 * SHARE, 3),
        (1, MAX_WAITING - FOUND_AT_ONCE, MOST_AT_ONCE),
        (ENOUGH / 2, 3 * SHARE, 2),
        (ENOUGH, 3 * SHARE, 1),
    ] {
        let queue = Queue::default();
        let mut filler = queue.filler();
        (0..n).for_each(|n| filler.put(met(bytes, n)));
        drop(filler);
        let dealt = largest(&queue).unwrap();
        assert_eq!(dealt.len(), at_once, "{n} of {bytes} bytes");
    }
}

#[test]
fn what_waits_is_dealt_by_size_and_equals_as_they_came() {
    let queue = Queue::default();
    let mut filler = queue.filler();
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
fn what_is_found_is_looked_up_together_and_only_the_rest_is_processed() {
    let queue = Queue::default();
    let mut filler = queue.filler();
    (0..3).for_each(|n| filler.put(met(n as u64, n)));
    drop(filler);
    let bytes = |met: &QueuedInput| met.1.unwrap().seen.bytes;
    let (mut found, mut processed) = (Vec::new(), Vec::new());
    while let Some(dealt) = queue.next() {
        match dealt {
            Dealt::Found(mut some) => {
                found.extend(some.iter().map(bytes));
                some.retain(|met| bytes(met) != 1);
                queue.put_back(some);
            }
            Dealt::Largest(some) => processed.extend(some.iter().map(bytes)),
        }
    }
    assert_eq!((found, processed), (vec![0, 1, 2], vec![2, 0]));
}

#[test]
fn a_closed_queue_deals_nothing_and_holds_up_no_walk() {
    let queue = Queue::default();
    thread::scope(|scope| {
        let walk = scope.spawn(|| {
            let mut filler = queue.filler();
            (0..MAX_WAITING * 2).for_each(|n| filler.put(met(1, n)));
        });
        while !queue.waiting.lock().unwrap().is_full {
            thread::yield_now();
        }
        queue.close();
        walk.join().unwrap();
    });
    assert_eq!(queue.next(), None);
    assert_eq!(queue.waiting.lock().unwrap().len(), 0);
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
        let mut filler = queue.filler();
        for n in 0..all {
            filler.put(met(n as u64, n));
            // Each thread may look up some more.
            let most = MAX_WAITING + 4 * FOUND_AT_ONCE;
            assert!(queue.waiting.lock().unwrap().len() <= most);
        }
        drop(filler);
        let dealt = workers
            .into_iter()
            .flat_map(|worker| worker.join().unwrap());
        dealt.collect::<std::collections::BTreeSet<u64>>()
    });
    assert_eq!(dealt.len(), all);
}
