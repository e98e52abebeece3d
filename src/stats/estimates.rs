//! The token counts of live windows by each estimator and each preset.
//!
//! Each way of counting runs only once, however many use it. Byte-pair encodings take far longer than everything else and run only
//! on request.

use std::borrow::Cow;
use std::ops::AddAssign;

use serde::{Deserialize, Serialize};

use crate::error::Result;
use crate::policy::{Compare, Encoding, Method, Policy, Tokens, Unit, presets};
use crate::tokens::{BlockLengths, Estimator, Sizes};
use crate::transcript::{Conversation, Transcript};

/// Whether to count with byte-pair encodings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exact {
    /// All byte-pair encodings.
    Yes,
    /// Only the policy's own, if it uses one.
    No,
}

/// Live tokens by each estimator; `None` if it did not run. All of them count the parts of a message that the policy counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Estimates {
    /// One token per four characters.
    pub chars: Option<u64>,
    /// Characters weighed by class.
    pub classes: Option<u64>,
    /// The vocabulary of the newer models.
    pub o200k_base: Option<u64>,
    /// The vocabulary of older models.
    pub cl100k_base: Option<u64>,
}

/// The live windows as a preset counts them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PresetCount {
    /// Its name.
    pub policy: String,
    /// The name of its estimator.
    pub estimator: Cow<'static, str>,
    /// Live tokens; `None` if not counted.
    pub tokens: Option<u64>,
    /// The number of live tokens at which it summarises, by `compare`; `None` if it never does.
    pub threshold: Option<u64>,
    /// Whether the threshold is inclusive.
    pub compare: Compare,
    /// The number of conversations that it would summarise; `None` if not counted.
    pub over: Option<u64>,
}

/// The presets in order; empty if nothing was counted.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PresetCounts(pub Vec<PresetCount>);

/// Every way of counting that a run needs.
#[derive(Debug)]
pub(super) struct Estimators {
    /// Distinct estimators; the first is the policy's.
    estimators: Vec<Estimator>,
    /// The index of the estimator for each estimate, in the order of [`Estimates`].
    estimates: [Option<usize>; 4],
    /// The presets without counts, each with the index of its estimator.
    presets: Vec<(PresetCount, Option<usize>)>,
}

impl Estimators {
    /// The estimators for `policy`.
    pub(super) fn new(policy: &Policy, exact: Exact) -> Result<Self> {
        let own = &policy.tokens;
        let mut settings = vec![own.clone()];
        let mut way = |tokens: Tokens| {
            if tokens.method == Method::Bpe && exact == Exact::No && tokens != *own {
                return None;
            }
            let known = settings.iter().position(|known| *known == tokens);
            Some(known.unwrap_or_else(|| {
                settings.push(tokens);
                settings.len() - 1
            }))
        };
        let by = |method: Method| Tokens {
            method,
            ..own.clone()
        };
        let chars = Tokens {
            unit: Unit::Scalar,
            chars_per_token: 4.0,
            ..by(Method::Chars)
        };
        let bpe = |encoding: Encoding| Tokens {
            encoding,
            ..by(Method::Bpe)
        };
        let estimates = [
            chars,
            by(Method::Classes),
            bpe(Encoding::O200kBase),
            bpe(Encoding::Cl100kBase),
        ]
        .map(&mut way);
        let mut counts = Vec::new();
        for preset in presets()? {
            let count = PresetCount {
                estimator: preset.tokens.method.name().into(),
                tokens: None,
                threshold: preset.threshold(),
                compare: preset.trigger.compare,
                over: None,
                policy: preset.name,
            };
            counts.push((count, way(preset.tokens)));
        }
        let estimators = settings.iter().map(Estimator::new);
        Ok(Estimators {
            estimators: estimators.collect::<Result<_>>()?,
            estimates,
            presets: counts,
        })
    }

    /// The sizes by each estimator; the first is the policy's.
    pub(super) fn sizes(&self) -> Vec<Sizes> {
        let estimators = self.estimators.iter();
        estimators.cloned().map(Sizes::new).collect()
    }

    /// The counts of a conversation by each estimator, given the policy's own count.
    pub(super) fn count(
        &self,
        own: u64,
        sizes: &mut [Sizes],
        transcript: &Transcript<'_>,
        conversation: &Conversation,
    ) -> Vec<u64> {
        let mut lengths = BlockLengths::default();
        let others = sizes.iter_mut().skip(1);
        let others = others.map(|sizes| {
            sizes.exchange(&mut lengths);
            let tokens = sizes.conversation(transcript, conversation);
            sizes.exchange(&mut lengths);
            tokens
        });
        [own].into_iter().chain(others).collect()
    }

    /// The estimates among these counts.
    pub(super) fn estimates(&self, counts: &[u64]) -> Estimates {
        let [chars, classes, o200k_base, cl100k_base] =
            self.estimates.map(|way| way.map(|way| counts[way]));
        Estimates {
            chars,
            classes,
            o200k_base,
            cl100k_base,
        }
    }

    /// The presets' results for a conversation with these counts.
    pub(super) fn presets(&self, counts: &[u64]) -> PresetCounts {
        let presets = self.presets.iter().map(|(preset, way)| {
            let tokens = way.map(|way| counts[way]);
            let over = |tokens: u64| {
                let threshold = preset.threshold;
                threshold.is_some_and(|threshold| preset.compare.holds(tokens, threshold))
            };
            PresetCount {
                tokens,
                over: tokens.map(|tokens| u64::from(over(tokens))),
                ..preset.clone()
            }
        });
        PresetCounts(presets.collect())
    }
}

impl Estimates {
    /// The estimates with their names in reports.
    pub fn named(&self) -> [(&'static str, Option<u64>); 4] {
        [
            ("chars / 4", self.chars),
            ("classes", self.classes),
            (Encoding::O200kBase.name(), self.o200k_base),
            (Encoding::Cl100kBase.name(), self.cl100k_base),
        ]
    }
}

impl AddAssign<&Estimates> for Estimates {
    /// Adds estimates; a sum is `None` if one count is missing, since it would look complete. The default is the empty sum.
    fn add_assign(&mut self, other: &Estimates) {
        let nothing = Estimates::default();
        if *other == nothing {
            return;
        }
        if *self == nothing {
            *self = *other;
            return;
        }
        add(&mut self.chars, other.chars);
        add(&mut self.classes, other.classes);
        add(&mut self.o200k_base, other.o200k_base);
        add(&mut self.cl100k_base, other.cl100k_base);
    }
}

impl AddAssign<&PresetCounts> for PresetCounts {
    /// Adds counts. Both have the same policies in the same order, or none yet. A sum is `None` if one count is missing.
    fn add_assign(&mut self, other: &PresetCounts) {
        if self.0.is_empty() {
            self.0.clone_from(&other.0);
            return;
        }
        for (count, other) in self.0.iter_mut().zip(&other.0) {
            add(&mut count.tokens, other.tokens);
            add(&mut count.over, other.over);
        }
    }
}

/// Adds counts; the sum is `None` if one is missing.
fn add(sum: &mut Option<u64>, other: Option<u64>) {
    *sum = sum.zip(other).map(|(sum, other)| sum + other);
}
