//! Whether a conversation is summarised: over the trigger, and worth it.
//!
//! PURE. Counts are those after the free layers. The reason either way is for people.

use super::{Cut, Cutter};
use crate::policy::{Layer, Policy, SummaryWhen};
use crate::text::thousands;

/// Whether a conversation is summarised, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Due {
    /// It is; the cut is the policy's.
    Yes(Cut, String),
    /// It is not.
    No(String),
}

/// Whether a policy could summarise a conversation that has at most `total` tokens: what has to be looked at closely.
pub fn may_be_due(policy: &Policy, total: u64) -> bool {
    policy.has(Layer::Summarize)
        && match policy.summary.when {
            SummaryWhen::Never => false,
            SummaryWhen::Always => true,
            SummaryWhen::Auto => policy
                .threshold()
                .is_some_and(|threshold| policy.trigger.compare.holds(total, threshold)),
        }
}

/// Whether a conversation of `total` tokens is summarised; `tokens` are those of each message, and `system` those of its
/// system messages, which nothing can save.
pub fn due(policy: &Policy, cutter: &Cutter<'_>, tokens: &[u64], total: u64, system: u64) -> Due {
    let no = |why: &str| Due::No(why.to_owned());
    if !policy.has(Layer::Summarize) || policy.summary.when == SummaryWhen::Never {
        return no("summaries are off");
    }
    let cut = cutter.by_policy(&policy.summary, tokens);
    let why = match (policy.summary.when, policy.threshold()) {
        (SummaryWhen::Always, _) => "asked for".to_owned(),
        (SummaryWhen::Auto | SummaryWhen::Never, None) => return no("no threshold is set"),
        (SummaryWhen::Auto | SummaryWhen::Never, Some(threshold)) => {
            let now = thousands(total);
            if !policy.trigger.compare.holds(total, threshold) {
                return Due::No(format!(
                    "{now} tokens do not reach the trigger of {}",
                    thousands(threshold)
                ));
            }
            // As the published system counts it: what the policy keeps, before the cut is moved.
            let kept: u64 = tokens[cut.asked.min(tokens.len())..].iter().sum();
            let savings = total.saturating_sub(kept).saturating_sub(system);
            let least = policy.trigger.min_savings;
            if savings < least {
                return Due::No(format!(
                    "only {} tokens stand before the kept messages, fewer than {}",
                    thousands(savings),
                    thousands(least)
                ));
            }
            format!("{now} tokens, over the trigger of {}", thousands(threshold))
        }
    };
    Due::Yes(cut, why)
}
