//! Many generated and mutated lines: the verdict on each is that of `serde_json`, and strings are read the same way with and
//! without wide registers.
//!
//! `SCAN_LINES=10000000 cargo test --release --lib -- scan::tests::many` takes some minutes; without the variable, it runs a
//! sample.

use serde_json::value::RawValue;

use crate::scan::Cursor;
use crate::scan::defects::Anomalies;
use crate::scan::simd::Wide;
use crate::scan::string::{Bytes, Text, scan_scalar};

/// A small random number generator, the same on every machine.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % sides as u64) as usize
    }

    fn one_of<'p>(&mut self, parts: &[&'p str]) -> &'p str {
        parts[self.roll(parts.len())]
    }
}

const WORDS: [&str; 28] = [
    "a",
    "let x = 1;",
    " ",
    "é",
    "世界",
    "🎉",
    "\u{7f}",
    "\\n",
    "\\t",
    "\\\"",
    "\\\\",
    "\\/",
    "\\u00e9",
    "\\ud83c\\udf89",
    "\\ud800",
    "\\udc00",
    "\\u001b",
    "a_long_name_that_takes_more_than_32_bytes_of_a_line",
    "'",
    "{",
    "]",
    ":",
    ",",
    "\\b\\f\\r",
    "0",
    "-",
    "\u{2028}",
    "the quick brown fox jumps over",
];
const BYTES: &[u8] = b"\"\\{}[]:,u01eE+-. \tn\x00\x1f\x7f\x80\xc3\xff";

fn string(dice: &mut Dice, line: &mut String) {
    line.push('"');
    for _ in 0..dice.roll(12) {
        line.push_str(dice.one_of(&WORDS));
    }
    line.push('"');
}

fn value(dice: &mut Dice, line: &mut String, depth: usize) {
    match dice.roll(if depth > 4 { 5 } else { 9 }) {
        0 => line.push_str(dice.one_of(&["true", "false", "null", "{}", "[]", " [ ] "])),
        1 => line.push_str(dice.one_of(&[
            "0",
            "-0",
            "12",
            "1.5e+3",
            "1E400",
            "-7.25",
            "123456789012345678901234",
        ])),
        2..=4 => string(dice, line),
        5 | 6 => {
            line.push('[');
            for n in 0..dice.roll(5) {
                line.push_str(if n == 0 { "" } else { ", " });
                value(dice, line, depth + 1);
            }
            line.push(']');
        }
        _ => {
            line.push('{');
            for n in 0..dice.roll(5) {
                line.push_str(if n == 0 { "" } else { "," });
                string(dice, line);
                line.push_str(dice.one_of(&[":", ": ", " :"]));
                value(dice, line, depth + 1);
            }
            line.push('}');
        }
    }
}

#[test]
fn many_lines_are_read_as_serde_json_reads_them_in_both_ways() {
    let asked = std::env::var("SCAN_LINES").ok();
    let lines: u64 = asked.map_or(20_000, |lines| lines.parse().unwrap());
    let mut dice = Dice(0x2545_f491_4f6c_dd1d);
    let (mut valid, mut strings) = (0u64, 0u64);
    for number in 0..lines {
        let mut text = String::new();
        value(&mut dice, &mut text, 0);
        let mut line = text.into_bytes();
        for _ in 0..dice.roll(3) {
            let at = dice.roll(line.len());
            let byte = BYTES[dice.roll(BYTES.len())];
            match dice.roll(4) {
                0 => line.insert(at, byte),
                1 => drop(line.remove(at)),
                2 => line.truncate(at + 1),
                _ => line[at] = byte,
            }
            if line.is_empty() {
                line.push(b' ');
            }
        }
        // Start after every quote: where strings may begin, and in the middle of them.
        for start in memchr::memchr_iter(b'"', &line).map(|quote| quote + 1) {
            strings += 1;
            let mut odd = Anomalies::default();
            let expected = scan_scalar(&line, start, Bytes::of(&line), &mut odd);
            let wide = Wide::here();
            if let Some(end) = wide.and_then(|wide| wide.plain(&line, start)) {
                let plain = Text::plain(start, end);
                let text = expected.as_ref().map(|(text, _)| *text);
                assert_eq!(Ok(plain), text, "line {number}: {line:?}");
            }
            match (wide.and_then(|wide| wide.find(&line, start)), expected) {
                (Some(found), expected) => {
                    assert_eq!(Ok(found.text(start)), expected, "line {number}: {line:?}");
                    assert_eq!(
                        found.has_lone_surrogate,
                        !odd.is_empty(),
                        "line {number}: {line:?}"
                    );
                }
                (None, Ok(_)) => assert!(wide.is_none(), "line {number}: {line:?}"),
                (None, Err(_)) => {}
            }
        }
        let mut cursor = Cursor::new(&line);
        let read = cursor.skip().and_then(|_| cursor.end());
        if let Ok(text) = std::str::from_utf8(&line) {
            let expected = serde_json::from_str::<&RawValue>(text).is_ok();
            assert_eq!(read.is_ok(), expected, "line {number}: {text}");
            valid += u64::from(expected);
        }
    }
    assert!(
        valid > lines / 4 && strings > lines,
        "{valid} valid lines, {strings} strings"
    );
}
