//! Tokens that are recognised by their prefix: `tokens.txt` lists them.
//!
//! Checks the text before a token only for whether a token can begin there.

use std::ops::Range;

use super::Found;
use super::bytes::{Set, begins};
use super::encoded;
use super::kind::Kind;
use super::value::{self, Setting};

/// The minimum number of bytes of a broken token before the line end.
const LEAST_BROKEN: usize = 8;

const LIST: &str = include_str!("tokens.txt");

/// The form of a token: a prefix, then `least` to `most` bytes of an alphabet, then a byte outside of the alphabet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Token {
    pub(super) prefix: &'static str,
    kind: Kind,
    alphabet: Set,
    least: usize,
    most: usize,
}

/// All tokens on the list.
pub(super) fn tokens() -> impl Iterator<Item = Token> {
    super::lines(LIST).filter_map(parse).flatten()
}

fn parse(line: &'static str) -> Option<impl Iterator<Item = Token>> {
    let mut words = line.split_ascii_whitespace();
    let kind = Kind::named(words.next()?)?;
    let alphabet = Set::named(words.next()?)?;
    let length = words.next()?;
    let (least, most) = length.split_once('-').unwrap_or((length, length));
    let (least, most) = (least.parse().ok()?, most.parse().ok()?);
    Some(words.map(move |prefix| Token {
        prefix,
        kind,
        alphabet,
        least,
        most,
    }))
}

impl Token {
    /// The token at `anchor`, where its prefix was found in upper or lower case.
    pub(super) fn find(&self, text: &[u8], anchor: &Range<usize>) -> Option<Found> {
        if &text[anchor.clone()] != self.prefix.as_bytes() || !begins(text, anchor.start) {
            return None;
        }
        let len = self.alphabet.run(text, anchor.end, self.most);
        if len > self.most {
            return None;
        }
        let body = value::trim_end(&text[anchor.end..anchor.end + len]);
        if len < self.least {
            return self.broken(text, anchor, len);
        }
        if body.len() < self.least || !value::is_issued(body) {
            return None;
        }
        Some(Found {
            range: anchor.start..anchor.end + body.len(),
            kind: self.kind,
        })
    }

    /// The token at `anchor` if a line end breaks it, as in terminals and mails: both parts together must have its length.
    fn broken(&self, text: &[u8], anchor: &Range<usize>, len: usize) -> Option<Found> {
        let end = anchor.end + len;
        let rest = encoded::continued(text, end, self.alphabet, self.most - len)?;
        let whole = [&text[anchor.end..end], &text[rest.clone()]].concat();
        let is_token = len >= LEAST_BROKEN
            && whole.len() >= self.least
            && value::is_issued(&whole)
            && value::is_machine_made(&whole, Setting::Literal);
        is_token.then_some(Found {
            range: anchor.start..rest.end,
            kind: self.kind,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_of_the_list_is_read() {
        let wrong = super::super::lines(LIST)
            .filter(|line| parse(line).is_none_or(|mut tokens| tokens.next().is_none()));
        assert_eq!(wrong.collect::<Vec<_>>(), Vec::<&str>::new());
    }
}
