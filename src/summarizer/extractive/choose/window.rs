//! The part of a row with the highest value per length: around the names of a line, from the start of a command.
//!
//! Cuts fall between words, and at least three words stay together, so that a name keeps its words of the transcript. A sentence is
//! never cut at its beginning, and a cut never drops a negation. Chooses among the parts of one unit, not among units.

use std::ops::Range;
use std::sync::LazyLock;

use aho_corasick::AhoCorasick;

use super::super::clip::CUT;
use super::super::entities::scan;
use super::super::form::Section;
use super::super::names::Names;
use super::super::units::{Grounding, Unit, UnitKind};
use super::Choice;
use super::value::WHOLE;
use crate::text::floor_boundary;

/// A text of fewer bytes than this stays whole.
const SHORTEST: usize = 48;

/// The maximum length of a part in bytes, and the maximum number of names considered.
const LONGEST: usize = 320;
const NAMES: usize = 16;

/// The minimum number of words in a part.
const WORDS: usize = 3;

/// The size of cut marks, in bytes.
const MARK: usize = 4;

/// What is looked up in a unit's text once for all of its parts.
#[derive(Debug)]
pub(in super::super) struct Places {
    names: Vec<Place>,
    words: Words,
    /// What must not be left out.
    denials: Option<Range<usize>>,
}

/// The first occurrence of a name.
#[derive(Debug)]
struct Place {
    /// Its number.
    name: u32,
    bytes: Range<usize>,
    /// The index of the word that contains it.
    word: usize,
}

impl Places {
    fn of(text: &str, section: Section, names: &Names) -> Places {
        let words = Words::of(text);
        let mut found: Vec<Place> = Vec::new();
        scan(text, |_, name| {
            let Some(number) = names.find(name) else {
                return;
            };
            if found.iter().all(|place| place.name != number) {
                let start = name.as_ptr() as usize - text.as_ptr() as usize;
                found.push(Place {
                    name: number,
                    bytes: start..start + name.len(),
                    word: words.at(start),
                });
            }
        });
        // A command is cut after its start, whatever follows; a text without names, at most at its end.
        let is_cut_anywhere = section != Section::Commands && !found.is_empty();
        Places {
            names: found,
            words,
            denials: is_cut_anywhere.then(|| denials(text)).flatten(),
        }
    }
}

impl Choice<'_> {
    /// Whether a part of a unit may be taken.
    pub(super) fn may_be_cut(&self, unit: &Unit) -> bool {
        let is_line = self.is_line(unit);
        let is_long_command = unit.row.section == Section::Commands && unit.head > 0;
        unit.kind == UnitKind::Statement
            && unit.row.text.len() > SHORTEST
            && (is_line || is_long_command)
    }

    /// Whether a unit is a line or a sentence.
    pub(super) fn is_line(&self, unit: &Unit) -> bool {
        matches!(unit.row.section, Section::Details | Section::Findings)
            && unit.kind == UnitKind::Statement
    }

    /// An upper bound of the value per length of a unit's best part, from its names alone.
    pub(super) fn at_best(&self, number: usize) -> f64 {
        let unit = &self.extract.found.units[number];
        let names = &self.extract.found.names;
        let base = self.base(unit);
        let density = self.measured(number).density;
        if unit.row.section == Section::Commands {
            return base / self.cost(unit.head + unit.row.label.len(), density, WHOLE);
        }
        let mark = self.mark(unit);
        let of = |name: &u32| {
            let length = names.all()[*name as usize].length as usize;
            self.worth(*name, Grounding::Words) / self.cost(length + SHORTEST / 3, density, mark)
        };
        names.list(&unit.names).iter().map(of).fold(0.0, f64::max)
    }

    /// The best part of a unit and its value per length.
    pub(super) fn best_part(&self, number: usize) -> Option<(Range<usize>, f64)> {
        let unit = &self.extract.found.units[number];
        let text = &unit.row.text[..];
        let places = self.extract.places[number].get_or_init(|| {
            // Without names, nothing is looked up.
            let text = if unit.names.is_empty() { "" } else { text };
            let names = &self.extract.found.names;
            Box::new(Places::of(text, unit.row.section, names))
        });
        let worth = |place: &Place| self.worth(place.name, Grounding::Words);
        let names = places.names.iter().map(|place| (place, worth(place)));
        let names = names.filter(|(_, worth)| *worth > 0.0).take(NAMES);
        let names: Vec<(&Place, f64)> = names.collect();
        let label = unit.row.label.len();
        let mark = self.mark(unit);
        let density = self.measured(number).density;
        let mut best: Option<(Range<usize>, f64)> = None;
        let mut consider = |part: Range<usize>, value: f64| {
            let gain = value / self.cost(part.len() + MARK + label, density, mark);
            if part.len() + MARK < text.len()
                && best.as_ref().is_none_or(|(_, highest)| gain > *highest)
            {
                best = Some((part, gain));
            }
        };
        if unit.row.section == Section::Commands {
            let mut value = self.base(unit);
            let mut end = word_end(text, unit.head);
            let mut names = names.iter().peekable();
            loop {
                while let Some((_, worth)) = names.next_if(|(place, _)| place.bytes.end <= end) {
                    value += worth;
                }
                consider(0..end, value);
                match names.peek() {
                    Some((place, _)) => end = word_end(text, place.bytes.end),
                    None => break,
                }
            }
            return best;
        }
        if text.len() > LONGEST {
            // Its beginning, as if it were a shorter one.
            let end = word_start(text, floor_boundary(text, LONGEST));
            let within = names.iter().filter(|(place, _)| place.bytes.end <= end);
            let value: f64 = within.map(|(_, worth)| worth).sum();
            consider(0..end, self.base(unit) + value);
        }
        // The statement about a name often precedes it.
        let is_sentence = unit.row.section == Section::Findings;
        for (first, (from, _)) in names.iter().enumerate() {
            let mut value = 0.0;
            if is_sentence && first > 0 {
                break;
            }
            for (to, worth) in &names[first..] {
                value += worth;
                let from = if is_sentence { 0 } else { from.word };
                let part = places.words.around(from, to.word);
                if part.len() > LONGEST {
                    break;
                }
                if places
                    .denials
                    .as_ref()
                    .is_none_or(|all| part.start <= all.start && all.end <= part.end)
                {
                    consider(part, value);
                }
            }
        }
        best
    }
}

/// The range of a text that contains words that may change the meaning of the rest: negations, restrictions, failures. Finds too
/// much rather than too little, in the most frequent languages of sessions.
fn denials(text: &str) -> Option<Range<usize>> {
    const WORDS: [&str; 36] = [
        "no", "not", "non", "none", "nor", "never", "neither", "cannot", "without", "unless",
        "except", "instead", "only", "but", "if", "nicht", "kein", "keine", "nie", "ohne", "pas",
        "jamais", "sans", "nunca", "sin", "sem", "não", "не", "нет", "без", "không", "chưa", "old",
        "was", "were", "would",
    ];
    const PARTS: [&str; 24] = [
        "n't",
        "n’t",
        "fail",
        "error",
        "missing",
        "invalid",
        "unknown",
        "wrong",
        "revert",
        "remov",
        "delet",
        "deprecat",
        "unable",
        "refus",
        "不",
        "没",
        "無",
        "无",
        "ない",
        "ません",
        "않",
        "없",
        "Не",
        "Нет",
    ];
    static FIND: LazyLock<Option<AhoCorasick>> = LazyLock::new(|| {
        let mut builder = AhoCorasick::builder();
        builder.ascii_case_insensitive(true);
        builder.build(WORDS.iter().chain(&PARTS)).ok()
    });
    let Some(find) = &*FIND else {
        return Some(0..text.len());
    };
    let is_of_word = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
    let mut found: Option<Range<usize>> = None;
    for hit in find.find_overlapping_iter(text) {
        let (before, after) = (&text[..hit.start()], &text[hit.end()..]);
        let is_whole = !is_of_word(before.chars().next_back()) && !is_of_word(after.chars().next());
        if is_whole || hit.pattern().as_usize() >= WORDS.len() {
            let start = found.map_or(hit.start(), |range| range.start.min(hit.start()));
            found = Some(start..hit.end());
        }
    }
    found
}

/// A part of a text with a mark where something is left out.
pub(super) fn marked(text: &str, part: Range<usize>) -> String {
    let before = if part.start > 0 { "… " } else { "" };
    let after = match part.end < text.len() {
        true => format!(" {CUT}"),
        false => String::new(),
    };
    format!("{before}{}{after}", text[part].trim())
}

/// The words of a text, separated by blanks.
#[derive(Debug)]
struct Words(Vec<Range<usize>>);

impl Words {
    fn of(text: &str) -> Words {
        let words = text.split_ascii_whitespace();
        let start = |word: &str| word.as_ptr() as usize - text.as_ptr() as usize;
        let place = |word: &str| start(word)..start(word) + word.len();
        Words(words.map(place).collect())
    }

    /// The index of the word at a position.
    fn at(&self, place: usize) -> usize {
        self.0.partition_point(|word| word.end <= place)
    }

    /// The range of the words `first` to `last`, extended to three words if the text has as many: preceding words first, since they
    /// say what it is.
    fn around(&self, first: usize, last: usize) -> Range<usize> {
        let missing = WORDS.saturating_sub(last - first + 1);
        let before = missing.min(first);
        let after = (missing - before).min(self.0.len() - 1 - last);
        let (first, last) = (first - before, last + after);
        self.0[first].start..self.0[last].end
    }
}

/// The start of the word that ends at or continues after a position.
fn word_start(text: &str, at: usize) -> usize {
    let space = text.as_bytes()[..at]
        .iter()
        .rposition(u8::is_ascii_whitespace);
    space.map_or(0, |space| space + 1)
}

/// The end of the word that begins before a place.
fn word_end(text: &str, at: usize) -> usize {
    let space = text.as_bytes()[at..]
        .iter()
        .position(u8::is_ascii_whitespace);
    space.map_or(text.len(), |space| at + space)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_turn_the_meaning_is_found() {
        for text in [
            "We decided not to use",
            "I don’t touch",
            ", but that was reverted",
            "FAILED",
            "使わない",
            "Nie wieder",
        ] {
            assert!(denials(text).is_some(), "{text}");
        }
        assert_eq!(denials("the gauge at alder-quay reads"), None);
        assert_eq!(denials("notes about nothing"), None);
        assert_eq!(denials("It is not old, but wrong."), Some(6..24));
    }

    #[test]
    fn three_words_stay_around_a_name() {
        let of = |text: &str, name: &str| {
            let words = Words::of(text);
            let at = words.at(text.find(name).unwrap());
            marked(text, words.around(at, at))
        };
        let line = "let found = parse_line(input, at)? else { return };";
        assert_eq!(of(line, "parse_line"), "… found = parse_line(input, …");
        assert_eq!(of(line, "let"), "let found = …");
        assert_eq!(of("a_b c", "a_b"), "a_b c");
        assert_eq!(of("é  get_x ü", "get_x"), "é  get_x ü");
        assert_eq!(of("x", "x"), "x");
    }
}
