//! What should still be found of the part before a cut.

use std::collections::BTreeSet;

use super::call::{End, Work};
use super::error_messages::{Said, messages, without_digits};
use super::events::EventKind;
use super::index::Index;
use super::sought::PatternSet;

/// A share of fewer things than this is not meaningful.
const FEWEST: usize = 3;

/// What should be found, each thing once.
#[derive(Debug, Default)]
pub(super) struct References {
    /// The first event after the cut.
    pub(super) cut: usize,
    /// Names that are used before they are shown again.
    pub(super) needed: Vec<u32>,
    /// Sentences of the user.
    pub(super) sentences: PatternSet,
    /// Paths of files that were changed.
    pub(super) changed: PatternSet,
    /// The beginnings of commands.
    pub(super) commands: PatternSet,
    /// Error messages, without digits.
    pub(super) errors: PatternSet,
}

/// A text to search.
#[derive(Debug)]
pub(super) struct Remains {
    text: String,
    in_one_line: String,
    without_digits: String,
}

impl References {
    /// Collects the references before the event `cut`. `quoted` returns the start and the end of the text that must be quoted from
    /// a user message.
    pub(super) fn new(index: &Index, cut: usize, quoted: impl Fn(&str) -> [&str; 2]) -> References {
        let mut sentences = BTreeSet::new();
        let mut changed = BTreeSet::new();
        let mut commands = BTreeSet::new();
        let mut errors = BTreeSet::new();
        for (number, event) in index.events[..cut].iter().enumerate() {
            match &event.what {
                EventKind::User => {
                    sentences.extend(quoted(&event.text).into_iter().flat_map(sentences_of));
                }
                EventKind::Call { call, .. } => {
                    let failed = index.end_of(number, cut).is_some_and(End::is_failure);
                    let changes = call.files.iter().filter(|(_, work)| match work {
                        Work::Read => false,
                        Work::Write | Work::Edit | Work::Delete => !failed,
                    });
                    changed.extend(changes.map(|(path, _)| index.folders.spelled(path).to_owned()));
                    let begun = call.commands.iter().map(|command| begins(command));
                    commands.extend(begun.filter(|c| !c.is_empty()));
                }
                EventKind::Result { of, end } if end.is_failure() => {
                    let said = of.map_or(Said::ByProgram, |of| said_by(&index.events[of].what));
                    errors.extend(messages(&event.text, said));
                }
                EventKind::Agent | EventKind::Notice | EventKind::Result { .. } => {}
            }
        }
        References {
            cut,
            needed: index.needed(cut),
            sentences: PatternSet::new(sentences),
            changed: PatternSet::new(changed),
            commands: PatternSet::new(commands),
            errors: PatternSet::new(errors),
        }
    }

    /// The percentages of the user's sentences, changed files, commands and errors that a text contains; `None` if there are too
    /// few of them.
    pub(super) fn found(&self, remains: &Remains) -> [Option<f64>; 4] {
        let of = |sought: &PatternSet, text: &str| {
            let found = sought.found_in(text.as_bytes());
            share(found.iter().filter(|found| **found).count(), sought.len())
        };
        [
            of(&self.sentences, &remains.text),
            of(&self.changed, &remains.text),
            of(&self.commands, &remains.in_one_line),
            of(&self.errors, &remains.without_digits),
        ]
    }
}

impl Remains {
    pub(super) fn new<'p>(passages: impl Iterator<Item = &'p str>) -> Remains {
        let text: Vec<&str> = passages.collect();
        let text = text.join("\n");
        Remains {
            in_one_line: in_one_line(&text),
            without_digits: without_digits(&text),
            text,
        }
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }
}

/// Whose words the result of a call is in.
fn said_by(call: &EventKind) -> Said {
    match call {
        EventKind::Call { call, .. } if call.commands.is_empty() && !call.files.is_empty() => {
            Said::ByFileTool
        }
        EventKind::Call { .. }
        | EventKind::User
        | EventKind::Agent
        | EventKind::Notice
        | EventKind::Result { .. } => Said::ByProgram,
    }
}

/// A share in percent; `None` if there are too few things.
pub(super) fn share(part: usize, whole: usize) -> Option<f64> {
    (whole >= FEWEST).then(|| part as f64 * 100.0 / whole as f64)
}

/// The sentences of 8 to 400 characters.
pub(super) fn sentences_of(text: &str) -> Vec<String> {
    let mut sentences = Vec::new();
    for line in text.lines() {
        let mut rest = line;
        while !rest.is_empty() {
            let ends = |(at, c): (usize, char)| {
                let after = &rest[at + c.len_utf8()..];
                let is_last = match c {
                    '.' | '!' | '?' => after.starts_with(char::is_whitespace),
                    '。' | '！' | '？' => true,
                    _ => false,
                };
                is_last.then_some(at + c.len_utf8())
            };
            let end = rest.char_indices().find_map(ends).unwrap_or(rest.len());
            let sentence = rest[..end].trim();
            if (8..=400).contains(&sentence.chars().count()) {
                sentences.push(sentence.to_owned());
            }
            rest = &rest[end..];
        }
    }
    sentences
}

/// The first 50 characters of a command.
fn begins(command: &str) -> String {
    let begins: String = in_one_line(command).chars().take(50).collect();
    begins.trim_end().to_owned()
}

/// The text with single blanks between words, so that indentation makes no difference.
pub(super) fn in_one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_end_at_signs_and_lines() {
        assert_eq!(
            sentences_of(
                "Use v1.2 of it. Then stop! ok\nand a last line\n请修复这个函数的错误。谢谢你的帮助了吗？"
            ),
            [
                "Use v1.2 of it.",
                "Then stop!",
                "and a last line",
                "请修复这个函数的错误。",
                "谢谢你的帮助了吗？",
            ]
        );
        assert_eq!(sentences_of(&"x".repeat(401)), Vec::<String>::new());
    }

    #[test]
    fn a_command_is_found_where_it_stands_indented() {
        let references = References {
            commands: PatternSet::new(["a\nb", "cd x", "rm y"].map(begins)),
            ..References::default()
        };
        let remains = Remains::new(["- a\n  b", "cd  x"].into_iter());
        let found = references.found(&remains);
        assert_eq!(found[..2], [None, None]);
        assert_eq!(found[2], Some(200.0 / 3.0));
        assert_eq!(found[3], None);
    }
}
