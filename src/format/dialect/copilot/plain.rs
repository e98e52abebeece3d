//! Converts a message of a session to a plain line in Anthropic's format with the same content.
//!
//! Values are copied as they are. Never decides what is a message.

use crate::scan::Span;
use crate::text::push_json_string;
use crate::transcript::{
    Block, BlockKind, Conversation, Message, Outcome, Role, Shape, Transcript, Typed,
};

/// Writes a message.
pub(super) fn push(
    transcript: &Transcript<'_>,
    conversation: &Conversation,
    message: &Message,
    out: &mut Vec<u8>,
) {
    let blocks = conversation.blocks(message);
    // In Anthropic's format, results are in the user's messages.
    let role = match message.role {
        Role::Assistant => Role::Assistant,
        Role::User | Role::Tool | Role::System => Role::User,
    };
    out.extend_from_slice(br#"{"role":"#);
    push_json_string(out, role.name());
    out.extend_from_slice(br#","content":["#);
    for (n, block) in blocks.iter().enumerate() {
        if n > 0 {
            out.push(b',');
        }
        push_block(transcript, transcript.block(*block), out);
    }
    out.push(b']');
    if message.role == Role::User && message.typed == Typed::No {
        out.extend_from_slice(br#","isMeta":true"#);
    }
    out.push(b'}');
}

fn push_block(transcript: &Transcript<'_>, block: &Block, out: &mut Vec<u8>) {
    let bytes = |span: Span| transcript.bytes(block.line, span);
    let id = bytes(block.call_id);
    match block.kind {
        BlockKind::Call => {
            out.extend_from_slice(&[br#"{"type":"tool_use","id":""#, id].concat());
            out.extend_from_slice(&[br#"","name":""#, bytes(block.tool)].concat());
            let input = match (bytes(block.content), block.shape) {
                (b"", _) => b"{}".to_vec(),
                // Patches are strings, as if they were the only member of an object.
                (input, Shape::String) => [br#"{"input":"#, input, b"}"].concat(),
                (input, _) => input.to_vec(),
            };
            out.extend_from_slice(&[br#"","input":"#, &input[..], b"}"].concat());
        }
        BlockKind::Result if !id.is_empty() => {
            out.extend_from_slice(&[br#"{"type":"tool_result","tool_use_id":""#, id].concat());
            let content = match bytes(block.content) {
                b"" => br#""""#,
                content => content,
            };
            out.extend_from_slice(&[br#"","content":"#, content].concat());
            let is_error = block.outcome == Outcome::Failed;
            out.extend_from_slice(format!(",\"is_error\":{is_error}}}").as_bytes());
        }
        BlockKind::Text | BlockKind::Thinking | BlockKind::Result => {
            out.extend_from_slice(br#"{"type":"text","text":"#);
            push_json_string(out, &transcript.block_text(block));
            out.push(b'}');
        }
        BlockKind::Image
        | BlockKind::Document
        | BlockKind::Redacted
        | BlockKind::Server
        | BlockKind::Attachment
        | BlockKind::Other => out.extend_from_slice(bytes(block.value)),
    }
}
