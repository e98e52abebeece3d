//! The text of JSON strings that were read before: escapes become characters.
//!
//! Nothing is checked again: a [`super::Cursor`] has read the strings. Never fails: what is no escape stays as it is.

use std::borrow::Cow;

use super::Span;
use super::simd::Wide;
use super::string::{Escape, HIGHS, ONES, Text, beyond_ascii, escape, plain_escape};

impl Text {
    /// The text without its first `bytes` bytes, which must end at the boundary of an escape or character.
    pub fn without_start(self, line: &[u8], bytes: usize) -> Text {
        // Count bytes, as when the line was read: decoded to replacement characters, invalid UTF-8 would count differently.
        let start = unescape(&self.span.of(line)[..bytes]);
        let (continuations, astral) = beyond_ascii(&start);
        Text {
            span: Span::new(self.span.start as usize + bytes, self.span.end()),
            scalars: self.scalars - (start.len() - continuations) as u32,
            astral: self.astral - astral,
        }
    }
}

/// The text of a string: `raw` are the bytes between its quotes, already read by a [`super::Cursor`].
///
/// Bytes, not `str`: a transcript may hold invalid UTF-8. A lone surrogate becomes U+FFFD.
pub fn unescape(raw: &[u8]) -> Cow<'_, [u8]> {
    if memchr::memchr(b'\\', raw).is_none() {
        return Cow::Borrowed(raw);
    }
    Cow::Owned(unescaped(raw, Wide::here()))
}

/// The same as UTF-8: invalid bytes are replaced.
pub fn decoded(raw: &[u8]) -> Cow<'_, str> {
    match unescape(raw) {
        Cow::Borrowed(raw) => lossy(raw),
        Cow::Owned(text) => Cow::Owned(utf8(text)),
    }
}

/// Bytes as a text; what is no UTF-8 is replaced.
pub(crate) fn lossy(bytes: &[u8]) -> Cow<'_, str> {
    match simdutf8::basic::from_utf8(bytes) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => String::from_utf8_lossy(bytes),
    }
}

/// The same of bytes that are not needed any more.
#[allow(unsafe_code)]
pub(crate) fn utf8(bytes: Vec<u8>) -> String {
    match simdutf8::basic::from_utf8(&bytes) {
        // SAFETY: the bytes are valid UTF-8: the line above has found nothing else in them, and they have not changed since. The
        // library's own check, which needs no `unsafe`, takes half the time of the unescaping.
        Ok(_) => unsafe { String::from_utf8_unchecked(bytes) },
        Err(_) => String::from_utf8_lossy(&bytes).into_owned(),
    }
}

/// The text of a string, with wide registers where there are any.
pub(super) fn unescaped(raw: &[u8], wide: Option<Wide>) -> Vec<u8> {
    let mut out = Vec::with_capacity(raw.len() + ROOM);
    let mut rest = raw;
    loop {
        if let Some(wide) = wide {
            rest = &rest[wide.unescape(rest, &mut out)..];
        }
        rest = push_run(rest, &mut out);
        // Most escapes are line breaks and quotes.
        if let Some(plain) = rest.get(1).and_then(|letter| plain_escape(*letter)) {
            out.push(plain);
            rest = &rest[2..];
            continue;
        }
        // A string that was read has only whole escapes; anything else would be an error in the caller's span.
        let Ok(Escape { len, value }) = escape(rest, 0) else {
            out.extend_from_slice(rest);
            return out;
        };
        let c = char::from_u32(value).unwrap_or(char::REPLACEMENT_CHARACTER);
        out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
        rest = &rest[len..];
    }
}

/// The bytes that are looked at in one step.
const WORD: usize = 8;

/// The bytes that may be appended before it is known that they belong to the text.
const ROOM: usize = 32;

/// Appends the bytes before the next backslash to `out`; returns the rest, which begins with it or is empty.
///
/// Most runs are short: word by word, they are copied before a search and a copy of any length would have started. A word is
/// copied before it is known how much of it belongs to the run.
#[inline]
fn push_run<'r>(mut rest: &'r [u8], out: &mut Vec<u8>) -> &'r [u8] {
    const SHORT: usize = 8;
    for _ in 0..SHORT {
        let Some(chunk) = rest.first_chunk::<WORD>() else {
            break;
        };
        out.extend_from_slice(chunk);
        let slash = u64::from_le_bytes(*chunk) ^ (ONES * b'\\' as u64);
        // Exact for the lowest one, as in `specials`.
        let hit = slash.wrapping_sub(ONES) & !slash & HIGHS;
        if hit != 0 {
            let length = (hit.trailing_zeros() / 8) as usize;
            out.truncate(out.len() - WORD + length);
            return &rest[length..];
        }
        rest = &rest[WORD..];
    }
    let length = memchr::memchr(b'\\', rest).unwrap_or(rest.len());
    out.extend_from_slice(&rest[..length]);
    &rest[length..]
}

/// [`unescape`] in pieces, for strings too large to hold twice.
pub fn unescape_into(raw: &[u8], mut sink: impl FnMut(&[u8])) {
    let mut rest = raw;
    while let Some(n) = memchr::memchr(b'\\', rest) {
        if n > 0 {
            sink(&rest[..n]);
        }
        // Most escapes are line breaks and quotes.
        if let Some(plain) = rest.get(n + 1).and_then(|letter| plain_escape(*letter)) {
            sink(&[plain]);
            rest = &rest[n + 2..];
            continue;
        }
        // A string that was read has only whole escapes; anything else would be an error in the caller's span.
        let Ok(escape) = escape(rest, n) else {
            sink(&rest[n..]);
            return;
        };
        let c = char::from_u32(escape.value).unwrap_or(char::REPLACEMENT_CHARACTER);
        sink(c.encode_utf8(&mut [0; 4]).as_bytes());
        rest = &rest[n + escape.len..];
    }
    if !rest.is_empty() {
        sink(rest);
    }
}
