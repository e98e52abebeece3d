//! The events of a round.

use std::collections::BTreeMap;

use super::{Event, Verdict};
use crate::pipeline::Round;
use crate::policy::Layer;
use crate::settle::{Change, KeptMessages, Summarised, SummaryResult, Tried};

/// The outcome of a request for a summary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Asked {
    /// None was requested.
    Nobody,
    /// It succeeded.
    Answered,
    /// It failed; what was done instead is an event.
    Failed,
}

/// The events of a round, in the order of the layers, and the outcome of a request for a summary.
pub(super) fn outcome(round: &Round) -> (Vec<Event>, Asked) {
    let mut events = Vec::new();
    let mut by_layer: BTreeMap<Layer, Vec<&Change>> = BTreeMap::new();
    for change in &round.changes {
        let layer = change.why.layer();
        by_layer.entry(layer).or_default().push(change);
    }
    for (layer, changes) in by_layer {
        let freed = changes.iter().map(|c| c.tokens_before - c.tokens_after);
        events.push(Event {
            layer,
            result: Verdict::Made,
            count: changes.len() as u64,
            freed: freed.sum(),
            reason: changes[0].why.reason(|_| None),
        });
    }
    let mut asked = Asked::Nobody;
    for (_, why, settled) in round.tried() {
        match settled {
            SummaryResult::Summarised(summarised) => {
                asked = match (
                    summarised.outcome.success,
                    &summarised.message,
                    summarised.kept,
                ) {
                    // A summary that is too large is not a failure to write one.
                    (true, _, _) | (false, None, KeptMessages::Whole) => Asked::Answered,
                    (false, Some(_), _) | (false, None, KeptMessages::Pruned) => Asked::Failed,
                };
                events.extend(summary(summarised, why));
            }
            SummaryResult::Unchanged {
                tried: Tried::No, ..
            } => {}
            SummaryResult::Unchanged {
                why,
                tried: Tried::Failed(_) | Tried::Empty(_),
                ..
            } => {
                asked = Asked::Failed;
                events.push(Event {
                    layer: Layer::Summarize,
                    result: Verdict::Failed,
                    count: 0,
                    freed: 0,
                    reason: why.clone(),
                });
            }
        }
    }
    (events, asked)
}

/// The events of a summary, or of messages removed without one, and of restored files.
fn summary(summarised: &Summarised, why: &str) -> Vec<Event> {
    let outcome = &summarised.outcome;
    let (result, more) = match (&summarised.message, summarised.kept, &outcome.fallback) {
        (Some(_), _, None) => (Verdict::Made, String::new()),
        (Some(_), _, Some(fallback)) => (
            Verdict::Made,
            format!("; by {fallback}, as none could be written"),
        ),
        (None, KeptMessages::Whole, _) => (
            Verdict::LeftOut,
            "; a summary would be too large".to_owned(),
        ),
        (None, KeptMessages::Pruned, _) => {
            (Verdict::LeftOut, "; no summary could be written".to_owned())
        }
    };
    let reason = format!("{why}{more}");
    let mut events = vec![Event {
        layer: Layer::Summarize,
        result,
        count: outcome.messages,
        freed: summarised.baseline.saturating_sub(summarised.total),
        reason,
    }];
    if let Some(first) = summarised.restored.first() {
        events.push(Event {
            layer: Layer::Restore,
            result: Verdict::Made,
            count: summarised.restored.len() as u64,
            freed: 0,
            reason: first.path.clone(),
        });
    }
    events
}
