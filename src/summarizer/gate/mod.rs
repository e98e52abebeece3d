//! Judges a model's summary before it is used: a summary may omit things, and must not add any.
//!
//! PURE. A name that is not in the model's input cannot come from the transcript, however plausible it looks: sentences that
//! contain one are removed. `floor` decides whether the rest is a summary at all. Never queries a model, and never rewrites a
//! sentence.

mod cited;
mod floor;
mod given;
mod sentences;

use std::collections::BTreeSet;

use super::extractive::{Class, named};

pub use cited::{Cited, CitedLines};
pub use floor::{NoSummary, floor};
pub use given::Given;

/// A summary and what is wrong with it.
#[derive(Debug, Clone, PartialEq)]
pub struct Checked {
    /// The summary without the sentences that contain an invented name.
    pub text: String,
    /// The invented names, each once, in order.
    pub invented: Vec<String>,
    /// The number of different names looked up.
    pub names: u64,
    /// The number of sentences removed.
    pub dropped: u64,
}

impl Checked {
    /// The share of invented names, from 0 to 1.
    pub fn share(&self) -> f64 {
        match self.names {
            0 => 0.0,
            names => self.invented.len() as f64 / names as f64,
        }
    }
}

/// Looks up each name of a summary in its writer's input.
pub fn check(summary: &str, given: &Given) -> Checked {
    let mut names = BTreeSet::new();
    let mut invented = Vec::new();
    for name in checked_names(summary) {
        if names.insert(name) && !given.has(name) {
            invented.push(name);
        }
    }
    let is_bad = |sentence: &str| {
        let mut found = checked_names(sentence).into_iter();
        found.any(|name| invented.contains(&name))
    };
    let (text, dropped) = match invented.is_empty() {
        true => (summary.trim_end().to_owned(), 0),
        false => sentences::without(summary, is_bad),
    };
    Checked {
        text,
        names: names.len() as u64,
        invented: invented.into_iter().map(str::to_owned).collect(),
        dropped,
    }
}

/// The names in a text whose invention would mislead: paths, addresses, ids, flags, and identifiers with a dot, a colon, an
/// underscore or a call. Figures, names of products and languages (`JavaScript`) and ranges are prose.
fn checked_names(text: &str) -> Vec<&str> {
    let mut names = Vec::new();
    named(text, |class, name| {
        let after = name.as_ptr() as usize - text.as_ptr() as usize + name.len();
        let is_checked = match class {
            Class::Path | Class::Url | Class::Id | Class::Flag => true,
            Class::Symbol => {
                name.contains(['_', '.']) || name.contains("::") || text[after..].starts_with('(')
            }
            Class::Error | Class::Number => false,
        };
        if is_checked {
            names.push(name);
        }
    });
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checked(summary: &str) -> Checked {
        let given = Given::new([
            "Read lib/app/parse.rs: parse_line fails at 4711, window.getSelection() too",
            "fix app-gqc.1 and app-gqc.3, see #12; the docs are in /home/u/app/docs/guide",
            "cargo test --no-run; https://example.org/a?b=1 deadbeef1",
        ]);
        check(summary, &given)
    }

    fn invented(summary: &str) -> Vec<String> {
        checked(summary).invented
    }

    #[test]
    fn names_that_were_not_given_are_found() {
        for (summary, name) in [
            ("Fixed lib/app/lexer.rs.", "lib/app/lexer.rs"),
            ("Fixed parse_word too.", "parse_word"),
            ("See #13 for it.", "#13"),
            ("Run it with --locked.", "--locked"),
            ("At commit 0123abcd we stopped.", "0123abcd"),
            ("See https://example.org/b now.", "https://example.org/b"),
            ("Called getRange() there.", "getRange"),
            ("It uses Parser::next.", "Parser::next"),
            ("Files in lib/app/other/deep.", "lib/app/other/deep"),
            // A part of a name is another name.
            ("Fixed app/parse.r first.", "app/parse.r"),
        ] {
            assert_eq!(invented(summary), [name], "{summary}");
        }
    }

    #[test]
    fn prose_and_what_was_given_are_none() {
        for summary in [
            "Fixed parse_line in lib/app/parse.rs and app/parse.rs (4711).",
            "JavaScript, TypeScript and GitHub; Elixir/Phoenix/Ash; compiled/tested/committed; and/or",
            "Tasks gqc.1-3 are done, lines 7-13, 43 tests, 99999 of them.",
            "Window.getSelection() is used, Lib/App/Parse.rs.",
            "The docs (docs/guide) and `https://example.org/a?b=1`.",
            "Used --no-run on deadbeef1.",
        ] {
            assert!(
                invented(summary).is_empty(),
                "{summary}: {:?}",
                invented(summary)
            );
        }
    }

    #[test]
    fn only_the_sentences_that_hold_them_leave() {
        let found = checked(
            "## Done\n\n- Fixed parse_line. Then parse_word, e.g. with `a. b`! It works.\n- Removed lib/gone.rs.\n\nNext: #12.\n",
        );
        assert_eq!(
            found.text,
            "## Done\n\n- Fixed parse_line. It works.\n\nNext: #12."
        );
        assert_eq!(found.invented, ["parse_word", "lib/gone.rs"]);
        assert_eq!((found.dropped, found.names), (2, 4));
        assert!((found.share() - 0.5).abs() < 1e-9);
    }
}
