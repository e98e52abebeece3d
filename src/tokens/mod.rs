//! Token counts: estimates of what a model's tokenizer would count.
//!
//! An [`Estimator`] follows a policy's `[tokens]`. It measures in the method's own unit (characters, weights) and rounds where the
//! policy says, so that sums agree with the systems that the presets describe. [`Sizes`] caches the size of every live block, so
//! that after an edit only the texts of the edited line are measured again.
//!
//! Recorded usage is not used: it is out of date after the first edit.

mod block_lengths;
mod blocks;
mod bpe;
mod classes;
mod json;
mod lengths;
mod level;
mod messages;
mod repr;
mod sizes;
mod split;
mod usage;
mod voices;

use std::iter::Sum;
use std::ops::AddAssign;

use crate::error::Result;
use crate::policy::{Images, Method, Per, Rounding, Scope, Tokens, Unit};
use crate::scan::Text;

pub use block_lengths::BlockLengths;
use bpe::Bpe;
use lengths::{Chars, Lengths};
pub use level::level;
pub use sizes::Sizes;
pub use split::split;
pub use usage::{Usage, usage};
pub use voices::{Voice, Voices};

/// A size before rounding, in the estimator's unit, and the flat tokens of content without text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Size {
    /// Characters (`chars`), ten-thousandths of a token (`classes`) or tokens (`bpe`).
    measure: u64,
    /// Tokens of pictures and documents.
    flat: u32,
}

/// The size of a window to which messages are added one by one.
#[derive(Debug, Clone, Copy, Default)]
pub struct Growing {
    sum: Size,
    /// The tokens of each message, added up.
    tokens: u64,
    count: u64,
}

impl AddAssign for Size {
    fn add_assign(&mut self, other: Size) {
        self.measure += other.measure;
        self.flat = self.flat.saturating_add(other.flat);
    }
}

impl Sum for Size {
    fn sum<I: Iterator<Item = Size>>(sizes: I) -> Size {
        sizes.fold(Size::default(), |mut sum, size| {
            sum += size;
            sum
        })
    }
}

/// Counts tokens as a policy specifies.
#[derive(Debug, Clone)]
pub struct Estimator {
    settings: Tokens,
    measure: Measure,
}

/// A counting method.
#[derive(Debug, Clone, Copy)]
enum Measure {
    Chars(Unit),
    Classes,
    Bpe(Bpe),
}

impl Estimator {
    /// An estimator for a policy's `[tokens]`. For the method `bpe`, the vocabulary is unpacked here, once per process.
    ///
    /// # Errors
    /// If the vocabulary is not built in.
    pub fn new(settings: &Tokens) -> Result<Self> {
        let measure = match settings.method {
            Method::Chars => Measure::Chars(settings.unit),
            Method::Classes => Measure::Classes,
            Method::Bpe => Measure::Bpe(Bpe::new(settings.encoding)?),
        };
        Ok(Estimator {
            settings: settings.clone(),
            measure,
        })
    }

    /// Whether this estimator counts the same way as `other`.
    pub fn counts_as(&self, other: &Estimator) -> bool {
        self.settings == other.settings
    }

    /// The estimator's name in a report.
    pub fn name(&self) -> &'static str {
        self.settings.method.name()
    }

    /// Whether counts are exact for the vocabulary that the policy names.
    pub fn is_exact(&self) -> bool {
        match self.settings.method {
            Method::Bpe => true,
            Method::Chars | Method::Classes => false,
        }
    }

    /// A size in tokens, rounded.
    pub fn tokens(&self, size: Size) -> u64 {
        let text = match self.settings.method {
            Method::Chars => {
                let tokens = size.measure as f64 / self.settings.chars_per_token;
                match self.settings.rounding {
                    Rounding::Floor => tokens.floor() as u64,
                    Rounding::Ceil => tokens.ceil() as u64,
                }
            }
            Method::Classes => (size.measure + classes::TOKEN / 2) / classes::TOKEN,
            Method::Bpe => size.measure,
        };
        text + u64::from(size.flat)
    }

    /// The size of a plain text.
    pub fn text(&self, text: &str) -> Size {
        Size {
            measure: self.plain(text),
            flat: 0,
        }
    }

    /// The tokens of a conversation whose messages have these sizes.
    pub fn total(&self, sizes: impl IntoIterator<Item = Size>) -> u64 {
        let mut growing = Growing::default();
        for size in sizes {
            self.add(&mut growing, size);
        }
        self.grown(growing)
    }

    /// Adds a message to a window.
    pub fn add(&self, growing: &mut Growing, size: Size) {
        growing.sum += size;
        growing.tokens += self.tokens(size);
        growing.count += 1;
    }

    /// The tokens of a window as it is now.
    pub fn grown(&self, growing: Growing) -> u64 {
        self.window(growing.sum, growing.tokens, growing.count)
    }

    /// The tokens of a conversation after each of its messages.
    fn growing(&self, sizes: impl IntoIterator<Item = Size>) -> impl Iterator<Item = u64> {
        let mut growing = Growing::default();
        sizes.into_iter().map(move |size| {
            self.add(&mut growing, size);
            self.grown(growing)
        })
    }

    /// The size of compact JSON, with its pictures counted as the policy says.
    fn pictured(&self, json: &[u8]) -> u64 {
        match self.settings.images {
            Images::Flat => self.shown(&json::without_pictures(json)),
            Images::Written => self.shown(json),
        }
    }

    /// The size of compact JSON in the notation of the policy.
    fn shown(&self, json: &[u8]) -> u64 {
        match self.settings.scope {
            Scope::HistoryRepr => self.raw(&repr::of_json(json)),
            Scope::Content
            | Scope::MessageJson
            | Scope::HistoryJson
            | Scope::Strings
            | Scope::RoleContent => self.raw(json),
        }
    }

    /// The tokens of a window of `count` messages, given their total size and the sum of their tokens.
    fn window(&self, mut size: Size, tokens: u64, count: u64) -> u64 {
        match self.settings.per {
            Per::Message => tokens,
            Per::Conversation => {
                // The brackets of the list and the separators of its elements.
                let (bracket, separator) = match self.settings.scope {
                    Scope::HistoryJson => (self.plain("["), self.plain(",")),
                    Scope::HistoryRepr => (self.plain("["), self.plain(", ")),
                    Scope::Content | Scope::MessageJson | Scope::Strings | Scope::RoleContent => {
                        (0, 0)
                    }
                };
                size.measure += 2 * bracket + separator * count.saturating_sub(1);
                self.tokens(size)
            }
        }
    }

    /// The size of a JSON string, given without its quotes.
    fn written(&self, text: Text, raw: &[u8]) -> u64 {
        match self.measure {
            Measure::Chars(Unit::Scalar) => u64::from(text.scalars),
            Measure::Chars(Unit::Utf16) => text.utf16(),
            Measure::Classes => classes::written(raw),
            Measure::Bpe(bpe) => bpe.written(raw),
        }
    }

    /// The size of bytes that the model reads as they are: a tool's input is JSON for it too.
    fn raw(&self, raw: &[u8]) -> u64 {
        match self.measure {
            Measure::Chars(unit) => in_units(Chars::of(raw), unit),
            Measure::Classes => classes::plain(raw),
            Measure::Bpe(bpe) => bpe.plain(raw),
        }
    }

    fn plain(&self, text: &str) -> u64 {
        self.raw(text.as_bytes())
    }

    /// The size of a JSON value in the notation of the policy; in most, as `JSON.stringify` would write it: without spaces and
    /// unnecessary escapes.
    fn json(&self, raw: &[u8]) -> u64 {
        match (self.measure, self.settings.scope) {
            (Measure::Chars(unit), Scope::HistoryRepr) => in_units(Lengths::of(raw).python, unit),
            (Measure::Chars(unit), _) => in_units(Lengths::of(raw).json, unit),
            (Measure::Classes | Measure::Bpe(_), _) => self.shown(&json::compact(raw)),
        }
    }
}

/// A length in the unit of an estimator.
fn in_units(chars: Chars, unit: Unit) -> u64 {
    match unit {
        Unit::Scalar => chars.scalars,
        Unit::Utf16 => chars.scalars + chars.astral,
    }
}

#[cfg(test)]
mod tests;
