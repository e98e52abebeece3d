//! A run: deals inputs out to threads, processes each, and collects the outcomes.
//!
//! Inputs are processed as they arrive, the largest waiting one first; a short list arrives before the first is processed. Results
//! do not depend on the order.

mod inputs;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use rayon::ThreadPool;

use super::budget::{Budget, Reservation};
use super::feed::Feeding;
use super::finishing::Finishing;
use super::hooks::{HookContext, Hooks, PreHook, Trigger};
use super::limits::Workload;
use super::one::{self, InputContext, Processed};
use super::queue::QueuedInput;
use super::refusal::Refusal;
use super::resume::{Earlier, TakenOver, Wanted};
use super::walking::StreamingWalk;
use super::{
    Destination, Effect, Found, Options, Progress, Ran, Source, Target, Targets, Waiting,
    is_crowded, lacks_handles, pool,
};
use crate::artifacts::SummaryModel;
use crate::error::{Error, ErrorKind, Result};
use crate::outcome::{Outcome, path_text};
use crate::policy::Effective;
use crate::semaphore::Semaphore;
use crate::store::finished::Elsewhere;
use inputs::{InputCount, Inputs, Role, bytes_of};

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
    let inputs = Inputs::listed(found, &targets);
    let (ran, _) = run_inputs(&inputs, &targets, (effective, options, progress))?;
    Ok(ran)
}

/// Compacts the inputs below folders without holding a list of them; outcomes are in the order of inputs. Also returns what was
/// found.
///
/// # Errors
/// The errors of [`run`], and those of finding the inputs.
pub fn run_walking(
    walking: &StreamingWalk,
    effective: &Effective,
    options: &Options,
    progress: &dyn Progress,
) -> Result<(Ran, Found)> {
    let targets = Targets::below(walking.folders(), options)?;
    let inputs = Inputs::walked(walking);
    let (ran, found) = run_inputs(&inputs, &targets, (effective, options, progress))?;
    let found =
        found.ok_or_else(|| internal("a walk that has found nothing, not even an error"))?;
    Ok((ran, found))
}

fn internal(message: &str) -> Error {
    Error::new(ErrorKind::Internal, message)
}

/// Processes all inputs; also returns what a walk has found.
fn run_inputs(
    inputs: &Inputs<'_>,
    targets: &Targets,
    (effective, options, progress): (&Effective, &Options, &dyn Progress),
) -> Result<(Ran, Option<Found>)> {
    if options.effect == Effect::Write {
        targets.sweep();
    }
    let shared = Shared::new(options, progress);
    let asked = shared.asked();
    let threads = pool(options.jobs + asked.as_ref().map_or(0, |asked| asked.at_once))?;
    let budget = Budget::new(options.jobs, options.limits, Workload::Once);
    let server = asked.as_ref().map(|asked| asked as &dyn SummaryModel);
    let run = one::Run::new(effective, options, server, &shared.refusal)?;
    let (running, found) = thread::scope(|scope| {
        let all = || inputs.all((&budget, progress));
        let walker = match inputs.feeding() {
            Feeding::Before => {
                all()?;
                None
            }
            // In the meantime, the results of earlier runs are read.
            Feeding::Meanwhile => {
                let walker = thread::Builder::new().spawn_scoped(scope, all);
                Some(walker.map_err(|e| internal(&format!("cannot start a thread: {e}")))?)
            }
        };
        if walker.is_some() && progress.wants_count() {
            // The run is the same if this thread cannot be started.
            let _ = thread::Builder::new().spawn_scoped(scope, || inputs.count(progress));
        }
        let running =
            threads.install(|| Running::new((run, effective), &shared, (targets, &budget)));
        let again = running.all(inputs, targets, &threads);
        if running.is_interrupted() {
            progress.work_ended();
        }
        let walked = walker.map(|walker| {
            let ended = walker.join();
            ended.unwrap_or_else(|_| Err(internal("internal error while walking the folders")))
        });
        let found = walked.transpose()?.flatten();
        for (input, before) in again {
            threads.install(|| running.again(&targets.of(&input, options), &before));
        }
        Ok::<_, Error>((running, found))
    })?;
    let found = found.map(|mut found| {
        found.met -= found.skipped.absorb(inputs.take_skipped());
        found
    });
    let ran = running.end(targets, found.as_ref().or(inputs.found()))?;
    Ok((ran, found))
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
        (targets, budget): (&Targets, &'r Budget),
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

    /// Processes all inputs; returns those that must be retried once the others are finished, with their hooks.
    fn all(
        &self,
        inputs: &Inputs<'_>,
        targets: &Targets,
        threads: &ThreadPool,
    ) -> Vec<(QueuedInput, Box<PreHook<'r>>)> {
        let Shared {
            options, progress, ..
        } = self.shared;
        let again = Mutex::new(Vec::new());
        let process = |input: QueuedInput| {
            let target = targets.of(&input, options);
            if let Some(before) = self.process(targets, &target, inputs.company()) {
                let mut again = again.lock().unwrap_or_else(PoisonError::into_inner);
                again.push((input, before));
            }
        };
        let is_left = |input: &QueuedInput| self.is_left(inputs, input, targets);
        // If a server is used, one input is processed alone first: if the server rejects the key, no other output has been written
        // yet.
        let mut dealt = Vec::new();
        while options.server.is_some() && dealt.is_empty() {
            let Some(next) = inputs.next(&is_left) else {
                break;
            };
            dealt = next;
            dealt.reverse();
            if let Some(first) = dealt.pop() {
                threads.install(|| process(first));
                break;
            }
        }
        let dealt = Mutex::new(dealt);
        let next = || {
            let left = dealt.lock().unwrap_or_else(PoisonError::into_inner).pop();
            left.map_or_else(|| inputs.next(&is_left), |one| Some(vec![one]))
        };
        let idle = AtomicUsize::new(0);
        threads.broadcast(|_| {
            let mut is_idle = false;
            while let Some(dealt) = next() {
                if self.is_interrupted() {
                    let all = threads.current_num_threads();
                    if !is_idle && idle.fetch_add(1, Ordering::Relaxed) + 1 == all {
                        progress.work_ended();
                    }
                    is_idle = true;
                    if inputs.are_only_counted() {
                        inputs.close();
                        break;
                    }
                }
                dealt.into_iter().for_each(process);
            }
        });
        again.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether an input that was found has to be processed; what becomes of the others is noted.
    fn is_left(&self, inputs: &Inputs<'_>, input: &QueuedInput, targets: &Targets) -> bool {
        let path = input.0.path();
        let outcome = match inputs.role(input) {
            Ok(Role::Input) => {
                return !self.is_done(&targets.of(input, self.shared.options));
            }
            Ok(Role::Skipped(why)) => {
                inputs.skip(input, why);
                None
            }
            Ok(Role::Output) => Some(Outcome::skipped(path)),
            Err(error) => Some(Outcome::failed(path, &error)),
        };
        if let Some(outcome) = outcome {
            self.finished.add(Ok(outcome));
        }
        self.shared.progress.done(bytes_of(input));
        false
    }

    /// Processes an input; returns its hook, which may have run already, if the input must be retried once the others are finished.
    fn process(
        &self,
        targets: &Targets,
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
    fn end(self, targets: &Targets, found: Option<&Found>) -> Result<Ran> {
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
        for error in found.iter().flat_map(|found| &found.missing) {
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
        Err(error) if error.kind == ErrorKind::Changed && destination.is_in_place() => {
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
