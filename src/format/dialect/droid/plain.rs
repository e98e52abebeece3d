//! Converts a message of a session to a plain line in Anthropic's format: its content is copied byte for byte. Never decides what is a
//! message.

use crate::text::push_json_string;
use crate::transcript::{Conversation, Message, Role, Transcript, Typed};

/// Writes a message.
pub(super) fn push(
    transcript: &Transcript<'_>,
    conversation: &Conversation,
    message: &Message,
    out: &mut Vec<u8>,
) {
    let role = match message.role {
        // In Anthropic's format, results are in the user's messages.
        Role::Tool => Role::User,
        role @ (Role::System | Role::User | Role::Assistant) => role,
    };
    out.extend_from_slice(br#"{"role":"#);
    push_json_string(out, role.name());
    out.extend_from_slice(br#","content":"#);
    let line = conversation.first_line(message);
    out.extend_from_slice(transcript.bytes(line, message.content));
    let blocks = conversation.blocks(message);
    if message.typed == Typed::No && transcript.is_typed(message.role, blocks) == Typed::Yes {
        out.extend_from_slice(br#","isMeta":true"#);
    }
    out.push(b'}');
}
