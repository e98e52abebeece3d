//! What all threads know about a server: whether and when to send it requests, and how many retries are left.
//!
//! Reads no clock: the time is passed in.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::response::Failure;
use crate::summarizer::retry::Breaker;

/// How long the circuit breaker stays open; then one request may probe whether the server is back.
const COOL_DOWN: Duration = Duration::from_secs(30);
/// The retry budget of a run, shared by all requests; each success adds one, up to this number.
const RETRY_BUDGET: u64 = 20;
/// The longest wait that a server may ask for; beyond it, requests fail.
const LONGEST_WAIT: Duration = Duration::from_secs(120);

/// The state of one server, shared by all threads.
#[derive(Debug)]
pub(super) struct ServerHealth(Mutex<State>);

#[derive(Debug)]
struct State {
    breaker: Breaker,
    /// When the open breaker lets the next request through.
    next_probe: Option<Instant>,
    /// No request may be sent before this.
    not_before: Option<Instant>,
    /// Retries left; `None` if only each conversation's own limit applies.
    retries: Option<u64>,
    /// Why no request of this run can succeed.
    fatal: Option<String>,
}

/// Whether a request may be sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Admission {
    /// Now.
    Now,
    /// After this time.
    After(Duration),
    /// Not at all; says why.
    Denied(String),
}

impl ServerHealth {
    /// A server that has not been asked yet. `breaker` consecutive failures open the breaker; with 0, failures in one conversation
    /// do not affect others.
    pub(super) fn new(breaker: u64) -> Self {
        ServerHealth(Mutex::new(State {
            breaker: Breaker::new(breaker),
            next_probe: None,
            not_before: None,
            retries: (breaker > 0).then_some(RETRY_BUDGET),
            fatal: None,
        }))
    }

    /// Whether a request may be sent at `now`.
    pub(super) fn admits(&self, now: Instant) -> Admission {
        let mut state = self.state();
        if let Some(why) = &state.fatal {
            return Admission::Denied(why.clone());
        }
        if let Some(probe) = state.next_probe {
            if now < probe {
                let failures = state.breaker.failures();
                return Admission::Denied(format!(
                    "the server failed {failures} times in a row; no request is sent to it for {} s",
                    COOL_DOWN.as_secs()
                ));
            }
            // This request is the probe; others wait for its result, or for the next one.
            state.next_probe = Some(now + COOL_DOWN);
        }
        match state.not_before {
            Some(time) if time > now => {
                let wait = time - now;
                if wait > LONGEST_WAIT {
                    let seconds = wait.as_secs();
                    return Admission::Denied(format!(
                        "the server asked to wait {seconds} s; the limit is {} s",
                        LONGEST_WAIT.as_secs()
                    ));
                }
                Admission::After(wait)
            }
            Some(_) | None => Admission::Now,
        }
    }

    /// Takes one retry from the budget of the run, if any is left.
    pub(super) fn take_retry(&self) -> bool {
        let mut state = self.state();
        let Some(left) = &mut state.retries else {
            return true;
        };
        let is_left = *left > 0;
        *left = left.saturating_sub(1);
        is_left
    }

    /// Records the result of a request.
    pub(super) fn record<T>(&self, now: Instant, result: &Result<T, Failure>) {
        let mut state = self.state();
        match result {
            // A server that finds a prompt too long, or asks for another form, is working.
            Ok(_) | Err(Failure::PromptTooLong { .. } | Failure::Refused { .. }) => {
                state.breaker.succeeded();
                state.next_probe = None;
                state.retries = state.retries.map(|left| RETRY_BUDGET.min(left + 1));
            }
            // A server that asks to wait is working, too.
            Err(Failure::Busy { retry_after, .. }) => {
                let time = retry_after.map(|wait| now + wait);
                state.not_before = state.not_before.max(time);
            }
            Err(Failure::Fatal(why)) => state.fatal = Some(why.clone()),
            Err(Failure::Transient(_)) => state.fail(now),
            // The rejection of one request, or a request that was not sent, says nothing about the others.
            Err(
                Failure::Rejected(_)
                | Failure::NoModel(_)
                | Failure::Interrupted
                | Failure::Offline
                | Failure::Waiting(_)
                | Failure::RunLimit(_),
            ) => {}
        }
    }

    /// Records that a summary failed because the server was busy at every attempt, which counts as one failure.
    pub(super) fn record_always_busy(&self, now: Instant) {
        self.state().fail(now);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn fail(&mut self, now: Instant) {
        self.breaker.failed();
        if self.breaker.is_open() {
            self.next_probe = Some(now + COOL_DOWN);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn second(start: Instant, n: u64) -> Instant {
        start + Duration::from_secs(n)
    }

    fn down() -> Result<(), Failure> {
        Err(Failure::Transient("down".to_owned()))
    }

    #[test]
    fn three_failures_in_a_row_open_the_breaker_and_one_request_probes_later() {
        let (host, start) = (ServerHealth::new(3), Instant::now());
        for result in [down(), down(), Ok(()), down(), down()] {
            host.record(start, &result);
            assert_eq!(host.admits(start), Admission::Now);
        }
        host.record(start, &down());
        let why = "the server failed 3 times in a row; no request is sent to it for 30 s";
        let denied = Admission::Denied(why.to_owned());
        assert_eq!(host.admits(second(start, 29)), denied);
        assert_eq!(host.admits(second(start, 30)), Admission::Now);
        // Only one probe is sent.
        assert_eq!(host.admits(second(start, 31)), denied);
        host.record(second(start, 32), &Ok(()));
        assert_eq!(host.admits(second(start, 32)), Admission::Now);
    }

    #[test]
    fn every_thread_waits_as_long_as_the_server_has_asked_one_to() {
        let (host, start) = (ServerHealth::new(3), Instant::now());
        let busy = |seconds| {
            Err::<(), _>(Failure::Busy {
                why: "429".to_owned(),
                retry_after: Some(Duration::from_secs(seconds)),
            })
        };
        host.record(start, &busy(7));
        // A shorter wait that arrives later does not shorten it.
        host.record(second(start, 1), &busy(2));
        assert_eq!(
            host.admits(second(start, 2)),
            Admission::After(Duration::from_secs(5))
        );
        assert_eq!(host.admits(second(start, 7)), Admission::Now);
        host.record(second(start, 8), &busy(121));
        assert!(matches!(
            host.admits(second(start, 8)),
            Admission::Denied(_)
        ));
        assert!(matches!(host.admits(second(start, 9)), Admission::After(_)));
    }

    #[test]
    fn retries_are_few_and_each_success_adds_one() {
        let host = ServerHealth::new(3);
        let granted = (0..30).filter(|_| host.take_retry()).count();
        assert_eq!(granted, 20);
        host.record(Instant::now(), &Ok(()));
        assert!(host.take_retry());
        assert!(!host.take_retry());
    }

    #[test]
    fn without_a_breaker_nothing_is_shared_but_waits_and_what_is_final() {
        let (host, start) = (ServerHealth::new(0), Instant::now());
        for _ in 0..99 {
            assert!(host.take_retry());
            host.record(start, &down());
            assert_eq!(host.admits(start), Admission::Now);
        }
    }

    #[test]
    fn a_server_that_is_always_busy_is_one_failure_a_summary() {
        let (host, start) = (ServerHealth::new(3), Instant::now());
        let busy = Err::<(), _>(Failure::Busy {
            why: "429".to_owned(),
            retry_after: None,
        });
        for _ in 0..3 {
            (0..9).for_each(|_| host.record(start, &busy));
            assert_eq!(host.admits(start), Admission::Now);
            host.record_always_busy(start);
        }
        assert!(matches!(host.admits(start), Admission::Denied(_)));
    }

    #[test]
    fn a_spent_quota_is_final() {
        let host = ServerHealth::new(0);
        host.record(
            Instant::now(),
            &Err::<(), _>(Failure::Fatal("no credit".to_owned())),
        );
        let denied = Admission::Denied("no credit".to_owned());
        assert_eq!(host.admits(second(Instant::now(), 1_000)), denied);
    }
}
