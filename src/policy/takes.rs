//! What a key takes: its type and range, in words for an error and as a check of a value.
//!
//! A value that passes here deserialises; nothing is checked twice.

use std::fmt;

use serde::Deserialize;
use serde_json::Value;
use toml::Spanned;
use toml::de::{DeValue, ValueDeserializer};

use crate::text::thousands;

use super::template::{Slot, Template};

/// The largest number that a key takes: beyond any transcript, and small enough that sums of such numbers never overflow
/// and each is exact as a floating-point number.
pub(super) const MOST: i64 = 1_000_000_000_000;

/// The values that a key takes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Takes {
    /// A whole number, both ends included.
    Whole { least: i64, most: i64 },
    /// A number from 0 to `most`.
    UpTo { most: f64 },
    /// A number above 0.
    Positive,
    /// True or false.
    Flag,
    /// A string.
    Text,
    /// A text with substitutions, "" for none.
    Template {
        /// What it must hold.
        must: &'static [Slot],
        /// What it may hold besides.
        may: &'static [Slot],
    },
    /// One of these words.
    One(&'static [&'static str]),
    /// A list of these words. Their order and repetition say nothing, so that they are put in the order given here.
    Any(&'static [&'static str]),
    /// A list of strings.
    Texts,
    /// A table of strings.
    Table,
}

impl Takes {
    /// `value` as this key holds it, or `None` where it does not fit.
    pub(super) fn fit(self, value: &Value) -> Option<Value> {
        match self {
            Takes::Whole { least, most } => {
                let n = value.as_i64().filter(|n| (least..=most).contains(n))?;
                Some(Value::from(n))
            }
            Takes::UpTo { most } => number(value, |n| (0.0..=most).contains(&n)),
            Takes::Positive => number(value, |n| n > 0.0 && n <= MOST as f64),
            Takes::Flag => value.is_boolean().then(|| value.clone()),
            Takes::Text => value.is_string().then(|| value.clone()),
            Takes::Template { must, may } => {
                let template = Template::from(value.as_str()?.to_owned());
                let known = Slot::ALL
                    .into_iter()
                    .filter(|slot| template.holds(*slot))
                    .all(|slot| must.contains(&slot) || may.contains(&slot));
                let whole = must.iter().all(|slot| template.holds(*slot));
                let fits = template.is_empty() || known && whole && template.is_recognisable();
                fits.then(|| value.clone())
            }
            Takes::One(words) => words.contains(&value.as_str()?).then(|| value.clone()),
            Takes::Any(words) => {
                let given = strings(value)?;
                let known = given.iter().all(|word| words.contains(word));
                known.then(|| {
                    words
                        .iter()
                        .copied()
                        .filter(|w| given.contains(w))
                        .collect()
                })
            }
            Takes::Texts => strings(value).map(|_| value.clone()),
            Takes::Table => {
                let fits = value.as_object()?.values().all(Value::is_string);
                fits.then(|| value.clone())
            }
        }
    }

    /// A value given as text (a flag, an environment name): TOML where that fits, else the text as it stands, and for
    /// a list its parts between commas.
    pub(super) fn fit_text(self, text: &str) -> Option<Value> {
        let is_list = matches!(self, Takes::Any(_) | Takes::Texts);
        let written = DeValue::parse(text.trim()).ok().and_then(json);
        if let Some(value) = written.as_ref().and_then(|value| self.fit(value)) {
            return Some(value);
        }
        let bare = match written {
            Some(Value::String(quoted)) => quoted,
            // Brackets are meant as a list by a key that takes one, and as text by any other.
            Some(Value::Array(_)) if is_list => return None,
            Some(_) | None => text.to_owned(),
        };
        if !is_list {
            return self.fit(&Value::String(bare));
        }
        let parts = bare.split(',').map(str::trim);
        self.fit(&parts.filter(|part| !part.is_empty()).collect())
    }

    /// The words that an error may propose.
    pub(super) fn words(self) -> &'static [&'static str] {
        match self {
            Takes::One(words) | Takes::Any(words) => words,
            Takes::Whole { .. }
            | Takes::UpTo { .. }
            | Takes::Positive
            | Takes::Flag
            | Takes::Text
            | Takes::Template { .. }
            | Takes::Texts
            | Takes::Table => &[],
        }
    }
}

/// A TOML value as JSON, or `None` where JSON has no such number.
pub(super) fn json(value: Spanned<DeValue<'_>>) -> Option<Value> {
    Value::deserialize(ValueDeserializer::from(value)).ok()
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
impl fmt::Display for Takes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Takes::Whole { least, most } if least == most => write!(f, "the number {least}"),
            Takes::Whole { least, most } => {
                let most = thousands(most.unsigned_abs());
                write!(f, "a whole number from {least} to {most}")
            }
            Takes::UpTo { most } => write!(f, "a number from 0 to {most}"),
            Takes::Positive => {
                let most = thousands(MOST.unsigned_abs());
                write!(f, "a number above 0, up to {most}")
            }
            Takes::Flag => f.write_str("true or false"),
            Takes::Text => f.write_str("a string"),
            Takes::Template { must, may } => {
                let clauses: Vec<_> = [("must hold", must), ("may hold", may)]
                    .into_iter()
                    .filter(|(_, slots)| !slots.is_empty())
                    .map(|(verb, slots)| {
                        let written: Vec<_> = slots.iter().map(|slot| slot.written()).collect();
                        format!("{verb} {}", written.join(", "))
                    })
                    .collect();
                write!(f, "a text of its own that {}", clauses.join(" and "))?;
                if must.len() + may.len() > 1 {
                    f.write_str(", each apart from the others")?;
                }
                Ok(())
            }
            Takes::One(words) => write!(f, "one of \"{}\"", words.join("\", \"")),
            Takes::Any(words) => write!(f, "a list of any of \"{}\"", words.join("\", \"")),
            Takes::Texts => f.write_str("a list of strings"),
            Takes::Table => f.write_str("a table of strings"),
        }
    }
}
