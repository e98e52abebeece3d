//! The lengths of a transcript's blocks as written, computed once for several estimators.
//!
//! PURE. Identifies blocks by their numbers: blocks that are reread get new ones.

use super::lengths::Lengths;
use crate::scan::Span;
use crate::transcript::Transcript;

/// The lengths of the values of a transcript's blocks, each computed once for several estimators.
#[derive(Debug, Default, Clone)]
pub struct BlockLengths(Vec<Option<Lengths>>);

impl BlockLengths {
    /// The lengths of a block.
    pub(super) fn of(&mut self, transcript: &Transcript<'_>, number: u32) -> Lengths {
        if self.0.len() < transcript.block_count() {
            self.0.resize(transcript.block_count(), None);
        }
        *self.0[number as usize].get_or_insert_with(|| {
            let block = transcript.block(number);
            Lengths::of(transcript.bytes(block.line, block.value))
        })
    }

    /// The lengths of a message object on a line, given its blocks.
    pub(super) fn of_message(
        &mut self,
        transcript: &Transcript<'_>,
        (line, object): (u32, Span),
        blocks: &[u32],
    ) -> Lengths {
        let mut known: Vec<(Span, Lengths)> = Vec::with_capacity(blocks.len());
        for number in blocks {
            let block = transcript.block(*number);
            let Span { start, len } = block.value;
            if block.line == line && start >= object.start && block.value.end() <= object.end() {
                let start = start - object.start;
                known.push((Span { start, len }, self.of(transcript, *number)));
            }
        }
        Lengths::of_members(transcript.bytes(line, object), &mut known)
    }
}
