//! What cache entries have cost, so that each cost is reported exactly once, whichever run writes the report.
//!
//! An interrupted run has paid for answers for inputs that it has not reported. The next run of the same command finds these
//! answers in the store, and reports their cost as if it had requested them. Sends nothing, and decides nothing about content.

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};

use crate::outcome::Spent;

/// What requests have cost.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Cost {
    /// The number of requests made for a summary.
    pub(super) attempts: u64,
    pub(super) spent: Spent,
}

impl Cost {
    /// The cost since an `earlier` sum.
    pub(super) fn since(self, earlier: Cost) -> Cost {
        Cost {
            attempts: self.attempts.saturating_sub(earlier.attempts),
            spent: self.spent - earlier.spent,
        }
    }

    pub(super) fn add(&mut self, other: Cost) {
        self.attempts = self.attempts.saturating_add(other.attempts);
        self.spent += other.spent;
    }
}

/// What a cache entry cost, and who requested it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Paid {
    /// See [`ModelRequest::requester`](crate::artifacts::ModelRequest::requester).
    requester: String,
    #[serde(flatten)]
    cost: Cost,
}

/// An entry of a store's cache.
#[derive(Debug, Clone, Copy)]
pub(super) struct Entry<'e> {
    /// The store's folder.
    pub(super) root: &'e Path,
    pub(super) name: &'e str,
}

/// The entries whose cost this run reports: their names, by store folder.
#[derive(Debug, Default)]
pub(super) struct Reported(Mutex<HashMap<PathBuf, BTreeSet<String>>>);

impl Reported {
    /// Records that an entry was paid for now; returns what to store with it, if the requester is known.
    pub(super) fn pay(
        &self,
        requester: Option<&str>,
        entry: Option<Entry<'_>>,
        cost: Cost,
    ) -> Option<Paid> {
        let requester = requester?.to_owned();
        self.insert(entry?);
        Some(Paid { requester, cost })
    }

    /// The cost of an entry, if this requester paid it in a run that has not reported it.
    pub(super) fn owed(
        &self,
        requester: Option<&str>,
        entry: Option<Entry<'_>>,
        paid: Option<&Paid>,
    ) -> Option<Cost> {
        let paid = paid.filter(|paid| Some(paid.requester.as_str()) == requester)?;
        self.insert(entry?).then_some(paid.cost)
    }

    /// Whether the entry is new.
    fn insert(&self, entry: Entry<'_>) -> bool {
        let mut by_root = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let names = by_root.entry(entry.root.to_owned()).or_default();
        names.insert(entry.name.to_owned())
    }

    /// Removes and returns the names of the entries of a store.
    pub(super) fn take(&self, root: &Path) -> BTreeSet<String> {
        let mut by_root = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        by_root.remove(root).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const COST: Cost = Cost {
        attempts: 2,
        spent: Spent {
            requests: 2,
            cached: 0,
            input_tokens: 100,
            output_tokens: 10,
        },
    };

    fn answer() -> Option<Entry<'static>> {
        let root = Path::new("store");
        Some(Entry {
            root,
            name: "answer",
        })
    }

    #[test]
    fn a_cost_is_reported_once_by_the_run_after_the_one_that_paid_it() {
        let first = Reported::default();
        let paid = first.pay(Some("a"), answer(), COST);
        assert_eq!(first.owed(Some("a"), answer(), paid.as_ref()), None);

        let second = Reported::default();
        assert_eq!(second.owed(Some("a"), answer(), paid.as_ref()), Some(COST));
        assert_eq!(second.owed(Some("a"), answer(), paid.as_ref()), None);
    }

    #[test]
    fn what_others_paid_costs_nothing() {
        let paid = Reported::default().pay(Some("a"), answer(), COST);
        let next = Reported::default();
        assert_eq!(next.owed(Some("b"), answer(), paid.as_ref()), None);
        assert_eq!(next.owed(None, answer(), paid.as_ref()), None);
        assert_eq!(next.owed(Some("a"), answer(), None), None);
        assert_eq!(next.pay(None, answer(), COST), None);
    }
}
