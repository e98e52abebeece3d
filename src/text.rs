//! Text functions that several modules share: safe display, JSON strings, numbers for people.
//!
//! PURE. Trusts no input: a transcript's text may contain control characters.

use std::borrow::Cow;
use std::io::{self, Write};
use std::path::Path;

/// `text`, safe for a table, a page or a message: characters that could control the display become `\u{…}`; a tab or a line break
/// becomes a space, so that one record stays on one line. If a CI system would run the text as a command at the start of a line,
/// its first character is escaped too.
pub fn printable(text: &str) -> Cow<'_, str> {
    let is_command = commands_ci(text);
    if !is_command && !text.chars().any(controls_display) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    let mut rest = text;
    if is_command {
        rest = text.trim_start();
        let first = rest.chars().next();
        out.extend(first.into_iter().flat_map(char::escape_unicode));
        rest = &rest[first.map_or(0, char::len_utf8)..];
    }
    for c in rest.chars() {
        match c {
            '\t' | '\n' | '\r' => out.push(' '),
            c if controls_display(c) => out.extend(c.escape_unicode()),
            c => out.push(c),
        }
    }
    Cow::Owned(out)
}

/// Whether GitHub Actions or Azure Pipelines would run the text as a command if a log line began with it, with or without leading
/// blanks.
fn commands_ci(text: &str) -> bool {
    let text = text.trim_start();
    text.starts_with("::") || text.starts_with("##[") || text.starts_with("##vso[")
}

/// A file's name for people: tabs and line breaks are shown as escapes, because as spaces they would make it look like the name of
/// another file. The result still has to go through [`printable`].
pub fn shown_name(name: &str) -> Cow<'_, str> {
    let breaks = ['\t', '\n', '\r'];
    if !name.contains(breaks) {
        return Cow::Borrowed(name);
    }
    let mut out = String::with_capacity(name.len() + 16);
    for c in name.chars() {
        match breaks.contains(&c) {
            true => out.extend(c.escape_unicode()),
            false => out.push(c),
        }
    }
    Cow::Owned(out)
}

/// A path for messages and reports. Each byte that is not valid UTF-8 becomes `\xFF`, so that different names look different.
pub fn shown_path(path: &Path) -> String {
    if let Some(text) = path.to_str() {
        return text.to_owned();
    }
    let mut text = String::new();
    for chunk in path.as_os_str().as_encoded_bytes().utf8_chunks() {
        text.push_str(chunk.valid());
        for byte in chunk.invalid() {
            text.push_str(&format!("\\x{byte:02X}"));
        }
    }
    text
}

/// `json`, safe to display: characters that could control the display become `\uXXXX`, so that it still parses to the same value.
/// Line breaks stay: in JSON, they occur only between tokens.
pub fn printable_json(json: &str) -> Cow<'_, str> {
    // Most pieces are ASCII. Without an early exit, the loop can be vectorised.
    let is_plain = |b: u8| (b == b'\n') | (b' '..=b'~').contains(&b);
    if json.bytes().fold(true, |plain, b| plain & is_plain(b)) {
        return Cow::Borrowed(json);
    }
    let needs_escape = |c: char| c != '\n' && controls_display(c);
    if !json.chars().any(needs_escape) {
        return Cow::Borrowed(json);
    }
    let mut out = String::with_capacity(json.len() + 16);
    for c in json.chars() {
        if needs_escape(c) {
            // All such characters are inside strings.
            for unit in c.encode_utf16(&mut [0; 2]) {
                out.push_str(&format!("\\u{unit:04x}"));
            }
        } else {
            out.push(c);
        }
    }
    Cow::Owned(out)
}

/// Writes JSON through [`printable_json`]. Each write must contain whole characters, as serde_json's writes do.
#[derive(Debug)]
pub struct PrintableJson<W>(pub W);

impl<W: Write> Write for PrintableJson<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let text = std::str::from_utf8(bytes)
            .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
        self.0.write_all(printable_json(text).as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// Whether `c` could control a terminal, or change the order or the line breaks of the text around it: C0 and C1 controls, DEL,
/// bidirectional marks, embeddings, overrides and isolates, and Unicode's line and paragraph separators. Also whether it is
/// invisible, so that two different texts would look the same; joiners of letters and emoji are exempt.
fn controls_display(c: char) -> bool {
    c.is_control()
        || matches!(
            c,
            '\u{ad}'
                | '\u{61c}'
                | '\u{180e}'
                | '\u{200b}'
                | '\u{2060}'
                | '\u{feff}'
                | '\u{e0000}'..='\u{e007f}'
                | '\u{200e}'
                | '\u{200f}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2066}'..='\u{2069}'
        )
}

/// Puts JSON on one line: its line breaks, which can only occur between tokens, become spaces.
pub fn put_on_one_line(json: &mut [u8]) {
    for byte in json {
        if matches!(byte, b'\n' | b'\r') {
            *byte = b' ';
        }
    }
}

/// Appends `text` as a quoted JSON string, escaping only what JSON requires.
pub fn push_json_string(out: &mut Vec<u8>, text: &str) {
    out.push(b'"');
    let bytes = text.as_bytes();
    let mut done = 0;
    for (i, &b) in bytes.iter().enumerate() {
        let short: &[u8] = match b {
            b'"' => b"\\\"",
            b'\\' => b"\\\\",
            b'\n' => b"\\n",
            b'\r' => b"\\r",
            b'\t' => b"\\t",
            0x08 => b"\\b",
            0x0c => b"\\f",
            0x00..0x20 => b"",
            _ => continue,
        };
        out.extend_from_slice(&bytes[done..i]);
        if short.is_empty() {
            out.extend_from_slice(format!("\\u{b:04x}").as_bytes());
        } else {
            out.extend_from_slice(short);
        }
        done = i + 1;
    }
    out.extend_from_slice(&bytes[done..]);
    out.push(b'"');
}

/// `1234567` as `1 234 567`.
pub fn thousands(n: u64) -> String {
    let digits = n.to_string();
    if digits.len() <= 3 {
        return digits;
    }
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, c) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(' ');
        }
        out.push(c);
    }
    out
}

/// A size in bytes as `812 B` or `12.3 KiB`.
pub fn size(bytes: u64) -> String {
    if bytes < 1024 {
        return format!("{bytes} B");
    }
    // In tenths of a unit, rounded; a value that would show as 1024.0 takes the next unit.
    const UNITS: [&str; 6] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    let tenths = |unit: usize| {
        let divisor = 1024 << (10 * unit);
        (u128::from(bytes) * 10 + divisor / 2) / divisor
    };
    let unit = (0..5).find(|&unit| tenths(unit) < 10_240).unwrap_or(5);
    let tenths = tenths(unit);
    format!("{}.{} {}", tenths / 10, tenths % 10, UNITS[unit])
}

/// A count with its noun: `1 file`, `2 files`.
pub fn count(n: u64, noun: &str) -> String {
    let mut out = thousands(n);
    // A plural, and a few words that a caller may add.
    out.reserve(noun.len() + 16);
    out.push(' ');
    out.push_str(noun);
    if n != 1 {
        out.push('s');
    }
    out
}

/// The candidate nearest to `word` by edit distance, if one is near enough for `word` to be a typo. For a short word, two edits are
/// already most of its letters.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let length = word.chars().count();
    let limit = (length / 3).max(2);
    candidates
        .into_iter()
        .map(|c| (distance(word, c), c))
        .filter(|(d, c)| *d <= limit && *d * 2 <= length.min(c.chars().count()))
        .min_by_key(|(d, _)| *d)
        .map(|(_, c)| c)
}

/// Levenshtein distance in characters.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, ca) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, cb) in b.iter().enumerate() {
            let above = row[j + 1];
            row[j + 1] = (diagonal + usize::from(ca != *cb))
                .min(above + 1)
                .min(row[j] + 1);
            diagonal = above;
        }
    }
    row[b.len()]
}

/// The last character boundary at or before `at`.
pub fn floor_boundary(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// The parts of a text between line breaks, as `split` gives them: faster for long texts.
pub fn split_lines(text: &str) -> impl Iterator<Item = &str> {
    let breaks = memchr::memchr_iter(b'\n', text.as_bytes());
    let mut start = 0;
    breaks.chain([text.len()]).map(move |end| {
        let line = &text[start..end];
        start = end + 1;
        line
    })
}

/// The first character boundary at or after `at`.
pub fn ceil_boundary(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at += 1;
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_strings_are_what_serde_json_reads_back() {
        for text in [
            "",
            "plain",
            "a\"b\\c\n\r\t\u{8}\u{c}\u{1}\u{1f}\u{7f}é世🎉\u{2028}",
        ] {
            let mut out = Vec::new();
            push_json_string(&mut out, text);
            assert_eq!(serde_json::from_slice::<String>(&out).unwrap(), text);
            assert_eq!(out, serde_json::to_vec(text).unwrap());
        }
    }

    #[test]
    fn nothing_that_controls_a_terminal_gets_through() {
        assert_eq!(printable("plain é世"), "plain é世");
        assert_eq!(
            printable("a\u{1b}[31mb\nc\u{9b}\u{202e}\u{61c}\u{2028}"),
            "a\\u{1b}[31mb c\\u{9b}\\u{202e}\\u{61c}\\u{2028}"
        );
        // Invisible characters; those that join emoji stay.
        assert_eq!(
            printable("a\u{200b}b\u{feff}\u{e0041}👩\u{200d}💻"),
            "a\\u{200b}b\\u{feff}\\u{e0041}👩\u{200d}💻"
        );
    }

    #[test]
    fn no_line_of_a_log_is_a_command() {
        assert_eq!(printable("::error::x"), "\\u{3a}:error::x");
        assert_eq!(printable(" \t##[error]x"), "\\u{23}#[error]x");
        assert_eq!(printable("a::b ##[c]"), "a::b ##[c]");
    }

    #[test]
    fn names_that_differ_look_different() {
        let shown = |name| printable(&shown_name(name)).into_owned();
        assert_eq!(shown("new line.jsonl"), "new line.jsonl");
        assert_eq!(shown("new\nline.jsonl"), "new\\u{a}line.jsonl");
        assert_eq!(shown("a\tb\r\u{1b}"), "a\\u{9}b\\u{d}\\u{1b}");
    }

    #[test]
    fn printable_json_parses_to_the_same_value() {
        let json = "{\n  \"a\": \"\u{7f}\u{9b}\u{202e}\u{e9}\"\n}";
        let shown = printable_json(json);
        assert_eq!(shown, "{\n  \"a\": \"\\u007f\\u009b\\u202e\u{e9}\"\n}");
        let read = |json: &str| serde_json::from_str::<serde_json::Value>(json).unwrap();
        assert_eq!(read(&shown), read(json));
    }

    #[test]
    fn nearest_finds_typos_and_nothing_else() {
        assert_eq!(
            nearest("claer.keep", ["clear.keep", "demote.text"]),
            Some("clear.keep")
        );
        assert_eq!(nearest("xyzzy", ["clear.keep"]), None);
        assert_eq!(nearest("nope", ["np"]), None);
        assert_eq!(nearest("nope", ["node"]), Some("node"));
    }

    #[test]
    fn numbers_for_people() {
        assert_eq!(thousands(0), "0");
        assert_eq!(thousands(1_234_567), "1 234 567");
        assert_eq!(count(1, "file"), "1 file");
        assert_eq!(count(1200, "file"), "1 200 files");
    }
}
