//! The decisions of a generator, read from random words.
//!
//! A transcript is a function of its tape. The word 0 is always the plainest choice, and so is the end of the tape:
//! proptest, which only knows how to shorten the tape and to lower its words, makes a failing transcript smaller and
//! plainer that way. A tape is a hundred times cheaper than a tree of strategies.

use proptest::collection::vec;
use proptest::prelude::*;

/// Words that decide.
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

    /// One of `choices`; the first is the plainest.
    pub(super) fn pick<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len())]
    }

    /// Whether something happens that happens once in `n` times.
    pub(super) fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == n - 1
    }

    /// A subset of `choices`; the plainest is empty.
    pub(super) fn subset<T: Copy>(&mut self, choices: &[T]) -> Vec<T> {
        choices.iter().copied().filter(|_| self.one_in(2)).collect()
    }
}
