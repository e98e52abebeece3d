//! `expect.toml`: what a case expects where no golden says it byte for byte.
//!
//! Reads the text alone; what holds of a result is `met`'s to say. A key that does not exist is an error, since a misspelt
//! expectation would expect nothing.

use std::path::Path;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::limit::{Limit, Unit};
use crate::error::{Error, ErrorKind, Result};
use crate::text::nearest;

/// The percentage of tokens to which `need` and its like compact.
const BUDGET: f64 = 10.0;

/// What a case's `expect.toml` says.
#[derive(Debug, PartialEq)]
pub(super) struct Expect {
    /// The command that it asks for.
    pub(super) command: Option<CaseCommand>,
    /// To how many percent of the tokens figures of `eval` compact.
    pub(super) budget: f64,
    /// In the order of its lines.
    pub(super) all: Vec<Expectation>,
}

/// What is run on a case's input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CaseCommand {
    Compact,
    Replay,
    Stats,
}

/// One thing that must hold.
#[derive(Debug, PartialEq)]
pub(super) struct Expectation {
    /// What it is called in the file.
    pub(super) name: &'static str,
    /// From 1.
    pub(super) line: u64,
    pub(super) what: What,
}

/// What must hold.
#[derive(Debug, PartialEq)]
pub(super) enum What {
    Figure(Figure, Limit),
    Status(String),
    Valid(bool),
    Findings(Vec<String>),
    /// A model still reads these.
    Kept(Vec<String>),
    /// A model does not read these any more.
    Gone(Vec<String>),
    Restored(Vec<String>),
    LastTurnsIdentical(usize),
    Need(Limit),
}

/// A figure of the report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Figure {
    TokensBefore,
    TokensAfter,
    MessagesBefore,
    MessagesAfter,
    Saved,
    Invented,
}

/// What can be expected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Key {
    TokensBefore,
    TokensAfter,
    MessagesBefore,
    MessagesAfter,
    Saved,
    Status,
    Valid,
    Findings,
    Kept,
    Gone,
    Restored,
    LastTurnsIdentical,
    Invented,
    Need,
}

impl Key {
    const ALL: [Key; 14] = [
        Key::TokensBefore,
        Key::TokensAfter,
        Key::MessagesBefore,
        Key::MessagesAfter,
        Key::Saved,
        Key::Status,
        Key::Valid,
        Key::Findings,
        Key::Kept,
        Key::Gone,
        Key::Restored,
        Key::LastTurnsIdentical,
        Key::Invented,
        Key::Need,
    ];

    /// Its name in the file.
    fn name(self) -> &'static str {
        match self {
            Key::TokensBefore => "tokens_before",
            Key::TokensAfter => "tokens_after",
            Key::MessagesBefore => "messages_before",
            Key::MessagesAfter => "messages_after",
            Key::Saved => "saved",
            Key::Status => "status",
            Key::Valid => "valid",
            Key::Findings => "findings",
            Key::Kept => "kept",
            Key::Gone => "gone",
            Key::Restored => "restored",
            Key::LastTurnsIdentical => "last_turns_identical",
            Key::Invented => "invented",
            Key::Need => "need",
        }
    }

    /// What it takes, for people.
    fn takes(self) -> &'static str {
        match self {
            Key::TokensBefore | Key::MessagesBefore | Key::Invented => {
                "a number or a limit like \"<= 9000\""
            }
            Key::TokensAfter | Key::MessagesAfter | Key::Saved => {
                "a number or a limit like \"<= 9000\" or \">= 50%\""
            }
            Key::Status => "a text",
            Key::Valid => "true or false",
            Key::Findings => "a list of names",
            Key::Kept | Key::Gone | Key::Restored => {
                "a list of texts, at least one, none of them empty"
            }
            Key::LastTurnsIdentical => "a whole number above 0",
            Key::Need => "a percentage like \">= 60\"",
        }
    }

    /// What must hold if the key has this value.
    fn with(self, value: &DeValue<'_>) -> Option<What> {
        let share = |figure| Some(What::Figure(figure, limit(value)?));
        let count = |figure| {
            let limit = limit(value).filter(|limit| limit.unit == Unit::One)?;
            Some(What::Figure(figure, limit))
        };
        // None, or an empty one, would expect nothing.
        let some = || {
            let texts = texts(value).filter(|texts| !texts.is_empty())?;
            texts
                .iter()
                .all(|text| !text.trim().is_empty())
                .then_some(texts)
        };
        match self {
            Key::TokensBefore => count(Figure::TokensBefore),
            Key::TokensAfter => share(Figure::TokensAfter),
            Key::MessagesBefore => count(Figure::MessagesBefore),
            Key::MessagesAfter => share(Figure::MessagesAfter),
            Key::Saved => share(Figure::Saved),
            Key::Invented => count(Figure::Invented),
            Key::Status => Some(What::Status(value.as_str()?.to_owned())),
            Key::Valid => value.as_bool().map(What::Valid),
            Key::Findings => texts(value).map(What::Findings),
            Key::Kept => some().map(What::Kept),
            Key::Gone => some().map(What::Gone),
            Key::Restored => some().map(What::Restored),
            Key::LastTurnsIdentical => {
                let number: usize = value.as_integer()?.as_str().parse().ok()?;
                (number > 0).then_some(What::LastTurnsIdentical(number))
            }
            Key::Need => limit(value).map(What::Need),
        }
    }
}

fn limit(value: &DeValue<'_>) -> Option<Limit> {
    match value {
        DeValue::String(text) => Limit::parse(text),
        DeValue::Integer(number) if number.radix() == 10 => Limit::parse(number.as_str()),
        DeValue::Float(number) => Limit::parse(number.as_str()),
        _ => None,
    }
}

fn texts(value: &DeValue<'_>) -> Option<Vec<String>> {
    let texts = value.as_array()?.iter();
    texts
        .map(|text| text.get_ref().as_str().map(str::to_owned))
        .collect()
}

impl Expect {
    /// What `text` says; `path` is named in errors.
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
                        expect.add(name, value, &wrong)?;
                    }
                }
                (name, _) => {
                    let hint = match nearest(name, ["command", "expect"]) {
                        Some(near) => format!("did you mean {near}?"),
                        None => "what is expected stands below [expect]".to_owned(),
                    };
                    return Err(wrong(at, format!("unknown key {name:?}")).hint(hint));
                }
            }
        }
        // The parser sorts by name.
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
                None => format!("known are {}, budget", known.join(", ")),
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
    fn named(name: &str) -> Option<CaseCommand> {
        match name {
            "compact" => Some(CaseCommand::Compact),
            "replay" => Some(CaseCommand::Replay),
            "stats" => Some(CaseCommand::Stats),
            _ => None,
        }
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
