//! The messages of a log: an answer is all that the model has said and called in a row, and the results behind it are one
//! message.

use crate::scan::Span;
use crate::transcript::{Conversation, ConversationId, Role, Transcript};

/// All of them: a log has nothing that a model would not have seen.
pub(super) fn conversation(transcript: &Transcript<'_>) -> Conversation {
    let mut conversation = Conversation::new(ConversationId::Main);
    let mut last = None;
    for unit in transcript.units() {
        let blocks: Vec<u32> = (unit.blocks.0..unit.blocks.1).collect();
        let goes_on = match unit.role {
            Role::Assistant | Role::Tool => last == Some(unit.role),
            Role::User | Role::System => false,
        };
        if !goes_on {
            let nowhere = Span::default();
            let message = conversation.push(unit.role, nowhere, nowhere);
            conversation.messages[message].typed = transcript.is_typed(unit.role, &blocks);
        }
        conversation.extend(unit.line, blocks);
        last = Some(unit.role);
    }
    conversation
}
