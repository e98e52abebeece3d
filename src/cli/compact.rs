//! `ctxpack compact`: the job.

mod prepare;
mod work;

use std::path::{Path, PathBuf};

use clap::Args;

use super::batched::BatchArgs;
use super::config::PolicyArgs;
use super::emit::EmitArgs;
use super::gates::CompactGates;
use super::hooks::HookArgs;
use super::limits::{INPUT, LimitArgs, jobs};
use super::named::AgentArgs;
use super::next::OutputMode;
use super::reports::{OUTPUT, ReportArgs, RowArgs};
use super::resuming::ResumeArgs;
use super::server::ServerArgs;
use super::shape::ShapeArgs;
use super::shard::ShardArgs;
use super::shorthand::Shorthands;
use super::timings::TimingArgs;
use super::walking::{ExcludeArgs, FilterArgs};
use super::{Context, input_format_help, useless_flags};
use crate::error::Result;
use crate::policy::Effective;

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
    /// Read more paths from FILE, newline- or NUL-separated; - is standard input
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
        let prepared = self.prepare(context)?;
        let (ran, found) = self.work(context, &prepared)?;
        self.close(context, &prepared, ran, found)
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

    fn output_mode(&self) -> OutputMode {
        match (self.in_place, self.fork) {
            (true, _) => OutputMode::InPlace,
            (false, true) => OutputMode::Fork,
            (false, false) => OutputMode::Elsewhere,
        }
    }
}
