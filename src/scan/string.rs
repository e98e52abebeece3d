//! JSON strings: where they end, and how many characters they have. What their text is, [`super::unescape`] says.
//!
//! [`scan_scalar`] also counts characters, because every estimate needs them, and has no `unsafe` of its own: plain arithmetic on
//! words, loops that the compiler vectorises, and `memchr` for long runs. On processors with wide registers, [`super::simd`] reads
//! most strings, and this module tells what is wrong with the others.

use super::Span;
use super::defects::{Anomalies, Bad, Parse};

/// A JSON string: its bytes between the quotes and its length in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Text {
    /// The bytes between the quotes, with their escapes.
    pub span: Span,
    /// Unicode scalar values after unescaping; a lone surrogate counts as one.
    pub scalars: u32,
    /// How many of them are outside the basic plane (two UTF-16 units each).
    pub astral: u32,
}

impl Text {
    /// The text from `start` up to `end`, each byte of which is a character.
    #[inline]
    pub(super) fn plain(start: usize, end: usize) -> Text {
        let span = Span::new(start, end);
        Text {
            span,
            scalars: span.len,
            astral: 0,
        }
    }

    /// Whether its bytes are its characters: it contains no escapes.
    #[inline]
    pub fn is_plain(self) -> bool {
        self.scalars == self.span.len
    }

    /// UTF-16 code units after unescaping, as JavaScript's `length` counts.
    pub fn utf16(self) -> u64 {
        u64::from(self.scalars) + u64::from(self.astral)
    }
}

pub(super) const ONES: u64 = 0x0101_0101_0101_0101;
pub(super) const HIGHS: u64 = 0x8080_8080_8080_8080;

/// The high bit of each byte of `word` that ends a run of plain string bytes: `"` or `\`.
///
/// Exact for the lowest such byte; bytes above it may be reported wrongly (the borrow of a subtraction), so callers look only
/// at the lowest.
#[inline]
fn specials(word: u64) -> u64 {
    let quote = word ^ (ONES * b'"' as u64);
    let slash = word ^ (ONES * b'\\' as u64);
    let is_quote = quote.wrapping_sub(ONES) & !quote;
    let is_slash = slash.wrapping_sub(ONES) & !slash;
    (is_quote | is_slash) & HIGHS
}

/// The next `"` or `\` at or after `at`.
///
/// Most runs are short (a key, a line of code up to its `\n`): plain arithmetic on a few words finds their end before a
/// vectorised search would have started. That search is used only for long runs.
#[inline]
pub fn next_special(line: &[u8], mut at: usize) -> Option<usize> {
    for _ in 0..4 {
        let Some(chunk) = line.get(at..).and_then(|rest| rest.first_chunk::<8>()) else {
            break;
        };
        let hit = specials(u64::from_le_bytes(*chunk));
        if hit != 0 {
            return Some(at + (hit.trailing_zeros() / 8) as usize);
        }
        at += 8;
    }
    memchr::memchr2(b'"', b'\\', line.get(at..)?).map(|n| at + n)
}

/// The closing quote of the string whose first byte is at `at`; the end of `json` if it has none.
#[inline]
pub fn string_end(json: &[u8], mut at: usize) -> usize {
    while let Some(special) = next_special(json, at) {
        if json[special] == b'"' {
            return special;
        }
        at = special + 2;
    }
    json.len()
}

/// A string that was found: where it ends, and how many of its bytes are not characters of their own.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Found {
    /// Its closing quote.
    pub(super) end: usize,
    /// Bytes that are not characters of their own: continuation bytes, and the further bytes of an escape.
    pub(super) surplus: usize,
    /// Characters outside the basic plane.
    pub(super) astral: u32,
    /// Whether an escape is half of a surrogate pair.
    pub(super) has_lone_surrogate: bool,
}

impl Found {
    /// The text, given the position of its first byte, and the position after its closing quote.
    #[inline]
    pub(super) fn text(self, start: usize) -> (Text, usize) {
        let text = Text {
            span: Span::new(start, self.end),
            scalars: (self.end - start - self.surplus) as u32,
            astral: self.astral,
        };
        (text, self.end + 1)
    }
}

/// Properties of all bytes of a line; determining them once saves a check of each string.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bytes {
    is_ascii: bool,
    has_controls: bool,
}

impl Bytes {
    /// For a line that was not scanned before: each string is checked individually.
    pub(crate) fn unknown() -> Bytes {
        Bytes {
            is_ascii: false,
            has_controls: true,
        }
    }

    /// Scans a line without branches, so that the compiler can use the widest registers.
    pub(crate) fn of(line: &[u8]) -> Bytes {
        let mut all = Bytes {
            is_ascii: true,
            has_controls: false,
        };
        for chunk in line.chunks(1024) {
            let (or, control) = chunk.iter().fold((0u8, 0u8), |(or, control), b| {
                (or | b, control | u8::from(*b < 0x20))
            });
            all.is_ascii &= or < 0x80;
            all.has_controls |= control != 0;
        }
        all
    }
}

/// The number of continuation bytes in a run, and of lead bytes of four-byte characters.
pub(super) fn beyond_ascii(run: &[u8]) -> (usize, u32) {
    let mut continuations = 0usize;
    let mut fours = 0u32;
    // Sums of up to 255 fit into a byte, so that the loop stays in vector registers.
    for chunk in run.chunks(255) {
        let (c, f) = chunk.iter().fold((0u8, 0u8), |(c, f), b| {
            (c + u8::from((*b as i8) < -0x40), f + u8::from(*b >= 0xf0))
        });
        continuations += usize::from(c);
        fours += u32::from(f);
    }
    (continuations, fours)
}

/// Reads a string whose opening quote is before `at`; returns the text and the position after its closing quote. `bytes` are
/// the properties of the whole line.
pub(super) fn scan_scalar(
    line: &[u8],
    at: usize,
    bytes: Bytes,
    odd: &mut Anomalies,
) -> Parse<(Text, usize)> {
    let start = at;
    let mut at = at;
    let mut found = Found::default();
    loop {
        let end = next_special(line, at);
        let run = &line[at.min(line.len())..end.unwrap_or(line.len())];
        if bytes.has_controls
            && let Some(n) = run.iter().position(|b| *b < 0x20)
        {
            return Err(Bad::new(at + n, "control character in a string"));
        }
        if !bytes.is_ascii {
            let (continuations, fours) = beyond_ascii(run);
            found.surplus += continuations;
            found.astral += fours;
        }
        let Some(end) = end else {
            return Err(Bad::new(line.len(), "string without an end"));
        };
        at = end;
        if line[at] == b'"' {
            found.end = at;
            return Ok(found.text(start));
        }
        // `\n` is by far the most common escape, and the one most likely to be followed by another.
        if line.get(at + 1) == Some(&b'n') {
            found.surplus += 1;
            at += 2;
            continue;
        }
        let escape = escape(line, at)?;
        found.surplus += escape.len - 1;
        found.astral += u32::from(escape.value > 0xffff);
        if escape.is_lone_surrogate() {
            odd.insert(Anomalies::LONE_SURROGATE);
        }
        at += escape.len;
    }
}

/// One escape: its length in bytes, and its code point (for a lone surrogate, the surrogate).
pub(super) struct Escape {
    pub(super) len: usize,
    pub(super) value: u32,
}

impl Escape {
    pub(super) fn is_lone_surrogate(&self) -> bool {
        (0xd800..0xe000).contains(&self.value)
    }
}

/// The character of an escape of two bytes, by the second.
pub(super) const fn plain_escape(letter: u8) -> Option<u8> {
    Some(match letter {
        b'n' => b'\n',
        b'"' | b'\\' | b'/' => letter,
        b't' => b'\t',
        b'r' => b'\r',
        b'b' => 8,
        b'f' => 12,
        _ => return None,
    })
}

/// Reads the escape whose backslash is at `at`; a surrogate pair is one escape.
pub(super) fn escape(line: &[u8], at: usize) -> Parse<Escape> {
    if let Some(plain) = line.get(at + 1).and_then(|letter| plain_escape(*letter)) {
        let value = u32::from(plain);
        return Ok(Escape { len: 2, value });
    }
    match line.get(at + 1) {
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

/// The values of hexadecimal digits; any other byte maps to a value that four digits cannot have.
static HEX: [u32; 256] = {
    let mut values = [NO_DIGIT; 256];
    let mut at = 0;
    while at < 256 {
        if let Some(value) = (at as u8 as char).to_digit(16) {
            values[at] = value;
        }
        at += 1;
    }
    values
};
const NO_DIGIT: u32 = 1 << 16;

#[inline]
fn hex4(line: &[u8], at: usize) -> Option<u32> {
    let digits = line.get(at..)?.first_chunk::<4>()?;
    let [a, b, c, d] = digits.map(|digit| HEX[usize::from(digit)]);
    let value = a << 12 | b << 8 | c << 4 | d;
    ((a | b | c | d) < NO_DIGIT).then_some(value)
}

/// The character of the escape whose backslash is at `at`, and its length in bytes; a lone surrogate is U+FFFD. `None` if there is
/// no whole escape.
#[inline]
pub fn unescape_at(raw: &[u8], at: usize) -> Option<(char, usize)> {
    // Most that are not plain are of the basic plane.
    if raw.get(at + 1) == Some(&b'u')
        && let Some(c) = hex4(raw, at + 2).and_then(char::from_u32)
    {
        return Some((c, 6));
    }
    let Escape { len, value } = escape(raw, at).ok()?;
    let c = char::from_u32(value).unwrap_or(char::REPLACEMENT_CHARACTER);
    Some((c, len))
}
