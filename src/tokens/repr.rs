//! JSON as Python prints the value it represents: the `repr` of what `json.loads` returns.
//!
//! PURE. Duplicate keys in an object all stay, whereas Python keeps the last; a lone surrogate becomes one replacement character.

use std::fmt::Write;

use crate::scan::{string_end, unescape};

/// The text that Python prints for a valid JSON value, or for one with elements cut out.
pub(super) fn of_json(json: &[u8]) -> Vec<u8> {
    let mut out = String::with_capacity(json.len() + json.len() / 16);
    let mut at = 0;
    while let Some(&byte) = json.get(at) {
        let rest = &json[at..];
        let (shown, length) = match byte {
            b'"' => {
                let end = string_end(json, at + 1);
                push_string(
                    &mut out,
                    &String::from_utf8_lossy(&unescape(&json[at + 1..end])),
                );
                at = end + 1;
                continue;
            }
            b',' => (", ", 1),
            b':' => (": ", 1),
            b't' => ("True", 4),
            b'f' => ("False", 5),
            b'n' => ("None", 4),
            b'-' | b'0'..=b'9' => {
                let length = number(rest);
                push_number(&mut out, &String::from_utf8_lossy(&rest[..length]));
                at += length;
                continue;
            }
            b' ' | b'\t' | b'\r' | b'\n' => ("", 1),
            other => {
                out.push(char::from(other));
                at += 1;
                continue;
            }
        };
        out.push_str(shown);
        at += length;
    }
    out.into_bytes()
}

/// The length of the number at the start of `rest`.
pub(super) fn number(rest: &[u8]) -> usize {
    let is_of_number = |b: &&u8| matches!(b, b'-' | b'+' | b'.' | b'e' | b'E' | b'0'..=b'9');
    rest.iter().take_while(is_of_number).count()
}

/// The length of a number as Python prints it.
pub(super) fn number_len(written: &[u8]) -> u64 {
    if written.iter().all(u8::is_ascii_digit) {
        return written.len() as u64;
    }
    let mut out = String::new();
    push_number(&mut out, &String::from_utf8_lossy(written));
    out.len() as u64
}

/// Whether Python prints a character as it is; in a string with both kinds of quotes it escapes apostrophes, too.
pub(super) fn is_shown(c: char) -> bool {
    match c {
        '\\' => false,
        ' '..='~' => true,
        '\0'..'\u{a0}' => false,
        c => is_printable(c),
    }
}

/// The length of the escape of a character that Python does not print as it is.
pub(super) fn escape_len(c: char) -> u64 {
    match c {
        '\\' | '\n' | '\r' | '\t' => 2,
        '\0'..'\u{100}' => 4,
        '\u{100}'..'\u{10000}' => 6,
        _ => 10,
    }
}

fn push_number(out: &mut String, written: &str) {
    if !written.contains(['.', 'e', 'E']) {
        // Integers have no negative zero.
        out.push_str(if written == "-0" { "0" } else { written });
        return;
    }
    let Ok(number) = written.parse::<f64>() else {
        return out.push_str(written);
    };
    // The shortest digits that round-trip, and an exponent from 1e16 and below 1e-4: both languages agree.
    let shown = format!("{number:?}");
    match shown.split_once('e') {
        Some((digits, exponent)) => {
            let (sign, exponent) = match exponent.strip_prefix('-') {
                Some(exponent) => ('-', exponent),
                None => ('+', exponent),
            };
            // Writing to a string cannot fail.
            let _ = write!(out, "{digits}e{sign}{exponent:0>2}");
        }
        None => out.push_str(&shown),
    }
}

fn push_string(out: &mut String, text: &str) {
    let quote = if text.contains('\'') && !text.contains('"') {
        '"'
    } else {
        '\''
    };
    out.push(quote);
    for c in text.chars() {
        let code = u32::from(c);
        // Writing to a string cannot fail.
        let _ = match c {
            '\\' => out.write_str("\\\\"),
            '\n' => out.write_str("\\n"),
            '\r' => out.write_str("\\r"),
            '\t' => out.write_str("\\t"),
            c if c == quote => write!(out, "\\{c}"),
            ' '..='~' => out.write_char(c),
            c if is_printable(c) => out.write_char(c),
            _ if code < 0x100 => write!(out, "\\x{code:02x}"),
            _ if code < 0x1_0000 => write!(out, "\\u{code:04x}"),
            _ => write!(out, "\\U{code:08x}"),
        };
    }
    out.push(quote);
}

/// Whether Python prints a non-ASCII character as it is: it is not a control, separator, private-use or unassigned character.
#[inline]
pub(super) fn is_printable(c: char) -> bool {
    let code = u32::from(c);
    let sixteen = COMMON.get(code as usize >> 4);
    sixteen.is_some_and(|whole| *whole) || is_common(code) || is_printable_elsewhere(c)
}

/// The same by the tables of the standard library, which are far slower: Rust escapes the same characters, and combining marks at
/// the beginning of a text.
#[cold]
fn is_printable_elsewhere(c: char) -> bool {
    if c.is_alphanumeric() || c.escape_debug().next() == Some(c) {
        return true;
    }
    let mut behind = String::from("x");
    behind.push(c);
    behind.escape_debug().nth(1) == Some(c)
}

/// For each block of 16 code points in the basic plane, whether all of it is printed.
static COMMON: [bool; 1 << 12] = {
    let mut all = [false; 1 << 12];
    let mut at = 0;
    while at < 1 << 16 {
        let (mut n, mut is_whole) = (0, true);
        while n < 16 {
            is_whole &= is_common(at + n);
            n += 1;
        }
        all[at as usize >> 4] = is_whole;
        at += 16;
    }
    all
};

/// The length of the character at the start of UTF-8 text, if it is not ASCII and among the blocks that are printed as they are.
#[inline]
pub(super) fn common_len(text: &[u8]) -> Option<usize> {
    let (block, len) = match *text {
        [a @ 0xc0..0xe0, b, ..] => (usize::from(a & 0x1f) << 2 | usize::from(b >> 4 & 3), 2),
        [a @ 0xe0..0xf0, b, c, ..] => (
            usize::from(a & 0x0f) << 8 | usize::from(b & 0x3f) << 2 | usize::from(c >> 4 & 3),
            3,
        ),
        _ => return None,
    };
    COMMON[block].then_some(len)
}

/// Whether a character is in a range that is printed in full.
const fn is_common(c: u32) -> bool {
    matches!(
        c,
        0xa1..=0xac
            | 0xae..=0x377
            | 0x3a3..=0x52f
            | 0x2010..=0x2027
            | 0x2030..=0x205e
            | 0x2190..=0x23ff
            | 0x2460..=0x2b73
            | 0x3001..=0x303f
            | 0x3041..=0x3096
            | 0x3099..=0x30ff
            | 0x3400..=0x9fff
            | 0xac00..=0xd7a3
            | 0xfe00..=0xfe0f
            | 0xff01..=0xffbe
            | 0x1f300..=0x1f64f
            | 0x1f680..=0x1f6c5
            | 0x1f900..=0x1f9ff
            | 0x20000..=0x2a6df
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_that_are_printed_whole_are_printable() {
        for c in ('\0'..=char::MAX).filter(|c| is_common(u32::from(*c))) {
            let mut behind = String::from("x");
            behind.push(c);
            assert_eq!(behind.escape_debug().nth(1), Some(c), "{:x}", u32::from(c));
        }
    }

    /// JSON, and what Python 3 prints for it.
    #[test]
    fn values_are_printed_as_python_does() {
        for (json, python) in [
            (
                r#"{"role": "user","content":"hi"}"#,
                "{'role': 'user', 'content': 'hi'}",
            ),
            (
                "[1,-2, 0,-0,10000000000000000000000]",
                "[1, -2, 0, 0, 10000000000000000000000]",
            ),
            ("[true,false,null,[],{}]", "[True, False, None, [], {}]"),
            (
                "[1.0,-0.0,0.1,1.50,1e5,123456789.125]",
                "[1.0, -0.0, 0.1, 1.5, 100000.0, 123456789.125]",
            ),
            (
                "[1e15,1e16,1.5E+300,0.0001,0.00001,1e400]",
                "[1000000000000000.0, 1e+16, 1.5e+300, 0.0001, 1e-05, inf]",
            ),
            (r#""it's""#, r#""it's""#),
            (r#""say \"it's\"""#, r#"'say "it\'s"'"#),
            (
                r#""a\\b\n\r\t\u0000\u001b\u007f\/""#,
                r"'a\\b\n\r\t\x00\x1b\x7f/'",
            ),
            (r#""hé 世 🎉 \ud83c\udf89""#, "'hé 世 🎉 🎉'"),
            (
                r#""\u00a0\u00ad\u200b\u2028\u3000\ufeff\ue000""#,
                r"'\xa0\xad\u200b\u2028\u3000\ufeff\ue000'",
            ),
            (r#""e\u0301 \u20dd""#, "'e\u{301} \u{20dd}'"),
            (r#""\udb40\udc01""#, r"'\U000e0001'"),
        ] {
            let shown = String::from_utf8(of_json(json.as_bytes())).unwrap();
            assert_eq!(shown, python, "{json}");
        }
        // With an element cut out.
        assert_eq!(of_json(br#"[{"a":1},]"#), b"[{'a': 1}, ]");
    }
}
