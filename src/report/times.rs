//! How long a run took, as shown in reports: only if the user asked for times.
//!
//! One description for every command: in JSON an object of seconds, in CSV a column per phase, for people milliseconds for each
//! file and a line about the run.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::column::Column;
use super::page::Fact;
use crate::outcome::{Entry, Phase, Timings, of_seconds, seconds};
use crate::text::thousands;

/// How long a run took.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct RunTimings {
    /// From its beginning to its report, in seconds.
    wall: f64,
    /// The total of its phases over all files and threads.
    #[serde(flatten)]
    phases: Timings,
}

impl RunTimings {
    /// The timings of a run over these files.
    pub(super) fn of<F: Entry>(wall: Duration, files: &[F]) -> Self {
        let mut phases = Timings::default();
        for timings in files.iter().filter_map(|one| one.file().timings.as_ref()) {
            phases += timings;
        }
        RunTimings::new(wall, phases)
    }

    /// The timings of a run whose files took `phases` in total.
    pub(super) fn new(wall: Duration, phases: Timings) -> Self {
        RunTimings {
            wall: seconds(wall),
            phases,
        }
    }

    /// The total of its phases over all files.
    pub(super) fn phases(&self) -> &Timings {
        &self.phases
    }

    /// The combined timings of several runs, as if executed one after the other. `None` if one of them was not timed.
    pub(super) fn of_all<'t>(runs: impl Iterator<Item = Option<&'t Self>>) -> Option<Self> {
        runs.collect::<Option<Vec<_>>>()?
            .into_iter()
            .cloned()
            .reduce(|mut all, one| {
                all.wall += one.wall;
                all.phases += &one.phases;
                all
            })
    }

    /// The time from a run's beginning to its report.
    pub(super) fn wall(&self) -> Duration {
        of_seconds(self.wall).unwrap_or_default()
    }

    /// `1.234 s; read 0.2 s, plan 0.9 s`: a run in a line.
    pub(super) fn line(&self) -> String {
        let phases = phases(&self.phases);
        let wall = spent(self.wall());
        match phases.is_empty() {
            true => format!("took {wall}"),
            false => format!("took {wall}; all files together: {phases}"),
        }
    }
}

/// How long a run took whose files took `phases` in total, in a line.
pub fn times_line(wall: Duration, phases: Timings) -> String {
    RunTimings::new(wall, phases).line()
}

/// The time as a figure of a page, if it was asked for.
pub(super) fn time(times: Option<&RunTimings>) -> Option<Fact> {
    let times = times?;
    Some(Fact {
        name: "Time",
        value: spent(times.wall()),
        note: phases(&times.phases),
    })
}

/// `read 12.0 ms, plan 1.234 s`
pub(super) fn phases(timings: &Timings) -> String {
    let phases = timings
        .phases()
        .map(|(phase, time)| format!("{} {}", phase.name(), spent(time)));
    phases.collect::<Vec<_>>().join(", ")
}

/// A time as people read it.
pub(super) fn spent(time: Duration) -> String {
    let micros = time.as_micros();
    match micros {
        ..1_000_000 => format!("{}.{} ms", micros / 1_000, micros / 100 % 10),
        _ => {
            let whole = thousands(time.as_secs());
            format!("{whole}.{:03} s", time.subsec_millis())
        }
    }
}

/// The columns of a report with its times, if it has any: for programs the seconds of each phase that occurred, for people the
/// total for each file.
pub(super) fn with_times<R: Entry + 'static>(
    mut columns: Vec<Column<R>>,
    times: Option<&RunTimings>,
) -> Vec<Column<R>> {
    let Some(times) = times else {
        return columns;
    };
    columns.push(
        Column::for_people(|row: &R| {
            row.file().timings.as_ref().map(|timings| {
                let millis = timings.whole().as_micros().div_ceil(1_000);
                u64::try_from(millis).unwrap_or(u64::MAX)
            })
        })
        .shown(u8::MAX, "ms"),
    );
    let named = Phase::ALL.into_iter().map(|phase| {
        let name = match phase {
            Phase::Read => "seconds_read",
            Phase::Examine => "seconds_examine",
            Phase::Plan => "seconds_plan",
            Phase::Artifacts => "seconds_artifacts",
            Phase::Apply => "seconds_apply",
            Phase::Verify => "seconds_verify",
            Phase::Write => "seconds_write",
        };
        (phase, name)
    });
    for (phase, name) in named.filter(|(phase, _)| times.phases.of(*phase).is_some()) {
        columns.push(Column::seconds(name, move |row: &R| {
            row.file().timings.as_ref()?.of(phase).map(seconds)
        }));
    }
    columns
}
