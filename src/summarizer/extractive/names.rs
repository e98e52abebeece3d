//! Counts the names of a conversation: how often, how recently and by whom each was mentioned.
//!
//! Never scores names.

use std::hash::BuildHasher;
use std::ops::Range;

use foldhash::fast::FixedState;

use super::entities::{Class, is_within_word, scan};
use crate::ids::IdMap;

/// The approximate number of bytes of text per name.
const BYTES_FOR_A_NAME: usize = 48;

/// Who mentions a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Speaker {
    /// The user.
    User,
    /// The assistant, in words, or an earlier summary.
    Agent,
    /// The assistant, in a call.
    Call,
    /// A tool.
    Tool,
}

impl Speaker {
    /// The speakers that choose what they mention.
    pub(super) const AUTHORS: [Speaker; 3] = [Speaker::User, Speaker::Agent, Speaker::Call];
}

/// All names, and those of each unit.
#[derive(Debug, Default)]
pub(super) struct Names {
    /// Keyed by a hash of the name that is the same in every run.
    numbers: IdMap<u64, u32>,
    names: Vec<Name>,
    /// The folders that paths may be relative to.
    folders: Vec<String>,
    /// Hashes of the words that names are made of, name by name.
    parts: Vec<u32>,
    /// The names of all units, one after the other.
    of_units: Vec<u32>,
}

/// What is known about a name.
#[derive(Debug, Clone)]
pub(super) struct Name {
    pub(super) class: Class,
    /// How often each speaker mentions it.
    pub(super) counts: [u32; 4],
    /// The last message in which each speaker mentioned it, from 1; 0 = never.
    pub(super) last: [u32; 4],
    /// The first message with it, from 0.
    pub(super) first: u32,
    /// The number of messages in which it occurs, and the last of them, from 1.
    pub(super) messages: u32,
    pub(super) seen: u32,
    /// The number of other new names in the text of its first occurrence.
    pub(super) crowd: u32,
    /// Whether it occurs in a line that defines something.
    pub(super) is_defined: bool,
    /// Whether it occurs in a write or an edit.
    pub(super) is_written: bool,
    /// Whether it occurs in a file as last read.
    pub(super) is_in_file: bool,
    /// Its words, as a range of the list of all words.
    pub(super) parts: Range<u32>,
    /// Its length, in bytes.
    pub(super) length: u32,
    /// Whether it is in an index.
    is_indexed: bool,
}

/// The distinct names of a unit, as a range of the list of all.
pub(super) type NamesOf = Range<u32>;

/// A text whose names are known, so that its parts need not be scanned again.
#[derive(Debug)]
pub(super) struct Counted<'t> {
    text: &'t str,
    /// The start and number of each of its names.
    names: Vec<(usize, u32)>,
}

impl<'t> Counted<'t> {
    /// The names of a part; `None` if it is not a slice of the text, or begins or ends within a word.
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
    /// Counts the names of a text of message `message`. Calls `index` with each name that is in no index yet and its number;
    /// `index` returns whether it added the name to one.
    pub(super) fn count<'t>(
        &mut self,
        text: &'t str,
        message: u32,
        speaker: Speaker,
        mut index: impl FnMut(Class, &'t str, u32) -> bool,
    ) -> Counted<'t> {
        let before = self.names.len();
        let mut met = Vec::with_capacity(text.len() / BYTES_FOR_A_NAME);
        scan(text, |class, name| {
            let number = self.number(class, name);
            met.extend(offset(text, name).map(|at| (at, number)));
            let known = &mut self.names[number as usize];
            known.counts[speaker as usize] += 1;
            known.last[speaker as usize] = known.last[speaker as usize].max(message + 1);
            known.first = known.first.min(message);
            if known.seen != message + 1 {
                known.messages += 1;
                known.seen = message + 1;
            }
            if !known.is_indexed {
                known.is_indexed = index(class, name, number);
            }
        });
        let new = &mut self.names[before..];
        let crowd = new.len() as u32;
        for name in new {
            name.crowd = crowd;
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

    /// Turns the names from `start` on into those of one unit, sorted and without duplicates.
    fn sorted(&mut self, start: usize) -> NamesOf {
        self.of_units[start..].sort_unstable();
        let mut end = start;
        for at in start..self.of_units.len() {
            let number = self.of_units[at];
            if end == start || self.of_units[end - 1] != number {
                self.of_units[end] = number;
                end += 1;
            }
        }
        self.of_units.truncate(end);
        start as u32..end as u32
    }

    /// Calls `found` with the number of each name in a text, without counting it.
    pub(super) fn each(&mut self, text: &str, mut found: impl FnMut(u32)) {
        scan(text, |class, name| found(self.number(class, name)));
    }

    /// The numbers of a unit's names.
    pub(super) fn list(&self, of: &NamesOf) -> &[u32] {
        &self.of_units[of.start as usize..of.end as usize]
    }

    /// The number of a name, if it occurred.
    pub(super) fn find(&self, name: &str) -> Option<u32> {
        let name = below(&self.folders, name);
        self.numbers.get(&hash(name)).copied()
    }

    /// Treats paths below a folder as the same names as those relative to it. Must be called before any name is counted.
    pub(super) fn relative_to(&mut self, folder: String) {
        if folder.len() > 1 && !self.folders.contains(&folder) {
            self.folders.push(folder);
        }
    }

    /// The number of names.
    pub(super) fn len(&self) -> usize {
        self.names.len()
    }

    /// Calls `note` for each name of a unit.
    pub(super) fn note(&mut self, of: &NamesOf, note: impl Fn(&mut Name)) {
        for name in &self.of_units[of.start as usize..of.end as usize] {
            note(&mut self.names[*name as usize]);
        }
    }

    /// Calls `note` for each name of a text.
    pub(super) fn note_all(&mut self, of: &Counted<'_>, note: impl Fn(&mut Name)) {
        for (_, name) in &of.names {
            note(&mut self.names[*name as usize]);
        }
    }

    /// All names, indexed by number.
    pub(super) fn all(&self) -> &[Name] {
        &self.names
    }

    /// The hashes of the words that a name is made of.
    pub(super) fn parts(&self, name: &Name) -> &[u32] {
        &self.parts[name.parts.start as usize..name.parts.end as usize]
    }

    fn number(&mut self, class: Class, name: &str) -> u32 {
        let Names {
            names,
            parts,
            numbers,
            folders,
            ..
        } = self;
        let name = below(folders, name);
        *numbers.entry(hash(name)).or_insert_with(|| {
            let start = parts.len() as u32;
            words_of(name, |part| parts.push(part));
            names.push(Name {
                class,
                counts: [0; 4],
                last: [0; 4],
                first: u32::MAX,
                messages: 0,
                seen: 0,
                crowd: 0,
                is_defined: false,
                is_written: false,
                is_in_file: false,
                parts: start..parts.len() as u32,
                length: name.len() as u32,
                is_indexed: false,
            });
            names.len() as u32 - 1
        })
    }
}

/// A path without the folder that it is relative to.
fn below<'n>(folders: &[String], name: &'n str) -> &'n str {
    if !name.starts_with('/') {
        return name;
    }
    let inside = |folder: &String| name.strip_prefix(&folder[..])?.strip_prefix('/');
    let inside = folders
        .iter()
        .filter_map(inside)
        .filter(|path| !path.is_empty());
    inside.min_by_key(|path| path.len()).unwrap_or(name)
}

/// Calls `found` with a hash of each word of at least three letters in a name: `get` and `names` in `getNames`.
fn words_of(name: &str, mut found: impl FnMut(u32)) {
    let mut word = (FIRST, 0);
    let mut is_after_lower = false;
    for byte in name.bytes() {
        let is_lower = byte.is_ascii_lowercase();
        let is_upper = byte.is_ascii_uppercase();
        if !is_lower && (!is_upper || is_after_lower) {
            if word.1 >= SHORTEST_WORD {
                found(word.0);
            }
            word = (FIRST, 0);
        }
        is_after_lower = is_lower;
        if is_lower || is_upper {
            let hash = (word.0 ^ u32::from(byte | 0x20)).wrapping_mul(0x0100_0193);
            word = (hash, word.1 + 1);
        }
    }
    if word.1 >= SHORTEST_WORD {
        found(word.0);
    }
}

/// The initial value of a word's hash, and the minimum length of a word.
const FIRST: u32 = 0x811c_9dc5;
const SHORTEST_WORD: usize = 3;

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
        // A copy is not a slice of the text.
        let copy = text.to_owned();
        assert_eq!(counted.within(&copy), None);
    }

    #[test]
    fn a_name_is_made_of_words() {
        let words = |name: &str| {
            let mut words = Vec::new();
            words_of(name, |word| words.push(word));
            words
        };
        assert_eq!(words("getNames"), words("get/names"));
        assert_eq!(words("src/a_names.rs"), words("SRC.names"));
        assert_eq!(words("HTTPServer-x2").len(), 1);
        assert!(words("a1.b2").is_empty());
    }
}
