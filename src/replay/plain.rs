//! A recorded message as one plain line, the form that a replayed policy works on.
//!
//! Copies the objects of plain formats, and blocks in Anthropic's form. Converts the content of other formats to such blocks: the
//! same texts, calls, results and pictures under other names. Never decides what is a message.

use std::borrow::Cow;

use crate::emit::anthropic_media;
use crate::format::{Dialect, Plain};
use crate::scan::{Kind, Value, is_object, unescape};
use crate::text::push_json_string;
use crate::transcript::{
    Block, BlockKind, Conversation, Message, Outcome, Role, Shape, Transcript, Typed,
};

/// Writes a message, without the line's end.
pub(super) fn push(
    dialect: &dyn Dialect,
    transcript: &Transcript<'_>,
    conversation: &Conversation,
    message: &Message,
    out: &mut Vec<u8>,
) {
    let blocks = conversation.blocks(message);
    let form = dialect.plain();
    let push_block = match form {
        Plain::Objects(_) => {
            let line = conversation.first_line(message);
            return out.extend_from_slice(transcript.bytes(line, message.object));
        }
        Plain::Blocks => copied,
        Plain::Other => rewritten,
    };
    let role = match message.role {
        // In Anthropic's format, results are in the user's messages.
        Role::Tool => Role::User,
        role @ (Role::System | Role::User | Role::Assistant) => role,
    };
    out.extend_from_slice(br#"{"role":"#);
    push_json_string(out, role.name());
    out.extend_from_slice(br#","content":"#);
    match blocks {
        [only] if form == Plain::Blocks && is_string(transcript.block(*only)) => {
            let block = transcript.block(*only);
            out.extend_from_slice(transcript.bytes(block.line, block.value));
        }
        blocks => {
            out.push(b'[');
            for (n, number) in blocks.iter().enumerate() {
                if n > 0 {
                    out.push(b',');
                }
                push_block(transcript, transcript.block(*number), out);
            }
            out.push(b']');
        }
    }
    // Only results and reminders show that a message was not typed.
    let shows = |number: &u32| {
        let block = transcript.block(*number);
        match block.kind {
            BlockKind::Result => form == Plain::Blocks || !block.call_id.is_empty(),
            BlockKind::Attachment => form == Plain::Blocks,
            _ => false,
        }
    };
    let is_seen = !blocks.is_empty() && blocks.iter().all(shows);
    if role == Role::User && message.typed == Typed::No && !is_seen {
        out.extend_from_slice(br#","isMeta":true"#);
    }
    if message.role == Role::Assistant {
        let answer = dialect.answer(transcript, conversation, message);
        let stop = answer.field("stop_reason").string();
        if let Some(stop) = stop.filter(|stop| !stop.is_empty()) {
            out.extend_from_slice(&[br#","stop_reason":""#, stop, b"\""].concat());
        }
    }
    out.push(b'}');
}

/// Writes a block of a format with Anthropic's blocks. Content that the agent added becomes text within the agent's tags.
fn copied(transcript: &Transcript<'_>, block: &Block, out: &mut Vec<u8>) {
    let value = transcript.bytes(block.line, block.value);
    match block.kind {
        BlockKind::Attachment => {
            let value = String::from_utf8_lossy(value);
            let reminder = format!("<system-reminder>\n{value}\n</system-reminder>");
            push_text(&reminder, out);
        }
        BlockKind::Text if is_string(block) => {
            out.extend_from_slice(br#"{"type":"text","text":"#);
            out.extend_from_slice(value);
            out.push(b'}');
        }
        BlockKind::Text
        | BlockKind::Image
        | BlockKind::Document
        | BlockKind::Thinking
        | BlockKind::Redacted
        | BlockKind::Call
        | BlockKind::Result
        | BlockKind::Server
        | BlockKind::Other => out.extend_from_slice(value),
    }
}

/// Whether a block is the whole content of a message, a string.
fn is_string(block: &Block) -> bool {
    block.kind == BlockKind::Text && block.shape == Shape::String && block.value == block.content
}

/// Writes a block of another format.
fn rewritten(transcript: &Transcript<'_>, block: &Block, out: &mut Vec<u8>) {
    let bytes = |span| transcript.bytes(block.line, span);
    let value = Value::part(transcript.line(block.line), block.value);
    let text = |out: &mut Vec<u8>| push_text(&transcript.block_text(block), out);
    match block.kind {
        BlockKind::Text => text(out),
        BlockKind::Thinking => {
            out.extend_from_slice(br#"{"type":"thinking","thinking":"#);
            push_json_string(out, &transcript.block_text(block));
            // Replays do not check signatures, but thinking without one is an error.
            out.extend_from_slice(br#","signature":"-"}"#);
        }
        BlockKind::Call => {
            let [id, tool] = [block.call_id, block.tool].map(bytes);
            out.extend_from_slice(&[br#"{"type":"tool_use","id":""#, id].concat());
            out.extend_from_slice(&[br#"","name":""#, tool, br#"","input":"#].concat());
            out.extend_from_slice(&input(bytes(block.content)));
            out.push(b'}');
        }
        // A command that the user ran, without a call.
        BlockKind::Result if block.call_id.is_empty() => text(out),
        BlockKind::Result => {
            let id = bytes(block.call_id);
            out.extend_from_slice(
                &[br#"{"type":"tool_result","tool_use_id":""#, id, b"\""].concat(),
            );
            if block.outcome == Outcome::Failed {
                out.extend_from_slice(br#","is_error":true"#);
            }
            push_result(transcript, block, out);
            out.push(b'}');
        }
        BlockKind::Image | BlockKind::Document => match anthropic_media(block.kind, value) {
            Some(media) => out.extend_from_slice(&media),
            // A placeholder counts the same.
            None => {
                let kind = match block.kind == BlockKind::Image {
                    true => "image",
                    false => "document",
                };
                out.extend_from_slice(format!("{{\"type\":\"{kind}\",\"source\":").as_bytes());
                out.extend_from_slice(&[value.raw(), b"}"].concat());
            }
        },
        BlockKind::Redacted | BlockKind::Server | BlockKind::Attachment | BlockKind::Other => {
            match value.kind() {
                Some(Kind::Object) => out.extend_from_slice(value.raw()),
                _ => push_text(&String::from_utf8_lossy(value.raw()), out),
            }
        }
    }
}

/// The input of a call as an object.
fn input(written: &[u8]) -> Cow<'_, [u8]> {
    // Wraps a patch or a script as the only member of an object.
    let within = |written: &[u8]| Cow::Owned([&br#"{"input":"#[..], written, b"}"].concat());
    match written {
        b"" | b"null" => Cow::Borrowed(b"{}"),
        [b'"', inside @ .., b'"'] => match unescape(inside) {
            json if is_object(&json) => json,
            _ => within(written),
        },
        [b'{', ..] => Cow::Borrowed(written),
        written => within(written),
    }
}

/// Writes the content of a result: its string, or its texts joined into one, followed by its pictures.
fn push_result(transcript: &Transcript<'_>, block: &Block, out: &mut Vec<u8>) {
    let content = Value::part(transcript.line(block.line), block.content);
    match block.shape {
        Shape::Absent => {}
        Shape::String => out.extend_from_slice(&[br#","content":"#, content.raw()].concat()),
        Shape::List | Shape::Parts | Shape::Other => {
            out.extend_from_slice(br#","content":["#);
            push_text(&transcript.block_text(block), out);
            let mut push = |kind, part| {
                if let Some(media) = anthropic_media(kind, part) {
                    out.push(b',');
                    out.extend_from_slice(&media);
                }
            };
            if block.images > 0 {
                content.elements(|part| push(BlockKind::Image, part));
            } else if block.documents > 0 {
                content.elements(|part| push(BlockKind::Document, part));
            }
            out.push(b']');
        }
    }
}

fn push_text(text: &str, out: &mut Vec<u8>) {
    out.extend_from_slice(br#"{"type":"text","text":"#);
    push_json_string(out, text);
    out.push(b'}');
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::{Format, Warnings};

    fn plain(format: Format, lines: &[&str]) -> Vec<String> {
        let text = lines.join("\n");
        let transcript = format.read(text.as_bytes(), 1, &mut Warnings::default());
        let conversation = &transcript.conversations[0];
        let messages = conversation.messages.iter();
        messages
            .map(|message| {
                let mut out = Vec::new();
                push(
                    format.dialect(),
                    &transcript,
                    conversation,
                    message,
                    &mut out,
                );
                String::from_utf8(out).unwrap()
            })
            .collect()
    }

    #[test]
    fn calls_results_and_thoughts_get_the_names_that_they_have_in_plain_lines() {
        let lines = [
            r#"{"type":"session","id":"s","cwd":"/w"}"#,
            r#"{"type":"message","message":{"role":"user","content":"go"}}"#,
            r#"{"type":"message","message":{"role":"assistant","content":[{"type":"thinking","thinking":"h\u00e9","thinkingSignature":"x"},{"type":"text", "text":"so"},{"type":"toolCall","id":"1","name":"bash","arguments":{"command": "ls"}}],"stopReason":"toolUse"}}"#,
            r#"{"type":"message","message":{"role":"toolResult","toolCallId":"1","toolName":"bash","content":[{"type":"text","text":"no"}],"isError":true}}"#,
            r#"{"type":"message","message":{"role":"bashExecution","command":"ls","output":"a"}}"#,
        ];
        assert_eq!(
            plain(Format::Pi, &lines),
            [
                r#"{"role":"user","content":[{"type":"text","text":"go"}]}"#,
                r#"{"role":"assistant","content":[{"type":"thinking","thinking":"hé","signature":"-"},{"type":"text","text":"so"},{"type":"tool_use","id":"1","name":"bash","input":{"command": "ls"}}]}"#,
                r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"1","is_error":true,"content":[{"type":"text","text":"no"}]}]}"#,
                r#"{"role":"user","content":[{"type":"text","text":"ls"},{"type":"text","text":"a"}],"isMeta":true}"#,
            ]
        );
    }

    #[test]
    fn pictures_are_those_of_the_api_and_strings_are_copied() {
        let lines = [
            r#"{"sessionId":"s","projectHash":"p","startTime":"t","lastUpdated":"t"}"#,
            r#"{"id":"m0","timestamp":"t","type":"user","content":[{"text":"see"},{"inlineData":{"mimeType":"image/png","data":"aGk="}}]}"#,
            r#"{"id":"m1","timestamp":"t","type":"gemini","content":"","toolCalls":[{"id":"c1","name":"run_shell_command","args":{"command":"ls"},"result":[{"functionResponse":{"id":"c1","name":"run_shell_command","response":{"output":"o\u0075t"}}}],"status":"success"}]}"#,
        ];
        assert_eq!(
            plain(Format::Gemini, &lines),
            [
                r#"{"role":"user","content":[{"type":"text","text":"see"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"aGk="}}]}"#,
                r#"{"role":"assistant","content":[{"type":"tool_use","id":"c1","name":"run_shell_command","input":{"command":"ls"}}]}"#,
                r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":"o\u0075t"}]}"#,
            ]
        );
    }

    #[test]
    fn an_input_that_is_written_as_a_string_is_an_object() {
        assert_eq!(&*input(br#""{\"a\":1}""#), br#"{"a":1}"#);
        assert_eq!(
            &*input(br#""*** Begin \"Patch""#),
            br#"{"input":"*** Begin \"Patch"}"#
        );
        assert_eq!(&*input(br#"{"a": 1}"#), br#"{"a": 1}"#);
        assert_eq!(&*input(b""), b"{}");
        assert_eq!(&*input(b"[1]"), br#"{"input":[1]}"#);
    }
}
