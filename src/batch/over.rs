//! Examines many inputs in parallel, without writing anything.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::atomic::AtomicUsize;
use std::sync::{Mutex, PoisonError};
use std::thread;

use super::budget::{Budget, Reservation};
use super::detected::{Recognised, detect};
use super::feed::{Feeding, feed};
use super::input::Input;
use super::limits::{Limits, Workload};
use super::queue::{Dealt, Queue, QueuedInput};
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
        let budget = Budget::new(self.jobs, self.limits, self.job);
        let queue = Queue::default();
        let one = |(source, seen): &QueuedInput| {
            let bytes = seen.map_or(0, |seen| seen.seen.bytes);
            let share = budget.take(bytes);
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
            .inspect(|_| self.progress.done(bytes))
            .and_then(|looked| keep(source.path(), looked))
        };
        let is_alone = self.found.sources.len() == 1;
        let left = Mutex::new(Vec::new());
        let fault = Mutex::new(None);
        let end = |error| {
            let mut fault = fault.lock().unwrap_or_else(PoisonError::into_inner);
            fault.get_or_insert(error);
            queue.close();
        };
        let process = |input: QueuedInput| {
            let tried = match input.0 == Source::Stdin && !is_alone {
                true => None,
                false => Some(one(&input)),
            };
            match tried {
                Some(Err(error)) if error.kind != ErrorKind::Crowded => end(error),
                Some(Ok(())) => {}
                // Inputs that did not fit into memory alongside the others come last, and so does a stream, which cannot be read
                // twice.
                Some(Err(_)) | None => {
                    let mut left = left.lock().unwrap_or_else(PoisonError::into_inner);
                    left.push(input);
                }
            }
        };
        let feed = || {
            let sources = &self.found.sources;
            feed(sources, &queue, &mut |bytes| budget.announce_size(bytes)).unwrap_or_else(end);
        };
        thread::scope(|scope| {
            match Feeding::of(&self.found.sources) {
                Feeding::Before => feed(),
                Feeding::Meanwhile => {
                    let feeder = thread::Builder::new().spawn_scoped(scope, feed);
                    let failed = |e| format!("cannot start a thread: {e}");
                    feeder.map_err(|e| Error::new(ErrorKind::Internal, failed(e)))?;
                }
            }
            pool.broadcast(|_| {
                while let Some(dealt) = queue.next() {
                    match dealt {
                        Dealt::Found(found) => queue.put_back(found),
                        Dealt::Largest(dealt) => dealt.into_iter().for_each(process),
                    }
                }
            });
            Ok::<_, Error>(())
        })?;
        if let Some(error) = fault.into_inner().unwrap_or_else(PoisonError::into_inner) {
            return Err(error);
        }
        for input in left.into_inner().unwrap_or_else(PoisonError::into_inner) {
            pool.install(|| one(&input))?;
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
