//! `ctxpack replay`: shows what policies would have done to a session, turn by turn.

use std::io::{self, BufWriter};
use std::path::Path;

use clap::Args;

use super::apart::tell_apart;
use super::config::{KeyArgs, POLICY, PolicyArgs, ResolvedPolicy};
use super::gates::{BudgetArgs, SavingsArgs};
use super::messages::policy_ref;
use super::reading::{Reading, say_all};
use super::reports::{Planned, ReportArgs, RowArgs, write_all};
use super::shape::{Shape, ShapeArgs};
use super::timings::{TimingArgs, wall};
use super::without_server::without_server;
use super::{Context, flush, scripted_answers, stdout_failed};
use crate::batch::{self, Workload, unread};
use crate::error::Result;
use crate::policy::{self, Effective, Use};
use crate::replay::{Player, Replayer};
use crate::report::{
    CsvRows, Detail, Render, ReplayHeader, Replays, ReportFormat, write_replay_table,
};

/// Simulate policies turn by turn over recorded sessions.
///
/// Shows what a live agent with each policy would have done. Writes no files and sends no requests: summaries are scripted or
/// extractive. Policies are shown side by side, with tokens counted the same way for all.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  ctxpack replay in.jsonl                              all presets, side by side
  ctxpack replay in.jsonl --policy auto --timeline     each turn of one")]
pub(super) struct Replay {
    /// A preset's name, or a policy file; repeatable [default: all presets]
    #[arg(long = "policy", value_name = "NAME|FILE", help_heading = POLICY)]
    policies: Vec<String>,
    #[command(flatten)]
    keys: KeyArgs,
    /// Show every turn, and every step at which something happened
    #[arg(long, conflicts_with = "json")]
    timeline: bool,
    #[command(flatten)]
    shape: ShapeArgs,
    #[command(flatten)]
    reports: ReportArgs,
    #[command(flatten)]
    timings: TimingArgs,
    #[command(flatten)]
    rows: RowArgs,
    #[command(flatten)]
    peak: BudgetArgs,
    #[command(flatten)]
    savings: SavingsArgs,
    #[command(flatten)]
    reading: Reading,
}

impl Replay {
    pub(super) fn run(&self, context: &Context) -> Result<u8> {
        let clock = self.timings.clock();
        let planned = self.rows.of(self.reports.checked()?, &[CsvRows::Turn])?;
        let names: Vec<String> = match &self.policies[..] {
            [] => policy::presets()?.into_iter().map(|p| p.name).collect(),
            named => named.to_vec(),
        };
        let chosen = names.into_iter().map(|name| {
            let args = PolicyArgs {
                policy: Some(name),
                keys: self.keys.clone(),
            };
            let chosen = args.resolve(context)?;
            Ok(ResolvedPolicy {
                effective: without_server(chosen.effective, "replay")?,
                ..chosen
            })
        });
        let mut policies = chosen.collect::<Result<Vec<_>>>()?;
        tell_apart(&mut policies);
        context.without_effect(policies.iter().map(|one| &one.effective), Use::InTurns);
        let named = policies.iter();
        let replaying = replaying(named.map(|one| (one.file.as_deref(), &one.effective)))?;
        let (files, mut not_read) =
            self.reading
                .each(context, (Workload::Replay, clock.as_ref()), |over| {
                    batch::replay(over, &replaying)
                })?;
        let failed = say_all(context, &files, "not replayed", &mut not_read)?;
        let policies = policies.iter().map(|one| policy_ref(&one.effective));
        let about = ReplayHeader {
            policies: policies.collect(),
            estimator: replaying.estimator().into(),
        };
        let tell = || {
            let report = Replays::of(about, &files)
                .map_err(unread)?
                .with_not_read(not_read.into_list())
                .with_timings(wall(clock.as_ref()));
            self.tell(context, &planned, &report)
        };
        let told = self.reading.tell(&files, tell)?;
        Ok(if failed { 3 } else { told })
    }

    /// Writes the reports and the table; returns the exit code.
    fn tell(&self, context: &Context, planned: &[Planned], replays: &Replays<'_>) -> Result<u8> {
        let all = write_all(context, planned, replays);
        let mut out = BufWriter::new(io::stdout().lock());
        let detail = match self.timeline {
            true => Detail::Timeline,
            false => Detail::Totals,
        };
        let written = match self.shape.shape() {
            Shape::Json => replays.render(ReportFormat::Json, &mut out),
            Shape::Text => write_replay_table(
                replays,
                detail,
                context.color.screen(&io::stdout()),
                &mut out,
            ),
        };
        written.map_err(|e| stdout_failed(&e))?;
        flush(&mut out)?;
        let totals = replays.head().totals();
        let mut closed = self.peak.of_replay(totals);
        closed.extend(self.savings.of_replay(totals));
        let code = context.gates(&closed);
        Ok(if all { code } else { 3 })
    }
}

/// Prepares policies for replay; a scripted policy has its answers next to its file.
pub(super) fn replaying<'p>(
    policies: impl IntoIterator<Item = (Option<&'p Path>, &'p Effective)>,
) -> Result<Replayer<'p>> {
    let players = policies
        .into_iter()
        .map(|(file, effective)| {
            let replies = scripted_answers(file, &effective.policy)?;
            Player::new(&effective.policy, replies)
        })
        .collect::<Result<Vec<_>>>()?;
    Replayer::new(players)
}
