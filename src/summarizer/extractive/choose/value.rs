//! What a unit would add to a summary, for what it costs: the needed names that it is expected to tell.
//!
//! A name counts with its chance to be needed, once: a part of that where it is told, and the rest where it occurs among words of
//! the transcript. Chooses nothing.

use std::cell::Cell;
use std::cmp::Ordering;
use std::ops::Range;

use super::super::form::{Labels, Section};
use super::super::gather::LONGEST;
use super::super::units::{Grounding, Unit, UnitKind};
use super::{Choice, row_group};
use crate::text::floor_boundary;

/// The share of a name's value that is left where the narrative before the rows mentions it: a row still says where it comes from,
/// and in whose words. Measured with recorded narratives: without it, rows tell fewer names in the words of the transcript, and
/// with all of it, they repeat what the narrative tells.
const TOLD: f64 = 0.5;

/// What a word of the instructions is worth, in needed names.
const FOCUS: f64 = 0.25;

/// The share of a row's overhead that counts: where it joins another one, and else.
const JOINED: f64 = 0.4;
pub(super) const WHOLE: f64 = 1.0;

/// The tokens of a byte of a text without any.
const LEAST: f64 = 0.01;

/// The bytes of a text that its density is counted of.
const SAMPLE: usize = 512;

/// A row of so many tokens costs the same in a small summary and in a large one.
const ALIKE: f64 = 16.0;

/// The longest line that is told as a whole has so many bytes more than `LONGEST`: the mark of a cut.
const BEYOND: usize = 8;

impl Choice<'_> {
    /// What all of a unit is worth for its length.
    pub(super) fn gain(&self, number: usize) -> f64 {
        let unit = &self.extract.found.units[number];
        let density = self.density(number);
        let names = self.extract.found.names.list(&unit.names).iter();
        match unit.kind {
            UnitKind::Statement => {
                let grounding = unit.grounding();
                let value: f64 = names.map(|name| self.worth(*name, grounding)).sum();
                let text = unit.row.text.len() + unit.row.label.len();
                let value = self.base(unit) + value;
                // A line that is too long can be told in part.
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

    /// Whether a unit may be told as a whole.
    pub(super) fn is_short(&self, unit: &Unit) -> bool {
        !self.is_line(unit) || unit.row.text.len() <= LONGEST + BEYOND
    }

    /// What a unit is worth besides its names.
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

    /// The share of a row's overhead that a unit has: less if its row is begun already.
    pub(super) fn mark(&self, unit: &Unit) -> f64 {
        let joins =
            unit.row.section.labels() == Labels::None && self.open_rows.contains(&row_group(unit));
        if joins { JOINED } else { WHOLE }
    }

    /// A unit with a value that is at least what it is worth now, for the order in which units are looked at.
    pub(super) fn candidate(&self, number: usize) -> Candidate {
        let unit = &self.extract.found.units[number];
        let gain = self.gain(number);
        let gain = match self.may_be_cut(unit) {
            true => gain.max(self.at_best(number)),
            false => gain,
        };
        Candidate { gain, number }
    }

    /// A unit as it is worth now, and the part of it that is worth most, if that is not all of it.
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

    /// What a name adds where it is in a unit.
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

    /// The tokens of a byte of a unit's text.
    pub(super) fn density(&self, number: usize) -> f64 {
        let known = &self.densities.0[number];
        if known.get() == 0.0 {
            let text = &self.extract.found.units[number].row.text;
            let sample = &text[..floor_boundary(text, SAMPLE)];
            let tokens = self.estimator.tokens(self.estimator.text(sample));
            known.set((tokens as f64 / sample.len().max(1) as f64).max(LEAST));
        }
        known.get()
    }

    /// The cost of a row with so many bytes of a text of this density and a part of the overhead. An estimate: exact sizes are
    /// computed only for units about to be taken.
    ///
    /// In a small summary a row costs its tokens to the power of 3/4, so that longer ones, which tell more together, are not passed
    /// over; in a large one the tokens themselves.
    pub(super) fn cost(&self, text: usize, density: f64, mark: f64) -> f64 {
        let tokens = text as f64 * density + self.weights.overhead * mark;
        // By roots, which are the same on every machine.
        let root = tokens.sqrt();
        let small = root * root.sqrt();
        small + (tokens / ALIKE.sqrt().sqrt() - small) * self.size_factor
    }
}

/// The tokens of a byte of each unit's text; 0 = not counted yet.
#[derive(Debug)]
pub(super) struct Densities(Vec<Cell<f64>>);

impl Densities {
    pub(super) fn new(units: usize) -> Densities {
        Densities(vec![Cell::new(0.0); units])
    }
}

/// A unit and the value that it would add.
#[derive(Debug)]
pub(super) struct Candidate {
    pub(super) gain: f64,
    pub(super) number: usize,
}

impl Ord for Candidate {
    /// The better one is greater; of two equal ones, the earlier one.
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
