//! Many transcripts: finds them, compacts them in parallel, writes the results.
//!
//! Every input gets an [`Outcome`], whatever happens to it: one bad file never stops the batch. The order of outcomes does not
//! depend on the number of threads. Decides nothing about content.

mod budget;
mod clean;
mod clock;
mod detected;
mod emitted;
mod examine;
mod exclude;
mod filter;
mod find;
mod fork;
mod globs;
mod heard;
mod hooks;
mod input;
mod inspect;
mod limits;
mod load;
mod memory;
mod one;
mod origin;
mod over;
mod packed;
mod passed;
mod pour;
mod project;
mod record;
mod refusal;
mod resume;
mod retry;
mod sessions;
mod shard;
mod sink;
mod spool;
mod stdin;
mod stream;
mod strict;
mod sum;
mod target;
mod vanished;
mod walk;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use rayon::prelude::*;

use crate::artifacts::{ModelReply, ModelRequest, Replies, SummaryModel};
use crate::emit::Messages;
use crate::error::{Error, ErrorKind, Result};
use crate::format::Format;
use crate::outcome::Outcome;
use crate::policy::Effective;
use crate::semaphore::Semaphore;
use crate::store::Store;

use budget::{Budget, Share};
use hooks::{Before, Occasion, Trigger};
use one::Worked;
use refusal::Refusal;
use resume::Earlier;

pub use clock::WallClock;
pub use examine::{eval, eval_bytes, replay, replay_bytes, stats, stats_bytes, verify};
pub use exclude::Exclude;
pub use filter::Filter;
pub use find::{FileSource, Found, Origin, Source, find, find_outputs, has_ending, split_ending};
pub use fork::Fork;
pub use hooks::{Hooks, Words};
pub(crate) use inspect::each as each_transcript;
pub use inspect::{compact_bytes, compact_detected};
pub use limits::{Job, Limits};
pub use load::{Loaded, Loading};
pub(crate) use one::needs_archive;
pub use over::Over;
pub use packed::{Packed, Unpacked, pack_line, packed_path};
pub use passed::PassedBy;
pub use resume::{Resume, Trust};
pub use retry::retain_degraded;
pub use sessions::{
    Contents, Figures, Session, Sessions, Wanted, count as count_sessions, directory_of_head,
    session_at, sessions,
};
pub use shard::Shard;
pub use spool::{Outcomes, Sorted, Spooled};
pub use stdin::Stdin;
pub use stream::{Stream, filter};
pub use strict::BadLines;
pub use target::{Destination, Target, Targets, stores};
pub use vanished::{Gone, Orphans, vanished};

/// The settings of a run besides its policy.
#[derive(Debug)]
pub struct Options {
    /// Where outputs go.
    pub destination: Destination,
    /// The session that the output becomes, if it is to be one of its own.
    pub fork: Option<Fork>,
    /// The messages that are written of each result instead of the result, if any.
    pub emit: Option<Messages>,
    /// The store's folder, if the user named one.
    pub store: Option<PathBuf>,
    /// What to do about existing outputs.
    pub overwrite: Overwrite,
    /// Whether anything is written.
    pub effect: Effect,
    /// The format, if the user named one.
    pub format: Option<Format>,
    /// The answers of a scripted summariser.
    pub replies: Replies,
    /// The server for summaries, if the policy names a provider, and how many requests may be open at once.
    pub server: Option<(Box<dyn SummaryModel>, usize)>,
    /// How large inputs and their lines may be.
    pub limits: Limits,
    /// Which inputs are compacted.
    pub scope: Scope,
    /// Whether what earlier runs of the same command have finished is taken over.
    pub resume: Resume,
    /// How it is told that a file has not changed since.
    pub trust: Trust,
    /// What to do about lines that cannot be read.
    pub bad_lines: BadLines,
    /// The user's hooks. A dry run does not run them.
    pub hooks: Hooks,
    /// Threads.
    pub jobs: usize,
    /// The signal that ends the run; 0 = none yet.
    pub stop: Arc<AtomicUsize>,
    /// What measures the run, if the user asked for times.
    pub clock: Option<WallClock>,
}

/// What to do about existing outputs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Overwrite {
    /// Replace only those that ctxpack wrote.
    OwnOnly,
    /// Replace all.
    Any,
}

/// Which of the inputs are compacted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// All.
    All,
    /// Those whose output has no model's summary because the model failed. In place, they are made from their originals.
    Degraded,
}

/// Whether anything is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// Outputs, store and manifest are.
    Write,
    /// Nothing is; the report is the same.
    DryRun,
}

/// Shows the progress of a run.
pub trait Progress: Sync {
    /// An input of `bytes` bytes is done.
    fn done(&self, bytes: u64);

    /// How many summaries are being waited for.
    fn waiting(&self, summaries: usize);
}

/// The results of a run.
#[derive(Debug)]
pub struct Ran {
    /// The outcome of each input, in order.
    pub outcomes: Sorted,
    /// How many these are.
    pub files: u64,
    /// How many of them an earlier run of the same command had finished.
    pub taken_over: u64,
    /// What failed at the end and concerns no single input.
    pub faults: Vec<Error>,
}

/// Compacts what was found, in parallel; outcomes are in the order of inputs.
///
/// # Errors
/// What stops the run: contradictory options, a policy that asks for something that is not built in, a closed output
/// ([`ErrorKind::ClosedPipe`]).
pub fn run(
    found: &Found,
    effective: &Effective,
    options: &Options,
    progress: &dyn Progress,
) -> Result<Ran> {
    let targets = Targets::new(&found.sources, options)?;
    if options.effect == Effect::Write {
        targets.sweep();
    }
    let earlier = Earlier::new(effective, options, &targets);
    let taken_over = AtomicU64::new(0);
    // A thread that waits for a server lets another one run, so that no processor is idle.
    let turns = Semaphore::new(options.jobs);
    let refusal = Refusal::default();
    let asked = Waiting::of(options, &refusal, &turns, progress);
    let pool = pool(options.jobs + asked.as_ref().map_or(0, |asked| asked.at_once))?;
    let mut order: Vec<&Target> = targets.list.iter().collect();
    // The largest first, so that the last thread is not left with a large one.
    order.sort_by_key(|target| std::cmp::Reverse(target.bytes));
    let sizes = order.iter().map(|target| target.bytes);
    let budget = Budget::new(sizes, options.jobs, options.limits, Job::Once);
    let server = asked.as_ref().map(|asked| asked as &dyn SummaryModel);
    let run = one::Run::new(effective, options, server, &refusal)?;
    let no_hooks = Hooks::default();
    let hooks = match options.effect {
        Effect::Write => &options.hooks,
        Effect::DryRun => &no_hooks,
    };
    let occasion = Occasion {
        hooks,
        policy: &effective.policy.name,
        trigger: Trigger::of(&effective.policy),
        stop: &options.stop,
    };
    let after = |before: &Before<'_>, target: &Target, tried: Result<Worked>| {
        let (tried, left) = match tried {
            Ok(worked) => (Ok(worked.outcome), Some(worked.left)),
            Err(error) => (Err(error), None),
        };
        let mut outcome = outcome_of(tried, target, &options.destination)?;
        outcome.warnings.extend(before.warning());
        occasion.after(&mut outcome);
        if let Some(left) = left {
            earlier.note(target, &outcome, left);
        }
        Ok(outcome)
    };
    let is_alone = order.len() == 1;
    let finished = Finishing::new(options);
    let one = |target: &&'_ Target| {
        if options.stop.load(Ordering::Relaxed) == 0
            && let Some(outcome) = earlier.of(target)
        {
            progress.done(target.bytes);
            taken_over.fetch_add(1, Ordering::Relaxed);
            finished.add(Ok(outcome));
            return None;
        }
        let before = Before::new(occasion, target, &turns);
        let is_stream = *target.source == Source::Stdin;
        if is_stream && !is_alone {
            // It cannot be read twice, and its size is unknown.
            return Some(Box::new(before));
        }
        let tried = {
            let share = budget.take(target.bytes);
            let _turn = turns.acquire();
            attempt(&run, target, share, &before)
        };
        match tried {
            // Together the threads had too many open files or too much memory; one input at a time fits.
            Err(error) if !is_stream && (lacks_handles(&error) || is_crowded(&error)) => {
                Some(Box::new(before))
            }
            tried => {
                progress.done(target.bytes);
                finished.add(after(&before, target, tried));
                None
            }
        }
    };
    // One alone comes first where a server is asked: if it refuses the key, no other has been written yet.
    let alone = usize::from(asked.is_some()).min(order.len());
    let try_one = |at: usize| one(&order[at]).map(|before| (at, before));
    let again: Vec<(usize, Box<Before<'_>>)> = pool.install(|| {
        let mut again: Vec<_> = (0..alone).filter_map(try_one).collect();
        let others = (alone..order.len()).into_par_iter().with_max_len(1);
        again.extend(others.filter_map(try_one).collect::<Vec<_>>());
        again
    });
    // They must be tried once more; their hooks have run or not.
    for (at, before) in again {
        let target = order[at];
        let _turn = turns.acquire();
        let tried = attempt(&run, target, budget.take(target.bytes), &before);
        progress.done(target.bytes);
        finished.add(after(&before, target, tried));
    }
    let (mut outcomes, closed) = finished.into_parts();
    let mut faults = targets.finish(options.effect);
    if options.stop.load(Ordering::Relaxed) == 0 && closed.is_none() {
        faults.extend(earlier.end(&targets));
    }
    for (path, warning) in run.releases.clean_up() {
        outcomes.warn(&path, warning)?;
    }
    if let Some(closed) = closed {
        return Err(closed);
    }
    refusal.check()?;
    for path in &targets.left_out {
        outcomes.push(Outcome::skipped(path))?;
    }
    for error in &found.missing {
        let path = error.path.clone().unwrap_or_default();
        outcomes.push(Outcome::failed(&path, error))?;
    }
    Ok(Ran {
        files: outcomes.len() as u64,
        outcomes: outcomes.sorted(),
        taken_over: taken_over.into_inner(),
        faults,
    })
}

/// Starts the threads, so that the address space that they reserve no longer counts as free.
fn pool(threads: usize) -> Result<rayon::ThreadPool> {
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .build()
        .map_err(|e| Error::new(ErrorKind::Internal, format!("cannot start threads: {e}")))?;
    pool.broadcast(|_| ());
    Ok(pool)
}

/// A server whose answers are waited for by threads that let others run meanwhile.
struct Waiting<'r> {
    server: &'r dyn SummaryModel,
    refusal: &'r Refusal,
    turns: &'r Semaphore,
    at_once: usize,
    count: AtomicUsize,
    progress: &'r dyn Progress,
}

impl<'r> Waiting<'r> {
    /// The run's server, if it has one.
    fn of(
        options: &'r Options,
        refusal: &'r Refusal,
        turns: &'r Semaphore,
        progress: &'r dyn Progress,
    ) -> Option<Self> {
        let (server, at_once) = options.server.as_ref()?;
        Some(Waiting {
            server: server.as_ref(),
            refusal,
            turns,
            at_once: *at_once,
            count: AtomicUsize::new(0),
            progress,
        })
    }
}

impl std::fmt::Debug for Waiting<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Waiting").field(&self.server).finish()
    }
}

impl SummaryModel for Waiting<'_> {
    fn summarize(&self, request: &ModelRequest<'_>, store: Option<&Store>) -> ModelReply {
        let count = self.count.fetch_add(1, Ordering::Relaxed) + 1;
        self.progress.waiting(count);
        let reply = self.turns.lend(|| self.server.summarize(request, store));
        self.refusal.note(&reply);
        let count = self.count.fetch_sub(1, Ordering::Relaxed) - 1;
        self.progress.waiting(count);
        reply
    }
}

/// Collects the outcomes of all threads.
struct Finishing(Mutex<(Outcomes, Option<Error>)>);

impl Finishing {
    fn new(options: &Options) -> Self {
        let folder = match &options.destination {
            Destination::Folder(folder) if options.effect == Effect::Write => folder.clone(),
            _ => std::env::temp_dir(),
        };
        Finishing(Mutex::new((Outcomes::new(&folder), None)))
    }

    fn add(&self, finished: Result<Outcome>) {
        let mut parts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (outcomes, stopped) = &mut *parts;
        match finished.and_then(|outcome| outcomes.push(outcome)) {
            // Interrupted before its output got its name.
            Err(error) if error.kind == ErrorKind::Interrupted => {}
            // A closed output, or a disk that takes no more.
            Err(error) => drop(stopped.get_or_insert(error)),
            Ok(()) => {}
        }
    }

    /// The outcomes; and the error of a closed output, which ends the run when all is in order.
    fn into_parts(self) -> (Outcomes, Option<Error>) {
        self.0.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The outcome of an input; a remaining error concerns the run.
fn outcome_of(
    tried: Result<Outcome>,
    target: &Target,
    destination: &Destination,
) -> Result<Outcome> {
    let input = target.input_path();
    match tried {
        Err(error) if matches!(error.kind, ErrorKind::Interrupted | ErrorKind::ClosedPipe) => {
            Err(error)
        }
        Err(error) if error.kind == ErrorKind::Changed && *destination == Destination::InPlace => {
            Ok(Outcome::left_alone(input, &error))
        }
        Err(error) if error.kind == ErrorKind::Hook => Ok(Outcome::left_alone(input, &error)),
        Err(error) => Ok(Outcome::failed(input, &error)),
        Ok(outcome) => Ok(outcome),
    }
}

/// Processes one input; a panic becomes its outcome. [`ErrorKind::Interrupted`]: the run ended before the output got its name.
fn attempt(
    run: &one::Run<'_>,
    target: &Target,
    share: Share<'_>,
    before: &Before<'_>,
) -> Result<Worked> {
    let compact = || run.compact(target, share, before);
    catch_unwind(AssertUnwindSafe(compact)).unwrap_or_else(|_| {
        let path = target.input_path();
        let error = Error::new(
            ErrorKind::Internal,
            "ctxpack failed on this file; the original is unchanged",
        )
        .at(path);
        Err(error)
    })
}

/// Whether an input failed because others held the memory that it needed.
fn is_crowded(error: &Error) -> bool {
    error.kind == ErrorKind::Crowded
}

/// Whether the process (error 24) or the system (23) had no file handles left.
fn lacks_handles(error: &Error) -> bool {
    let source = error.source.as_ref();
    source.is_some_and(|source| matches!(source.raw_os_error(), Some(23 | 24)))
}
