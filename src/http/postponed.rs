//! A server whose requests are held back and sent together: what happens to a request in the meantime, and what the whole run can
//! do.
//!
//! Sends nothing for a single summary.

use std::io::{BufRead, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use super::batch::{
    Calls, Earlier, Enqueue, FailedKind, Request, RequestStatus, TO_BE_SENT, id_of,
};
use super::body::{Delimiter, Parts, body};
use super::refused::RequestVariant;
use super::response::Failure;
use super::sending::random_bits;
use super::{Job, Network, Server};
use crate::artifacts::{BatchClient, BatchReport, Demand, ModelReply, ModelRequest, SummaryModel};
use crate::error::{Error, ErrorKind, Result};
use crate::policy::Tokens;
use crate::store::Store;
use crate::summarizer::retry::Backoff;
use crate::tokens::Estimator;

/// How often to try a call that is free to repeat.
const TRIES: u32 = 4;
/// The approximate tokens of a request besides its texts.
const AROUND: u64 = 100;

impl Server {
    /// Whether any answer in the store is accepted, whatever its quality: no better one is requested now.
    pub(super) fn accepts_any_cached_answer(&self, name: &str) -> bool {
        match self.network {
            Network::Collected => true,
            Network::Postponed => self.batches.is_fresh(&id_of(name)),
            Network::Online | Network::Offline => false,
        }
    }

    /// Handles a request that the store has no answer to, unless it is to be sent immediately on its own.
    pub(super) fn postpone(
        &self,
        job: &Job<'_>,
        name: &str,
        earlier: Earlier,
        parts: Parts<'_>,
    ) -> std::result::Result<(), Failure> {
        let endpoint = self.client.endpoint();
        let unread = |error: Error| Failure::RunLimit(error.to_string());
        let id = id_of(name);
        let Some(store) = job.store else {
            return match self.network {
                Network::Online => Ok(()),
                Network::Offline => self.count_only(job, parts, &RequestVariant::default(), id),
                Network::Postponed | Network::Collected => Err(Failure::RunLimit(
                    "a batch needs a store for its answers: name one with --store".to_owned(),
                )),
            };
        };
        let standing = self.batches.standing(store, &endpoint.url, &id);
        let (failed, is_now) = match standing.map_err(unread)? {
            Some(RequestStatus::Waits(_)) if self.network == Network::Offline => {
                return Err(Failure::Offline);
            }
            Some(RequestStatus::Waits(what)) => return Err(Failure::Waiting(what)),
            Some(RequestStatus::FailedNow(failed)) => (Some(failed), true),
            Some(RequestStatus::Failed(failed)) => {
                (Some(failed), self.network == Network::Collected)
            }
            None => (None, false),
        };
        match failed.map(|failed| (failed.kind, failed.why)) {
            Some((FailedKind::TooLong(excess), why)) => {
                return Err(Failure::PromptTooLong { why, excess });
            }
            Some((FailedKind::Final, why)) if is_now => return Err(Failure::Rejected(why)),
            Some((FailedKind::Final | FailedKind::Form, _)) | None => {}
        }
        let learned = self.batches.learned(store, &endpoint.url, parts.model);
        self.forms.teach(
            parts.model,
            &learned.map_err(unread)?,
            endpoint,
            parts.extra,
        );
        let form = self.forms.of(parts.model);
        match self.network {
            Network::Online => Ok(()),
            Network::Offline => self.count_only(job, parts, &form, id),
            Network::Collected => {
                let _ = self.count_only(job, parts, &form, id);
                let what =
                    "the request has not been sent yet: run the same command with --batch submit";
                Err(Failure::Waiting(what.to_owned()))
            }
            Network::Postponed => {
                let body = body(endpoint, parts, &form, &Delimiter::new(random_bits()));
                self.count(body.len() as u64 / 4)?;
                let request = request(id, parts, &form, earlier, body);
                let held = self
                    .batches
                    .enqueue(Some(store), endpoint, request, Enqueue::Send);
                held.map_err(unread)?;
                Err(Failure::Waiting(TO_BE_SENT.to_owned()))
            }
        }
    }

    fn count_only(
        &self,
        job: &Job<'_>,
        parts: Parts<'_>,
        form: &RequestVariant,
        id: String,
    ) -> std::result::Result<(), Failure> {
        let request = request(id, parts, form, Earlier::None, Vec::new());
        let endpoint = self.client.endpoint();
        // Counting writes nothing.
        let _ = self
            .batches
            .enqueue(job.store, endpoint, request, Enqueue::Count);
        Err(Failure::Offline)
    }

    fn calls(&self) -> Calls<'_> {
        Calls {
            client: &self.client,
            stop: &self.stop,
            tries: match self.limits.patience {
                Some(_) => TRIES,
                None => 1,
            },
        }
    }
}

fn request<'q>(
    id: String,
    parts: Parts<'q>,
    form: &'q RequestVariant,
    earlier: Earlier,
    body: Vec<u8>,
) -> Request<'q> {
    let estimator = Estimator::new(&Tokens::default());
    let texts = [parts.system, parts.prompt, parts.text];
    let tokens = estimator.map_or(0, |estimator| {
        let tokens = texts.map(|text| estimator.tokens(estimator.text(text)));
        tokens.iter().sum()
    });
    Request {
        id,
        model: parts.model,
        earlier,
        body,
        left_out: &form.left_out,
        input_tokens: tokens + AROUND,
        output_tokens: parts.limit(form),
    }
}

impl BatchClient for Server {
    fn demand(&self) -> Demand {
        self.batches.demand()
    }

    fn fetch(&self, stores: &[PathBuf]) -> BatchReport {
        self.batches.fetch(&self.calls(), stores)
    }

    fn submit(&self) -> BatchReport {
        self.batches.submit(&self.calls())
    }

    fn write(&self, out: &mut dyn Write) -> Result<u64> {
        let written = self.batches.write(self.client.endpoint(), out);
        written.map_err(|e| Error::io("", "write the requests", e))
    }

    fn read(&self, results: &mut dyn BufRead) -> Result<BatchReport> {
        self.batches.read(self.client.endpoint(), results)
    }

    fn rest(&self, time: Duration) -> Result<()> {
        let rested = self.wait(time);
        rested.map_err(|_| Error::new(ErrorKind::Interrupted, "interrupted"))
    }
}

impl SummaryModel for Arc<Server> {
    fn summarize(&self, request: &ModelRequest<'_>, store: Option<&Store>) -> ModelReply {
        self.as_ref().summarize(request, store)
    }

    fn settle(&self, store: &Store) {
        self.as_ref().settle(store);
    }
}
