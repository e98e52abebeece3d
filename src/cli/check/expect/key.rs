//! What `expect.toml` can expect: its keys, and the values that they take.

use toml::de::DeValue;

use crate::cli::check::limit::{Limit, Unit};

/// What must hold.
#[derive(Debug, PartialEq)]
pub(in crate::cli::check) enum What {
    Figure(Figure, Limit),
    Status(String),
    Valid(bool),
    Findings(Vec<String>),
    /// A model still reads these.
    Kept(Vec<String>),
    /// A model no longer reads these.
    Gone(Vec<String>),
    Restored(Vec<String>),
    LastTurnsIdentical(usize),
    Need(Limit),
}

/// A figure of the report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::cli::check) enum Figure {
    TokensBefore,
    TokensAfter,
    MessagesBefore,
    MessagesAfter,
    Saved,
    Invented,
}

/// What can be expected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::cli) enum Key {
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
    pub(in crate::cli) const ALL: [Key; 14] = [
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
    pub(in crate::cli) fn name(self) -> &'static str {
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

    /// The values that it takes, in words.
    pub(super) fn takes(self) -> &'static str {
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
            Key::Need => "a percentage from 0 to 100, like \">= 60\"",
        }
    }

    /// What must hold if the key has this value.
    pub(super) fn with(self, value: &DeValue<'_>) -> Option<What> {
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
            Key::Need => limit(value).filter(Limit::is_share).map(What::Need),
        }
    }
}

/// A limit on a figure.
pub(super) fn limit(value: &DeValue<'_>) -> Option<Limit> {
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
