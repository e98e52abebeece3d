//! Decides when the next request may be sent, so that work waits for a server in temporary trouble instead of finishing without its
//! summaries.
//!
//! All conversations of a run share one queue. It obeys the waits that the server asks for, learns a pace if the server states
//! none, holds requests back while most of them fail, lets one at a time probe whether the server is back, and then opens places
//! one by one. Requests are denied only when the server has been down for as long as the run may wait.
//!
//! Reads no clock: the time is passed in.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::host::Admission;
use super::response::Failure;

/// How long a server may be down before requests are denied.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Patience {
    /// A server that has answered before.
    pub answered: Duration,
    /// A server that has never answered: it may not exist at all.
    pub silent: Duration,
}

/// Number of recent requests over which the failure rate is computed.
const SAMPLE_SIZE: usize = 20;
/// The failure rate counts only from this many requests on, unless none has succeeded yet.
const MIN_SAMPLE: usize = 8;
/// The number of failures after which requests are held back if none has succeeded yet.
const NEVER_ANSWERED: usize = 3;
/// The first wait of a queue that holds requests back; each probe that fails doubles it.
const FIRST_HOLD: Duration = Duration::from_secs(1);
/// The longest such wait, and the longest gap that the queue learns.
const LONGEST_HOLD: Duration = Duration::from_secs(30);
/// The longest such wait for a server that has never answered: it is probed several times within its patience.
const LONGEST_SILENT: Duration = Duration::from_secs(2);
/// The gap between requests after the first "too many requests".
const FIRST_GAP: Duration = Duration::from_millis(100);
/// A smaller gap counts as no gap.
const LEAST_GAP: Duration = Duration::from_millis(10);
/// Each further "too many requests" multiplies the gap by the first factor, each success by the second. So one refusal to four
/// successes leaves the gap as it is: a limit is found with few refusals, and a server that refuses one of ten requests whatever
/// their pace is not asked ever more slowly.
const GROWTH: f64 = 1.4;
const DECAY: f64 = 0.92;
/// Polling interval of threads that wait for a free place.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// When requests to a server may be sent.
#[derive(Debug)]
pub(super) struct Queue {
    state: Mutex<State>,
    patience: Patience,
    places: usize,
}

#[derive(Debug, Default)]
struct State {
    /// The number of requests that may be open at once, and of those that are.
    places: usize,
    open: usize,
    /// Whether each of the last requests failed.
    recent: VecDeque<bool>,
    /// Requests are held back.
    held: Option<Hold>,
    /// No request before this: the server has asked for it.
    not_before: Option<Instant>,
    /// The time between the starts of two requests, and when the next may start.
    gap: Duration,
    next_start: Option<Instant>,
    has_answered: bool,
    /// When the trouble began, and the last failure.
    trouble: Option<(Instant, String)>,
    /// Why no request of this run can succeed.
    fatal: Option<String>,
}

#[derive(Debug, Clone, Copy)]
struct Hold {
    until: Instant,
    wait: Duration,
    /// Whether a request is probing if the server is back.
    is_probed: bool,
}

impl Queue {
    /// A queue for a server that has not been asked yet, with at most this many requests at once.
    pub(super) fn new(places: usize, patience: Patience) -> Self {
        let state = State {
            places,
            ..State::default()
        };
        Queue {
            state: Mutex::new(state),
            patience,
            places,
        }
    }

    /// Whether a request may be sent at `now`. After [`Admission::Now`], the caller must record its result.
    pub(super) fn admits(&self, now: Instant) -> Admission {
        let mut state = self.state();
        let state = &mut *state;
        if let Some(why) = &state.fatal {
            return Admission::Denied(why.clone());
        }
        let mut left = Duration::MAX;
        if let Some((since, why)) = &state.trouble {
            let patience = match state.has_answered {
                true => self.patience.answered,
                false => self.patience.silent,
            };
            left = patience.saturating_sub(now.saturating_duration_since(*since));
            if left.is_zero() {
                let seconds = patience.as_secs();
                return Admission::Denied(format!(
                    "{why}; the server has been failing for {seconds} s (--max-wait)"
                ));
            }
        }
        let times = [state.not_before, state.next_start];
        let wait = times.into_iter().flatten().max();
        let wait = wait.map_or(Duration::ZERO, |time| time.saturating_duration_since(now));
        if !wait.is_zero() {
            return Admission::After(wait.min(left));
        }
        if let Some(held) = &mut state.held {
            if now < held.until {
                return Admission::After((held.until - now).min(left));
            }
            if held.is_probed {
                return Admission::After(POLL_INTERVAL);
            }
            held.is_probed = true;
        } else if state.open >= state.places {
            return Admission::After(POLL_INTERVAL);
        }
        state.open += 1;
        state.next_start = (!state.gap.is_zero()).then(|| now + state.gap);
        Admission::Now
    }

    /// Whether requests are held back: a failure now says nothing about its request.
    pub(super) fn is_holding(&self) -> bool {
        self.state().held.is_some()
    }

    /// Records the result of a request that was admitted.
    pub(super) fn record<T>(&self, now: Instant, result: &Result<T, Failure>) {
        let mut state = self.state();
        state.open = state.open.saturating_sub(1);
        match result {
            // A server that rejects a single request is working.
            Ok(_)
            | Err(
                Failure::PromptTooLong { .. }
                | Failure::Refused { .. }
                | Failure::Rejected(_)
                | Failure::NoModel(_),
            ) => {
                state.works(self.places);
            }
            Err(Failure::Busy { why, retry_after }) => state.busy(now, why, *retry_after),
            Err(Failure::Transient(why)) => state.fails(now, why),
            Err(Failure::Fatal(why)) => state.fatal = Some(why.clone()),
            // The request was not sent, or its fate is unknown: another request may probe.
            Err(
                Failure::Interrupted
                | Failure::Offline
                | Failure::Waiting(_)
                | Failure::RunLimit(_),
            ) => {
                if let Some(held) = &mut state.held {
                    held.is_probed = false;
                }
            }
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn works(&mut self, most: usize) {
        self.has_answered = true;
        self.trouble = None;
        self.push(false);
        if self.held.take().is_some() {
            self.recent.clear();
            self.places = 1;
        } else {
            self.places = most.min(self.places + 1);
        }
        self.gap = self.gap.mul_f64(DECAY);
        if self.gap < LEAST_GAP {
            self.gap = Duration::ZERO;
        }
    }

    fn busy(&mut self, now: Instant, why: &str, asked: Option<Duration>) {
        self.trouble.get_or_insert((now, why.to_owned()));
        self.places = (self.places / 2).max(1);
        // Several simultaneous refusals say no more than the first.
        if self.not_before.is_none_or(|time| time <= now) {
            self.gap = self.gap.mul_f64(GROWTH).clamp(FIRST_GAP, LONGEST_HOLD);
        }
        let until = now + asked.unwrap_or(self.gap);
        self.not_before = self.not_before.max(Some(until));
        if let Some(held) = &mut self.held {
            held.is_probed = false;
            held.until = until;
        }
    }

    fn fails(&mut self, now: Instant, why: &str) {
        self.trouble.get_or_insert((now, why.to_owned()));
        self.push(true);
        let failed = self.recent.iter().filter(|failed| **failed).count();
        let is_most = self.recent.len() >= MIN_SAMPLE && failed * 10 > self.recent.len() * 6;
        let is_all = !self.has_answered && failed >= NEVER_ANSWERED;
        match &mut self.held {
            // Requests that were sent before the hold say nothing new.
            Some(held) if !held.is_probed => {}
            Some(held) => {
                let longest = match self.has_answered {
                    true => LONGEST_HOLD,
                    false => LONGEST_SILENT,
                };
                held.wait = (held.wait * 2).min(longest);
                held.until = now + held.wait;
                held.is_probed = false;
            }
            None if is_most || is_all => {
                self.held = Some(Hold {
                    until: now + FIRST_HOLD,
                    wait: FIRST_HOLD,
                    is_probed: false,
                });
            }
            None => {}
        }
    }

    fn push(&mut self, failed: bool) {
        if self.recent.len() == SAMPLE_SIZE {
            self.recent.pop_front();
        }
        self.recent.push_back(failed);
    }
}

#[cfg(test)]
#[path = "queue/tests.rs"]
mod tests;
