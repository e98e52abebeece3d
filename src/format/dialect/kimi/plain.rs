//! Converts a message of a session to a plain line in Anthropic's format with the same content.
//!
//! Values are copied as they are. Never decides what is a message.

use std::borrow::Cow;

use crate::scan::unescape;
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
    let role = match message.role {
        // In Anthropic's format, results are in the user's messages.
        Role::Tool => Role::User,
        role @ (Role::System | Role::User | Role::Assistant) => role,
    };
    out.extend_from_slice(br#"{"role":"#);
    push_json_string(out, role.name());
    out.extend_from_slice(br#","content":["#);
    for (n, block) in conversation.blocks(message).iter().enumerate() {
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
    let bytes = |span| transcript.bytes(block.line, span);
    let id = bytes(block.call_id);
    match block.kind {
        BlockKind::Call => {
            out.extend_from_slice(&[br#"{"type":"tool_use","id":""#, id].concat());
            out.extend_from_slice(&[br#"","name":""#, bytes(block.tool)].concat());
            let input = match (bytes(block.content), block.shape) {
                (b"", _) => Cow::Borrowed(&b"{}"[..]),
                // Arguments in a list of calls are JSON in a string.
                (input, Shape::String) => unescape(&input[1..input.len() - 1]),
                (input, _) => Cow::Borrowed(input),
            };
            out.extend_from_slice(&[br#"","input":"#, &input[..], b"}"].concat());
        }
        BlockKind::Result => {
            out.extend_from_slice(&[br#"{"type":"tool_result","tool_use_id":""#, id].concat());
            out.extend_from_slice(br#"","content":"#);
            match block.shape {
                Shape::String => out.extend_from_slice(bytes(block.content)),
                Shape::List | Shape::Parts | Shape::Absent | Shape::Other => {
                    push_json_string(out, &transcript.block_text(block));
                }
            }
            let is_error = block.outcome == Outcome::Failed;
            out.extend_from_slice(format!(",\"is_error\":{is_error}}}").as_bytes());
        }
        BlockKind::Thinking => {
            out.extend_from_slice(br#"{"type":"thinking","thinking":"#);
            push_json_string(out, &transcript.block_text(block));
            // Replays check no signatures, but a thought without one is an error.
            out.extend_from_slice(br#","signature":"-"}"#);
        }
        BlockKind::Image => push_text("[picture]", out),
        BlockKind::Text
        | BlockKind::Document
        | BlockKind::Redacted
        | BlockKind::Server
        | BlockKind::Attachment
        | BlockKind::Other => push_text(&transcript.block_text(block), out),
    }
}

fn push_text(text: &str, out: &mut Vec<u8>) {
    out.extend_from_slice(br#"{"type":"text","text":"#);
    push_json_string(out, text);
    out.push(b'}');
}
