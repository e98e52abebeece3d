//! What is removed from kept messages if no summary could be written: reasoning, calls and their results.
//!
//! PURE. The last answer and the results of its calls stay as they are.

use crate::ids::IdSet;
use crate::transcript::{BlockKind, Conversation, Role, Transcript};

/// The blocks of a conversation that pruning removes.
pub fn prunable(transcript: &Transcript<'_>, conversation: &Conversation) -> IdSet<u32> {
    let messages = &conversation.messages;
    let last = messages.iter().rposition(|m| m.role == Role::Assistant);
    let block = |number: u32| transcript.block(number);
    let id = |number: u32| transcript.bytes(block(number).line, block(number).call_id);
    let of_last = conversation
        .all_blocks()
        .filter(|(message, _)| Some(*message) == last);
    let called: IdSet<&[u8]> = of_last
        .filter(|(_, number)| block(*number).kind == BlockKind::Call)
        .map(|(_, number)| id(number))
        .collect();
    let leaves = |(message, number): &(usize, u32)| match block(*number).kind {
        BlockKind::Thinking | BlockKind::Redacted | BlockKind::Call => Some(*message) != last,
        BlockKind::Result => {
            let is_after = last.is_some_and(|last| *message > last);
            !(is_after && called.contains(id(*number)))
        }
        BlockKind::Text
        | BlockKind::Image
        | BlockKind::Document
        | BlockKind::Server
        | BlockKind::Attachment
        | BlockKind::Other => false,
    };
    let leaving: IdSet<u32> = conversation
        .all_blocks()
        .filter(leaves)
        .map(|(_, number)| number)
        .collect();
    // Otherwise, a copy would be sent in place of the removed block.
    let copies = conversation.copies.iter();
    let copies = copies.filter(|(_, of)| leaving.contains(of));
    let copies: Vec<u32> = copies.map(|(copy, _)| *copy).collect();
    leaving.into_iter().chain(copies).collect()
}
