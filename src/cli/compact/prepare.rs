//! Everything that is decided, and may be refused, before the first input: better than after hours of work.
//!
//! Reads the policy, the configuration, path names and earlier reports, but no transcripts. Sends nothing.

use std::borrow::Cow;
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::artifacts::{BatchClient, Replies};
use crate::batch::{
    Destination, Effect, Exclude, Filter, Fork, Options, Overwrite, Paths, Reported, Scope, Shard,
    agents_folders,
};
use crate::cli::config::ResolvedPolicy;
use crate::cli::limits::threads;
use crate::cli::messages::{no_store, policy_ref};
use crate::cli::named::{LatestScope, surroundings};
use crate::cli::next::OutputMode;
use crate::cli::reports::{self, Planned};
use crate::cli::server::Asked;
use crate::cli::shape::Shape;
use crate::cli::sibling_reports::{BesideReports, ReportTiming};
use crate::cli::{Context, all_paths, format_named, scripted_answers};
use crate::error::{Error, ErrorKind, Result};
use crate::policy::{Effective, Layer, Policy, Use};
use crate::report::{CsvRows, ReportFormat};
use crate::store::atomic::sweep_beside;
use crate::store::{Missing, OpenPath};

use super::Compact;

/// What a run does, once nothing of it is refused.
pub(super) struct Prepared {
    pub(super) effective: Effective,
    pub(super) options: Options,
    /// The server whose answers are asked for at the end.
    pub(super) postponed: Option<Arc<dyn BatchClient>>,
    pub(super) paths: Paths,
    /// The reports on the run as a whole.
    pub(super) planned: Vec<Planned>,
    /// The reports next to outputs, if there is none on the run.
    pub(super) beside: Option<Arc<BesideReports>>,
    pub(super) filter: Filter,
    pub(super) exclude: Exclude,
    pub(super) shard: Option<Shard>,
}

impl Compact {
    /// Refuses here what can be refused before any work: better than after hours.
    pub(super) fn prepare(&self, context: &Context) -> Result<Prepared> {
        let ResolvedPolicy {
            effective, file, ..
        } = self
            .policy
            .resolve_with(context, self.shorthands.settings())?;
        self.check(&effective)?;
        let used = match self.emit.is_asked() {
            true => Use::Messages,
            false => Use::Once,
        };
        context.without_effect([&effective], used);
        let asked = self.rows.of(self.reports.planned()?, &[CsvRows::Action])?;
        let replies = scripted_answers(file.as_deref(), &effective.policy)?;
        let paths = self.named(context)?;
        let fork = self.forked(&paths, &effective.hash)?;
        let (options, postponed) = self.options(context, &effective.policy, replies, fork)?;
        let planned = self.planned_reports(asked)?;
        let options = Options {
            reported: self.reported(&planned)?,
            ..options
        };
        let is_printed = self.shape.shape() == Shape::Json;
        // Standard input goes to standard output if nothing else is said.
        let is_stream = match options.destination {
            Destination::Stdout => true,
            Destination::Beside => options.effect == Effect::Write && has_stdin(&paths)?,
            Destination::File(_) | Destination::Folder(_) | Destination::InPlace => false,
        };
        if effective.policy.has(Layer::Offload) && is_stream && self.store.is_none() {
            return Err(no_store());
        }
        if is_printed && is_stream {
            let message =
                "cannot write both the transcript and the --json report to standard output";
            return Err(Error::new(ErrorKind::Usage, message).hint("--report FILE.json writes it"));
        }
        let output = self.output.iter();
        let output = output.map(|path| Ok(Cow::Borrowed(path.as_path())));
        reports::check_apart(&planned, output.chain(paths.iter()))?;
        reports::check(&planned, options.overwrite)?;
        if !self.dry_run {
            for (path, _) in &planned {
                if let Ok(spot) = OpenPath::named(path, Missing::Refuse) {
                    sweep_beside(&spot);
                }
            }
        }
        Ok(Prepared {
            beside: self.reports_beside(&planned, &effective, &options),
            filter: self.filter.filter()?,
            exclude: self.exclude.exclude()?,
            shard: self.shard.shard()?,
            effective,
            options,
            postponed,
            paths,
            planned,
        })
    }

    /// Writes a report next to each output, if none on the run is written.
    fn reports_beside(
        &self,
        planned: &[Planned],
        effective: &Effective,
        options: &Options,
    ) -> Option<Arc<BesideReports>> {
        if !planned.is_empty() || self.no_report || self.dry_run {
            return None;
        }
        let when = match options.clock {
            None => ReportTiming::AtOnce,
            Some(_) => ReportTiming::AtTheEnd,
        };
        let reports = BesideReports::new(policy_ref(effective), options.overwrite, when);
        Some(Arc::new(match self.output_mode() {
            OutputMode::InPlace | OutputMode::Fork => {
                reports.sparing(agents_folders(&surroundings()))
            }
            OutputMode::Elsewhere => reports,
        }))
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
    fn named(&self, context: &Context) -> Result<Paths> {
        let scope = match self.in_place {
            true => LatestScope::ThisFolder,
            false => LatestScope::Anywhere,
        };
        let named = self.agent.paths(context, &self.paths, scope)?;
        let mut paths = all_paths(named, self.files_from.as_deref(), &context.stop)?;
        if paths.is_empty() && self.files_from.is_none() && !io::stdin().is_terminal() {
            paths.push(PathBuf::from("-"));
        }
        Ok(paths)
    }

    /// The session that the output becomes with `--fork`.
    fn forked(&self, paths: &Paths, policy_hash: &str) -> Result<Option<Fork>> {
        match paths.held() {
            _ if !self.fork => Ok(None),
            Some([one]) if one != Path::new("-") => Fork::of(one, policy_hash).map(Some),
            _ => Err(Error::new(ErrorKind::Usage, "--fork takes one session")
                .hint("name its id, its file, or latest; `ctxpack sessions` lists them")),
        }
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
        // Shards that run concurrently must not replace each other's reports.
        let name = match self.shard.shard()? {
            Some(shard) => format!("ctxpack.{}.stats.json", shard.name()),
            None => "ctxpack.stats.json".to_owned(),
        };
        Ok(Some(folder.join(name)))
    }

    /// The contents of earlier reports in the places of this run's reports.
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

/// Whether standard input is among these.
fn has_stdin(paths: &Paths) -> Result<bool> {
    for path in paths.iter() {
        if &*path? == Path::new("-") {
            return Ok(true);
        }
    }
    Ok(false)
}
