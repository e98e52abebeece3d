//! Chooses the units of a summary within a budget of tokens.
//!
//! First come units with a claim, each kind up to its part of the budget; then the others by value per length. A name counts fully
//! the first time and little the second time, so that a summary covers many names instead of repeating frequent ones. Values only
//! fall while units are taken, so the next best unit is found without re-evaluating all of them.

mod last;
mod render;
mod stages;
mod value;
mod window;
mod words;

use std::borrow::Cow;
use std::ops::Range;

use super::entities::scan;
use super::form::{FileRows, Labels, Mark, Row, Section};
use super::gather::BETWEEN;
use super::units::{Claim, Grounding, Unit, UnitKind};
use super::weights::UnitWeights;
use super::{Extract, ExtractiveSummary};
use crate::facts::is_relative;
use crate::ids::IdSet;
use crate::policy::UserWords;
use crate::tokens::{Estimator, Size};
pub(super) use value::Measured;
pub(super) use window::Places;
use window::marked;

/// The part of a budget for rows of an earlier summary, in percent.
const EARLIER: u64 = 20;

/// The tokens of a summary below which paths are short from the start.
const SMALL: u64 = 3_000;

/// The approximate number of bytes per token in a transcript.
const BYTES_OF_A_TOKEN: f64 = 4.0;

/// If the text is smaller than the sum of its rows, more rows are added if more than 1/64 of the budget is left.
const WORTH_FILLING: u64 = 64;

pub(super) fn choose(
    extract: &Extract,
    narrative: Option<&str>,
    tokens: u64,
    words: UserWords,
    estimator: &Estimator,
) -> ExtractiveSummary {
    let row_group = |files| {
        let mut choice = Choice::new(extract, tokens, files, estimator);
        choice.mentioned_names = names_in(extract, narrative.unwrap_or_default());
        choice.requests(words);
        if tokens > 0 {
            // Before files: many files would leave little room otherwise.
            choice.todos();
            choice.first_sentences();
        }
        choice
    };
    let mut choice = row_group(match tokens < SMALL {
        true => FileRows::Short,
        false => FileRows::Whole,
    });
    if tokens > 0 {
        if !choice.changed() && tokens >= SMALL {
            choice = row_group(FileRows::Short);
            choice.changed();
        }
        choice.plan();
        choice.state();
        choice.more_sentences();
        choice.questions();
        choice.keep_room_for_left_out();
        if narrative.is_none() {
            choice.cover(EARLIER, |unit| unit.claim == Claim::Earlier);
        }
        let is_other = |unit: &Unit| unit.claim != Claim::State;
        if choice.left_out().is_some() {
            // The user's words come before files that were only read.
            choice.cover(100, |unit| is_other(unit) && !is_read(unit));
            choice.last_sentences();
        }
        choice.cover(100, is_other);
        if choice.recount() {
            choice.cover(100, is_other);
        }
        let freed = choice.drop_names_told_elsewhere();
        choice.widen(freed);
    }
    choice.summary()
}

/// The numbers of the names in a text.
fn names_in(extract: &Extract, text: &str) -> IdSet<u32> {
    let mut numbers = IdSet::default();
    scan(text, |_, name| {
        numbers.extend(extract.found.names.find(name))
    });
    numbers
}

/// Whether a unit is a file that was not changed.
fn is_read(unit: &Unit) -> bool {
    unit.row.section == Section::Files && unit.claim == Claim::Free
}

struct Choice<'c> {
    extract: &'c Extract,
    weights: UnitWeights,
    estimator: &'c Estimator,
    limit: u64,
    files: FileRows,
    used: Size,
    /// The sections that already have a row.
    open_sections: [bool; Section::ALL.len()],
    /// The rows to which further units can be joined.
    open_rows: IdSet<(Section, u32, Mark)>,
    /// What was done to the chosen files.
    labels: Vec<&'c str>,
    /// The names that the narrative before the rows mentions.
    mentioned_names: IdSet<u32>,
    /// How often each name occurs in chosen units.
    occurrences: Vec<u8>,
    /// The names that chosen units show among words of the transcript.
    is_grounded: Vec<bool>,
    /// The chosen units, in the order of choice.
    chosen: Vec<Chosen<'c>>,
    /// The range of `chosen` that shows what was said and done last.
    state: Range<usize>,
    /// The units that are chosen or excluded.
    is_settled: Vec<bool>,
    /// The tokens per byte of each unit's text.
    /// How near the summary is to a large one, from 0 to 1.
    size_factor: f64,
}

struct Chosen<'c> {
    unit: usize,
    text: Cow<'c, str>,
    size: Size,
    counts: Counts,
}

/// Whether a row counts against the budget.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Counts {
    Yes,
    /// It counts, but is always included.
    ButStays,
    No,
}

/// A part of the budget, and how much of it has been used.
struct Part {
    limit: u64,
    used: Size,
}

impl<'c> Choice<'c> {
    fn new(extract: &'c Extract, limit: u64, files: FileRows, estimator: &'c Estimator) -> Self {
        let mut occurrences = vec![0; extract.found.names.len()];
        let mut is_grounded = vec![false; occurrences.len()];
        for name in &extract.found.seen_after {
            occurrences[*name as usize] = 1;
            is_grounded[*name as usize] = true;
        }
        let share = limit as f64 * BYTES_OF_A_TOKEN / extract.bytes.max(1) as f64;
        Choice {
            extract,
            weights: extract.weights.units.of_share(share),
            estimator,
            limit,
            files,
            used: Size::default(),
            open_sections: [false; Section::ALL.len()],
            open_rows: IdSet::default(),
            labels: Vec::new(),
            mentioned_names: IdSet::default(),
            occurrences,
            is_grounded,
            chosen: Vec::new(),
            state: 0..0,
            is_settled: vec![false; extract.found.units.len()],
            size_factor: UnitWeights::size_factor(share),
        }
    }

    fn units(&self) -> impl DoubleEndedIterator<Item = (usize, &'c Unit)> + use<'c> {
        self.extract.found.units.iter().enumerate()
    }

    fn part(&self, hundredths: u64) -> Part {
        Part {
            limit: self.limit.saturating_mul(hundredths) / 100,
            used: Size::default(),
        }
    }

    fn take(&mut self, number: usize, part: &mut Part) -> bool {
        let unit = &self.extract.found.units[number];
        let text = match unit.kind {
            UnitKind::Statement => Cow::Borrowed(self.path(&unit.row)),
            UnitKind::Names => Cow::Owned(self.new_names(&unit.row.text)),
        };
        self.take_as(number, text, part)
    }

    /// Takes a part of a unit's text, or all of it.
    fn take_part(&mut self, number: usize, of: Option<Range<usize>>, part: &mut Part) -> bool {
        let Some(of) = of else {
            return self.take(number, part);
        };
        let text = marked(&self.extract.found.units[number].row.text, of);
        self.take_as(number, Cow::Owned(text), part)
    }

    /// A row's text; in the short form, a file's path is relative to the working folder.
    fn path<'r>(&self, row: &'r Row) -> &'r str {
        let folder = self.extract.found.folder.as_deref();
        let below = |folder| row.text.strip_prefix(folder)?.strip_prefix('/');
        let is_short = row.section == Section::Files && self.files == FileRows::Short;
        let short = folder.filter(|_| is_short).and_then(below);
        short
            .filter(|path| !path.is_empty() && is_relative(path))
            .unwrap_or(&row.text)
    }

    /// The names of an index that have not occurred yet.
    fn new_names(&self, index: &str) -> String {
        let names = &self.extract.found.names;
        let is_new = |name: &&str| {
            let number = names.find(name);
            number.is_none_or(|number| self.occurrences[number as usize] == 0)
        };
        let new: Vec<&str> = index.split(BETWEEN).filter(is_new).collect();
        new.join(BETWEEN)
    }

    /// Takes a unit if it is new and there is room for it.
    fn take_as(&mut self, number: usize, text: Cow<'c, str>, part: &mut Part) -> bool {
        if self.is_settled[number] {
            return false;
        }
        let unit = &self.extract.found.units[number];
        let size = self.size(unit, &text);
        let [used, used_of_part] = [self.used, part.used].map(|used| combined(used, size));
        let tokens = |size| self.estimator.tokens(size);
        if tokens(used) > self.limit || tokens(used_of_part) > part.limit {
            return false;
        }
        self.used = used;
        part.used = used_of_part;
        self.open_sections[unit.row.section as usize] = true;
        if unit.row.section.labels() == Labels::None && unit.row.section != Section::Requests {
            self.open_rows.insert(row_group(unit));
        }
        if unit.row.section == Section::Files && !self.labels.contains(&unit.row.label.as_str()) {
            self.labels.push(&unit.row.label);
        }
        self.put(number, text, size, Counts::Yes);
        true
    }

    fn put(&mut self, number: usize, text: Cow<'c, str>, size: Size, counts: Counts) {
        let found = &self.extract.found;
        let unit = &found.units[number];
        let grounding = unit.grounding();
        let mut told = found.names.list(&unit.names).to_vec();
        if self.may_be_cut(unit) && text.len() < unit.row.text.len() {
            told.clear();
            scan(&text, |_, name| told.extend(found.names.find(name)));
            told.sort_unstable();
            told.dedup();
        }
        for name in told {
            let occurrences = &mut self.occurrences[name as usize];
            *occurrences = occurrences.saturating_add(1);
            self.is_grounded[name as usize] |= grounding == Grounding::Words;
        }
        self.is_settled[number] = true;
        self.chosen.push(Chosen {
            unit: number,
            text,
            size,
            counts,
        });
    }

    /// The size of a row, including the heading for the first row of a section; for a joined row, only the size of its lines.
    fn size(&self, unit: &Unit, text: &str) -> Size {
        let section = unit.row.section;
        let mut row = String::new();
        if self.open_rows.contains(&row_group(unit)) {
            for line in text.split('\n') {
                row.push_str("\n ");
                row.push_str(line);
            }
            return self.estimator.text(&row);
        }
        if !self.open_sections[section as usize] {
            row.push_str("\n\n");
            row.push_str(section.heading());
        }
        row.push('\n');
        // Most rows follow another one of their section.
        let above = self.labels.iter().find(|label| **label == unit.row.label);
        let label = self.files.label(&unit.row, text, above.copied());
        unit.row.write_to(&mut row, label, text);
        self.estimator.text(row.trim_end_matches('\n'))
    }
}

/// The key that units must share to be joined into one row, in sections without labels.
fn row_group(unit: &Unit) -> (Section, u32, Mark) {
    (unit.row.section, unit.message, unit.row.mark)
}

fn combined(a: Size, b: Size) -> Size {
    [a, b].into_iter().sum()
}
