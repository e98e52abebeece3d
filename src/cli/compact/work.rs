//! Processes the inputs, and reports on them at the end.
//!
//! Decides nothing about content; what the run does has already been prepared.

use std::io::{self, Write};

use crate::batch::{self, BadLines, Found, Loading, Ran, Scope, Search, Source, StreamingWalk};
use crate::cli::Context;
use crate::cli::batched::{Queue, would_send};
use crate::cli::ending::{Ended, Ending, end};
use crate::cli::models;
use crate::cli::progress::Bar;
use crate::cli::resuming::taken_over;
use crate::cli::timings::wall;
use crate::cli::walking::FilterArgs;
use crate::error::{Error, ErrorKind, Result};
use crate::outcome::{Exit, Interrupted, Notices};
use crate::text::{count, thousands};

use super::Compact;
use super::prepare::Prepared;

impl Compact {
    /// Compacts the inputs: those below folders without a list of them, if possible.
    pub(super) fn work(&self, context: &Context, prepared: &Prepared) -> Result<(Ran, Found)> {
        let Prepared {
            effective,
            options,
            paths,
            beside,
            filter,
            exclude,
            ..
        } = prepared;
        let shard = prepared.shard;
        let walking = match (self.batch.batch, paths.held()) {
            (None, Some(paths)) => StreamingWalk::of(paths, options, (exclude, filter), shard),
            // Inputs are processed several times.
            (Some(_), _) => None,
            (None, None) => None,
        };
        if let Some(walking) = walking {
            check_models(context, prepared, |most| walking.first(most))?;
            let bar = Bar::walking(context.voice)
                .with_reports(beside.clone())
                .telling(&context.work_ended);
            let done = batch::run_walking(&walking, effective, options, &bar)?;
            bar.finish();
            return Ok(done);
        }
        let search = Search {
            skip: self.out_dir.as_deref(),
            exclude,
            shard,
            scratch: &options.scratch(),
        };
        let mut found = search.inputs(paths)?;
        let ran = self.listed(context, prepared, &mut found)?;
        Ok((ran, found))
    }

    /// Reports what became of the inputs, in reports and in closing lines; returns the exit code.
    pub(super) fn close(
        &self,
        context: &Context,
        prepared: &Prepared,
        ran: Ran,
        mut found: Found,
    ) -> Result<u8> {
        let options = &prepared.options;
        let done_before = taken_over(ran.taken_over, ran.files);
        let Ran {
            outcomes,
            files,
            changed,
            met,
            report_notes,
            mut faults,
            ..
        } = ran;
        let interrupted = context.interrupted();
        if interrupted.is_none() {
            let orphans = self.resuming.orphans();
            let orphans = batch::orphaned_outputs(&found, &met, options, orphans, prepared.shard)?;
            found.skipped.extend(orphans.outputs);
            faults.extend(orphans.faults);
        }
        let left = found.len().saturating_sub(files);
        if interrupted.is_some() {
            let (done, left) = (count(files, "input"), thousands(left));
            let message = format!("interrupted: {done} finished, {left} remaining");
            context.error(
                &Error::new(ErrorKind::Interrupted, message)
                    .hint("run the same command again for the rest"),
            );
        }
        let left = interrupted
            .filter(|_| left > 0)
            .map(|_| Interrupted { left });
        let dry_run = self.dry_run.then_some(match prepared.planned.is_empty() {
            true => "dry run: nothing was written",
            false => "dry run: nothing but the report was written",
        });
        let dry_run = dry_run.map(str::to_owned).into_iter();
        let asked = prepared.postponed.as_ref().filter(|_| self.dry_run);
        let estimate = asked.and_then(|server| self.batch.estimate(server.demand()));
        let would_send = estimate.map(would_send);
        let ending = Ending {
            effective: &prepared.effective,
            options,
            found: &found,
            left,
            estimate,
            wall: wall(options.clock.as_ref()),
            planned: &prepared.planned,
            report_notes: &report_notes,
            shape: self.shape.shape(),
            before: dry_run.chain(would_send).chain(done_before).collect(),
            beside: prepared.beside.as_deref(),
            changed: &changed,
            gates: &self.gates,
            emit: &self.emit,
            output_mode: self.output_mode(),
        };
        let Ended {
            mut exit,
            gate,
            unwritten,
            closing,
        } = end(context, &outcomes, &ending)?;
        for error in faults.into_iter().chain(unwritten) {
            context.error(&error);
            exit = Exit::Partial;
        }
        if context.is_for_people() {
            for line in closing {
                let _ = writeln!(io::stderr().lock(), "{line}");
            }
        }
        Ok(interrupted.unwrap_or(exit.code().max(gate)))
    }

    /// Compacts inputs that have all been found.
    fn listed(&self, context: &Context, prepared: &Prepared, found: &mut Found) -> Result<Ran> {
        let Prepared {
            effective, options, ..
        } = prepared;
        let mut notices = Notices::default();
        let with = (options.jobs, &*options.scratch());
        FilterArgs::apply(&prepared.filter, found, &mut notices, with)?;
        context.notices(notices);
        if options.scope == Scope::Degraded {
            batch::retain_degraded(found, options)?;
        }
        check_models(context, prepared, |most| {
            let first = found.sources.iter().take(most);
            first.map(|source| Ok(source?.into_owned())).collect()
        })?;
        let bar = Bar::walking(context.voice)
            .with_reports(prepared.beside.clone())
            .telling(&context.work_ended);
        let queue = Queue {
            server: prepared.postponed.as_deref(),
            most: self.server.batches_wait(),
        };
        let ran = self
            .batch
            .run((context, &bar), queue, found, effective, options)?;
        bar.finish();
        Ok(ran)
    }
}

/// Fails if the run asks a model for summaries and nothing names it; `first` returns the first inputs.
fn check_models(
    context: &Context,
    prepared: &Prepared,
    first: impl FnOnce(usize) -> Result<Vec<Source>>,
) -> Result<()> {
    let options = &prepared.options;
    let loading = Loading {
        format: options.format,
        limits: options.limits,
        bad_lines: BadLines::Pass,
        stop: &context.stop,
    };
    match options.scope {
        Scope::All => models::check(&prepared.effective.policy, first, &loading),
        // Their originals may name a model that their compacted forms no longer name.
        Scope::Degraded => Ok(()),
    }
}
