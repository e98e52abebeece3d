//! Converts a message of parts to a plain line in Anthropic's format: the same texts, calls, results and pictures under other names.
//!
//! Values are copied as they are. Never decides what is a message.

use crate::scan::Value;
use crate::text::push_json_string;
use crate::transcript::{
    Block, BlockKind, Conversation, Message, Outcome, Role, Shape, Transcript, Typed,
};

/// Writes a message.
pub(in crate::format) fn push(
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
    for (n, number) in conversation.blocks(message).iter().enumerate() {
        if n > 0 {
            out.push(b',');
        }
        push_block(transcript, transcript.block(*number), out);
    }
    out.push(b']');
    if message.role == Role::User && message.typed == Typed::No {
        out.extend_from_slice(br#","isMeta":true"#);
    }
    out.push(b'}');
}

fn push_block(transcript: &Transcript<'_>, block: &Block, out: &mut Vec<u8>) {
    let bytes = |span| transcript.bytes(block.line, span);
    let quoted = |span| [b"\"", bytes(span), b"\""].concat();
    let member = |out: &mut Vec<u8>, before: &str, value: &[u8]| {
        out.extend_from_slice(before.as_bytes());
        out.extend_from_slice(value);
    };
    match block.kind {
        BlockKind::Call => {
            member(out, r#"{"type":"tool_use","id":"#, &quoted(block.call_id));
            member(out, r#","name":"#, &quoted(block.tool));
            let input = match bytes(block.content) {
                b"" => b"{}",
                input => input,
            };
            member(out, r#","input":"#, input);
            out.push(b'}');
        }
        BlockKind::Result => {
            let id = quoted(block.call_id);
            member(out, r#"{"type":"tool_result","tool_use_id":"#, &id);
            if block.outcome == Outcome::Failed {
                member(out, r#","is_error":"#, b"true");
            }
            match block.shape {
                Shape::String => member(out, r#","content":"#, bytes(block.content)),
                Shape::Absent => {}
                Shape::List | Shape::Parts | Shape::Other => {
                    out.extend_from_slice(br#","content":"#);
                    push_json_string(out, &transcript.block_text(block));
                }
            }
            out.push(b'}');
        }
        BlockKind::Image | BlockKind::Document => {
            let part = Value::part(transcript.line(block.line), block.value);
            let [media, data] = part.field("inlineData").fields(["mimeType", "data"]);
            let (Some(_), Some(_)) = (media.string(), data.string()) else {
                return push_text("[a file]", out);
            };
            let kind = match block.kind == BlockKind::Image {
                true => "image",
                false => "document",
            };
            member(out, r#"{"type":"#, format!("\"{kind}\"").as_bytes());
            member(
                out,
                r#","source":{"type":"base64","media_type":"#,
                media.raw(),
            );
            member(out, r#","data":"#, data.raw());
            out.extend_from_slice(b"}}");
        }
        BlockKind::Thinking => {
            out.extend_from_slice(br#"{"type":"thinking","thinking":"#);
            push_json_string(out, &transcript.block_text(block));
            // Replays check no signatures, but a thought without one is an error.
            out.extend_from_slice(br#","signature":"-"}"#);
        }
        BlockKind::Text | BlockKind::Redacted | BlockKind::Server | BlockKind::Attachment => {
            push_text(&transcript.block_text(block), out)
        }
        BlockKind::Other => {
            push_text(&String::from_utf8_lossy(bytes(block.value)), out);
        }
    }
}

fn push_text(text: &str, out: &mut Vec<u8>) {
    out.extend_from_slice(br#"{"type":"text","text":"#);
    push_json_string(out, text);
    out.push(b'}');
}
