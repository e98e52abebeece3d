//! Summaries from a server.
//!
//! The only part of the program that uses the network, and only if the user names a provider. The calling thread waits for
//! the answer, or the request is held back and sent with others (`batch`). Answers are kept in the store, so that none is paid for twice; a dry run sends nothing. What a server
//! returns is data: it never becomes a path or a header, and is never printed unescaped.

mod batch;
mod body;
mod cache;
mod clean;
mod client;
mod endpoint;
mod host;
mod in_flight;
mod key;
mod postponed;
mod provider;
mod queue;
mod refused;
mod response;
mod shorten;
mod too_long;
mod wait;

use std::collections::BTreeSet;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::artifacts::{
    CUT_OFF, EMPTY, Ending, Excess, MORE, ModelError, ModelReply, ModelRequest, SummaryModel,
};
use crate::outcome::Spent;
use crate::policy::{CutOff, TooLong};
use crate::semaphore::{POLL, Semaphore};
use crate::store::Store;
use crate::summarizer::gate::floor;
use crate::summarizer::retry::{Backoff, Failed, delay, retry};

use batch::{Batches, Earlier};
use body::{Delimiter, Parts, body};
use cache::{CachedAnswer, CachedRefusal, cached, keep};
use client::Client;
use host::{Admission, Host};
use in_flight::InFlight;
use queue::Queue;
use refused::{Form, Forms, Learned, Refused};
use response::{Answer, Failure, Usage};
use shorten::{text_of, without_oldest};

pub use endpoint::{Auth, Endpoint, PlainHttp};
pub use key::Key;
pub use provider::Provider;
pub use queue::Patience;

/// How often a request may fail while others succeed, where the run waits for its server. With three of ten failing by chance,
/// one in 170 000 is given up.
const PATIENT_TRIES: u64 = 10;

/// Limits on the requests of a run.
#[derive(Debug, Clone)]
pub struct Limits {
    /// Requests at the same time.
    pub concurrent: usize,
    /// Requests in total; `None` = no limit.
    pub requests: Option<u64>,
    /// Tokens sent in total, estimated before sending; `None` = no limit.
    pub input_tokens: Option<u64>,
    /// How long one request may take.
    pub timeout: Duration,
    /// How long to wait for a server that does not work; `None` = not at all: a request fails when the server does.
    pub patience: Option<Patience>,
    /// Requests in one batch; `None` = as many as the provider takes.
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
    /// Not one by one: they are held back, to be sent together.
    Postponed,
    /// No: answers to those that were sent together are used as they are.
    Collected,
}

/// A server that writes summaries.
#[derive(Debug)]
pub struct Server {
    client: Client,
    host: Host,
    /// Where the run waits for its server, in place of `host`.
    queue: Option<Queue>,
    permits: Semaphore,
    /// The forms of requests that models take.
    forms: Forms,
    in_flight: InFlight,
    /// Requests that are sent together.
    batches: Batches,
    limits: Limits,
    network: Network,
    stop: Arc<AtomicUsize>,
    /// Requests sent, by all threads.
    sent: AtomicU64,
    /// Tokens sent.
    sent_tokens: AtomicU64,
    /// Whether the server has answered in this run.
    has_answered: AtomicBool,
}

/// The progress of one [`ModelRequest`].
struct Job<'q> {
    request: &'q ModelRequest<'q>,
    store: Option<&'q Store>,
    attempts: u64,
    spent: Spent,
    model: Option<String>,
    unread: u64,
    ending: Ending,
    left_out: BTreeSet<String>,
    /// The tokens that the server has read for the last answer.
    counted: u64,
}

impl Server {
    /// The server at `endpoint`. After `breaker` failures in a row it is sent no requests for a while; 0 = no number is too many.
    /// `stop` becomes nonzero when the run is to end.
    pub fn new(
        endpoint: Endpoint,
        breaker: u64,
        limits: Limits,
        network: Network,
        stop: Arc<AtomicUsize>,
    ) -> Self {
        // Where a policy has its own tries for each conversation, none waits for another.
        let patience = limits.patience.filter(|_| breaker > 0);
        Server {
            batches: Batches::new(&endpoint, limits.batch),
            client: Client::new(endpoint, limits.timeout),
            host: Host::new(breaker),
            queue: patience.map(|patience| Queue::new(limits.concurrent, patience)),
            permits: Semaphore::new(limits.concurrent),
            forms: Forms::default(),
            in_flight: InFlight::default(),
            limits,
            network,
            stop,
            sent: AtomicU64::new(0),
            sent_tokens: AtomicU64::new(0),
            has_answered: AtomicBool::new(false),
        }
    }

    /// A summary of these rounds; of the newest ones if all of them are too long for the model.
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

    /// One answer that the policy takes, however it ends.
    fn answer(&self, job: &mut Job<'_>, text: &str) -> Result<String, Failure> {
        let (most, cut_off) = (job.request.max_tokens, job.request.policy.cut_off);
        let mut answer = self.any_answer(job, text, most)?;
        if answer.ending == Ending::CutOff && cut_off == CutOff::Retry {
            // Where a model reasons first, that counts as well.
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

    /// One answer of at most so many tokens: from the store, or from the server after as many attempts as the policy allows.
    fn any_answer(
        &self,
        job: &mut Job<'_>,
        text: &str,
        max_tokens: u64,
    ) -> Result<CachedAnswer, Failure> {
        let request = job.request;
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
        // What a server refuses changes no name: the next run knows nothing of it.
        let named = body(endpoint, parts, &Form::default(), &Delimiter::constant());
        let name = crate::store::answer_name(&[endpoint.url.as_bytes(), &named]);
        // Two copies of a session make the same request; without a store, the answer could not be shared.
        let _claim = match job.store.map(|_| self.in_flight.claim(&name, &self.stop)) {
            Some(None) => return Err(Failure::Interrupted),
            claim => claim,
        };
        // An answer that was not good enough is asked for anew, so that a better one has a chance. One that was cut off is known to
        // need more room, whatever it says.
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
        let answer = job.store.and_then(|store| cached(store, &name));
        let earlier = match answer {
            Some(_) => Earlier::NotGood,
            None => Earlier::None,
        };
        let is_taken = |cached: &CachedAnswer| self.takes_as_it_is(&name) || is_taken(cached);
        if let Some(cached) = answer.filter(is_taken) {
            job.spent.cached += 1;
            job.model = cached.model.clone().or(job.model.take());
            job.left_out.extend(cached.left_out.iter().cloned());
            job.counted = cached.counted;
            return Ok(cached);
        }
        // With another window, the model may be another one.
        let window = request.policy.window.to_le_bytes();
        let refusal = crate::store::answer_name(&[endpoint.url.as_bytes(), &named, &window]);
        let kept = job
            .store
            .filter(|_| request.policy.too_long == TooLong::Parts);
        if let Some(refused) = kept.and_then(|store| cached::<CachedRefusal>(store, &refusal)) {
            let (why, excess) = (refused.too_long, refused.excess);
            return Err(Failure::PromptTooLong { why, excess });
        }
        let result = match self.postpone(job, &name, earlier, parts) {
            Ok(()) => self.send_in_some_form(job, parts),
            Err(failure) => Err(failure),
        };
        if let (Some(store), Err(Failure::PromptTooLong { why, excess })) = (kept, &result) {
            let (too_long, excess) = (self.without_key(why), *excess);
            keep(store, &refusal, &CachedRefusal { too_long, excess });
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
        };
        if let Some(store) = job.store.filter(|_| is_kept(&answer)) {
            keep(store, &name, &answer);
        }
        self.has_answered.store(true, Ordering::Relaxed);
        job.model = answer.model.clone().or(job.model.take());
        job.left_out.extend(answer.left_out.iter().cloned());
        Ok(answer)
    }

    /// One answer, with the parameters that the server refused, if any: each form of the request is tried that the server's errors
    /// ask for.
    fn send_in_some_form(
        &self,
        job: &mut Job<'_>,
        mut parts: Parts<'_>,
    ) -> Result<(Answer, BTreeSet<String>), Failure> {
        let endpoint = self.client.endpoint();
        let delimiter = Delimiter::new(random_bits());
        loop {
            let form = self.forms.of(parts.model);
            // Each attempt sends the same bytes, so that the server can recognise a repetition.
            let body = body(endpoint, parts, &form, &delimiter);
            let result = match &self.queue {
                Some(queue) => self.send_patiently(queue, job, &body),
                None => self.send_impatiently(job, &body),
            };
            let (why, refused) = match result {
                Err(Failure::Refused { why, refused }) => (why, refused),
                result => return Ok((result?, form.left_out)),
            };
            if let Refused::Room { prompt, most } = refused {
                let (left, asked) = (most.saturating_sub(prompt), parts.limit(&form));
                // Half of the answer is better than less of the conversation.
                if left >= asked || left < parts.max_tokens / 2 {
                    let prompt = prompt.saturating_add(asked);
                    let excess = Some(Excess {
                        prompt,
                        limit: most,
                    });
                    return Err(Failure::PromptTooLong { why, excess });
                }
                parts.room = Some(left);
                continue;
            }
            let learned = self
                .forms
                .learn(parts.model, &form, &refused, (endpoint, parts.extra));
            if learned == Learned::Nothing {
                return Err(Failure::Rejected(why));
            }
        }
    }

    /// As many attempts as the policy allows.
    fn send_impatiently(&self, job: &mut Job<'_>, body: &[u8]) -> Result<Answer, Failure> {
        let policy = job.request.policy;
        let result = retry(policy, self, || {
            self.send(job, body.to_vec())
                .map_err(|failure| match failure {
                    failure if failure.is_transient() => Failed::Transient(failure),
                    failure => Failed::Permanent(failure),
                })
        });
        if let Err(Failure::Busy { .. }) = result {
            self.host.record_always_busy(Instant::now());
        }
        result
    }

    /// As many attempts as it takes, for as long as the run waits for the server. What the server asks to wait costs no try, nor
    /// does a failure while it does not work at all.
    fn send_patiently(
        &self,
        queue: &Queue,
        job: &mut Job<'_>,
        body: &[u8],
    ) -> Result<Answer, Failure> {
        let policy = job.request.policy;
        let most = policy.tries.max(PATIENT_TRIES);
        let longest = self.limits.patience.unwrap_or_default().answered;
        let (start, mut failures) = (Instant::now(), 0);
        loop {
            let was_holding = queue.is_holding();
            match self.send(job, body.to_vec()) {
                // Others may be served meanwhile, so that the queue has no reason to give up.
                Err(Failure::Busy { .. }) if start.elapsed() < longest => {}
                Err(Failure::Transient(why)) => {
                    failures += u64::from(!was_holding);
                    if failures >= most {
                        return Err(Failure::Transient(why));
                    }
                    // Where the queue holds requests back, it says when the next one is sent.
                    if !queue.is_holding() {
                        self.wait(delay(policy, failures.max(1), self.random()))?;
                    }
                }
                result => return result,
            }
        }
    }

    /// Sends one request, as soon as the limits and the server allow it.
    fn send(&self, job: &mut Job<'_>, body: Vec<u8>) -> Result<Answer, Failure> {
        let Some(_permit) = self.permits.acquire_unless(&self.stop) else {
            return Err(Failure::Interrupted);
        };
        loop {
            let now = Instant::now();
            let admission = match &self.queue {
                Some(queue) => queue.admits(now),
                None => self.host.admits(now),
            };
            match admission {
                Admission::Now => break,
                Admission::After(time) => self.wait(time)?,
                Admission::Denied(why) => return Err(Failure::RunLimit(why)),
            }
        }
        // Four bytes a token: good enough for a limit, and corrected by what the server counts.
        let estimate = body.len() as u64 / 4;
        if let Err(failure) = self.count(estimate) {
            if let Some(queue) = &self.queue {
                queue.record(Instant::now(), &Err::<(), _>(failure.clone()));
            }
            return Err(failure);
        }
        job.attempts += 1;
        job.spent.requests += 1;
        let response = self.client.send(body, &self.stop);
        let endpoint = self.client.endpoint();
        let provider = endpoint.provider;
        let (result, usage) = match response {
            Ok(response) => response::read(provider, &response, endpoint.key.as_ref()),
            Err(failure) => (Err(failure), Usage::default()),
        };
        match &self.queue {
            Some(queue) => queue.record(Instant::now(), &result),
            None => self.host.record(Instant::now(), &result),
        }
        job.counted = usage.input;
        job.spent.input_tokens += usage.input;
        job.spent.output_tokens += usage.output;
        let more = usage.input.saturating_sub(estimate);
        self.sent_tokens.fetch_add(more, Ordering::Relaxed);
        result
    }

    /// What it means that no request is accepted: one that has answered before may do so again.
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

    /// Counts a request against the limits of the run.
    fn count(&self, tokens: u64) -> Result<(), Failure> {
        let exceeded = |limit: u64, what: &str| {
            let why = format!("the run may send at most {limit} {what}");
            Err(Failure::RunLimit(why))
        };
        if let Some(limit) = self.limits.requests
            && self.sent.fetch_add(1, Ordering::Relaxed) >= limit
        {
            return exceeded(limit, "requests");
        }
        if let Some(limit) = self.limits.input_tokens
            && self.sent_tokens.fetch_add(tokens, Ordering::Relaxed) + tokens > limit
        {
            self.sent_tokens.fetch_sub(tokens, Ordering::Relaxed);
            return exceeded(limit, "tokens");
        }
        Ok(())
    }
}

impl Backoff<Failure> for Server {
    fn may_retry(&self) -> bool {
        self.host.take_retry()
    }

    fn random(&self) -> f64 {
        (random_bits() >> 75) as f64 / (1u64 << 53) as f64
    }

    fn wait(&self, time: Duration) -> Result<(), Failure> {
        let end = Instant::now() + time;
        loop {
            if self.stop.load(Ordering::Relaxed) != 0 {
                return Err(Failure::Interrupted);
            }
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(());
            }
            sleep(left.min(POLL));
        }
    }
}

impl SummaryModel for Server {
    fn summarize(&self, request: &ModelRequest<'_>, store: Option<&Store>) -> ModelReply {
        let mut job = Job {
            request,
            store,
            attempts: 0,
            spent: Spent::default(),
            model: (!request.model.is_empty()).then(|| request.model.to_owned()),
            unread: 0,
            ending: Ending::Whole,
            left_out: BTreeSet::new(),
            counted: 0,
        };
        let result = if request.model.is_empty() {
            Err(Failure::RunLimit(
                "the transcript names no model; name one with --model".to_owned(),
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
                // Where each transcript names its own, the next one may be there.
                Failure::NoModel(why) if request.policy.model.is_empty() => {
                    ModelError::Failed(said(&why))
                }
                Failure::NoModel(why) => self.refused(said(&why)),
            }
        });
        ModelReply {
            text,
            attempts: job.attempts,
            model: job.model,
            spent: job.spent,
            unread: job.unread,
            ending: job.ending,
            left_out: job.left_out,
            counted: job.counted,
        }
    }
}

/// 128 unpredictable bits: the standard library seeds its hash keys from the system.
fn random_bits() -> u128 {
    let half = || u128::from(RandomState::new().build_hasher().finish());
    half() << 64 | half()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn random_bits_do_not_repeat() {
        let drawn: std::collections::BTreeSet<u128> = (0..1_000).map(|_| random_bits()).collect();
        assert_eq!(drawn.len(), 1_000);
    }
}
