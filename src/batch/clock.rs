//! The clock that measures a run, if the user asks for times.
//!
//! Starts at the beginning of the run; nothing here knows the time of day.

use std::time::{Duration, Instant};

use crate::outcome::Clock;

/// The time since a run began.
#[derive(Debug, Clone, Copy)]
pub struct WallClock(Instant);

impl WallClock {
    /// Starts the clock now.
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
    /// The clock that measures the run, if the user asked for times.
    pub(super) fn clock(&self) -> Option<&dyn Clock> {
        self.clock.as_ref().map(|clock| clock as &dyn Clock)
    }
}
