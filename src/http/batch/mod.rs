//! Requests that are sent together and answered hours later, by the batch APIs of Anthropic and OpenAI.
//!
//! A run holds its requests back (`spool`) and sends them when all are known (`send`). A later run collects the answers into the
//! store's cache (`collect`, `results`), where summaries find them like any other answer. The store has a record of each batch
//! (`job`), so that nothing is paid for twice: neither by two concurrent runs, nor by a run after another one that was killed
//! (`adopt`).

mod adopt;
mod calls;
mod collect;
mod job;
mod known;
mod results;
mod send;
mod shape;
mod spool;

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, BufRead, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::client::Client;
use super::endpoint::Endpoint;
use super::refused::Rejection;
use crate::artifacts::{BatchReport, Demand};
use crate::error::{Error, ErrorKind, Result};
use crate::store::Store;
use crate::store::folder::Durability;

use calls::Caller;
use job::Job;
use known::Known;
use results::{Sought, Tally};
use send::About;
use shape::{Addresses, Most, around, request_line};
use spool::{Spool, divided};

pub(super) use job::{Failed, FailedKind, id_of};
pub(super) use known::RequestStatus;
pub(super) use spool::Earlier;

/// The message for requests that this run will send once all of them are known.
pub(super) const TO_BE_SENT: &str = crate::outcome::TO_BE_SENT;

/// The requests of a run, and what its stores know of earlier ones.
#[derive(Debug)]
pub(super) struct Batches {
    most: Most,
    wanted: Mutex<Wanted>,
    known: Mutex<BTreeMap<PathBuf, Arc<Known>>>,
    /// The requests that this run has collected, with the reason if there is no answer.
    fresh: Mutex<BTreeMap<String, Option<Failed>>>,
}

/// What was requested and is not answered yet.
#[derive(Debug, Default)]
struct Wanted {
    demand: Demand,
    /// The names of the requests, by the store that is to have the answers.
    names: BTreeMap<PathBuf, BTreeSet<String>>,
    /// The requests, by the store and by the model.
    held: BTreeMap<(PathBuf, String), Waiting>,
}

/// Requests for one model.
#[derive(Debug)]
struct Waiting {
    spool: Spool,
    /// Parameters to omit from them.
    left_out: BTreeSet<String>,
}

/// An unanswered request.
#[derive(Debug)]
pub(super) struct Request<'q> {
    pub(super) id: String,
    pub(super) model: &'q str,
    pub(super) earlier: Earlier,
    pub(super) body: Vec<u8>,
    /// Parameters to omit from it.
    pub(super) left_out: &'q BTreeSet<String>,
    /// Its estimated tokens, and the maximum for its answer.
    pub(super) input_tokens: u64,
    pub(super) output_tokens: u64,
}

/// What happens to a request without an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Enqueue {
    /// It is counted.
    Count,
    /// It is held back, to be sent later.
    Send,
}

impl Batches {
    /// Creates an empty set, with at most `most` requests in a batch, or as many as the provider accepts.
    pub(super) fn new(endpoint: &Endpoint, most: Option<usize>) -> Self {
        let provider = Most::of(endpoint.provider);
        Batches {
            most: Most {
                requests: most.unwrap_or(usize::MAX).clamp(1, provider.requests),
                ..provider
            },
            wanted: Mutex::default(),
            known: Mutex::default(),
            fresh: Mutex::default(),
        }
    }

    /// What is known about a request without an answer.
    ///
    /// # Errors
    /// If the records of the store cannot be read.
    pub(super) fn standing(
        &self,
        store: &Store,
        url: &str,
        id: &str,
    ) -> Result<Option<RequestStatus>> {
        if let Some(Some(failed)) = locked(&self.fresh).get(id) {
            return Ok(Some(RequestStatus::FailedNow(failed.clone())));
        }
        Ok(self.known(store, url)?.standing(id))
    }

    /// Whether this run has collected the answer to a request.
    pub(super) fn is_fresh(&self, id: &str) -> bool {
        locked(&self.fresh).contains_key(id)
    }

    /// What earlier batches have shown about requests for a model.
    pub(super) fn learned(&self, store: &Store, url: &str, model: &str) -> Result<Vec<Rejection>> {
        Ok(self.known(store, url)?.learned(model))
    }

    fn known(&self, store: &Store, url: &str) -> Result<Arc<Known>> {
        let mut all = locked(&self.known);
        if let Some(known) = all.get(store.root()) {
            return Ok(known.clone());
        }
        let known = Arc::new(Known::of(store, url)?);
        all.insert(store.root().to_owned(), known.clone());
        Ok(known)
    }

    /// Counts a request, and holds it back if it is to be sent. A repeated request is counted once.
    ///
    /// # Errors
    /// If it cannot be written to disk.
    pub(super) fn enqueue(
        &self,
        store: Option<&Store>,
        endpoint: &Endpoint,
        request: Request<'_>,
        keep: Enqueue,
    ) -> Result<()> {
        let mut wanted = locked(&self.wanted);
        let wanted = &mut *wanted;
        let root = store.map_or_else(PathBuf::new, |store| store.root().to_owned());
        let names = wanted.names.entry(root.clone()).or_default();
        if !names.insert(request.id.clone()) {
            return Ok(());
        }
        let demand = &mut wanted.demand;
        demand.requests += 1;
        demand.input_tokens += request.input_tokens;
        demand.output_tokens += request.output_tokens;
        let (Some(store), Enqueue::Send) = (store, keep) else {
            return Ok(());
        };
        let place = (root, request.model.to_owned());
        let waiting = match wanted.held.entry(place) {
            std::collections::btree_map::Entry::Occupied(there) => there.into_mut(),
            std::collections::btree_map::Entry::Vacant(free) => free.insert(Waiting {
                spool: Spool::new(store)?,
                left_out: BTreeSet::new(),
            }),
        };
        waiting.left_out.extend(request.left_out.iter().cloned());
        let request_line = request_line(endpoint.provider, &request.id, &request.body);
        waiting
            .spool
            .add(request.id, request.earlier, &request_line)
    }

    /// What was requested and is not answered yet.
    pub(super) fn demand(&self) -> Demand {
        locked(&self.wanted).demand
    }

    /// Sends the requests that are held back.
    pub(super) fn submit(&self, server: &Calls<'_>) -> BatchReport {
        let wanted = std::mem::take(&mut *locked(&self.wanted));
        let mut batched = BatchReport::default();
        for ((root, model), waiting) in wanted.held {
            if let Err(error) = self.submit_to(server, &root, &model, waiting, &mut batched) {
                batched.faults.push(error);
            }
        }
        locked(&self.known).clear();
        batched
    }

    fn submit_to(
        &self,
        server: &Calls<'_>,
        root: &Path,
        model: &str,
        mut waiting: Waiting,
        batched: &mut BatchReport,
    ) -> Result<()> {
        let endpoint = server.client.endpoint();
        let addresses = Addresses::of(endpoint)?;
        let caller = server.caller(&addresses);
        let store = Store::new(root, Durability::Durable);
        // From here on, no other run sends for this store.
        let Some(_lock) = store.lock_jobs(server.stop)? else {
            return Err(Error::new(ErrorKind::Interrupted, "interrupted"));
        };
        let mut jobs = Job::all(&store, &endpoint.url)?;
        caller.settle_begun(&store, &mut jobs, batched)?;
        let open: BTreeSet<&String> = jobs.iter().flat_map(|(_, job)| &job.requests).collect();
        let mut held = std::mem::take(&mut waiting.spool.held);
        held.retain(|one| {
            // Another run may have sent or collected it in the meantime.
            let is_there = || {
                let answer = store.read_answer(&job::answer_of(&one.id));
                one.earlier == Earlier::None && answer.is_some()
            };
            !open.contains(&one.id) && !is_there()
        });
        let of_model = jobs.iter().filter(|(_, job)| job.model == model);
        let mut learned: Vec<Rejection> = Vec::new();
        for refused in of_model.flat_map(|(_, job)| &job.learned) {
            if !learned.contains(refused) {
                learned.push(refused.clone());
            }
        }
        for batch in divided(held, self.most) {
            let about = About {
                model,
                left_out: &waiting.left_out,
                learned: &learned,
            };
            let sent = caller.send(&store, &mut waiting.spool, &batch, &about, batched)?;
            for (name, job) in jobs.iter_mut().filter(|(_, job)| !job.is_open()) {
                let before = job.failed.len();
                job.failed.retain(|id, _| !sent.requests.contains(id));
                if job.failed.len() < before {
                    job.put_or_remove(&store, name)?;
                }
            }
        }
        Ok(())
    }

    /// Collects the finished batches of these stores.
    pub(super) fn fetch(&self, server: &Calls<'_>, stores: &[PathBuf]) -> BatchReport {
        let mut batched = BatchReport::default();
        for root in stores {
            if let Err(error) = self.fetch_from(server, root, &mut batched) {
                batched.faults.push(error);
            }
        }
        locked(&self.known).clear();
        batched
    }

    fn fetch_from(&self, server: &Calls<'_>, root: &Path, batched: &mut BatchReport) -> Result<()> {
        let store = Store::new(root, Durability::Durable);
        let endpoint = server.client.endpoint();
        if Job::all(&store, &endpoint.url)?.is_empty() {
            return Ok(());
        }
        let addresses = Addresses::of(endpoint)?;
        let caller = server.caller(&addresses);
        let Some(_lock) = store.lock_jobs(server.stop)? else {
            return Err(Error::new(ErrorKind::Interrupted, "interrupted"));
        };
        let mut jobs = Job::all(&store, &endpoint.url)?;
        caller.settle_begun(&store, &mut jobs, batched)?;
        for (name, job) in jobs.iter_mut().filter(|(_, job)| !job.is_open()) {
            // A request that has since been answered in some other way no longer counts as failed.
            let before = job.failed.len();
            let is_answered = |id: &str| store.read_answer(&job::answer_of(id)).is_some();
            job.failed.retain(|id, _| !is_answered(id));
            if job.failed.len() < before {
                job.put_or_remove(&store, name)?;
            }
        }
        for (name, job) in jobs.iter_mut().filter(|(_, job)| job.is_open()) {
            match caller.collect(&store, (name, job), batched) {
                Ok(Some(tally)) => self.note(tally),
                Ok(None) => {}
                Err(error) if error.kind == ErrorKind::Interrupted => return Err(error),
                Err(error) => batched.faults.push(error),
            }
        }
        Ok(())
    }

    /// Writes the requests that are held back, one per line; they are then held back no longer.
    pub(super) fn write(&self, endpoint: &Endpoint, out: &mut dyn Write) -> io::Result<u64> {
        let mut wanted = locked(&self.wanted);
        let lines = shape::UploadEnvelope {
            before: String::new(),
            between: "\n",
            after: "\n".to_owned(),
            ..around(endpoint.provider)
        };
        let mut written = 0;
        let mut names = BTreeSet::new();
        let are_several = wanted.held.len() > 1;
        for waiting in wanted.held.values_mut() {
            let mut held = std::mem::take(&mut waiting.spool.held);
            // Two stores may want the same answer; in one, a name is held once.
            if are_several {
                held.retain(|one| names.insert(one.id.clone()));
            }
            if !held.is_empty() {
                waiting.spool.write(&held, &lines, out)?;
            }
            written += held.len() as u64;
        }
        Ok(written)
    }

    /// Reads the answers to the requests of this run from a file.
    ///
    /// # Errors
    /// If an answer cannot be stored, or the file cannot be read.
    pub(super) fn read(
        &self,
        endpoint: &Endpoint,
        results: &mut dyn BufRead,
    ) -> Result<BatchReport> {
        let wanted = std::mem::take(&mut *locked(&self.wanted));
        let sought = Sought {
            endpoint,
            left_out: &BTreeSet::new(),
            learned: &[],
        };
        let mut tally = Tally::default();
        let read = tally.read(results, &sought, |id| {
            let names = wanted.names.iter();
            let stores =
                names.filter(|(root, ids)| !root.as_os_str().is_empty() && ids.contains(id));
            stores
                .map(|(root, _)| Store::new(root, Durability::Durable))
                .collect()
        })?;
        read.map_err(|e| Error::io("", "read the results", e))?;
        // No record is kept from which another run could learn a better form.
        for failed in tally.failed.values_mut() {
            if failed.kind == FailedKind::Form {
                failed.kind = FailedKind::Final;
            }
        }
        let said = vec![tally.sentence()];
        self.note(tally);
        Ok(BatchReport {
            said,
            ended: 1,
            ..BatchReport::default()
        })
    }

    /// Records what was collected.
    fn note(&self, tally: Tally) {
        let mut fresh = locked(&self.fresh);
        fresh.extend(tally.answered.into_iter().map(|id| (id, None)));
        fresh.extend(tally.failed.into_iter().map(|(id, why)| (id, Some(why))));
    }
}

/// Which server to call, and how often to try.
#[derive(Debug)]
pub(super) struct Calls<'c> {
    pub(super) client: &'c Client,
    pub(super) stop: &'c AtomicUsize,
    pub(super) tries: u32,
}

impl Calls<'_> {
    fn caller<'a>(&'a self, addresses: &'a Addresses) -> Caller<'a> {
        Caller {
            client: self.client,
            addresses,
            stop: self.stop,
            tries: self.tries,
        }
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
