//! The final pass: removes duplicate names and restores clipped rows where space allows.
//!
//! Never chooses units.

use std::borrow::Cow;

use super::super::gather::BETWEEN;
use super::super::units::UnitKind;
use super::{Choice, Chosen, names_in};
use crate::ids::IdSet;
use crate::tokens::Size;

/// The tokens that a whole row may take beyond its computed size: row sizes do not add up exactly to the size of the text.
const WIDER: u64 = 2;

impl<'c> Choice<'c> {
    /// Removes names from indexes that later chosen rows contain. Returns the number of tokens freed.
    pub(super) fn drop_names_told_elsewhere(&mut self) -> u64 {
        let (extract, estimator) = (self.extract, self.estimator);
        let tokens = |text: &str| estimator.tokens(estimator.text(text));
        let is_index =
            |chosen: &Chosen<'_>| extract.found.units[chosen.unit].kind == UnitKind::Names;
        // A name that counts as covered may have been clipped off.
        let mut shown = IdSet::default();
        for chosen in self.chosen.iter().filter(|chosen| !is_index(chosen)) {
            shown.extend(names_in(extract, &chosen.text));
        }
        let mut freed = 0;
        self.chosen.retain_mut(|chosen| {
            if !is_index(chosen) {
                return true;
            }
            let is_told_here = |name: &&str| {
                let number = extract.found.names.find(name);
                number.is_none_or(|number| !shown.contains(&number))
            };
            let left: Vec<&str> = chosen.text.split(BETWEEN).filter(is_told_here).collect();
            let left = left.join(BETWEEN);
            freed += tokens(&chosen.text).saturating_sub(tokens(&left));
            chosen.text = Cow::Owned(left);
            !chosen.text.is_empty()
        });
        freed
    }

    /// Restores partial rows to their full text, as far as there is room when nothing else is worth adding.
    pub(super) fn widen(&mut self, freed: u64) {
        let tokens = |size| self.estimator.tokens(size);
        let mut spare = self.limit.saturating_sub(tokens(self.used)) + freed;
        let mut wider: Vec<(usize, &'c str, Size)> = Vec::new();
        for (at, chosen) in self.chosen.iter().enumerate() {
            let unit = &self.extract.found.units[chosen.unit];
            let text = &unit.row.text[..];
            if !self.may_be_cut(unit) || chosen.text == text || !self.is_short(unit) {
                continue;
            }
            let size = self.size(unit, text);
            let more = tokens(size).saturating_sub(tokens(chosen.size)) + WIDER;
            if more <= spare {
                spare -= more;
                wider.push((at, text, size));
            }
        }
        for (at, text, size) in wider {
            let chosen = &mut self.chosen[at];
            (chosen.text, chosen.size) = (Cow::Borrowed(text), size);
        }
    }
}
