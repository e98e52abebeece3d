//! Makes untrusted text safe for the places where a page contains it: elements, attributes, data. Also formats numbers that never
//! break across lines.
//!
//! Never writes markup of its own.

use std::io::{self, Write};

use crate::text::{printable, size, thousands};

const NO_BREAK: &str = "\u{a0}";

/// Untrusted text, escaped for an element or quotes.
pub(super) fn escaped(text: &str) -> String {
    let shown = printable(text);
    let mut out = String::with_capacity(shown.len());
    for c in shown.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
    out
}

/// `1 234`, which stays on one line.
pub(in crate::report) fn figure(n: u64) -> String {
    thousands(n).replace(' ', NO_BREAK)
}

/// `12.3 KiB`, which stays on one line.
pub(in crate::report) fn amount(bytes: u64) -> String {
    size(bytes).replace(' ', NO_BREAK)
}

/// A count with its noun, kept on one line up to the noun.
pub(in crate::report) fn amount_of(n: u64, noun: &str) -> String {
    format!(
        "{}{NO_BREAK}{noun}{}",
        figure(n),
        if n == 1 { "" } else { "s" }
    )
}

/// A sentence of ours whose numbers, such as `1 234`, stay on one line.
pub(in crate::report) fn unbroken(text: &str) -> String {
    let bytes = text.as_bytes();
    let digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
    let mut out = String::with_capacity(text.len());
    for (at, c) in text.char_indices() {
        let groups =
            c == ' ' && at > 0 && digit(at - 1) && (1..=3).all(|n| digit(at + n)) && !digit(at + 4);
        out.push_str(if groups {
            NO_BREAK
        } else {
            &text[at..at + c.len_utf8()]
        });
    }
    out
}

/// JSON for a `<script>` element with data: nothing in it can close the element or begin a comment, and it parses to the same
/// value.
pub(super) struct Inert<W>(pub(super) W);

impl<W: Write> Write for Inert<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // In JSON, these characters occur only in strings.
        let mut done = 0;
        for at in memchr::memchr3_iter(b'<', b'>', b'&', bytes) {
            self.0.write_all(&bytes[done..at])?;
            write!(self.0, "\\u{:04x}", bytes[at])?;
            done = at + 1;
        }
        self.0.write_all(&bytes[done..])?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}
