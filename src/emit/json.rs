//! Copies JSON as written: strings, and values that become strings.
//!
//! Repairs what a strict parser would reject: invalid UTF-8 and lone surrogates become U+FFFD. Changes nothing else. Never parses a
//! value into a tree.

use std::borrow::Cow;

use super::loss::{Loss, Losses};
use crate::text::push_json_string;

/// `\ufffd`, which has the same length as the escape that it replaces.
const REPLACEMENT: &[u8] = br"\ufffd";

/// JSON that every parser accepts: in nearly all cases `raw` itself (a value, or the content between the quotes of a string). A
/// value in a document may span several lines; it is put on one.
pub(super) fn mended<'r>(raw: &'r [u8], losses: &mut Losses) -> Cow<'r, [u8]> {
    let mut text = Cow::Borrowed(raw);
    if simdutf8::basic::from_utf8(raw).is_err() {
        losses.add(Loss::BrokenText, 1);
        text = Cow::Owned(String::from_utf8_lossy(raw).into_owned().into_bytes());
    }
    let halves = halves(&text);
    if !halves.is_empty() {
        losses.add(Loss::BrokenText, halves.len() as u64);
        let whole = text.to_mut();
        for at in halves {
            whole[at..at + REPLACEMENT.len()].copy_from_slice(REPLACEMENT);
        }
    }
    if memchr::memchr2(b'\n', b'\r', &text).is_some() {
        // Line breaks occur only between tokens: in a string, they would be escaped.
        crate::text::put_on_one_line(text.to_mut());
    }
    text
}

/// The start positions of the escapes of lone surrogates.
fn halves(raw: &[u8]) -> Vec<usize> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(next) = memchr::memchr(b'\\', &raw[at..]) {
        at += next;
        match unit(raw, at) {
            Some(0xd800..0xdc00) if matches!(unit(raw, at + 6), Some(0xdc00..0xe000)) => at += 12,
            Some(0xd800..0xe000) => {
                found.push(at);
                at += 6;
            }
            Some(_) => at += 6,
            None => at = (at + 2).min(raw.len()),
        }
    }
    found
}

/// The UTF-16 unit of the escape `\uXXXX` that begins at `at`, if one does.
fn unit(raw: &[u8], at: usize) -> Option<u16> {
    let digits = raw.get(at..at + 6)?.strip_prefix(br"\u")?;
    u16::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

/// Writes a string whose content between the quotes is `raw`.
pub(super) fn push_quoted(out: &mut Vec<u8>, raw: &[u8]) {
    out.push(b'"');
    out.extend_from_slice(raw);
    out.push(b'"');
}

/// The content between the quotes of a string that holds `text`.
pub(super) fn escaped(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len() + text.len() / 8 + 2);
    push_json_string(&mut out, &String::from_utf8_lossy(text));
    out.pop();
    out.remove(0);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mended_of(raw: &[u8]) -> (Vec<u8>, u64) {
        let mut losses = Losses::default();
        let text = mended(raw, &mut losses).into_owned();
        (text, losses.iter().map(|(_, number)| number).sum())
    }

    #[test]
    fn only_what_a_strict_reader_refuses_is_mended() {
        for whole in [
            &br"plain \\ud83d \n \u0041 \ud83d\ude00 \u00e9"[..],
            "é🎉".as_bytes(),
            b"",
            br"\\",
        ] {
            assert_eq!(mended_of(whole), (whole.to_vec(), 0));
        }
        assert_eq!(
            mended_of(br"a\ud83db\ude00\\\uDBFF"),
            (br"a\ufffdb\ufffd\\\ufffd".to_vec(), 3)
        );
        assert_eq!(
            mended_of(br"\ud83d\ud83d\ude00"),
            (br"\ufffd\ud83d\ude00".to_vec(), 1)
        );
        assert_eq!(mended_of(b"a\xffb"), ("a\u{fffd}b".as_bytes().to_vec(), 1));
        assert_eq!(mended_of(b"{\n\"a\":\r\n1}"), (b"{ \"a\":  1}".to_vec(), 0));
    }

    #[test]
    fn a_value_in_a_string_is_read_back_as_it_was() {
        let value = br#"{"a": "x\n\ud83d\ude00 \"q\""}"#;
        let mut out = Vec::new();
        push_quoted(&mut out, &escaped(value));
        let read: String = serde_json::from_slice(&out).unwrap();
        assert_eq!(read.as_bytes(), value);
    }
}
