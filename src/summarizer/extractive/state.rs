//! What was said and done last: the last blocks of the span, quoted.
//!
//! If messages follow the span, they show it better: then only the assistant's last words are quoted.

use super::clip::clip;
use super::form::{Row, Section};
use super::gather::{Gather, input};
use super::units::Claim;
use crate::facts::{MessageOrigin, block_text};
use crate::transcript::{BlockKind, Role};

/// The label of the assistant's words.
pub(super) const SAID: &str = "said";

/// The label of a call.
pub(super) const CALL: &str = "call";

/// The maximum quoted length of a text, and of a call or a result, in bytes.
const WORDS: usize = 1_600;
const GLANCE: usize = 400;

/// The maximum number of blocks: as many as fit a large budget.
const BLOCKS: usize = 60;

/// Adds the last blocks, up to an earlier summary.
pub(super) fn gather(gather: &mut Gather<'_, '_>) {
    let (transcript, conversation) = (gather.transcript, gather.conversation);
    let is_followed = gather.span.end < conversation.messages.len();
    let is_of_now = |number: &usize| gather.origins[*number] != MessageOrigin::Summary;
    let messages = gather.span.clone().rev().take_while(is_of_now);
    let blocks = messages
        .filter(|number| gather.origins[*number] == MessageOrigin::Session)
        .flat_map(|number| {
            let message = &conversation.messages[number];
            let blocks = conversation.blocks(message).iter().rev();
            blocks.map(move |block| (number, message.role, transcript.block(*block)))
        });
    let quoted = blocks.filter_map(|(number, role, block)| {
        let (label, text, most) = match (block.kind, role) {
            (BlockKind::Text, Role::Assistant) => (SAID, block_text(transcript, block), WORDS),
            (BlockKind::Call, _) if !is_followed => (CALL, input(transcript, block), GLANCE),
            (BlockKind::Result, _) if !is_followed => {
                ("result", block_text(transcript, block), GLANCE)
            }
            _ => return None,
        };
        let row = Row {
            label: label.to_owned(),
            ..gather.row(Section::State, block.line, &clip(text.trim(), most))
        };
        Some((number as u32, row))
    });
    let most = if is_followed { 1 } else { BLOCKS };
    let last: Vec<(u32, Row)> = quoted.take(most).collect();
    for (message, row) in last.into_iter().rev() {
        gather.add(row, message, Claim::State, 0.0);
    }
}
