//! The largest of many things, chosen while they go by.
//!
//! PURE. Holds at most twice as many as are asked for.

use std::cmp::Reverse;

/// The largest of many things that arrive one by one; among equals, the first comes first.
pub(super) struct Largest<T> {
    most: usize,
    found: Vec<(u64, T)>,
    /// Anything not larger than this is not among them.
    least: Option<u64>,
}

impl<T> Largest<T> {
    /// Keeps at most so many.
    pub(super) fn new(most: usize) -> Self {
        Largest {
            most,
            found: Vec::new(),
            least: None,
        }
    }

    /// Adds a thing of this weight; `make` is called only if it may be among the largest.
    pub(super) fn add(&mut self, weight: u64, make: impl FnOnce() -> T) {
        if self.least.is_some_and(|least| weight <= least) {
            return;
        }
        self.found.push((weight, make()));
        // Rarely, so that many things cost little.
        if self.found.len() / 2 >= self.most {
            self.cut();
        }
    }

    fn cut(&mut self) {
        // A stable sort is right: the things already in order came before the others.
        self.found.sort_by_key(|(weight, _)| Reverse(*weight));
        self.found.truncate(self.most);
        if self.found.len() == self.most {
            self.least = self.found.last().map(|(weight, _)| *weight);
        }
    }

    /// The largest, in order.
    pub(super) fn into_list(mut self) -> Vec<T> {
        self.cut();
        self.found.into_iter().map(|(_, thing)| thing).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_are_those_of_a_stable_sort() {
        for most in [1, 3, 20, 1_000] {
            let mut largest = Largest::new(most);
            let mut all = Vec::new();
            for n in 0..500_u64 {
                let weight = n * 7_919 % 50;
                largest.add(weight, || n);
                all.push((weight, n));
            }
            all.sort_by_key(|(weight, _)| Reverse(*weight));
            all.truncate(most);
            let all: Vec<u64> = all.into_iter().map(|(_, n)| n).collect();
            assert_eq!(largest.into_list(), all);
        }
    }
}
