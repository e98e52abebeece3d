//! What to do, as data: which results each layer would replace, and why.
//!
//! PURE. A [`Plan`] names candidates by their position (newest, oldest, kind of tool); whether one is large enough and
//! whether replacing it saves anything is settled afterwards with actual sizes, because one layer changes what the next
//! one sees.

mod cut;
mod due;
mod goal;
mod offload;
mod outputs;
mod prune;
mod restore;
mod summary;
mod superseded;

use std::borrow::Cow;

use crate::format::Format;
use crate::ids::IdMap;
use crate::policy::{History, Layer, Policy, Shape as ClearShape};
use crate::scan::unescape;
use crate::transcript::{Block, BlockKind, ChangeSet, Conversation, Shape, Transcript};

pub use crate::facts::kind_of;
pub use cut::{Cut, Cutter};
pub use due::{Due, Force, Live, broke_off, due, forced, is_over, is_skipped, may_be_due};
pub use goal::Goal;
pub use offload::{may_offload, offload};
pub use outputs::{Fit, OutputPlan, Room, outputs};
pub use prune::prunable;
pub use restore::{Placeholders, PutBack, Recent, Recents, Section, recent};
pub use summary::{Decision, Subject, SummaryPlan, SummaryRequest, instructions};
pub use superseded::Superseded;

/// What one step of a round would do to a transcript.
#[derive(Debug, Default)]
pub struct Plan<'t> {
    /// Lines and blocks to remove, with new links for what names them.
    pub removed: ChangeSet,
    /// One entry for each live result that a layer looks at, in the order of conversations and messages.
    pub results: Vec<ResultPlan>,
    /// Results that have to fit into the room that a target leaves for them.
    pub outputs: Vec<OutputPlan>,
    /// The conversations that the summary layer has looked at.
    pub summaries: Vec<SummaryPlan<'t>>,
}

/// What the layers would do to one result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResultPlan {
    /// Which conversation, in the order of the transcript.
    pub conversation: u32,
    /// Which message of it, from 0.
    pub message: u32,
    /// Which block of the transcript.
    pub block: u32,
    /// The block that names its tool: its call, or the result itself where the format repeats the name.
    pub named_by: u32,
    /// Replaced by a placeholder when a later read shows the same.
    pub superseded: Superseded,
    /// To the store when it is oversize.
    pub demote: Demote,
    /// Replaced by the placeholder when it is large enough.
    pub clear: Clear,
    /// To the store when it is long enough.
    pub offload: Offload,
}

impl ResultPlan {
    /// The tool's name in the transcript, "unknown" without a call.
    pub fn tool<'t>(&self, transcript: &'t Transcript<'_>) -> Cow<'t, str> {
        tool_named_by(transcript, self.named_by)
    }
}

/// The tool that a block names, "unknown" where it names none.
pub fn tool_named_by<'t>(transcript: &'t Transcript<'_>, block: u32) -> Cow<'t, str> {
    let block = transcript.block(block);
    let name = match unescape(transcript.bytes(block.line, block.tool)) {
        Cow::Borrowed(name) => String::from_utf8_lossy(name),
        Cow::Owned(name) => Cow::Owned(String::from_utf8_lossy(&name).into_owned()),
    };
    if name.is_empty() {
        Cow::Borrowed("unknown")
    } else {
        name
    }
}

/// Whether a result may be demoted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Demote {
    /// When it is oversize.
    Candidate,
    /// It could be when it is oversize, if there were a store.
    NoStore,
    /// The layer is off, or the content is not all text.
    No,
}

/// Whether a result may be cleared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Clear {
    /// When it is large enough; so many newer results of the same kinds come after it.
    Candidate {
        /// Results of the policy's kinds that are newer.
        newer: u64,
    },
    /// The layer is off, or the result is among the newest, of another kind, or of a form that stays.
    No,
}

/// Whether a result may be offloaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Offload {
    /// When it is long enough, and its name saves something.
    Candidate,
    /// The layer is off or not due, the result is too new, or its content is not all text.
    No,
}

/// Whether there is a place for what is taken out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keeping {
    /// A store: demoted content can be found again.
    Store,
    /// None (a stream without `--store`): nothing is taken out that only a store could give back.
    Nothing,
}

/// Plans one transcript.
pub fn plan(
    format: Format,
    transcript: &Transcript<'_>,
    policy: &Policy,
    keeping: Keeping,
) -> Plan<'static> {
    let mut plan = Plan::default();
    if policy.has(Layer::Drop) && policy.history == History::Drop {
        plan.removed = format.dialect().dead(transcript);
    }
    let looking = [Layer::Superseded, Layer::Demote, Layer::Clear];
    if !looking.iter().any(|layer| policy.has(*layer)) {
        return plan;
    }
    let mut files = 0;
    for (number, conversation) in (0..).zip(&transcript.conversations) {
        if is_skipped(policy, transcript, conversation) {
            continue;
        }
        conversation_results(
            transcript,
            conversation,
            number,
            policy,
            keeping,
            &mut files,
            &mut plan.results,
        );
    }
    // What leaves needs no other change.
    let Plan {
        results, removed, ..
    } = &mut plan;
    results.retain(|result| !removed.drop.contains(&transcript.block(result.block).line));
    plan
}

fn conversation_results(
    transcript: &Transcript<'_>,
    conversation: &Conversation,
    number: u32,
    policy: &Policy,
    keeping: Keeping,
    files: &mut u32,
    results: &mut Vec<ResultPlan>,
) {
    let calls = calls(transcript, conversation);
    let first = results.len();
    for (message, block) in conversation.all_blocks() {
        let result = transcript.block(block);
        if result.kind != BlockKind::Result {
            continue;
        }
        let may_leave = policy.has(Layer::Demote) && may_leave(transcript, result);
        results.push(ResultPlan {
            conversation: number,
            message: message as u32,
            block,
            named_by: calls
                .get(transcript.bytes(result.line, result.call_id))
                .copied()
                .unwrap_or(block),
            superseded: Superseded::No,
            demote: match keeping {
                _ if !may_leave => Demote::No,
                Keeping::Store => Demote::Candidate,
                Keeping::Nothing => Demote::NoStore,
            },
            clear: Clear::No,
            offload: Offload::No,
        });
    }
    if policy.has(Layer::Superseded) {
        superseded::mark(
            transcript,
            conversation,
            policy,
            files,
            &mut results[first..],
        );
    }
    if !policy.has(Layer::Clear) {
        return;
    }
    // From the newest: what is kept counts whatever it holds now, so that a second run keeps the same ones.
    let mut newer = 0;
    for result in results[first..].iter_mut().rev() {
        let kinds = &policy.clear.tools;
        if !kinds.is_empty() && !kinds.contains(&kind_of(&result.tool(transcript), &policy.tools)) {
            continue;
        }
        if newer >= policy.clear.keep
            && may_clear(transcript, transcript.block(result.block), policy)
        {
            result.clear = Clear::Candidate { newer };
        }
        newer += 1;
    }
}

/// The block of every call of a conversation, by the call's id.
fn calls<'t>(transcript: &'t Transcript<'_>, conversation: &Conversation) -> IdMap<&'t [u8], u32> {
    conversation
        .all_blocks()
        .map(|(_, number)| (transcript.block(number), number))
        .filter(|(block, _)| block.kind == BlockKind::Call && !block.call_id.is_empty())
        .map(|(block, number)| (transcript.bytes(block.line, block.call_id), number))
        .collect()
}

/// Whether a result may go to the store: it is all text, and no agent has moved it anywhere itself.
fn may_leave(transcript: &Transcript<'_>, result: &Block) -> bool {
    let whole = result.images == 0 && result.documents == 0 && result.others == 0;
    let is_text = whole && matches!(result.shape, Shape::String | Shape::List | Shape::Parts);
    is_text && !is_persisted(transcript, result)
}

/// How an agent marks an output that it has moved to a file itself; the path in it is all that leads there.
const PERSISTED: &[u8] = b"<persisted-output>";

fn may_clear(transcript: &Transcript<'_>, result: &Block, policy: &Policy) -> bool {
    let shape = match result.shape {
        Shape::String => ClearShape::String,
        Shape::List | Shape::Parts => ClearShape::List,
        Shape::Absent | Shape::Other => return false,
    };
    // Parts of unknown kinds (references to loaded tools) mean something to the agent.
    let known = result.others == 0 && policy.clear.shapes.contains(&shape);
    known && !is_persisted(transcript, result)
}

fn is_persisted(transcript: &Transcript<'_>, result: &Block) -> bool {
    let first = transcript.texts(result).first();
    first.is_some_and(|text| {
        transcript
            .bytes(result.line, text.span)
            .starts_with(PERSISTED)
    })
}
