//! Recovers batches that may have been sent: a run was killed, or the connection broke, before the server's id for a batch was
//! recorded.
//!
//! Asks the server for its batches, so that nothing is paid for twice. OpenAI's batches carry our tag. Anthropic's do not: a batch
//! created at that time with the same number of requests is assumed to be ours, until its results confirm or refute it. Sends no
//! requests for summaries.

use std::collections::BTreeSet;
use std::time::Duration;

use jiff::Timestamp;

use super::calls::Caller;
use super::job::{Job, State, tag};
use super::shape::{PAGE, Seen, is_id, seen};
use crate::artifacts::BatchReport;
use crate::error::{Error, Result};
use crate::http::provider::Provider;
use crate::http::response::Failure;
use crate::store::Store;

/// The maximum number of pages of a list to read.
const MOST_PAGES: usize = 200;
/// For how long after sending a batch may be missing from the list, in milliseconds.
const GRACE: i64 = 15_000;
/// The tolerance for a server's timestamps, in seconds.
const TOLERANCE: i64 = 60;
/// How long sending a batch to the server may take, in seconds.
const LONGEST_WAY: i64 = 7_200;

impl Caller<'_> {
    /// Finds out what became of the batches that may have been sent. The records of batches that the server does not have are
    /// removed.
    ///
    /// # Errors
    /// If the server does not list its batches, or the store cannot be written.
    pub(super) fn settle_begun(
        &self,
        store: &Store,
        jobs: &mut Vec<(String, Job)>,
        batched: &mut BatchReport,
    ) -> Result<()> {
        loop {
            let begun = |job: &Job| job.state == State::Begun;
            let times = jobs.iter().filter(|(_, job)| begun(job));
            let (Some(first), Some(last)) = (
                times.clone().map(|(_, job)| job.begun).min(),
                times.map(|(_, job)| job.begun).max(),
            ) else {
                return Ok(());
            };
            let (list, skew) = self.list(first / 1_000).map_err(|failure| {
                let message = "cannot tell whether a batch was sent";
                let error = self.error(&failure);
                Error {
                    message: format!("{message}: {}", error.message),
                    ..error
                }
            })?;
            let mut taken: BTreeSet<String> = jobs
                .iter()
                .filter_map(|(_, job)| job.id().map(str::to_owned))
                .collect();
            for (name, job) in jobs.iter_mut().filter(|(_, job)| begun(job)) {
                if let Some(state) = self.found(name, job, &list, skew, &taken) {
                    job.state = state;
                    job.put(store, name)?;
                    if let Some(id) = job.id() {
                        taken.insert(id.to_owned());
                        let said = format!(
                            "batch {id} was sent by a run that ended before it could record it"
                        );
                        batched.said.push(said);
                    }
                }
            }
            let age = Timestamp::now().as_millisecond().saturating_sub(last);
            if !jobs.iter().any(|(_, job)| begun(job)) {
                return Ok(());
            }
            if (0..GRACE).contains(&age) {
                let wait = u64::try_from(GRACE - age).unwrap_or_default();
                let slept = self.sleep(Duration::from_millis(wait));
                slept.map_err(|failure| self.error(&failure))?;
                continue;
            }
            for (name, _) in jobs.iter().filter(|(_, job)| begun(job)) {
                store.remove_job(name)?;
                let said = "a batch that may have been sent is not on the server: its requests will be sent again";
                batched.said.push(said.to_owned());
            }
            jobs.retain(|(_, job)| !begun(job));
            return Ok(());
        }
    }

    /// The state of a batch that may have been sent, if the server has it.
    fn found(
        &self,
        name: &str,
        job: &Job,
        list: &[Seen],
        skew: i64,
        taken: &BTreeSet<String>,
    ) -> Option<State> {
        let begun = job.begun / 1_000 + skew;
        let is_free = |seen: &&Seen| !taken.contains(&seen.id) && !job.others.contains(&seen.id);
        let mut free = list.iter().filter(is_free);
        match self.client.endpoint().provider {
            Provider::Openai => {
                let own = free.find(|seen| seen.tag.as_deref() == Some(tag(name)))?;
                Some(State::Sent(own.id.clone()))
            }
            Provider::Anthropic => {
                let after = |seen: &Seen| seen.created.map(|created| created - begun);
                let alike = free.filter(|seen| {
                    let is_then = after(seen)
                        .is_some_and(|after| (-TOLERANCE..=LONGEST_WAY).contains(&after));
                    is_then && seen.requests == Some(job.requests.len() as u64)
                });
                let own = alike.min_by_key(|seen| after(seen).map(i64::abs))?;
                Some(State::Adopted(own.id.clone()))
            }
        }
    }

    /// The server's batches created since `since`, and how many seconds its clock is ahead of ours.
    fn list(&self, since: i64) -> std::result::Result<(Vec<Seen>, i64), Failure> {
        let mut list: Vec<Seen> = Vec::new();
        let mut after = None;
        let mut skew = 0;
        for _ in 0..MOST_PAGES {
            let (page, time) = self.ask(&self.addresses.page(after.as_deref()))?;
            skew = time - Timestamp::now().as_second();
            let Some(batches) = page["data"].as_array() else {
                let why = "the server's list of batches cannot be parsed".to_owned();
                return Err(Failure::Rejected(why));
            };
            let found = batches.iter().take(PAGE as usize);
            list.extend(found.filter_map(|batch| seen(self.addresses, batch)));
            let oldest = list.iter().filter_map(|seen| seen.created).min();
            let is_enough = oldest.is_some_and(|oldest| oldest < since + skew - TOLERANCE);
            let last = batches.last().and_then(|batch| batch["id"].as_str());
            match last.filter(|last| is_id(last)) {
                Some(last) if page["has_more"] == true && !is_enough => {
                    after = Some(last.to_owned());
                }
                Some(_) | None => break,
            }
        }
        Ok((list, skew))
    }
}
