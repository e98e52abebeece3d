//! Counts the names of a conversation: how often, how recently and by whom each was mentioned.

use std::hash::BuildHasher;
use std::ops::Range;

use foldhash::fast::FixedState;

use super::entities::{Class, is_within_word, scan};
use crate::ids::IdMap;

/// Who mentions a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Speaker {
    /// The user or the assistant, in words or in a call.
    Author,
    /// A tool.
    Tool,
}

/// If a tool lists this many places at once, each has half the value: one of a few is more likely to be visited.
const LISTED: f64 = 16.0;

/// All names, and those of each unit.
#[derive(Debug, Default)]
pub(super) struct Names {
    /// By a hash of the name, which is the same in every run.
    numbers: IdMap<u64, u32>,
    names: Vec<Name>,
    /// The names of all units, one after the other.
    of_units: Vec<u32>,
}

#[derive(Debug, Clone, Copy)]
struct Name {
    class: Class,
    count: u32,
    last_message: u32,
    author: bool,
    /// How many other places a tool listed with its first mention; 0 if the user or the assistant mentioned it.
    listed: u32,
    /// Whether it is in an index.
    is_indexed: bool,
}

/// The names of a unit, each once, as a part of a list of all.
pub(super) type NamesOf = Range<u32>;

/// A text whose names are known, so that its parts need not be searched again.
#[derive(Debug)]
pub(super) struct Counted<'t> {
    text: &'t str,
    /// Where each of its names begins, and its number.
    names: Vec<(usize, u32)>,
}

impl<'t> Counted<'t> {
    /// The names of a part; `None` if it is not a part of the text, or begins or ends within a word.
    fn within(&self, part: &str) -> Option<&[(usize, u32)]> {
        let from = offset(self.text, part).filter(|from| from + part.len() <= self.text.len())?;
        let to = from + part.len();
        if [from, to]
            .into_iter()
            .any(|at| is_within_word(self.text, at))
        {
            return None;
        }
        let place = |at: usize| self.names.partition_point(|(start, _)| *start < at);
        Some(&self.names[place(from)..place(to)])
    }
}

/// The offset of `part` in `text`.
fn offset(text: &str, part: &str) -> Option<usize> {
    (part.as_ptr() as usize).checked_sub(text.as_ptr() as usize)
}

impl Names {
    /// Counts the names of a text of message `message`. Calls `index` with each name that is in no index yet, and its number; it
    /// returns whether it has added the name to one.
    pub(super) fn count<'t>(
        &mut self,
        text: &'t str,
        message: u32,
        speaker: Speaker,
        mut index: impl FnMut(Class, &'t str, u32) -> bool,
    ) -> Counted<'t> {
        let before = self.names.len();
        let mut met = Vec::new();
        scan(text, |class, name| {
            let number = self.number(class, name);
            met.extend(offset(text, name).map(|at| (at, number)));
            let known = &mut self.names[number as usize];
            known.count += 1;
            known.last_message = known.last_message.max(message);
            known.author |= speaker == Speaker::Author;
            if !known.is_indexed {
                known.is_indexed = index(class, name, number);
            }
        });
        if speaker == Speaker::Tool {
            let new = &mut self.names[before..];
            let is_place = |name: &Name| matches!(name.class, Class::Path | Class::Url);
            let places = new.iter().filter(|name| is_place(name)).count() as u32;
            for name in new.iter_mut().filter(|name| is_place(name)) {
                name.listed = places;
            }
        }
        Counted { text, names: met }
    }

    /// The names of a unit's text.
    pub(super) fn of(&mut self, text: &str) -> NamesOf {
        let start = self.of_units.len();
        let mut own = std::mem::take(&mut self.of_units);
        self.each(text, |number| own.push(number));
        self.of_units = own;
        self.sorted(start)
    }

    /// The names of a unit's text that is a part of `counted`.
    pub(super) fn of_part(&mut self, part: &str, counted: &Counted<'_>) -> NamesOf {
        match counted.within(part) {
            Some(names) => self.of_numbers(names.iter().map(|(_, number)| *number)),
            None => self.of(part),
        }
    }

    /// The names of a unit, by their numbers.
    pub(super) fn of_numbers(&mut self, numbers: impl Iterator<Item = u32>) -> NamesOf {
        let start = self.of_units.len();
        self.of_units.extend(numbers);
        self.sorted(start)
    }

    /// Makes the names from `start` on those of one unit, each once.
    fn sorted(&mut self, start: usize) -> NamesOf {
        let mut own = self.of_units.split_off(start);
        own.sort_unstable();
        own.dedup();
        self.of_units.extend(own);
        start as u32..self.of_units.len() as u32
    }

    /// Calls `found` with the number of each name in a text that does not count.
    pub(super) fn each(&mut self, text: &str, mut found: impl FnMut(u32)) {
        scan(text, |class, name| found(self.number(class, name)));
    }

    /// The numbers of a unit's names.
    pub(super) fn list(&self, of: &NamesOf) -> &[u32] {
        &self.of_units[of.start as usize..of.end as usize]
    }

    /// The number of a name, if it occurred.
    pub(super) fn find(&self, name: &str) -> Option<u32> {
        self.numbers.get(&hash(name)).copied()
    }

    /// How many names there are.
    pub(super) fn len(&self) -> usize {
        self.names.len()
    }

    /// The value of each name for a summary of a conversation of `messages` messages. The arithmetic is exact on every machine:
    /// no logarithms or exponentials.
    pub(super) fn weights(&self, messages: usize) -> Vec<f64> {
        let weight = |name: &Name| {
            let age = 1.0 - f64::from(name.last_message + 1) / messages.max(1) as f64;
            let often = 1.0 + 0.35 * f64::from((name.count + 1).ilog2());
            let lately = 0.4 + 1.0 / (1.0 + age * (4.0 + 8.0 * age));
            let by_author = if name.author { 1.3 } else { 1.0 };
            let among = if name.author || name.count > 1 {
                1.0
            } else {
                LISTED / (LISTED + f64::from(name.listed))
            };
            name.class.prior() * often * lately * by_author * among
        };
        self.names.iter().map(weight).collect()
    }

    fn number(&mut self, class: Class, name: &str) -> u32 {
        let names = &mut self.names;
        *self.numbers.entry(hash(name)).or_insert_with(|| {
            names.push(Name {
                class,
                count: 0,
                last_message: 0,
                author: false,
                listed: 0,
                is_indexed: false,
            });
            names.len() as u32 - 1
        })
    }
}

/// A hash of a text that is the same in every run.
pub(super) fn hash(text: &str) -> u64 {
    FixedState::with_seed(0).hash_one(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_has_the_names_that_it_has_alone() {
        let text = "  12→see src/a_b.rs:7, ./c/d.rs。getName in\n--flag #12 https://x.y/z?q and/or_b 404\n\n1.2.3 Foo::bar";
        let mut names = Names::default();
        let counted = names.count(text, 0, Speaker::Tool, |_, _, _| false);
        let places: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
        for from in &places {
            for to in places.iter().filter(|to| *to >= from) {
                let part = &text[*from..*to];
                let [looked_up, alone] = [names.of_part(part, &counted), names.of(part)];
                let [looked_up, alone] = [looked_up, alone].map(|of| names.list(&of).to_vec());
                assert_eq!(looked_up, alone, "{part:?}");
            }
        }
        // A copy is not a part.
        let copy = text.to_owned();
        assert_eq!(counted.within(&copy), None);
    }

    #[test]
    fn a_place_among_many_is_worth_less_until_somebody_goes_there() {
        let mut names = Names::default();
        let many: Vec<String> = (0..48).map(|n| format!("deps/d{n}/mix.exs")).collect();
        let mut count = |text: &str, speaker| {
            names.count(text, 0, speaker, |_, _, _| false);
        };
        count("lib/one.ex", Speaker::Tool);
        count(&many.join("\n"), Speaker::Tool);
        count("deps/d7/mix.exs", Speaker::Author);
        let weights = names.weights(1);
        let weight = |name: &str| weights[names.find(name).unwrap() as usize];
        let [one, listed, opened] =
            ["lib/one.ex", "deps/d3/mix.exs", "deps/d7/mix.exs"].map(weight);
        assert!(
            listed * 3.0 < one && one < opened,
            "{listed} {one} {opened}"
        );
    }
}
