//! Gates: limits that fail a run in CI. What the run writes is written all the same; only the exit code tells.
//!
//! Decides nothing about content. A message says by how much a limit is missed and what to try.

use clap::Args;
use serde_json::json;

use super::shorthand::{percent, tokens};
use super::{Context, Fault};
use crate::outcome::{Outcome, Status, Totals};
use crate::replay;
use crate::report::{Report, Stats};
use crate::text::{count, thousands};

/// The heading of these flags.
pub(super) const GATES: &str = "Gates";

/// How many names a message lists.
const NAMED: usize = 3;

/// A limit that is missed.
pub(super) struct Closed {
    message: String,
    hint: Option<&'static str>,
}

impl Closed {
    pub(super) fn new(message: String, hint: Option<&'static str>) -> Self {
        Closed { message, hint }
    }
}

impl Context {
    /// Says which limits are missed; the exit code.
    pub(super) fn gates(&self, closed: &[Closed]) -> u8 {
        for Closed { message, hint } in closed {
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

/// The gate of commands that save.
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
    /// Fail if a result breaks a rule of its provider, even if the input did, too, or if a file could not be checked
    #[arg(long, help_heading = GATES)]
    require_valid: bool,
    /// Fail if summaries have more than N names that do not occur in the original
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
    /// Conversations over the budget, of these, by name and tokens.
    fn closed<'n>(
        &self,
        conversations: impl Iterator<Item = (String, u64)> + 'n,
        hint: &'static str,
    ) -> Option<Closed> {
        let budget = self.budget?;
        let mut over: Vec<(String, u64)> = conversations.filter(|(_, n)| *n > budget).collect();
        if over.is_empty() {
            return None;
        }
        // Stable, so that equal ones come in path order.
        over.sort_by_key(|(_, tokens)| std::cmp::Reverse(*tokens));
        let named = over.iter().map(|(name, tokens)| {
            let more = thousands(tokens - budget);
            format!("{name} has {}, {more} too many", thousands(*tokens))
        });
        let message = format!(
            "{} over the budget of {} tokens: {}",
            count(over.len() as u64, "conversation"),
            thousands(budget),
            listed(named.collect())
        );
        Some(Closed::new(message, Some(hint)))
    }

    /// Of live windows that were counted.
    pub(super) fn of_stats(&self, stats: &Stats) -> Vec<Closed> {
        let found = stats.conversations().map(|(file, conversation)| {
            (name(&file.file.path, &conversation.id), conversation.tokens)
        });
        if self.budget.is_some() && stats.conversations().next().is_none() {
            return vec![nothing()];
        }
        let hint = "ctxpack compact --target N makes a conversation that small";
        self.closed(found, hint).into_iter().collect()
    }

    /// Of the largest request of each policy.
    pub(super) fn of_replay(&self, totals: &replay::Totals) -> Vec<Closed> {
        if self.budget.is_some() && totals.sessions == 0 {
            return vec![nothing()];
        }
        let peaks = totals.policies.iter();
        let peaks = peaks.map(|policy| {
            let name = format!("the largest request under {}", policy.policy);
            (name, policy.tokens.peak)
        });
        let hint = "lower the policy's trigger.tokens, or raise the budget";
        self.closed(peaks, hint).into_iter().collect()
    }
}

impl SavingsArgs {
    fn closed(&self, what: &str, [before, after]: [u64; 2]) -> Option<Closed> {
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
        Some(Closed::new(message, Some(hint)))
    }

    /// Of what each policy sends.
    pub(super) fn of_replay(&self, totals: &replay::Totals) -> Vec<Closed> {
        if self.min_savings.is_some() && totals.sessions == 0 {
            return vec![nothing()];
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
    /// Whether there is any limit.
    pub(super) fn is_any(&self) -> bool {
        self.budget.budget.is_some()
            || self.savings.min_savings.is_some()
            || self.require_valid
            || self.max_invented.is_some()
            || self.max_degraded.is_some()
    }

    /// The limits that a run has missed.
    pub(super) fn closed(&self, report: &Report) -> Vec<Closed> {
        let totals = report.totals();
        if self.is_any() && totals.compacted + totals.unchanged + totals.rejected == 0 {
            return vec![nothing()];
        }
        let tokens = [totals.tokens_before, totals.tokens_after];
        let conversations = report.files().iter().flat_map(|outcome| {
            let conversations = outcome.conversations.iter();
            conversations.map(|one| (name(&outcome.file.path, &one.id), one.tokens_after))
        });
        let hint = "--target N makes conversations that small, where what must stay allows it";
        [
            self.budget.closed(conversations, hint),
            self.savings.closed("this run saves", tokens),
            self.invalid(report.files()),
            self.invented(report.files()),
            self.degraded(totals),
        ]
        .into_iter()
        .flatten()
        .collect()
    }

    fn invalid(&self, files: &[Outcome]) -> Option<Closed> {
        if !self.require_valid {
            return None;
        }
        let why_not = |outcome: &Outcome| match (outcome.status, outcome.findings_after) {
            (Status::Failed | Status::Unsupported, _) => Some("not checked".to_owned()),
            (Status::Compacted | Status::Unchanged | Status::Rejected, findings @ 1..) => {
                Some(count(findings, "finding"))
            }
            (Status::Compacted | Status::Unchanged | Status::Rejected | Status::Skipped, _) => None,
        };
        let invalid: Vec<String> = files
            .iter()
            .filter_map(|outcome| Some(format!("{}: {}", outcome.file.path, why_not(outcome)?)))
            .collect();
        let number = count(invalid.len() as u64, "file");
        (!invalid.is_empty()).then(|| {
            let message = format!("not valid: {number} ({})", listed(invalid));
            Closed::new(message, Some("ctxpack verify lists the findings"))
        })
    }

    fn invented(&self, files: &[Outcome]) -> Option<Closed> {
        let most = self.max_invented?;
        let conversations = files.iter().flat_map(|outcome| &outcome.conversations);
        let summaries = conversations.filter_map(|one| one.summary.as_ref());
        let invented: u64 = summaries.map(|summary| summary.invented).sum();
        (invented > most).then(|| {
            let message = format!(
                "summaries have {} that the originals lack, more than {most}",
                count(invented, "name")
            );
            Closed::new(message, Some("--summarizer extractive invents nothing"))
        })
    }

    fn degraded(&self, totals: &Totals) -> Option<Closed> {
        let most = self.max_degraded?;
        (totals.degraded > most).then(|| {
            let message = format!(
                "{} degraded, more than {most}",
                count(totals.degraded, "file")
            );
            Closed::new(message, None)
        })
    }
}

fn nothing() -> Closed {
    Closed::new(
        "nothing was read, so no limit can be checked".to_owned(),
        Some("name files that ctxpack reads"),
    )
}

/// A conversation's file, and its id where it is not the main one.
fn name(path: &str, id: &str) -> String {
    match id {
        "main" => path.to_owned(),
        id => format!("{path} {id}"),
    }
}

fn listed(names: Vec<String>) -> String {
    let hidden = names.len().saturating_sub(NAMED);
    let mut text: Vec<String> = names.into_iter().take(NAMED).collect();
    if hidden > 0 {
        text.push(format!("and {} more", thousands(hidden as u64)));
    }
    text.join("; ")
}
