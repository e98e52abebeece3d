//! Messages as JSON text for a model that summarises.
//!
//! PURE. Never shortens a message: the limit of the policy is applied to the whole input.

use crate::scan::{string_end, unescape};
use crate::transcript::{Conversation, Message, Transcript};

/// A message as Python's `json.dumps` writes it: with a space after commas and colons, and non-ASCII characters as
/// `\uXXXX`. Numbers are copied unchanged.
pub fn ascii_json(
    transcript: &Transcript<'_>,
    conversation: &Conversation,
    message: &Message,
) -> String {
    let mut out = String::new();
    let line = conversation.first_line(message);
    if !message.object.is_empty() {
        push_value(&mut out, transcript.bytes(line, message.object));
        return out;
    }
    out.push_str(&format!(
        "{{\"role\": \"{}\", \"content\": ",
        message.role.name()
    ));
    let blocks = conversation.blocks(message);
    let block = |n: &u32| transcript.block(*n);
    let value = |n: &u32| transcript.bytes(block(n).line, block(n).value);
    match blocks {
        [one] if value(one).starts_with(b"\"") => push_value(&mut out, value(one)),
        blocks => {
            out.push('[');
            for (n, number) in blocks.iter().enumerate() {
                if n > 0 {
                    out.push_str(", ");
                }
                push_value(&mut out, value(number));
            }
            out.push(']');
        }
    }
    out.push('}');
    out
}

/// Appends a JSON value, which is known to be valid.
fn push_value(out: &mut String, raw: &[u8]) {
    let mut at = 0;
    while let Some(byte) = raw.get(at) {
        match byte {
            b'"' => {
                let end = string_end(raw, at + 1);
                push_string(out, &String::from_utf8_lossy(&unescape(&raw[at + 1..end])));
                at = end;
            }
            b',' => out.push_str(", "),
            b':' => out.push_str(": "),
            b' ' | b'\t' | b'\r' | b'\n' => {}
            other => out.push(char::from(*other)),
        }
        at += 1;
    }
}

fn push_string(out: &mut String, text: &str) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            ' '..='~' => out.push(c),
            other => {
                let mut units = [0; 2];
                for unit in other.encode_utf16(&mut units) {
                    out.push_str(&format!("\\u{unit:04x}"));
                }
            }
        }
    }
    out.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::{Format, Warnings};

    #[test]
    fn a_message_is_written_as_python_writes_it() {
        let line = r#"{"role":"user","content":[{"type":"text","text":"a\/b é 😀 \u007f \"q\""},{"n":1e5}] ,"x":[]}"#;
        let transcript = Format::Anthropic.read(line.as_bytes(), 1, &mut Warnings::default());
        let conversation = &transcript.conversations[0];
        // python3 -c 'import json,sys; print(json.dumps(json.loads(sys.stdin.read())))', but for the number
        let expected = r#"{"role": "user", "content": [{"type": "text", "text": "a/b \u00e9 \ud83d\ude00 \u007f \"q\""}, {"n": 1e5}], "x": []}"#;
        assert_eq!(
            ascii_json(&transcript, conversation, &conversation.messages[0]),
            expected
        );
    }
}
