//! How often a summary is asked for, how long is waited in between, and when asking is given up for good.
//!
//! PURE: who waits, and on which clock, is for the caller to say.

use std::time::Duration;

use crate::policy::{Summary, Wait};

/// So many times the first wait is the longest one.
const LONGEST: u64 = 60;

/// Waits, or only says that it would.
pub trait Clock {
    /// Lets so much time pass.
    fn wait(&mut self, time: Duration);

    /// A share of chance, from 0 up to 1, so that many who wait do not come back at once.
    fn chance(&mut self) -> f64;
}

/// What came of asking.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tried {
    /// The answer, or why the last try gave none.
    pub answer: Result<String, String>,
    /// How often it was tried.
    pub attempts: u64,
}

/// Asks as often as the policy says, until there is an answer. `ask` is told the number of the try, from 1; where it gives
/// `None`, nobody is left to be asked.
pub fn tries(
    policy: &Summary,
    clock: &mut impl Clock,
    mut ask: impl FnMut(u64) -> Option<Result<String, String>>,
) -> Tried {
    let mut why = "no answer is left".to_owned();
    for attempt in 1..=policy.tries {
        match ask(attempt) {
            None => {
                return Tried {
                    answer: Err(why),
                    attempts: attempt,
                };
            }
            Some(Ok(text)) if !text.trim().is_empty() => {
                return Tried {
                    answer: Ok(text),
                    attempts: attempt,
                };
            }
            Some(Ok(_)) => "the answer is empty".clone_into(&mut why),
            Some(Err(error)) => why = error,
        }
        if attempt < policy.tries {
            let time = pause(policy, attempt, clock.chance());
            clock.wait(time);
        }
    }
    Tried {
        answer: Err(why),
        attempts: policy.tries,
    }
}

/// The time between try `attempt` (from 1) and the next one; `chance` is from 0 up to 1.
pub fn pause(policy: &Summary, attempt: u64, chance: f64) -> Duration {
    let first = policy.wait_ms;
    let millis = match policy.wait {
        Wait::Linear => first.saturating_mul(attempt),
        Wait::Exponential => {
            let doubled = 1u64.checked_shl((attempt - 1).min(63) as u32);
            let times = doubled.unwrap_or(u64::MAX).min(LONGEST);
            // Half of it for certain, half of it by chance.
            let whole = first.saturating_mul(times);
            whole / 2 + (whole as f64 / 2.0 * chance) as u64
        }
    };
    Duration::from_millis(millis)
}

/// Gives up for good after so many failures in a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Breaker {
    limit: u64,
    failures: u64,
}

impl Breaker {
    /// One that gives up after `limit` failures in a row; 0 = never.
    pub fn new(limit: u64) -> Self {
        Breaker { limit, failures: 0 }
    }

    /// Whether it has given up.
    pub fn is_open(&self) -> bool {
        self.limit > 0 && self.failures >= self.limit
    }

    /// Counts what came of an attempt.
    pub fn count<T, E>(&mut self, result: &Result<T, E>) {
        self.failures = match result {
            Ok(_) => 0,
            Err(_) => self.failures + 1,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::preset;

    /// Writes down what it would have waited.
    #[derive(Default)]
    struct Fake(Vec<u64>);

    impl Clock for Fake {
        fn wait(&mut self, time: Duration) {
            self.0.push(time.as_millis() as u64);
        }

        fn chance(&mut self) -> f64 {
            0.5
        }
    }

    /// What the tries of a preset come to when these answers come in their order, and the waits between them.
    fn tried(name: &str, answers: &[Result<&str, &str>]) -> (Tried, Vec<u64>) {
        let policy = preset(name).unwrap();
        let mut clock = Fake::default();
        let mut answers = answers.iter();
        let tried = tries(&policy.summary, &mut clock, |_| {
            let answer = answers.next()?;
            Some(answer.map(str::to_owned).map_err(str::to_owned))
        });
        (tried, clock.0)
    }

    fn failed(why: &str, attempts: u64) -> Tried {
        Tried {
            answer: Err(why.to_owned()),
            attempts,
        }
    }

    #[test]
    fn offload_first_tries_three_times_and_waits_a_second_times_the_attempt() {
        let busy = Err("busy");
        let (three, waits) = tried("offload-first", &[busy, busy, Err("down"), Ok("so")]);
        assert_eq!((three, waits), (failed("down", 3), vec![1_000, 2_000]));
        let (second, waits) = tried("offload-first", &[busy, Ok("so")]);
        let expected = Tried {
            answer: Ok("so".to_owned()),
            attempts: 2,
        };
        assert_eq!((second, waits), (expected, vec![1_000]));
    }

    #[test]
    fn the_others_try_once_and_wait_for_nothing() {
        for name in ["layered", "reset", "boundary", "turns"] {
            let (tried, waits) = tried(name, &[Err("busy"), Ok("so")]);
            assert_eq!((tried, waits), (failed("busy", 1), vec![]), "{name}");
        }
    }

    #[test]
    fn waits_double_with_a_half_by_chance_up_to_a_limit() {
        let (_, waits) = tried("auto", &[Err("a"), Ok(" "), Err("c")]);
        assert_eq!(waits, [750, 1_500]);
        let mut policy = preset("auto").unwrap().summary;
        policy.tries = 100;
        let long = |attempt| pause(&policy, attempt, 1.0).as_millis();
        assert_eq!([long(6), long(7), long(99)], [32_000, 60_000, 60_000]);
    }

    #[test]
    fn an_empty_answer_is_a_failure_and_nobody_left_ends_it() {
        assert_eq!(
            tried("offload-first", &[Ok(" \n")]).0,
            failed("the answer is empty", 2)
        );
    }

    #[test]
    fn the_breaker_opens_after_three_failures_in_a_row() {
        let mut breaker = Breaker::new(preset("boundary").unwrap().summary.breaker);
        for result in [Err(()), Err(()), Ok(()), Err(()), Err(())] {
            breaker.count(&result);
            assert!(!breaker.is_open());
        }
        breaker.count(&Err::<(), ()>(()));
        assert!(breaker.is_open());
        let mut never = Breaker::new(0);
        never.count(&Err::<(), ()>(()));
        assert!(!never.is_open());
    }
}
