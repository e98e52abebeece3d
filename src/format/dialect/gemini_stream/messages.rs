//! The messages of a log: consecutive texts and calls of the model form one answer, and the results after it form one
//! message.

use crate::scan::Span;
use crate::transcript::{Conversation, ConversationId, Role, Transcript};

/// The conversation of all messages: a log contains nothing that the model did not see.
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
