//! `ctxpack stats`: what is in the window, and what takes most of it.

use std::io::{self, BufWriter, IsTerminal};
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use serde_json::json;

use super::compact::{policy_ref, threads, width};
use super::config::PolicyArgs;
use super::progress::Bar;
use super::{Context, Fault, Voice, all_paths, flush, format_named, stdout_failed};
use crate::batch;
use crate::error::Result;
use crate::report::{Stats as Report, Turns, View, write_stats_json, write_stats_table};
use crate::stats::{Counting, Exact, FileStats};

/// Count tokens by role, tool, file and turn, and against thresholds.
///
/// Writes nothing but the counts. Tokens are estimates, made as the policy says. With -v, all turns are shown.
#[derive(Debug, Args)]
pub(super) struct Stats {
    /// Transcripts, folders, patterns, or - for standard input
    paths: Vec<PathBuf>,
    /// How the counts are written to stdout
    #[arg(long, value_enum, default_value_t = Shape::Text, value_name = "FORMAT")]
    format: Shape,
    /// How many of the largest are shown
    #[arg(long, value_name = "N", default_value_t = 10)]
    top: usize,
    /// Count exactly, too, as o200k_base and cl100k_base do; slower
    #[arg(long)]
    exact: bool,
    #[command(flatten)]
    policy: PolicyArgs,
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

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Shape {
    /// Tables
    Text,
    /// One JSON object
    Json,
}

impl Stats {
    pub(super) fn run(&self, context: &Context) -> Result<u8> {
        let effective = self.policy.resolve()?.effective;
        let policy = &effective.policy;
        let exact = if self.exact { Exact::Yes } else { Exact::No };
        let counting = Counting::new(policy, self.top, exact)?;
        let format = format_named(self.input_format.as_deref())?;
        let mut paths = all_paths(&self.paths, self.files_from.as_deref(), &context.stop)?;
        if paths.is_empty() && self.files_from.is_none() && !io::stdin().is_terminal() {
            paths.push(PathBuf::from("-"));
        }
        let found = batch::find(&paths, None)?;
        let bar = Bar::new(found.sources.len() as u64, context.voice);
        let jobs = threads(self.jobs);
        let files = batch::stats(&found, &counting, format, jobs, &context.stop, &bar)?;
        bar.finish();
        let failed = files.iter().any(|file| file.error.is_some());
        say(context, &files);
        let report = Report::new(
            policy_ref(&effective),
            counting.estimator(),
            counting.thresholds().clone(),
            files,
            self.top,
        );
        let mut out = BufWriter::new(io::stdout().lock());
        let view = View {
            width: width(),
            top: self.top,
            turns: match context.voice {
                Voice::Loud => Turns::All,
                Voice::Quiet | Voice::Normal => Turns::Some,
            },
        };
        let written = match self.format {
            Shape::Text => write_stats_table(&report, view, &mut out),
            Shape::Json => write_stats_json(&report, &mut out),
        };
        written.map_err(|e| stdout_failed(&e))?;
        flush(&mut out)?;
        Ok(if failed { 3 } else { 0 })
    }
}

/// Faults, each on a line.
fn say(context: &Context, files: &[FileStats]) {
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
