//! JSON text as other programs write it, and its lengths.

use crate::scan::{Cursor, Kind, Parse, Span, unescape};
use crate::text::push_json_string;

/// A JSON value without white space between its parts and with the fewest escapes, as `JSON.stringify` writes it.
///
/// Numbers are copied unchanged. `raw` is a valid value.
pub(super) fn compact(raw: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(raw.len());
    let mut at = 0;
    while at < raw.len() {
        match raw[at] {
            b'"' => {
                let end = string_end(raw, at + 1);
                push_json_string(
                    &mut out,
                    &String::from_utf8_lossy(&unescape(&raw[at + 1..end])),
                );
                at = end + 1;
            }
            b' ' | b'\t' | b'\r' | b'\n' => at += 1,
            other => {
                out.push(other);
                at += 1;
            }
        }
    }
    out
}

/// The members of a message that a provider is sent.
const SENT: [&[u8]; 10] = [
    b"role",
    b"content",
    b"name",
    b"tool_calls",
    b"tool_call_id",
    b"function_call",
    b"refusal",
    b"audio",
    b"reasoning_content",
    b"reasoning",
];
/// Those of them whose value consists of blocks.
const BLOCKS: [&[u8]; 5] = [
    b"content",
    b"tool_calls",
    b"function_call",
    b"reasoning_content",
    b"reasoning",
];

/// A message object as compact JSON, with the members that are sent to a provider.
pub(super) fn members(object: &[u8]) -> Vec<u8> {
    written(object, |_, value| compact(value))
}

/// The same without the blocks in it: of a list its brackets, of `null` the word.
pub(super) fn frame(object: &[u8]) -> Vec<u8> {
    written(object, |key, value| match value {
        _ if !BLOCKS.contains(&key) => compact(value),
        [b'[', ..] => b"[]".to_vec(),
        [b'n', ..] => b"null".to_vec(),
        _ => Vec::new(),
    })
}

fn written(object: &[u8], of: impl Fn(&[u8], &[u8]) -> Vec<u8>) -> Vec<u8> {
    let mut out = vec![b'{'];
    // The object was parsed before. Should it fail here, what was found so far counts.
    let _ = Cursor::new(object).object(|key, c| {
        let value = c.skip()?;
        if SENT.contains(&key) {
            if out.len() > 1 {
                out.push(b',');
            }
            out.push(b'"');
            out.extend_from_slice(key);
            out.extend_from_slice(b"\":");
            out.extend(of(key, value.of(object)));
        }
        Ok(())
    });
    out.push(b'}');
    out
}

/// Compact JSON without the pictures and documents in its lists, which have flat costs.
pub(super) fn without_pictures(json: &[u8]) -> Vec<u8> {
    const KINDS: [&[u8]; 5] = [
        b"\"image\"",
        b"\"image_url\"",
        b"\"input_image\"",
        b"\"document\"",
        b"\"file\"",
    ];
    if !KINDS
        .iter()
        .any(|kind| memchr::memmem::find(json, kind).is_some())
    {
        return json.to_vec();
    }
    let mut out = Vec::with_capacity(json.len());
    let mut at = 0;
    for picture in pictures(json) {
        out.extend_from_slice(&json[at..picture.start as usize]);
        at = picture.end();
    }
    out.extend_from_slice(&json[at..]);
    out
}

/// The objects of a picture's or a document's type in the lists of a value, in order.
fn pictures(json: &[u8]) -> Vec<Span> {
    /// Pictures are in the content of a message or of a result in it, far less deep than this. A call's input may be nested more
    /// deeply than any stack allows.
    const DEEPEST: u32 = 64;
    fn value(c: &mut Cursor<'_>, found: &mut Vec<Span>, depth: u32) -> Parse<()> {
        match c.kind()? {
            _ if depth == DEEPEST => c.skip(),
            Kind::Array => c.array(|c| {
                let (start, before) = (c.place()?, found.len());
                if c.kind()? != Kind::Object {
                    return value(c, found, depth + 1);
                }
                let mut is_picture = false;
                let line = c.line();
                c.object(|key, c| {
                    if key == b"type" {
                        let kind = c.string_or_skip()?.map(|text| text.span.of(line));
                        is_picture = matches!(
                            kind,
                            Some(b"image" | b"image_url" | b"input_image" | b"document" | b"file")
                        );
                        return Ok(());
                    }
                    value(c, found, depth + 1)
                })?;
                if is_picture {
                    found.truncate(before);
                    found.push(Span::new(start, c.last_end()));
                }
                Ok(())
            }),
            Kind::Object => c.object(|_, c| value(c, found, depth + 1)),
            Kind::String | Kind::Number | Kind::Bool | Kind::Null => c.skip(),
        }
        .map(drop)
    }
    let mut found = Vec::new();
    // It was parsed before. Should it fail here, what was found so far counts.
    let _ = value(&mut Cursor::new(json), &mut found, 0);
    found
}

/// The closing quote of the string whose first byte is at `at`.
fn string_end(raw: &[u8], mut at: usize) -> usize {
    while let Some(n) = raw
        .get(at..)
        .and_then(|rest| memchr::memchr2(b'"', b'\\', rest))
    {
        at += n;
        if raw[at] == b'"' {
            return at;
        }
        at += 2;
    }
    raw.len()
}

/// Unicode scalar values of UTF-8 text.
pub(super) fn scalars(text: &[u8]) -> u64 {
    text.iter().filter(|b| (**b as i8) >= -0x40).count() as u64
}

/// How many of them are outside the basic multilingual plane.
pub(super) fn astral(text: &[u8]) -> u64 {
    text.iter().filter(|b| **b >= 0xf0).count() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pictures_are_taken_out_however_deep_the_rest_is_nested() {
        let picture = r#"{"type":"image","data":"x"}"#;
        let deep = "[".repeat(500_000) + "1" + &"]".repeat(500_000);
        let json = format!(r#"[{{"content":[{picture}]}},{deep},{picture}]"#);
        let bare = format!(r#"[{{"content":[]}},{deep},]"#);
        assert!(without_pictures(json.as_bytes()) == bare.as_bytes());
    }
}
