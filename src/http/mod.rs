//! Summaries from a server: every request has a reason to be sent, a limit, and a place among those that are under way.
//!
//! The only room that uses the network, and it does so for nobody who has not named a provider. Who asks waits here; the
//! answer of an earlier run is taken from the store, so that no request is paid twice. Nothing is sent in a dry run. What
//! a server says is data: it never becomes a path, a header or a word on a terminal as it stands.

mod answer;
mod body;
mod endpoint;
mod host;
mod once;
mod wire;

use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::artifacts::{Ask, Question, Refused, Reply};
use crate::outcome::Spent;
use crate::policy::Summary;
use crate::semaphore::{POLL, Semaphore};
use crate::store::Store;
use crate::summarizer::retry::pause;

use answer::{Answer, Failure, Gap};
use body::{Asked, Marks, body};
use host::{Admission, Host};
use once::Once;
use wire::Wire;

pub use endpoint::{Endpoint, Key, Plain, Provider};

/// What a run lets its requests do.
#[derive(Debug, Clone)]
pub struct Limits {
    /// Requests under way at the same time.
    pub at_once: usize,
    /// Requests in all; `None` = no limit.
    pub requests: Option<u64>,
    /// Tokens that are sent in all, as far as they can be estimated before; `None` = no limit.
    pub input_tokens: Option<u64>,
    /// How long one answer may take.
    pub patience: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            at_once: 4,
            requests: None,
            input_tokens: None,
            patience: Duration::from_secs(300),
        }
    }
}

/// Whether requests are sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Network {
    /// They are.
    Open,
    /// Only answers that the store has are given.
    Closed,
}

/// A server that writes summaries.
#[derive(Debug)]
pub struct Server {
    wire: Wire,
    host: Host,
    permits: Semaphore,
    once: Once,
    limits: Limits,
    network: Network,
    stop: Arc<AtomicUsize>,
    /// Requests that were sent, by all threads.
    sent: AtomicU64,
    /// Tokens that were sent.
    sent_tokens: AtomicU64,
}

/// An answer as the store keeps it.
#[derive(Debug, Serialize, Deserialize)]
struct Kept {
    text: String,
    model: Option<String>,
}

/// One question on its way.
struct Attempt<'q> {
    question: &'q Question<'q>,
    store: Option<&'q Store>,
    attempts: u64,
    spent: Spent,
    model: Option<String>,
    /// How often the prompt was made shorter.
    shortened: u64,
    unread: u64,
}

impl Server {
    /// The server at `endpoint`; `breaker` failures in a row are too many (0 = the policy does not say). `stop` is not 0
    /// once the run is to end.
    pub fn new(
        endpoint: Endpoint,
        breaker: u64,
        limits: Limits,
        network: Network,
        stop: Arc<AtomicUsize>,
    ) -> Self {
        Server {
            wire: Wire::new(endpoint, limits.patience),
            host: Host::new(breaker),
            permits: Semaphore::new(limits.at_once),
            once: Once::default(),
            limits,
            network,
            stop,
            sent: AtomicU64::new(0),
            sent_tokens: AtomicU64::new(0),
        }
    }

    /// A summary of these rounds; of fewer, or in two parts, where they are more than the model can read.
    fn summary(&self, attempt: &mut Attempt<'_>, rounds: &[String]) -> Result<String, Failure> {
        let failure = match self.answer(attempt, &rounds.concat()) {
            Ok(text) => return Ok(text),
            Err(failure) => failure,
        };
        let Failure::TooLong { why, gap } = failure else {
            return Err(failure);
        };
        let is_last = attempt.shortened >= attempt.question.policy.drop_rounds;
        if is_last || rounds.len() < 2 {
            return Err(Failure::Refused(why));
        }
        attempt.shortened += 1;
        match gap {
            Some(gap) => {
                let rest = within(rounds, gap, attempt.question.max_tokens);
                attempt.unread += (rounds.len() - rest.len()) as u64;
                self.summary(attempt, rest)
            }
            None => {
                let (older, newer) = halves(rounds);
                let older = self.summary(attempt, older)?;
                let newer = self.summary(attempt, newer)?;
                Ok(format!("{older}\n\n{newer}"))
            }
        }
    }

    /// One answer: from the store, or after as many tries as the policy has.
    fn answer(&self, attempt: &mut Attempt<'_>, text: &str) -> Result<String, Failure> {
        let question = attempt.question;
        let asked = Asked {
            system: &question.policy.system,
            prompt: question.prompt,
            model: question.model,
            max_tokens: question.max_tokens,
            text,
        };
        let endpoint = self.wire.endpoint();
        let request = body(endpoint, asked, &Marks::any());
        let key = crate::store::answer_name(&[endpoint.url.as_bytes(), &request]);
        // Two copies of a session are one question; without a store, its answer could not be handed on.
        let _asking = match attempt.store.map(|_| self.once.ask(&key, &self.stop)) {
            Some(None) => return Err(Failure::Stopped),
            asking => asking,
        };
        if let Some(kept) = attempt.store.and_then(|store| kept(store, &key)) {
            attempt.spent.cached += 1;
            attempt.model = kept.model.or(attempt.model.take());
            return Ok(kept.text);
        }
        if self.network == Network::Closed {
            return Err(Failure::Pending);
        }
        let tries = question.policy.tries;
        let mut number = 1;
        // The next try is the same request: a server may know it again.
        let request = body(endpoint, asked, &Marks::new(chance()));
        loop {
            let result = self.request(attempt, request.clone());
            match result {
                Ok(answer) => {
                    if let Some(store) = attempt.store {
                        keep(store, &key, &answer);
                    }
                    attempt.model = answer.model.or(attempt.model.take());
                    return Ok(answer.text);
                }
                Err(Failure::Passing(_) | Failure::Busy { .. })
                    if number < tries && self.host.may_try_again() =>
                {
                    self.wait(question.policy, number)?;
                    number += 1;
                }
                Err(failure) => {
                    if matches!(failure, Failure::Busy { .. }) {
                        self.host.given_up(Instant::now());
                    }
                    return Err(failure);
                }
            }
        }
    }

    /// One request, when it is its turn.
    fn request(&self, attempt: &mut Attempt<'_>, body: Vec<u8>) -> Result<Answer, Failure> {
        let Some(_permit) = self.permits.acquire_unless(&self.stop) else {
            return Err(Failure::Stopped);
        };
        loop {
            match self.host.admits(Instant::now()) {
                Admission::Now => break,
                Admission::In(time) => self.pass(time)?,
                Admission::No(why) => return Err(Failure::Limit(why)),
            }
        }
        // Four bytes a token: only to stop before a limit, not to say what was sent.
        let estimate = body.len() as u64 / 4;
        self.count(estimate)?;
        attempt.attempts += 1;
        attempt.spent.requests += 1;
        let arrived = self.wire.send(body, &self.stop);
        let result =
            arrived.and_then(|arrived| answer::read(self.wire.endpoint().provider, &arrived));
        self.host.note(Instant::now(), &result);
        if let Ok(answer) = &result {
            attempt.spent.input_tokens += answer.input_tokens;
            attempt.spent.output_tokens += answer.output_tokens;
            let more = answer.input_tokens.saturating_sub(estimate);
            self.sent_tokens.fetch_add(more, Ordering::Relaxed);
        }
        result
    }

    /// Counts a request against the limits of the run.
    fn count(&self, tokens: u64) -> Result<(), Failure> {
        let limit = |what: &str, most: u64| {
            Err(Failure::Limit(format!(
                "the run may send no more than {most} {what}"
            )))
        };
        if let Some(most) = self.limits.requests
            && self.sent.fetch_add(1, Ordering::Relaxed) >= most
        {
            return limit("requests", most);
        }
        if let Some(most) = self.limits.input_tokens
            && self.sent_tokens.fetch_add(tokens, Ordering::Relaxed) + tokens > most
        {
            self.sent_tokens.fetch_sub(tokens, Ordering::Relaxed);
            return limit("tokens", most);
        }
        Ok(())
    }

    /// Waits between one try and the next.
    fn wait(&self, policy: &Summary, number: u64) -> Result<(), Failure> {
        let share = (chance() >> 75) as f64 / (1u64 << 53) as f64;
        self.pass(pause(policy, number, share))
    }

    /// Lets time pass, unless the run is stopped.
    fn pass(&self, time: Duration) -> Result<(), Failure> {
        let end = Instant::now() + time;
        loop {
            if self.stop.load(Ordering::Relaxed) != 0 {
                return Err(Failure::Stopped);
            }
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(());
            }
            sleep(left.min(POLL));
        }
    }
}

impl Ask for Server {
    fn ask(&self, question: &Question<'_>, store: Option<&Store>) -> Reply {
        let mut attempt = Attempt {
            question,
            store,
            attempts: 0,
            spent: Spent::default(),
            model: (!question.model.is_empty()).then(|| question.model.to_owned()),
            shortened: 0,
            unread: 0,
        };
        let result = if question.model.is_empty() {
            Err(Failure::Limit(
                "the transcript names no model, and no other was named with --model".to_owned(),
            ))
        } else {
            self.summary(&mut attempt, question.rounds)
        };
        let text = result.map_err(|failure| {
            let why = match failure {
                Failure::Pending => return Refused::Pending,
                Failure::Stopped => "the run was stopped".to_owned(),
                Failure::Busy { why, .. }
                | Failure::Passing(why)
                | Failure::Refused(why)
                | Failure::Lost(why)
                | Failure::TooLong { why, .. }
                | Failure::Limit(why) => why,
            };
            let key = self.wire.endpoint().key.as_ref();
            let why = key.map_or(why.clone(), |key| key.cut_out(&why));
            Refused::Failed(format!("{}: {why}", self.wire.endpoint().host))
        });
        Reply {
            text,
            attempts: attempt.attempts,
            model: attempt.model,
            spent: attempt.spent,
            unread: attempt.unread,
        }
    }
}

/// The newest rounds that fit where so much did not; the answer needs room, too.
fn within(rounds: &[String], gap: Gap, answer: u64) -> &[String] {
    let most = if gap.most > answer * 2 {
        gap.most - answer
    } else {
        gap.most
    };
    let all: usize = rounds.iter().map(String::len).sum();
    // A tenth to spare: where the tokens are is not known.
    let room = all as f64 * most as f64 / gap.prompt as f64 * 0.9;
    let mut used = 0;
    let newest = rounds.iter().rev().take_while(|round| {
        used += round.len();
        used as f64 <= room
    });
    // At least one goes, and at least one stays.
    let count = newest.count().clamp(1, rounds.len() - 1);
    &rounds[rounds.len() - count..]
}

/// Two parts of about the same size.
fn halves(rounds: &[String]) -> (&[String], &[String]) {
    let all: usize = rounds.iter().map(String::len).sum();
    let mut used = 0;
    let older = rounds.iter().take_while(|round| {
        used += round.len();
        used <= all / 2
    });
    let count = older.count().clamp(1, rounds.len() - 1);
    rounds.split_at(count)
}

fn kept(store: &Store, name: &str) -> Option<Kept> {
    serde_json::from_slice(&store.read_answer(name)?).ok()
}

/// Keeps an answer for the next run. A store that cannot is no reason to lose it in this one.
fn keep(store: &Store, name: &str, answer: &Answer) {
    let kept = Kept {
        text: answer.text.clone(),
        model: answer.model.clone(),
    };
    if let Ok(bytes) = serde_json::to_vec(&kept) {
        let _ = store.put_answer(name, &bytes);
    }
}

/// 128 bits that nobody could have foreseen: the standard library's keys come from the system.
fn chance() -> u128 {
    let half = || u128::from(RandomState::new().build_hasher().finish());
    half() << 64 | half()
}

#[cfg(test)]
mod tests;
