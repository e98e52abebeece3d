//! Functions on bytes that all detectors share: sets, runs, word boundaries, escapes.
//!
//! Never decides what is a secret.

use std::ops::Range;

/// A set of ASCII bytes that a token consists of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Set {
    /// `0-9a-f`, in either case.
    Hex,
    /// Letters and digits.
    Alnum,
    /// Upper-case letters and digits.
    Upper,
    /// Letters, digits, `_` and `-`.
    Word,
    /// [`Set::Word`] and the dot.
    Dotted,
    /// Both alphabets of base64, with padding, which may be percent-encoded.
    Base64,
    /// The characters of credentials in an `Authorization` header.
    Token68,
}

impl Set {
    /// The set with this name in `tokens.txt`.
    pub(super) fn named(name: &str) -> Option<Set> {
        Some(match name {
            "hex" => Set::Hex,
            "alnum" => Set::Alnum,
            "upper" => Set::Upper,
            "word" => Set::Word,
            "dotted" => Set::Dotted,
            "base64" => Set::Base64,
            _ => return None,
        })
    }

    pub(super) fn has(self, b: u8) -> bool {
        match self {
            Set::Hex => b.is_ascii_hexdigit(),
            Set::Alnum => b.is_ascii_alphanumeric(),
            Set::Upper => b.is_ascii_uppercase() || b.is_ascii_digit(),
            Set::Word => is_word(b),
            Set::Dotted => is_word(b) || b == b'.',
            Set::Base64 => is_word(b) || matches!(b, b'+' | b'/' | b'=' | b'%'),
            Set::Token68 => is_word(b) || matches!(b, b'+' | b'/' | b'=' | b'.' | b'~' | b':'),
        }
    }

    /// The number of consecutive bytes from `at` that are in the set; `most + 1` if there are more than `most`.
    pub(super) fn run(self, text: &[u8], at: usize, most: usize) -> usize {
        let rest = text.get(at..).unwrap_or_default();
        let rest = &rest[..rest.len().min(most + 1)];
        let mut len = rest.iter().take_while(|&&b| self.has(b)).count();
        // A percent sign belongs to base64 only if it encodes a base64 character.
        if self == Set::Base64
            && let Some(sign) = rest[..len]
                .iter()
                .enumerate()
                .position(|(i, &b)| b == b'%' && !writes_mark(&rest[i..]))
        {
            len = sign;
        }
        len
    }

    /// The number of consecutive bytes before `end` that are in the set, at most `most`.
    pub(super) fn run_back(self, text: &[u8], end: usize, most: usize) -> usize {
        let before = text.get(..end).unwrap_or_default();
        before
            .iter()
            .rev()
            .take(most)
            .take_while(|&&b| self.has(b))
            .count()
    }
}

fn writes_mark(escaped: &[u8]) -> bool {
    matches!(
        escaped,
        [b'%', b'2', b'B' | b'b' | b'F' | b'f', ..] | [b'%', b'3', b'D' | b'd', ..]
    )
}

/// Letters, digits, `_` and `-`.
pub(super) fn is_word(b: u8) -> bool {
    b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-')
}

/// Whether a token can begin at `at`: no letter or digit precedes it, unless that belongs to an escape (`\n`, `%3D`,
/// `\u001b`, a terminal's colour).
pub(super) fn begins(text: &[u8], at: usize) -> bool {
    let before = &text[..at];
    match before {
        // The letter of an escape does not begin a token.
        [.., b'\\'] if matches!(text.get(at), Some(b'n' | b't' | b'r' | b'b' | b'f' | b'u')) => {
            false
        }
        [.., b] if !b.is_ascii_alphanumeric() => true,
        [] => true,
        [.., b'\\', b'n' | b't' | b'r' | b'b' | b'f'] => true,
        [.., b'%', a, b] if a.is_ascii_hexdigit() && b.is_ascii_hexdigit() => true,
        _ => ends_terminal_escape(before) || at >= 6 && before[at - 6..at - 4] == *b"\\u",
    }
}

/// Whether a text ends with a terminal escape sequence: a colour (`[01;31m`), or any other after its escape character (`\x1b[K`).
fn ends_terminal_escape(text: &[u8]) -> bool {
    let [rest @ .., last] = text else {
        return false;
    };
    let is_parameter = |b: &&u8| b.is_ascii_digit() || **b == b';';
    let parameters = rest.iter().rev().take(8).take_while(is_parameter).count();
    let Some(before) = rest[..rest.len() - parameters].strip_suffix(b"[") else {
        return false;
    };
    let written: [&[u8]; 5] = [b"\x1b", b"\\u001b", b"\\x1b", b"\\033", b"\\e"];
    *last == b'm' || written.iter().any(|escape| before.ends_with(escape))
}

/// The end of the line that contains `at`: a real or escaped line end, at most `most` bytes after `at`.
pub(super) fn line_end(text: &[u8], at: usize, most: usize) -> usize {
    let limit = text.len().min(at.saturating_add(most));
    let mut i = at;
    while i < limit {
        match text[i] {
            b'\n' | b'\r' => return i,
            b'\\'
                if matches!(text.get(i + 1), Some(b'n' | b'r')) && text[i - 1.min(i)] != b'\\' =>
            {
                return i;
            }
            _ => i += 1,
        }
    }
    limit
}

/// The position after the spaces and tabs at `at`.
pub(super) fn skip_blanks(text: &[u8], at: usize) -> usize {
    let blanks = text[at..]
        .iter()
        .take(64)
        .take_while(|b| matches!(b, b' ' | b'\t'))
        .count();
    at + blanks
}

/// A quotation mark with the backslashes that escape it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Quote {
    mark: u8,
    slashes: usize,
    /// Where the quoted text begins.
    pub(super) inner: usize,
}

impl Quote {
    /// The quote at `at`.
    pub(super) fn at(text: &[u8], at: usize) -> Option<Quote> {
        let slashes = text
            .get(at..)?
            .iter()
            .take(16)
            .take_while(|&&b| b == b'\\')
            .count();
        let mark = *text.get(at + slashes)?;
        matches!(mark, b'"' | b'\'' | b'`').then_some(Quote {
            mark,
            slashes,
            inner: at + slashes + 1,
        })
    }

    /// The quoted text, if the quote is closed on the same line and within `most` bytes.
    pub(super) fn quoted(self, text: &[u8], most: usize) -> Option<Range<usize>> {
        let mut slashes = 0;
        let limit = text.len().min(self.inner + most);
        for (i, &b) in text[self.inner..limit].iter().enumerate() {
            match b {
                b'\\' => slashes += 1,
                b'\n' => return None,
                // Fewer backslashes: the string that contains this quote ends here.
                _ if b == self.mark && slashes < self.slashes => return None,
                // Pairs of backslashes before those of the quote are part of the quoted text.
                _ if b == self.mark && slashes % (2 * (self.slashes + 1)) == self.slashes => {
                    return Some(self.inner..self.inner + i - self.slashes);
                }
                _ => slashes = 0,
            }
        }
        None
    }
}
