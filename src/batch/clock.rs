//! The clock that a run is measured with, where the user asks for times.
//!
//! Counts from the run's beginning; nothing here knows the time of day.

use std::time::{Duration, Instant};

use crate::outcome::Clock;

/// The time since a run began.
#[derive(Debug, Clone, Copy)]
pub struct WallClock(Instant);

impl WallClock {
    /// Begins now.
    pub fn start() -> Self {
        WallClock(Instant::now())
    }
}

impl Clock for WallClock {
    fn now(&self) -> Duration {
        self.0.elapsed()
    }
}

impl super::Options {
    /// What measures the run, if the user asked for times.
    pub(super) fn clock(&self) -> Option<&dyn Clock> {
        self.clock.as_ref().map(|clock| clock as &dyn Clock)
    }
}
