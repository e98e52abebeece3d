//! How long JSON would be as other programs write it, without writing it.
//!
//! PURE. Two notations in one walk: compact JSON as of [`super::json::compact`], and what Python prints as of
//! [`super::repr::of_json`]. Tests compare the lengths with what these write.

use std::ops::AddAssign;

use super::{json, repr};
use crate::scan::{next_special, unescape_at};

/// The length of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Chars {
    /// Unicode scalar values.
    pub(super) scalars: u64,
    /// How many of these are outside the basic plane.
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
    /// Those of the members of a message object that are sent to a provider: of what [`json::members`] writes.
    pub(super) fn of_members(object: &[u8]) -> Lengths {
        let mut lengths = Lengths::of(b"{}");
        let mut is_first = true;
        json::each_sent(object, |key, value| {
            // Quotes and a colon; of these keys, none has an escape.
            lengths.json.scalars += key.len() as u64 + 3;
            lengths.python.scalars += key.len() as u64 + 4;
            if !std::mem::take(&mut is_first) {
                lengths += Lengths::of(b",");
            }
            lengths += Lengths::of(value);
        });
        lengths
    }

    /// Those of a valid value, of several, or of parts between them.
    pub(super) fn of(raw: &[u8]) -> Lengths {
        let mut lengths = Lengths::default();
        let Ok(text) = simdutf8::basic::from_utf8(raw) else {
            // Rare: replaced bytes are counted where they are written.
            let json = json::compact(raw);
            lengths.json = Chars::of(&json);
            lengths.python = Chars::of(&repr::of_json(&json));
            return lengths;
        };
        let mut at = 0;
        while let Some(&byte) = raw.get(at) {
            let (json, python, len) = match byte {
                b'"' => {
                    at = lengths.string(text, at + 1);
                    continue;
                }
                b' ' | b'\t' | b'\r' | b'\n' => (0, 0, 1),
                b',' | b':' => (1, 2, 1),
                b't' | b'n' => (4, 4, 4),
                b'f' => (5, 5, 5),
                b'-' | b'0'..=b'9' => {
                    let rest = &raw[at..];
                    let len = repr::number(rest);
                    (len as u64, repr::number_len(&rest[..len]), len)
                }
                _ => (1, 1, 1),
            };
            lengths.json.scalars += json;
            lengths.python.scalars += python;
            at += len;
        }
        lengths
    }

    /// Adds the string whose first byte is at `start`; returns the place after its closing quote.
    fn string(&mut self, text: &str, start: usize) -> usize {
        let raw = text.as_bytes();
        let mut at = start;
        let mut escapes = Escapes::default();
        let end = loop {
            match next_special(raw, at) {
                Some(end) if raw[end] == b'"' => break end,
                Some(slash) => at = slash + escapes.add(raw, slash),
                None => break raw.len(),
            }
        };
        let body = &raw[start..end];
        let run = Run::of(body);
        let quotes = 2;
        let scalars = quotes + body.len() as u64 - run.continuations - escapes.bytes;
        let astral = run.fours;
        self.json
            .add(scalars + escapes.json.scalars, astral + escapes.json.astral);
        let apostrophes = run.apostrophes + escapes.apostrophes;
        let slashes = if escapes.has_quote { apostrophes } else { 0 };
        self.python.add(
            scalars + escapes.python.scalars + slashes + 3 * run.deletes,
            astral + escapes.python.astral,
        );
        if run.continuations > 0 {
            self.escaped_by_python(&text[start..end]);
        }
        end + 1
    }

    /// Adds what the characters beyond ASCII take that Python does not print as they are.
    fn escaped_by_python(&mut self, text: &str) {
        let mut rest = text;
        loop {
            rest = &rest[ascii_run(rest.as_bytes())..];
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
#[derive(Debug, Default)]
struct Escapes {
    /// Their bytes.
    bytes: u64,
    /// What they are in each notation.
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

/// What is counted in a run of bytes of UTF-8.
#[derive(Debug, Default)]
struct Run {
    /// Bytes that continue a character.
    continuations: u64,
    /// Bytes that begin a character outside the basic plane.
    fours: u64,
    apostrophes: u64,
    /// The control character 0x7f, which JSON has as it is.
    deletes: u64,
}

impl Run {
    fn of(bytes: &[u8]) -> Run {
        let mut run = Run::default();
        // Sums of up to 255 fit into a byte, so that the loop stays in vector registers.
        for chunk in bytes.chunks(255) {
            let mut sums = [0u8; 4];
            for b in chunk {
                sums[0] += u8::from((*b as i8) < -0x40);
                sums[1] += u8::from(*b >= 0xf0);
                sums[2] += u8::from(*b == b'\'');
                sums[3] += u8::from(*b == 0x7f);
            }
            run.continuations += u64::from(sums[0]);
            run.fours += u64::from(sums[1]);
            run.apostrophes += u64::from(sums[2]);
            run.deletes += u64::from(sums[3]);
        }
        run
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn written(raw: &[u8]) -> Lengths {
        let json = json::compact(raw);
        let count = |text: &[u8]| {
            let text = String::from_utf8_lossy(text);
            Chars {
                scalars: text.chars().count() as u64,
                astral: text.chars().filter(|c| *c > '\u{ffff}').count() as u64,
            }
        };
        Lengths {
            json: count(&json),
            python: count(&repr::of_json(&json)),
        }
    }

    #[test]
    fn lengths_are_those_of_what_would_be_written() {
        for raw in [
            "",
            r#""""#,
            r#"{"a" : [1, -0, 2.50,1e400 ,true,false , null], "b":{}}"#,
            r#""it's \"so\" \u0027 \/ \b\f\n\r\t\\""#,
            r#""it's \u0022""#,
            r#""\u001b\u000a\u007f\u0000\ud83c\udf89\ud800x\udb40\udc01\u00ad""#,
            "\"\u{7f}'é世🎉\u{ad}\u{200b}\u{e0001}\u{301}\u{fffe}\"",
            "[{\"a\":1},]",
        ] {
            assert_eq!(
                Lengths::of(raw.as_bytes()),
                written(raw.as_bytes()),
                "{raw}"
            );
        }
        let broken = b"[\"a\xffb\\n\xe4\xb8\"]";
        assert_eq!(Lengths::of(broken), written(broken));
    }

    #[test]
    fn the_members_that_are_sent_are_as_long_as_they_are_written() {
        for object in [
            r#"{}"#,
            r#"{"id":7}"#,
            r#"{ "role":"user","x":[1],"content" :[{"type":"text", "text":"it's\n"}],"name":null}"#,
        ] {
            let members = json::members(object.as_bytes());
            assert_eq!(
                Lengths::of_members(object.as_bytes()),
                written(&members),
                "{object}"
            );
        }
    }

    #[test]
    fn every_character_has_the_length_that_it_takes() {
        for c in '\0'..=char::MAX {
            let code = u32::from(c);
            let raw = match code {
                0..0x20 | 0x22 | 0x5c => format!("\"\\u{code:04x}\""),
                _ => format!("\"{c}\""),
            };
            assert_eq!(
                Lengths::of(raw.as_bytes()),
                written(raw.as_bytes()),
                "{raw}"
            );
        }
    }

    proptest! {
        #[test]
        fn any_value_is_as_long_as_it_is_written(
            texts in prop::collection::vec("(\\\\[\"\\\\/bfnrt]|\\\\u[0-9a-f]{4}|['\u{7f} -!#-\\[\\]-~é世🎉\u{ad}]){0,300}", 0..4),
            numbers in prop::collection::vec("-?[0-9]{1,4}(\\.[0-9]{1,3})?([eE][+-]?[0-9]{1,2})?", 0..4),
        ) {
            let strings = texts.iter().map(|text| format!("\"{text}\": \"{text}\""));
            let raw = format!("[{{{}}}, {}]", strings.collect::<Vec<_>>().join(" , "), numbers.join(", "));
            prop_assert_eq!(Lengths::of(raw.as_bytes()), written(raw.as_bytes()));
        }
    }
}
