//! Converts a message of a session to a plain line in Anthropic's format: its blocks, from one or more lines, are copied byte
//! for byte.
//!
//! Attachments that the agent itself added become a text within the reminder tags that the agent uses. Never decides what is
//! a message.

use crate::scan::Value;
use crate::text::push_json_string;
use crate::transcript::{BlockKind, Conversation, Message, Role, Shape, Transcript, Typed};

/// Writes a message.
pub(super) fn push(
    transcript: &Transcript<'_>,
    conversation: &Conversation,
    message: &Message,
    out: &mut Vec<u8>,
) {
    out.extend_from_slice(br#"{"role":"#);
    push_json_string(out, message.role.name());
    out.extend_from_slice(br#","content":"#);
    contents(transcript, conversation, message, out);
    let blocks = conversation.blocks(message);
    if message.typed == Typed::No && transcript.is_typed(message.role, blocks) == Typed::Yes {
        out.extend_from_slice(br#","isMeta":true"#);
    }
    let lines = conversation.lines(message);
    let last = lines.last().filter(|_| message.role == Role::Assistant);
    let stop = last.and_then(|line| {
        let line = Value::of(transcript.line(*line));
        line.within(&["message", "stop_reason"]).string()
    });
    if let Some(stop) = stop.filter(|stop| !stop.is_empty()) {
        out.extend_from_slice(&[br#","stop_reason":""#, stop, b"\""].concat());
    }
    out.push(b'}');
}

/// A message's content: the string where it is one, else its blocks.
fn contents(
    transcript: &Transcript<'_>,
    conversation: &Conversation,
    message: &Message,
    out: &mut Vec<u8>,
) {
    let blocks = conversation.blocks(message);
    let is_bare = |number: u32| {
        let block = transcript.block(number);
        block.kind == BlockKind::Text
            && block.shape == Shape::String
            && block.value == block.content
    };
    if let [only] = blocks
        && is_bare(*only)
    {
        let block = transcript.block(*only);
        out.extend_from_slice(transcript.bytes(block.line, block.value));
        return;
    }
    out.push(b'[');
    for (n, number) in blocks.iter().enumerate() {
        if n > 0 {
            out.push(b',');
        }
        let block = transcript.block(*number);
        let value = transcript.bytes(block.line, block.value);
        if block.kind == BlockKind::Attachment {
            let reminder = format!(
                "<system-reminder>\n{}\n</system-reminder>",
                String::from_utf8_lossy(value)
            );
            out.extend_from_slice(br#"{"type":"text","text":"#);
            push_json_string(out, &reminder);
            out.push(b'}');
        } else if is_bare(*number) {
            out.extend_from_slice(br#"{"type":"text","text":"#);
            out.extend_from_slice(value);
            out.push(b'}');
        } else {
            out.extend_from_slice(value);
        }
    }
    out.push(b']');
}
