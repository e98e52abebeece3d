//! `ctxpack eval`: measures what policies keep, and at what cost.

use std::fs;
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};

use clap::Args;

use super::apart::tell_apart;
use super::config::{KeyArgs, POLICY, PolicyArgs, ResolvedPolicy};
use super::gates::{FailedGate, GATES};
use super::messages::policy_ref;
use super::reading::{Reading, say_all};
use super::reports::{Planned, ReportArgs, write_all};
use super::shape::{TableShape, TableShapeArgs};
use super::shorthand::{percent, tokens};
use super::timings::{TimingArgs, wall};
use super::without_server::without_server;
use super::{Context, flush, scripted_answers, stdout_failed};
use crate::artifacts::Replies;
use crate::batch::{self, Workload, unread};
use crate::error::{Error, Result};
use crate::eval::{
    Baseline, Budget, Candidate, Cutting, Evaluator, FileEval, Kind, Metric, Totals,
};
use crate::outcome::{Entries, Examined};
use crate::policy::{self, Effective, Setting, Use};
use crate::report::{
    EvalHeader, Evals, Render, ReportFormat, Rows, write_eval_csv, write_eval_table,
};
use crate::summarizer::extractive::HeldOut;
use crate::text::count;

/// Where sessions are cut, in percent of their tokens.
pub(super) const CUTS: [f64; 4] = [35.0, 50.0, 65.0, 80.0];

/// Measure how much each policy keeps of what the agent needed next.
///
/// Cuts recorded sessions, compacts what comes before each cut to a budget, and checks how much of what the session needs after
/// the cut is still there. Writes no files and sends no requests: summaries are scripted or extractive.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  ctxpack eval sessions/ --policy auto --policy layered
  ctxpack eval sessions/ --budget 10 --min-need 60      as a gate: exit code 1 below 60 %")]
pub(super) struct Eval {
    /// A preset's name, or a policy file; repeatable [default: the policy in effect here]
    #[arg(long = "policy", value_name = "NAME|FILE", help_heading = POLICY)]
    policies: Vec<String>,
    #[command(flatten)]
    keys: KeyArgs,
    /// Budgets, in percent of the tokens before a cut: 5,10 or repeated; none measures a policy with its own settings
    #[arg(long = "budget", value_name = "P|none", value_delimiter = ',', default_values = ["5", "10", "20"], value_parser = budget)]
    budgets: Vec<Budget>,
    /// Where to cut sessions, in percent of their tokens: 35,50 or repeated
    #[arg(long = "cut", value_name = "P", value_delimiter = ',', default_values_t = CUTS, value_parser = percent)]
    cuts: Vec<f64>,
    /// Compact each session at N places in a row; each round compacts the previous result plus the next part of the session; no
    /// baselines
    #[arg(long, value_name = "N", conflicts_with = "cuts", value_parser = clap::value_parser!(u32).range(1..=100))]
    rounds: Option<u32>,
    /// Leave out sessions of fewer than N tokens: they say little [default: 0]
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true, value_parser = least)]
    min_tokens: u64,
    /// Weights of the built-in summary by fold, so that no session is measured with weights fitted to it
    #[arg(long, value_name = "FILE")]
    held_out: Option<PathBuf>,
    /// Leave out the baselines: sliding window, head and tail, masking
    #[arg(long)]
    no_baselines: bool,
    /// Also show each session
    #[arg(long)]
    per_file: bool,
    #[command(flatten)]
    shape: TableShapeArgs,
    /// Fail if a policy keeps fewer than P percent of the needed names
    #[arg(long, value_name = "P", value_parser = percent, help_heading = GATES)]
    min_need: Option<f64>,
    /// Fail if a policy leaves more than N names that do not occur in the original
    #[arg(long, value_name = "N", help_heading = GATES)]
    max_invented: Option<u64>,
    #[command(flatten)]
    reports: ReportArgs,
    #[command(flatten)]
    timings: TimingArgs,
    #[command(flatten)]
    reading: Reading,
}

/// A policy, and its variant for each budget.
struct Chosen {
    effective: Effective,
    of_budgets: Vec<Effective>,
    replies: Replies,
}

impl Eval {
    pub(super) fn run(&self, context: &Context) -> Result<u8> {
        let clock = self.timings.clock();
        let planned = self.reports.checked()?;
        let budgets = once(&self.budgets);
        let names: Vec<Option<String>> = match &self.policies[..] {
            [] => vec![None],
            named => named.iter().cloned().map(Some).collect(),
        };
        let resolved = names.into_iter().map(|name| {
            let args = PolicyArgs {
                policy: name,
                keys: self.keys.clone(),
            };
            args.resolve(context)
        });
        let mut resolved = resolved.collect::<Result<Vec<_>>>()?;
        tell_apart(&mut resolved);
        let chosen = resolved.into_iter().map(|one| self.chosen(one, &budgets));
        let chosen = chosen.collect::<Result<Vec<_>>>()?;
        let measured = chosen.iter().flat_map(|chosen| &chosen.of_budgets);
        context.without_effect(measured, Use::Once);
        let candidates = chosen.iter().map(|chosen| {
            let policies = chosen.of_budgets.iter().map(|effective| &effective.policy);
            let name = chosen.effective.policy.name.clone();
            let of_budgets = policies.zip(budgets.iter().copied());
            Candidate::new(name, of_budgets, &chosen.replies)
        });
        let baselines = match self.no_baselines || self.rounds.is_some() {
            true => Vec::new(),
            false => Baseline::ALL.to_vec(),
        };
        let cutting = Cutting {
            cuts: self.cuts.clone(),
            min_tokens: self.min_tokens,
            rounds: self.rounds.unwrap_or_default(),
        };
        let held_out = self.held_out.as_deref().map(folds).transpose()?;
        let evaluator = Evaluator::new(
            candidates.collect::<Result<_>>()?,
            baselines,
            budgets.clone(),
            cutting,
        )?
        .held_out(held_out);
        let (files, mut not_read) =
            self.reading
                .each(context, (Workload::Eval, clock.as_ref()), |over| {
                    batch::eval(over, &evaluator)
                })?;
        let failed = say_all(context, &files, "not measured", &mut not_read)?;
        let policies = chosen.iter().map(|chosen| policy_ref(&chosen.effective));
        let about = EvalHeader::new(policies.collect(), budgets);
        let tell = || {
            self.say_unfolded(context, &evaluator, &files)
                .map_err(unread)?;
            let report = Evals::of(about, &files)
                .map_err(unread)?
                .with_not_read(not_read.into_list())
                .with_timings(wall(clock.as_ref()))
                .map_err(unread)?;
            self.tell(context, &planned, &report)
        };
        let told = self.reading.tell(&files, tell)?;
        Ok(if failed { 3 } else { told })
    }

    /// Writes the reports and the table; returns the exit code.
    fn tell(&self, context: &Context, planned: &[Planned], evals: &Evals<'_>) -> Result<u8> {
        let all = write_all(context, planned, evals);
        let mut out = BufWriter::new(io::stdout().lock());
        let rows = match self.per_file {
            true => Rows::Sessions,
            false => Rows::Totals,
        };
        let written = match self.shape.shape() {
            TableShape::Json => evals.render(ReportFormat::Json, &mut out),
            TableShape::Csv => write_eval_csv(evals, rows, &mut out),
            TableShape::Text => {
                write_eval_table(evals, rows, context.color.screen(&io::stdout()), &mut out)
            }
        };
        written.map_err(|e| stdout_failed(&e))?;
        flush(&mut out)?;
        let closed = self.closed_gates(evals.head().totals());
        let closed: Vec<FailedGate> = closed
            .into_iter()
            .map(|m| FailedGate::new(m, None))
            .collect();
        let code = context.gates(&closed);
        Ok(if all { code } else { 3 })
    }

    /// Reports how many inputs were measured with the built-in weights although others were requested.
    fn say_unfolded(
        &self,
        context: &Context,
        evaluator: &Evaluator<'_>,
        files: &dyn Entries<Examined<FileEval>>,
    ) -> io::Result<()> {
        let Some(folds) = &self.held_out else {
            return Ok(());
        };
        let mut number = 0;
        files.each(&mut |file| {
            let is_measured = file.found.sessions.iter().any(|s| s.skipped.is_none());
            let is_in_none = is_measured && !evaluator.is_held_out(Path::new(&file.file.path));
            number += u64::from(is_in_none);
            Ok(())
        })?;
        if number > 0 {
            let message = format!(
                "{} in no fold of {}: measured with the weights that ship",
                count(number, "input"),
                folds.display()
            );
            context.remark("held_out", &message, None);
        }
        Ok(())
    }

    /// Prepares a policy for measurement.
    fn chosen(&self, resolved: ResolvedPolicy, budgets: &[Budget]) -> Result<Chosen> {
        let replies = scripted_answers(resolved.file.as_deref(), &resolved.effective.policy)?;
        let asked = without_server(resolved.effective, "eval")?;
        let (effective, of_budgets) = measured(asked, budgets)?;
        Ok(Chosen {
            of_budgets,
            effective,
            replies,
        })
    }

    /// The gates that are not met.
    fn closed_gates(&self, totals: &Totals) -> Vec<String> {
        let mut closed = Vec::new();
        let gates = self.min_need.is_some() || self.max_invented.is_some();
        if gates && totals.sessions == 0 {
            closed.push("nothing was measured, so no limit can be checked".to_owned());
        }
        let policies = totals.scores.iter().filter(|of| of.kind == Kind::Policy);
        for of in policies {
            let name = format!("{} with {}", of.method, of.budget);
            if let Some(least) = self.min_need {
                match of.scores.share(Metric::Need) {
                    Some(need) if need >= least => {}
                    Some(need) => closed.push(format!(
                        "{name} keeps {need:.1}% of the needed names, fewer than {least}%"
                    )),
                    None => closed.push(format!("{name}: too few names are needed to measure")),
                }
            }
            if let Some(most) = self.max_invented
                && of.scores.invented > most
            {
                closed.push(format!(
                    "{name} leaves {} invented names, more than {most}: {}",
                    of.scores.invented,
                    of.scores.examples.join(" ")
                ));
            }
        }
        closed
    }
}

/// The folds read from a file.
fn folds(path: &Path) -> Result<HeldOut> {
    let text = fs::read_to_string(path).map_err(|e| Error::io(path, "read the weights", e))?;
    HeldOut::parse(&text).map_err(|e| e.at(path))
}

/// Budgets without duplicates.
fn once(budgets: &[Budget]) -> Vec<Budget> {
    let is_new = |(at, budget): &(usize, &Budget)| !budgets[..*at].contains(budget);
    let new = budgets.iter().enumerate().filter(is_new);
    new.map(|(_, budget)| *budget).collect()
}

/// A number of tokens, in the notation of other flags.
fn least(text: &str) -> Result<u64, String> {
    tokens(text).ok_or_else(|| "a number of tokens, such as 8000 or 8k".to_owned())
}

fn budget(text: &str) -> Result<Budget, String> {
    match text {
        "none" => Ok(Budget::Own),
        text => percent(text)
            .map(Budget::Percent)
            .map_err(|takes| format!("{takes}, or none")),
    }
}

/// A policy prepared for measurement, and its variant for each of these budgets.
pub(super) fn measured(
    asked: Effective,
    budgets: &[Budget],
) -> Result<(Effective, Vec<Effective>)> {
    let with = |settings: &[(&str, &str)], budget: Option<f64>| {
        let budget = budget.map(|percent| setting(Candidate::BUDGET, &percent.to_string()));
        let settings = settings.iter().map(|(key, value)| setting(key, value));
        let all: Vec<Setting> = settings.chain(budget).collect();
        let mut effective = policy::resolve(asked.policy.clone(), &all)?;
        effective.overrides.splice(0..0, asked.overrides.clone());
        Ok(effective)
    };
    let of_budgets = budgets.iter().map(|budget| match budget {
        Budget::Percent(percent) => with(&Candidate::FOR_BUDGETS, Some(*percent)),
        Budget::Own => with(&Candidate::OWN, None),
    });
    let of_budgets = of_budgets.collect::<Result<_>>()?;
    // The policy named in reports, without the budgets.
    let effective = match budgets.iter().all(|budget| *budget == Budget::Own) {
        true => with(&Candidate::OWN, None)?,
        false => with(&Candidate::FOR_BUDGETS, None)?,
    };
    Ok((effective, of_budgets))
}

fn setting(key: &str, value: &str) -> Setting {
    Setting {
        key: key.to_owned(),
        value: value.to_owned(),
        origin: "eval".to_owned(),
    }
}
