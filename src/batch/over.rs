//! Examines many inputs in parallel, without writing anything.

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::atomic::AtomicUsize;
use std::sync::{Mutex, PoisonError};

use rayon::prelude::*;

use super::budget::{Budget, Reservation};
use super::detected::{Recognised, detect};
use super::input::Input;
use super::limits::{Limits, Workload};
use super::strict::BadLines;
use super::{Found, Progress, Source, pool};
use crate::error::{Error, ErrorKind, Result};
use crate::format::{Detected, Format};
use crate::outcome::{Clock, Laps, Phase, path_text};
use crate::scan::Strings;

/// An input that was read.
pub(super) struct Read<'r> {
    /// What it is.
    pub(super) detected: Detected,
    /// Its text, unpacked.
    pub(super) bytes: &'r [u8],
    /// The long strings in it.
    pub(super) strings: &'r Strings,
}

/// How inputs are processed.
#[expect(
    missing_debug_implementations,
    reason = "what is shown the progress need not have one"
)]
pub struct Over<'o> {
    /// The inputs.
    pub found: &'o Found,
    /// The format, where the user named one.
    pub format: Option<Format>,
    /// The maximum size of inputs and their lines.
    pub limits: Limits,
    /// What happens to lines that cannot be read.
    pub bad_lines: BadLines,
    /// How they are examined.
    pub job: Workload,
    /// The number of threads.
    pub jobs: usize,
    /// The signal that ends the run.
    pub stop: &'o AtomicUsize,
    /// Where progress is shown.
    pub progress: &'o dyn Progress,
    /// The clock that measures the work, if the user asked for times.
    pub clock: Option<&'o dyn Clock>,
}

impl Over<'_> {
    /// What `look` returns for each input, or `failed` for one that cannot be read; in the order of their paths.
    ///
    /// # Errors
    /// What stops the run: threads that do not start, a signal ([`ErrorKind::Interrupted`]).
    pub(super) fn each<T: Send>(
        &self,
        look: impl Fn(&Path, Read<'_>, Laps) -> T + Sync,
        failed: impl Fn(&Path, &Error) -> T + Sync,
    ) -> Result<Vec<T>> {
        let kept = Mutex::new(Vec::new());
        let keep = |path: &Path, looked: T| {
            let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
            kept.push((path_text(path), looked));
            Ok(())
        };
        self.pour(look, failed, keep)?;
        let mut looked = kept.into_inner().unwrap_or_else(PoisonError::into_inner);
        looked.sort_by(|(a, _), (b, _)| a.cmp(b));
        Ok(looked.into_iter().map(|(_, looked)| looked).collect())
    }

    /// The same, but passes each result to `keep` as it arrives, in no particular order.
    ///
    /// # Errors
    /// The errors of [`Over::each`], and those of `keep`, which stop the run.
    pub(super) fn pour<T>(
        &self,
        look: impl Fn(&Path, Read<'_>, Laps) -> T + Sync,
        failed: impl Fn(&Path, &Error) -> T + Sync,
        keep: impl Fn(&Path, T) -> Result<()> + Sync,
    ) -> Result<()> {
        let pool = pool(self.jobs)?;
        let sources = self.found.sources.iter();
        let mut order: Vec<(u64, &Source)> = sources.map(|s| (bytes_of(s), s)).collect();
        // The largest come first, so that no thread is left with a large one at the end.
        order.sort_by_key(|(bytes, _)| std::cmp::Reverse(*bytes));
        let sizes = order.iter().map(|(bytes, _)| *bytes);
        let budget = Budget::new(sizes, self.jobs, self.limits, self.job);
        let one = |(bytes, source): &(u64, &Source)| {
            let share = budget.take(*bytes);
            let looked = catch_unwind(AssertUnwindSafe(|| self.one(source, share, &look)));
            let looked = looked.unwrap_or_else(|_| {
                let error = Error::new(ErrorKind::Internal, "internal error on this file");
                Err(error.at(source.path()))
            });
            match looked {
                Err(error) if matches!(error.kind, ErrorKind::Interrupted | ErrorKind::Crowded) => {
                    Err(error)
                }
                Err(error) => Ok(failed(source.path(), &error)),
                looked => looked,
            }
            .inspect(|_| self.progress.done(*bytes))
            .and_then(|looked| keep(source.path(), looked))
        };
        let is_left = |input: &&(u64, &Source)| {
            if *input.1 == Source::Stdin && order.len() > 1 {
                return Ok(true);
            }
            match one(input) {
                Err(error) if error.kind == ErrorKind::Crowded => Ok(true),
                kept => kept.map(|()| false),
            }
        };
        let left: Result<Vec<&(u64, &Source)>> = pool.install(|| {
            let inputs = order.par_iter().with_max_len(1);
            let left = inputs.filter_map(|input| match is_left(&input) {
                Ok(true) => Some(Ok(input)),
                Ok(false) => None,
                Err(error) => Some(Err(error)),
            });
            left.collect()
        });
        for input in left? {
            // Inputs that did not fit into memory alongside the others come last, and so does a stream, which cannot be read twice.
            pool.install(|| one(input))?;
        }
        self.found.missing.iter().try_for_each(|error| {
            let path = error.path.clone().unwrap_or_default();
            keep(&path, failed(&path, error))
        })
    }

    fn one<T>(
        &self,
        source: &Source,
        share: Reservation<'_>,
        look: impl Fn(&Path, Read<'_>, Laps) -> T,
    ) -> Result<T> {
        let path = source.path();
        let mut laps = Laps::start(self.clock);
        let mut input = Input::open(source, path, self.stop, share)?;
        input.leave_unhashed();
        let Recognised {
            detected, strings, ..
        } = detect(&mut input, self.format)?;
        let detected = match self.job {
            Workload::Once => detected,
            Workload::Replay | Workload::Eval => detected.for_compaction(),
        };
        input.rest()?;
        let checked = self.bad_lines.check(&detected, &input.buffer);
        checked.map_err(|error| error.at(path))?;
        laps.lap(self.clock, Phase::Read);
        let read = Read {
            detected,
            bytes: &input.buffer,
            strings: &strings,
        };
        Ok(look(path, read, laps))
    }
}

/// The size of an input; a stream counts as 0.
fn bytes_of(source: &Source) -> u64 {
    match source {
        Source::Stdin => 0,
        Source::File(file) => fs::metadata(&file.path).map_or(0, |metadata| metadata.len()),
    }
}
