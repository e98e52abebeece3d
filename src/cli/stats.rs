//! `ctxpack stats`: what is in the window, and what takes most of it.

use std::io::{self, BufWriter};

use clap::{Args, ValueEnum};

use super::compact::{policy_ref, width};
use super::config::PolicyArgs;
use super::reading::{Reading, say};
use super::{Context, Voice, flush, stdout_failed};
use crate::batch::{self, Job};
use crate::error::Result;
use crate::report::{Stats as Report, Turns, View, write_stats_json, write_stats_table};
use crate::stats::{Counting, Exact};

/// Count tokens by role, tool, file and turn, and against thresholds.
///
/// Writes nothing but the counts. Tokens are estimates, made as the policy says. With -v, all turns are shown.
#[derive(Debug, Args)]
pub(super) struct Stats {
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
    #[command(flatten)]
    reading: Reading,
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
        let files = self
            .reading
            .each(context, Job::Once, |over| batch::stats(over, &counting))?;
        let failed = say(context, &files);
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
