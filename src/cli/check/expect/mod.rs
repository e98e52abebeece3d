//! `expect.toml`: what a case expects besides byte-for-byte goldens.
//!
//! Only reads the text; `met` checks it against a result. A key that does not exist is an error, since a misspelt expectation would
//! expect nothing.

mod key;

use std::path::Path;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::error::{Error, ErrorKind, Result};
use crate::text::nearest;
use key::limit;

pub(in crate::cli) use key::Key;
pub(super) use key::{Figure, What};

/// The percentage of tokens to which `need` and similar figures compact.
const BUDGET: f64 = 10.0;

/// What a case's `expect.toml` says.
#[derive(Debug, PartialEq)]
pub(super) struct Expect {
    /// The command that it asks for.
    pub(super) command: Option<CaseCommand>,
    /// The percentage of tokens to which figures of `eval` compact.
    pub(super) budget: f64,
    /// In the order of its lines.
    pub(super) all: Vec<Expectation>,
}

/// What is run on a case's input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::cli) enum CaseCommand {
    Compact,
    Replay,
    Stats,
}

/// One thing that must hold.
#[derive(Debug, PartialEq)]
pub(super) struct Expectation {
    /// Its name in the file.
    pub(super) name: &'static str,
    /// Its line in the file, from 1.
    pub(super) line: u64,
    pub(super) what: What,
}

impl Expect {
    /// Parses `text`; `path` is named in errors.
    pub(super) fn parse(text: &str, path: &Path) -> Result<Expect> {
        let wrong = |at: usize, message: String| {
            let before = text.as_bytes().get(..at).unwrap_or_default();
            let line = before.iter().filter(|&&b| b == b'\n').count() as u64 + 1;
            Error::new(ErrorKind::Config, message)
                .at(path)
                .on_line(line)
        };
        let root = DeTable::parse(text).map_err(|error| {
            let at = error.span().map_or(0, |span| span.start);
            wrong(
                at,
                format!("not TOML: {}", error.message().replace('\n', ", ")),
            )
        })?;
        let mut expect = Expect {
            command: None,
            budget: BUDGET,
            all: Vec::new(),
        };
        let mut budget_at = None;
        for (name, value) in root.into_inner() {
            let at = name.span().start;
            match (name.get_ref().as_ref(), value.get_ref()) {
                ("command", value) => {
                    let named = value.as_str().and_then(CaseCommand::named);
                    expect.command = Some(named.ok_or_else(|| {
                        wrong(at, "command takes compact, replay or stats".to_owned())
                    })?);
                }
                ("expect", DeValue::Table(table)) => {
                    for (name, value) in table {
                        if name.get_ref() == "budget" {
                            budget_at = Some(name.span().start);
                        }
                        expect.add(name, value, &wrong)?;
                    }
                }
                (name, _) => {
                    let hint = match nearest(name, ["command", "expect"]) {
                        Some(near) => format!("did you mean {near}?"),
                        None => "put expectations below [expect]".to_owned(),
                    };
                    return Err(wrong(at, format!("unknown key {name:?}")).hint(hint));
                }
            }
        }
        let is_need = |one: &Expectation| matches!(one.what, What::Need(_));
        if let Some(at) = budget_at.filter(|_| !expect.all.iter().any(is_need)) {
            return Err(wrong(at, "budget has no effect without need".to_owned())
                .hint("budget is the size to which a session is compacted to measure need"));
        }
        // The parser sorts by name, so the order of lines is restored.
        expect.all.sort_by_key(|expectation| expectation.line);
        Ok(expect)
    }

    fn add(
        &mut self,
        name: &Spanned<std::borrow::Cow<'_, str>>,
        value: &Spanned<DeValue<'_>>,
        wrong: &impl Fn(usize, String) -> Error,
    ) -> Result<()> {
        let at = name.span().start;
        let name = name.get_ref().as_ref();
        if name == "budget" {
            let budget = limit(value.get_ref()).and_then(|limit| limit.within(0.0, 100.0));
            self.budget = budget.ok_or_else(|| {
                wrong(
                    at,
                    "budget takes a percentage above 0, up to 100".to_owned(),
                )
            })?;
            return Ok(());
        }
        let known = Key::ALL.map(Key::name);
        let Some(key) = Key::ALL.into_iter().find(|key| key.name() == name) else {
            let hint = match nearest(name, known.into_iter().chain(["budget"])) {
                Some(near) => format!("did you mean {near}?"),
                None => format!("known keys: {}, budget", known.join(", ")),
            };
            return Err(wrong(at, format!("unknown expectation {name:?}")).hint(hint));
        };
        let what = key.with(value.get_ref());
        let what = what.ok_or_else(|| wrong(at, format!("{name} takes {}", key.takes())))?;
        let line = wrong(at, String::new()).line.unwrap_or(1);
        let name = key.name();
        self.all.push(Expectation { name, line, what });
        Ok(())
    }
}

impl CaseCommand {
    pub(in crate::cli) const ALL: [CaseCommand; 3] = [
        CaseCommand::Compact,
        CaseCommand::Replay,
        CaseCommand::Stats,
    ];

    /// Its name in the file.
    pub(in crate::cli) fn name(self) -> &'static str {
        match self {
            CaseCommand::Compact => "compact",
            CaseCommand::Replay => "replay",
            CaseCommand::Stats => "stats",
        }
    }

    fn named(name: &str) -> Option<CaseCommand> {
        CaseCommand::ALL.into_iter().find(|one| one.name() == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Expect> {
        Expect::parse(text, Path::new("expect.toml"))
    }

    #[test]
    fn expectations_are_read_in_order() {
        let text = "command = \"compact\"\n[expect]\nvalid = true\nsaved = \">= 50%\"\nkept = [\"a\"]\ntokens_after = 9\n";
        let expect = parse(text).unwrap();
        assert_eq!(expect.command, Some(CaseCommand::Compact));
        let keys: Vec<(&str, u64)> = expect.all.iter().map(|e| (e.name, e.line)).collect();
        assert_eq!(
            keys,
            [("valid", 3), ("saved", 4), ("kept", 5), ("tokens_after", 6)]
        );
    }

    #[test]
    fn what_means_nothing_is_an_error_with_its_line() {
        for (text, line, says) in [
            (
                "[expect]\ntoken_after = 3\n",
                2,
                "unknown expectation \"token_after\"",
            ),
            ("[expct]\n", 1, "unknown key \"expct\""),
            (
                "[expect]\n\nsaved = \"much\"\n",
                3,
                "saved takes a number or a limit",
            ),
            ("[expect]\ninvented = \"<= 5%\"\n", 2, "invented takes"),
            (
                "[expect]\nlast_turns_identical = 0\n",
                2,
                "last_turns_identical takes",
            ),
            ("[expect]\nbudget = 0\n", 2, "budget takes"),
            (
                "[expect]\nvalid = true\nbudget = 20\n",
                3,
                "budget has no effect without need",
            ),
            ("[expect]\nneed = \">= 101\"\n", 2, "need takes"),
            (
                "[expect]\nkept = []\n",
                2,
                "kept takes a list of texts, at least one",
            ),
            ("[expect]\ngone = [\"\"]\n", 2, "gone takes"),
            ("command = \"undo\"\n", 1, "command takes"),
            ("[expect\n", 1, "not TOML"),
        ] {
            let error = parse(text).unwrap_err();
            assert_eq!(error.line, Some(line), "{text}");
            assert!(error.message.starts_with(says), "{}", error.message);
        }
        let hint = parse("[expect]\ntoken_after = 3\n").unwrap_err().hint;
        assert_eq!(hint.as_deref(), Some("did you mean tokens_after?"));
    }
}
