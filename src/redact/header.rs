//! Finds secrets in HTTP headers (authorizations and cookies) and logins in registry settings.
//!
//! Never looks beyond the header's line.

use std::ops::Range;

use super::Found;
use super::bytes::{Quote, Set, is_word, skip_blanks};
use super::kind::Kind;
use super::value::{self, Setting};

/// The maximum length of an authorization or cookie, in bytes.
const MAX_VALUE: usize = 4096;

/// The maximum number of cookies examined per header: without a limit, each of many headers on one line would be read to the line's
/// end.
const MAX_PAIRS: usize = 64;

/// An `Authorization` header, or a setting named `auth`; otherwise the name is treated like any other.
pub(super) fn authorization(text: &[u8], anchor: Range<usize>, found: &mut Vec<Found>) -> usize {
    let end = anchor.end + Set::Word.run(text, anchor.end, 64).min(64);
    let tail = &text[anchor.end..end];
    if tail.eq_ignore_ascii_case(b"orization") {
        if let Some(at) = after_separator(text, end) {
            return credentials(text, at, found).unwrap_or(end);
        }
        return end;
    }
    if tail.is_empty()
        && !text[..anchor.start]
            .last()
            .is_some_and(u8::is_ascii_alphanumeric)
    {
        if let Some(range) = after_separator(text, end).and_then(|at| login(text, at)) {
            let resume = range.end;
            found.push(Found {
                range,
                kind: Kind::DockerToken,
            });
            return resume;
        }
        return end;
    }
    // `auth_token`, `authKey`: the rest of the name may contain an anchor of its own.
    anchor.end
}

/// A token after the word `Bearer` without a preceding header name.
pub(super) fn bearer(text: &[u8], anchor: Range<usize>, found: &mut Vec<Found>) -> usize {
    let at = skip_blanks(text, anchor.end);
    if at == anchor.end || text[..anchor.start].last().copied().is_some_and(is_word) {
        return anchor.end;
    }
    let range = token(text, at);
    if value::is_machine_made(&text[range.clone()], Setting::Literal) {
        found.push(Found {
            range,
            kind: Kind::BearerToken,
        });
    }
    at
}

/// The random-looking values of a cookie header: `Cookie: a=…; b=…`, `--cookie 'a=…'`. The search continues within them, since they
/// may contain tokens with a prefix.
pub(super) fn cookie(text: &[u8], anchor: Range<usize>, found: &mut Vec<Found>) -> usize {
    let flag = text[..anchor.start].ends_with(b"--");
    let at = match after_separator(text, anchor.end) {
        Some(at) => at,
        None if flag => skip_blanks(text, anchor.end),
        None => return anchor.end,
    };
    let at = Quote::at(text, at).map_or(at, |quote| quote.inner);
    let mut next = Some(at);
    for _ in 0..MAX_PAIRS {
        let Some(pair) = next.and_then(|start| pair(text, start)) else {
            break;
        };
        next = (text.get(pair.end) == Some(&b';')).then(|| skip_blanks(text, pair.end + 1));
        if value::is_machine_made(&text[pair.clone()], Setting::Literal) {
            found.push(Found {
                range: pair,
                kind: Kind::SessionCookie,
            });
        }
    }
    at
}

/// The value of the cookie pair that begins at `at`.
fn pair(text: &[u8], at: usize) -> Option<Range<usize>> {
    let name = Set::Dotted.run(text, at, 64);
    if name > 64 || text.get(at + name) != Some(&b'=') {
        return None;
    }
    let start = at + name + 1;
    let ends = |b: u8| {
        b.is_ascii_whitespace() || matches!(b, b';' | b'"' | b'\'' | b'`' | b',' | b'\\' | b'<')
    };
    // A value may contain a few equals signs, as padding or inside; with more of them it is not a cookie.
    let mut signs = 0;
    let rest = &text[start..text.len().min(start + MAX_VALUE)];
    let len = rest
        .iter()
        .take_while(|&&b| {
            signs += usize::from(b == b'=');
            !ends(b) && signs <= 4
        })
        .count();
    Some(start..start + len)
}

/// The position after a header's separator and an opening quote: `: `, `=`, `": "`, `", "`.
fn after_separator(text: &[u8], end: usize) -> Option<usize> {
    let quoted = Quote::at(text, end).filter(|quote| quote.inner - end <= 8);
    let mut at = quoted.map_or(end, |quote| quote.inner);
    if text.get(at) == Some(&b']') {
        at += 1;
    }
    at = skip_blanks(text, at);
    match text.get(at)? {
        b':' | b'=' => at += 1,
        b',' if quoted.is_some() => at += 1,
        _ => return None,
    }
    at = skip_blanks(text, at);
    if matches!(text.get(at), Some(b'f' | b'b' | b'r' | b'[')) && Quote::at(text, at + 1).is_some()
    {
        at += 1;
    }
    Some(Quote::at(text, at).map_or(at, |quote| quote.inner))
}

/// Finds the credentials at `at`, after their scheme if any. Returns where to continue the search.
fn credentials(text: &[u8], at: usize, found: &mut Vec<Found>) -> Option<usize> {
    let word = token(text, at);
    let after = skip_blanks(text, word.end);
    let scheme = &text[word.clone()];
    let (range, kind) =
        if after > word.end && scheme.len() <= 16 && scheme.iter().all(|&b| is_word(b)) {
            let kind = match scheme {
                _ if scheme.eq_ignore_ascii_case(b"basic") => Kind::BasicAuth,
                _ => Kind::BearerToken,
            };
            (token(text, after), kind)
        } else {
            // Without a scheme it may be anything with such a name.
            if !value::is_machine_made(scheme, Setting::Bare) {
                return None;
            }
            (word, Kind::BearerToken)
        };
    let value = &text[range.clone()];
    let secret = match kind {
        Kind::BasicAuth => value.len() >= 8 && is_login(value),
        // `OAuth realm="…"`: a parameter is not a token.
        _ => {
            value::is_machine_made(value, Setting::Literal)
                || !value.contains(&b'=') && value::is_chosen(value, Setting::Literal)
        }
    };
    let start = range.start;
    if secret {
        found.push(Found { range, kind });
    }
    Some(start)
}

/// A base64 login at `at`, as in registry settings.
fn login(text: &[u8], at: usize) -> Option<Range<usize>> {
    let len = Set::Base64.run(text, at, 1024);
    let value = &text[at..at + len.min(1024)];
    (value.len() >= 12 && is_login(value)).then_some(at..at + value.len())
}

fn is_login(value: &[u8]) -> bool {
    value::decode_login(value).is_some_and(|login| login.contains(&b':') && login.len() >= 5)
}

fn token(text: &[u8], at: usize) -> Range<usize> {
    let len = Set::Token68.run(text, at, MAX_VALUE).min(MAX_VALUE);
    at..at + len
}
