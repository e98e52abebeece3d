//! Finds a value assigned to a name that suggests a secret: `name = value` in code, settings, queries, headers, XML and flags.
//!
//! Never judges names or values by itself: [`name`](super::name) and [`value`](super::value) do.

use std::ops::Range;

use super::Found;
use super::bytes::{Quote, Set, is_word, skip_blanks};
use super::kind::Kind;
use super::name::{Name, NameContext, Noun};
use super::value::{self, Setting};

/// The maximum number of bytes of a name that are examined; more would not help.
const MAX_NAME: usize = 96;

/// The maximum length of a value, in bytes.
const MAX_VALUE: usize = 4096;

/// Examines the name that contains `anchor`. The search continues within the value, whose form may also be recognised.
pub(super) fn find(text: &[u8], anchor: Range<usize>, found: &mut Vec<Found>) -> usize {
    let end = anchor.end + Set::Word.run(text, anchor.end, MAX_NAME).min(MAX_NAME);
    // Most names are only used, not assigned to: the search ends here for these.
    if !matches!(
        text.get(end),
        Some(
            b'=' | b':'
                | b'"'
                | b'\''
                | b'`'
                | b'\\'
                | b' '
                | b'\t'
                | b'>'
                | b'('
                | b'%'
                | b'?'
                | b'|'
                | b'\n'
                | b'\r'
                | b'*'
        )
    ) {
        return end;
    }
    let start = name_start(text, anchor.start);
    let start = first_word(text, start, end);
    // `AWS::IAM::AccessKey`, `Error::Password`: the name of a type.
    if text[..start].ends_with(b"::") {
        return end;
    }
    let context = match text[..start] {
        [.., b'?' | b'&'] => NameContext::Query,
        [.., b'&', b'a', b'm', b'p', b';'] => NameContext::Query,
        _ => NameContext::Text,
    };
    let Some(name) = Name::of(&text[start..end], context) else {
        return end;
    };
    let Some((range, setting)) = assigned_value(text, start, end, context) else {
        return end;
    };
    let value = &text[range.clone()];
    if accepts(name.noun, value, setting) {
        let kind = match name.kind {
            // A value named as an access key may be the key's id, and vice versa.
            Kind::AwsSecretKey if value.len() != 40 => Kind::Secret,
            kind => kind,
        };
        found.push(Found { range, kind });
    }
    end
}

/// The start of the name that contains `at`.
fn name_start(text: &[u8], at: usize) -> usize {
    let mut start = at;
    while start > 0
        && at - start < MAX_NAME
        && (is_word(text[start - 1]) || text[start - 1] == b'.')
    {
        start -= 1;
    }
    // The letter of an escape is not part of the name.
    if start > 0 && text[start - 1] == b'\\' && start < at {
        start += 1;
    }
    start
}

/// The start of a two-word name: `API key`, `secret key`.
fn first_word(text: &[u8], start: usize, end: usize) -> usize {
    let single = text[start..end].eq_ignore_ascii_case(b"key") && text[..start].ends_with(b" ");
    let before = &text[..start.saturating_sub(1)];
    let word = ["api", "access", "secret", "private"].iter().find(|word| {
        let at = before.len().checked_sub(word.len());
        at.is_some_and(|at| before[at..].eq_ignore_ascii_case(word.as_bytes()))
    });
    match word {
        Some(word) if single => before.len() - word.len(),
        _ => start,
    }
}

fn accepts(noun: Noun, value: &[u8], setting: Setting) -> bool {
    match noun {
        Noun::Password => {
            value::is_chosen(value, setting) || value::is_machine_made(value, setting)
        }
        Noun::Strong => {
            value::is_machine_made(value, setting)
                || setting == Setting::Literal && value::is_short_key(value)
        }
        Noun::Weak => {
            value::is_machine_made(value, setting)
                && !value::is_uuid(value)
                && !is_digest(value, setting)
        }
    }
}

/// Whether a value with a vague name may just as well be a checksum.
fn is_digest(value: &[u8], setting: Setting) -> bool {
    setting == Setting::Bare && value::is_hex(value)
}

/// The value that is assigned to the name, and how it is written.
fn assigned_value(
    text: &[u8],
    start: usize,
    end: usize,
    context: NameContext,
) -> Option<(Range<usize>, Setting)> {
    let mut at = end;
    let quoted_name = Quote::at(text, at).filter(|quote| quote.inner - at <= 8);
    if let Some(quote) = quoted_name {
        at = quote.inner;
    }
    if text.get(at) == Some(&b']') {
        at += 1;
    }
    let blank = skip_blanks(text, at);
    let spaced = blank > at;
    at = blank;
    // Markdown's `**Password**: …` and `**Password:** …`.
    if text[at..].starts_with(b"**") {
        at += 2;
    }
    let rest = &text[at..];
    let flag = text[start..end].starts_with(b"--");
    match rest {
        [b'=', ..] => {
            let tight = !spaced && rest.get(1).is_some_and(|b| !b.is_ascii_whitespace());
            at += 1 + rest[1..]
                .iter()
                .take(2)
                .take_while(|b| matches!(b, b'=' | b'>' | b'~'))
                .count();
            let shell = if !tight {
                Shell::Not
            } else if flag || context == NameContext::Query || is_setting(text, start, end) {
                Shell::Whole
            } else {
                Shell::Pair
            };
            return value_at(text, at, shell);
        }
        [b':', b':', ..] => return None,
        [b':', b'=', ..] | [b'?', b'=', ..] => at += 2,
        [b'|', b'|', b'=', ..] => at += 3,
        [b':', ..] => {
            at += if rest.starts_with(b":**") { 3 } else { 1 };
            if let Some(typed) = after_type(text, at) {
                at = typed;
            } else if rest.get(1) == Some(&b' ') && starts_line(text, start) {
                return value_at(text, at, Shell::Pair);
            }
        }
        [b',', ..] if quoted_name.is_some() => {
            let value = skip_blanks(text, at + 1);
            return after_pair(text, at).or_else(|| {
                if is_formal(&text[start..end]) {
                    literal_at(text, value)
                } else {
                    doubtful(text, value)
                }
            });
        }
        [b'(', ..] => return doubtful(text, at + 1),
        [b'|', ..] if spaced => return value_at(text, at + 1, Shell::Not),
        [b'i', b's', b' ', ..] if spaced => return value_at(text, at + 3, Shell::Not),
        [b'>', ..] if text[..start].ends_with(b"<") || quoted_name.is_some() => {
            return element_at(text, at + 1);
        }
        [b'%', ..] => return percent_encoded(text, at),
        _ if spaced && flag => return value_at(text, at, Shell::Whole),
        _ if spaced && is_netrc(text, start) => return value_at(text, at, Shell::Whole),
        // "Pass `x=1`" is not a name, and text in backticks is code.
        _ if quoted_name.is_none() && spaced && rest.first() != Some(&b'`') && end - start > 4 => {
            // In prose, `pass` has other meanings: "two-pass memchr2".
            let bare = !text[start..end].to_ascii_lowercase().ends_with(b"pass");
            return doubtful(text, at).or_else(|| value_at(text, at, Shell::Not).filter(|_| bare));
        }
        _ => return after_pair(text, at),
    }
    value_at(text, at, Shell::Not)
}

/// How an unquoted value is read: as a word of a shell, or as text that may be code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shell {
    /// Everything up to a blank.
    Whole,
    /// A word in connection settings or a YAML line, if a blank, a quote or the line's end follows.
    Pair,
    /// Only if neither code nor a sentence could continue there.
    Not,
}

/// The value that begins at `at`, after blanks.
fn value_at(text: &[u8], at: usize, shell: Shell) -> Option<(Range<usize>, Setting)> {
    let at = skip_blanks(text, at);
    if let Some(literal) = literal_at(text, at) {
        return Some(literal);
    }
    let stops = |b: u8| match shell {
        Shell::Whole => b.is_ascii_whitespace() || matches!(b, b'"' | b'\'' | b'`' | b'\\'),
        Shell::Pair | Shell::Not => {
            b.is_ascii_whitespace()
                || matches!(
                    b,
                    b'"' | b'\''
                        | b'`'
                        | b'\\'
                        | b','
                        | b';'
                        | b'('
                        | b')'
                        | b'['
                        | b']'
                        | b'{'
                        | b'}'
                        | b'<'
                        | b'>'
                        | b'&'
                        | b'|'
                )
        }
    };
    let len = text[at..].iter().take(MAX_VALUE).position(|&b| stops(b));
    let len = match len {
        Some(len) => len,
        None if text.len() - at <= MAX_VALUE => text.len() - at,
        None => return None,
    };
    let mut value = &text[at..at + len];
    match shell {
        Shell::Whole => {
            let cut = value
                .iter()
                .position(|b| matches!(b, b'(' | b'&' | b';' | b'|'));
            // `NAME=value; next`, `f(NAME=value)`, `?a=b&c=d`: closing and joining characters are not part of the value.
            if let [.., b')' | b';' | b',' | b'}' | b']' | b'>'] = value {
                let kept = value
                    .iter()
                    .rposition(|b| !matches!(b, b')' | b';' | b',' | b'}' | b']' | b'>'));
                value = &value[..kept.map_or(0, |last| last + 1)];
            }
            if let Some(cut) = cut.filter(|&cut| {
                value.get(cut..).is_some_and(|rest| rest.contains(&b'='))
                    || value.get(cut) == Some(&b'(')
            }) {
                value = &value[..cut];
            }
            Some((at..at + value.len(), Setting::Literal))
        }
        Shell::Pair | Shell::Not => {
            let setting = match text.get(at + len) {
                Some(b'(' | b'[' | b'{' | b'<') => return None,
                None | Some(b' ' | b'\n' | b'\r' | b'"' | b'\'' | b'\\')
                    if shell == Shell::Pair =>
                {
                    Setting::Literal
                }
                _ => Setting::Bare,
            };
            value = value::trim_end(value);
            Some((at..at + value.len(), setting))
        }
    }
}

/// A quoted value at `at`, with prefixes that languages have before a quote: `b"…"`, `&"…"`, `String::from("…")`.
fn literal_at(text: &[u8], at: usize) -> Option<(Range<usize>, Setting)> {
    let lead = text[at..]
        .iter()
        .take(32)
        .take_while(|&&b| {
            b.is_ascii_alphanumeric() || matches!(b, b'_' | b':' | b'&' | b'(' | b'@')
        })
        .count();
    let called = lead == 0 || lead <= 2 || text[at + lead - 1] == b'(';
    if !called {
        return None;
    }
    let range = Quote::at(text, at + lead)?.quoted(text, MAX_VALUE)?;
    Some((range, Setting::Literal))
}

/// A quoted value that could also be the next argument, or a quotation in a sentence.
fn doubtful(text: &[u8], at: usize) -> Option<(Range<usize>, Setting)> {
    literal_at(text, at).map(|(range, _)| (range, Setting::Bare))
}

/// The value of a pair whose name is itself a value: `"name": "…", "value": "…"`, as in settings of containers.
fn after_pair(text: &[u8], at: usize) -> Option<(Range<usize>, Setting)> {
    let limit = text.len().min(at + 80);
    let mut at = at;
    loop {
        match &text[at..limit] {
            [b',' | b' ' | b'\t' | b'\r' | b'\n', ..] => at += 1,
            [b'\\', b'n' | b'r' | b't', ..] => at += 2,
            _ => break,
        }
    }
    let at = Quote::at(text, at).map_or(at, |quote| quote.inner);
    let word = text.get(at..at + 5)?;
    if !word.eq_ignore_ascii_case(b"value") {
        return None;
    }
    let at = Quote::at(text, at + 5).map_or(at + 5, |quote| quote.inner);
    let at = skip_blanks(text, at);
    if !matches!(text.get(at), Some(b':' | b'=')) {
        return None;
    }
    let (range, _) = value_at(text, at + 1, Shell::Whole)?;
    Some((range, Setting::Literal))
}

/// A value after a percent-encoded separator: `%3D…`, `%22%3A%22…`.
fn percent_encoded(text: &[u8], at: usize) -> Option<(Range<usize>, Setting)> {
    let mut rest = &text[at..];
    let mut separated = false;
    while let [b'%', a, b, tail @ ..] = rest {
        match [*a, b.to_ascii_uppercase()] {
            [b'3', b'D' | b'A'] => separated = true,
            [b'2', b'2' | b'0'] => {}
            _ => return None,
        }
        rest = tail;
    }
    let start = text.len() - rest.len();
    let len = Set::Dotted.run(text, start, MAX_VALUE);
    (separated && len <= MAX_VALUE).then_some((start..start + len, Setting::Literal))
}

/// An XML element's text at `at`.
fn element_at(text: &[u8], at: usize) -> Option<(Range<usize>, Setting)> {
    let len = text[at..].iter().take(MAX_VALUE).position(|&b| b == b'<')?;
    (text.get(at + len + 1) == Some(&b'/')).then_some((at..at + len, Setting::Literal))
}

/// The position after the `=` that follows a type's name: `: &str = "…"`, `: string = '…'`.
fn after_type(text: &[u8], at: usize) -> Option<usize> {
    let at = skip_blanks(text, at);
    let len = text[at..]
        .iter()
        .take(40)
        .take_while(|&&b| {
            b.is_ascii_alphanumeric()
                || matches!(
                    b,
                    b'_' | b'&'
                        | b'\''
                        | b' '
                        | b'<'
                        | b'>'
                        | b'.'
                        | b'|'
                        | b'?'
                        | b'['
                        | b']'
                        | b':'
                )
        })
        .count();
    (text.get(at + len) == Some(&b'=') && text.get(at + len.checked_sub(1)?) == Some(&b' '))
        .then_some(at + len + 1)
}

/// Whether `NAME=` is a line of settings or a shell's assignment rather than code.
fn is_setting(text: &[u8], start: usize, end: usize) -> bool {
    let shouted = !text[start..end].iter().any(u8::is_ascii_lowercase);
    match text[..start] {
        [] | [.., b'\n'] => true,
        [.., b'\\', b'n'] => true,
        [.., b' ' | b'\t' | b'"' | b'\''] => shouted,
        [.., b';'] => true,
        _ => shouted,
    }
}

/// Whether the name is first on its line, apart from blanks, a list's dash or a line number.
fn starts_line(text: &[u8], start: usize) -> bool {
    let before = &text[start.saturating_sub(48)..start];
    let blanks = before
        .iter()
        .rev()
        .take_while(|b| matches!(b, b' ' | b'\t' | b'-'))
        .count();
    match before[..before.len() - blanks] {
        [] => start < 48,
        [.., b'\n' | b'"'] | [.., b'\\', b'n'] => true,
        [.., b] => blanks > 0 && (b.is_ascii_digit() || b == 0x92),
    }
}

/// Whether a name is written like a constant or a header rather than a plain word: `DB_PASSWORD`, `X-Api-Key`.
fn is_formal(name: &[u8]) -> bool {
    name.contains(&b'-') || name.contains(&b'_') && !name.iter().any(u8::is_ascii_lowercase)
}

/// Whether the name is in a `.netrc` entry, after its login.
fn is_netrc(text: &[u8], start: usize) -> bool {
    let before = &text[start.saturating_sub(120)..start];
    before.windows(6).any(|w| w == b"login ")
}
