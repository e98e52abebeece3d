//! How often a request for a summary is repeated, how long to wait in between, and when to stop requesting summaries.
//!
//! PURE. Only decides; the caller sends the requests and waits, with a clock of its own.

use std::time::Duration;

use crate::policy::{Summary, Wait};

/// The longest exponential wait, in multiples of the first one.
const MAX_FACTOR: u64 = 60;

/// A failed attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Failed<E> {
    /// The next attempt may succeed.
    Transient(E),
    /// No further attempt will.
    Permanent(E),
}

/// The side effects of [`retry`].
pub trait Backoff<E> {
    /// Whether another attempt that the policy allows may be made. Every `true` is followed by an attempt.
    fn may_retry(&self) -> bool;

    /// A random number from 0 up to 1, so that waiting threads do not all retry at the same time.
    fn random(&self) -> f64;

    /// Waits.
    ///
    /// # Errors
    /// The reason not to make another attempt; [`retry`] returns it.
    fn wait(&self, time: Duration) -> Result<(), E>;
}

/// Repeats `attempt` until it succeeds, fails permanently, or has failed as often as the policy allows.
///
/// # Errors
/// That of the last attempt, or of [`Backoff::wait`].
pub fn retry<T, E>(
    policy: &Summary,
    backoff: &impl Backoff<E>,
    mut attempt: impl FnMut() -> Result<T, Failed<E>>,
) -> Result<T, E> {
    let mut failures = 0;
    loop {
        let failed = match attempt() {
            Ok(answer) => return Ok(answer),
            Err(failed) => failed,
        };
        failures += 1;
        match failed {
            Failed::Transient(_) if failures < policy.tries && backoff.may_retry() => {
                backoff.wait(delay(policy, failures, backoff.random()))?;
            }
            Failed::Transient(error) | Failed::Permanent(error) => return Err(error),
        }
    }
}

/// How long to wait after the given number of failures (from 1); `random` is from 0 up to 1.
pub fn delay(policy: &Summary, failures: u64, random: f64) -> Duration {
    let first = policy.wait_ms;
    let millis = match policy.wait {
        Wait::Linear => first.saturating_mul(failures),
        Wait::Exponential => {
            let doubled = 1u64.checked_shl((failures - 1).min(63) as u32);
            let factor = doubled.unwrap_or(u64::MAX).min(MAX_FACTOR);
            // Half of the wait is fixed, half random.
            let longest = first.saturating_mul(factor);
            longest / 2 + (longest as f64 / 2.0 * random) as u64
        }
    };
    Duration::from_millis(millis)
}

/// A circuit breaker that opens after a number of consecutive failures and closes with the next success.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Breaker {
    limit: u64,
    failures: u64,
}

impl Breaker {
    /// A breaker that opens after `limit` consecutive failures; 0 = never.
    pub fn new(limit: u64) -> Self {
        Breaker { limit, failures: 0 }
    }

    /// Whether no further requests may be sent.
    pub fn is_open(&self) -> bool {
        self.limit > 0 && self.failures >= self.limit
    }

    /// The number of failed requests since the last success.
    pub fn failures(&self) -> u64 {
        self.failures
    }

    /// Counts a success.
    pub fn succeeded(&mut self) {
        self.failures = 0;
    }

    /// Counts a failure.
    pub fn failed(&mut self) {
        self.failures += 1;
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;
    use crate::policy::preset;

    /// Records the waits, in milliseconds, instead of waiting.
    #[derive(Default)]
    struct Fake(RefCell<Vec<u64>>);

    impl Backoff<&'static str> for Fake {
        fn may_retry(&self) -> bool {
            true
        }

        fn random(&self) -> f64 {
            0.5
        }

        fn wait(&self, time: Duration) -> Result<(), &'static str> {
            let millis = time.as_millis() as u64;
            self.0.borrow_mut().push(millis);
            if millis == 6_000 {
                Err("stopped")
            } else {
                Ok(())
            }
        }
    }

    type Attempt = Result<&'static str, Failed<&'static str>>;

    /// The result, how many attempts there were, and the waits between them.
    type Retried = (Result<&'static str, &'static str>, usize, Vec<u64>);

    fn retried(preset_name: &str, attempts: &[Attempt]) -> Retried {
        retried_by(&preset(preset_name).unwrap().summary, attempts)
    }

    fn retried_by(policy: &Summary, attempts: &[Attempt]) -> Retried {
        let (fake, mut left) = (Fake::default(), attempts.iter());
        let result = retry(policy, &fake, || left.next().unwrap().clone());
        let count = attempts.len() - left.len();
        (result, count, fake.0.into_inner())
    }

    const BUSY: Attempt = Err(Failed::Transient("busy"));
    const DOWN: Attempt = Err(Failed::Transient("down"));

    #[test]
    fn offload_first_tries_three_times_and_waits_a_second_times_the_attempt() {
        let three = retried("offload-first", &[BUSY, BUSY, DOWN, Ok("so")]);
        assert_eq!(three, (Err("down"), 3, vec![1_000, 2_000]));
        let second = retried("offload-first", &[BUSY, Ok("so")]);
        assert_eq!(second, (Ok("so"), 2, vec![1_000]));
    }

    #[test]
    fn the_others_try_once_and_do_not_wait() {
        for name in ["layered", "reset", "boundary", "turns"] {
            let once = retried(name, &[BUSY, Ok("so")]);
            assert_eq!(once, (Err("busy"), 1, vec![]), "{name}");
        }
    }

    #[test]
    fn waits_double_up_to_a_limit_and_half_of_each_is_random() {
        let (.., waits) = retried("auto", &[BUSY, DOWN, BUSY]);
        assert_eq!(waits, [750, 1_500]);
        let policy = preset("auto").unwrap().summary;
        let longest = |failures| delay(&policy, failures, 1.0).as_millis();
        assert_eq!(
            [longest(6), longest(7), longest(99)],
            [32_000, 60_000, 60_000]
        );
    }

    #[test]
    fn a_permanent_failure_or_one_while_waiting_ends_it() {
        let refused = Err(Failed::Permanent("refused"));
        let permanent = retried("offload-first", &[BUSY, refused, Ok("so")]);
        assert_eq!(permanent, (Err("refused"), 2, vec![1_000]));
        let mut policy = preset("offload-first").unwrap().summary;
        policy.wait_ms = 6_000;
        let stopped = retried_by(&policy, &[BUSY, Ok("so")]);
        assert_eq!(stopped, (Err("stopped"), 1, vec![6_000]));
    }

    #[test]
    fn the_breaker_opens_after_three_failures_in_a_row() {
        let mut breaker = Breaker::new(preset("boundary").unwrap().summary.breaker);
        for failed in [true, true, false, true, true] {
            if failed {
                breaker.failed();
            } else {
                breaker.succeeded();
            }
            assert!(!breaker.is_open());
        }
        breaker.failed();
        assert!(breaker.is_open());
        let mut never = Breaker::new(0);
        never.failed();
        assert!(!never.is_open());
    }
}
