//! How long the phases of the work on a file took, if requested.
//!
//! PURE. Never reads a clock of its own: the caller lends one. Without it, nothing is measured or reported.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::AddAssign;
use std::time::Duration;

use serde::de::{Deserialize, Deserializer};
use serde::ser::{Serialize, Serializer};

/// A phase of the work.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize,
)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Phase {
    /// A file is read, unpacked, and parsed.
    Read,
    /// A command that only examines counts, replays or measures.
    Examine,
    /// Tokens are estimated and changes are planned.
    Plan,
    /// External inputs of the plan are obtained: summaries, restored files, contents for the store.
    Artifacts,
    /// Changes are settled and applied.
    Apply,
    /// The rules of the provider are checked.
    Verify,
    /// The output, the store and the record are written.
    Write,
}

impl Phase {
    /// Every phase, in the order of the work.
    pub const ALL: [Phase; 7] = [
        Phase::Read,
        Phase::Examine,
        Phase::Plan,
        Phase::Artifacts,
        Phase::Apply,
        Phase::Verify,
        Phase::Write,
    ];

    /// Its name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Phase::Read => "read",
            Phase::Examine => "examine",
            Phase::Plan => "plan",
            Phase::Artifacts => "artifacts",
            Phase::Apply => "apply",
            Phase::Verify => "verify",
            Phase::Write => "write",
        }
    }
}

/// A source of time.
pub trait Clock: Sync + fmt::Debug {
    /// The time since a fixed moment.
    fn now(&self) -> Duration;
}

/// The time that each phase took; in JSON in seconds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Timings(BTreeMap<Phase, Duration>);

impl Timings {
    /// The duration of a phase, if it occurred.
    pub fn of(&self, phase: Phase) -> Option<Duration> {
        self.0.get(&phase).copied()
    }

    /// The phases that occurred, in the order of the work.
    pub fn phases(&self) -> impl Iterator<Item = (Phase, Duration)> + '_ {
        self.0.iter().map(|(phase, time)| (*phase, *time))
    }

    /// The total time of all phases.
    pub fn whole(&self) -> Duration {
        self.0.values().fold(Duration::ZERO, |sum, time| {
            // A report that was read back may contain any number.
            sum.saturating_add(*time)
        })
    }

    fn add(&mut self, phase: Phase, time: Duration) {
        let sum = self.0.entry(phase).or_default();
        *sum = sum.saturating_add(time);
    }
}

impl AddAssign<&Timings> for Timings {
    fn add_assign(&mut self, other: &Timings) {
        for (phase, time) in other.phases() {
            self.add(phase, time);
        }
    }
}

/// Seconds as reports have them, to a millionth.
pub fn seconds(time: Duration) -> f64 {
    time.as_micros() as f64 / 1e6
}

/// The duration of a number of seconds; `None` for a number that is not a duration.
pub fn of_seconds(seconds: f64) -> Option<Duration> {
    let micros = (seconds * 1e6).round();
    Duration::try_from_secs_f64(micros / 1e6)
        .ok()
        .map(|_| Duration::from_micros(micros as u64))
}

impl Serialize for Timings {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.phases().map(|(phase, time)| (phase, seconds(time))))
    }
}

impl<'de> Deserialize<'de> for Timings {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let read = BTreeMap::<Phase, f64>::deserialize(deserializer)?.into_iter();
        let times = read.map(|(phase, seconds)| match of_seconds(seconds) {
            Some(time) => Ok((phase, time)),
            None => Err(serde::de::Error::custom("not a duration in seconds")),
        });
        times.collect::<Result<_, _>>().map(Timings)
    }
}

/// A stopwatch: each lap goes to a phase. The clock is lent for each lap; without one, nothing is measured.
#[derive(Debug, Clone, Default)]
pub struct Laps {
    last: Duration,
    timings: Timings,
}

impl Laps {
    /// Starts a stopwatch now.
    pub fn start(clock: Option<&dyn Clock>) -> Self {
        Laps {
            last: clock.map(Clock::now).unwrap_or_default(),
            timings: Timings::default(),
        }
    }

    /// Assigns the time since the last lap to this phase.
    pub fn lap(&mut self, clock: Option<&dyn Clock>, phase: Phase) {
        if let Some(clock) = clock {
            let now = clock.now();
            self.timings.add(phase, now.saturating_sub(self.last));
            self.last = now;
        }
    }

    /// Skips the time since the last lap, which was measured elsewhere as `others`.
    pub fn skip(&mut self, clock: Option<&dyn Clock>, others: Timings) {
        if let Some(clock) = clock {
            self.last = clock.now();
            self.timings += &others;
        }
    }

    /// The times, if there was a clock.
    pub fn timings(self, clock: Option<&dyn Clock>) -> Option<Timings> {
        clock.map(|_| self.timings)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;

    /// A clock that advances by a second at each reading.
    #[derive(Debug, Default)]
    struct Ticking(AtomicU64);

    impl Clock for Ticking {
        fn now(&self) -> Duration {
            Duration::from_secs(self.0.fetch_add(1, Ordering::Relaxed))
        }
    }

    #[test]
    fn laps_go_to_phases() {
        let clock = Ticking::default();
        let clock: Option<&dyn Clock> = Some(&clock);
        let mut inner = Laps::start(clock);
        inner.lap(clock, Phase::Verify);
        let inner = inner.timings(clock).unwrap();
        let mut laps = Laps::start(clock);
        laps.lap(clock, Phase::Read);
        laps.skip(clock, inner);
        laps.lap(clock, Phase::Write);
        laps.lap(clock, Phase::Read);
        let timings = laps.timings(clock).unwrap();
        let json = serde_json::to_string(&timings).unwrap();
        assert_eq!(json, r#"{"read":2.0,"verify":1.0,"write":1.0}"#);
        assert_eq!(timings.whole(), Duration::from_secs(4));
        assert_eq!(serde_json::from_str::<Timings>(&json).unwrap(), timings);
        let mut none = Laps::start(None);
        none.lap(None, Phase::Read);
        assert_eq!(none.timings(None), None);
    }

    #[test]
    fn names_are_those_of_reports_and_no_time_is_negative() {
        for phase in Phase::ALL {
            let name = serde_json::to_value(phase).unwrap();
            assert_eq!(name, phase.name());
        }
        for bad in [r#"{"read":-1.0}"#, r#"{"read":1e300}"#, r#"{"reed":1.0}"#] {
            assert!(serde_json::from_str::<Timings>(bad).is_err(), "{bad}");
        }
        let odd = Duration::from_nanos(1_234_567_891);
        assert_eq!(
            of_seconds(seconds(odd)),
            Some(Duration::from_micros(1_234_567))
        );
    }
}
