//! The decisions of a generator, read from random words.
//!
//! A transcript is a function of its tape. The word 0 is always the simplest choice, and so is the end of the tape: proptest,
//! which can only shorten the tape and lower its words, makes a failing transcript smaller and simpler in this way. A tape is a
//! hundred times cheaper than a tree of strategies.

use proptest::collection::vec;
use proptest::prelude::*;

/// The words that decide.
#[derive(Debug, Clone)]
pub(super) struct Tape {
    words: Vec<u16>,
    at: usize,
}

impl Tape {
    /// Tapes of up to `longest` words.
    pub(super) fn of_up_to(longest: usize) -> impl Strategy<Value = Tape> {
        vec(any::<u16>(), 0..=longest).prop_map(|words| Tape { words, at: 0 })
    }

    fn word(&mut self) -> usize {
        let word = self.words.get(self.at).copied().unwrap_or(0);
        self.at += 1;
        usize::from(word)
    }

    /// A number below `n`.
    pub(super) fn below(&mut self, n: usize) -> usize {
        (self.word() * n) >> 16
    }

    /// A number from `least` to `most`.
    pub(super) fn between(&mut self, least: usize, most: usize) -> usize {
        least + self.below(most - least + 1)
    }

    /// One of `choices`; the first is the simplest.
    pub(super) fn pick<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len())]
    }

    /// `true` once in `n` times.
    pub(super) fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == n - 1
    }

    /// A subset of `choices`; the simplest is empty.
    pub(super) fn subset<T: Copy>(&mut self, choices: &[T]) -> Vec<T> {
        choices.iter().copied().filter(|_| self.one_in(2)).collect()
    }
}
