//! Later reads of one file, and a fast search for the newest one that covers an earlier read.
//!
//! Reads with line numbers are found by their lines; those without, by a line of text that few of them show, or by a word where
//! a text is too short to have a whole line.

use std::hash::BuildHasher;

use foldhash::fast::FixedState;

use super::reads::{EarlierRead, KnownBy, Shown, cut_off};
use super::{Lines, said};
use crate::ids::IdMap;
use crate::transcript::Transcript;

/// Later reads of one file, each with a value for the caller. They must be added from the newest to the oldest.
#[derive(Debug)]
pub struct LaterReads<T> {
    reads: Vec<(Shown, T)>,
    numbered: Ranges,
    /// The newest read with line numbers that shows the whole file.
    whole: Option<usize>,
    /// The reads without line numbers.
    unnumbered: Vec<usize>,
    /// Of each line of text, the reads without line numbers that show it.
    by_line: ByHash,
    /// Of each word, the same; made when a text is looked for that has no whole line.
    by_word: ByHash,
    /// How many of `unnumbered` are in `by_word`.
    worded: usize,
}

/// The reads that show a text, by its hash.
type ByHash = IdMap<u64, Vec<usize>>;

impl<T> Default for LaterReads<T> {
    fn default() -> Self {
        LaterReads {
            reads: Vec::new(),
            numbered: Ranges::default(),
            whole: None,
            unnumbered: Vec::new(),
            by_line: IdMap::default(),
            by_word: IdMap::default(),
            worded: 0,
        }
    }
}

impl<T: Copy> LaterReads<T> {
    /// Adds a read that is older than those before.
    pub fn add(&mut self, transcript: &Transcript<'_>, shown: Shown, value: T) {
        let number = self.reads.len();
        self.reads.push((shown, value));
        match (shown.whole, shown.known_by) {
            (None, _) => {}
            (Some(lines), KnownBy::Numbers) => {
                self.numbered.add(lines, number);
                if lines == Lines::ALL {
                    self.whole = self.whole.or(Some(number));
                }
            }
            (Some(_), KnownBy::Asking) => {
                self.unnumbered.push(number);
                let text = said(transcript, transcript.block(shown.block));
                index(&mut self.by_line, cut_off(&text).0.split('\n'), number);
            }
        }
    }

    /// The newest read that covers an earlier one.
    pub fn newest_covering(&mut self, transcript: &Transcript<'_>, shown: Shown) -> Option<T> {
        let earlier = EarlierRead::new(transcript, shown);
        let number = match shown.known_by {
            KnownBy::Numbers => self.numbered.newest_holding(shown.within),
            KnownBy::Asking => {
                let text = said(transcript, transcript.block(shown.block));
                let text = cut_off(&text).0;
                self.index_words(transcript, text);
                let covers = |number: &&usize| self.reads[**number].0.covers(transcript, &earlier);
                let unnumbered = self.with_text(text).iter().find(covers).copied();
                [self.whole, unnumbered].into_iter().flatten().min()
            }
        };
        number.map(|number| self.reads[number].1)
    }

    /// Indexes the words of all reads so far, if a text cannot be found by its lines.
    fn index_words(&mut self, transcript: &Transcript<'_>, text: &str) {
        if inner_lines(text).next().is_some() {
            return;
        }
        for number in self.unnumbered.iter().skip(self.worded) {
            let block = self.reads[*number].0.block;
            let text = said(transcript, transcript.block(block));
            index(&mut self.by_word, words(cut_off(&text).0), *number);
        }
        self.worded = self.unnumbered.len();
    }

    /// The reads without line numbers that may show a text: those that show its rarest whole line, or word.
    fn with_text(&self, text: &str) -> &[usize] {
        let by_line = fewest(&self.by_line, inner_lines(text));
        by_line
            .or_else(|| fewest(&self.by_word, inner_words(text)))
            .unwrap_or(&self.unnumbered)
    }
}

/// Adds a read to the lists of what it shows.
fn index<'t>(reads: &mut ByHash, shows: impl Iterator<Item = &'t str>, number: usize) {
    for text in shows {
        let reads = reads.entry(hash(text)).or_default();
        if reads.last() != Some(&number) {
            reads.push(number);
        }
    }
}

/// The shortest of the lists of these texts; `None` without a text.
fn fewest<'l, 't>(reads: &'l ByHash, texts: impl Iterator<Item = &'t str>) -> Option<&'l [usize]> {
    let lists = texts.map(|text| reads.get(&hash(text)).map_or(&[][..], Vec::as_slice));
    lists.min_by_key(|list| list.len())
}

/// The lines that are whole wherever the text occurs: the first and the last one may go on there.
fn inner_lines(text: &str) -> impl Iterator<Item = &str> {
    inner(text.split('\n'))
}

/// The words that are whole wherever the text occurs.
fn inner_words(text: &str) -> impl Iterator<Item = &str> {
    inner(words(text))
}

/// The words of a text, and the empty ones between two separators.
fn words(text: &str) -> impl DoubleEndedIterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric())
}

fn inner<'t>(mut parts: impl DoubleEndedIterator<Item = &'t str>) -> impl Iterator<Item = &'t str> {
    parts.next();
    parts.next_back();
    parts
}

fn hash(line: &str) -> u64 {
    FixedState::default().hash_one(line)
}

/// Ranges of lines, with a search in logarithmic time for the first added range that contains a given one.
///
/// A Fenwick tree over the first lines. Each node lists the ranges below it that end later than all ranges added before them:
/// any other is contained in one that was added earlier.
#[derive(Debug, Default)]
struct Ranges(IdMap<u32, Vec<(u64, usize)>>);

impl Ranges {
    fn add(&mut self, lines: Lines, number: usize) {
        let last = lines.last.unwrap_or(u64::MAX);
        let mut node = place(lines);
        while let Some(at) = node {
            let ranges = self.0.entry(at).or_default();
            if ranges.last().is_none_or(|(end, _)| *end < last) {
                ranges.push((last, number));
            }
            node = at.checked_add(at & at.wrapping_neg());
        }
    }

    fn newest_holding(&self, lines: Lines) -> Option<usize> {
        let last = lines.last.unwrap_or(u64::MAX);
        let mut newest: Option<usize> = None;
        let mut at = place(lines).unwrap_or(u32::MAX);
        while at > 0 {
            if let Some(ranges) = self.0.get(&at) {
                let first = ranges.partition_point(|(end, _)| *end < last);
                let found = ranges.get(first).map(|(_, number)| *number);
                newest = newest.into_iter().chain(found).min();
            }
            at -= at & at.wrapping_neg();
        }
        newest
    }
}

/// The leaf of a range; `None` for line numbers that no file has.
fn place(lines: Lines) -> Option<u32> {
    u32::try_from(lines.first).ok()?.checked_add(1)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn lines() -> impl Strategy<Value = Lines> {
        (0u64..12, proptest::option::of(0u64..12)).prop_map(|(first, more)| Lines {
            first,
            last: more.map(|more| first + more),
        })
    }

    proptest! {
        #[test]
        fn the_first_added_range_that_holds_another_is_found(
            added in proptest::collection::vec(lines(), 0..20),
            wanted in lines(),
        ) {
            let mut ranges = Ranges::default();
            for (number, lines) in added.iter().enumerate() {
                ranges.add(*lines, number);
            }
            let expected = added.iter().position(|lines| lines.hold(wanted));
            prop_assert_eq!(ranges.newest_holding(wanted), expected);
        }
    }
}
