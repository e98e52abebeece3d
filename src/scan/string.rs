//! JSON strings: where they end, how long they are for a reader, what they say.
//!
//! [`skip`] is the innermost loop of the program: it looks at eight bytes at a time (plain integer arithmetic, so no
//! `unsafe` and the same answers on every machine) and counts characters on the way, because every estimate wants them.

use std::borrow::Cow;

use super::Span;
use super::cursor::{Bad, Oddities, Parse};

/// A JSON string: its bytes between the quotes and its length for a reader.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Text {
    /// The bytes between the quotes, escapes as they stand.
    pub span: Span,
    /// Unicode scalar values after unescaping; a lone surrogate counts as one.
    pub scalars: u32,
    /// How many of these lie outside the basic plane (two UTF-16 units each).
    pub astral: u32,
}

impl Text {
    /// UTF-16 code units after unescaping, as JavaScript's `length` counts.
    pub fn utf16(self) -> u64 {
        u64::from(self.scalars) + u64::from(self.astral)
    }
}

const ONES: u64 = 0x0101_0101_0101_0101;
const HIGHS: u64 = 0x8080_8080_8080_8080;

/// The high bit of each byte of `word` that ends a run of plain string bytes: `"`, `\` or a control character.
///
/// Exact for the lowest such byte; bytes above it may be reported wrongly (the borrow of a subtraction), so callers look
/// at the lowest only.
#[inline]
fn specials(word: u64) -> u64 {
    let quote = word ^ (ONES * b'"' as u64);
    let slash = word ^ (ONES * b'\\' as u64);
    let is_quote = quote.wrapping_sub(ONES) & !quote;
    let is_slash = slash.wrapping_sub(ONES) & !slash;
    let is_control = word.wrapping_sub(ONES * 0x20) & !word;
    (is_quote | is_slash | is_control) & HIGHS
}

/// How many of the bytes of `word` continue a character, and how many begin one of four bytes.
#[inline]
fn beyond_ascii(word: u64) -> (u32, u32) {
    let continuation = (word >> 7) & !(word >> 6) & ONES;
    let four = word & (word << 1) & (word << 2) & (word << 3) & HIGHS;
    (continuation.count_ones(), four.count_ones())
}

/// Reads a string whose opening quote stands before `at`; gives the text and the place after its closing quote.
pub(crate) fn skip(line: &[u8], at: usize, odd: &mut Oddities) -> Parse<(Text, usize)> {
    let start = at;
    let mut at = at;
    // Bytes that are no character of their own: continuations, and what an escape has over its character.
    let mut surplus = 0usize;
    let mut astral = 0u32;
    loop {
        let mut word;
        let mut hit;
        loop {
            let Some(chunk) = line.get(at..).and_then(|rest| rest.first_chunk::<8>()) else {
                // The last bytes of a line: padded with quotes, so that the same code finds the end.
                let rest = line.get(at..).unwrap_or_default();
                let mut padded = [b'"'; 8];
                padded[..rest.len()].copy_from_slice(rest);
                word = u64::from_le_bytes(padded);
                hit = specials(word);
                break;
            };
            word = u64::from_le_bytes(*chunk);
            hit = specials(word);
            if hit != 0 {
                break;
            }
            if word & HIGHS != 0 {
                let (continuation, four) = beyond_ascii(word);
                surplus += continuation as usize;
                astral += four;
            }
            at += 8;
        }
        let plain = hit.trailing_zeros() / 8;
        if word & HIGHS != 0 && plain > 0 {
            let (continuation, four) = beyond_ascii(word & (u64::MAX >> (64 - 8 * plain)));
            surplus += continuation as usize;
            astral += four;
        }
        at += plain as usize;
        match line.get(at) {
            Some(b'"') => {
                let scalars = (at - start - surplus) as u32;
                return Ok((
                    Text {
                        span: Span::new(start, at),
                        scalars,
                        astral,
                    },
                    at + 1,
                ));
            }
            Some(b'\\') => {
                let escape = escape(line, at)?;
                surplus += escape.len - 1;
                astral += u32::from(escape.value > 0xffff);
                if escape.is_lone_surrogate() {
                    odd.insert(Oddities::LONE_SURROGATE);
                }
                at += escape.len;
            }
            Some(_) => return Err(Bad::new(at, "control character in a string")),
            None => return Err(Bad::new(at, "string without an end")),
        }
    }
}

/// One escape: how many bytes it takes, and the code point it stands for (a lone surrogate: itself).
struct Escape {
    len: usize,
    value: u32,
}

impl Escape {
    fn is_lone_surrogate(&self) -> bool {
        (0xd800..0xe000).contains(&self.value)
    }
}

/// Reads the escape at `at`, which stands at the backslash; a surrogate pair is one escape.
fn escape(line: &[u8], at: usize) -> Parse<Escape> {
    let simple = |c: u8| {
        Ok(Escape {
            len: 2,
            value: u32::from(c),
        })
    };
    match line.get(at + 1) {
        Some(c @ (b'"' | b'\\' | b'/')) => simple(*c),
        Some(b'b') => simple(0x08),
        Some(b'f') => simple(0x0c),
        Some(b'n') => simple(b'\n'),
        Some(b'r') => simple(b'\r'),
        Some(b't') => simple(b'\t'),
        Some(b'u') => {
            let high = hex4(line, at + 2).ok_or_else(|| Bad::new(at, "broken \\u escape"))?;
            if (0xd800..0xdc00).contains(&high)
                && line.get(at + 6..at + 8) == Some(b"\\u")
                && let Some(low) = hex4(line, at + 8)
                && (0xdc00..0xe000).contains(&low)
            {
                let value = 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00);
                return Ok(Escape { len: 12, value });
            }
            Ok(Escape {
                len: 6,
                value: high,
            })
        }
        _ => Err(Bad::new(at, "unknown escape in a string")),
    }
}

fn hex4(line: &[u8], at: usize) -> Option<u32> {
    let digits = line.get(at..at + 4)?;
    digits.iter().try_fold(0, |value, &d| {
        Some(value << 4 | char::from(d).to_digit(16)?)
    })
}

/// What a string says: `raw` is what stands between its quotes, already read by a [`super::Cursor`].
///
/// Bytes, not `str`: a transcript may hold invalid UTF-8. A lone surrogate becomes U+FFFD.
pub fn unescape(raw: &[u8]) -> Cow<'_, [u8]> {
    if memchr::memchr(b'\\', raw).is_none() {
        return Cow::Borrowed(raw);
    }
    let mut out = Vec::with_capacity(raw.len());
    unescape_into(raw, |chunk| out.extend_from_slice(chunk));
    Cow::Owned(out)
}

/// [`unescape`] in pieces, for strings too large to hold twice.
pub fn unescape_into(raw: &[u8], mut sink: impl FnMut(&[u8])) {
    let mut rest = raw;
    while let Some(n) = memchr::memchr(b'\\', rest) {
        if n > 0 {
            sink(&rest[..n]);
        }
        // A string that was read has whole escapes only; anything else would be a fault of the caller's span.
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
