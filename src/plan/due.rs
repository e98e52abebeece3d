//! Whether a summary is due: the conversation is over the trigger and a summary is worth it, or something asks for one.
//!
//! PURE. Token counts are those after the free layers. The reasons are for reports.

use super::{Cut, Cutter, Goal};
use crate::facts::{Asked, agent_request_kind, asked_for};
use crate::format::Format;
use crate::policy::{Compare, Layer, Policy, Summary, SummaryWhen, TooLarge};
use crate::text::thousands;
use crate::transcript::{Conversation, Transcript};

/// Whether a summary of a conversation is due, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Due {
    /// It is due, with the policy's cut.
    Yes(Cut, String),
    /// It is not due.
    No(String),
}

/// What makes a summary due below the trigger.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Force {
    /// Nothing does.
    #[default]
    No,
    /// The agent asked for it.
    Asked(Asked),
    /// The last answer broke off, with the finish reason that it gives.
    Broke(String),
    /// Something outside the transcript asks for it, and says why.
    Outside(String),
}

/// Finds what makes a summary due below the trigger.
pub fn forced(
    format: Format,
    policy: &Policy,
    transcript: &Transcript<'_>,
    conversation: &Conversation,
) -> Force {
    if !policy.has(Layer::Summarize) || policy.summary.when == SummaryWhen::Never {
        return Force::No;
    }
    if let Some(reason) = broke_off(format, policy, transcript, conversation) {
        return Force::Broke(reason);
    }
    match asked_for(transcript, conversation, &policy.trigger.manual_tool) {
        Some(asked) => Force::Asked(asked),
        None => Force::No,
    }
}

/// The finish reason of the last answer, if the policy says that it makes a summary due.
pub fn broke_off(
    format: Format,
    policy: &Policy,
    transcript: &Transcript<'_>,
    conversation: &Conversation,
) -> Option<String> {
    let reasons = &policy.trigger.force_on_finish;
    if reasons.is_empty() || !policy.has(Layer::Summarize) {
        return None;
    }
    let reason = format.finish_reason(transcript, conversation)?;
    reasons.contains(&reason).then_some(reason)
}

/// Whether a conversation is skipped because it is a request of the agent to itself.
pub fn is_skipped(
    policy: &Policy,
    transcript: &Transcript<'_>,
    conversation: &Conversation,
) -> bool {
    let skip = &policy.trigger.skip;
    !skip.is_empty()
        && agent_request_kind(transcript, conversation).is_some_and(|what| skip.contains(&what))
}

/// Whether a summary could be due for a conversation of at most `total` tokens. A cheap test before [`due`].
pub fn may_be_due(policy: &Policy, total: u64, force: &Force) -> bool {
    policy.has(Layer::Summarize)
        && match policy.summary.when {
            SummaryWhen::Never => false,
            SummaryWhen::Always => true,
            SummaryWhen::Auto => *force != Force::No || is_over(policy, total),
        }
}

/// Whether `total` live tokens are over the policy's trigger.
pub fn is_over(policy: &Policy, total: u64) -> bool {
    let threshold = policy.threshold();
    threshold.is_some_and(|threshold| policy.trigger.compare.holds(total, threshold))
}

/// The live tokens of a conversation.
#[derive(Debug, Clone, Copy)]
pub struct Live<'t> {
    /// The tokens of each message; 0 for system messages.
    pub tokens: &'t [u64],
    /// The total.
    pub total: u64,
    /// The tokens of system messages, which cannot be saved.
    pub system: u64,
    /// The most live tokens that should remain afterwards.
    pub goal: Option<Goal>,
}

/// Whether a summary of a conversation is due.
pub fn due(policy: &Policy, force: &Force, cutter: &Cutter<'_>, live: Live<'_>) -> Due {
    let Live {
        tokens,
        total,
        system,
        goal,
    } = live;
    let no = |why: &str| Due::No(why.to_owned());
    let summary = &policy.summary;
    if !policy.has(Layer::Summarize) || summary.when == SummaryWhen::Never {
        return no("summaries are off");
    }
    let cut = cutter.by_policy(summary, tokens);
    if summary.when == SummaryWhen::Always {
        return Due::Yes(cut, "asked for".to_owned());
    }
    let is_small = |goal: Goal| {
        let content = goal.content(total);
        content.is_some_and(|content| content <= goal.tokens && !is_over(policy, content))
    };
    let over = match policy.threshold() {
        Some(threshold) if is_over(policy, total) && goal.is_some_and(is_small) => {
            Due::No(format!(
                "{} tokens (without system messages) do not reach the trigger of {}",
                thousands(total.saturating_sub(system)),
                thousands(threshold)
            ))
        }
        Some(threshold) if is_over(policy, total) => {
            // Counted before the cut is moved, as in the system that this trigger comes from.
            let kept: u64 = tokens[cut.requested.min(tokens.len())..].iter().sum();
            let savings = total.saturating_sub(kept).saturating_sub(system);
            let least = policy.trigger.min_savings;
            if savings >= least {
                let (now, threshold) = (thousands(total), thousands(threshold));
                let how = match policy.trigger.compare {
                    Compare::Over => "over",
                    Compare::AtLeast => "at or over",
                };
                return Due::Yes(
                    below_trigger(policy, cutter, cut, tokens),
                    format!("{now} tokens, {how} the trigger of {threshold}"),
                );
            }
            Due::No(format!(
                "only {} tokens precede the kept messages; at least {} are required",
                thousands(savings),
                thousands(least)
            ))
        }
        Some(threshold) => Due::No(format!(
            "{} tokens do not reach the trigger of {}",
            thousands(total),
            thousands(threshold)
        )),
        None => no("no threshold is set"),
    };
    match force {
        Force::No => over,
        Force::Outside(why) => Due::Yes(cut, why.clone()),
        Force::Broke(reason) => Due::Yes(cut, format!("the last answer stopped with `{reason}`")),
        Force::Asked(asked) => {
            let cut = cutter.by_policy_at(asked.end, summary, tokens);
            Due::Yes(cut, "the agent asked for it".to_owned())
        }
    }
}

/// `cut`, unless the turns that it keeps are over the trigger by themselves: the conversation would stay over its trigger for ever.
/// In that case, keeps as many of these turns as stay below the trigger; if not even the last one does, its last round, or what the
/// other rules keep. A policy that keeps a number of messages, or that handles a result that is too large in another way, does so
/// on purpose.
fn below_trigger(policy: &Policy, cutter: &Cutter<'_>, cut: Cut, tokens: &[u64]) -> Cut {
    let summary = &policy.summary;
    let stays_over = |cut: Cut| {
        let kept: u64 = tokens[cut.first_kept.min(tokens.len())..].iter().sum();
        is_over(policy, kept)
    };
    if summary.keep_turns == 0
        || summary.keep_messages > 0
        || summary.too_large == TooLarge::LastTurns
        || !stays_over(cut)
    {
        return cut;
    }
    let of_turns = |keep_turns: u64| {
        let keep = Summary {
            keep_turns,
            ..summary.clone()
        };
        cutter.by_policy(&keep, tokens)
    };
    // More turns mean more tokens, so a binary search finds the number of turns.
    let (mut fits, mut over) = (0, summary.keep_turns.min(tokens.len() as u64));
    while over - fits > 1 {
        let turns = fits + (over - fits) / 2;
        match stays_over(of_turns(turns)) {
            true => over = turns,
            false => fits = turns,
        }
    }
    let fewer = of_turns(fits);
    match fits {
        0 => {
            let last_round = cutter.with_last_round_only(cut);
            [fewer, last_round]
                .into_iter()
                .min_by_key(|cut| cut.first_kept)
                .unwrap_or(last_round)
        }
        _ => fewer,
    }
}

#[cfg(test)]
mod tests;
