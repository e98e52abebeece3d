//! Processes many transcripts: finds them, compacts them in parallel, writes the results.
//!
//! Every input gets an [`Outcome`](crate::outcome::Outcome), whatever happens to it: one bad file never stops the batch. The
//! order of outcomes does not depend on the number of threads. Decides nothing about content.

mod budget;
mod clean;
mod clock;
mod detected;
mod emitted;
mod examine;
mod exclude;
mod feed;
mod filter;
mod find;
mod findings;
mod finishing;
mod fork;
mod found;
mod gather;
mod globs;
mod heard;
mod hooks;
mod input;
mod inspect;
mod key_set;
mod limits;
mod list;
mod load;
mod memory;
mod names;
mod one;
mod origin;
mod orphans;
mod over;
mod packed;
mod paths;
mod pour;
mod project;
mod queue;
mod record;
mod refusal;
mod reported;
mod resume;
mod retry;
mod run;
mod sessions;
mod shard;
mod sink;
mod skipped;
mod snapshot;
mod sorter;
mod source;
mod spool;
mod stdin;
mod stream;
mod strict;
mod sum;
mod target;
mod targets;
mod walk;
mod walking;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::artifacts::{ModelReply, ModelRequest, Replies, SummaryModel};
use crate::emit::Messages;
use crate::error::{Error, ErrorKind, Result};
use crate::format::Format;
use crate::outcome::Outcome;
use crate::policy::{Names, Policy};
use crate::semaphore::Semaphore;
use crate::store::Store;

use refusal::Refusal;

pub use clock::WallClock;
pub use examine::{eval, eval_bytes, replay, replay_bytes, stats, stats_bytes, verify};
pub use exclude::Exclude;
pub use filter::Filter;
pub use find::Search;
pub use findings::FileFindings;
pub use fork::Fork;
pub use found::{FoldersOfInputs, Found};
pub use hooks::{HookOutput, Hooks};
pub(crate) use inspect::each as each_transcript;
pub use inspect::{compact_bytes, compact_detected};
pub use key_set::KeySet;
#[cfg(feature = "cli")]
pub(crate) use key_set::{PlaceKey, place_key};
pub use limits::{Limits, Workload};
pub use list::{SourceList, Sources};
pub use load::{Loaded, Loading};
pub use names::{has_ending, split_ending};
pub(crate) use one::needs_archive;
pub use orphans::{OrphanPolicy, OrphanReport, orphaned_outputs};
pub use over::Over;
pub use packed::{Packed, Unpacked, pack_line, packed_path};
pub use paths::Paths;
pub use reported::{Reported, stats_beside};
pub use resume::{MatchedInputs, ReportNotes, Resume, Trust};
pub use retry::retain_degraded;
pub use run::{run, run_walking};
pub use sessions::{
    Contents, Figures, Meant, NO_HOME, Session, Sessions, Wanted, agents_folders,
    count as count_sessions, directory_of_head, import_of, number_of, session_at, sessions,
};
pub use shard::Shard;
pub use skipped::{SkipReason, Skipped};
pub use source::{FileSource, Origin, Source};
pub use spool::{Kept, Outcomes, Passes, Sorted, Spool, unread};
pub use stdin::Stdin;
pub use stream::{Stream, filter};
pub use strict::BadLines;
pub use target::{Destination, Target, compacted_beside};
pub use targets::{Targets, refuse_folder, stores};
pub use walking::StreamingWalk;

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
    /// How outputs written by ctxpack are recognised, besides the store's records.
    pub reported: Reported,
    /// Whether anything is written.
    pub effect: Effect,
    /// The format, if the user named one.
    pub format: Option<Format>,
    /// The answers of a scripted summariser.
    pub replies: Replies,
    /// The server for summaries, if the policy names a provider, and how many requests may be open at once.
    pub server: Option<(Box<dyn SummaryModel>, usize)>,
    /// The maximum size of inputs and their lines.
    pub limits: Limits,
    /// Which inputs are compacted.
    pub scope: Scope,
    /// Whether results that earlier runs of the same command have finished are taken over.
    pub resume: Resume,
    /// How to tell that a file has not changed since.
    pub trust: Trust,
    /// What to do about lines that cannot be read.
    pub bad_lines: BadLines,
    /// The user's hooks. A dry run does not run them.
    pub hooks: Hooks,
    /// The number of threads.
    pub jobs: usize,
    /// The signal that ends the run; 0 = none yet.
    pub stop: Arc<AtomicUsize>,
    /// The clock that measures the run, if the user asked for times.
    pub clock: Option<WallClock>,
}

impl Options {
    /// The folder for unnamed files, which need not exist.
    pub fn scratch(&self) -> PathBuf {
        match &self.destination {
            Destination::Folder(out) if self.effect == Effect::Write => out.clone(),
            _ => std::env::temp_dir(),
        }
    }

    /// How texts of outputs name what is in the store.
    fn names(&self, policy: &Policy) -> Names {
        match self.destination.is_in_place() || self.fork.is_some() {
            true => Names::Absolute,
            false => policy.store.names,
        }
    }
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
    /// Inputs whose output has no model's summary because the model failed. In place, they are compacted from their originals.
    Degraded,
}

/// Whether anything is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// Outputs, store and manifest are written.
    Write,
    /// Nothing is written; the report is the same.
    DryRun,
}

/// Shows the progress of a run.
pub trait Progress: Sync {
    /// Called when an input of `bytes` bytes is finished.
    fn done(&self, bytes: u64);

    /// Called with the number of summaries that are being waited for.
    fn waiting(&self, summaries: usize);

    /// Called when a walk in progress has found an input of `bytes` bytes.
    fn found(&self, _bytes: u64) {}

    /// Whether to call [`Progress::counted`]: a second walk counts while the first one waits for the working threads.
    fn wants_count(&self) -> bool {
        false
    }

    /// Called with the approximate number of inputs that a walk will find.
    fn counted(&self, _inputs: u64) {}

    /// The walk has ended: no more inputs are found.
    fn all_found(&self) {}

    /// Called when the run was interrupted and no input is being processed any more: what remains is to count the rest, and to
    /// report.
    fn work_ended(&self) {}

    /// Called when the outcome of an input is final, unless [`Ran::changed`] names it. No link is followed below `base` on the way
    /// to its output. If there are many, outcomes that an earlier run has finished are shown only if [`Progress::wants_outcomes`]
    /// returns `true`.
    fn ended(&self, _outcome: &Outcome, _base: Option<&Path>) {}

    /// Whether [`Progress::ended`] is also to be called for inputs that an earlier run has finished.
    fn wants_outcomes(&self) -> bool {
        false
    }
}

/// The results of a run.
#[derive(Debug)]
pub struct Ran {
    /// The outcome of each input, in order.
    pub outcomes: Sorted,
    /// The number of outcomes.
    pub files: u64,
    /// How many of them an earlier run of the same command had finished.
    pub taken_over: u64,
    /// The inputs whose outcomes were amended at the end of the run.
    pub changed: Vec<String>,
    /// The inputs of the run, as far as they are known.
    pub met: MatchedInputs,
    /// What is noted about the reports of the run.
    pub report_notes: ReportNotes,
    /// Errors at the end that concern no single input.
    pub faults: Vec<Error>,
}

/// Starts the threads, so that the address space that they reserve no longer counts as free.
///
/// # Errors
/// [`ErrorKind::Internal`] if the system cannot start the threads.
pub fn pool(threads: usize) -> Result<rayon::ThreadPool> {
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .build()
        .map_err(|e| Error::new(ErrorKind::Internal, format!("cannot start threads: {e}")))?;
    pool.broadcast(|_| ());
    Ok(pool)
}

/// A server whose callers let other threads run while they wait for its answers.
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
    fn settle(&self, store: &Store) {
        self.server.settle(store);
    }

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

/// Whether an input failed because others held the memory that it needed.
fn is_crowded(error: &Error) -> bool {
    error.kind == ErrorKind::Crowded
}

/// Whether the process (error 24) or the system (23) had no file handles left.
fn lacks_handles(error: &Error) -> bool {
    let source = error.source.as_ref();
    source.is_some_and(|source| matches!(source.raw_os_error(), Some(23 | 24)))
}
