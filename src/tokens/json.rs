//! JSON text as other programs write it, and its lengths.

use crate::scan::{Cursor, Kind, Parse, Span, next_special, string_end, unescape, unescape_at};
use crate::text::push_json_string;

/// A JSON value without white space between its parts and with the fewest escapes, as `JSON.stringify` writes it.
///
/// Numbers are copied unchanged. `raw` is a valid value.
pub(super) fn compact(raw: &[u8]) -> Vec<u8> {
    if simdutf8::basic::from_utf8(raw).is_err() {
        return rewritten(raw);
    }
    let mut out = Vec::with_capacity(raw.len());
    // Everything before `done` has been copied; most of a value stays as it is.
    let mut done = 0;
    let mut at = 0;
    while at < raw.len() {
        match raw[at] {
            b'"' => at = string(&mut out, raw, at + 1, &mut done),
            b' ' | b'\t' | b'\r' | b'\n' => {
                out.extend_from_slice(&raw[done..at]);
                at += 1;
                done = at;
            }
            _ => at += 1,
        }
    }
    out.extend_from_slice(&raw[done..]);
    out
}

/// Walks the string at `at`. At each escape that `JSON.stringify` writes differently, copies the bytes before it, then the escape
/// in that form. Returns the position after the string.
fn string(out: &mut Vec<u8>, raw: &[u8], mut at: usize, done: &mut usize) -> usize {
    while let Some(special) = next_special(raw, at) {
        at = special + 2;
        match raw.get(special + 1) {
            _ if raw[special] == b'"' => return special + 1,
            Some(b'"' | b'\\' | b'b' | b'f' | b'n' | b'r' | b't') => {}
            _ => {
                let Some((c, len)) = unescape_at(raw, special) else {
                    continue;
                };
                out.extend_from_slice(&raw[*done..special]);
                at = special + len;
                *done = at;
                push_char(out, c);
            }
        }
    }
    raw.len()
}

fn push_char(out: &mut Vec<u8>, c: char) {
    let begins = out.len();
    push_json_string(out, c.encode_utf8(&mut [0; 4]));
    // Its quotes.
    out.pop();
    out.remove(begins);
}

/// How many characters `JSON.stringify` writes for a character in a string.
pub(super) fn char_len(c: char) -> u64 {
    match c {
        '"' | '\\' | '\n' | '\r' | '\t' | '\u{8}' | '\u{c}' => 2,
        '\0'..' ' => 6,
        _ => 1,
    }
}

/// The same as [`compact`] of bytes that are not UTF-8, string by string.
fn rewritten(raw: &[u8]) -> Vec<u8> {
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

/// The members of a message that are sent to a provider.
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
/// Whether a member of that name is sent to a provider.
pub(super) fn is_sent(key: &[u8]) -> bool {
    SENT.contains(&key)
}

/// The members among them whose value consists of blocks.
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

/// The same without its blocks: a list becomes `[]`, and `null` stays.
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
    each_sent(object, |key, value| {
        if out.len() > 1 {
            out.push(b',');
        }
        out.push(b'"');
        out.extend_from_slice(key);
        out.extend_from_slice(b"\":");
        out.extend(of(key, value));
    });
    out.push(b'}');
    out
}

/// Calls `each` with every member of a message object that is sent to a provider.
fn each_sent(object: &[u8], mut each: impl FnMut(&[u8], &[u8])) {
    // The object was parsed before. If it fails here, what was found so far counts.
    let _ = Cursor::new(object).object(|key, c| {
        let value = c.skip()?;
        if is_sent(key) {
            each(key, value.of(object));
        }
        Ok(())
    });
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

/// The picture and document objects in the lists of a value, in order.
fn pictures(json: &[u8]) -> Vec<Span> {
    /// Pictures are in the content of a message or of a result in it, far less deep than this. A call's input may be nested deeper
    /// than any stack allows.
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
    // The value was parsed before. If it fails here, what was found so far counts.
    let _ = value(&mut Cursor::new(json), &mut found, 0);
    found
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn what_stays_is_copied_and_the_rest_is_written_anew(
            strings in prop::collection::vec("(\\\\[\"\\\\/bfnrt]|\\\\u[0-9a-f]{4}|[ -!#-\\[\\]-~é世🎉]){0,40}", 0..5),
        ) {
            let strings: Vec<String> = strings.iter().map(|s| format!(" \"{s}\"")).collect();
            let raw = format!("[{} , 1 ,\n{{}}]", strings.join(" ,\t"));
            prop_assert_eq!(compact(raw.as_bytes()), rewritten(raw.as_bytes()));
        }
    }

    #[test]
    fn pictures_are_taken_out_however_deep_the_rest_is_nested() {
        let picture = r#"{"type":"image","data":"x"}"#;
        let deep = "[".repeat(500_000) + "1" + &"]".repeat(500_000);
        let json = format!(r#"[{{"content":[{picture}]}},{deep},{picture}]"#);
        let bare = format!(r#"[{{"content":[]}},{deep},]"#);
        assert!(without_pictures(json.as_bytes()) == bare.as_bytes());
    }
}
