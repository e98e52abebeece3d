//! Finds tokens without a prefix of their own, by a clue in or before them: `clues.txt` lists most of them.
//!
//! Looks at no more than a bounded stretch of text around each clue.

use std::ops::Range;
use std::sync::OnceLock;

use regex::bytes::{Regex, RegexBuilder};

use super::Found;
use super::bytes::{Set, begins};
use super::kind::Kind;
use super::value::{self, Setting};

const LIST: &str = include_str!("clues.txt");

/// How far after a clue a token may begin, in bytes.
const REACH: usize = 256;

/// The maximum length of a token searched for after a clue, including the byte after it.
const LONGEST: usize = 128;

/// A kind of token and where to look for it.
#[derive(Debug)]
pub(super) struct Clue {
    kind: Kind,
    /// The clues to search for, joined by commas.
    clues: &'static str,
    search: Search,
    least: usize,
    judge: fn(&[u8]) -> bool,
    pattern: &'static str,
    /// The pattern, compiled lazily: compiling all patterns takes longer than searching a short transcript.
    compiled: OnceLock<Option<Regex>>,
}

/// Which bytes are searched for a token.
#[derive(Debug, Clone, Copy)]
enum Search {
    /// This many bytes before and after the clue; if the first is 0, the clue itself is not searched.
    Around(usize, usize),
    /// The bytes after the clue.
    Near,
}

/// The clues in `clues.txt`.
pub(super) fn clues() -> impl Iterator<Item = Clue> {
    super::lines(LIST).filter_map(parse)
}

fn parse(line: &'static str) -> Option<Clue> {
    let mut words = line.split_ascii_whitespace();
    let kind = Kind::named(words.next()?)?;
    let clues = words.next()?;
    let search = match words.next()? {
        "near" => Search::Near,
        around => {
            let (before, after) = around.split_once('+')?;
            Search::Around(before.parse().ok()?, after.parse().ok()?)
        }
    };
    let least = words.next()?.parse().ok()?;
    let judge: fn(&[u8]) -> bool = match words.next()? {
        "issued" => value::is_issued,
        "chosen" => |value| value::is_chosen(value, Setting::Literal),
        _ => return None,
    };
    Some(Clue {
        kind,
        clues,
        search,
        least,
        judge,
        pattern: words.next()?,
        compiled: OnceLock::new(),
    })
}

impl Clue {
    /// The strings to search for in the text.
    pub(super) fn anchors(&self) -> impl Iterator<Item = &'static str> + use<> {
        self.clues.split(',')
    }

    /// Searches around the clue at `anchor`. Returns where to continue the search.
    pub(super) fn find(&self, text: &[u8], anchor: Range<usize>, found: &mut Vec<Found>) -> usize {
        let window = match self.search {
            Search::Around(0, after) => anchor.end..anchor.end + after,
            Search::Around(before, after) => {
                anchor.start.saturating_sub(before)..anchor.end + after
            }
            Search::Near => anchor.end..anchor.end + REACH + LONGEST,
        };
        let window = window.start..window.end.min(text.len());
        let Some(range) = self.token(text, window) else {
            return anchor.end;
        };
        let end = range.end;
        found.push(Found {
            range,
            kind: self.kind,
        });
        match self.search {
            Search::Around(..) => end.max(anchor.end),
            // The text between the clue and the token may also contain a secret.
            Search::Near => anchor.end,
        }
    }

    /// The first token in `window`.
    fn token(&self, text: &[u8], window: Range<usize>) -> Option<Range<usize>> {
        let searched = &text[window.clone()];
        let pattern = self.pattern()?;
        let mut at = 0;
        while let Some(captures) = pattern.captures_at(searched, at) {
            let (whole, token) = (captures.get(0)?, captures.get(1)?);
            if matches!(self.search, Search::Near) && token.start() >= REACH {
                return None;
            }
            let is_apart =
                token.start() > whole.start() || begins(text, window.start + token.start());
            let judged = captures.get(2).unwrap_or(token).as_bytes();
            if is_apart && token.len() >= self.least && (self.judge)(judged) {
                return Some(window.start + token.start()..window.start + token.end());
            }
            at = whole.start() + 1;
        }
        None
    }

    /// The compiled pattern; every pattern on the list is a valid regular expression.
    fn pattern(&self) -> Option<&Regex> {
        let compile = || RegexBuilder::new(self.pattern).unicode(false).build().ok();
        self.compiled.get_or_init(compile).as_ref()
    }
}

/// The secret of the AWS access key whose id ends at `at`: forty bytes of base64 without a name, as consoles and tables print
/// it.
pub(super) fn aws_secret(text: &[u8], at: usize) -> Option<Found> {
    let limit = text.len().min(at + REACH);
    let mut start = at;
    while start < limit {
        let run = text[start..]
            .iter()
            .take(41)
            .take_while(|b| b.is_ascii_alphanumeric() || matches!(b, b'/' | b'+'))
            .count();
        let value = &text[start..start + run];
        let mixed = value.iter().any(u8::is_ascii_uppercase)
            && value.iter().any(u8::is_ascii_lowercase)
            && value.iter().any(u8::is_ascii_digit);
        if run == 40 && mixed && value::is_issued(value) && !value::is_wordy(value) {
            return Some(Found {
                range: start..start + run,
                kind: Kind::AwsSecretKey,
            });
        }
        // The letter of an escape is not part of the text after it.
        start += match text.get(start) {
            Some(b'\\') => 2,
            _ => run.max(1),
        };
    }
    None
}

/// The maximum length of a part of a web token, in bytes.
const MAX_PART: usize = 16 * 1024;

/// A JSON web token: `eyJ` at `anchor` is the beginning of a base64-encoded JSON object.
pub(super) fn jwt(text: &[u8], anchor: &Range<usize>) -> Option<Range<usize>> {
    if !text[anchor.clone()].starts_with(b"eyJ") || !begins(text, anchor.start) {
        return None;
    }
    let head = Set::Word.run(text, anchor.start, MAX_PART);
    let claims = part(text, anchor.start + head, MAX_PART).filter(|claims| claims.len() >= 10)?;
    // The signature may be cut off, or empty; an encrypted token has two more parts.
    let mut end = claims.end;
    for _ in 0..3 {
        match part(text, end, MAX_PART) {
            Some(next) => end = next.end,
            None => break,
        }
    }
    let signed = end > claims.end;
    let real = head >= 15 && (signed || value::is_issued(&text[anchor.start..anchor.start + head]));
    real.then_some(anchor.start..end)
}

/// The signature in an address's query: `&sig=…%3D`, `&X-Amz-Signature=…`.
pub(super) fn signature(text: &[u8], anchor: &Range<usize>) -> Option<Range<usize>> {
    let name = Set::Word.run_back(text, anchor.start, 16);
    let joined = matches!(text[..anchor.start - name], [.., b'?' | b'&' | b';']);
    if !joined {
        return None;
    }
    let len = Set::Base64.run(text, anchor.end, 1024);
    let range = anchor.end..anchor.end + len;
    ((40..=1024).contains(&len) && value::is_issued(&text[range.clone()])).then_some(range)
}

/// The part after a dot at `at`: word bytes, at least one.
fn part(text: &[u8], at: usize, most: usize) -> Option<Range<usize>> {
    if text.get(at) != Some(&b'.') {
        return None;
    }
    let len = Set::Word.run(text, at + 1, most);
    (1..=most).contains(&len).then_some(at + 1..at + 1 + len)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_of_the_list_is_read() {
        let wrong = super::super::lines(LIST)
            .filter(|line| parse(line).is_none_or(|clue| clue.pattern().is_none()));
        assert_eq!(wrong.collect::<Vec<_>>(), Vec::<&str>::new());
    }
}
