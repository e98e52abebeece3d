//! Phrases to look for in a sentence, all in one pass.
//!
//! Syntax of a phrase: leading `^`: the sentence begins with it, after list marks and polite openers; trailing `$`: only a full
//! stop may follow; trailing `*`: the word may continue; inner `…`: anything may stand between the parts. Words match as whole
//! words, except in scripts without blanks between words. Everything is in lower case. Knows no language.

use std::cell::LazyCell;

use aho_corasick::{AhoCorasick, MatchKind};

use crate::text::floor_boundary;

/// Phrases that match, and phrases that exclude a match.
#[derive(Debug)]
pub(super) struct Rules {
    phrases: Vec<Phrase>,
    /// The number of excluding phrases; they come first.
    excluding: usize,
    /// The length of the longest first part, if each must begin a sentence: no more of one need be looked at.
    reach: Option<usize>,
    /// Finds the first part of each; `None` would mean that a phrase is too long.
    finds: Option<AhoCorasick>,
}

#[derive(Debug)]
struct Phrase {
    is_first: bool,
    is_open: bool,
    is_last: bool,
    /// The parts after the first, in order.
    others: Vec<&'static str>,
}

/// What may precede the first words of a sentence.
const OPENERS: [&str; 26] = [
    "please,",
    "please",
    "no,",
    "ok,",
    "okay,",
    "and",
    "but",
    "bitte",
    "por favor,",
    "por favor",
    "s'il te plaît,",
    "s'il vous plaît,",
    "s'il te plaît",
    "пожалуйста,",
    "пожалуйста",
    "vui lòng",
    "请",
    "先",
    "nein,",
    "non,",
    "não,",
    "нет,",
    "いいえ、",
    "아니요,",
    "不, ",
    "also,",
];

impl Rules {
    /// Parses the rules in a text: `en: a | b` are phrases, `en not: c` is an excluding one; lines with `#` are comments.
    pub(super) fn of(text: &'static str) -> Rules {
        let lines = text.lines().filter(|line| !line.starts_with('#'));
        let lines: Vec<(&str, &str)> = lines.filter_map(|line| line.split_once(": ")).collect();
        let phrases_of = |which: fn(&str) -> bool| {
            let lines = lines.iter().filter(move |(of, _)| which(of));
            lines.flat_map(|(_, phrases)| phrases.split(" | "))
        };
        let excluding = phrases_of(|of| of.ends_with(" not")).count();
        let ordered =
            phrases_of(|of| of.ends_with(" not")).chain(phrases_of(|of| !of.ends_with(" not")));
        let mut all = Vec::new();
        let mut firsts = Vec::new();
        for phrase in ordered {
            let (is_first, rest) = match phrase.strip_prefix('^') {
                Some(rest) => (true, rest),
                None => (false, phrase),
            };
            let (is_open, rest) = match rest.strip_suffix('*') {
                Some(rest) => (true, rest),
                None => (false, rest),
            };
            let (is_last, rest) = match rest.strip_suffix('$') {
                Some(rest) => (true, rest),
                None => (false, rest),
            };
            let mut parts = rest.split('…');
            firsts.push(parts.next().unwrap_or_default());
            all.push(Phrase {
                is_first,
                is_open,
                is_last,
                others: parts.collect(),
            });
        }
        let mut builder = AhoCorasick::builder();
        let longest = firsts.iter().map(|first| first.len()).max();
        Rules {
            reach: longest.filter(|_| all.iter().all(|phrase| phrase.is_first)),
            phrases: all,
            excluding,
            finds: builder.match_kind(MatchKind::Standard).build(&firsts).ok(),
        }
    }

    /// Whether a sentence contains a phrase, and no excluding one.
    pub(super) fn hold(&self, sentence: &str) -> bool {
        let [excluded, found] = self.found(sentence);
        found && !excluded
    }

    /// Whether a sentence contains an excluding phrase, and whether it contains another one.
    pub(super) fn found(&self, sentence: &str) -> [bool; 2] {
        let mut found = [false; 2];
        let Some(finds) = &self.finds else {
            return found;
        };
        let first = LazyCell::new(|| sentence.len() - opened(sentence).len());
        let blanks = || sentence.len() - sentence.trim_start().len();
        let sought = match self.reach {
            Some(reach) => &sentence[..floor_boundary(sentence, *first + reach)],
            None => sentence,
        };
        // A part that does not follow one occurrence of the first part does not follow a later one either.
        let mut missing = Vec::new();
        for place in finds.find_overlapping_iter(sought) {
            let number = place.pattern().as_usize();
            let phrase = &self.phrases[number];
            let found = &mut found[usize::from(number >= self.excluding)];
            if *found || missing.contains(&number) {
                continue;
            }
            let starts = match phrase.is_first {
                true => place.start() == *first || place.start() <= blanks(),
                false => true,
            };
            let is_whole = phrase.is_open && phrase.others.is_empty();
            if starts
                && begins_word(sentence, place.start())
                && (is_whole || ends_word(sentence, place.end()))
            {
                *found = phrase.is_followed_by(&sentence[place.end()..]);
                if !*found && !phrase.is_last {
                    missing.push(number);
                }
            }
        }
        found
    }
}

impl Phrase {
    fn is_followed_by(&self, mut rest: &str) -> bool {
        if self.is_last && rest.contains(char::is_alphanumeric) {
            return false;
        }
        self.others.iter().all(|part| {
            let found = rest.match_indices(part).find(|(at, _)| {
                let end = at + part.len();
                begins_word(rest, *at) && (self.is_open || ends_word(rest, end))
            });
            if let Some((at, _)) = found {
                rest = &rest[at + part.len()..];
            }
            found.is_some()
        })
    }
}

/// A sentence without list marks and polite openers.
pub(super) fn opened(sentence: &str) -> &str {
    let is_mark = |c: char| {
        let is_sign = matches!(
            c,
            '-' | '*' | '+' | '•' | '>' | '#' | '"' | '\'' | '“' | '«' | '„' | '(' | '`' | '_'
        );
        is_sign || c.is_whitespace()
    };
    let mut rest = sentence.trim_start_matches(is_mark);
    let number = rest.trim_start_matches(|c: char| c.is_ascii_digit());
    if number.len() < rest.len()
        && let Some(after) = number.strip_prefix(['.', ')'])
    {
        rest = after.trim_start_matches(is_mark);
    }
    while let Some(after) = OPENERS.iter().find_map(|opener| {
        // A quick test: a sentence rarely begins with any.
        if opener.as_bytes().first() != rest.as_bytes().first() {
            return None;
        }
        let after = rest.strip_prefix(opener)?;
        let is_word =
            !opener.ends_with(is_of_word) || !opener.is_ascii() || !after.starts_with(is_of_word);
        (is_word && !after.is_empty()).then(|| after.trim_start())
    }) {
        rest = after;
    }
    rest
}

/// Whether a character belongs to a word in a script with blanks between words.
fn is_of_word(c: char) -> bool {
    c == '_' || c.is_alphanumeric() && !is_without_blanks(c)
}

/// Chinese characters, kana, and Hangul, whose particles follow a word without a blank.
fn is_without_blanks(c: char) -> bool {
    c >= '\u{2e80}'
}

fn begins_word(text: &str, at: usize) -> bool {
    let [before, first] = [text[..at].chars().next_back(), text[at..].chars().next()];
    !(before.is_some_and(is_of_word) && first.is_some_and(is_of_word))
}

fn ends_word(text: &str, at: usize) -> bool {
    let [last, after] = [text[..at].chars().next_back(), text[at..].chars().next()];
    !(last.is_some_and(is_of_word) && after.is_some_and(is_of_word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phrases_are_whole_words_in_their_places() {
        let text = "# about\nen: ^stop | root cause | decid*\nzh: 因为\nen: use…instead | ^halt$\nen not: stop words\n";
        let rules = Rules::of(text);
        for yes in [
            "stop it",
            "- please stop",
            "1. stop.",
            "the root cause is",
            "we decided",
            "use a, not b, instead",
            "是因为它",
            "halt!",
        ] {
            assert!(rules.hold(yes), "{yes}");
        }
        for no in [
            "it stops",
            "full stop",
            "root causes",
            "undecided",
            "instead use it",
            "stop words are kept",
            "",
            "…",
            "reuse it instead",
            "halt and go on",
        ] {
            assert!(!rules.hold(no), "{no}");
        }
    }

    #[test]
    fn hostile_texts_are_read_to_their_end() {
        let rules = Rules::of("en: ^a…b");
        assert!(rules.hold(&format!("a {}b", "x ".repeat(10_000))));
        assert!(!rules.hold(&"please ".repeat(10_000)));
        assert_eq!(opened("\u{0}"), "\u{0}");
        let rules = Rules::of("en: i said…never | ^stop");
        assert!(!rules.hold(&"i said ".repeat(200_000)));
        assert!(!rules.hold(&("x ".to_owned() + &"stop ".repeat(100_000))));
        assert!(rules.hold(&("i said ".repeat(1_000) + "never")));
    }
}
