//! `--timings`: the flag that makes reports say how long the work took.
//!
//! Without it no report holds a time, so that reports are the same from run to run.

use std::time::Duration;

use clap::Args;

use super::reports::OUTPUT;
use crate::batch::WallClock;
use crate::outcome::Clock;

/// Whether times are told.
#[derive(Debug, Args)]
pub(super) struct TimingArgs {
    /// Report how long each file and phase took; such reports differ from run to run
    #[arg(long, help_heading = OUTPUT)]
    timings: bool,
}

impl TimingArgs {
    /// A clock that begins now, if times are told.
    pub(super) fn clock(&self) -> Option<WallClock> {
        self.timings.then(WallClock::start)
    }
}

/// The time since the clock began.
pub(super) fn wall(clock: Option<&WallClock>) -> Option<Duration> {
    clock.map(Clock::now)
}
