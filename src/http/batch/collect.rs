//! Collects the finished batches of a store: puts answers into its cache, and records in the batch's record why others are missing.
//!
//! The record of a batch is removed only once its answers are on disk. A batch whose results do not match its requests belongs to
//! someone else.

use std::io::BufReader;

use serde_json::Value;

use super::calls::Caller;
use super::job::{Failed, FailedKind, Job, State};
use super::results::{Sought, Tally};
use super::shape::{BatchStatus, seen};
use crate::artifacts::BatchReport;
use crate::error::{Error, ErrorKind, Result};
use crate::http::response::Failure;
use crate::store::Store;
use crate::store::folder::Durability;

impl Caller<'_> {
    /// Checks a batch that the server has; returns what its results said, if it has ended.
    ///
    /// # Errors
    /// If its state or its results cannot be fetched now, or answers cannot be stored.
    pub(super) fn collect(
        &self,
        store: &Store,
        (name, job): (&str, &mut Job),
        batched: &mut BatchReport,
    ) -> Result<Option<Tally>> {
        let Some(id) = job.id().map(str::to_owned) else {
            return Ok(None);
        };
        let (addresses, without) = match self.ask(&self.addresses.batch(&id)) {
            Ok((batch, _)) => match self.standing(&id, &batch)? {
                BatchStatus::Working => {
                    batched.open += 1;
                    return Ok(None);
                }
                BatchStatus::Ended(addresses, without) => (addresses, without),
                BatchStatus::Failed(why) => (Vec::new(), format!("the batch failed: {why}")),
            },
            // The batch is gone, or never existed.
            Err(Failure::Rejected(why) | Failure::NoModel(why)) => (
                Vec::new(),
                format!("the server does not have the batch: {why}"),
            ),
            Err(failure) => {
                batched.open += u64::from(failure.is_transient());
                return Err(self.error(&failure));
            }
        };
        let mut tally = Tally::default();
        let learned = job.learned.clone();
        let left_out = job.left_out.clone();
        let sought = Sought {
            endpoint: self.client.endpoint(),
            left_out: &left_out,
            learned: &learned,
        };
        for address in &addresses {
            let mut scratch = store.scratch()?;
            if let Err(failure) = self.download(address, || scratch.opened()) {
                batched.open += u64::from(failure.is_transient());
                return Err(self.error(&failure));
            }
            let unread = |e| Error::io(store.root(), "read the results of a batch", e);
            let file = scratch.opened().map_err(unread)?;
            let stores = |id: &str| match job.requests.contains(id) {
                true => vec![Store::new(store.root(), Durability::Durable)],
                false => Vec::new(),
            };
            tally
                .read(&mut BufReader::new(file), &sought, stores)?
                .map_err(unread)?;
        }
        let has_own = !tally.answered.is_empty() || !tally.failed.is_empty();
        if matches!(job.state, State::Adopted(_)) && tally.unknown > 0 && !has_own {
            batched
                .said
                .push(format!("batch {id} was not sent from this store"));
            job.others.insert(id);
            job.state = State::Begun;
            job.put(store, name)?;
            batched.open += 1;
            return Ok(None);
        }
        for request in std::mem::take(&mut job.requests) {
            if !tally.answered.contains(&request) && !tally.failed.contains_key(&request) {
                let why = crate::text::printable(&without).into_owned();
                let kind = FailedKind::Final;
                tally.failed.insert(request, Failed { why, kind });
            }
        }
        if !tally.answered.is_empty() {
            store.sync_answers()?;
        }
        job.state = State::Collected;
        job.failed.extend(tally.failed.clone());
        job.learned.extend(tally.refused.iter().cloned());
        job.put_or_remove(store, name)?;
        batched.ended += 1;
        batched
            .said
            .push(format!("batch {id}: {}", tally.sentence()));
        Ok(Some(tally))
    }

    fn standing(&self, id: &str, batch: &Value) -> Result<BatchStatus> {
        match seen(self.addresses, batch).filter(|seen| seen.id == id) {
            Some(seen) => Ok(seen.standing),
            None => {
                let host = &self.client.endpoint().host;
                let message =
                    format!("{host}: the server's answer about batch {id} cannot be parsed");
                Err(Error::new(ErrorKind::Summary, message))
            }
        }
    }
}
