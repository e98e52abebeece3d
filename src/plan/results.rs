//! Results that layers would replace, as data, and what layers look at to find them.
//!
//! PURE. Whether a result is large enough, and whether replacing it saves anything, is settled with actual sizes.

use std::borrow::Cow;

use super::Why;
use crate::facts::Shown;
use crate::ids::IdMap;
use crate::policy::Template;
use crate::scan::unescape;
use crate::transcript::{Block, BlockKind, Conversation, Shape, Transcript};

/// What one layer would do to one result. The plans for one result are adjacent, in the order of the layers: each layer sees what
/// those before it have left.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ResultPlan<'p> {
    /// Which result.
    pub place: ResultRef,
    /// What would be done to it.
    pub candidate: Candidate<'p>,
}

/// Which result of a transcript.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ResultRef {
    /// Which conversation, in the order of the transcript.
    pub conversation: u32,
    /// Which message of it, from 0.
    pub message: u32,
    /// Which block of the transcript.
    pub block: u32,
    /// The block that names its tool: its call, or the result itself where the format repeats the name.
    pub named_by: u32,
}

/// What one layer would do to a result.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Candidate<'p> {
    /// Why.
    pub reason: Reason,
    /// The result is left alone unless it is larger than this.
    pub over: Limits,
    /// What takes its place.
    pub text: &'p Template,
    /// What happens to its content.
    pub content: Content,
}

/// Why a result would be replaced.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Reason {
    /// Known already.
    Known(Why),
    /// It is a read; it is replaced if a later one, which stays, shows the same.
    ShownAgain {
        /// The same number for all reads of one file in one conversation.
        file: u32,
        /// What this read shows of the file.
        shows: Shown,
    },
}

impl Reason {
    /// Whether it holds whatever happens to other results.
    pub fn is_known(&self) -> bool {
        match self {
            Reason::Known(_) => true,
            Reason::ShownAgain { .. } => false,
        }
    }
}

/// The sizes above which a result is replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Limits {
    /// In tokens.
    pub tokens: Option<u64>,
    /// In characters.
    pub chars: Option<u64>,
}

/// What happens to content that is replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Content {
    /// It is dropped: its tool can be run again.
    Dropped,
    /// It goes to the store.
    Stored,
    /// It would go to the store, if there were one: nothing is done.
    NoStore,
    /// It would go to the store, if it were only text: nothing is done.
    NotOnlyText,
}

/// A candidate, with the number of its result in [`Results::all`].
pub(super) type Found<'p> = (usize, Candidate<'p>);

/// The results of one conversation.
pub(super) struct Results<'t, 'a> {
    pub(super) transcript: &'t Transcript<'a>,
    pub(super) conversation: &'t Conversation,
    /// In the order of the messages.
    pub(super) all: Vec<ResultRef>,
}

impl<'t, 'a> Results<'t, 'a> {
    /// The results of the conversation with that number.
    pub(super) fn of(transcript: &'t Transcript<'a>, number: usize) -> Self {
        let conversation = &transcript.conversations[number];
        // If two calls have the same id, each names the results that follow it.
        let mut calls: IdMap<&[u8], u32> = IdMap::default();
        let is_call = |(_, block): &(usize, u32)| transcript.block(*block).kind == BlockKind::Call;
        // Growing would hash all ids again.
        calls.reserve(conversation.all_blocks().filter(is_call).count());
        let mut all = Vec::new();
        for (message, number_of_block) in conversation.all_blocks() {
            let block = transcript.block(number_of_block);
            let id = || transcript.bytes(block.line, block.call_id);
            match block.kind {
                BlockKind::Call if !block.call_id.is_empty() => {
                    calls.insert(id(), number_of_block);
                }
                BlockKind::Result => all.push(ResultRef {
                    conversation: number as u32,
                    message: message as u32,
                    block: number_of_block,
                    named_by: transcript
                        .call_beside(number_of_block)
                        .or_else(|| calls.get(id()).copied())
                        .unwrap_or(number_of_block),
                }),
                BlockKind::Call
                | BlockKind::Text
                | BlockKind::Image
                | BlockKind::Document
                | BlockKind::Thinking
                | BlockKind::Redacted
                | BlockKind::Server
                | BlockKind::Attachment
                | BlockKind::Other => {}
            }
        }
        Results {
            transcript,
            conversation,
            all,
        }
    }

    /// Each result with its number and its block.
    pub(super) fn blocks(&self) -> impl DoubleEndedIterator<Item = (usize, &ResultRef, &'t Block)> {
        let all = self.all.iter().enumerate();
        all.map(|(number, place)| (number, place, self.transcript.block(place.block)))
    }

    /// The candidates as plans, in the order of the results.
    pub(super) fn plans<'p>(
        &self,
        found: impl IntoIterator<Item = Found<'p>>,
    ) -> impl Iterator<Item = ResultPlan<'p>> {
        let mut found: Vec<Found<'p>> = found.into_iter().collect();
        // The sort is stable, so the layers keep their order.
        found.sort_by_key(|(number, _)| *number);
        let found = found.into_iter();
        found.map(|(number, candidate)| ResultPlan {
            place: self.all[number],
            candidate,
        })
    }
}

impl ResultRef {
    /// The tool's name in the transcript, "unknown" without a call.
    pub fn tool<'t>(&self, transcript: &'t Transcript<'_>) -> Cow<'t, str> {
        tool_named_by(transcript, self.named_by)
    }
}

impl Limits {
    /// Whether a result of this many tokens and characters is over the limits.
    pub fn are_exceeded(self, tokens: u64, chars: impl FnOnce() -> u64) -> bool {
        self.tokens.is_none_or(|limit| tokens > limit)
            && self.chars.is_none_or(|limit| chars() > limit)
    }
}

/// A limit of a policy, where 0 means none.
pub(super) fn limit(value: u64) -> Option<u64> {
    (value > 0).then_some(value)
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

/// Whether a result may go to the store: it is all text, and no agent has moved it anywhere itself.
pub(super) fn may_leave(transcript: &Transcript<'_>, result: &Block) -> bool {
    is_only_text(result) && !is_persisted(transcript, result)
}

/// Whether a result is all text.
pub(super) fn is_only_text(result: &Block) -> bool {
    let whole = result.images == 0 && result.documents == 0 && result.others == 0;
    whole && matches!(result.shape, Shape::String | Shape::List | Shape::Parts)
}

/// The marker of an output that an agent has moved to a file itself; the path in it is the only reference to that file.
const PERSISTED: &[u8] = b"<persisted-output>";

/// Whether an agent has moved a result to a file itself.
pub(super) fn is_persisted(transcript: &Transcript<'_>, result: &Block) -> bool {
    let first = transcript.texts(result).first();
    first.is_some_and(|text| {
        transcript
            .bytes(result.line, text.span)
            .starts_with(PERSISTED)
    })
}
