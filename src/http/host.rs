//! What all threads know of a server: whether to ask it at all, when, and how often again.
//!
//! Looks at no clock: the time is handed in.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::answer::Failure;

/// After so many failures in a row a server is left alone, where the policy says nothing else.
const FAILURES: u64 = 3;
/// For so long; then one request may try whether it is back.
const COOL_DOWN: Duration = Duration::from_secs(30);
/// Tries after the first that all requests of a run may have together; each success gives one back.
const RETRIES: u64 = 20;
/// A server that wants to be left alone for longer is not waited for.
const LONGEST_WAIT: Duration = Duration::from_secs(120);

/// One server.
#[derive(Debug)]
pub(super) struct Host {
    limit: u64,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    /// In a row.
    failures: u64,
    /// When the server was given up, or last tried again.
    opened: Option<Instant>,
    /// Nobody may ask before this.
    not_before: Option<Instant>,
    /// Tries after the first that are left.
    retries: u64,
    /// Why no request will ever be answered.
    lost: Option<String>,
}

/// Whether a request may go out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Admission {
    /// It may.
    Now,
    /// Not before so much time has passed.
    In(Duration),
    /// No; why.
    No(String),
}

impl Host {
    /// `breaker` failures in a row are too many; 0 = the policy does not say.
    pub(super) fn new(breaker: u64) -> Self {
        Host {
            limit: if breaker == 0 { FAILURES } else { breaker },
            state: Mutex::new(State {
                failures: 0,
                opened: None,
                not_before: None,
                retries: RETRIES,
                lost: None,
            }),
        }
    }

    /// Whether a request may go out now.
    pub(super) fn admits(&self, now: Instant) -> Admission {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(why) = &state.lost {
            return Admission::No(why.clone());
        }
        if let Some(opened) = state.opened {
            if now.duration_since(opened) < COOL_DOWN {
                let failures = state.failures;
                return Admission::No(format!(
                    "the server failed {failures} times in a row and is not asked for a while"
                ));
            }
            // This request is the one that tries; the next one waits for its turn.
            state.opened = Some(now);
        }
        match state.not_before {
            Some(time) if time > now => {
                let wait = time - now;
                if wait > LONGEST_WAIT {
                    let seconds = wait.as_secs();
                    return Admission::No(format!(
                        "the server wants to be left alone for {seconds} s"
                    ));
                }
                Admission::In(wait)
            }
            Some(_) | None => Admission::Now,
        }
    }

    /// Whether a request that failed may be tried once more.
    pub(super) fn may_try_again(&self) -> bool {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let may = state.retries > 0;
        state.retries = state.retries.saturating_sub(1);
        may
    }

    /// Takes note of what came of a request.
    pub(super) fn note<T>(&self, now: Instant, result: &Result<T, Failure>) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        match result {
            // A prompt that is too long was understood well.
            Ok(_) | Err(Failure::TooLong { .. }) => {
                state.failures = 0;
                state.opened = None;
                state.retries = RETRIES.min(state.retries + 1);
            }
            Err(Failure::Busy { after, .. }) => {
                // Nothing is wrong with a server that asks for patience.
                if let Some(after) = after {
                    let time = now + *after;
                    state.not_before = Some(state.not_before.map_or(time, |old| old.max(time)));
                }
            }
            Err(Failure::Lost(why)) => state.lost = Some(why.clone()),
            Err(Failure::Passing(_) | Failure::Refused(_)) => state.fail(now, self.limit),
            Err(Failure::Stopped | Failure::Pending | Failure::Limit(_)) => {}
        }
    }

    /// Takes note that the last try of a summary, too, met a server that asked for patience: that was one failure.
    pub(super) fn given_up(&self, now: Instant) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.fail(now, self.limit);
    }
}

impl State {
    fn fail(&mut self, now: Instant, limit: u64) {
        self.failures += 1;
        if self.failures >= limit {
            self.opened = Some(now);
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
        Err(Failure::Passing("down".to_owned()))
    }

    #[test]
    fn three_failures_in_a_row_close_a_server_and_one_request_tries_it_later() {
        let (host, start) = (Host::new(3), Instant::now());
        for result in [down(), down(), Ok(()), down(), down()] {
            host.note(start, &result);
            assert_eq!(host.admits(start), Admission::Now);
        }
        host.note(start, &down());
        let closed = "the server failed 3 times in a row and is not asked for a while";
        let no = Admission::No(closed.to_owned());
        assert_eq!(host.admits(second(start, 29)), no);
        assert_eq!(host.admits(second(start, 30)), Admission::Now);
        // Only one of them.
        assert_eq!(host.admits(second(start, 31)), no);
        host.note(second(start, 32), &Ok(()));
        assert_eq!(host.admits(second(start, 32)), Admission::Now);
    }

    #[test]
    fn all_wait_as_long_as_the_server_has_asked_one_to() {
        let (host, start) = (Host::new(3), Instant::now());
        let busy = |seconds| {
            Err::<(), _>(Failure::Busy {
                why: "429".to_owned(),
                after: Some(Duration::from_secs(seconds)),
            })
        };
        host.note(start, &busy(7));
        // A shorter one that comes later does not shorten it.
        host.note(second(start, 1), &busy(2));
        assert_eq!(
            host.admits(second(start, 2)),
            Admission::In(Duration::from_secs(5))
        );
        assert_eq!(host.admits(second(start, 7)), Admission::Now);
        host.note(second(start, 8), &busy(121));
        assert!(matches!(host.admits(second(start, 8)), Admission::No(_)));
        assert!(matches!(host.admits(second(start, 9)), Admission::In(_)));
    }

    #[test]
    fn tries_after_the_first_are_few_and_come_back_with_success() {
        let host = Host::new(0);
        let granted = (0..30).filter(|_| host.may_try_again()).count();
        assert_eq!(granted, 20);
        host.note(Instant::now(), &Ok(()));
        assert!(host.may_try_again());
        assert!(!host.may_try_again());
    }

    #[test]
    fn patience_that_never_ends_is_a_failure_for_each_summary() {
        let (host, start) = (Host::new(0), Instant::now());
        let busy = Err::<(), _>(Failure::Busy {
            why: "429".to_owned(),
            after: None,
        });
        for _ in 0..3 {
            (0..9).for_each(|_| host.note(start, &busy));
            assert_eq!(host.admits(start), Admission::Now);
            host.given_up(start);
        }
        assert!(matches!(host.admits(start), Admission::No(_)));
    }

    #[test]
    fn a_spent_quota_ends_it_for_good() {
        let host = Host::new(0);
        host.note(
            Instant::now(),
            &Err::<(), _>(Failure::Lost("no credit".to_owned())),
        );
        let no = Admission::No("no credit".to_owned());
        assert_eq!(host.admits(second(Instant::now(), 1_000)), no);
    }
}
