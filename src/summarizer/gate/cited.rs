//! Checks the citations of a model's summary: whether the lines exist and contain what the sentence names.
//!
//! PURE. Removes a wrong citation but keeps its sentence: the names in it are checked separately.

use std::collections::BTreeMap;

use super::sentences::sentences;
use super::{Given, checked_names};
use crate::summarizer::cite::{Citation, citations, without_citations};

/// The lines of a transcript that may be cited, by their numbers from 1.
#[derive(Debug, Default)]
pub struct CitedLines(BTreeMap<u64, Given>);

/// A summary with only its correct citations.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cited {
    /// The summary without the wrong ones.
    pub text: String,
    /// The number of correct citations of lines.
    pub kept: u64,
    /// The number of citations of lines that were removed.
    pub removed: u64,
}

impl CitedLines {
    /// These lines with their texts; a line may have several.
    pub fn new(texts: impl IntoIterator<Item = (u64, String)>) -> Self {
        let mut lines: BTreeMap<u64, Vec<String>> = BTreeMap::new();
        for (line, text) in texts {
            lines.entry(line).or_default().push(text);
        }
        let lines = lines.into_iter();
        CitedLines(
            lines
                .map(|(line, texts)| (line, Given::new(texts)))
                .collect(),
        )
    }

    /// Whether the lines `from` to `to` exist and contain one of a sentence's names; a sentence without names may cite any line.
    fn hold(&self, (from, to): (u64, u64), names: &[&str]) -> bool {
        if from > to || !self.0.contains_key(&from) || !self.0.contains_key(&to) {
            return false;
        }
        let mut lines = self.0.range(from..=to);
        names.is_empty() || lines.any(|(_, line)| names.iter().any(|name| line.has(name)))
    }

    /// Checks all citations of a summary.
    pub fn check(&self, summary: &str) -> Cited {
        let mut cited = Cited {
            text: String::with_capacity(summary.len()),
            kept: 0,
            removed: 0,
        };
        let mut in_code = false;
        for line in summary.split_inclusive('\n') {
            in_code ^= line.trim_start().starts_with("```");
            if in_code || !line.contains("[L") {
                cited.text.push_str(line);
                continue;
            }
            let mut before = String::new();
            for sentence in sentences(line) {
                let said = without_citations(sentence);
                for (part, about) in parts(sentence, &before, &said) {
                    self.check_part(part, about, &mut cited);
                }
                before = said;
            }
        }
        cited
    }

    /// Copies a part of a sentence without its wrong citations; `about` is the text that they refer to.
    fn check_part(&self, part: &str, about: &str, cited: &mut Cited) {
        let names = checked_names(about);
        let mut end = 0;
        for Citation { at, lines } in citations(part) {
            let right: Vec<_> = lines.iter().filter(|l| self.hold(**l, &names)).collect();
            cited.kept += right.len() as u64;
            cited.removed += (lines.len() - right.len()) as u64;
            cited.text.push_str(&part[end..at.start]);
            end = at.end;
            if !right.is_empty() {
                cited.text.push_str(&written(&right));
                continue;
            }
            // Also removes the blank before it; at the start of a line, the one after it.
            if cited.text.ends_with(' ') {
                cited.text.pop();
            } else if (cited.text.is_empty() || cited.text.ends_with('\n'))
                && part[end..].starts_with(' ')
            {
                end += 1;
            }
        }
        cited.text.push_str(&part[end..]);
    }
}

/// Splits a sentence into one or two parts: citations at its beginning refer to the previous sentence.
fn parts<'t>(sentence: &'t str, before: &'t str, said: &'t str) -> Vec<(&'t str, &'t str)> {
    let mut end = 0;
    for Citation { at, .. } in citations(sentence) {
        if !sentence[end..at.start].trim().is_empty() {
            break;
        }
        end = at.end;
    }
    match (end, before.trim().is_empty()) {
        (0, _) | (_, true) => vec![(sentence, said)],
        (end, false) => vec![(&sentence[..end], before), (&sentence[end..], said)],
    }
}

/// A citation of these lines.
fn written(lines: &[&(u64, u64)]) -> String {
    let lines = lines.iter().map(|(from, to)| match from == to {
        true => format!("L{from}"),
        false => format!("L{from}-L{to}"),
    });
    format!("[{}]", lines.collect::<Vec<_>>().join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checked(summary: &str) -> (String, u64, u64) {
        let line = |number: u64, text: &str| (number, text.to_owned());
        let lines = CitedLines::new([
            line(1, "fix lib/parse.rs please"),
            line(4, "{\"file_path\": \"lib/parse.rs\"}"),
            line(4, "parse_line fails"),
            line(5, "all tests pass"),
        ]);
        let Cited {
            text,
            kept,
            removed,
        } = lines.check(summary);
        (text, kept, removed)
    }

    #[test]
    fn right_citations_stay() {
        for (summary, kept) in [
            ("lib/parse.rs is to be fixed [L1]. It works [L5].\n", 2),
            (
                "parse_line fails in lib/parse.rs. [L4] The tests pass. [L5]",
                2,
            ),
            ("- [L4] parse_line fails\n- [L1,L4] lib/parse.rs", 3),
            ("lib/parse.rs was edited [L1-L5], at last.", 1),
            ("```\nsee [L99]\n```\nnothing cited [Lx]", 0),
        ] {
            assert_eq!(checked(summary), (summary.to_owned(), kept, 0), "{summary}");
        }
        // A label that was copied is written as a citation.
        assert_eq!(
            checked("It works [L5 user]."),
            ("It works [L5].".to_owned(), 1, 0)
        );
    }

    #[test]
    fn wrong_citations_leave_their_sentence() {
        for (summary, expected, kept, removed) in [
            ("It works [L2].", "It works.", 0, 1),
            (
                "parse_line fails [L5]. It works [L5].",
                "parse_line fails. It works [L5].",
                1,
                1,
            ),
            (
                "parse_line fails. [L5] It works. [L5]",
                "parse_line fails. It works. [L5]",
                1,
                1,
            ),
            (
                "parse_line fails [L4, L5, L7].",
                "parse_line fails [L4].",
                1,
                2,
            ),
            ("- [L9] lib/parse.rs\n", "- lib/parse.rs\n", 0, 1),
            (
                "It works.\n[L9] lib/parse.rs",
                "It works.\nlib/parse.rs",
                0,
                1,
            ),
            ("It works [L5-L1].", "It works.", 0, 1),
        ] {
            let expected = (expected.to_owned(), kept, removed);
            assert_eq!(checked(summary), expected, "{summary}");
        }
    }
}
