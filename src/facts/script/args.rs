//! The arguments of a command: its flags in all spellings, their values, and its operands.
//!
//! PURE. Parses words by the list of a program's flags. A flag that is not in the list is reported as unknown.

use super::{Missing, Word, WordKind};

/// The flags of a program, separated by blanks: `-a`, `--all`, `-name` (a single flag, for programs that have such), `-[abc]` for
/// several letters. A suffix states what follows the flag: `=` a value (`-ofile`, `-o file`, `--output=file`, `--output file`), `?`
/// a value only in the same word, `...` a command up to `;` or `+`. `*` stands for any end of a name. `!` before one marks it: its
/// presence decides what the program does.
pub(super) type FlagList = &'static str;

/// Where flags may occur.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum FlagScope {
    /// Also between and after other arguments, up to `--`.
    All,
    /// Up to the first word that is not a flag: another command begins there.
    Leading,
}

/// The arguments of a command, taken apart.
#[derive(Default)]
pub(super) struct Args<'w> {
    pub(super) flags: Vec<Flag<'w>>,
    pub(super) operands: Vec<&'w Word>,
    /// Commands that flags name.
    pub(super) commands: Vec<&'w [Word]>,
    /// The words after the leading flags.
    pub(super) rest: &'w [Word],
}

/// A flag that was given.
pub(super) struct Flag<'w> {
    /// Its name with dashes, as in the list; the whole word for a flag that is not in it.
    pub(super) name: String,
    /// Its value; `None` if it has none or contains a shell expansion.
    pub(super) value: Option<&'w str>,
    pub(super) means: FlagMeaning,
}

/// What a list of flags states about a flag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FlagMeaning {
    /// It decides nothing.
    Plain,
    Marked,
    /// It begins with a letter that is not in the list, and contains a marked one.
    Possibly,
    /// It is not in the list.
    Unknown,
}

/// What follows a flag.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Takes {
    Nothing,
    Value,
    Attached,
    Command,
}

/// A flag of a list.
#[derive(Clone, Copy)]
struct Entry {
    means: FlagMeaning,
    takes: Takes,
}

impl<'w> Args<'w> {
    pub(super) fn parse(words: &'w [Word], list: FlagList, reach: FlagScope) -> Self {
        let mut args = Args::default();
        let mut at = 0;
        while let Some(word) = words.get(at) {
            let text = &word.text[..];
            if text == "--" && word.kind == WordKind::Literal {
                args.rest = &words[at + 1..];
                args.operands.extend(&words[at + 1..]);
                return args;
            }
            let is_flag = text.starts_with('-') && (text.len() > 1 || has_gap_at(word, 1))
                || text.starts_with('+') && entry(list, text).is_some();
            if is_flag {
                at = args.flag(words, at, list);
            } else if reach == FlagScope::Leading {
                args.rest = &words[at..];
                return args;
            } else {
                args.operands.push(word);
                at += 1;
            }
        }
        args
    }

    /// Reads the flags of the word at `at`; returns the position after them and their values.
    fn flag(&mut self, words: &'w [Word], at: usize, list: FlagList) -> usize {
        let word = &words[at];
        let text = &word.text[..];
        let (name, attached) = match text.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (text, None),
        };
        if let Some(found) = entry(list, name) {
            return self.given(words, at, Named { name, attached }, found);
        }
        let letters = match text.strip_prefix('-') {
            Some(letters) if !letters.starts_with('-') && !letters.is_empty() => letters,
            Some(_) | None => {
                self.push(text, None, FlagMeaning::Unknown);
                return at + 1;
            }
        };
        for (place, letter) in letters.char_indices() {
            if letter.is_ascii_digit() {
                continue;
            }
            let name = format!("-{letter}");
            let behind = &letters[place + letter.len_utf8()..];
            let Some(found) = entry(list, &name) else {
                // If it is unknown whether a letter takes a value, the next letters may be flags.
                let is_marked = |letter: char| {
                    entry(list, &format!("-{letter}"))
                        .is_some_and(|found| found.means == FlagMeaning::Marked)
                };
                let means = match behind.chars().any(is_marked) {
                    true => FlagMeaning::Possibly,
                    false => FlagMeaning::Unknown,
                };
                self.push(text, None, means);
                return at + 1;
            };
            if found.takes == Takes::Nothing {
                self.push(&name, None, found.means);
                continue;
            }
            let attached = (!behind.is_empty()).then(|| behind.trim_start_matches('='));
            let name = &name[..];
            return self.given(words, at, Named { name, attached }, found);
        }
        // Letters from a shell expansion.
        if has_gap_at(word, text.len()) {
            self.push(text, None, FlagMeaning::Unknown);
        }
        at + 1
    }

    /// Adds a flag, with what follows it.
    fn given(&mut self, words: &'w [Word], at: usize, flag: Named<'_, 'w>, found: Entry) -> usize {
        let word = &words[at];
        let is_literal = |word: &Word| word.kind == WordKind::Literal;
        match (found.takes, flag.attached) {
            (Takes::Command, _) => {
                let behind = &words[at + 1..];
                let is_end = |word: &Word| matches!(&word.text[..], ";" | "+");
                let length = behind.iter().position(is_end).unwrap_or(behind.len());
                self.push(flag.name, None, found.means);
                self.commands.push(&behind[..length]);
                return at + length + 2;
            }
            (_, Some(value)) => {
                let value = is_literal(word).then_some(value);
                self.push(flag.name, value, found.means);
            }
            // The value is a shell expansion attached to the flag.
            (Takes::Value, None) if has_gap_at(word, word.text.len()) => {
                self.push(flag.name, None, found.means);
            }
            (Takes::Value, None) => {
                let value = words.get(at + 1).filter(|value| is_literal(value));
                self.push(flag.name, value.map(|value| &value.text[..]), found.means);
                return at + 2;
            }
            (Takes::Nothing | Takes::Attached, None) => self.push(flag.name, None, found.means),
        }
        at + 1
    }

    fn push(&mut self, name: &str, value: Option<&'w str>, means: FlagMeaning) {
        self.flags.push(Flag {
            name: name.to_owned(),
            value,
            means,
        });
    }

    /// Whether any given flag has this meaning.
    pub(super) fn has(&self, means: FlagMeaning) -> bool {
        self.flags.iter().any(|flag| flag.means == means)
    }
}

/// A flag as a word writes it.
struct Named<'n, 'w> {
    name: &'n str,
    attached: Option<&'w str>,
}

/// Whether a word has a shell expansion at this position.
fn has_gap_at(word: &Word, at: usize) -> bool {
    let is_there = |gap: &super::ExpansionSite| gap.at == at && gap.what != Missing::Pattern;
    word.gaps.iter().any(is_there)
}

/// The entry of a flag in a list.
fn entry(list: FlagList, name: &str) -> Option<Entry> {
    list.split_ascii_whitespace().find_map(|token| {
        let (token, means) = match token.strip_prefix('!') {
            Some(token) => (token, FlagMeaning::Marked),
            None => (token, FlagMeaning::Plain),
        };
        let endings = [
            ("...", Takes::Command),
            ("=", Takes::Value),
            ("?", Takes::Attached),
        ];
        let ending = endings
            .iter()
            .find_map(|(end, takes)| Some((token.strip_suffix(end)?, *takes)));
        let (token, takes) = ending.unwrap_or((token, Takes::Nothing));
        let is_it = match token.strip_suffix('*') {
            Some(start) => name.starts_with(start),
            None => match token
                .strip_prefix("-[")
                .and_then(|token| token.strip_suffix(']'))
            {
                Some(letters) => is_letter_of(name, letters),
                None => name == token,
            },
        };
        is_it.then_some(Entry { means, takes })
    })
}

/// Whether a name is a dash and one of these letters.
fn is_letter_of(name: &str, letters: &str) -> bool {
    let mut signs = name.chars();
    signs.next() == Some('-')
        && signs.next().is_some_and(|letter| letters.contains(letter))
        && signs.next().is_none()
}
