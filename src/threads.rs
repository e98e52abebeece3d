//! Work on one input that the idle threads of a run share.
//!
//! Only threads of the pool in which this is called take part: outside of one, everything is done in turn, and no pool is started.
//! The results are in the order of the work, whatever the number of threads.

use rayon::prelude::*;

/// Whether other threads can take a part of the work.
pub(crate) fn can_share() -> bool {
    rayon::current_thread_index().is_some() && rayon::current_num_threads() > 1
}

/// Does two pieces of work.
pub(crate) fn both<A: Send, B: Send>(
    one: impl FnOnce() -> A + Send,
    other: impl FnOnce() -> B + Send,
) -> (A, B) {
    match can_share() {
        true => rayon::join(one, other),
        false => (one(), other()),
    }
}

/// Does the same work on each item.
pub(crate) fn each<T: Send, R: Send>(
    items: impl IntoIterator<Item = T>,
    work: impl Fn(T) -> R + Sync + Send,
) -> Vec<R> {
    let items: Vec<T> = items.into_iter().collect();
    match can_share() {
        true => items.into_par_iter().map(work).collect(),
        false => items.into_iter().map(work).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_in_the_order_of_the_work_with_any_number_of_threads() {
        let work = || (both(|| 1, || 2), each(0..100, |n| n * n));
        let expected = ((1, 2), (0..100).map(|n| n * n).collect::<Vec<i32>>());
        assert!(!can_share());
        assert_eq!(work(), expected);
        for threads in 1..4 {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
            let pool = pool.build().unwrap();
            assert_eq!(pool.install(can_share), threads > 1);
            assert_eq!(pool.install(work), expected);
        }
    }
}
