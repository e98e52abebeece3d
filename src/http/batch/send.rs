//! Sends a batch: first writes its record, then sends its requests, then adds the server's id to the record.
//!
//! Whatever ends the run in between, the record says that the batch may exist. It is removed only if the server said that it
//! accepted nothing.

use std::collections::BTreeSet;

use jiff::Timestamp;
use serde_json::Value;

use super::calls::{Caller, NotMade};
use super::job::{Job, State};
use super::shape::{around, creation, is_id};
use super::spool::{Held, Spool};
use crate::artifacts::BatchReport;
use crate::error::{Error, Result};
use crate::http::client::Content;
use crate::http::provider::Provider;
use crate::http::refused::Rejection;
use crate::http::response::Failure;
use crate::store::Store;
use crate::text::count;

/// What to record about a batch besides its requests.
#[derive(Debug)]
pub(super) struct About<'a> {
    pub(super) model: &'a str,
    pub(super) left_out: &'a BTreeSet<String>,
    pub(super) learned: &'a [Rejection],
}

impl Caller<'_> {
    /// Sends a batch of these requests.
    ///
    /// # Errors
    /// If the server did not accept it, or did not say whether it did.
    pub(super) fn send(
        &self,
        store: &Store,
        spool: &mut Spool,
        held: &[Held],
        about: &About<'_>,
        batched: &mut BatchReport,
    ) -> Result<Job> {
        let endpoint = self.client.endpoint();
        let requests: BTreeSet<String> = held.iter().map(|one| one.id.clone()).collect();
        let begun = Timestamp::now().as_millisecond();
        let (name, mut job) = Job::begin(&endpoint.url, about.model, begun, requests);
        job.left_out = about.left_out.clone();
        job.learned = about.learned.to_vec();
        let around = around(endpoint.provider);
        let mut upload = store.scratch()?;
        let written = spool.write(held, &around, &mut upload);
        written.map_err(|e| Error::io(store.root(), "write the requests of a batch", e))?;
        job.put(store, &name)?;
        let file = || {
            let file = upload.opened()?;
            let kind = around.kind.clone();
            Ok(Content::File { kind, file })
        };
        let made = match endpoint.provider {
            Provider::Anthropic => self.make(&self.addresses.batches(), file),
            Provider::Openai => self.of_file(&name, file),
        };
        let id = made.and_then(|made| match made["id"].as_str().filter(|id| is_id(id)) {
            Some(id) => Ok(id.to_owned()),
            None => {
                let why = "the server's answer names no batch".to_owned();
                Err(NotMade::Unknown(Failure::Rejected(why)))
            }
        });
        match id {
            Ok(id) => {
                let number = count(held.len() as u64, "request");
                batched.said.push(format!("batch {id}: {number} sent"));
                batched.sent.push(id.clone());
                job.state = State::Sent(id);
                job.put(store, &name)?;
                Ok(job)
            }
            Err(NotMade::Refused(failure)) => {
                store.remove_job(&name)?;
                Err(self.error(&failure))
            }
            Err(NotMade::Unknown(failure)) => {
                let error = self.error(&failure);
                let message = format!(
                    "{}; it is unknown whether the server accepted the batch",
                    error.message
                );
                Err(Error { message, ..error }
                    .hint("run the same command again: it looks for the batch first"))
            }
        }
    }

    /// Uploads a file and creates a batch from it. The file alone costs nothing.
    fn of_file(
        &self,
        name: &str,
        file: impl FnMut() -> std::io::Result<Content>,
    ) -> std::result::Result<Value, NotMade> {
        let uploaded = self.make(&self.addresses.files(), file);
        let uploaded = uploaded.map_err(|not_made| match not_made {
            NotMade::Refused(failure) | NotMade::Unknown(failure) => NotMade::Refused(failure),
        })?;
        let Some(id) = uploaded["id"].as_str().filter(|id| is_id(id)) else {
            let why = "the server's answer names no file".to_owned();
            return Err(NotMade::Refused(Failure::Rejected(why)));
        };
        let body = creation(id, super::job::tag(name));
        self.make(&self.addresses.batches(), || {
            Ok(Content::Json(body.clone()))
        })
    }
}
