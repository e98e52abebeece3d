//! The values that a key accepts: its type and range, as a check and in words for an error.
//!
//! A value that passes here can be deserialised; nothing is checked twice.

use std::fmt;

use serde::Deserialize;
use serde_json::Value;
use toml::Spanned;
use toml::de::{DeValue, ValueDeserializer};

use crate::text::thousands;

use super::choice::Word;
use super::prompt::{
    INSTRUCTIONS_PLACEHOLDER, PATH_FOLLOWS, Prompt, SIZE_PLACEHOLDER, WORDS_FOLLOW,
};
use super::template::{Slot, Template};

/// The largest number that a key accepts: beyond any transcript, and small enough that sums of such numbers never
/// overflow and each is exact as a floating-point number.
pub(super) const MAX: i64 = 1_000_000_000_000;

/// The values that a key accepts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Domain {
    /// A whole number, both ends included.
    Integer { min: i64, max: i64 },
    /// A number from 0 to `max`.
    UpTo { max: f64 },
    /// A number above 0.
    Positive,
    /// True or false.
    Boolean,
    /// A string.
    Text,
    /// A text with substitutions, "" for none.
    Template {
        /// What it must contain.
        required: &'static [Slot],
        /// What it may contain besides.
        optional: &'static [Slot],
    },
    /// One of these words.
    OneOf(&'static [Word]),
    /// One of these words, the user's own words, or a file that contains them.
    Prompt(&'static [Word]),
    /// A list of these words. Neither order nor repetition means anything: the list is kept in the order given here.
    AnyOf(&'static [Word]),
    /// A list of strings.
    TextList,
    /// A table of strings.
    TextTable,
    /// A table of parameters for requests, of any values.
    Parameters,
}

/// Parameters that the user may not set: they determine what is requested, and that there is one answer in one piece.
const RESERVED: [&str; 5] = ["model", "messages", "system", "stream", "n"];

impl Domain {
    /// `value` in the form that a policy holds, or `None` if the key does not accept it.
    pub(super) fn fit(self, value: &Value) -> Option<Value> {
        match self {
            Domain::Integer { min, max } => {
                let n = value.as_i64().filter(|n| (min..=max).contains(n))?;
                Some(Value::from(n))
            }
            Domain::UpTo { max } => number(value, |n| (0.0..=max).contains(&n)),
            Domain::Positive => number(value, |n| n > 0.0 && n <= MAX as f64),
            Domain::Boolean => value.is_boolean().then(|| value.clone()),
            Domain::Text => value.is_string().then(|| value.clone()),
            Domain::Template { required, optional } => {
                let template = Template::from(value.as_str()?.to_owned());
                let known = Slot::ALL
                    .into_iter()
                    .filter(|slot| template.holds(*slot))
                    .all(|slot| required.contains(&slot) || optional.contains(&slot));
                let whole = required.iter().all(|slot| template.holds(*slot));
                let fits = template.is_empty() || known && whole && template.is_recognisable();
                fits.then(|| value.clone())
            }
            Domain::OneOf(_) => {
                let given = value.as_str()?;
                self.words()
                    .any(|word| word == given)
                    .then(|| value.clone())
            }
            Domain::Prompt(_) => {
                let given = value.as_str()?;
                let fits = match (Prompt::path_in(given), given.strip_prefix(WORDS_FOLLOW)) {
                    (Some(path), _) => !path.trim().is_empty(),
                    (None, Some(words)) => Prompt::written(words).is_ok(),
                    (None, None) => self.words().any(|word| word == given),
                };
                fits.then(|| value.clone())
            }
            Domain::AnyOf(_) => {
                let given = strings(value)?;
                let known = given.iter().all(|word| self.words().any(|w| w == *word));
                known.then(|| self.words().filter(|word| given.contains(word)).collect())
            }
            Domain::TextList => strings(value).map(|_| value.clone()),
            Domain::TextTable => {
                let fits = value.as_object()?.values().all(Value::is_string);
                fits.then(|| value.clone())
            }
            Domain::Parameters => {
                let mut names = value.as_object()?.keys();
                let fits = names.all(|name| !RESERVED.contains(&name.as_str())) && is_plain(value);
                fits.then(|| value.clone())
            }
        }
    }

    /// Converts a value given as text (by a flag or a variable): TOML if that fits, otherwise the text itself; for a list, its
    /// comma-separated parts.
    pub(super) fn fit_text(self, text: &str) -> Option<Value> {
        let is_list = matches!(self, Domain::AnyOf(_) | Domain::TextList);
        let written = DeValue::parse(text.trim()).ok().and_then(json);
        if let Some(value) = written.as_ref().and_then(|value| self.fit(value)) {
            return Some(value);
        }
        if self == Domain::Parameters {
            // JSON, as in the documentation of servers.
            return self.fit(&serde_json::from_slice(text.trim().as_bytes()).ok()?);
        }
        let bare = match written {
            Some(Value::String(quoted)) => quoted,
            // For a key that takes a list, brackets mean a list; for any other key, text.
            Some(Value::Array(_) | Value::Object(_)) if is_list => return None,
            // The same holds for unclosed quotation marks.
            None if is_list && text.trim_start().starts_with(['"', '\'', '[', '{']) => return None,
            Some(_) | None => text.to_owned(),
        };
        if !is_list {
            return self.fit(&Value::String(bare));
        }
        let parts = bare.split(',').map(str::trim);
        self.fit(&parts.filter(|part| !part.is_empty()).collect())
    }

    /// The words that a choice consists of; none for other keys.
    pub(super) fn words(self) -> impl Iterator<Item = &'static str> {
        self.choices().iter().map(|word| word.name)
    }

    /// Whether it accepts any text, in a list or alone.
    pub(super) fn is_text(self) -> bool {
        match self {
            Domain::Text | Domain::TextList | Domain::Template { .. } | Domain::Prompt(_) => true,
            Domain::Integer { .. }
            | Domain::UpTo { .. }
            | Domain::Positive
            | Domain::Boolean
            | Domain::OneOf(_)
            | Domain::AnyOf(_)
            | Domain::TextTable
            | Domain::Parameters => false,
        }
    }

    fn quoted_words(self) -> String {
        let quoted: Vec<String> = self.words().map(|word| format!("\"{word}\"")).collect();
        quoted.join(", ")
    }

    /// The words of a choice with their meanings.
    pub(super) fn choices(self) -> &'static [Word] {
        match self {
            Domain::OneOf(words) | Domain::AnyOf(words) | Domain::Prompt(words) => words,
            Domain::Integer { .. }
            | Domain::UpTo { .. }
            | Domain::Positive
            | Domain::Boolean
            | Domain::Text
            | Domain::Template { .. }
            | Domain::TextList
            | Domain::TextTable
            | Domain::Parameters => &[],
        }
    }
}

/// A TOML value as JSON, or `None` if JSON has no such number.
pub(super) fn json(value: Spanned<DeValue<'_>>) -> Option<Value> {
    Value::deserialize(ValueDeserializer::from(value)).ok()
}

/// Whether TOML and JSON write a value in the same way.
fn is_plain(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Bool(_) | Value::Number(_) | Value::String(_) => true,
        Value::Array(items) => items.iter().all(is_plain),
        // The TOML parser represents a date this way.
        Value::Object(fields) => fields
            .iter()
            .all(|(name, value)| !name.starts_with("$__toml") && is_plain(value)),
    }
}

/// A number as a float that fits; -0 becomes 0, since equal policies have equal hashes.
fn number(value: &Value, fits: impl Fn(f64) -> bool) -> Option<Value> {
    let n = value.as_f64().filter(|n| fits(*n))?;
    Some(Value::from(n + 0.0))
}

fn strings(value: &Value) -> Option<Vec<&str>> {
    value.as_array()?.iter().map(Value::as_str).collect()
}

/// What follows "takes" in an error.
impl fmt::Display for Domain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Domain::Integer { min, max } if min == max => write!(f, "the number {min}"),
            Domain::Integer { min, max } => {
                let max = thousands(max.unsigned_abs());
                write!(f, "a whole number from {min} to {max}")
            }
            Domain::UpTo { max } => write!(f, "a number from 0 to {max}"),
            Domain::Positive => {
                let max = thousands(MAX.unsigned_abs());
                write!(f, "a number above 0, up to {max}")
            }
            Domain::Boolean => f.write_str("true or false"),
            Domain::Text => f.write_str("a string"),
            Domain::Template { required, optional } => {
                let clauses: Vec<_> = [("must hold", required), ("may hold", optional)]
                    .into_iter()
                    .filter(|(_, slots)| !slots.is_empty())
                    .map(|(verb, slots)| {
                        let written: Vec<_> = slots.iter().map(|slot| slot.written()).collect();
                        format!("{verb} {}", written.join(", "))
                    })
                    .collect();
                write!(f, "a text of its own that {}", clauses.join(" and "))?;
                if required.len() + optional.len() > 1 {
                    f.write_str(", each apart from the others")?;
                }
                Ok(())
            }
            Domain::OneOf(_) => write!(f, "one of {}", self.quoted_words()),
            Domain::Prompt(_) => write!(
                f,
                "one of {}, \"{PATH_FOLLOWS}PATH\", or \"{WORDS_FOLLOW}WORDS\" with no other placeholders than \
                 {SIZE_PLACEHOLDER} and {INSTRUCTIONS_PLACEHOLDER}",
                self.quoted_words()
            ),
            Domain::AnyOf(_) => write!(f, "a list of any of {}", self.quoted_words()),
            Domain::TextList => f.write_str("a list of strings"),
            Domain::TextTable => f.write_str("a table of strings"),
            Domain::Parameters => write!(
                f,
                "a table of parameters other than {}, without null, dates and infinite numbers",
                RESERVED.join(", ")
            ),
        }
    }
}
