//! Many inputs looked at in parallel, for their own sake: nothing is written.

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::atomic::AtomicUsize;

use rayon::prelude::*;

use super::budget::Budget;
use super::input::Input;
use super::one::detect;
use super::{Found, Progress, Source};
use crate::error::{Error, ErrorKind, Result};
use crate::format::{Detected, Format};
use crate::outcome::path_text;

/// How inputs are gone over.
#[expect(
    missing_debug_implementations,
    reason = "whoever is told how far it is need not have one"
)]
pub struct Over<'o> {
    /// The inputs.
    pub found: &'o Found,
    /// The format, where the user named one.
    pub format: Option<Format>,
    /// Threads.
    pub jobs: usize,
    /// The signal that ends the run.
    pub stop: &'o AtomicUsize,
    /// Who is told how far it is.
    pub progress: &'o dyn Progress,
}

impl Over<'_> {
    /// What `look` makes of each input, and `failed` of one that cannot be read; in the order of their paths.
    ///
    /// # Errors
    /// What stops the run: threads that do not start, a signal ([`ErrorKind::Interrupted`]).
    pub(super) fn each<T: Send>(
        &self,
        look: impl Fn(&Path, Detected, &[u8]) -> T + Sync,
        failed: impl Fn(&Path, &Error) -> T + Sync,
    ) -> Result<Vec<T>> {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(self.jobs)
            .build()
            .map_err(|e| Error::new(ErrorKind::Internal, format!("cannot start threads: {e}")))?;
        let sources = self.found.sources.iter();
        let mut order: Vec<(u64, &Source)> = sources.map(|s| (bytes_of(s), s)).collect();
        // The largest first, so that no thread is left alone with one at the end.
        order.sort_by_key(|(bytes, _)| std::cmp::Reverse(*bytes));
        let budget = Budget::new(order.first().map_or(0, |(bytes, _)| *bytes), self.jobs);
        let one = |(bytes, source): &(u64, &Source)| {
            let _share = budget.take(*bytes);
            let looked = catch_unwind(AssertUnwindSafe(|| self.one(source, &look)));
            self.progress.done(*bytes);
            let looked = looked.unwrap_or_else(|_| {
                let error = Error::new(ErrorKind::Internal, "ctxpack failed on this file");
                Err(error.at(source.path()))
            });
            match looked {
                Err(error) if error.kind != ErrorKind::Interrupted => {
                    Ok(failed(source.path(), &error))
                }
                looked => looked,
            }
        };
        let looked: Result<Vec<(String, T)>> = pool.install(|| {
            let inputs = order.par_iter().with_max_len(1);
            let named = |input: &(u64, &Source)| Ok((path_text(input.1.path()), one(input)?));
            inputs.map(named).collect()
        });
        let mut looked = looked?;
        looked.extend(self.found.missing.iter().map(|error| {
            let path = error.path.clone().unwrap_or_default();
            (path_text(&path), failed(&path, error))
        }));
        looked.sort_by(|(a, _), (b, _)| a.cmp(b));
        Ok(looked.into_iter().map(|(_, looked)| looked).collect())
    }

    fn one<T>(&self, source: &Source, look: impl Fn(&Path, Detected, &[u8]) -> T) -> Result<T> {
        let path = source.path();
        let mut input = Input::open(source, path, self.stop)?;
        let detected = detect(&mut input, self.format)?;
        while input.more()? {}
        Ok(look(path, detected, &input.buffer))
    }
}

/// How large an input is; a stream counts for nothing.
fn bytes_of(source: &Source) -> u64 {
    match source {
        Source::Stdin => 0,
        Source::File(file) => fs::metadata(&file.path).map_or(0, |metadata| metadata.len()),
    }
}
