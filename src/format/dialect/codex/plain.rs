//! Converts items of the Responses API to a plain line in Anthropic's format with the same content.
//!
//! Values are copied as they are. Never decides what is a message.

use crate::scan::Span;
use crate::text::push_json_string;
use crate::transcript::{BlockKind, Conversation, Message, Outcome, Role, Transcript, Typed};

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
        let block = transcript.block(*block);
        let bytes = |span: Span| transcript.bytes(block.line, span);
        let id = bytes(block.call_id);
        match block.kind {
            BlockKind::Text => {
                out.extend_from_slice(br#"{"type":"text","text":"#);
                push_json_string(out, &transcript.block_text(block));
                out.push(b'}');
            }
            BlockKind::Image | BlockKind::Document => {
                let kind = if block.kind == BlockKind::Image {
                    "image"
                } else {
                    "document"
                };
                out.extend_from_slice(format!("{{\"type\":\"{kind}\",\"source\":").as_bytes());
                out.extend_from_slice(&[bytes(block.value), b"}"].concat());
            }
            BlockKind::Thinking => {
                out.extend_from_slice(br#"{"type":"thinking","thinking":"#);
                push_json_string(out, &transcript.block_text(block));
                out.extend_from_slice(br#","signature":"-"}"#);
            }
            BlockKind::Call => {
                out.extend_from_slice(&[br#"{"type":"tool_use","id":""#, id].concat());
                let (name, input) = (bytes(block.tool), bytes(block.content));
                let input = if input.is_empty() { b"null" } else { input };
                out.extend_from_slice(&[br#"","name":""#, name, br#"","input":"#].concat());
                out.extend_from_slice(&[input, b"}"].concat());
            }
            BlockKind::Result => {
                let content = bytes(block.content);
                out.extend_from_slice(&[br#"{"type":"tool_result","tool_use_id":""#, id].concat());
                out.extend_from_slice(&[br#"","content":"#, content].concat());
                let is_error = block.outcome == Outcome::Failed;
                out.extend_from_slice(format!(",\"is_error\":{is_error}}}").as_bytes());
            }
            BlockKind::Redacted | BlockKind::Server | BlockKind::Attachment | BlockKind::Other => {
                out.extend_from_slice(bytes(block.value))
            }
        }
    }
    out.push(b']');
    if message.typed == Typed::No && transcript.is_typed(message.role, blocks) == Typed::Yes {
        out.extend_from_slice(br#","isMeta":true"#);
    }
    out.push(b'}');
}
