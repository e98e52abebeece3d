//! The ids of the calls or results of one turn.
//!
//! Most turns have a few of them, which are found faster by comparing than by hashing. Never compares many.

use std::borrow::Cow;

use crate::ids::IdSet;

/// The most ids that are compared one by one.
const FEW: usize = 8;

/// A set of ids.
#[derive(Default)]
pub(super) struct CallIds<'t> {
    /// The first ids.
    few: Vec<Cow<'t, [u8]>>,
    /// The ids after them.
    more: IdSet<Cow<'t, [u8]>>,
}

impl<'t> CallIds<'t> {
    /// Removes all ids.
    pub(super) fn clear(&mut self) {
        self.few.clear();
        self.more.clear();
    }

    /// Whether an id is among them.
    pub(super) fn contains(&self, id: &[u8]) -> bool {
        let is_there = self.few.iter().any(|own| **own == *id);
        is_there || !self.more.is_empty() && self.more.contains(id)
    }

    /// Adds an id; whether it is new.
    pub(super) fn insert(&mut self, id: Cow<'t, [u8]>) -> bool {
        if self.few.contains(&id) {
            return false;
        }
        if self.few.len() == FEW {
            return self.more.insert(id);
        }
        self.few.push(id);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_and_many_ids_are_found() {
        let id = |n: usize| -> Cow<'static, [u8]> { Cow::Owned(n.to_string().into_bytes()) };
        let mut ids = CallIds::default();
        for n in 0..3 * FEW {
            assert!(!ids.contains(&id(n)));
            assert!(ids.insert(id(n)));
            assert!(!ids.insert(id(n)));
            assert!((0..=n).all(|n| ids.contains(&id(n))));
        }
        ids.clear();
        assert!((0..3 * FEW).all(|n| !ids.contains(&id(n))));
    }
}
