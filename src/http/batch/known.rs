//! What the records of a store say about single requests, looked up by name.
//!
//! Read once, and again after a run sends or collects something.

use std::collections::BTreeMap;

use super::job::{Failed, Job};
use crate::error::Result;
use crate::http::refused::Rejection;
use crate::store::Store;

/// What a store knows about earlier requests.
#[derive(Debug, Default)]
pub(super) struct Known {
    requests: BTreeMap<String, RequestStatus>,
    /// What the server rejects in requests, with the model.
    learned: Vec<(String, Rejection)>,
}

/// What is known about a request that has no answer in the store.
#[derive(Debug, Clone)]
pub(in crate::http) enum RequestStatus {
    /// It was sent; says what it is waiting for.
    Waits(String),
    /// It was answered with an error that an earlier run collected.
    Failed(Failed),
    /// The same, collected by this run.
    FailedNow(Failed),
}

impl Known {
    /// What the records of a server's batches say.
    ///
    /// # Errors
    /// The errors of [`Job::all`].
    pub(super) fn of(store: &Store, url: &str) -> Result<Self> {
        let mut known = Known::default();
        for (_, job) in Job::all(store, url)? {
            let waits = job.waits_for();
            for (id, failed) in job.failed {
                let standing = known.requests.entry(id);
                standing.or_insert(RequestStatus::Failed(failed));
            }
            let open = job.requests.into_iter();
            known
                .requests
                .extend(open.map(|id| (id, RequestStatus::Waits(waits.clone()))));
            for refused in job.learned {
                let learned = (job.model.clone(), refused);
                if !known.learned.contains(&learned) {
                    known.learned.push(learned);
                }
            }
        }
        Ok(known)
    }

    /// What is known about a request.
    pub(super) fn standing(&self, id: &str) -> Option<RequestStatus> {
        self.requests.get(id).cloned()
    }

    /// What the server rejects in requests for a model.
    pub(super) fn learned(&self, model: &str) -> Vec<Rejection> {
        let learned = self.learned.iter().filter(|(of, _)| of == model);
        learned.map(|(_, refused)| refused.clone()).collect()
    }
}
