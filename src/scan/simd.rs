//! Reads strings 64 bytes at a time on processors with AVX2, which is detected at run time.
//!
//! Gives the same answers as [`super::string`], or none: only that module tells what is wrong with a string, and where. Most
//! strings are keys, which end within 32 bytes and contain nothing that needs a closer look, so that case is tried first.

#[cfg(not(target_arch = "x86_64"))]
mod none;
#[cfg(target_arch = "x86_64")]
mod x86;

#[cfg(not(target_arch = "x86_64"))]
pub(super) use none::Wide;
#[cfg(target_arch = "x86_64")]
pub(super) use x86::Wide;

use super::defects::{Anomalies, Parse};
use super::string::{Bytes, Found, Text, scan_scalar};

/// How the strings of a line are read.
#[derive(Debug, Clone, Copy)]
pub(super) enum Scanner {
    /// With wide registers.
    Wide(Wide),
    /// Word by word, given the properties of the line that this needs.
    Narrow(Bytes),
}

impl Scanner {
    /// The fastest scanner for a line.
    #[inline]
    pub(super) fn through(line: &[u8]) -> Self {
        match Wide::here() {
            Some(wide) => Scanner::Wide(wide),
            None => Scanner::Narrow(Bytes::of(line)),
        }
    }

    /// The end of the string whose first byte is at `start`, if it is short and each of its bytes is a character, as in most keys;
    /// `None` for other strings, and where finding out would take as long as reading it.
    #[inline]
    pub(super) fn plain(self, line: &[u8], start: usize) -> Option<usize> {
        match self {
            Scanner::Wide(wide) => wide.plain(line, start),
            Scanner::Narrow(_) => None,
        }
    }

    /// Reads a string whose opening quote is before `at`; returns the text and the position after its closing quote.
    #[inline]
    pub(super) fn string(
        self,
        line: &[u8],
        at: usize,
        odd: &mut Anomalies,
    ) -> Parse<(Text, usize)> {
        match self {
            Scanner::Wide(wide) => match wide.find(line, at) {
                Some(found) => {
                    if found.has_lone_surrogate {
                        odd.insert(Anomalies::LONE_SURROGATE);
                    }
                    Ok(found.text(at))
                }
                None => scan_scalar(line, at, Bytes::unknown(), odd),
            },
            Scanner::Narrow(bytes) => scan_scalar(line, at, bytes, odd),
        }
    }
}

/// The end of the string whose first byte is at `start`, if it is short and each of its bytes is an ASCII character; `None` for other
/// strings, and without wide registers.
#[inline]
pub(crate) fn plain_end(line: &[u8], start: usize) -> Option<usize> {
    Wide::here()?.plain(line, start)
}

/// Counts of what a string contains that other writers would write differently.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Inside {
    /// Its closing quote.
    pub(crate) end: usize,
    /// Escapes of two bytes.
    pub(crate) escapes: u64,
    /// Quotes among these escapes.
    pub(crate) quotes: u64,
    /// Slashes among these escapes.
    pub(crate) slashes: u64,
    /// `\b` and `\f` among these escapes.
    pub(crate) feeds: u64,
    /// Bytes beyond ASCII.
    pub(crate) highs: u64,
    /// UTF-8 continuation bytes.
    pub(crate) continuations: u64,
    /// Lead bytes of characters outside the basic plane.
    pub(crate) fours: u64,
    pub(crate) apostrophes: u64,
    /// The control character 0x7f, which JSON does not escape.
    pub(crate) deletes: u64,
}

/// Reads the string whose first byte is at `start`, if it is complete and valid, and counts what it contains; `units` is called
/// with the position of the backslash of every `\u`. Also `None` if the processor lacks the required features.
pub(crate) fn inside(line: &[u8], start: usize, units: &mut impl FnMut(usize)) -> Option<Inside> {
    Wide::here()?.inside(line, start, units)
}

/// How often each of two bytes occurs, found in one pass.
pub(crate) fn occurrences(bytes: &[u8], wanted: [u8; 2]) -> [u64; 2] {
    match Wide::here() {
        Some(wide) => wide.occurrences(bytes, wanted),
        None => wanted.map(|byte| memchr::memchr_iter(byte, bytes).count() as u64),
    }
}

/// Which of 64 bytes are in one of these ranges, whose ends are included: a bit each, the lowest for the first byte.
pub(crate) fn in_ranges<const N: usize>(bytes: &[u8; 64], ranges: &[(u8, u8); N]) -> u64 {
    if let Some(wide) = Wide::here() {
        return wide.in_ranges(bytes, ranges);
    }
    in_ranges_narrow(bytes, ranges)
}

/// The same without wide registers, in two loops that the compiler can vectorise.
fn in_ranges_narrow<const N: usize>(bytes: &[u8; 64], ranges: &[(u8, u8); N]) -> u64 {
    /// Moves the lowest bit of each byte of a word to its highest byte.
    const TOGETHER: u64 = 0x0102_0408_1020_4080;
    let mut found = [0; 64];
    for (found, byte) in found.iter_mut().zip(bytes) {
        for (first, last) in ranges {
            *found |= u8::from(byte.wrapping_sub(*first) <= last - first);
        }
    }
    let (words, _) = found.as_chunks();
    let eight = |word: &[u8; 8]| u64::from_le_bytes(*word).wrapping_mul(TOGETHER) >> 56;
    words
        .iter()
        .rev()
        .fold(0, |bits, word| bits << 8 | eight(word))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::unescape::unescaped;
    use super::*;

    /// Asserts that both ways of reading give the same result.
    fn agree(line: &[u8], start: usize) -> Result<(), TestCaseError> {
        let mut odd = Anomalies::default();
        let expected = scan_scalar(line, start, Bytes::of(line), &mut odd);
        let wide = Wide::here();
        if let Some(end) = wide.and_then(|wide| wide.plain(line, start)) {
            prop_assert_eq!(
                Ok(Text::plain(start, end)),
                expected.as_ref().map(|(text, _)| *text)
            );
        }
        let raw = &line[start..];
        prop_assert_eq!(unescaped(raw, wide), unescaped(raw, None));
        match (wide.and_then(|wide| wide.find(line, start)), expected) {
            (Some(found), Ok(text)) => {
                prop_assert_eq!(found.text(start), text);
                prop_assert_eq!(found.has_lone_surrogate, !odd.is_empty());
            }
            (Some(found), Err(bad)) => prop_assert!(false, "{found:?}, {bad:?}"),
            (None, Ok(text)) => prop_assert!(wide.is_none(), "{text:?}"),
            (None, Err(_)) => {}
        }
        Ok(())
    }

    #[test]
    fn runs_of_backslashes_end_a_string_where_they_should_at_every_place() {
        for before in 0..130 {
            for slashes in 0..70 {
                for last in [
                    "",
                    "n",
                    "u00e9",
                    "ud83c\\udf89",
                    "ud83c",
                    "x",
                    "u12\"4",
                    "\u{1}",
                ] {
                    let line = format!(
                        "{}{}{last}\"é\\\"{}",
                        "a".repeat(before),
                        "\\".repeat(slashes),
                        "b\"".repeat(20)
                    );
                    agree(line.as_bytes(), 0).unwrap();
                }
            }
        }
    }

    #[test]
    fn escapes_are_read_alike_at_every_place() {
        for before in 0..70 {
            for escape in [
                "",
                "\\n",
                "\\n\\t\\\"\\\\",
                "\\u00e9\\n",
                "\\ud83c\\udf89",
                "\\ud83c",
                "\\",
                "\\x",
                "é",
            ] {
                for after in 0..70 {
                    let raw = ["a".repeat(before), escape.to_owned(), "b".repeat(after)].concat();
                    let [wide, narrow] =
                        [Wide::here(), None].map(|by| unescaped(raw.as_bytes(), by));
                    assert_eq!(wide, narrow, "{raw}");
                }
            }
        }
    }

    #[test]
    fn bytes_are_counted_up_to_any_length() {
        let text: Vec<u8> = (0..20_000u32).map(|n| (n * n % 251 % 5) as u8).collect();
        for (start, end) in [(0, 0), (0, 31), (7, 8_167), (1, 8_193), (3, 20_000)] {
            let text = &text[start..end];
            let count = |byte: u8| text.iter().filter(|b| **b == byte).count() as u64;
            assert_eq!(occurrences(text, [0, 4]), [count(0), count(4)]);
        }
        // No sum of a register runs over.
        assert_eq!(occurrences(&[7; 100_000], [7, 8]), [100_000, 0]);
    }

    #[test]
    fn every_byte_is_in_its_ranges_at_every_place() {
        let ranges = [(b'a', b'z'), (b'_', b'_'), (0, 3), (0xf0, 0xff)];
        for at in 0..64 {
            for byte in 0..=u8::MAX {
                let mut bytes = [b' '; 64];
                bytes[at] = byte;
                bytes[63 - at / 2] = b'_';
                let is_in = |byte: u8| matches!(byte, b'a'..=b'z' | b'_' | 0..=3 | 0xf0..);
                let expected = (0..64).filter(|place| is_in(bytes[*place]));
                let expected = expected.fold(0, |bits, place| bits | 1 << place);
                for found in [in_ranges, in_ranges_narrow] {
                    assert_eq!(found(&bytes, &ranges), expected, "{byte} at {at}");
                }
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4000))]

        #[test]
        fn both_ways_say_the_same_of_any_bytes(
            text in "(\\\\[\"\\\\/bfnrtx]|\\\\u[0-9a-g]{4}|\\\\ud83c\\\\udf89|[\u{7f} -~é世🎉]|\\\\\\\\|[a-z]{1,40}|\u{1}){0,60}",
            start in 0usize..9,
            mutation in prop::option::of((any::<prop::sample::Index>(), any::<u8>())),
        ) {
            let mut line = text.into_bytes();
            line.extend(b"\" and more");
            if let Some((at, byte)) = mutation {
                let at = at.index(line.len());
                line[at] = byte;
            }
            agree(&line, start.min(line.len()))?;
        }
    }
}
