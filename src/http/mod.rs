//! Summaries from a server.
//!
//! The only part of the program that uses the network, and only if the user names a provider. The calling thread waits for the
//! answer, or the request is held back and sent with others (`batch`). Answers are kept in the store, so that none is paid for
//! twice. A dry run sends nothing. What a server returns is data: it never becomes a path or a header, and is never printed
//! unescaped.

mod batch;
mod body;
mod cache;
mod clean;
mod client;
mod endpoint;
mod host;
mod in_flight;
mod key;
mod paid;
mod postponed;
mod provider;
mod queue;
mod refused;
mod response;
mod sending;
mod shorten;
mod too_long;
mod wait;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use crate::artifacts::{
    CUT_OFF, EMPTY, Ending, MORE, ModelError, ModelReply, ModelRequest, SummaryModel,
};
use crate::policy::{CutOff, TooLong};
use crate::semaphore::Semaphore;
use crate::store::Store;
use crate::summarizer::gate::floor;

use batch::{Batches, Earlier};
use body::{Delimiter, Parts, body};
use cache::{CachedAnswer, CachedRefusal, cached, keep, settle};
use client::Client;
use host::ServerHealth;
use in_flight::InFlight;
use paid::{Cost, Entry, Reported};
use queue::Queue;
use refused::{RequestVariant, VariantCache};
use response::{Answer, Failure};
use shorten::{text_of, without_oldest};

pub use endpoint::{Auth, Endpoint, PlainHttp};
pub use key::Key;
pub use provider::Provider;
pub use queue::Patience;

/// Limits on the requests of a run.
#[derive(Debug, Clone)]
pub struct Limits {
    /// The maximum number of concurrent requests.
    pub concurrent: usize,
    /// The maximum number of requests in total; `None` = no limit.
    pub requests: Option<u64>,
    /// The maximum number of tokens sent in total, estimated before sending; `None` = no limit.
    pub input_tokens: Option<u64>,
    /// How long one request may take.
    pub timeout: Duration,
    /// How long to wait for a server that is down; `None` = not at all: a request fails when the server does.
    pub patience: Option<Patience>,
    /// The maximum number of requests in a batch; `None` = as many as the provider accepts.
    pub batch: Option<usize>,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            concurrent: 4,
            requests: None,
            input_tokens: None,
            timeout: Duration::from_secs(300),
            patience: None,
            batch: None,
        }
    }
}

/// Whether requests are sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Network {
    /// Yes.
    Online,
    /// No: only answers in the store are used.
    Offline,
    /// Not individually: they are held back, to be sent together.
    Postponed,
    /// No: answers to requests that were sent together are used as they are.
    Collected,
}

/// A server that writes summaries.
#[derive(Debug)]
pub struct Server {
    client: Client,
    host: ServerHealth,
    /// The queue in which the run waits for its server; replaces `host` if present.
    queue: Option<Queue>,
    permits: Semaphore,
    /// The request forms that models accept.
    forms: VariantCache,
    in_flight: InFlight,
    /// Requests to be sent together.
    batches: Batches,
    limits: Limits,
    network: Network,
    stop: Arc<AtomicUsize>,
    /// Requests sent by all threads.
    sent: AtomicU64,
    /// Tokens sent.
    sent_tokens: AtomicU64,
    /// Whether the server has answered in this run.
    has_answered: AtomicBool,
    reported: Reported,
}

/// The progress of one [`ModelRequest`].
struct Job<'q> {
    request: &'q ModelRequest<'q>,
    store: Option<&'q Store>,
    cost: Cost,
    model: Option<String>,
    unread: u64,
    ending: Ending,
    left_out: BTreeSet<String>,
    /// The input tokens that the server counted for the last answer.
    counted: u64,
}

impl Server {
    /// The server at `endpoint`. After `breaker` consecutive failures no requests are sent for a while; 0 disables this. `stop`
    /// becomes nonzero when the run is interrupted.
    pub fn new(
        endpoint: Endpoint,
        breaker: u64,
        limits: Limits,
        network: Network,
        stop: Arc<AtomicUsize>,
    ) -> Self {
        // If the policy retries per conversation (`breaker` 0), there is no shared queue.
        let patience = limits.patience.filter(|_| breaker > 0);
        Server {
            batches: Batches::new(&endpoint, limits.batch),
            client: Client::new(endpoint, limits.timeout),
            host: ServerHealth::new(breaker),
            queue: patience.map(|patience| Queue::new(limits.concurrent, patience)),
            permits: Semaphore::new(limits.concurrent),
            forms: VariantCache::default(),
            in_flight: InFlight::default(),
            limits,
            network,
            stop,
            sent: AtomicU64::new(0),
            sent_tokens: AtomicU64::new(0),
            has_answered: AtomicBool::new(false),
            reported: Reported::default(),
        }
    }

    /// A summary of these rounds, or of the newest ones if all together are too long for the model.
    fn summary(&self, job: &mut Job<'_>, rounds: &[String]) -> Result<String, Failure> {
        let around = job.request.prompt.len() + job.request.policy.system.len();
        let (mut newest, mut shortened) = (rounds, 0);
        loop {
            let (why, excess) = match self.answer(job, &text_of(rounds, newest)) {
                Err(Failure::PromptTooLong { why, excess }) => (why, excess),
                result => return result,
            };
            if shortened >= job.request.policy.drop_rounds || newest.len() < 2 {
                return Err(Failure::PromptTooLong { why, excess });
            }
            shortened += 1;
            newest = without_oldest(newest, excess, around);
            job.unread = (rounds.len() - newest.len()) as u64;
        }
    }

    /// An answer that the policy accepts, however it ends.
    fn answer(&self, job: &mut Job<'_>, text: &str) -> Result<String, Failure> {
        let (most, cut_off) = (job.request.max_tokens, job.request.policy.cut_off);
        let mut answer = self.any_answer(job, text, most)?;
        if answer.ending == Ending::CutOff && cut_off == CutOff::Retry {
            // If the model reasons first, its reasoning counts as well.
            if answer.text.is_empty() {
                self.forms.reasons(job.request.model);
            }
            answer = self.any_answer(job, text, most.saturating_mul(MORE))?;
        }
        match (answer.ending, cut_off) {
            (Ending::Whole, _) => Ok(answer.text),
            (Ending::CutOff, CutOff::Accept) if answer.text.is_empty() => {
                Err(Failure::Rejected(format!("{EMPTY}: {CUT_OFF}")))
            }
            (Ending::CutOff, CutOff::Accept) => {
                job.ending = Ending::CutOff;
                Ok(answer.text)
            }
            (Ending::CutOff, CutOff::Retry | CutOff::Reject) => {
                Err(Failure::Rejected(CUT_OFF.to_owned()))
            }
        }
    }

    /// An answer of at most `max_tokens` tokens: from the store, or from the server after as many attempts as the policy allows.
    fn any_answer(
        &self,
        job: &mut Job<'_>,
        text: &str,
        max_tokens: u64,
    ) -> Result<CachedAnswer, Failure> {
        let request = job.request;
        // A dry run reports no costs, whoever paid them.
        let requester = match self.network {
            Network::Online | Network::Postponed | Network::Collected => request.requester,
            Network::Offline => None,
        };
        let store = job.store;
        let entry = |name| {
            let root = store?.root();
            Some(Entry { root, name })
        };
        let parts = Parts {
            system: &request.policy.system,
            prompt: request.prompt,
            prompt_role: request.policy.prompt_role,
            model: request.model,
            max_tokens,
            room: None,
            extra: &request.policy.extra,
            text,
        };
        let endpoint = self.client.endpoint();
        // The name does not depend on what the server rejects: the next run does not know about it.
        let named = body(
            endpoint,
            parts,
            &RequestVariant::default(),
            &Delimiter::constant(),
        );
        let name = crate::store::answer_name(&[endpoint.url.as_bytes(), &named]);
        // Two copies of a session make the same request; without a store, the answer could not be shared.
        let _claim = match job.store.map(|_| self.in_flight.claim(&name, &self.stop)) {
            Some(None) => return Err(Failure::Interrupted),
            claim => claim,
        };
        // An answer that was not good enough is requested again, to give a better one a chance. An answer that was cut off is known
        // to need more room, whatever it says.
        let is_first = max_tokens == request.max_tokens && request.policy.cut_off == CutOff::Retry;
        let is_kept = |cached: &CachedAnswer| {
            let is_judged = request.policy.max_invented >= 0;
            is_first && cached.ending == Ending::CutOff
                || !is_judged
                || floor(&cached.text, request.prompt, request.given).is_ok()
        };
        let is_taken = |cached: &CachedAnswer| {
            is_kept(cached)
                && (cached.ending == Ending::Whole || request.policy.cut_off != CutOff::Reject)
        };
        let is_taken =
            |cached: &CachedAnswer| self.accepts_any_cached_answer(&name) || is_taken(cached);
        let stored = || job.store.and_then(|store| cached(store, &name));
        let mut answer = stored();
        let asks = self.network == Network::Online && !answer.as_ref().is_some_and(is_taken);
        let is_over = || self.stop.load(Ordering::Relaxed) != 0;
        // Another run may be requesting it, and may have it in a moment.
        let _claim_of_run = match job.store.filter(|_| asks) {
            Some(store) => match store.claim_answer(&name, is_over) {
                Some(claim) => Some(claim),
                None => return Err(Failure::Interrupted),
            },
            None => None,
        };
        if asks {
            answer = stored();
        }
        let earlier = match answer {
            Some(_) => Earlier::NotGood,
            None => Earlier::None,
        };
        if let Some(cached) = answer.filter(is_taken) {
            match self
                .reported
                .owed(requester, entry(&name), cached.paid.as_ref())
            {
                Some(cost) => job.cost.add(cost),
                None => job.cost.spent.cached += 1,
            }
            job.model = cached.model.clone().or(job.model.take());
            job.left_out.extend(cached.left_out.iter().cloned());
            job.counted = cached.counted;
            return Ok(cached);
        }
        // With a different window, it may be a different model.
        let window = request.policy.window.to_le_bytes();
        let refusal = crate::store::answer_name(&[endpoint.url.as_bytes(), &named, &window]);
        let kept = job
            .store
            .filter(|_| request.policy.too_long == TooLong::Parts);
        if let Some(refused) = kept.and_then(|store| cached::<CachedRefusal>(store, &refusal)) {
            if let Some(cost) =
                self.reported
                    .owed(requester, entry(&refusal), refused.paid.as_ref())
            {
                job.cost.add(cost);
            }
            let (why, excess) = (refused.too_long, refused.excess);
            return Err(Failure::PromptTooLong { why, excess });
        }
        let before = job.cost;
        let result = match self.postpone(job, &name, earlier, parts) {
            Ok(()) => self.send_in_some_form(job, parts),
            Err(failure) => Err(failure),
        };
        if let (Some(store), Err(Failure::PromptTooLong { why, excess })) = (kept, &result) {
            let (too_long, excess) = (self.without_key(why), *excess);
            let cost = job.cost.since(before);
            let paid = self.reported.pay(requester, entry(&refusal), cost);
            keep(
                store,
                &refusal,
                &CachedRefusal {
                    too_long,
                    excess,
                    paid,
                },
            );
        }
        let (
            Answer {
                text,
                model,
                ending,
            },
            left_out,
        ) = result?;
        let answer = CachedAnswer {
            text,
            model,
            ending,
            left_out,
            counted: job.counted,
            paid: self
                .reported
                .pay(requester, entry(&name), job.cost.since(before)),
        };
        if let Some(store) = job.store.filter(|_| is_kept(&answer)) {
            keep(store, &name, &answer);
        }
        self.has_answered.store(true, Ordering::Relaxed);
        job.model = answer.model.clone().or(job.model.take());
        job.left_out.extend(answer.left_out.iter().cloned());
        Ok(answer)
    }

    /// What it means that no request is accepted: a server that has answered before may do so again.
    fn refused(&self, why: String) -> ModelError {
        match self.has_answered.load(Ordering::Relaxed) {
            true => ModelError::Failed(why),
            false => ModelError::Refused(why),
        }
    }

    /// What a server said, for people.
    fn without_key(&self, why: &str) -> String {
        match &self.client.endpoint().key {
            Some(key) => key.mask(why),
            None => why.to_owned(),
        }
    }
}

impl SummaryModel for Server {
    fn settle(&self, store: &Store) {
        for name in self.reported.take(store.root()) {
            settle(store, &name);
        }
    }

    fn summarize(&self, request: &ModelRequest<'_>, store: Option<&Store>) -> ModelReply {
        let mut job = Job {
            request,
            store,
            cost: Cost::default(),
            model: (!request.model.is_empty()).then(|| request.model.to_owned()),
            unread: 0,
            ending: Ending::Whole,
            left_out: BTreeSet::new(),
            counted: 0,
        };
        let result = if request.model.is_empty() {
            Err(Failure::RunLimit(
                "the transcript does not record its model; choose one with --model".to_owned(),
            ))
        } else {
            self.summary(&mut job, request.rounds)
        };
        let endpoint = self.client.endpoint();
        let text = result.map_err(|failure| {
            let said = |why: &str| format!("{}: {}", endpoint.host, self.without_key(why));
            match failure {
                Failure::Offline => ModelError::Pending,
                Failure::Waiting(what) => ModelError::Waiting(what),
                Failure::Interrupted => ModelError::Failed(said("the run was interrupted")),
                Failure::PromptTooLong { why, excess } => ModelError::TooLong {
                    why: said(&why),
                    excess,
                },
                Failure::Busy { why, .. }
                | Failure::Transient(why)
                | Failure::Rejected(why)
                | Failure::Refused { why, .. }
                | Failure::RunLimit(why) => ModelError::Failed(said(&why)),
                Failure::Fatal(why) => self.refused(said(&why)),
                // If each transcript names its own model, the next one may exist.
                Failure::NoModel(why) if request.policy.model.is_empty() => {
                    ModelError::Failed(said(&why))
                }
                Failure::NoModel(why) => self.refused(said(&why)),
            }
        });
        ModelReply {
            text,
            attempts: job.cost.attempts,
            model: job.model,
            spent: job.cost.spent,
            unread: job.unread,
            ending: job.ending,
            left_out: job.left_out,
            counted: job.counted,
        }
    }
}
