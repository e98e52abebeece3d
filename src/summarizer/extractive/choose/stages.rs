//! The stages of a choice: which units are taken together, in which order, and up to which part of the budget.
//!
//! PURE. In which order the stages come, [`super::choose`] says; whether a unit fits, [`Choice::take_as`] does.

use std::collections::BinaryHeap;

use super::value::Candidate;
use super::{Choice, Counts, Part};
use crate::ids::IdSet;
use crate::policy::UserWords;
use crate::summarizer::extractive::clip::{CUT, clip_to_sentences, clip_to_tokens};
use crate::summarizer::extractive::form::Section;
use crate::summarizer::extractive::names::hash;
use crate::summarizer::extractive::state::CALL;
use crate::summarizer::extractive::todo_units::is_plan;
use crate::summarizer::extractive::units::{Claim, Unit};

/// Parts of a budget, in percent.
const PLAN: u64 = 10;
const CHANGED: u64 = 80;

/// The tokens that changed files may always take, even beyond their part of the budget: nothing else is as informative.
const FOR_CHANGED: u64 = 200;

/// The same for open to-dos: in a session that was compacted often, nothing else may list them.
const FOR_TODOS: u64 = 150;

/// A plan is not clipped below this many tokens: less would be useless.
const SHORTEST_PLAN: u64 = 24;

/// The maximum number of attempts to clip a text until its row fits.
const CLIPS: usize = 4;

/// Stop after this many consecutive units that do not fit.
const MISFITS: usize = 100;

impl<'c> Choice<'c> {
    /// Takes the user's words that must be quoted, as whole messages; other messages are taken sentence by sentence.
    pub(super) fn requests(&mut self, words: UserWords) {
        // The last quoted message, and its quoted lines if it is quoted in part.
        let mut quoted: Option<(u32, IdSet<u64>)> = None;
        for (number, unit) in self.units() {
            let is_last = |request| self.extract.found.last_requests.contains(&request);
            let counts = match (unit.claim, words) {
                (Claim::Request(_) | Claim::Picture(_), UserWords::Verbatim) => Counts::No,
                (Claim::Request(request) | Claim::Picture(request), UserWords::Budget)
                    if is_last(request) =>
                {
                    Counts::ButStays
                }
                (Claim::Sentence(request) | Claim::Picture(request), UserWords::Budget)
                    if !is_last(request) =>
                {
                    continue;
                }
                (Claim::Pasted(request), _) => {
                    // Sentences already have units of their own, and quoted text is not repeated.
                    let is_left_out = matches!(&quoted, Some((of, lines))
                        if *of == request && !lines.contains(&hash(&unit.row.text)));
                    self.is_settled[number] = !is_left_out;
                    continue;
                }
                (Claim::Request(_) | Claim::Sentence(_) | Claim::Picture(_), _) => {
                    self.is_settled[number] = true;
                    continue;
                }
                (
                    Claim::Asked
                    | Claim::State
                    | Claim::Plan
                    | Claim::Changed
                    | Claim::Earlier
                    | Claim::Free,
                    _,
                ) => {
                    continue;
                }
            };
            let most = self.extract.user_message_max;
            let text = clip_to_tokens(&unit.row.text, most, self.estimator);
            let size = self.size(unit, &text);
            if counts == Counts::ButStays {
                self.used += size;
                self.open_sections[unit.row.section as usize] = true;
            }
            if let Claim::Request(request) = unit.claim {
                let lines = || text.lines().map(|line| hash(line.trim())).collect();
                quoted = (text.len() < unit.row.text.len()).then(|| (request, lines()));
            }
            self.put(number, text, size, counts);
        }
    }

    /// Takes what was said and done last, from the end, as far as there is room; the very last item is clipped to fit.
    pub(super) fn state(&mut self) {
        let mut part = self.part(self.weights.state as u64);
        let first = self.chosen.len();
        let units = self.units().rev();
        for (number, unit) in units.filter(|(_, unit)| unit.claim == Claim::State) {
            let is_first = self.chosen.len() == first;
            let is_taken = self.take(number, &mut part)
                || is_first && self.take_clipped(number, &unit.row.text, &mut part);
            if !is_taken {
                break;
            }
        }
        self.state = first..self.chosen.len();
    }

    /// Takes as much of a unit's text as there is room for.
    fn take_clipped(&mut self, number: usize, text: &'c str, part: &mut Part) -> bool {
        let unit = &self.extract.found.units[number];
        // The heading and the mark take some of the room; how much depends on the estimator and the remaining lines.
        let mut most = part.limit.saturating_sub(16);
        for _ in 0..CLIPS {
            // A call has no sentences.
            let clipped = match unit.row.label == CALL {
                true => clip_to_tokens(text, most, self.estimator),
                false => clip_to_sentences(text, most, self.estimator),
            };
            if most == 0 || clipped == CUT {
                break;
            }
            let tokens = self.estimator.tokens(self.size(unit, &clipped));
            if self.take_as(number, clipped, part) {
                return true;
            }
            most = most.saturating_sub(tokens.saturating_sub(part.limit).max(1));
        }
        false
    }

    /// Takes open to-dos: as many as fit a part of the budget, which has a minimum.
    pub(super) fn todos(&mut self) {
        let mut part = self.part(PLAN);
        part.limit = part.limit.max(FOR_TODOS);
        let is_one = |unit: &Unit| unit.claim == Claim::Plan && !is_plan(&unit.row);
        for (number, _) in self.units().filter(|(_, unit)| is_one(unit)) {
            self.take(number, &mut part);
        }
    }

    /// Takes plans as far as they fit a part of the budget.
    pub(super) fn plan(&mut self) {
        let mut part = self.part(PLAN);
        let is_one = |unit: &Unit| unit.claim == Claim::Plan && is_plan(&unit.row);
        for (number, unit) in self.units().filter(|(_, unit)| is_one(unit)) {
            if self.take(number, &mut part) {
                continue;
            }
            let used = self.estimator.tokens(part.used);
            // The heading, the mark and the label take some of the room.
            let most = part.limit.saturating_sub(used + 28);
            if most > SHORTEST_PLAN {
                let text = clip_to_tokens(&unit.row.text, most, self.estimator);
                self.take_as(number, text, &mut part);
            }
            self.is_settled[number] = true;
        }
    }

    /// Takes changed files; returns whether all of them fit.
    pub(super) fn changed(&mut self) -> bool {
        let mut part = self.part(CHANGED);
        part.limit = part.limit.max(FOR_CHANGED);
        let is_changed = |unit: &Unit| unit.claim == Claim::Changed && !self.mentioned_names(unit);
        let numbers = self.units().filter(|(_, unit)| is_changed(unit));
        let numbers = numbers.map(|(number, _)| number).collect();
        self.newest_first(&mut part, numbers)
    }

    /// Whether the narrative mentions all names of a unit.
    fn mentioned_names(&self, unit: &Unit) -> bool {
        let names = self.extract.found.names.list(&unit.names);
        !names.is_empty() && names.iter().all(|name| self.mentioned_names.contains(name))
    }

    /// Takes these units, newest first; returns whether all of them fit.
    pub(super) fn newest_first(&mut self, part: &mut Part, mut numbers: Vec<usize>) -> bool {
        numbers.sort_by_key(|number| self.extract.found.units[*number].message);
        let mut has_room = true;
        for number in numbers.into_iter().rev() {
            has_room &= self.take(number, part);
        }
        has_room
    }

    /// Takes the units with the highest value per length, until the part is full or no unit has any value.
    pub(super) fn cover(&mut self, hundredths: u64, is_one: impl Fn(&Unit) -> bool) {
        let mut part = self.part(hundredths);
        let mut best: BinaryHeap<Candidate> = self
            .units()
            .filter(|(number, unit)| is_one(unit) && !self.is_settled[*number])
            .map(|(number, _)| self.candidate(number))
            .collect();
        let mut misfits = 0;
        while let Some(top) = best.pop() {
            let (now, part_of_it) = self.now(top.number);
            if misfits >= MISFITS {
                break;
            }
            // All of its names are now covered.
            if now.gain <= 0.0 {
                continue;
            }
            // Values fall, so the earlier best may no longer be the best.
            if best.peek().is_some_and(|next| *next > now) {
                best.push(now);
            } else if self.is_in_quoted_state(top.number) {
                self.is_settled[top.number] = true;
            } else if self.take_part(top.number, part_of_it, &mut part) {
                misfits = 0;
            } else {
                misfits += 1;
            }
        }
    }

    /// Whether the verbatim quotation of what was said and done last contains the sentence or line.
    pub(super) fn is_in_quoted_state(&self, number: usize) -> bool {
        let row = &self.extract.found.units[number].row;
        matches!(row.section, Section::Findings | Section::Details)
            && self.chosen[self.state.clone()].iter().any(|state| {
                let mark = self.extract.found.units[state.unit].row.mark;
                mark == row.mark && state.text.contains(&row.text)
            })
    }
}
