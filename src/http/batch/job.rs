//! The records of batches in a store: what was sent, the server's id for it, and which requests failed.
//!
//! A record is written before its batch is sent, so that nothing is paid for twice if the run is killed in between: the next run
//! looks for the batch on the server. Records for other servers are skipped. A damaged record is an error, because it may represent
//! requests that are paid for.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::shape::is_id;
use crate::artifacts::Excess;
use crate::error::{Error, ErrorKind, Result};
use crate::http::refused::Rejection;
use crate::store::{Store, job_name};

/// The version of the record format.
const VERSION: u32 = 1;
/// The number of digits in a request's name.
const ID_DIGITS: usize = 32;

/// A batch, or the failed requests of one.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Job {
    version: u32,
    /// The URL that individual requests are posted to.
    pub(super) url: String,
    pub(super) model: String,
    /// When it was begun, in milliseconds on our clock.
    pub(super) begun: i64,
    pub(super) state: State,
    /// The names of the requests that have no result yet.
    pub(super) requests: BTreeSet<String>,
    /// Requests that were collected without an answer.
    #[serde(default)]
    pub(super) failed: BTreeMap<String, Failed>,
    /// What the server is known to reject in requests for this model.
    #[serde(default)]
    pub(super) learned: Vec<Rejection>,
    /// Parameters that were omitted from the requests.
    #[serde(default)]
    pub(super) left_out: BTreeSet<String>,
    /// Batches that looked like this one but were not.
    #[serde(default)]
    pub(super) others: BTreeSet<String>,
}

/// The state of a batch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum State {
    /// It is about to be sent, or was sent without confirmation by the server.
    Begun,
    /// The server has it under this id.
    Sent(String),
    /// The server has a batch that seems to be this one; its results will tell.
    Adopted(String),
    /// Its results were collected.
    Collected,
}

/// Why a request has no answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::http) struct Failed {
    /// For people.
    pub(in crate::http) why: String,
    pub(in crate::http) kind: FailedKind,
}

/// What can be done about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(in crate::http) enum FailedKind {
    /// Only to ask once more.
    Final,
    /// To send it in parts.
    TooLong(Option<Excess>),
    /// To ask in another form, which is now known.
    Form,
}

/// The tag by which the server's batch is recognised.
pub(super) fn tag(name: &str) -> &str {
    let file = name.rsplit('/').next().unwrap_or(name);
    file.strip_suffix(".json").unwrap_or(file)
}

impl Job {
    /// The record of a batch that is about to be sent, and its name.
    pub(super) fn begin(
        url: &str,
        model: &str,
        begun: i64,
        requests: BTreeSet<String>,
    ) -> (String, Self) {
        let time = begun.to_le_bytes();
        let mut parts: Vec<&[u8]> = vec![url.as_bytes(), model.as_bytes(), &time];
        parts.extend(requests.iter().map(String::as_bytes));
        let name = job_name(&parts);
        let job = Job {
            version: VERSION,
            url: url.to_owned(),
            model: model.to_owned(),
            begun,
            state: State::Begun,
            requests,
            failed: BTreeMap::new(),
            learned: Vec::new(),
            left_out: BTreeSet::new(),
            others: BTreeSet::new(),
        };
        (name, job)
    }

    /// The records for a server in a store, with their names.
    ///
    /// # Errors
    /// [`ErrorKind::Store`] for a damaged record.
    pub(super) fn all(store: &Store, url: &str) -> Result<Vec<(String, Job)>> {
        let mut jobs = Vec::new();
        for (name, bytes) in store.jobs()? {
            let job: Option<Job> = serde_json::from_slice(&bytes).ok();
            let Some(job) = job.filter(Job::is_sound) else {
                let path = store.root().join(&name);
                let message = "this record of a batch is damaged";
                return Err(Error::new(ErrorKind::Store, message).at(path).hint(
                    "restore it from a backup; delete it only if its batch was cancelled or its answers are not wanted",
                ));
            };
            if job.url == url {
                jobs.push((name, job));
            }
        }
        Ok(jobs)
    }

    /// Writes the record to the store.
    ///
    /// # Errors
    /// The errors of [`Store::put_job`].
    pub(super) fn put(&self, store: &Store, name: &str) -> Result<()> {
        let bytes = serde_json::to_vec(self);
        let failed = |e| Error::new(ErrorKind::Internal, format!("a record of a batch: {e}"));
        store.put_job(name, &bytes.map_err(failed)?)
    }

    /// Writes the record, or removes it if nothing is left to remember.
    ///
    /// # Errors
    /// The errors of [`Store::put_job`].
    pub(super) fn put_or_remove(&self, store: &Store, name: &str) -> Result<()> {
        match self.state == State::Collected && self.failed.is_empty() {
            true => store.remove_job(name),
            false => self.put(store, name),
        }
    }

    /// The server's id for it, if known.
    pub(super) fn id(&self) -> Option<&str> {
        match &self.state {
            State::Sent(id) | State::Adopted(id) => Some(id),
            State::Begun | State::Collected => None,
        }
    }

    /// Whether its requests may still get answers.
    pub(super) fn is_open(&self) -> bool {
        self.state != State::Collected
    }

    /// What its requests are waiting for.
    pub(super) fn waits_for(&self) -> String {
        const COLLECT: &str = "run the same command with --batch collect";
        match self.id() {
            Some(id) => format!("batch {id}: {COLLECT}"),
            None => format!("a batch that may have been sent: {COLLECT}"),
        }
    }

    /// Checks that everything that becomes part of a URL or a file name has the expected form, because stores are not trusted.
    fn is_sound(&self) -> bool {
        let mut ids = self.requests.iter().chain(self.failed.keys());
        self.version == VERSION && self.id().is_none_or(is_id) && ids.all(|id| is_request(id))
    }
}

/// Whether a text has the form of a request's name.
pub(super) fn is_request(id: &str) -> bool {
    let is_digit = |b: u8| matches!(b, b'0'..=b'9' | b'a'..=b'f');
    id.len() == ID_DIGITS && id.bytes().all(is_digit)
}

/// The name of a request: the name of its answer in the store, without the common prefix and suffix.
pub(in crate::http) fn id_of(answer: &str) -> String {
    tag(answer).to_owned()
}

/// The name of the answer to a request in the store.
pub(super) fn answer_of(id: &str) -> String {
    format!("cache/{id}.json")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::answer_name;
    use crate::store::folder::Durability;

    #[test]
    fn a_record_comes_back_as_it_was_and_a_damaged_one_is_said() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::new(dir.path().join(".ctxpack"), Durability::Lazy);
        let answer = answer_name(&[b"q"]);
        let id = id_of(&answer);
        assert!(is_request(&id));
        assert_eq!(answer_of(&id), answer);
        let begin = |seconds| Job::begin("u", "m", seconds, BTreeSet::from([id.clone()]));
        let (name, mut job) = begin(1);
        // The same requests, sent again, are another batch.
        assert_ne!(name, begin(2).0);
        job.state = State::Sent("batch_1".to_owned());
        job.put(&store, &name).unwrap();
        let [(found, again)] = Job::all(&store, "u").unwrap().try_into().unwrap();
        assert_eq!(
            (found.as_str(), again.id()),
            (name.as_str(), Some("batch_1"))
        );
        assert_eq!(again.requests, job.requests);
        assert!(Job::all(&store, "other").unwrap().is_empty());
        job.state = State::Sent("../files".to_owned());
        job.put(&store, &name).unwrap();
        let error = Job::all(&store, "u").unwrap_err();
        assert_eq!(error.kind, ErrorKind::Store);
        job.state = State::Collected;
        job.put_or_remove(&store, &name).unwrap();
        assert!(Job::all(&store, "u").unwrap().is_empty());
    }
}
