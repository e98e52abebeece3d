//! What a summary is settled from.

use crate::artifacts::Reply;
use crate::facts::{Earlier, Left};
use crate::format::Summaries;
use crate::ids::IdSet;
use crate::plan::{Cutter, Goal, Recents};
use crate::policy::Policy;
use crate::tokens::{Estimator, Size};
use crate::transcript::{Conversation, Transcript};

/// A conversation that is to be summarised.
#[derive(Debug)]
pub struct Summing<'s> {
    /// The input, with nothing cleared.
    pub transcript: &'s Transcript<'s>,
    /// The conversation there.
    pub conversation: &'s Conversation,
    /// What each of its messages is to a later compaction.
    pub left: &'s [Left],
    /// What such messages look like.
    pub earlier: &'s Earlier,
    /// The number (from 1) of the transcript's first line in its file.
    pub first_line: u64,
    /// The sizes of the messages as the free layers have left them.
    pub sizes: &'s [Size],
    /// The live tokens of the input.
    pub before: u64,
    /// How many there are to be afterwards.
    pub goal: Option<Goal>,
    /// The live tokens before anything was compacted, where the goal is a share of them.
    pub original: Option<u64>,
    /// Where the conversation may be cut.
    pub cutter: &'s Cutter<'s>,
    /// What another summariser has written, if one was asked.
    pub reply: Option<&'s Reply>,
    /// How many messages it tells.
    pub told: Option<usize>,
    /// Names and figures in it that it was not given.
    pub invented: u64,
    /// The files that may come back, if any.
    pub recents: Option<&'s Recents<'s>>,
    /// The results that a free layer has replaced.
    pub replaced: &'s IdSet<u32>,
    /// How the format writes summaries.
    pub summaries: Summaries,
    /// How tokens are counted.
    pub estimator: &'s Estimator,
    /// What the summary must keep, in the words of whoever asked for it; "" = nothing special.
    pub instructions: &'s str,
    /// The name of the original in the store, for summaries that name it.
    pub archive: &'s str,
    /// The policy.
    pub policy: &'s Policy,
}
