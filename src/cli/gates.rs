//! Gates: limits that fail a run in CI. The run's output is written all the same; only the exit code changes.
//!
//! Decides nothing about content. A message says by how much a limit is missed and what to try.

use std::io;

use clap::Args;
use serde_json::json;

use super::shorthand::{percent, tokens};
use super::{Context, Fault};
use crate::outcome::{Outcome, Status, Totals};
use crate::replay;
use crate::report::Stats;
use crate::text::{count, thousands};

/// The heading of the gate flags.
pub(super) const GATES: &str = "Gates";

/// The maximum number of names in a message.
const MAX_NAMED: usize = 3;

/// A limit that is missed.
pub(super) struct FailedGate {
    message: String,
    hint: Option<&'static str>,
}

impl FailedGate {
    pub(super) fn new(message: String, hint: Option<&'static str>) -> Self {
        FailedGate { message, hint }
    }
}

impl Context {
    /// Reports which limits are missed; returns the exit code.
    pub(super) fn gates(&self, closed: &[FailedGate]) -> u8 {
        for FailedGate { message, hint } in closed {
            self.fault(&Fault {
                kind: json!("gate"),
                file: None,
                line: None,
                message,
                hint: *hint,
            });
        }
        u8::from(!closed.is_empty())
    }
}

/// The gate of commands that look at windows.
#[derive(Debug, Args)]
pub(super) struct BudgetArgs {
    /// Fail if a conversation has more than N live tokens, like 8000 or 8k
    #[arg(long, value_name = "N", value_parser = budget, help_heading = GATES)]
    budget: Option<u64>,
}

/// The gate for commands that save tokens.
#[derive(Debug, Args)]
pub(super) struct SavingsArgs {
    /// Fail if less than P percent of all tokens is saved
    #[arg(long, value_name = "P", value_parser = percent, help_heading = GATES)]
    min_savings: Option<f64>,
}

/// The gates of `compact`.
#[derive(Debug, Args)]
pub(super) struct CompactGates {
    #[command(flatten)]
    budget: BudgetArgs,
    #[command(flatten)]
    savings: SavingsArgs,
    /// Fail if a result violates a provider rule (even one that the input violated), or if a file could not be checked
    #[arg(long, help_heading = GATES)]
    require_valid: bool,
    /// Fail if summaries contain more than N names that do not occur in the original
    #[arg(long, value_name = "N", help_heading = GATES)]
    max_invented: Option<u64>,
    /// Fail if more than N files are degraded
    #[arg(long, value_name = "N", help_heading = GATES)]
    max_degraded: Option<u64>,
}

fn budget(text: &str) -> Result<u64, String> {
    tokens(text).ok_or_else(|| "a number of tokens, like 8000 or 8k".to_owned())
}

impl BudgetArgs {
    /// Checks live windows that were counted.
    ///
    /// # Errors
    /// If an entry cannot be read.
    pub(super) fn of_stats(&self, stats: &Stats<'_>) -> io::Result<Vec<FailedGate>> {
        if self.budget.is_none() {
            return Ok(Vec::new());
        }
        if stats.conversations() == 0 {
            return Ok(vec![nothing("limit")]);
        }
        let mut over = OverBudget::default();
        stats.each_conversation(&mut |file, conversation| {
            let named = || name(&file.file.path, &conversation.id);
            over.see(self, conversation.tokens, named);
            Ok(())
        })?;
        let hint = "ctxpack compact --target N makes a conversation that small";
        Ok(over.closed(self, hint).into_iter().collect())
    }

    /// Checks the largest request under each policy.
    pub(super) fn of_replay(&self, totals: &replay::Totals) -> Vec<FailedGate> {
        if let Some(nothing) = self.budget.and_then(|_| not_replayed(totals)) {
            return vec![nothing];
        }
        let mut over = OverBudget::default();
        for policy in &totals.policies {
            let name = || format!("the largest request under {}", policy.policy);
            over.see(self, policy.tokens.peak, name);
        }
        let hint = "lower the policy's trigger.tokens, or raise the budget";
        over.closed(self, hint).into_iter().collect()
    }
}

impl SavingsArgs {
    fn closed(&self, what: &str, [before, after]: [u64; 2]) -> Option<FailedGate> {
        let least = self.min_savings?;
        let saved = before.saturating_sub(after) as f64 * 100.0 / before.max(1) as f64;
        if saved >= least {
            return None;
        }
        let message = format!(
            "{what} {saved:.1}% of {} tokens, {:.1} points less than {least}%",
            thousands(before),
            least - saved
        );
        let hint = "ctxpack replay and ctxpack eval compare what policies save and keep";
        Some(FailedGate::new(message, Some(hint)))
    }

    /// Checks what each policy sends.
    pub(super) fn of_replay(&self, totals: &replay::Totals) -> Vec<FailedGate> {
        if let Some(nothing) = self.min_savings.and_then(|_| not_replayed(totals)) {
            return vec![nothing];
        }
        let policies = totals.policies.iter();
        policies
            .filter_map(|policy| {
                let sent = [totals.whole.sent, policy.tokens.sent];
                self.closed(&format!("{} saves", policy.policy), sent)
            })
            .collect()
    }
}

impl CompactGates {
    /// Whether any limit is set.
    pub(super) fn is_any(&self) -> bool {
        self.budget.budget.is_some()
            || self.savings.min_savings.is_some()
            || self.require_valid
            || self.max_invented.is_some()
            || self.max_degraded.is_some()
    }

    /// A watcher for the outcomes of a run, which are passed to it one by one.
    pub(super) fn watch(&self) -> GateWatcher<'_> {
        GateWatcher {
            gates: self,
            over: OverBudget::default(),
            invalid: SampledNames::default(),
            invented: 0,
        }
    }

    fn invented(&self, invented: u64) -> Option<FailedGate> {
        let most = self.max_invented?;
        (invented > most).then(|| {
            let message = format!(
                "summaries contain {} not found in the originals; at most {most} allowed",
                count(invented, "name")
            );
            FailedGate::new(message, Some("--summarizer extractive invents nothing"))
        })
    }

    fn degraded(&self, totals: &Totals) -> Option<FailedGate> {
        let most = self.max_degraded?;
        (totals.degraded > most).then(|| {
            let message = format!(
                "{} degraded, more than {most}",
                count(totals.degraded, "file")
            );
            FailedGate::new(message, None)
        })
    }
}

/// The limits of a run, and what is needed of the outcomes seen so far: however many there are, little is held.
pub(super) struct GateWatcher<'g> {
    gates: &'g CompactGates,
    over: OverBudget,
    invalid: SampledNames,
    invented: u64,
}

impl GateWatcher<'_> {
    /// Accounts for the outcome of an input; called in path order.
    pub(super) fn see(&mut self, outcome: &Outcome) {
        for one in &outcome.conversations {
            let named = || name(&outcome.file.path, &one.id);
            self.over.see(&self.gates.budget, one.tokens_after, named);
            self.invented += one.summary.as_ref().map_or(0, |summary| summary.invented);
        }
        let why_not = match (outcome.status, outcome.findings_after) {
            (Status::Failed | Status::Unsupported, _) => Some("not checked".to_owned()),
            (Status::Compacted | Status::Unchanged | Status::Rejected, findings @ 1..) => {
                Some(count(findings, "finding"))
            }
            (Status::Compacted | Status::Unchanged | Status::Rejected | Status::Skipped, _) => None,
        };
        if let Some(why) = why_not {
            let named = format!("{}: {why}", outcome.file.path);
            self.invalid.push(named);
        }
    }

    /// The limits that the run has missed; `totals` are those of all outcomes.
    pub(super) fn closed(self, totals: &Totals) -> Vec<FailedGate> {
        let gates = self.gates;
        if gates.is_any() && totals.compacted + totals.unchanged + totals.rejected == 0 {
            return vec![nothing("limit")];
        }
        let tokens = [totals.tokens_before, totals.tokens_after];
        let hint = "--target N makes conversations that small, unless more than that must be kept";
        let invalid = gates.require_valid && self.invalid.number > 0;
        let invalid = invalid.then(|| {
            let number = count(self.invalid.number, "file");
            let message = format!("not valid: {number} ({})", self.invalid.text());
            FailedGate::new(message, Some("ctxpack verify lists the findings"))
        });
        [
            self.over.closed(&gates.budget, hint),
            gates.savings.closed("this run saves", tokens),
            invalid,
            gates.invented(self.invented),
            gates.degraded(totals),
        ]
        .into_iter()
        .flatten()
        .collect()
    }
}

/// Inputs with a conversation that exceeds its target: the first of them, and their number.
#[derive(Default)]
pub(super) struct OverTarget {
    first: Option<String>,
    number: u64,
}

impl OverTarget {
    pub(super) fn see(&mut self, outcome: &Outcome) {
        let Some((conversation, target)) = outcome.missed_target() else {
            return;
        };
        self.number += 1;
        let named = || {
            let tokens = [conversation.tokens_after, target.cap()].map(thousands);
            let path = &outcome.file.path;
            let more = match outcome.missed_targets().count() {
                0 | 1 => String::new(),
                all => format!(" (the first of {})", count(all as u64, "conversation")),
            };
            let why = conversation.why_not_summarised();
            let why = why.map(|why| format!("; {why}")).unwrap_or_default();
            let [after, target] = tokens;
            format!("{path}: {after} tokens, target {target}{more}{why}")
        };
        self.first.get_or_insert_with(named);
    }

    pub(super) fn closed(self) -> Vec<FailedGate> {
        let message = |first| match self.number {
            1 => format!("the target was not reached: {first}"),
            more => format!(
                "the target was not reached in {}; the first: {first}",
                count(more, "file")
            ),
        };
        let closed = |first| FailedGate::new(message(first), None);
        self.first.map(closed).into_iter().collect()
    }
}

/// Conversations over a budget: the largest of them, and their number.
#[derive(Default)]
struct OverBudget {
    largest: Vec<(String, u64)>,
    number: u64,
}

impl OverBudget {
    fn see(&mut self, budget: &BudgetArgs, tokens: u64, name: impl FnOnce() -> String) {
        if budget.budget.is_none_or(|budget| tokens <= budget) {
            return;
        }
        self.number += 1;
        // Among equals, the order is preserved.
        let rank = self.largest.partition_point(|(_, other)| *other >= tokens);
        if rank < MAX_NAMED {
            self.largest.insert(rank, (name(), tokens));
            self.largest.truncate(MAX_NAMED);
        }
    }

    fn closed(self, budget: &BudgetArgs, hint: &'static str) -> Option<FailedGate> {
        let budget = budget.budget.filter(|_| self.number > 0)?;
        let mut named = SampledNames::default();
        for (name, tokens) in self.largest {
            let more = thousands(tokens - budget);
            named.push(format!("{name} has {}, {more} too many", thousands(tokens)));
        }
        named.number = self.number;
        let message = format!(
            "{} over the budget of {} tokens: {}",
            count(self.number, "conversation"),
            thousands(budget),
            named.text()
        );
        Some(FailedGate::new(message, Some(hint)))
    }
}

/// The first of many names, and their number.
#[derive(Default)]
struct SampledNames {
    first: Vec<String>,
    number: u64,
}

impl SampledNames {
    fn push(&mut self, name: String) {
        self.number += 1;
        if self.first.len() < MAX_NAMED {
            self.first.push(name);
        }
    }

    fn text(self) -> String {
        let hidden = self.number - self.first.len() as u64;
        let mut text = self.first;
        if hidden > 0 {
            text.push(format!("and {} more", thousands(hidden)));
        }
        text.join("; ")
    }
}

/// Why nothing can be checked: there is no input.
pub(super) fn nothing(what: &str) -> FailedGate {
    FailedGate::new(
        format!("nothing was read, so no {what} can be checked"),
        Some("name files that ctxpack reads"),
    )
}

/// Why no limit can be checked, if there is no request to check.
fn not_replayed(totals: &replay::Totals) -> Option<FailedGate> {
    if totals.sessions == 0 {
        return Some(nothing("limit"));
    }
    (totals.requests == 0).then(|| {
        FailedGate::new(
            "no request was replayed, so no limit can be checked".to_owned(),
            Some("name sessions in which a model answers"),
        )
    })
}

/// A conversation's file, followed by its id unless it is the main one.
fn name(path: &str, id: &str) -> String {
    match id {
        "main" => path.to_owned(),
        id => format!("{path} {id}"),
    }
}
