//! A program call, and what it may change.
//!
//! PURE. Decides nothing about programs, only what file names among the arguments mean.

use super::{Word, WordKind};

/// What may have been changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::facts) enum Effects {
    /// Files at these paths, as written, or the contents of folders at these paths; nothing if there is no path.
    Paths(Vec<String>),
    /// Any file.
    Anything,
}

pub(super) const NOTHING: Effects = Effects::Paths(Vec::new());

/// A program that is run, with its arguments.
pub(super) struct Call<'w> {
    pub(super) program: &'w str,
    pub(super) arguments: &'w [Word],
    pub(super) document: Option<&'w str>,
    pub(super) depth: usize,
}

/// What determines the changes that a program may make.
pub(super) enum Run<'w> {
    Itself(Effects),
    /// A script for a shell.
    Text(&'w str),
    /// Another command, which gets the program's here-document.
    Words(&'w [Word]),
}

pub(super) fn or_anything(is_harmless: bool) -> Effects {
    match is_harmless {
        true => NOTHING,
        false => Effects::Anything,
    }
}

/// The files that arguments name, with the values of flags in the same word.
pub(super) fn named(arguments: &[Word]) -> Effects {
    if arguments.iter().any(|word| word.kind == WordKind::Expanded) {
        return Effects::Anything;
    }
    let path = |word: &Word| {
        let text = &word.text[..];
        let value = match text.strip_prefix('-') {
            None => Some(text),
            Some(_) => match text.split_once('=') {
                Some((_, value)) => Some(value),
                None => text.strip_prefix("-t"),
            },
        };
        value.filter(|path| !path.is_empty()).map(str::to_owned)
    };
    Effects::Paths(arguments.iter().filter_map(path).collect())
}
