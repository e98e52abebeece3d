//! A transcript in progress, with what is known of the input.

use std::collections::BTreeMap;

use super::Input;
use super::summaries::{ConversationResult, Placed};
use crate::apply::apply;
use crate::artifacts::Context;
use crate::format::Warnings;
use crate::ids::{IdMap, IdSet};
use crate::outcome::{Clock, Laps, Phase};
use crate::scan::RawLine;
use crate::settle::Change;
use crate::tokens::{Estimator, Sizes};
use crate::transcript::{ChangeSet, Conversation, ConversationId, Transcript};

/// A transcript in progress.
#[derive(Debug)]
pub struct Work<'a, 's> {
    /// The input.
    pub(super) input: Input<'a, 's>,
    /// The transcript as it is now.
    pub transcript: Transcript<'a>,
    /// The sizes of its blocks.
    pub sizes: Sizes,
    /// What summaries are made from.
    pub(super) source: SummarySource,
    /// The numbers of the conversations of the input.
    pub(super) numbers: BTreeMap<ConversationId, u32>,
    /// The live tokens of the conversations of the input.
    pub(super) before: BTreeMap<ConversationId, u64>,
    /// The same before secrets were masked.
    pub(super) read: BTreeMap<ConversationId, u64>,
    /// The number of the next scripted answer.
    pub(super) next_reply: usize,
    /// The results that were replaced, by their blocks in the input.
    pub(super) replaced: IdSet<u32>,
    /// For each conversation, where it was in the input.
    positions: Vec<InputPosition>,
    /// For each line that was edited, its first block in the input.
    first_blocks: BTreeMap<u32, u32>,
    /// How long the phases took.
    pub(super) laps: Laps,
}

/// What summaries are made from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SummarySource {
    /// The input as it was read, before anything was cleared.
    Input,
    /// The transcript as it is now.
    Current,
}

/// Where a conversation was in the input.
#[derive(Debug, Clone, Copy)]
struct InputPosition {
    /// Its number there.
    number: u32,
    /// How many messages it has lost since.
    removed: u32,
}

impl<'a, 's> Work<'a, 's> {
    /// Reads a transcript.
    pub fn read(input: Input<'a, 's>, estimator: Estimator, warnings: &mut Warnings) -> Self {
        let mut work = Work::parsed(input, estimator, None, warnings);
        work.begin();
        work
    }

    /// Creates the work for a transcript that is read but not counted yet; `clock` measures the reading.
    pub(super) fn parsed(
        input: Input<'a, 's>,
        estimator: Estimator,
        clock: Option<&dyn Clock>,
        warnings: &mut Warnings,
    ) -> Self {
        let laps = Laps::start(clock);
        let transcript =
            input
                .format
                .read_again(input.bytes, input.strings, input.first_line, warnings);
        Work {
            input,
            transcript,
            sizes: Sizes::new(estimator),
            source: SummarySource::Input,
            numbers: BTreeMap::new(),
            before: BTreeMap::new(),
            read: BTreeMap::new(),
            next_reply: 0,
            replaced: IdSet::default(),
            positions: Vec::new(),
            first_blocks: BTreeMap::new(),
            laps,
        }
    }

    /// Assigns the time since the last lap to this phase.
    pub(super) fn lap(&mut self, clock: Option<&dyn Clock>, phase: Phase) {
        self.laps.lap(clock, phase);
    }

    /// Creates the work for a transcript that is appended line by line. Summaries are made from the transcript as it is at the
    /// time.
    pub fn live(input: Input<'a, 's>, estimator: Estimator) -> Self {
        let nothing = Input {
            bytes: &[],
            ..input
        };
        let mut work = Work::read(nothing, estimator, &mut Warnings::default());
        work.input = input;
        work.transcript = Transcript::new(input.bytes);
        work.source = SummarySource::Current;
        work
    }

    /// Appends the next lines of the input.
    pub fn append(&mut self, lines: impl IntoIterator<Item = RawLine>) {
        // The reader of the whole file reports these.
        let mut warnings = Warnings::default();
        for line in lines {
            self.input
                .format
                .push(&mut self.transcript, line, &mut warnings);
        }
        self.input.format.extend(&mut self.transcript);
    }

    /// Forgets dropped lines, as if the file was written and read again, so that the cost of a round depends on the window and
    /// not on the length of the session. Blocks get new numbers: returns the new number of each block that remains.
    pub fn forget_dropped(&mut self) -> Option<Vec<Option<u32>>> {
        if !self.transcript.has_dropped() {
            return None;
        }
        let moved = self.transcript.forget_dropped();
        self.input.format.link(&mut self.transcript);
        self.sizes.renumber(&moved);
        self.begin();
        Some(moved)
    }

    /// Makes the transcript as it is now the input of the next round.
    pub fn begin(&mut self) {
        let ids = || self.transcript.conversations.iter().map(|c| c.id.clone());
        self.numbers = ids().zip(0..).collect();
        let position = |number| InputPosition { number, removed: 0 };
        self.positions = (0..self.transcript.conversations.len() as u32)
            .map(position)
            .collect();
        let totals = self.totals();
        let ids = self.transcript.conversations.iter().map(|c| c.id.clone());
        self.before = ids.zip(totals).collect();
        self.read.clone_from(&self.before);
        self.replaced.clear();
        self.first_blocks.clear();
    }

    /// Begins again after secrets were masked: a summary must be smaller than what is left, and shares are those of what was read.
    pub(super) fn begin_masked(&mut self) {
        let read = std::mem::take(&mut self.read);
        self.begin();
        self.read = read;
    }

    /// The live tokens of a conversation.
    pub fn total(&mut self, number: usize) -> u64 {
        let conversation = &self.transcript.conversations[number];
        self.sizes.conversation(&self.transcript, conversation)
    }

    /// The live tokens of each conversation.
    pub fn totals(&mut self) -> Vec<u64> {
        let Work {
            transcript, sizes, ..
        } = self;
        let conversations = transcript.conversations.iter();
        conversations
            .map(|c| sizes.conversation(transcript, c))
            .collect()
    }

    /// `results` with conversations and messages numbered as in the input.
    pub(super) fn renumbered(&self, mut results: Vec<Change>) -> Vec<Change> {
        for result in &mut results {
            if let Some(position) = self.positions.get(result.conversation as usize) {
                result.conversation = position.number;
                result.message += position.removed;
            }
        }
        results
    }

    /// Records which results will be replaced, and which lines will get new blocks.
    pub(super) fn note(&mut self, results: &[Change], changes: &ChangeSet) {
        let blocks = results.iter().map(|result| {
            let block = result.block;
            let line = self.transcript.block(block).line;
            match self.first_blocks.get(&line) {
                Some(first) => first + block - self.transcript.blocks_of_line(line).start,
                None => block,
            }
        });
        self.replaced.extend(blocks);
        for line in changes.replace.iter().map(|replace| replace.line) {
            let first = self.transcript.blocks_of_line(line).start;
            self.first_blocks.entry(line).or_insert(first);
        }
    }

    /// Applies changes to the transcript.
    pub(super) fn apply(&mut self, changes: ChangeSet) {
        apply(self.input.format, &mut self.transcript, changes);
    }

    /// The number that a conversation had in the input.
    pub(super) fn number_of(&self, id: &ConversationId) -> Option<u32> {
        self.numbers.get(id).copied()
    }

    /// Records where the conversations of the input are now; `counts` are the numbers of messages that they had.
    pub(super) fn find(&mut self, results: &[ConversationResult], counts: &[usize]) {
        let renamed: BTreeMap<&str, &ConversationId> = results
            .iter()
            .map(|result| (result.id_after.as_str(), &result.id))
            .collect();
        let conversations = self.transcript.conversations.iter();
        self.positions = conversations
            .map(|conversation| {
                let id = conversation.id.to_string();
                let id = renamed
                    .get(id.as_str())
                    .copied()
                    .unwrap_or(&conversation.id);
                let number = self.numbers.get(id).copied().unwrap_or(0);
                let was = counts.get(number as usize).copied().unwrap_or(0);
                let removed = was.saturating_sub(conversation.messages.len());
                InputPosition {
                    number,
                    removed: removed as u32,
                }
            })
            .collect();
    }

    /// Looks up the conversations in which summaries were placed.
    pub(super) fn places(&self) -> Places<'_> {
        let mut by_id = IdMap::default();
        for (number, conversation) in self.transcript.conversations.iter().enumerate() {
            let first = conversation.path.first().map(|line| *line as usize);
            let link = first.and_then(|line| Some((line, self.transcript.links().get(line)?)));
            if let Some((line, link)) = link {
                let id = self.transcript.bytes(line as u32, link.id);
                by_id.entry(id).or_insert(number);
            }
        }
        let conversations = &self.transcript.conversations;
        Places {
            by_id,
            conversations,
        }
    }
}

/// A read-only view of a [`Work`].
#[derive(Clone, Copy)]
pub(super) struct View<'w, 'a, 's> {
    pub(super) input: Input<'a, 's>,
    pub(super) transcript: &'w Transcript<'a>,
    pub(super) source: SummarySource,
    pub(super) before: &'w BTreeMap<ConversationId, u64>,
    /// The same before secrets were masked.
    pub(super) read: &'w BTreeMap<ConversationId, u64>,
    pub(super) replaced: &'w IdSet<u32>,
}

impl<'s> View<'_, '_, 's> {
    /// What gathering needs to know of it.
    pub(super) fn context(&self) -> Context<'s> {
        Context {
            format: self.input.format,
            store: self.input.stored.store,
            requester: self.input.stored.requester,
            folder: self.input.stored.folder,
            instruction_source: self.input.instruction_source,
        }
    }
}

/// The conversations of a transcript by the id of their first line.
pub(super) struct Places<'w> {
    by_id: IdMap<&'w [u8], usize>,
    conversations: &'w [Conversation],
}

impl<'w> Places<'w> {
    /// The number of the conversation with that summary; the number before, if lines have no ids.
    pub(super) fn number(&self, placed: &Placed) -> Option<usize> {
        let place = &placed.placement;
        let number = match &place.first_id {
            Some(id) => self.by_id.get(id.as_bytes()).copied(),
            None => Some(place.number),
        };
        number.filter(|number| *number < self.conversations.len())
    }

    /// The conversation with that summary.
    pub(super) fn find(&self, placed: &Placed) -> Option<&'w Conversation> {
        self.number(placed)
            .map(|number| &self.conversations[number])
    }
}
