//! Computes how long JSON would be as other programs write it, without writing it.
//!
//! PURE. Measures two notations in one walk: compact JSON as written by [`super::json::compact`], and what Python prints, as
//! written by [`super::repr::of_json`]. Tests compare the lengths with their output.

use std::borrow::Cow;
use std::ops::AddAssign;

use super::{json, repr};
use crate::scan::{
    Inside, Span, inside, next_special, plain_end, string_end, unescape, unescape_at,
};

/// The characters around a string.
const QUOTES: u64 = 2;

/// The only control character that JSON does not escape; Python does.
const DELETE: u8 = 0x7f;

/// The length of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Chars {
    /// Unicode scalar values.
    pub(super) scalars: u64,
    /// How many of them are outside the basic plane.
    pub(super) astral: u64,
}

impl Chars {
    /// The length of UTF-8 text.
    pub(super) fn of(text: &[u8]) -> Chars {
        let run = Run::of(text);
        Chars {
            scalars: text.len() as u64 - run.continuations,
            astral: run.fours,
        }
    }

    fn add(&mut self, scalars: u64, astral: u64) {
        self.scalars += scalars;
        self.astral += astral;
    }
}

/// The length of a JSON value in two notations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Lengths {
    /// As compact JSON.
    pub(super) json: Chars,
    /// As Python prints it.
    pub(super) python: Chars,
}

impl AddAssign for Chars {
    fn add_assign(&mut self, other: Chars) {
        self.add(other.scalars, other.astral);
    }
}

impl AddAssign for Lengths {
    fn add_assign(&mut self, other: Lengths) {
        self.json += other.json;
        self.python += other.python;
    }
}

impl Lengths {
    /// The lengths of a valid value, of several, or of the parts between them.
    pub(super) fn of(raw: &[u8]) -> Lengths {
        let mut walk = Walk::new(raw, &[]);
        while walk.at < raw.len() {
            walk.token();
        }
        walk.lengths
    }

    /// The lengths of the members of a message object that are sent to a provider, as [`json::members`] writes them. `known` holds
    /// values in the object whose lengths are known, with their positions.
    pub(super) fn of_members(object: &[u8], known: &mut [(Span, Lengths)]) -> Lengths {
        known.sort_unstable_by_key(|(span, _)| span.start);
        let mut walk = Walk::new(object, known);
        let mut all = Lengths::of(b"{}");
        let mut is_first = true;
        walk.at = 1;
        while let Some(key) = walk.key() {
            walk.lengths = Lengths::default();
            walk.value();
            if json::is_sent(&key) {
                // Quotes and a colon; none of these keys has an escape.
                all.json.scalars += key.len() as u64 + 3;
                all.python.scalars += key.len() as u64 + 4;
                if !std::mem::take(&mut is_first) {
                    all += Lengths::of(b",");
                }
                all += walk.lengths;
            }
        }
        all
    }
}

/// A walk through JSON that was read before.
struct Walk<'r> {
    raw: &'r [u8],
    at: usize,
    /// Values whose lengths are known, in order.
    known: &'r [(Span, Lengths)],
    lengths: Lengths,
}

impl<'r> Walk<'r> {
    fn new(raw: &'r [u8], known: &'r [(Span, Lengths)]) -> Self {
        Walk {
            raw,
            at: 0,
            known,
            lengths: Lengths::default(),
        }
    }

    /// The next key of an object, with its colon; `None` at the end.
    fn key(&mut self) -> Option<Cow<'r, [u8]>> {
        let start = self.at + memchr::memchr2(b'"', b'}', self.raw.get(self.at..)?)?;
        if self.raw[start] == b'}' {
            return None;
        }
        let end = string_end(self.raw, start + 1);
        let key = self.raw.get(start + 1..end)?;
        self.at = end + 1 + memchr::memchr(b':', self.raw.get(end + 1..)?)? + 1;
        Some(unescape(key))
    }

    /// Adds the next value.
    fn value(&mut self) {
        let mut depth = 0u64;
        while let Some(&byte) = self.raw.get(self.at) {
            match byte {
                _ if self.is_known() => {}
                b'{' | b'[' => depth += 1,
                b'}' | b']' => depth = depth.saturating_sub(1),
                b' ' | b'\t' | b'\r' | b'\n' | b',' | b':' => {
                    self.token();
                    continue;
                }
                _ => {}
            }
            if !self.pass_known() {
                self.token();
            }
            if depth == 0 {
                return;
            }
        }
    }

    /// Whether the next value is known.
    fn is_known(&mut self) -> bool {
        while let [(first, _), rest @ ..] = self.known {
            if first.start as usize >= self.at {
                return first.start as usize == self.at && !first.is_empty();
            }
            self.known = rest;
        }
        false
    }

    /// Adds the next value, if it is known.
    fn pass_known(&mut self) -> bool {
        if !self.is_known() {
            return false;
        }
        let (span, lengths) = self.known[0];
        self.lengths += lengths;
        self.at = span.end();
        true
    }

    /// Adds the next token: a string, a bracket, a number.
    fn token(&mut self) {
        let (json, python, len) = match self.raw[self.at] {
            b'"' => return self.string(),
            b' ' | b'\t' | b'\r' | b'\n' => (0, 0, 1),
            b',' | b':' => (1, 2, 1),
            b't' | b'n' => (4, 4, 4),
            b'f' => (5, 5, 5),
            b'-' | b'0'..=b'9' => {
                let rest = &self.raw[self.at..];
                let len = repr::number(rest);
                (len as u64, repr::number_len(&rest[..len]), len)
            }
            _ => (1, 1, 1),
        };
        self.lengths.json.scalars += json;
        self.lengths.python.scalars += python;
        self.at += len;
    }

    fn string(&mut self) {
        let (raw, start) = (self.raw, self.at + 1);
        // Most are keys: as long in either notation, and not worth counting in.
        if let Some(end) = plain_end(raw, start).filter(|end| !raw[start..*end].contains(&DELETE)) {
            let scalars = (end - start) as u64 + QUOTES;
            self.lengths.json.scalars += scalars;
            self.lengths.python.scalars += scalars;
            self.at = end + 1;
            return;
        }
        let (end, run, escapes) = wide(raw, start).unwrap_or_else(|| narrow(raw, start));
        self.at = end + 1;
        let body = &raw[start..end];
        if run.is_ascii {
            self.lengths.add_string(body.len(), &run, &escapes);
            return;
        }
        match simdutf8::basic::from_utf8(body) {
            Ok(text) => {
                self.lengths.add_string(body.len(), &run, &escapes);
                self.lengths.escape_for_python(text);
            }
            // Rare: bytes that get replaced are counted by writing the string out.
            Err(_) => {
                let json = json::compact(&raw[start - 1..self.at.min(raw.len())]);
                self.lengths.json += Chars::of(&json);
                self.lengths.python += Chars::of(&repr::of_json(&json));
            }
        }
    }
}

/// Scans the string whose first byte is at `start`: where it ends, and what it contains.
fn narrow(raw: &[u8], start: usize) -> (usize, Run, Escapes) {
    let mut at = start;
    let mut escapes = Escapes::default();
    let end = loop {
        match next_special(raw, at) {
            Some(end) if raw[end] == b'"' => break end,
            Some(slash) => at = slash + escapes.add(raw, slash),
            None => break raw.len(),
        }
    };
    (end, Run::of(&raw[start..end]), escapes)
}

/// The same with the processor's wide registers, where it has them and the string is valid.
fn wide(raw: &[u8], start: usize) -> Option<(usize, Run, Escapes)> {
    let mut escapes = Escapes::default();
    let mut after = start;
    let inside = inside(raw, start, &mut |slash| {
        // The second half of a pair was added with the first.
        if slash >= after {
            after = slash + escapes.written_out(raw, slash);
        }
    })?;
    escapes.add_short(&inside);
    let run = Run {
        is_ascii: inside.highs == 0,
        continuations: inside.continuations,
        fours: inside.fours,
        apostrophes: inside.apostrophes,
        deletes: inside.deletes,
    };
    Some((inside.end, run, escapes))
}

impl Lengths {
    fn add_string(&mut self, bytes: usize, run: &Run, escapes: &Escapes) {
        let plain = Chars {
            scalars: QUOTES + bytes as u64 - run.continuations - escapes.bytes,
            astral: run.fours,
        };
        self.json += plain;
        self.json += escapes.json;
        self.python += plain;
        self.python += escapes.python;
        if escapes.has_quote {
            self.python.scalars += run.apostrophes + escapes.apostrophes;
        }
        self.python.scalars += 3 * run.deletes;
    }

    /// Adds the escapes of the non-ASCII characters that Python does not print as they are.
    fn escape_for_python(&mut self, text: &str) {
        let mut rest = text;
        loop {
            rest = &rest[shown_run(rest.as_bytes())..];
            let mut chars = rest.chars();
            let Some(c) = chars.next() else {
                return;
            };
            rest = chars.as_str();
            if !repr::is_printable(c) {
                self.python.scalars += repr::escape_len(c) - 1;
                self.python.astral -= u64::from(c > '\u{ffff}');
            }
        }
    }
}

/// The length of the leading run of a text in which Python prints every non-ASCII character as it is, as far as its tables tell
/// at once.
fn shown_run(text: &[u8]) -> usize {
    let mut at = 0;
    loop {
        at += ascii_run(&text[at..]);
        let Some(len) = repr::common_len(&text[at..]) else {
            return at;
        };
        at += len;
        while let Some(len) = repr::common_len(&text[at..]) {
            at += len;
        }
    }
}

/// The length of the run of ASCII at the start of a text.
fn ascii_run(text: &[u8]) -> usize {
    const HIGHS: u64 = 0x8080_8080_8080_8080;
    let mut at = 0;
    while let Some(chunk) = text.get(at..).and_then(|rest| rest.first_chunk::<8>()) {
        let beyond = u64::from_le_bytes(*chunk) & HIGHS;
        if beyond != 0 {
            return at + (beyond.trailing_zeros() / 8) as usize;
        }
        at += 8;
    }
    at + text[at..].iter().take_while(|b| b.is_ascii()).count()
}

/// The escapes of a string.
#[derive(Debug, Default, PartialEq, Eq)]
struct Escapes {
    /// Their bytes.
    bytes: u64,
    /// Their length in each notation.
    json: Chars,
    python: Chars,
    /// Apostrophes among them, which Python may escape.
    apostrophes: u64,
    /// Whether one of them is a quote.
    has_quote: bool,
}

impl Escapes {
    /// Adds the escape at `slash`; returns its length.
    #[inline]
    fn add(&mut self, raw: &[u8], slash: usize) -> usize {
        let (len, json, python) = match raw.get(slash + 1) {
            Some(b'n' | b'r' | b't' | b'\\') => (2, 2, 2),
            Some(b'"') => {
                self.has_quote = true;
                (2, 2, 1)
            }
            Some(b'/') => (2, 1, 1),
            Some(b'b' | b'f') => (2, 2, 4),
            _ => return self.written_out(raw, slash),
        };
        self.bytes += len as u64;
        self.json.scalars += json;
        self.python.scalars += python;
        len
    }

    /// Adds the two-byte escapes.
    fn add_short(&mut self, inside: &Inside) {
        let Inside {
            escapes,
            quotes,
            slashes,
            feeds,
            ..
        } = *inside;
        self.bytes += 2 * escapes;
        self.json.scalars += 2 * escapes - slashes;
        self.python.scalars += 2 * (escapes + feeds) - slashes - quotes;
        self.has_quote |= quotes > 0;
    }

    /// Adds a `\u` escape.
    fn written_out(&mut self, raw: &[u8], slash: usize) -> usize {
        let Some((c, len)) = unescape_at(raw, slash) else {
            return 1;
        };
        self.bytes += len as u64;
        let astral = u64::from(c > '\u{ffff}');
        self.json.add(json::char_len(c), astral);
        match c {
            '"' => self.has_quote = true,
            '\'' => self.apostrophes += 1,
            _ => {}
        }
        match repr::is_shown(c) {
            true => self.python.add(1, astral),
            false => self.python.add(repr::escape_len(c), 0),
        }
        len
    }
}

/// Counts over a run of UTF-8 bytes.
#[derive(Debug, Default, PartialEq, Eq)]
struct Run {
    is_ascii: bool,
    /// Continuation bytes.
    continuations: u64,
    /// Lead bytes of characters outside the basic plane.
    fours: u64,
    apostrophes: u64,
    /// The characters [`DELETE`].
    deletes: u64,
}

impl Run {
    fn of(bytes: &[u8]) -> Run {
        let mut run = Run {
            is_ascii: true,
            ..Run::default()
        };
        // Sums of up to 255 fit into a byte, so that the loop stays in vector registers.
        for chunk in bytes.chunks(255) {
            let mut sums = [0u8; 4];
            let mut or = 0u8;
            for b in chunk {
                or |= b;
                sums[0] += u8::from((*b as i8) < -0x40);
                sums[1] += u8::from(*b >= 0xf0);
                sums[2] += u8::from(*b == b'\'');
                sums[3] += u8::from(*b == DELETE);
            }
            run.is_ascii &= or < 0x80;
            run.continuations += u64::from(sums[0]);
            run.fours += u64::from(sums[1]);
            run.apostrophes += u64::from(sums[2]);
            run.deletes += u64::from(sums[3]);
        }
        run
    }
}

#[cfg(test)]
mod tests;
