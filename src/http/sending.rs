//! Sends a request: in a form that the server accepts, as often as the policy allows, within the limits of the run.
//!
//! Decides neither what to ask nor whether an answer is good.

use std::collections::BTreeSet;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use crate::artifacts::Excess;
use crate::semaphore::sleep_unless;
use crate::summarizer::retry::{Backoff, Failed, delay, retry};

use super::body::{Delimiter, Parts, body};
use super::host::Admission;
use super::queue::Queue;
use super::refused::{Learned, Rejection};
use super::response::{self, Answer, Failure, Usage};
use super::{Job, Server};

/// How often a request may fail while others succeed, if the run waits for its server. If three of ten fail by chance, one in 170
/// 000 is given up.
pub(super) const PATIENT_TRIES: u64 = 10;

impl Server {
    /// An answer, with the parameters that the server rejected, if any: tries each form of the request that the server's errors ask
    /// for.
    pub(super) fn send_in_some_form(
        &self,
        job: &mut Job<'_>,
        mut parts: Parts<'_>,
    ) -> Result<(Answer, BTreeSet<String>), Failure> {
        let endpoint = self.client.endpoint();
        let delimiter = Delimiter::new(random_bits());
        loop {
            let form = self.forms.of(parts.model);
            // Each attempt sends the same bytes, so that the server can recognise a retry.
            let body = body(endpoint, parts, &form, &delimiter);
            let result = match &self.queue {
                Some(queue) => self.send_patiently(queue, job, &body),
                None => self.send_impatiently(job, &body),
            };
            let (why, refused) = match result {
                Err(Failure::Refused { why, refused }) => (why, refused),
                result => return Ok((result?, form.left_out)),
            };
            if let Rejection::Room { prompt, most } = refused {
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
                .learn(parts.model, &form, &refused, endpoint, parts.extra);
            if learned == Learned::Nothing {
                return Err(Failure::Rejected(why));
            }
        }
    }

    /// Sends a request as often as the policy allows.
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

    /// Sends a request as often as necessary, for as long as the run waits for the server. Neither a wait that the server asks for
    /// nor a failure while it is down counts as a try.
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
                // Others may be served in the meantime, so the queue has no reason to give up.
                Err(Failure::Busy { .. }) if start.elapsed() < longest => {}
                Err(Failure::Transient(why)) => {
                    failures += u64::from(!was_holding);
                    if failures >= most {
                        return Err(Failure::Transient(why));
                    }
                    // If the queue holds requests back, it decides when the next one is sent.
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
        // Four bytes per token: good enough for a limit, and corrected by the server's count.
        let estimate = body.len() as u64 / 4;
        if let Err(failure) = self.count(estimate) {
            if let Some(queue) = &self.queue {
                queue.record(Instant::now(), &Err::<(), _>(failure.clone()));
            }
            return Err(failure);
        }
        job.cost.attempts += 1;
        job.cost.spent.requests += 1;
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
        job.cost.spent.input_tokens += usage.input;
        job.cost.spent.output_tokens += usage.output;
        let more = usage.input.saturating_sub(estimate);
        self.sent_tokens.fetch_add(more, Ordering::Relaxed);
        result
    }

    /// Counts a request against the limits of the run.
    pub(super) fn count(&self, tokens: u64) -> Result<(), Failure> {
        let exceeded = |limit: u64, what: &str| {
            let why = format!("the run may send at most {limit} {what}");
            Err(Failure::RunLimit(why))
        };
        let requests = self.sent.fetch_add(1, Ordering::Relaxed);
        if let Some(limit) = self.limits.requests.filter(|limit| requests >= *limit) {
            self.sent.fetch_sub(1, Ordering::Relaxed);
            return exceeded(limit, "requests");
        }
        let sent = self.sent_tokens.fetch_add(tokens, Ordering::Relaxed) + tokens;
        if let Some(limit) = self.limits.input_tokens.filter(|limit| sent > *limit) {
            self.sent.fetch_sub(1, Ordering::Relaxed);
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
        sleep_unless(&self.stop, time).ok_or(Failure::Interrupted)
    }
}

/// 128 unpredictable bits: the standard library seeds its hash keys from the system.
pub(super) fn random_bits() -> u128 {
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
