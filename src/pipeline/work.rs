//! A transcript on its way, with what is known of it as it was read.

use std::collections::BTreeMap;

use super::Input;
use super::results::Told;
use crate::apply::apply;
use crate::format::Warnings;
use crate::scan::RawLine;
use crate::tokens::{Estimator, Sizes};
use crate::transcript::{ChangeSet, ConversationId, Transcript};

/// A transcript on its way.
#[derive(Debug)]
pub struct Work<'a, 's> {
    /// Where it comes from.
    pub(super) input: Input<'a, 's>,
    /// As it is now.
    pub transcript: Transcript<'a>,
    /// The sizes of its blocks.
    pub sizes: Sizes,
    /// Where a summary takes its words from.
    pub(super) source: Words,
    /// The conversations of the input, by number.
    pub(super) numbers: BTreeMap<ConversationId, u32>,
    /// Their live tokens.
    pub(super) before: BTreeMap<ConversationId, u64>,
    /// The scripted answer that comes next.
    pub(super) next_reply: usize,
    /// Of each conversation as it is now, its number in the input and by how many messages it was longer there.
    moved: Vec<(u32, u32)>,
    /// The first block of lines that were edited, as they were read.
    first_blocks: BTreeMap<u32, u32>,
}

/// Where a summary takes its words from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Words {
    /// The input as it was read, before anything was cleared.
    Input,
    /// The transcript as it is now.
    Now,
}

impl<'a, 's> Work<'a, 's> {
    /// Reads a transcript.
    pub fn read(input: Input<'a, 's>, estimator: Estimator, warnings: &mut Warnings) -> Self {
        let transcript = input.format.read(input.bytes, input.first_line, warnings);
        let mut work = Work {
            input,
            transcript,
            sizes: Sizes::new(estimator),
            source: Words::Input,
            numbers: BTreeMap::new(),
            before: BTreeMap::new(),
            next_reply: 0,
            moved: Vec::new(),
            first_blocks: BTreeMap::new(),
        };
        work.begin();
        work
    }

    /// A transcript that is still to come: its lines are appended as they do, and a summary takes its words from what is
    /// there.
    pub fn live(input: Input<'a, 's>, estimator: Estimator) -> Self {
        let nothing = Input {
            bytes: &[],
            ..input
        };
        let mut work = Work::read(nothing, estimator, &mut Warnings::default());
        work.input = input;
        work.transcript = Transcript::new(input.bytes);
        work.source = Words::Now;
        work
    }

    /// Appends the next lines of the input.
    pub fn append(&mut self, lines: impl IntoIterator<Item = RawLine>) {
        // What is odd about a line is the business of those who read the whole.
        let mut warnings = Warnings::default();
        for line in lines {
            self.input
                .format
                .push(&mut self.transcript, line, &mut warnings);
        }
        self.input.format.extend(&mut self.transcript);
    }

    /// From now on the transcript as it is counts as the input of the next round.
    pub fn begin(&mut self) {
        let ids = || self.transcript.conversations.iter().map(|c| c.id.clone());
        self.numbers = ids().zip(0..).collect();
        self.moved = (0..self.transcript.conversations.len() as u32)
            .map(|number| (number, 0))
            .collect();
        let totals = self.totals();
        let ids = self.transcript.conversations.iter().map(|c| c.id.clone());
        self.before = ids.zip(totals).collect();
        self.first_blocks.clear();
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

    /// The number of a block of the transcript as it is now, in the transcript as it was read.
    pub(super) fn block_as_read(&self, block: u32) -> u32 {
        let line = self.transcript.block(block).line;
        match self.first_blocks.get(&line) {
            Some(first) => first + block - self.transcript.blocks_of_line(line).start,
            None => block,
        }
    }

    /// Changes the transcript; its blocks stay known by the numbers with which they were read.
    pub(super) fn change(&mut self, changes: ChangeSet) {
        for line in changes.replace.iter().map(|replace| replace.line) {
            let first = self.transcript.blocks_of_line(line).start;
            self.first_blocks.entry(line).or_insert(first);
        }
        apply(self.input.format, &mut self.transcript, changes);
    }

    /// A conversation's number and that of one of its messages, as in the input.
    pub(super) fn numbered(&self, conversation: u32, message: u32) -> (u32, u32) {
        match self.moved.get(conversation as usize) {
            Some((number, longer)) => (*number, message + longer),
            None => (conversation, message),
        }
    }

    /// Notes where the conversations of the input are now.
    pub(super) fn find(&mut self, told: &[Told], counts: &[usize]) {
        let renamed: BTreeMap<&str, &ConversationId> = told
            .iter()
            .map(|told| (told.id_after.as_str(), &told.id))
            .collect();
        let conversations = self.transcript.conversations.iter();
        self.moved = conversations
            .map(|conversation| {
                let id = conversation.id.to_string();
                let id = renamed
                    .get(id.as_str())
                    .copied()
                    .unwrap_or(&conversation.id);
                let number = self.numbers.get(id).copied().unwrap_or(0);
                let was = counts.get(number as usize).copied().unwrap_or(0);
                let longer = was.saturating_sub(conversation.messages.len());
                (number, longer as u32)
            })
            .collect();
    }
}
