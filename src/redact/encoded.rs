//! Finds secrets in encoded text: base64 and hexadecimal digits, also over several lines, and percent-encoding.
//!
//! Decoded text is searched like any other text; percent-encoding is decoded at most twice. Binary data is abandoned at its first
//! bytes. A run of base64 or digits that contains a secret is masked as a whole; in percent-encoded text, only the secret is.
//! UTF-16, compressed data, columnar dumps and digits between other characters are not decoded.

use std::ops::Range;

use super::Found;
use super::bytes::{Set, skip_blanks};

/// The minimum length of a run that can hold a secret with its name.
const MIN_RUN_BYTES: usize = 24;
/// The minimum line length in a run over several lines.
const LEAST_LINE: usize = 40;
/// The number of bytes that decide whether data are text.
const PROBE: usize = 12;
/// The maximum number of times that percent-encoding is decoded.
const LAYERS: usize = 2;

/// Finds secrets in the encoded parts of `text`; `search` finds those in plain text.
pub(super) fn find(text: &[u8], search: impl Fn(&[u8]) -> Vec<Found>, found: &mut Vec<Found>) {
    runs(text, &search, found);
    percent_encoded(text, &search, found);
}

/// A part of a text that consists only of letters and digits, without its line ends.
struct Run {
    range: Range<usize>,
    /// Its lines.
    lines: Vec<Range<usize>>,
}

fn is_digit(b: u8) -> bool {
    b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/' | b'-' | b'_')
}

fn runs(text: &[u8], search: &impl Fn(&[u8]) -> Vec<Found>, found: &mut Vec<Found>) {
    let mut at = 0;
    while let Some(window) = text.get(at..at + MIN_RUN_BYTES) {
        // No run that is long enough begins before the last byte outside of any run.
        if let Some(last) = window.iter().rposition(|b| !is_digit(*b)) {
            at += last + 1;
            continue;
        }
        let run = run(text, at);
        at = run.range.end.max(at + 1);
        if run.range.len() < MIN_RUN_BYTES {
            continue;
        }
        let parts = |lines: &[Range<usize>]| -> Vec<u8> {
            lines
                .iter()
                .flat_map(|line| text[line.clone()].iter().copied())
                .collect()
        };
        let mut judge = |digits: &[u8], range: Range<usize>| {
            let decoded = decode(digits);
            let kind = decoded
                .and_then(|decoded| search(&decoded).into_iter().map(|find| find.kind).min());
            found.extend(kind.map(|kind| Found { range, kind }));
            kind.is_some()
        };
        let is_found = judge(&parts(&run.lines), run.range.clone());
        if !is_found && run.lines.len() > 1 {
            // Separate lines that happen to have the same length.
            for line in &run.lines {
                judge(&text[line.clone()], line.clone());
            }
        }
    }
}

/// The run that begins at `at`, with the lines that continue it: all but the last are as long as the first.
fn run(text: &[u8], at: usize) -> Run {
    // The characters of an escape are not part of the text after it.
    let is_escaped = at > 0 && text[at - 1] == b'\\';
    let start = match text[at..] {
        [b'u', a, b, c, d, ..] if is_escaped && [a, b, c, d].iter().all(u8::is_ascii_hexdigit) => {
            at + 5
        }
        _ => at + usize::from(is_escaped),
    };
    let line = |start: usize| {
        let len = text[start..].iter().take_while(|b| is_digit(**b)).count();
        start..start + len
    };
    let first = line(start);
    let (width, mut end) = (first.len(), first.end);
    let mut lines = vec![first];
    // A line shorter than the first is the last one.
    while width >= LEAST_LINE && lines.last().is_some_and(|line| line.len() == width) {
        let Some(next) = after_line_end(text, end).map(line) else {
            break;
        };
        // The first word of a sentence is not a line of the run.
        let ends = match text[next.end..] {
            [] => true,
            [b, ..] => matches!(b, b'\n' | b'\r' | b'\\' | b'=' | b'"' | b'\'' | b'`' | b'<'),
        };
        if next.is_empty() || next.len() > width || next.len() < width && !ends {
            break;
        }
        end = next.end;
        lines.push(next);
    }
    let padding = text[end..]
        .iter()
        .take(2)
        .take_while(|b| **b == b'=')
        .count();
    Run {
        range: start..end + padding,
        lines,
    }
}

/// The start of the next line, after a real or escaped line end and the indentation.
pub(super) fn after_line_end(text: &[u8], at: usize) -> Option<usize> {
    let rest = &text[at..];
    let ends: [&[u8]; 4] = [b"\r\n", b"\n", b"\\r\\n", b"\\n"];
    let end = ends.iter().find(|end| rest.starts_with(end))?;
    Some(skip_blanks(text, at + end.len()))
}

/// The text encoded as hexadecimal digits or base64, if it is text.
fn decode(digits: &[u8]) -> Option<Vec<u8>> {
    let hex = digits.strip_prefix(b"0x").unwrap_or(digits);
    let decoded = match hex.iter().all(u8::is_ascii_hexdigit) && hex.len().is_multiple_of(2) {
        true => text_of(hex.chunks(2).map(|two| {
            let digit = |b: u8| char::from(b).to_digit(16).unwrap_or_default() as u8;
            digit(two[0]) << 4 | digit(two[1])
        })),
        false => None,
    };
    decoded.or_else(|| {
        text_of(Base64 {
            digits,
            bits: 0,
            held: 0,
        })
    })
}

/// Collects bytes if they are text.
fn text_of(mut bytes: impl Iterator<Item = u8>) -> Option<Vec<u8>> {
    let is_text = |b: &u8| matches!(b, b' '..=b'~' | b'\n' | b'\r' | b'\t' | b'\x1b');
    let mut text: Vec<u8> = bytes.by_ref().take(PROBE).collect();
    if text.len() < PROBE || !text.iter().all(is_text) {
        return None;
    }
    text.extend(bytes);
    // The last character may be cut off with the end of the run.
    let valid = match std::str::from_utf8(&text) {
        Ok(_) => text.len(),
        Err(error) => error.valid_up_to(),
    };
    (valid + 4 > text.len()).then_some(text)
}

/// The bytes of base64, in either alphabet.
struct Base64<'t> {
    digits: &'t [u8],
    bits: u32,
    held: u32,
}

impl Iterator for Base64<'_> {
    type Item = u8;

    fn next(&mut self) -> Option<u8> {
        while self.held < 8 {
            let (first, rest) = self.digits.split_first()?;
            let six = match first {
                b'A'..=b'Z' => first - b'A',
                b'a'..=b'z' => first - b'a' + 26,
                b'0'..=b'9' => first - b'0' + 52,
                b'+' | b'-' => 62,
                _ => 63,
            };
            self.bits = (self.bits << 6 | u32::from(six)) & 0xffff;
            self.held += 6;
            self.digits = rest;
        }
        self.held -= 8;
        Some((self.bits >> self.held) as u8)
    }
}

/// A decoded text with the source position of each of its bytes.
struct Decoded {
    bytes: Vec<u8>,
    places: Vec<usize>,
}

/// Searches each percent-encoded word in decoded form.
fn percent_encoded(text: &[u8], search: &impl Fn(&[u8]) -> Vec<Found>, found: &mut Vec<Found>) {
    if !text.contains(&b'%') {
        return;
    }
    let is_end =
        |b: &u8| b.is_ascii_whitespace() || matches!(b, b'"' | b'\'' | b'<' | b'>' | b'\\' | b'`');
    let mut start = 0;
    for word in text.split(is_end) {
        let at = start;
        start += word.len() + 1;
        if !word.windows(3).any(is_escape) {
            continue;
        }
        let mut decoded = Decoded {
            bytes: word.to_vec(),
            places: (at..at + word.len()).collect(),
        };
        for _ in 0..LAYERS {
            if !decoded.bytes.windows(3).any(is_escape) {
                break;
            }
            decoded = decoded.once_more();
            found.extend(search(&decoded.bytes).into_iter().filter_map(|find| {
                let last = find.range.end.checked_sub(1)?;
                let start = *decoded.places.get(find.range.start)?;
                let end = *decoded.places.get(last + 1).unwrap_or(&(at + word.len()));
                // Never within a character, nor within an escape.
                let is_whole = |at: usize| text.get(at).is_none_or(|b| b & 0xc0 != 0x80);
                let is_escaped = start > 0 && text[start - 1] == b'\\';
                (is_whole(start) && is_whole(end) && !is_escaped).then_some(Found {
                    range: start..end,
                    kind: find.kind,
                })
            }));
        }
    }
}

fn is_escape(three: &[u8]) -> bool {
    matches!(three, [b'%', a, b] if a.is_ascii_hexdigit() && b.is_ascii_hexdigit())
}

impl Decoded {
    fn once_more(&self) -> Decoded {
        let mut decoded = Decoded {
            bytes: Vec::with_capacity(self.bytes.len()),
            places: Vec::with_capacity(self.bytes.len()),
        };
        let mut at = 0;
        while at < self.bytes.len() {
            let digit =
                |at: usize| char::from(self.bytes[at]).to_digit(16).unwrap_or_default() as u8;
            let (byte, len) = match self.bytes.get(at..at + 3) {
                Some(three) if is_escape(three) => (digit(at + 1) << 4 | digit(at + 2), 3),
                Some(_) | None => (self.bytes[at], 1),
            };
            decoded.bytes.push(byte);
            decoded.places.push(self.places[at]);
            at += len;
        }
        decoded
    }
}

/// The rest of a token that a line end after `at` breaks: the bytes of its alphabet on the next line.
pub(super) fn continued(
    text: &[u8],
    at: usize,
    alphabet: Set,
    most: usize,
) -> Option<Range<usize>> {
    let next = after_line_end(text, at)?;
    let len = alphabet.run(text, next, most);
    (1..=most).contains(&len).then_some(next..next + len)
}
