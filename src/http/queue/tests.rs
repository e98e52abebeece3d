//! A queue in front of scripted servers, in simulated time: how many requests a run needs, and what is left without an answer.

use super::*;

const HOUR: Duration = Duration::from_secs(3_600);
const PATIENT: Patience = Patience {
    answered: HOUR,
    silent: Duration::from_secs(10),
};

/// How a run ended.
#[derive(Debug)]
struct Ran {
    answered: usize,
    requests: usize,
    took: Duration,
}

/// A server: its response to a request, given the time since the start and the number of the request.
trait Server: FnMut(Duration, usize) -> Result<(), Failure> {}
impl<F: FnMut(Duration, usize) -> Result<(), Failure>> Server for F {}

/// Lets four workers ask for a summary of each of 100 conversations, in steps of ten milliseconds; a request takes 50.
fn run(mut server: impl Server) -> Ran {
    const STEP: Duration = Duration::from_millis(10);
    #[derive(Clone)]
    enum Worker {
        Idle,
        Wants {
            failures: u64,
            not_before: Duration,
        },
        Waits {
            failures: u64,
            until: Duration,
            result: Result<(), Failure>,
        },
    }
    let (queue, start) = (Queue::new(4, PATIENT), Instant::now());
    let mut workers = vec![Worker::Idle; 4];
    let (mut left, mut now) = (100, Duration::ZERO);
    let mut ran = Ran {
        answered: 0,
        requests: 0,
        took: Duration::ZERO,
    };
    while left > 0 || workers.iter().any(|worker| !matches!(worker, Worker::Idle)) {
        for worker in &mut workers {
            *worker = match worker.clone() {
                Worker::Idle if left > 0 => {
                    left -= 1;
                    Worker::Wants {
                        failures: 0,
                        not_before: now,
                    }
                }
                Worker::Wants {
                    failures,
                    not_before,
                } if not_before <= now => match queue.admits(start + now) {
                    Admission::Now => {
                        ran.requests += 1;
                        Worker::Waits {
                            failures,
                            until: now + STEP * 5,
                            result: server(now, ran.requests),
                        }
                    }
                    Admission::After(wait) => Worker::Wants {
                        failures,
                        not_before: now + wait.max(STEP),
                    },
                    Admission::Denied(_) => Worker::Idle,
                },
                Worker::Waits {
                    failures,
                    until,
                    result,
                } if until <= now => {
                    let is_holding = queue.is_holding();
                    queue.record(start + now, &result);
                    match result {
                        Ok(()) => {
                            ran.answered += 1;
                            Worker::Idle
                        }
                        Err(Failure::Rejected(_)) => Worker::Idle,
                        Err(Failure::Busy { .. }) => Worker::Wants {
                            failures,
                            not_before: now,
                        },
                        Err(_) if failures + 1 >= super::super::sending::PATIENT_TRIES => {
                            Worker::Idle
                        }
                        Err(_) => Worker::Wants {
                            failures: failures + u64::from(!is_holding),
                            not_before: now + Duration::from_millis(500),
                        },
                    }
                }
                other => other,
            };
        }
        now += STEP;
        assert!(now < HOUR * 3, "the run does not end: {ran:?}");
    }
    ran.took = now;
    ran
}

fn down() -> Result<(), Failure> {
    Err(Failure::Transient("status 529: overloaded".to_owned()))
}

fn busy(retry_after: Option<Duration>) -> Result<(), Failure> {
    Err(Failure::Busy {
        why: "status 429: slow down".to_owned(),
        retry_after,
    })
}

#[test]
fn a_server_that_works_is_asked_once_for_each() {
    let ran = run(|_, _| Ok(()));
    assert_eq!((ran.answered, ran.requests), (100, 100));
    assert!(ran.took < Duration::from_secs(3), "{ran:?}");
}

#[test]
fn five_failures_in_a_second_lose_nothing() {
    let ran = run(|_, number| if number <= 5 { down() } else { Ok(()) });
    assert_eq!(ran.answered, 100, "{ran:?}");
    assert!(ran.requests <= 130, "{ran:?}");
    // In the middle of a run, too.
    let ran = run(|_, number| match number {
        50..=54 => down(),
        _ => Ok(()),
    });
    assert_eq!(ran.answered, 100, "{ran:?}");
    assert!(ran.requests <= 130, "{ran:?}");
}

#[test]
fn a_minute_without_a_server_is_waited_for() {
    let away = Duration::from_secs(5)..Duration::from_secs(65);
    let ran = run(|now, _| match now {
        // Slow enough that the minute of trouble falls into the run.
        _ if now < away.start => busy(None),
        _ if away.contains(&now) => down(),
        _ => Ok(()),
    });
    // The server never answered, so the patience with it was short.
    assert_eq!(ran.answered, 0, "{ran:?}");
    let mut answers = 0;
    let ran = run(|now, _| {
        answers += 1;
        match now {
            _ if answers > 20 && now < Duration::from_secs(60) => down(),
            _ => Ok(()),
        }
    });
    assert_eq!(ran.answered, 100, "{ran:?}");
    assert!(ran.requests <= 130, "{ran:?}");
}

#[test]
fn a_third_of_random_failures_loses_nothing() {
    for seed in 1..=20_u64 {
        let mut state = seed;
        let ran = run(|_, _| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            if (state >> 33) % 10 < 3 {
                down()
            } else {
                Ok(())
            }
        });
        assert_eq!(ran.answered, 100, "seed {seed}: {ran:?}");
        assert!(ran.requests <= 180, "seed {seed}: {ran:?}");
    }
}

/// Some servers say this of their own load, whatever a client does: it is no pace to be learned.
#[test]
fn refusals_at_random_do_not_slow_a_run_down_for_good() {
    for seed in 1..=200_u64 {
        let mut state = seed;
        let ran = run(|_, _| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            match (state >> 33) % 100 {
                0..10 => busy(None),
                10..37 => down(),
                _ => Ok(()),
            }
        });
        assert_eq!(ran.answered, 100, "seed {seed}: {ran:?}");
        assert!(ran.requests <= 230, "seed {seed}: {ran:?}");
        assert!(ran.took < Duration::from_secs(200), "seed {seed}: {ran:?}");
    }
}

#[test]
fn a_limit_that_the_server_does_not_explain_is_learned() {
    // At most five requests in two seconds.
    let mut taken: Vec<Duration> = Vec::new();
    let ran = run(|now, _| {
        taken.retain(|at| now - *at < Duration::from_secs(2));
        match taken.len() {
            5.. => busy(None),
            _ => {
                taken.push(now);
                Ok(())
            }
        }
    });
    assert_eq!(ran.answered, 100, "{ran:?}");
    assert!(ran.requests <= 130, "{ran:?}");
    // The limit alone accounts for 38 s.
    assert!(ran.took < Duration::from_secs(100), "{ran:?}");
}

#[test]
fn a_limit_that_the_server_explains_is_kept() {
    // Thirty a minute, starting with a full bucket of thirty.
    let (mut tokens, mut last) = (30.0_f64, Duration::ZERO);
    let ran = run(|now, _| {
        tokens = (tokens + (now - last).as_secs_f64() / 2.0).min(30.0);
        last = now;
        if tokens < 1.0 {
            return busy(Some(Duration::from_secs(2)));
        }
        tokens -= 1.0;
        Ok(())
    });
    assert_eq!(ran.answered, 100, "{ran:?}");
    assert!(ran.requests <= 130, "{ran:?}");
}

#[test]
fn a_dead_server_is_asked_few_times() {
    let ran = run(|_, _| down());
    assert_eq!(ran.answered, 0);
    assert!(ran.requests <= 10, "{ran:?}");
    assert!(ran.took < Duration::from_secs(15), "{ran:?}");
}

#[test]
fn a_request_that_the_server_refuses_concerns_no_other() {
    let ran = run(|_, number| match number % 2 {
        0 => Err(Failure::Rejected("status 400: no".to_owned())),
        _ => Ok(()),
    });
    assert!(ran.took < Duration::from_secs(100), "{ran:?}");
}

#[test]
fn what_is_final_is_final() {
    let queue = Queue::new(4, PATIENT);
    let now = Instant::now();
    assert_eq!(queue.admits(now), Admission::Now);
    queue.record(now, &Err::<(), _>(Failure::Fatal("no credit".to_owned())));
    assert_eq!(queue.admits(now), Admission::Denied("no credit".to_owned()));
}

#[test]
fn a_probe_that_was_not_sent_leaves_its_turn_to_another() {
    let queue = Queue::new(4, PATIENT);
    let start = Instant::now();
    for _ in 0..NEVER_ANSWERED {
        assert_eq!(queue.admits(start), Admission::Now);
    }
    for _ in 0..NEVER_ANSWERED {
        queue.record(start, &down());
    }
    let later = start + FIRST_HOLD;
    assert_eq!(queue.admits(later), Admission::Now);
    assert_eq!(queue.admits(later), Admission::After(POLL_INTERVAL));
    let limit = Failure::RunLimit("the run may send at most 3 requests".to_owned());
    queue.record(later, &Err::<(), _>(limit));
    assert_eq!(queue.admits(later), Admission::Now);
}

/// The first conversation is requested on its own: its server may be overloaded five times in a row.
#[test]
fn a_server_that_has_not_answered_yet_is_tried_more_than_five_times() {
    let (queue, start) = (Queue::new(4, PATIENT), Instant::now());
    let (mut now, mut tries) = (Duration::ZERO, Vec::new());
    loop {
        match queue.admits(start + now) {
            Admission::Now => {
                tries.push(now);
                let failed = Err::<(), _>(Failure::Transient("overloaded".to_owned()));
                queue.record(start + now, &failed);
                if !queue.is_holding() {
                    now += Duration::from_secs(1 << (tries.len() - 1));
                }
            }
            Admission::After(wait) => now += wait.max(Duration::from_millis(10)),
            Admission::Denied(_) => break,
        }
    }
    assert!((6..=10).contains(&tries.len()), "{tries:?}");
}
