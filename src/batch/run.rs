//! A run: deals inputs out to threads, processes each, and collects the outcomes.
//!
//! Listed inputs are processed largest first; inputs of a walk as they arrive, the largest waiting one first. Results do not
//! depend on the order.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use rayon::prelude::*;

use super::budget::{Budget, Reservation};
use super::finishing::Finishing;
use super::hooks::{HookContext, Hooks, PreHook, Trigger};
use super::limits::Workload;
use super::one::{self, InputContext, Processed};
use super::queue::{Dealt, Queue};
use super::refusal::Refusal;
use super::resume::{Earlier, TakenOver, Wanted};
use super::walking::StreamingWalk;
use super::{
    Destination, Effect, Found, Options, Progress, Ran, Skipped, Source, Target, Targets, Waiting,
    is_crowded, lacks_handles, pool,
};
use crate::artifacts::SummaryModel;
use crate::error::{Error, ErrorKind, Result};
use crate::outcome::{Outcome, path_text};
use crate::policy::Effective;
use crate::semaphore::Semaphore;
use crate::store::finished::Elsewhere;

/// Compacts the inputs that were found, in parallel; outcomes are in the order of inputs.
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
    let mut order: Vec<&Target> = targets.list.iter().collect();
    // The largest first, so that the last thread is not left with a large one.
    order.sort_by_key(|target| std::cmp::Reverse(target.bytes));
    let shared = Shared::new(options, progress);
    let asked = shared.asked();
    // If a server is used, one input is processed alone first: if the server rejects the key, no other output has been written yet.
    let alone = usize::from(asked.is_some()).min(order.len());
    let threads = pool(options.jobs + asked.as_ref().map_or(0, |asked| asked.at_once))?;
    let sizes = order.iter().map(|target| target.bytes);
    let budget = Budget::new(sizes, options.jobs, options.limits, Workload::Once);
    let server = asked.as_ref().map(|asked| asked as &dyn SummaryModel);
    let run = one::Run::new(effective, options, server, &shared.refusal)?;
    let running = threads.install(|| Running::new((run, effective), &shared, (&targets, &budget)));
    let company = match order.len() {
        1 => InputCount::None,
        _ => InputCount::Others,
    };
    let try_one = |at: usize| {
        running
            .once(&targets, order[at], company)
            .map(|before| (at, before))
    };
    let again: Vec<(usize, Box<PreHook<'_>>)> = threads.install(|| {
        let mut again: Vec<_> = (0..alone).filter_map(try_one).collect();
        let others = (alone..order.len()).into_par_iter().with_max_len(1);
        again.extend(others.filter_map(try_one).collect::<Vec<_>>());
        again
    });
    for (at, before) in again {
        running.again(order[at], &before);
    }
    if running.is_interrupted() {
        progress.work_ended();
    }
    running.end(&targets, found)
}

/// Compacts the inputs of a folder while it is walked; outcomes are in the order of inputs. Also returns what was found.
///
/// # Errors
/// The errors of [`run`], and those of finding the inputs.
pub fn run_walking(
    walking: &StreamingWalk,
    effective: &Effective,
    options: &Options,
    progress: &dyn Progress,
) -> Result<(Ran, Found)> {
    let Some(targets) = Targets::below(&walking.folder, options)? else {
        return Err(Error::new(
            ErrorKind::Internal,
            "a streaming walk needs outputs that are determined by each input alone",
        ));
    };
    if options.effect == Effect::Write {
        targets.sweep();
    }
    let shared = Shared::new(options, progress);
    let threads = pool(options.jobs)?;
    let budget = Budget::new(
        std::iter::empty(),
        options.jobs,
        options.limits,
        Workload::Once,
    );
    let run = one::Run::new(effective, options, None, &shared.refusal)?;
    let queue = Queue::default();
    let again = Mutex::new(Vec::new());
    let left_out = Mutex::new(Skipped::default());
    let walk = || {
        let mut filler = queue.filler();
        let found = walking.each(&mut |source, look| {
            let bytes = look.map_or(0, |look| look.seen.bytes);
            budget.announce_size(bytes);
            progress.found(bytes);
            filler.put((source, look));
        });
        progress.all_found();
        found
    };
    let (running, mut found) = thread::scope(|scope| {
        // In the meantime, the results of earlier runs are read.
        let walker = thread::Builder::new().spawn_scoped(scope, walk);
        let walker = walker
            .map_err(|e| Error::new(ErrorKind::Internal, format!("cannot start a thread: {e}")))?;
        if progress.wants_count() {
            // The run is the same if this thread cannot be started.
            let _ = thread::Builder::new().spawn_scoped(scope, || {
                progress.counted(walking.count());
            });
        }
        let running =
            threads.install(|| Running::new((run, effective), &shared, (&targets, &budget)));
        let idle = AtomicUsize::new(0);
        let work = || {
            let mut is_idle = false;
            while let Some(dealt) = queue.next() {
                if running.is_interrupted() {
                    if !is_idle && idle.fetch_add(1, Ordering::Relaxed) + 1 == options.jobs {
                        progress.work_ended();
                    }
                    is_idle = true;
                    // The walk goes on, to count the rest; if there is a filter, each input still has to be examined.
                    if walking.filter.takes_all() {
                        queue.close();
                        break;
                    }
                }
                let dealt = match dealt {
                    Dealt::Found(mut found) => {
                        found.retain(|met| {
                            let path = met.0.path();
                            let Some(why) = walking.filter.leaves_out(path) else {
                                let target = targets.of(met, options);
                                return target.is_some_and(|target| !running.is_done(&target));
                            };
                            let mut left_out =
                                left_out.lock().unwrap_or_else(PoisonError::into_inner);
                            left_out.count(path.to_owned(), why);
                            progress.done(met.1.map_or(0, |look| look.seen.bytes));
                            false
                        });
                        queue.put_back(found);
                        continue;
                    }
                    Dealt::Largest(dealt) => dealt,
                };
                for met in dealt {
                    let Some(target) = targets.of(&met, options) else {
                        continue;
                    };
                    if let Some(before) = running.process(&targets, &target, InputCount::Others) {
                        let mut again = again.lock().unwrap_or_else(PoisonError::into_inner);
                        again.push((met, before));
                    }
                }
            }
        };
        threads.broadcast(|_| work());
        if running.is_interrupted() {
            progress.work_ended();
        }
        let found = walker.join().unwrap_or_else(|_| {
            let message = "internal error while walking the folder";
            Err(Error::new(ErrorKind::Internal, message).at(&walking.folder))
        });
        found.map(|found| (running, found))
    })?;
    let left_out = left_out
        .into_inner()
        .unwrap_or_else(PoisonError::into_inner);
    found.met -= found.skipped.absorb(left_out);
    let again = again.into_inner().unwrap_or_else(PoisonError::into_inner);
    for (met, before) in again {
        if let Some(target) = targets.of(&met, options) {
            running.again(&target, &before);
        }
    }
    Ok((running.end(&targets, &found)?, found))
}

/// What a run has from its beginning to its end.
struct Shared<'r> {
    options: &'r Options,
    progress: &'r dyn Progress,
    /// A thread that waits for a server lets another thread run, so that no processor is idle.
    turns: Semaphore,
    refusal: Refusal,
    no_hooks: Hooks,
}

impl<'r> Shared<'r> {
    fn new(options: &'r Options, progress: &'r dyn Progress) -> Self {
        Shared {
            options,
            progress,
            turns: Semaphore::new(options.jobs),
            refusal: Refusal::default(),
            no_hooks: Hooks::default(),
        }
    }

    fn asked(&self) -> Option<Waiting<'_>> {
        Waiting::of(self.options, &self.refusal, &self.turns, self.progress)
    }
}

/// Whether an input is the only one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum InputCount {
    /// It is the only one.
    None,
    /// There are, or may be, others.
    Others,
}

/// A run whose inputs are being tried.
struct Running<'r> {
    shared: &'r Shared<'r>,
    budget: &'r Budget,
    run: one::Run<'r>,
    hook_context: HookContext<'r>,
    earlier: Earlier<'r>,
    finished: Finishing,
    taken_over: AtomicU64,
}

impl<'r> Running<'r> {
    /// Reads what earlier runs have left, using the threads of the pool in which this is called.
    fn new(
        (run, effective): (one::Run<'r>, &'r Effective),
        shared: &'r Shared<'r>,
        (targets, budget): (&Targets<'_>, &'r Budget),
    ) -> Self {
        let options = shared.options;
        let earlier = Earlier::new(effective, options, targets);
        Running {
            shared,
            budget,
            run,
            hook_context: HookContext {
                hooks: match options.effect {
                    Effect::Write => &options.hooks,
                    Effect::DryRun => &shared.no_hooks,
                },
                policy: &effective.policy.name,
                trigger: Trigger::of(&effective.policy),
                stop: &options.stop,
            },
            finished: Finishing::new(options, earlier.len()),
            earlier,
            taken_over: AtomicU64::new(0),
        }
    }

    fn is_interrupted(&self) -> bool {
        self.shared.options.stop.load(Ordering::Relaxed) != 0
    }

    /// Whether an input need not be processed; if an earlier run has finished it, takes it over.
    fn is_done(&self, target: &Target<'_>) -> bool {
        // After an interrupt, the remaining inputs are only counted.
        if self.is_interrupted() {
            return true;
        }
        let taken = self.earlier.of(target, self.wanted());
        taken.map(|taken| self.take_over(target, taken)).is_some()
    }

    /// Processes an input unless that is done; returns the same as [`Running::process`].
    fn once(
        &self,
        targets: &Targets<'_>,
        target: &Target<'_>,
        company: InputCount,
    ) -> Option<Box<PreHook<'r>>> {
        match self.is_done(target) {
            true => None,
            false => self.process(targets, target, company),
        }
    }

    /// Processes an input; returns its hook, which may have run already, if the input must be retried once the others are finished.
    fn process(
        &self,
        targets: &Targets<'_>,
        target: &Target<'_>,
        company: InputCount,
    ) -> Option<Box<PreHook<'r>>> {
        let options = self.shared.options;
        if self.is_interrupted() {
            return None;
        }
        targets.begin(target, options.effect);
        let before = PreHook::new(self.hook_context, target, &self.shared.turns);
        let is_stream = *target.source == Source::Stdin;
        if is_stream && company == InputCount::Others {
            // It cannot be read twice, and its size is unknown.
            return Some(Box::new(before));
        }
        let tried = {
            let share = self.budget.take(target.bytes);
            let _turn = self.shared.turns.acquire();
            self.attempt(target, share, &before)
        };
        match tried {
            // Together the threads had too many open files or too much memory; one input at a time fits.
            Err(error) if !is_stream && (lacks_handles(&error) || is_crowded(&error)) => {
                Some(Box::new(before))
            }
            tried => {
                self.ended(&before, target, tried);
                None
            }
        }
    }

    /// Finishes an input that was processed. An outcome that was noted is on disk, and is not written there again.
    fn ended(&self, before: &PreHook<'r>, target: &Target<'_>, tried: Result<Processed>) {
        // Another run of the same command may have been faster.
        let is_taken = |error: &Error| matches!(error.kind, ErrorKind::Exists | ErrorKind::Changed);
        if tried.as_ref().is_err_and(is_taken)
            && let Some(taken) = self.earlier.meanwhile(target, self.wanted())
        {
            return self.take_over(target, taken);
        }
        self.shared.progress.done(target.bytes);
        match self.after(before, target, tried) {
            Ok((outcome, Some(place))) => self.finished.add_noted(outcome, place),
            Ok((outcome, None)) => self.finished.add(Ok(outcome)),
            Err(error) => self.finished.add(Err(error)),
        }
    }

    /// What is needed of a finished input: an outcome that is already on disk is not read and written again.
    fn wanted(&self) -> Wanted {
        match self.finished.are_spooled() && !self.shared.progress.wants_outcomes() {
            true => Wanted::Figures,
            false => Wanted::Outcome,
        }
    }

    /// Takes over an input that another run has finished.
    fn take_over(&self, target: &Target<'_>, taken: TakenOver) {
        let progress = self.shared.progress;
        match taken {
            TakenOver::Noted(figures, place) => {
                let path = path_text(target.input_path());
                self.finished.add_elsewhere(path, figures, &place);
            }
            TakenOver::Outcome(outcome) => {
                progress.ended(&outcome, target.base.as_deref());
                self.finished.add(Ok(*outcome));
            }
        }
        progress.done(target.bytes);
        self.taken_over.fetch_add(1, Ordering::Relaxed);
    }

    /// Retries an input alone.
    fn again(&self, target: &Target<'_>, before: &PreHook<'r>) {
        let _turn = self.shared.turns.acquire();
        let tried = self.attempt(target, self.budget.take(target.bytes), before);
        self.ended(before, target, tried);
    }

    fn attempt(
        &self,
        target: &Target<'_>,
        share: Reservation<'_>,
        before: &PreHook<'r>,
    ) -> Result<Processed> {
        let requester = self.earlier.requester(target);
        let context = InputContext {
            before,
            requester: requester.as_deref(),
        };
        attempt(&self.run, target, share, context)
    }

    fn after(
        &self,
        before: &PreHook<'r>,
        target: &Target<'_>,
        tried: Result<Processed>,
    ) -> Result<(Outcome, Option<Elsewhere>)> {
        let (tried, left) = match tried {
            Ok(worked) => (Ok(worked.outcome), Some(worked.left)),
            Err(error) => (Err(error), None),
        };
        let mut outcome = outcome_of(tried, target, &self.shared.options.destination)?;
        outcome.warnings.extend(before.warning());
        self.hook_context.after(&mut outcome);
        let place = left.and_then(|left| self.earlier.note(target, &outcome, left));
        let progress = self.shared.progress;
        progress.ended(&outcome, target.base.as_deref());
        Ok((outcome, place))
    }

    /// Ends the run after all inputs were processed.
    fn end(self, targets: &Targets<'_>, found: &Found) -> Result<Ran> {
        let options = self.shared.options;
        let (mut outcomes, closed) = self.finished.into_parts();
        let mut faults = targets.finish(options.effect);
        if options.stop.load(Ordering::Relaxed) == 0 && closed.is_none() {
            faults.extend(self.earlier.end(targets));
        }
        let mut changed = Vec::new();
        for (path, warning) in self.run.releases.clean_up() {
            outcomes.warn(&path, warning);
            changed.push(path);
        }
        if let Some(closed) = closed {
            return Err(closed);
        }
        self.shared.refusal.check()?;
        for path in &targets.left_out {
            outcomes.push(Outcome::skipped(path))?;
        }
        for error in &found.missing {
            let path = error.path.clone().unwrap_or_default();
            outcomes.push(Outcome::failed(&path, error))?;
        }
        Ok(Ran {
            files: outcomes.len() as u64,
            outcomes: outcomes.sorted()?,
            taken_over: self.taken_over.into_inner(),
            changed,
            report_notes: self.earlier.report_notes(targets),
            met: self.earlier.into_met(),
            faults,
        })
    }
}

/// The outcome of an input; an error that remains concerns the whole run.
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

/// Processes one input; turns a panic into an outcome. [`ErrorKind::Interrupted`]: the run ended before the output got its name.
fn attempt(
    run: &one::Run<'_>,
    target: &Target,
    share: Reservation<'_>,
    context: InputContext<'_>,
) -> Result<Processed> {
    let compact = || run.compact(target, share, context);
    catch_unwind(AssertUnwindSafe(compact)).unwrap_or_else(|_| {
        let path = target.input_path();
        let error = Error::new(
            ErrorKind::Internal,
            "internal error while compacting this file; the original is unchanged",
        )
        .at(path);
        Err(error)
    })
}
