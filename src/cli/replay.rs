//! `ctxpack replay`: what would policies have done to a session, turn by turn?

use std::io::{self, BufWriter, IsTerminal};
use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::json;

use super::compact::{policy_ref, threads, width};
use super::config::{KeyArgs, PolicyArgs};
use super::progress::Bar;
use super::{Context, Fault, all_paths, flush, format_named, scripted_answers, stdout_failed};
use crate::batch;
use crate::error::Result;
use crate::policy::{self, Effective, Setting, Source};
use crate::replay::{FileReplay, Player, Replaying};
use crate::report::{Detail, Replays, write_replay_json, write_replay_table};

/// Run policies turn by turn over recorded sessions, as a live agent would have.
///
/// Writes nothing but the figures, and asks nobody: summaries are scripted or extractive. Several policies stand side by
/// side; their tokens are counted alike.
#[derive(Debug, Args)]
pub(super) struct Replay {
    /// Transcripts, folders, patterns, or - for standard input
    paths: Vec<PathBuf>,
    /// A preset's name, or a policy file; can be given again [default: all presets]
    #[arg(long = "policy", value_name = "NAME|FILE")]
    policies: Vec<String>,
    #[command(flatten)]
    keys: KeyArgs,
    /// Show each turn, and each step at which something happened
    #[arg(long, conflicts_with = "json")]
    timeline: bool,
    /// One JSON object to stdout
    #[arg(long)]
    json: bool,
    /// Read inputs as this format: anthropic, openai, claude-code, codex, pi, ai-sdk
    #[arg(long, value_name = "NAME")]
    input_format: Option<String>,
    /// Threads; 0 = one for each processor
    #[arg(short, long, value_name = "N", default_value_t = 0)]
    jobs: usize,
    /// Read more paths from FILE, one a line; - is standard input
    #[arg(long, value_name = "FILE")]
    files_from: Option<PathBuf>,
}

impl Replay {
    pub(super) fn run(&self, context: &Context) -> Result<u8> {
        let names: Vec<String> = match &self.policies[..] {
            [] => policy::presets()?.into_iter().map(|p| p.name).collect(),
            named => named.to_vec(),
        };
        let chosen = names.into_iter().map(|name| {
            let args = PolicyArgs {
                policy: Some(name),
                keys: self.keys.clone(),
            };
            let chosen = args.resolve()?;
            Ok((chosen.file, asking_nobody(chosen.effective, "replay")?))
        });
        let policies = chosen.collect::<Result<Vec<_>>>()?;
        let replaying = replaying(policies.iter().map(|(file, e)| (file.as_deref(), e)))?;
        let format = format_named(self.input_format.as_deref())?;
        let mut paths = all_paths(&self.paths, self.files_from.as_deref(), &context.stop)?;
        if paths.is_empty() && self.files_from.is_none() && !io::stdin().is_terminal() {
            paths.push(PathBuf::from("-"));
        }
        let found = batch::find(&paths, None)?;
        let bar = Bar::new(found.sources.len() as u64, context.voice);
        let jobs = threads(self.jobs);
        let files = batch::replay(&found, &replaying, format, jobs, &context.stop, &bar)?;
        bar.finish();
        let failed = files.iter().any(|file| file.error.is_some());
        say(context, &files);
        let policies = policies.iter().map(|(_, e)| policy_ref(e)).collect();
        let replays = Replays::new(policies, replaying.estimator(), files);
        let mut out = BufWriter::new(io::stdout().lock());
        let detail = match self.timeline {
            true => Detail::Timeline,
            false => Detail::Totals,
        };
        let written = match self.json {
            true => write_replay_json(&replays, &mut out),
            false => write_replay_table(&replays, detail, width(), &mut out),
        };
        written.map_err(|e| stdout_failed(&e))?;
        flush(&mut out)?;
        Ok(if failed { 3 } else { 0 })
    }
}

/// A policy as `command` runs it: one that would ask a provider tells its summaries itself, and the report says so.
pub(super) fn asking_nobody(effective: Effective, command: &str) -> Result<Effective> {
    match effective.policy.summary.source {
        Source::Extractive | Source::Scripted => Ok(effective),
        Source::Anthropic | Source::Openai => {
            let own = Setting {
                key: "summary.source".to_owned(),
                value: Source::Extractive.name().to_owned(),
                origin: command.to_owned(),
            };
            let mut asking_nobody = policy::resolve(effective.policy, &[own])?;
            asking_nobody.overrides.splice(0..0, effective.overrides);
            Ok(asking_nobody)
        }
    }
}

/// Policies, ready to be played; a scripted one has its answers beside its file.
pub(super) fn replaying<'p>(
    policies: impl IntoIterator<Item = (Option<&'p Path>, &'p Effective)>,
) -> Result<Replaying<'p>> {
    let players = policies
        .into_iter()
        .map(|(file, effective)| {
            let replies = scripted_answers(file, &effective.policy)?;
            Player::new(&effective.policy, replies)
        })
        .collect::<Result<Vec<_>>>()?;
    Replaying::new(players)
}

/// Faults, each on a line.
fn say(context: &Context, files: &[FileReplay]) {
    for file in files {
        if let Some(error) = &file.error {
            context.fault(&Fault {
                kind: json!(error.kind),
                file: Some(file.path.clone()),
                line: error.line,
                message: &error.message,
                hint: error.hint.as_deref(),
            });
        }
    }
}
