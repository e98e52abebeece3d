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
    pub(super) key: Key,
    /// From 1.
    pub(super) line: u64,
    pub(super) what: What,
}

/// What must hold of what a key names.
#[derive(Debug, PartialEq)]
pub(super) enum What {
    Limit(Limit),
    Text(String),
    Truth(bool),
    Texts(Vec<String>),
}

/// What can be expected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Key {
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

/// What a key takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    /// A limit on a count.
    Count,
    /// The same, or a share of what was before.
    CountOrShare,
    /// A percentage, with or without its sign.
    Share,
    /// A whole number.
    Number,
    Text,
    Truth,
    /// None of them means that there are none.
    Names,
    /// One at least: none, or an empty one, would expect nothing.
    Texts,
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
    pub(super) fn name(self) -> &'static str {
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

    fn form(self) -> Form {
        match self {
            Key::TokensBefore | Key::MessagesBefore | Key::Invented => Form::Count,
            Key::TokensAfter | Key::MessagesAfter | Key::Saved => Form::CountOrShare,
            Key::Need => Form::Share,
            Key::LastTurnsIdentical => Form::Number,
            Key::Status => Form::Text,
            Key::Valid => Form::Truth,
            Key::Findings => Form::Names,
            Key::Kept | Key::Gone | Key::Restored => Form::Texts,
        }
    }
}

impl Form {
    /// What it takes, for people.
    fn takes(self) -> &'static str {
        match self {
            Form::Count => "a number or a limit like \"<= 9000\"",
            Form::CountOrShare => "a number or a limit like \"<= 9000\" or \">= 50%\"",
            Form::Share => "a percentage like \">= 60\"",
            Form::Number => "a whole number above 0",
            Form::Text => "a text",
            Form::Truth => "true or false",
            Form::Names => "a list of names",
            Form::Texts => "a list of texts, at least one, none of them empty",
        }
    }

    fn fit(self, value: &DeValue<'_>) -> Option<What> {
        match self {
            Form::Count | Form::CountOrShare | Form::Share | Form::Number => {
                let text = match value {
                    DeValue::String(text) if self != Form::Number => text.to_string(),
                    DeValue::Integer(number) if number.radix() == 10 => number.as_str().to_owned(),
                    DeValue::Float(number) => number.as_str().to_owned(),
                    _ => return None,
                };
                let limit = Limit::parse(&text)?;
                let fits = match (self, limit.unit) {
                    (Form::Number, _) => text.parse().is_ok_and(|number: u32| number > 0),
                    (Form::Count, unit) => unit == Unit::One,
                    (Form::CountOrShare | Form::Share, _) => true,
                    (Form::Text | Form::Truth | Form::Names | Form::Texts, _) => false,
                };
                fits.then_some(What::Limit(limit))
            }
            Form::Text => Some(What::Text(value.as_str()?.to_owned())),
            Form::Truth => Some(What::Truth(value.as_bool()?)),
            Form::Names | Form::Texts => {
                let texts = value.as_array()?.iter();
                let texts = texts.map(|text| text.get_ref().as_str().map(str::to_owned));
                let texts: Vec<String> = texts.collect::<Option<_>>()?;
                let says_nothing =
                    texts.is_empty() || texts.iter().any(|text| text.trim().is_empty());
                (self == Form::Names || !says_nothing).then_some(What::Texts(texts))
            }
        }
    }
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
            let limit = Form::Share.fit(value.get_ref());
            let budget = match limit {
                Some(What::Limit(limit)) => limit.within(0.0, 100.0),
                Some(What::Text(_) | What::Truth(_) | What::Texts(_)) | None => None,
            };
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
        let what = key.form().fit(value.get_ref());
        let what = what.ok_or_else(|| wrong(at, format!("{name} takes {}", key.form().takes())))?;
        let line = wrong(at, String::new()).line.unwrap_or(1);
        self.all.push(Expectation { key, line, what });
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
        let keys: Vec<(&str, u64)> = expect.all.iter().map(|e| (e.key.name(), e.line)).collect();
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
