//! The sizes of the blocks and messages of a transcript, each measured once.
//!
//! Never remeasures an unedited block: edited blocks are reread, and get new numbers.

use super::{BlockLengths, Estimator, Size};
use crate::ids::IdMap;
use crate::threads;
use crate::transcript::{BlockKind, Conversation, Message, Transcript};

/// The sizes of the blocks of a transcript, each measured once.
#[derive(Debug, Clone)]
pub struct Sizes {
    estimator: Estimator,
    blocks: Vec<Option<Size>>,
    /// The sizes of messages that are counted as a whole, by their blocks. Blocks that are reread get new numbers.
    messages: IdMap<Vec<u32>, Size>,
    /// The lengths of blocks as written.
    lengths: BlockLengths,
}

impl Sizes {
    /// An empty cache.
    pub fn new(estimator: Estimator) -> Self {
        Sizes {
            estimator,
            blocks: Vec::new(),
            messages: IdMap::default(),
            lengths: BlockLengths::default(),
        }
    }

    /// Swaps the cache of lengths, which estimators of the same transcript share.
    pub(crate) fn exchange(&mut self, lengths: &mut BlockLengths) {
        std::mem::swap(&mut self.lengths, lengths);
    }

    /// The estimator.
    pub fn estimator(&self) -> &Estimator {
        &self.estimator
    }

    /// A cache for `part`, filled from this cache of `transcript`; `lines` are the numbers that the lines of `part` have in it.
    pub(crate) fn of_lines(
        &self,
        transcript: &Transcript<'_>,
        lines: &[u32],
        part: &Transcript<'_>,
    ) -> Sizes {
        let mut known = Sizes::new(self.estimator.clone());
        known.blocks = vec![None; part.block_count()];
        for (line, from) in (0..part.lines().len() as u32).zip(lines) {
            let (ours, theirs) = (part.blocks_of_line(line), transcript.blocks_of_line(*from));
            // A line may be read differently without the lines before it.
            if ours.len() != theirs.len() || part.line(line) != transcript.line(*from) {
                continue;
            }
            for (ours, theirs) in ours.zip(theirs) {
                let is_alike = part.block(ours).kind == transcript.block(theirs).kind;
                let size = self.blocks.get(theirs as usize).copied().flatten();
                known.blocks[ours as usize] = size.filter(|_| is_alike);
            }
        }
        known
    }

    /// Updates the cache after blocks got new numbers: `moved` has the new number of each remaining block.
    pub(crate) fn renumber(&mut self, moved: &[Option<u32>]) {
        let mut blocks = vec![None; moved.iter().flatten().count()];
        for (size, new) in self.blocks.iter().zip(moved) {
            if let Some(new) = new {
                blocks[*new as usize] = *size;
            }
        }
        self.blocks = blocks;
        self.lengths = BlockLengths::default();
        let new = |old: &u32| moved.get(*old as usize).copied().flatten();
        let messages = std::mem::take(&mut self.messages).into_iter();
        self.messages = messages
            .filter_map(|(blocks, size)| {
                Some((blocks.iter().map(new).collect::<Option<_>>()?, size))
            })
            .collect();
    }

    /// Has a place for each block of a transcript, to which blocks may have been added.
    fn make_room(&mut self, transcript: &Transcript<'_>) {
        if self.blocks.len() < transcript.block_count() {
            self.blocks.resize(transcript.block_count(), None);
        }
    }

    /// The size of a block.
    pub fn block(&mut self, transcript: &Transcript<'_>, block: u32) -> Size {
        self.make_room(transcript);
        let (estimator, lengths) = (&self.estimator, &mut self.lengths);
        *self.blocks[block as usize].get_or_insert_with(|| {
            let written = estimator.written_block(transcript, block, lengths);
            written.unwrap_or_else(|| estimator.block(transcript, transcript.block(block)))
        })
    }

    /// The size of a result's content; not measured again if it is equal to that of the block.
    pub fn result(&self, transcript: &Transcript<'_>, block: u32) -> Size {
        let is_result = transcript.block(block).kind == BlockKind::Result;
        let is_equal = is_result && self.estimator.settings.scope.is_sum_of_blocks();
        let measured = self.blocks.get(block as usize).filter(|_| is_equal);
        let measure = || self.estimator.result(transcript, transcript.block(block));
        measured.copied().flatten().unwrap_or_else(measure)
    }

    /// The size of a message.
    pub fn message(
        &mut self,
        transcript: &Transcript<'_>,
        conversation: &Conversation,
        message: &Message,
    ) -> Size {
        let blocks = conversation.blocks(message);
        if self.estimator.settings.scope.is_sum_of_blocks() {
            return self.sum(transcript, blocks);
        }
        if let Some(size) = self.messages.get(blocks) {
            return *size;
        }
        let joined = self
            .estimator
            .joined(transcript, conversation, message, &mut self.lengths);
        let size = match joined {
            Some(measure) => {
                let flat = blocks
                    .iter()
                    .map(|b| self.estimator.flat(transcript.block(*b)));
                Size {
                    measure,
                    flat: flat.fold(0, u32::saturating_add),
                }
            }
            None => {
                let around = self.estimator.around(transcript, conversation, message);
                let mut size = self.sum(transcript, blocks);
                size.measure += around;
                size
            }
        };
        // Without blocks, messages cannot be distinguished.
        if !blocks.is_empty() {
            self.messages.insert(blocks.to_vec(), size);
        }
        size
    }

    fn sum(&mut self, transcript: &Transcript<'_>, blocks: &[u32]) -> Size {
        let sizes = blocks.iter().map(|block| self.block(transcript, *block));
        sizes.sum()
    }

    /// The tokens of a live window.
    pub fn conversation(
        &mut self,
        transcript: &Transcript<'_>,
        conversation: &Conversation,
    ) -> u64 {
        let sizes = self.messages(transcript, conversation);
        self.estimator.total(sizes)
    }

    /// The sizes of all messages of a live window.
    pub fn messages(
        &mut self,
        transcript: &Transcript<'_>,
        conversation: &Conversation,
    ) -> Vec<Size> {
        if transcript.is_shared() {
            self.measure(transcript, conversation);
        }
        let messages = conversation.messages.iter();
        messages
            .map(|message| self.message(transcript, conversation, message))
            .collect()
    }

    /// Measures the blocks that were not measured yet, on several threads, if blocks are measured by themselves.
    fn measure(&mut self, transcript: &Transcript<'_>, conversation: &Conversation) {
        /// The number of blocks that a thread measures at a time.
        const AT_ONCE: usize = 1024;
        if !self.estimator.settings.scope.is_sum_of_blocks() {
            return;
        }
        self.make_room(transcript);
        let blocks = conversation.all_blocks().map(|(_, block)| block);
        let new: Vec<u32> = blocks
            .filter(|block| self.blocks[*block as usize].is_none())
            .collect();
        let size = |block: &u32| self.estimator.block(transcript, transcript.block(*block));
        let sizes = threads::each(new.chunks(AT_ONCE), |blocks| {
            blocks.iter().map(size).collect::<Vec<Size>>()
        });
        for (block, size) in new.iter().zip(sizes.into_iter().flatten()) {
            self.blocks[*block as usize] = Some(size);
        }
    }

    /// The tokens of a live window as it was after each of its messages.
    pub fn growth(&mut self, transcript: &Transcript<'_>, conversation: &Conversation) -> Vec<u64> {
        let sizes = self.messages(transcript, conversation);
        self.estimator.growing(sizes).collect()
    }
}
