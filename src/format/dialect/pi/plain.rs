//! Converts a message of a pi session to a plain line in Anthropic's format: the same texts, calls and results under other
//! names.
//!
//! Values are copied as they are; what only pi sends (a command run by the user, the summary of a branch) becomes a text.
//! Never decides what is a message.

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
    let blocks = conversation.blocks(message);
    for (n, number) in blocks.iter().enumerate() {
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
    let member = |out: &mut Vec<u8>, before: &str, value: &[u8]| {
        out.extend_from_slice(before.as_bytes());
        out.extend_from_slice(value);
    };
    let quoted = |span| [b"\"", bytes(span), b"\""].concat();
    match block.kind {
        BlockKind::Text if block.shape == Shape::String && block.value != block.content => {
            out.extend_from_slice(bytes(block.value));
        }
        BlockKind::Text => {
            out.extend_from_slice(br#"{"type":"text","text":"#);
            push_json_string(out, &transcript.block_text(block));
            out.push(b'}');
        }
        BlockKind::Thinking => {
            out.extend_from_slice(br#"{"type":"thinking","thinking":"#);
            push_json_string(out, &transcript.block_text(block));
            out.extend_from_slice(br#","signature":"pi"}"#);
        }
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
        // A result without a call.
        BlockKind::Result if block.call_id.is_empty() => {
            out.extend_from_slice(br#"{"type":"text","text":"#);
            push_json_string(out, &transcript.block_text(block));
            out.push(b'}');
        }
        BlockKind::Result => {
            member(
                out,
                r#"{"type":"tool_result","tool_use_id":"#,
                &quoted(block.call_id),
            );
            if block.outcome == Outcome::Failed {
                member(out, r#","is_error":"#, b"true");
            }
            if !block.content.is_empty() {
                member(out, r#","content":"#, bytes(block.content));
            }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::{Format, Warnings};

    #[test]
    fn calls_and_results_get_the_names_that_they_have_in_plain_lines() {
        let text = concat!(
            r#"{"type":"session","id":"s","cwd":"/w"}"#,
            "\n",
            r#"{"type":"message","message":{"role":"user","content":"go"}}"#,
            "\n",
            r#"{"type":"message","message":{"role":"assistant","content":[{"type":"thinking","thinking":"h\u00e9","thinkingSignature":"x"},{"type":"text", "text":"so"},{"type":"toolCall","id":"1","name":"bash","arguments":{"command": "ls"}}],"stopReason":"toolUse"}}"#,
            "\n",
            r#"{"type":"message","message":{"role":"toolResult","toolCallId":"1","toolName":"bash","content":[{"type":"text","text":"no"}],"isError":true}}"#,
            "\n",
            r#"{"type":"message","message":{"role":"bashExecution","command":"ls","output":"a"}}"#,
            "\n",
        );
        let transcript = Format::Pi.read(text.as_bytes(), 1, &mut Warnings::default());
        let conversation = &transcript.conversations[0];
        let plain: Vec<String> = conversation
            .messages
            .iter()
            .map(|message| {
                let mut out = Vec::new();
                push(&transcript, conversation, message, &mut out);
                String::from_utf8(out).unwrap()
            })
            .collect();
        assert_eq!(
            plain,
            [
                r#"{"role":"user","content":[{"type":"text","text":"go"}]}"#,
                r#"{"role":"assistant","content":[{"type":"thinking","thinking":"hé","signature":"pi"},{"type":"text", "text":"so"},{"type":"tool_use","id":"1","name":"bash","input":{"command": "ls"}}]}"#,
                r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"1","is_error":true,"content":[{"type":"text","text":"no"}]}]}"#,
                r#"{"role":"user","content":[{"type":"text","text":"ls"},{"type":"text","text":"a"}],"isMeta":true}"#,
            ]
        );
    }
}
