//! What a unit would add to a summary relative to its cost: the needed names that it is expected to cover.
//!
//! A name counts once, by its probability to be needed: part of that if it occurs at all, the rest if it occurs among words of the
//! transcript. Chooses nothing.

use std::cmp::Ordering;
use std::ops::Range;

use super::super::form::{Labels, Section};
use super::super::gather::LONGEST;
use super::super::units::{Grounding, Unit, UnitKind};
use super::{Choice, row_group};
use crate::text::floor_boundary;

/// The share of a name's value that remains if the narrative before the rows mentions it: a row still adds the source and the
/// original words. Measured with recorded narratives: with 0, rows show fewer names in the words of the transcript; with 1, they
/// repeat the narrative.
const TOLD: f64 = 0.5;

/// The value of a word of the instructions, in needed names.
const FOCUS: f64 = 0.25;

/// The share of a row's overhead that counts: if it joins another row, and otherwise.
const JOINED: f64 = 0.4;
pub(super) const WHOLE: f64 = 1.0;

/// The tokens per byte assumed for a text without tokens.
const LEAST: f64 = 0.01;

/// The number of bytes of a text from which its density is measured.
const SAMPLE: usize = 512;

/// A row of this many tokens costs the same in a small summary as in a large one.
const ALIKE: f64 = 16.0;

/// The bytes by which a whole line may exceed `LONGEST`: the length of a cut mark.
const BEYOND: usize = 8;

/// What is measured of a unit's text once, however often the unit is looked at.
#[derive(Debug, Clone, Copy)]
pub(in super::super) struct Measured {
    /// Its tokens per byte, by the estimator of the run.
    pub(super) density: f64,
    /// Whether its names occur among words.
    grounding: Grounding,
}

impl Choice<'_> {
    /// The value per length of a whole unit.
    pub(super) fn gain(&self, number: usize) -> f64 {
        let unit = &self.extract.found.units[number];
        let Measured { density, grounding } = self.measured(number);
        let names = self.extract.found.names.list(&unit.names).iter();
        match unit.kind {
            UnitKind::Statement => {
                let value: f64 = names.map(|name| self.worth(*name, grounding)).sum();
                let text = unit.row.text.len() + unit.row.label.len();
                let value = self.base(unit) + value;
                // A line that is too long can still be taken in part.
                match self.is_short(unit) {
                    true => value / self.cost(text, density, self.mark(unit)),
                    false => 0.0,
                }
            }
            UnitKind::Names => {
                let new = |name: &&u32| self.occurrences[**name as usize] == 0;
                let left = names.clone().filter(new).count();
                let value: f64 = names.map(|name| self.worth(*name, Grounding::Alone)).sum();
                let text = unit.row.text.len() * left / unit.names.len().max(1);
                value / self.cost(text, density, WHOLE)
            }
        }
    }

    /// Whether a unit may be taken as a whole.
    pub(super) fn is_short(&self, unit: &Unit) -> bool {
        !self.is_line(unit) || unit.row.text.len() <= LONGEST + BEYOND
    }

    /// The value of a unit besides its names.
    pub(super) fn base(&self, unit: &Unit) -> f64 {
        let weights = &self.weights;
        let factor = match unit.row.section {
            Section::Commands => weights.ran,
            Section::Errors => weights.failed,
            Section::Findings => weights.said,
            Section::Requests
            | Section::Earlier
            | Section::Plan
            | Section::Files
            | Section::Details
            | Section::State => weights.base,
        };
        factor * unit.base + FOCUS * unit.focus
    }

    /// The share of a row's overhead that a unit causes: less if its row already exists.
    pub(super) fn mark(&self, unit: &Unit) -> f64 {
        let joins =
            unit.row.section.labels() == Labels::None && self.open_rows.contains(&row_group(unit));
        if joins { JOINED } else { WHOLE }
    }

    /// A unit with an upper bound of its current value, for the order in which units are evaluated.
    pub(super) fn candidate(&self, number: usize) -> Candidate {
        let unit = &self.extract.found.units[number];
        let gain = self.gain(number);
        let gain = match self.may_be_cut(unit) {
            true => gain.max(self.at_best(number)),
            false => gain,
        };
        Candidate { gain, number }
    }

    /// A unit with its current value, and its most valuable part, if that is not the whole.
    pub(super) fn now(&self, number: usize) -> (Candidate, Option<Range<usize>>) {
        let unit = &self.extract.found.units[number];
        let whole = Candidate {
            number,
            gain: self.gain(number),
        };
        if !self.may_be_cut(unit) {
            return (whole, None);
        }
        match self.best_part(number) {
            Some((part, gain)) if gain > whole.gain => (Candidate { gain, number }, Some(part)),
            Some(_) | None => (whole, None),
        }
    }

    /// The value that a name adds in a unit.
    pub(super) fn worth(&self, name: u32, grounding: Grounding) -> f64 {
        let weights = &self.weights;
        let at = name as usize;
        let told = if self.mentioned_names.contains(&name) {
            TOLD
        } else {
            1.0
        };
        let grounds = match grounding {
            Grounding::Words if !self.is_grounded[at] => weights.grounded,
            Grounding::Words | Grounding::Alone => 0.0,
        };
        let tells = match (self.occurrences[at], grounding) {
            (0, _) => 1.0 - weights.grounded,
            (1, Grounding::Words) => weights.again,
            (_, Grounding::Words | Grounding::Alone) => 0.0,
        };
        told * self.extract.found.weights[at] * (tells + grounds)
    }

    /// What is measured of a unit's text.
    pub(super) fn measured(&self, number: usize) -> Measured {
        *self.extract.measured[number].get_or_init(|| {
            let unit = &self.extract.found.units[number];
            let text = &unit.row.text;
            let sample = &text[..floor_boundary(text, SAMPLE)];
            let tokens = self.estimator.tokens(self.estimator.text(sample));
            Measured {
                density: (tokens as f64 / sample.len().max(1) as f64).max(LEAST),
                grounding: unit.grounding(),
            }
        })
    }

    /// The cost of a row with `text` bytes of this density and the share `mark` of the overhead. An estimate: exact sizes are
    /// computed only for units about to be taken.
    ///
    /// In a small summary, a row costs its tokens to the power of 3/4, so that longer rows, which give more context, are not passed
    /// over; in a large one, the tokens themselves.
    pub(super) fn cost(&self, text: usize, density: f64, mark: f64) -> f64 {
        let tokens = text as f64 * density + self.weights.overhead * mark;
        // By roots, which are the same on every machine.
        let root = tokens.sqrt();
        let small = root * root.sqrt();
        small + (tokens / ALIKE.sqrt().sqrt() - small) * self.size_factor
    }
}

/// A unit and the value that it would add.
#[derive(Debug)]
pub(super) struct Candidate {
    pub(super) gain: f64,
    pub(super) number: usize,
}

impl Ord for Candidate {
    /// The better candidate is greater; on a tie, the earlier one.
    fn cmp(&self, other: &Self) -> Ordering {
        let by_gain = self.gain.total_cmp(&other.gain);
        by_gain.then_with(|| other.number.cmp(&self.number))
    }
}

impl PartialOrd for Candidate {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Candidate {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Candidate {}
