//! A policy's thresholds, and how a conversation compares with them.
//!
//! Does not predict what a compaction does: it may keep a result over a limit because the result is new or nothing would be saved.

use serde::{Deserialize, Serialize};

use super::turns::Turn;
use crate::policy::{Compare, Layer, Policy};

/// The limits of a policy; `None` if their layer is off. In tokens, unless a field says otherwise.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Thresholds {
    /// The number of live tokens at which the policy summarises, by `compare`.
    pub trigger: Option<u64>,
    /// Whether limits of live tokens are inclusive.
    pub compare: Compare,
    /// The minimum that a summary must save; 0 = no such limit.
    pub min_savings: Option<u64>,
    /// The maximum number of live tokens in the result.
    pub target: Option<u64>,
    /// The same in percent of the live tokens before; takes precedence over `target`.
    pub target_percent: Option<f64>,
    /// The number of live tokens at which the policy offloads, by `compare`.
    pub offload: Option<u64>,
    /// A result with more tokens is demoted.
    pub demote: Option<u64>,
    /// An old result with more tokens is cleared.
    pub clear: Option<u64>,
    /// In characters: a longer old result is cleared, if it is also over `clear`.
    pub clear_chars: Option<u64>,
    /// The number of newest results that are never cleared.
    pub clear_keep: Option<u64>,
}

/// How a conversation compares with the limits of its policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Standing {
    /// By `trigger`.
    pub trigger: Option<Window>,
    /// By the target.
    pub target: Option<Window>,
    /// By `offload`.
    pub offload: Option<Window>,
    /// By `demote`.
    pub demote: Option<ResultsOver>,
    /// By `clear`.
    pub clear: Option<ResultsOver>,
}

/// The live tokens and a limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Window {
    /// The limit.
    pub limit: u64,
    /// The first turn that ended over it. (The live tokens only grow, so they are still over it.)
    pub since: Option<u64>,
}

/// The tokens of single results and a limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResultsOver {
    /// The limit.
    pub limit: u64,
    /// How many results are over it.
    pub results: u64,
    /// The turn of the first of them.
    pub since: Option<u64>,
}

/// A live result: the index of its message (from 0), and its tokens.
#[derive(Debug, Clone, Copy)]
pub(super) struct ResultSize {
    pub(super) message: usize,
    pub(super) tokens: u64,
}

impl Thresholds {
    /// The thresholds of a policy.
    pub fn of(policy: &Policy) -> Self {
        let on = |layer: Layer| policy.has(layer).then_some(());
        let limit = |tokens: u64| (tokens > 0).then_some(tokens);
        let trigger = policy.threshold();
        let target = (!policy.layers.is_empty()).then_some(&policy.target);
        let clear = on(Layer::Clear).map(|()| &policy.clear);
        Thresholds {
            trigger,
            compare: policy.trigger.compare,
            min_savings: trigger.map(|_| policy.trigger.min_savings),
            target: target.and_then(|target| limit(target.tokens)),
            target_percent: target.map(|t| t.percent).filter(|percent| *percent > 0.0),
            offload: on(Layer::Offload).map(|()| policy.offload.tokens),
            demote: on(Layer::Demote).map(|()| policy.demote.min_tokens),
            clear: clear.map(|clear| clear.min_tokens),
            clear_chars: clear.and_then(|clear| limit(clear.min_chars)),
            clear_keep: clear.map(|clear| clear.keep),
        }
    }

    /// How a conversation with these turns and results compares with the limits.
    pub(super) fn standing(&self, turns: &[Turn], results: &[ResultSize]) -> Standing {
        let window = |limit: u64, compare: Compare| {
            let over = turns.iter().find(|t| compare.holds(t.context, limit));
            let since = over.map(|turn| turn.turn);
            Window { limit, since }
        };
        let by_result = |limit: u64| {
            let mut over = results.iter().filter(|result| result.tokens > limit);
            let first = over.next();
            ResultsOver {
                limit,
                results: first.map_or(0, |_| 1 + over.count() as u64),
                since: first.and_then(|first| turn_of(turns, first.message)),
            }
        };
        let whole = turns.last().map_or(0, |turn| turn.context);
        let share = |percent: f64| (percent * whole as f64 / 100.0).floor() as u64;
        let target = self.target_percent.map(share).or(self.target);
        Standing {
            trigger: self.trigger.map(|limit| window(limit, self.compare)),
            // A result equal to the target has reached it.
            target: target.map(|limit| window(limit, Compare::Over)),
            offload: self.offload.map(|limit| window(limit, self.compare)),
            demote: self.demote.map(by_result),
            clear: self.clear.map(by_result),
        }
    }
}

/// The turn that contains a message (from 0).
fn turn_of(turns: &[Turn], message: usize) -> Option<u64> {
    let mut messages_so_far = 0;
    let holds = |turn: &&Turn| {
        messages_so_far += turn.messages;
        (message as u64) < messages_so_far
    };
    turns.iter().find(holds).map(|turn| turn.turn)
}
