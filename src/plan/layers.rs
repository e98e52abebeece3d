//! The layers that look at results one by one. A new one is a file with its candidates, and a place here.
//!
//! PURE. A candidate is found by its position (newest, oldest, kind of tool), and never by what another layer does.

use super::results::{Found, ResultPlan, Results};
use super::{Keeping, clear, demote, is_skipped, superseded};
use crate::policy::{Layer, Policy};
use crate::transcript::Transcript;

/// The layers that look at results whatever the size of their conversation, in the order in which they run.
const LAYERS: [Layer; 3] = [Layer::Superseded, Layer::Demote, Layer::Clear];

/// The candidates that a layer finds in one conversation.
fn candidates<'p>(
    layer: Layer,
    results: &Results<'_, '_>,
    policy: &'p Policy,
    keeping: Keeping,
) -> Vec<Found<'p>> {
    match layer {
        Layer::Superseded => superseded::candidates(results, policy),
        Layer::Demote => demote::candidates(results, policy, keeping),
        Layer::Clear => clear::candidates(results, policy),
        Layer::Drop | Layer::Offload | Layer::Summarize | Layer::Restore => Vec::new(),
    }
}

/// The results of a transcript that layers would replace.
pub(super) fn results<'p>(
    transcript: &Transcript<'_>,
    policy: &'p Policy,
    keeping: Keeping,
) -> Vec<ResultPlan<'p>> {
    let mut plans = Vec::new();
    let on = LAYERS.into_iter().filter(|layer| policy.has(*layer));
    if on.clone().next().is_none() {
        return plans;
    }
    for (number, conversation) in transcript.conversations.iter().enumerate() {
        if is_skipped(policy, transcript, conversation) {
            continue;
        }
        let results = Results::of(transcript, number);
        let layers = on.clone();
        let found = layers.flat_map(|layer| candidates(layer, &results, policy, keeping));
        plans.extend(results.plans(found));
    }
    plans
}
