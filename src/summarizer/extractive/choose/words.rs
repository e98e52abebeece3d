//! Chooses among the user's sentences if there is no room for all of them, and counts the messages that are left out entirely.
//!
//! Never chooses whole messages, or anything but the user's words.

use std::collections::BTreeSet;

use super::super::clip::clip;
use super::super::form::{Mark, Row, Section};
use super::super::gather::LONGEST;
use super::super::left_out;
use super::super::requests::BASE;
use super::super::units::{Claim, Unit};
use super::{Choice, Part, combined};
use crate::tokens::Size;

/// The parts of a budget for sentences, in percent: before anything but to-dos, and before all units that compete by their names.
pub(super) const FIRST: u64 = 25;
pub(super) const BEFORE_OTHERS: u64 = 75;

/// The part for questions that the user answered, in percent.
const ASKED: u64 = 15;

/// A longer message, in bytes, counts as partly pasted: beyond the first part of the budget, its lines compete with all others.
const LONGEST_MESSAGE: usize = 2_000;

fn is_sentence(unit: &Unit) -> bool {
    matches!(unit.claim, Claim::Sentence(_))
}

impl<'c> Choice<'c> {
    /// Takes the user's sentences up to a part of the budget: first the beginning of the first message, which is the task; then
    /// sentences that forbid or correct; then all others, newest first.
    pub(super) fn first_sentences(&mut self) {
        let mut part = self.part(FIRST);
        let mut half = self.part(FIRST / 2);
        let all = self.open_sentences(|_| true);
        self.task(&mut half, &all);
        part.used = half.used;
        self.by_weight(&mut part, all);
    }

    /// Takes the beginning of the first message as far as there is room; returns whether any of it was taken. A later sentence of
    /// it alone would not say what it is about.
    fn task(&mut self, part: &mut Part, open: &[usize]) -> bool {
        let extract = self.extract;
        let units = &extract.found.units;
        let first = units.iter().find(|unit| is_sentence(unit));
        let its = open
            .iter()
            .filter(|n| first.is_some_and(|first| units[**n].claim == first.claim));
        its.take_while(|number| self.take(**number, part)).count() > 0
    }

    /// Takes more sentences, except the lines of pasted messages; a single sentence that is too long is clipped.
    pub(super) fn more_sentences(&mut self) {
        let mut part = self.part(BEFORE_OTHERS);
        part.used = self.said();
        let requests = &self.extract.found.requests;
        let is_short = |claim| match claim {
            Claim::Sentence(request) => requests[request as usize].bytes <= LONGEST_MESSAGE,
            _ => false,
        };
        let all = self.open_sentences(is_short);
        let first = self.open_sentences(|_| true).into_iter().next();
        let is_task_open = first.is_some_and(|first| self.is_first_sentence(first));
        if is_task_open && !self.task(&mut part, &all) {
            let first = first.into_iter();
            first.for_each(|first| self.take_clipped_sentence(first, &mut part));
        }
        self.by_weight(&mut part, all);
        for number in self.open_sentences(|_| true).into_iter().rev() {
            let unit = &self.extract.found.units[number];
            let text = &unit.row.text;
            if text.len() > LONGEST && self.estimator.tokens(self.size(unit, text)) > part.limit {
                self.take_clipped_sentence(number, &mut part);
            }
        }
    }

    fn take_clipped_sentence(&mut self, number: usize, part: &mut Part) {
        let text = clip(self.extract.found.units[number].row.text.trim(), LONGEST);
        self.take_as(number, text, part);
    }

    /// Whether a sentence is the very first one.
    fn is_first_sentence(&self, number: usize) -> bool {
        let first = self.units().find(|(_, unit)| is_sentence(unit));
        first.is_some_and(|(first, _)| first == number)
    }

    /// Takes the questions that the user answered in a few words.
    pub(super) fn questions(&mut self) {
        let mut part = self.part(ASKED);
        let is_open = |number: usize| !self.is_in_quoted_state(number);
        let asked = self.units();
        let asked = asked.filter(|(n, unit)| unit.claim == Claim::Asked && is_open(*n));
        let asked = asked.map(|(number, _)| number).collect();
        self.newest_first(&mut part, asked);
    }

    /// Takes remaining sentences once only unchanged files are left.
    pub(super) fn last_sentences(&mut self) {
        let all = self.open_sentences(|_| true);
        self.by_weight(&mut self.part(100), all);
    }

    /// The sentences not chosen yet whose claim satisfies `is_of`.
    fn open_sentences(&self, is_of: impl Fn(Claim) -> bool) -> Vec<usize> {
        let units = self.units();
        let open = units.filter(|(number, unit)| {
            is_sentence(unit) && !self.is_settled[*number] && is_of(unit.claim)
        });
        open.map(|(number, _)| number).collect()
    }

    fn by_weight(&mut self, part: &mut Part, all: Vec<usize>) {
        let extract = self.extract;
        let units = &extract.found.units;
        let against = all.iter().copied().filter(|n| units[*n].base > BASE);
        self.newest_first(part, against.collect());
        let claim = |number: &usize| units[*number].claim;
        let mut messages: Vec<&[usize]> = all.chunk_by(|a, b| claim(a) == claim(b)).collect();
        messages.sort_by_key(|message| units[message[0]].message);
        for message in messages.into_iter().rev() {
            // If a message does not fit, its beginning says more than a sentence from its middle.
            let _ = message
                .iter()
                .all(|number| self.is_settled[*number] || self.take(*number, part));
        }
    }

    /// The total size of the chosen sentences.
    fn said(&self) -> Size {
        let units = &self.extract.found.units;
        let said = self.chosen.iter().filter(|c| is_sentence(&units[c.unit]));
        said.fold(Size::default(), |all, chosen| combined(all, chosen.size))
    }

    /// A row that states how many messages are left out, if any.
    pub(super) fn left_out(&self) -> Option<Row> {
        let found = &self.extract.found;
        let request = |claim| match claim {
            Claim::Request(request) | Claim::Sentence(request) => Some(request),
            _ => None,
        };
        let units = &found.units;
        let told: BTreeSet<u32> = self
            .chosen
            .iter()
            .filter_map(|chosen| request(units[chosen.unit].claim))
            .collect();
        let is_whole = |unit: &&Unit| matches!(unit.claim, Claim::Request(_));
        let left = units.iter().filter(is_whole);
        let left = left.filter(|unit| request(unit.claim).is_some_and(|r| !told.contains(&r)));
        let lines: Vec<u64> = left.map(|unit| unit.row.mark.line).collect();
        let before = found.left_out;
        let messages = before.map_or(0, |(messages, _)| messages);
        let messages = messages.saturating_add(lines.len() as u64);
        let lines = || lines.iter().copied().chain(before.map(|(_, line)| line));
        let (first, last) = (lines().min()?, lines().max()?);
        Some(Row {
            section: Section::Requests,
            mark: Mark {
                line: first,
                and: (last > first).then_some(last),
            },
            label: String::new(),
            text: left_out::written(messages),
        })
    }

    /// Reserves room for this row.
    pub(super) fn keep_room_for_left_out(&mut self) {
        if let Some(row) = self.left_out() {
            let mut text = String::from("\n");
            row.write_to(&mut text, "", &row.text);
            self.used = combined(self.used, self.estimator.text(text.trim_end()));
        }
    }
}
