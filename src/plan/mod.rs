//! What to do, as data: which results each layer would replace, and why.
//!
//! PURE. A [`Plan`] names candidates by their position (newest, oldest, kind of tool); whether one is large enough and
//! whether replacing it saves anything is settled afterwards with actual sizes, because one layer changes what the next
//! one sees.

mod clear;
mod cut;
mod demote;
mod due;
mod goal;
mod layers;
mod offload;
mod outputs;
mod prune;
mod restore;
mod results;
mod summary;
mod superseded;
mod why;

use crate::format::Format;
use crate::policy::{History, Layer, Policy};
use crate::transcript::{ChangeSet, Transcript};

pub use crate::facts::kind_of;
pub use cut::{Cut, Cutter};
pub use due::{Due, Force, Live, broke_off, due, forced, is_over, is_skipped, may_be_due};
pub use goal::Goal;
pub use offload::{may_offload, offload};
pub use outputs::{Fit, KEPT_SHARE, OutputCandidate, OutputPlan, Room, outputs};
pub use prune::prunable;
pub use restore::{Recent, Recents, RestoredEntry, Section, recent};
pub use results::{Candidate, Content, Limits, Reason, ResultPlan, ResultRef, tool_named_by};
pub use summary::{Decision, Subject, SummaryPlan, SummaryRequest, instructions};
pub use why::Why;

/// What one step of a round would do to a transcript.
#[derive(Debug, Default)]
pub struct Plan<'t> {
    /// Lines and blocks to remove, with new links for whatever refers to them.
    pub removed: ChangeSet,
    /// The results that layers would replace, in the order of conversations and messages.
    pub results: Vec<ResultPlan<'t>>,
    /// Results that have to fit into the room that a target leaves for them.
    pub outputs: Vec<OutputPlan>,
    /// The conversations that the summary layer has looked at.
    pub summaries: Vec<SummaryPlan<'t>>,
}

/// Whether there is a place for what is taken out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keeping {
    /// A store: demoted content can be found again.
    Store,
    /// None (a stream without `--store`): content that could be restored only from a store is not taken out.
    Nothing,
}

/// Plans the free layers over one transcript. Summaries are planned in `pipeline/planning.rs`, from what is here.
pub fn plan<'p>(
    format: Format,
    transcript: &Transcript<'_>,
    policy: &'p Policy,
    keeping: Keeping,
) -> Plan<'p> {
    let mut plan = Plan::default();
    if policy.has(Layer::Drop) && policy.history == History::Drop {
        plan.removed = format.dead(transcript);
    }
    plan.results = layers::results(transcript, policy, keeping);
    // Results on dropped lines are not replaced as well.
    let dropped = &plan.removed.drop;
    plan.results
        .retain(|result| !dropped.contains(&transcript.block(result.place.block).line));
    plan
}
