//! Many transcripts: find them, compact them in parallel, write what comes of it.
//!
//! Every input becomes an [`Outcome`], whatever happens to it: one bad file never stops the batch. The order of outcomes
//! does not depend on the number of threads. Nothing here decides about content.

mod budget;
mod find;
mod input;
mod inspect;
mod one;
mod over;
mod pour;
mod replay;
mod sink;
mod stats;
mod stdin;
mod target;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use rayon::prelude::*;

use crate::artifacts::Replies;
use crate::error::{Error, ErrorKind, Result};
use crate::format::Format;
use crate::outcome::Outcome;
use crate::policy::Effective;

pub use find::{FileSource, Found, Source, find};
pub use inspect::{Inspected, compact_bytes, inspect};
pub use replay::{replay, replay_bytes};
pub use stats::stats;
pub use stdin::Stdin;
pub use target::{Destination, Target, Targets};

/// What a run does, besides its policy.
#[derive(Debug)]
pub struct Options {
    /// Where outputs go.
    pub destination: Destination,
    /// The store's folder, where the user named one.
    pub store: Option<PathBuf>,
    /// What happens to outputs that are there already.
    pub overwrite: Overwrite,
    /// Whether anything is written.
    pub effect: Effect,
    /// The format, where the user named one.
    pub format: Option<Format>,
    /// The answers of a scripted summariser.
    pub replies: Replies,
    /// Threads.
    pub jobs: usize,
    /// The signal that ends the run; 0: none yet.
    pub stop: Arc<AtomicUsize>,
}

/// What happens to outputs that are there already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Overwrite {
    /// Only those that ctxpack wrote itself are replaced.
    OwnOnly,
    /// All are.
    Any,
}

/// Whether anything is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// Outputs, store, manifest.
    Write,
    /// Nothing; the report is the same.
    DryRun,
}

/// Hears how far a run is.
pub trait Progress: Sync {
    /// An input is done; it had so many bytes.
    fn done(&self, bytes: u64);
}

/// Compacts what was found, in parallel; outcomes are in the order of inputs.
///
/// # Errors
/// What stops the run before its first input, or in its end: contradictory options, a policy that asks for what is not
/// built in, a manifest that cannot be written, a reader of the output that has gone ([`ErrorKind::ClosedPipe`]).
pub fn run(
    found: &Found,
    effective: &Effective,
    options: &Options,
    progress: &dyn Progress,
) -> Result<Vec<Outcome>> {
    let targets = Targets::new(&found.sources, options)?;
    if options.effect == Effect::Write {
        targets.sweep();
    }
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(options.jobs)
        .build()
        .map_err(|e| Error::new(ErrorKind::Internal, format!("cannot start threads: {e}")))?;
    let run = one::Run::new(effective, options)?;
    let mut order: Vec<&Target> = targets.list.iter().collect();
    // The largest first, so that no thread is left alone with one at the end.
    order.sort_by_key(|target| std::cmp::Reverse(target.bytes));
    let budget = budget::Budget::new(order.first().map_or(0, |target| target.bytes), options.jobs);
    let one = |target: &&Target| {
        let _share = budget.take(target.bytes);
        let tried = attempt(&run, target);
        progress.done(target.bytes);
        tried
    };
    let tried: Vec<Result<Outcome>> =
        pool.install(|| order.par_iter().with_max_len(1).map(one).collect());
    let mut outcomes = Vec::with_capacity(tried.len());
    let mut closed = None;
    for (target, tried) in order.into_iter().zip(tried) {
        let tried = match tried {
            // The threads together held too many files open; one at a time fits. A stream cannot be read twice.
            Err(error) if lacks_handles(&error) && target.source != Source::Stdin => {
                attempt(&run, target)
            }
            tried => tried,
        };
        match tried {
            Ok(outcome) => outcomes.push(outcome),
            Err(error) if error.kind == ErrorKind::Interrupted => {}
            Err(error) if error.kind == ErrorKind::ClosedPipe => closed = Some(error),
            Err(error)
                if error.kind == ErrorKind::Changed
                    && options.destination == Destination::InPlace =>
            {
                outcomes.push(Outcome::in_use(target.input_path(), &error));
            }
            Err(error) => outcomes.push(Outcome::failed(target.input_path(), &error)),
        }
    }
    targets.finish(options.effect)?;
    for (output, warning) in run.clean_up() {
        let of_this = |outcome: &&mut Outcome| outcome.output.as_deref() == Some(output.as_str());
        if let Some(outcome) = outcomes.iter_mut().find(of_this) {
            outcome.warnings.push(warning);
        }
    }
    if let Some(closed) = closed {
        return Err(closed);
    }
    outcomes.extend(targets.left_out.iter().map(|path| Outcome::skipped(path)));
    outcomes.extend(found.missing.iter().map(|error| {
        let path = error.path.clone().unwrap_or_default();
        Outcome::failed(&path, error)
    }));
    outcomes.sort_by(|a, b| a.input.cmp(&b.input));
    Ok(outcomes)
}

/// One input; a panic becomes its outcome. [`ErrorKind::Interrupted`]: the run ended before its output took its name.
fn attempt(run: &one::Run<'_>, target: &Target) -> Result<Outcome> {
    catch_unwind(AssertUnwindSafe(|| run.compact(target))).unwrap_or_else(|_| {
        let path = target.input_path();
        let error = Error::new(
            ErrorKind::Internal,
            "ctxpack failed on this file; the original is untouched",
        )
        .at(path);
        Ok(Outcome::failed(path, &error))
    })
}

/// Whether the process (24) or the system (23) had no file handle left.
fn lacks_handles(error: &Error) -> bool {
    let source = error.source.as_ref();
    source.is_some_and(|source| matches!(source.raw_os_error(), Some(23 | 24)))
}
