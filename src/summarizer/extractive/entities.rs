//! The names in a text: paths, symbols, addresses, ids, errors, flags, numbers.
//!
//! Later steps of an agent refer to these names, so a summary is measured by the names that it covers. A hand-written pass over the
//! bytes for speed, because it processes every byte of a transcript. Names are ASCII; the text around them may be in any language.

use crate::scan::in_ranges;

/// The kind of thing that a name refers to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::summarizer) enum Class {
    Path,
    Symbol,
    Url,
    Id,
    Error,
    Flag,
    Number,
}

/// The kinds of bytes that a name may contain; 0 for all others.
const IN_NAMES: [u8; 256] = {
    let mut table = [0; 256];
    let mut b = 0;
    while b < 256 {
        let c = b as u8;
        table[b] = match c {
            b'a'..=b'z' => LOWER,
            b'A'..=b'Z' => UPPER,
            b'0'..=b'9' => DIGIT,
            b':' => COLON,
            b'/' => SLASH,
            b'_' | b'.' => JOINS,
            b'-' | b'#' | b'@' | b'~' | b'+' => OTHER,
            _ => 0,
        };
        b += 1;
    }
    table
};

const LOWER: u8 = 1;
const UPPER: u8 = 1 << 1;
const DIGIT: u8 = 1 << 2;
const COLON: u8 = 1 << 3;
const SLASH: u8 = 1 << 4;
const JOINS: u8 = 1 << 5;
const OTHER: u8 = 1 << 6;

/// Whether a cut before this character could make a part of a name look like a name.
pub(super) fn is_in_names(c: char) -> bool {
    // Scripts without blanks between words can be cut anywhere.
    u8::try_from(c).map_or(c.is_alphanumeric() && c < '\u{2e80}', |b| {
        IN_NAMES[usize::from(b)] != 0 || c.is_alphanumeric()
    })
}

/// Whether the bytes around a place in a text may belong to one name.
pub(super) fn is_within_word(text: &str, at: usize) -> bool {
    let bytes = text.as_bytes();
    let is_one = |at: usize| {
        bytes
            .get(at)
            .is_some_and(|b| IN_NAMES[usize::from(*b)] != 0)
    };
    at > 0 && is_one(at - 1) && is_one(at)
}

/// The bytes of names that are no lower-case letters, as ranges: the same as in [`IN_NAMES`].
const SIGNS: [(u8, u8); 6] = [
    (b'-', b':'),
    (b'@', b'Z'),
    (b'_', b'_'),
    (b'#', b'#'),
    (b'+', b'+'),
    (b'~', b'~'),
];
const LETTERS: [(u8, u8); 1] = [(b'a', b'z')];
/// Bytes looked at in one step.
const BLOCK: usize = 64;

/// Calls `found` with each name in `text` in order, repeated ones included.
pub(super) fn scan<'t>(text: &'t str, mut found: impl FnMut(Class, &'t str)) {
    let bytes = text.as_bytes();
    let mut has_paths = None;
    each_word(bytes, |start, end| {
        let length = end - start;
        if length < 3 && !(length == 2 && bytes[start] == b'#') {
            return;
        }
        // ASCII bytes are characters of their own.
        let name = &text[start..end];
        let kinds = kinds_of(name);
        match escaped(bytes, start) {
            Escaped::No => token(name, kinds, &mut found),
            Escaped::Yes => token(&name[1..], kinds, &mut found),
            Escaped::Perhaps => {
                if !*has_paths.get_or_insert_with(|| has_paths_of_windows(bytes)) {
                    token(&name[1..], kinds, &mut found);
                }
            }
        }
    });
}

/// Calls `found` with the start and the end of each run of bytes that may be in names, if not all of them are lower-case letters:
/// most words are, and none of those is a name.
fn each_word(bytes: &[u8], mut found: impl FnMut(usize, usize)) {
    // The run that the last block ended in, if any: where it begins, and whether it has a sign.
    let mut open: Option<(usize, bool)> = None;
    let (blocks, rest) = bytes.as_chunks::<BLOCK>();
    let mut last = [0; BLOCK];
    last[..rest.len()].copy_from_slice(rest);
    // The last block ends with a byte of no name, which ends the last run; without a rest, it is nothing else.
    for (block, base) in blocks.iter().chain([&last]).zip((0..).step_by(BLOCK)) {
        let mut signs = in_ranges(block, &SIGNS);
        let gaps = !(signs | in_ranges(block, &LETTERS));
        if let Some((start, had_sign)) = open.take() {
            let length = gaps.trailing_zeros();
            let has_sign = had_sign || signs & !from(length) != 0;
            if length == u64::BITS {
                open = Some((start, has_sign));
                continue;
            }
            if has_sign {
                found(start, base + length as usize);
            }
            signs &= from(length);
        }
        while signs != 0 {
            let sign = signs.trailing_zeros();
            // One past the last gap before the sign.
            let start = u64::BITS - (gaps & !from(sign)).leading_zeros();
            let end = (gaps & from(sign)).trailing_zeros();
            if end == u64::BITS {
                break;
            }
            found(base + start as usize, base + end as usize);
            signs &= from(end);
        }
        let length = gaps.leading_zeros() as usize;
        open = (length > 0).then_some((base + BLOCK - length, signs != 0));
    }
}

/// The bits from this one on.
fn from(bit: u32) -> u64 {
    u64::MAX.checked_shl(bit).unwrap_or(0)
}

/// Whether the first letter of a token belongs to an escape such as `\n`, in a text that is source or JSON itself.
enum Escaped {
    No,
    Yes,
    /// `a\next_line` has a line break, or is a Windows path if the text has others.
    Perhaps,
}

fn escaped(bytes: &[u8], start: usize) -> Escaped {
    let is_letter = |b: u8| matches!(b, b'n' | b't' | b'r');
    if start == 0 || bytes[start - 1] != b'\\' || !is_letter(bytes[start]) {
        return Escaped::No;
    }
    // The text before it and any preceding escapes.
    let mut before = &bytes[..start - 1];
    while let [rest @ .., b'\\', letter] = before
        && is_letter(*letter)
    {
        before = rest;
    }
    match before.last() {
        None | Some(b'\\' | b':' | b'.' | b'_' | b'-') => Escaped::Perhaps,
        Some(b) if b.is_ascii_alphanumeric() => Escaped::Perhaps,
        Some(_) => Escaped::Yes,
    }
}

/// Whether a text may have Windows paths: a drive, or a backslash before a letter that no escape in strings or patterns uses.
fn has_paths_of_windows(bytes: &[u8]) -> bool {
    const OF_ESCAPES: &[u8] = b"ntrbfvuxUNdDwWsSBzZAaeGkpPcqhH";
    let is_drive = |part: &[u8]| match part {
        [drive, b':', b'\\', next] => {
            drive.is_ascii_alphabetic() && (*next == b'\\' || next.is_ascii_alphanumeric())
        }
        _ => false,
    };
    let is_folder = |pair: &[u8]| match pair {
        [b'\\', b] => b.is_ascii_alphabetic() && !OF_ESCAPES.contains(b),
        _ => false,
    };
    bytes.windows(4).any(is_drive) || bytes.windows(2).any(is_folder)
}

/// Calls `found` with the names in a token that has bytes of exactly these kinds.
fn token<'t>(token: &'t str, kinds: u8, found: &mut impl FnMut(Class, &'t str)) {
    let whole = token;
    let mut token = without_end(token);
    let kinds = match token.len() < whole.len() {
        true => kinds_of(token),
        false => kinds,
    };
    // A word at the end of a sentence.
    if kinds == LOWER {
        return;
    }
    let has = |kind: u8| kinds & kind != 0;
    if has(COLON) && has(SLASH) && token.as_bytes().windows(3).any(|part| part == b"://") {
        found(Class::Url, token);
        return;
    }
    if has(COLON | OTHER) {
        token = without_first(token, |b| matches!(b, b':' | b'@' | b'+'));
    }
    if has(COLON) {
        token = without_position(token);
    }
    if has(SLASH) && token.contains('/') {
        let mut path = token;
        while let Some(rest) = path.strip_prefix("./") {
            path = rest;
        }
        if is_path(path) {
            found(Class::Path, path);
        } else {
            // Words around a slash, as in `a/b`.
            for part in token.split('/') {
                if let Some(class) = class(part, kinds) {
                    found(class, part);
                }
            }
        }
        return;
    }
    if has(JOINS | OTHER) && !token.starts_with("--") {
        token = without_first(token, |b| matches!(b, b'.' | b'-' | b'~'));
    }
    let class = class(token, kinds);
    if class == Some(Class::Number) && has(COLON | OTHER) && !is_time_of(token) {
        // Several numbers, as in `12.5-340`.
        for part in token.split(|c: char| !c.is_ascii_alphanumeric() && c != '.') {
            if let Some(class) = self::class(part.trim_matches('.'), kinds) {
                found(class, part.trim_matches('.'));
            }
        }
    } else if let Some(class) = class {
        found(class, token);
    }
}

/// A token without the marks at its beginning.
fn without_first(token: &str, is_mark: impl Fn(u8) -> bool) -> &str {
    let marks = token.bytes().take_while(|b| is_mark(*b)).count();
    &token[marks..]
}

/// A token without the marks that sentences and lists put after a name.
fn without_end(token: &str) -> &str {
    let is_mark = |b: &u8| matches!(b, b'.' | b':' | b'-' | b'/' | b'#' | b'+' | b'@' | b'~');
    let marks = token.bytes().rev().take_while(is_mark).count();
    &token[..token.len() - marks]
}

/// The kinds of bytes in a token.
fn kinds_of(token: &str) -> u8 {
    let kinds = token.bytes().map(|b| IN_NAMES[usize::from(b)]);
    kinds.fold(0, |all, kind| all | kind)
}

/// Whether a number is a date or a time, which stays whole.
fn is_time_of(token: &str) -> bool {
    let bytes = token.as_bytes();
    let digits = bytes.iter().filter(|b| b.is_ascii_digit()).count();
    let letters = bytes.iter().filter(|b| b.is_ascii_alphabetic()).count();
    is_time(bytes, digits, letters)
}

/// A path without the line and column that tools append.
fn without_position(token: &str) -> &str {
    let mut token = token;
    // A quick test: most names end with a letter.
    while token.ends_with(|c: char| c.is_ascii_digit() || c == ':')
        && let Some((before, after)) = token.rsplit_once(':')
        && !before.is_empty()
        && after.bytes().all(|b| b.is_ascii_digit())
    {
        token = before;
    }
    token
}

/// At least two slashes, or an extension.
fn is_path(token: &str) -> bool {
    let bytes = token.as_bytes();
    let mut kinds = 0;
    let mut slashes = 0;
    // One past the last dot after the last slash.
    let mut extension = None;
    for (at, byte) in bytes.iter().enumerate() {
        kinds |= IN_NAMES[usize::from(*byte)];
        match byte {
            b'/' => (slashes, extension) = (slashes + 1, None),
            b'.' => extension = Some(at + 1),
            _ => {}
        }
    }
    let has_extension = extension.is_some_and(|at| matches!(bytes.len() - at, 1..=5));
    let has_letter = kinds & (LOWER | UPPER) != 0;
    has_letter && bytes.len() >= 4 && (slashes >= 2 || has_extension)
}

/// The class of a token without slashes that has bytes of these kinds.
fn class(token: &str, kinds: u8) -> Option<Class> {
    let bytes = token.as_bytes();
    if let Some(flag) = token.strip_prefix("--") {
        let begins_a_word = flag.starts_with(|c: char| c.is_ascii_alphabetic());
        return (begins_a_word && flag.len() >= 2).then_some(Class::Flag);
    }
    // Words, with hyphens or without.
    if kinds & !(LOWER | OTHER) == 0 {
        return None;
    }
    // Words with capitals: the larger part of what comes here.
    if kinds & !(LOWER | UPPER) == 0 {
        return match bytes.len() >= 5 && kinds == LOWER | UPPER {
            true => long_word(token, kinds),
            false => None,
        };
    }
    if kinds & DIGIT == 0 {
        let is_letter = |b: &&u8| b.is_ascii_alphabetic();
        let has_letters = bytes.iter().filter(is_letter).nth(1).is_some();
        return match has_letters && bytes.len() >= 5 && bytes[0] != b'#' {
            true => long_word(token, kinds),
            false => None,
        };
    }
    let (mut digits, mut letters) = (0, 0);
    for byte in bytes {
        let kind = IN_NAMES[usize::from(*byte)];
        digits += usize::from(kind & DIGIT != 0);
        letters += usize::from(kind & (LOWER | UPPER) != 0);
    }
    if let Some(number) = token.strip_prefix('#') {
        return (!number.is_empty() && digits == number.len()).then_some(Class::Id);
    }
    if letters <= 1 {
        let is_version = digits >= 2 && bytes.contains(&b'.');
        return (digits >= 3 || is_version).then_some(Class::Number);
    }
    if is_id(token, digits, letters) {
        return Some(Class::Id);
    }
    if is_time(bytes, digits, letters) {
        return Some(Class::Number);
    }
    match bytes.len() >= 5 {
        true => long_word(token, kinds),
        false => None,
    }
}

/// The class of a word of at least five bytes with signs in it.
fn long_word(token: &str, kinds: u8) -> Option<Class> {
    match kinds & UPPER != 0 && is_error(token) {
        true => Some(Class::Error),
        false => is_symbol(token.as_bytes()).then_some(Class::Symbol),
    }
}

/// The name of a kind of error.
fn is_error(token: &str) -> bool {
    const ENDS: [&str; 3] = ["Error", "Exception", "Warning"];
    // A quick test: most names end with another letter.
    matches!(token.as_bytes().last(), Some(b'r' | b'n' | b'g'))
        && ENDS.iter().any(|end| token.ends_with(end))
}

/// A hash, a UUID, or a number of an issue tracker.
fn is_id(token: &str, digits: usize, letters: usize) -> bool {
    if digits == 0 {
        return false;
    }
    let bytes = token.as_bytes();
    let dashes = bytes.iter().filter(|b| **b == b'-').count();
    let is_hex = bytes
        .iter()
        .all(|b| b.is_ascii_digit() || matches!(b, b'a'..=b'f' | b'-'));
    if is_hex && (dashes == 0 && matches!(bytes.len(), 7..=40) || dashes == 4 && bytes.len() == 36)
    {
        return true;
    }
    let is_numbered = |(name, number): (&str, &str)| {
        let is_upper = name.bytes().all(|b| b.is_ascii_uppercase());
        is_upper && name.len() == letters && number.len() == digits
    };
    token.split_once('-').is_some_and(is_numbered)
}

/// A date and time, as in `2026-03-01T14:00:00.5Z`.
fn is_time(bytes: &[u8], digits: usize, letters: usize) -> bool {
    let marks = || bytes.iter().filter(|b| matches!(b, b'T' | b'Z')).count();
    bytes.starts_with(b"2") && digits >= 8 && letters == marks()
}

/// With dots, colons, underscores or capitals between letters.
fn is_symbol(bytes: &[u8]) -> bool {
    bytes.windows(2).any(|pair| match pair {
        [a, b'_' | b'.' | b':'] => a.is_ascii_alphanumeric() && bytes.last() != Some(&pair[1]),
        [b'_', b] => b.is_ascii_alphanumeric(),
        [a, b] => a.is_ascii_lowercase() && b.is_ascii_uppercase(),
        _ => false,
    })
}

#[cfg(test)]
mod tests;
