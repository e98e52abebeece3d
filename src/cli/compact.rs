//! `ctxpack compact`: the job.

use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;

use super::batched::{BatchArgs, Queue, would_send};
use super::config::{PolicyArgs, ResolvedPolicy};
use super::emit::EmitArgs;
use super::ending::{Ended, Ending, end};
use super::gates::CompactGates;
use super::hooks::HookArgs;
use super::limits::{INPUT, LimitArgs, jobs, threads};
use super::messages::policy_ref;
use super::models;
use super::named::{AgentArgs, surroundings};
use super::next::OutputMode;
use super::progress::Bar;
use super::reports::{self, OUTPUT, Planned, ReportArgs, RowArgs};
use super::resuming::{ResumeArgs, taken_over};
use super::server::{Asked, ServerArgs};
use super::shape::{Shape, ShapeArgs};
use super::shard::ShardArgs;
use super::shorthand::Shorthands;
use super::sibling_reports::{BesideReports, ReportTiming};
use super::timings::{TimingArgs, wall};
use super::walking::{ExcludeArgs, FilterArgs};
use super::{Context, all_paths, format_named, input_format_help, scripted_answers, useless_flags};
use crate::artifacts::{BatchClient, Replies};
use crate::batch::{
    self, BadLines, Destination, Effect, Filter, Fork, Found, Loading, Options, Overwrite, Ran,
    Reported, Scope, StreamingWalk, agents_folders,
};
use crate::error::{Error, ErrorKind, Result};
use crate::outcome::{Exit, Interrupted, Notices};
use crate::pipeline::asks_a_server;
use crate::policy::{Effective, Layer, Policy};
use crate::report::{CsvRows, ReportFormat};
use crate::store::atomic::sweep_beside;
use crate::store::{Missing, OpenPath};
use crate::text::{count, thousands};

/// Make transcripts smaller.
///
/// in.jsonl becomes in.compact.jsonl beside it, with a report in in.compact.stats.json. Folders are searched for
/// transcripts; - reads standard input. You can also give the session id of an installed agent, or latest. With --in-place,
/// in.jsonl itself becomes smaller, and undo restores it.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  ctxpack compact in.jsonl                            in.compact.jsonl, and a report beside it
  ctxpack compact in.jsonl --target 8k                at most 8 000 tokens afterwards
  ctxpack compact archive/ --out-dir small/           a tree of files, one report at its top
  ctxpack compact --in-place sessions/                the files themselves; undo restores them
  ctxpack compact in.jsonl --policy layered -n        what another preset would do
  ctxpack compact in.jsonl -o - | less                to standard output")]
pub(super) struct Compact {
    /// Transcripts, folders, patterns, ids of sessions, latest, or - for standard input
    paths: Vec<PathBuf>,
    /// Write the one output to FILE; - is standard output
    #[arg(short, long, value_name = "FILE", conflicts_with = "out_dir", help_heading = OUTPUT)]
    output: Option<PathBuf>,
    /// Write outputs below DIR, in the tree of the inputs
    #[arg(long, value_name = "DIR", help_heading = OUTPUT)]
    out_dir: Option<PathBuf>,
    /// Replace the inputs themselves; the originals go to the store first, for undo
    #[arg(long, conflicts_with_all = ["output", "out_dir"], help_heading = OUTPUT)]
    in_place: bool,
    /// Write a compacted copy of a session as a new session beside it; the original stays as it is
    #[arg(long, conflicts_with_all = ["output", "out_dir", "in_place", "files_from"], help_heading = OUTPUT)]
    fork: bool,
    #[command(flatten)]
    emit: EmitArgs,
    #[command(flatten)]
    agent: AgentArgs,
    #[command(flatten)]
    policy: PolicyArgs,
    #[command(flatten)]
    shorthands: Shorthands,
    #[arg(long, value_name = "NAME", help = input_format_help(), help_heading = INPUT)]
    input_format: Option<String>,
    /// Folder for originals and offloaded outputs [default: .ctxpack beside the output]
    #[arg(long, value_name = "DIR", help_heading = OUTPUT)]
    store: Option<PathBuf>,
    /// Replace existing files that ctxpack did not write
    #[arg(long, help_heading = OUTPUT)]
    overwrite: bool,
    /// Compact only inputs whose model summary failed in an earlier run; leave the others alone
    ///
    /// The store records which summaries failed. With --in-place, the originals are compacted again. Outputs that have changed
    /// since are left alone.
    #[arg(long, help_heading = OUTPUT)]
    retry_degraded: bool,
    #[command(flatten)]
    resuming: ResumeArgs,
    /// Do everything except write outputs, send requests and run hooks; files given to --report are still written
    #[arg(short = 'n', long, help_heading = OUTPUT)]
    dry_run: bool,
    #[command(flatten)]
    reports: ReportArgs,
    #[command(flatten)]
    timings: TimingArgs,
    #[command(flatten)]
    rows: RowArgs,
    #[command(flatten)]
    gates: CompactGates,
    #[command(flatten)]
    shape: ShapeArgs,
    /// Do not write a report beside the outputs
    #[arg(long, conflicts_with = "reports", help_heading = OUTPUT)]
    no_report: bool,
    /// Threads; 0 = one per processor
    #[arg(short, long, value_name = "N", default_value_t = 0, value_parser = jobs, help_heading = INPUT)]
    jobs: usize,
    /// Read more paths from FILE, one per line or separated by NUL bytes; - is standard input
    #[arg(long, value_name = "FILE", help_heading = INPUT)]
    files_from: Option<PathBuf>,
    #[command(flatten)]
    exclude: ExcludeArgs,
    #[command(flatten)]
    filter: FilterArgs,
    #[command(flatten)]
    limits: LimitArgs,
    #[command(flatten)]
    shard: ShardArgs,
    #[command(flatten)]
    hooks: HookArgs,
    #[command(flatten)]
    server: ServerArgs,
    #[command(flatten)]
    batch: BatchArgs,
}

impl Compact {
    pub(super) fn run(&self, context: &Context) -> Result<u8> {
        let ResolvedPolicy {
            effective, file, ..
        } = self
            .policy
            .resolve_with(context, self.shorthands.settings())?;
        self.check(&effective)?;
        context.without_effect(&effective);
        let asked = self.rows.of(self.reports.planned()?, &[CsvRows::Action])?;
        let replies = scripted_answers(file.as_deref(), &effective.policy)?;
        let paths = self.named(context)?;
        let fork = self.forked(&paths)?;
        let (options, postponed) = self.options(context, &effective.policy, replies, fork)?;
        let planned = self.planned_reports(asked)?;
        let options = Options {
            reported: self.reported(&planned)?,
            ..options
        };
        let is_printed = self.shape.shape() == Shape::Json;
        if is_printed && options.destination == Destination::Stdout {
            let message =
                "cannot write both the transcript and the --json report to standard output";
            return Err(Error::new(ErrorKind::Usage, message).hint("--report FILE.json writes it"));
        }
        // Better said before hours of work than after.
        let others = self.output.iter().chain(&paths);
        reports::check_apart(&planned, others.map(PathBuf::as_path))?;
        reports::check(&planned, options.overwrite)?;
        if !self.dry_run {
            for (path, _) in &planned {
                if let Ok(spot) = OpenPath::named(path, Missing::Refuse) {
                    sweep_beside(&spot);
                }
            }
        }
        let is_beside = planned.is_empty() && !self.no_report && !self.dry_run;
        let when = match options.clock {
            None => ReportTiming::AtOnce,
            Some(_) => ReportTiming::AtTheEnd,
        };
        let beside = is_beside.then(|| {
            let policy = policy_ref(&effective);
            let reports = BesideReports::new(policy, options.overwrite, when);
            Arc::new(match self.output_mode() {
                OutputMode::InPlace | OutputMode::Fork => {
                    reports.sparing(agents_folders(&surroundings()))
                }
                OutputMode::Elsewhere => reports,
            })
        });
        let filter = self.filter.filter()?;
        let exclude = self.exclude.exclude()?;
        let shard = self.shard.shard()?;
        // Nothing is asked of anybody.
        let is_plain = self.batch.batch.is_none() && !asks_a_server(&effective.policy);
        let walking = StreamingWalk::of(&paths, &options, (&exclude, &filter), shard);
        let walking = walking.filter(|_| is_plain);
        let (ran, mut found) = match walking {
            Some(walking) => {
                let bar = Bar::walking(context.voice)
                    .with_reports(beside.clone())
                    .telling(&context.work_ended);
                let (ran, found) = batch::run_walking(&walking, &effective, &options, &bar)?;
                bar.finish();
                (ran, found)
            }
            None => {
                let mut found = batch::find(&paths, self.out_dir.as_deref(), &exclude)?;
                self.shard.apply(&mut found)?;
                let queue = Queue {
                    server: postponed.as_deref(),
                    most: self.server.batches_wait(),
                };
                let ran = self.listed(
                    context,
                    (&filter, &mut found),
                    &effective,
                    (&options, queue, beside.clone()),
                )?;
                (ran, found)
            }
        };
        let done_before = taken_over(ran.taken_over, ran.files);
        let Ran {
            outcomes,
            files,
            changed,
            met,
            mut faults,
            ..
        } = ran;
        let interrupted = context.interrupted();
        if interrupted.is_none() {
            let orphans =
                batch::orphaned_outputs(&found, &met, &options, self.resuming.orphans(), shard)?;
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
        let dry_run = self.dry_run.then_some(match planned.is_empty() {
            true => "dry run: nothing was written",
            false => "dry run: nothing but the report was written",
        });
        let dry_run = dry_run.map(str::to_owned).into_iter();
        let asked = postponed.as_ref().filter(|_| self.dry_run);
        let estimate = asked.and_then(|server| self.batch.estimate(server.demand()));
        let would_send = estimate.map(would_send);
        let ending = Ending {
            effective: &effective,
            options: &options,
            found: &found,
            left,
            estimate,
            wall: wall(options.clock.as_ref()),
            planned: &planned,
            shape: self.shape.shape(),
            before: dry_run.chain(would_send).chain(done_before).collect(),
            beside: beside.as_deref(),
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
        if let Some(line) = closing.filter(|_| context.is_for_people()) {
            let _ = writeln!(io::stderr().lock(), "{line}");
        }
        Ok(interrupted.unwrap_or(exit.code().max(gate)))
    }

    /// Refuses flags that cannot have an effect.
    fn check(&self, effective: &Effective) -> Result<()> {
        let of_server = self.server.given().chain(self.batch.given());
        useless_flags::check(effective, &self.shorthands.needing(of_server))?;
        self.hooks.check()?;
        let is_stream = self.output.as_deref() == Some(Path::new("-"));
        let remembers_nothing = match self.output_mode() {
            _ if self.retry_degraded => Some("--retry-degraded already skips finished inputs"),
            OutputMode::Fork => Some("--fork writes a new session each time"),
            OutputMode::Elsewhere if is_stream => {
                Some("a run that writes to standard output keeps no records")
            }
            OutputMode::InPlace | OutputMode::Elsewhere => None,
        };
        self.resuming
            .check(self.out_dir.as_deref(), remembers_nothing)
    }

    /// Compacts inputs that were all found before.
    fn listed(
        &self,
        context: &Context,
        (filter, found): (&Filter, &mut Found),
        effective: &Effective,
        (options, queue, beside): (&Options, Queue<'_>, Option<Arc<BesideReports>>),
    ) -> Result<Ran> {
        let mut notices = Notices::default();
        FilterArgs::apply(filter, found, (&mut notices, options.jobs))?;
        context.notices(notices);
        if options.scope == Scope::Degraded {
            batch::retain_degraded(found, options)?;
        }
        let loading = Loading {
            format: options.format,
            limits: options.limits,
            bad_lines: BadLines::Pass,
            stop: &context.stop,
        };
        match options.scope {
            Scope::All => models::check(&effective.policy, found, &loading)?,
            // Their originals may name a model that what is left of them does not.
            Scope::Degraded => {}
        }
        let bar = Bar::new(&found.sources, context.voice)
            .with_reports(beside)
            .telling(&context.work_ended);
        let ran = self
            .batch
            .run((context, &bar), queue, found, effective, options)?;
        bar.finish();
        Ok(ran)
    }

    fn output_mode(&self) -> OutputMode {
        match (self.in_place, self.fork) {
            (true, _) => OutputMode::InPlace,
            (false, true) => OutputMode::Fork,
            (false, false) => OutputMode::Elsewhere,
        }
    }

    /// The session that the output becomes with `--fork`.
    fn forked(&self, paths: &[PathBuf]) -> Result<Option<Fork>> {
        match paths {
            _ if !self.fork => Ok(None),
            [one] if one != Path::new("-") => Fork::of(one).map(Some),
            _ => Err(Error::new(ErrorKind::Usage, "--fork takes one session")
                .hint("name its id, its file, or latest; `ctxpack sessions` lists them")),
        }
    }

    fn options(
        &self,
        context: &Context,
        policy: &Policy,
        replies: Replies,
        fork: Option<Fork>,
    ) -> Result<(Options, Option<Arc<dyn BatchClient>>)> {
        let forked = fork.as_ref().map(|fork| fork.output.clone());
        let output = forked.as_ref().or(self.output.as_ref());
        let destination = match (output, &self.out_dir) {
            (Some(path), _) if path == Path::new("-") => Destination::Stdout,
            (Some(path), _) => Destination::File(path.clone()),
            (None, Some(folder)) => Destination::Folder(folder.clone()),
            (None, None) if self.in_place => Destination::InPlace,
            (None, None) => Destination::Beside,
        };
        if policy.has(Layer::Offload) && destination == Destination::Stdout && self.store.is_none()
        {
            let message = "the policy offloads outputs to a store, and a run that writes to standard output has none";
            return Err(Error::new(ErrorKind::Usage, message).hint(
                "name a store with --store DIR; skipping this step would change the result",
            ));
        }
        let effect = if self.dry_run {
            Effect::DryRun
        } else {
            Effect::Write
        };
        let asked = self
            .server
            .server(policy, effect, &self.batch, &context.stop)?;
        let (server, postponed) = match asked {
            Some(Asked {
                model,
                at_once,
                postponed,
            }) => (Some((model, at_once)), Some(postponed)),
            None => (None, None),
        };
        let options = Options {
            server,
            destination,
            fork,
            emit: self.emit.messages(),
            store: self.store.clone(),
            overwrite: if self.overwrite {
                Overwrite::Any
            } else {
                Overwrite::OwnOnly
            },
            reported: Reported::default(),
            effect,
            format: format_named(self.input_format.as_deref())?,
            replies,
            hooks: self.hooks.hooks(context.voice),
            limits: self.limits.limits(),
            scope: if self.retry_degraded {
                Scope::Degraded
            } else {
                Scope::All
            },
            resume: self.resuming.resume(),
            trust: self.resuming.trust(),
            bad_lines: self.limits.bad_lines(),
            jobs: threads(self.jobs),
            stop: context.stop.clone(),
            clock: self.timings.clock(),
        };
        Ok((options, postponed))
    }

    /// The paths that the command line names.
    fn named(&self, context: &Context) -> Result<Vec<PathBuf>> {
        let named = self.agent.paths(context, &self.paths)?;
        let mut paths = all_paths(&named, self.files_from.as_deref(), &context.stop)?;
        if paths.is_empty() && self.files_from.is_none() && !io::stdin().is_terminal() {
            paths.push(PathBuf::from("-"));
        }
        Ok(paths)
    }

    /// The reports on the run as a whole: where the user said, else at the top of the output folder.
    fn planned_reports(&self, asked: Vec<Planned>) -> Result<Vec<Planned>> {
        if !asked.is_empty() || self.no_report || self.dry_run {
            return Ok(asked);
        }
        let own = self.report_of_folder()?.into_iter();
        Ok(own.map(|path| (path, ReportFormat::Json)).collect())
    }

    /// The report at the top of the output folder, if there is one.
    fn report_of_folder(&self) -> Result<Option<PathBuf>> {
        let Some(folder) = &self.out_dir else {
            return Ok(None);
        };
        // Shards that run at once must not replace each other's.
        let name = match self.shard.shard()? {
            Some(shard) => format!("ctxpack.{}.stats.json", shard.name()),
            None => "ctxpack.stats.json".to_owned(),
        };
        Ok(Some(folder.join(name)))
    }

    /// What earlier reports in the places of this run's say.
    fn reported(&self, planned: &[Planned]) -> Result<Reported> {
        let is_read = |(path, format): &Planned| match format {
            ReportFormat::Json | ReportFormat::Jsonl => Some(path.clone()),
            ReportFormat::Csv(_) | ReportFormat::Markdown | ReportFormat::Html => None,
        };
        let mut paths: Vec<PathBuf> = planned.iter().filter_map(is_read).collect();
        let own = self.report_of_folder()?;
        paths.extend(own.filter(|own| !paths.contains(own)));
        Ok(Reported::new(paths))
    }
}
