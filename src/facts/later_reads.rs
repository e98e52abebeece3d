//! Later reads of one file, and a fast search for the newest one that covers an earlier read.
//!
//! Reads with line numbers are found by their lines; those without, by a line of text that few of them show.

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
    /// Of each line of text, by its hash, the reads without line numbers that show it.
    by_text: IdMap<u64, Vec<usize>>,
}

impl<T> Default for LaterReads<T> {
    fn default() -> Self {
        LaterReads {
            reads: Vec::new(),
            numbered: Ranges::default(),
            whole: None,
            unnumbered: Vec::new(),
            by_text: IdMap::default(),
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
                for line in cut_off(&text).0.split('\n') {
                    let reads = self.by_text.entry(hash(line)).or_default();
                    if reads.last() != Some(&number) {
                        reads.push(number);
                    }
                }
            }
        }
    }

    /// The newest read that covers an earlier one.
    pub fn newest_covering(&self, transcript: &Transcript<'_>, shown: Shown) -> Option<T> {
        let earlier = EarlierRead::new(transcript, shown);
        let covers = |number: &usize| self.reads[*number].0.covers(transcript, &earlier);
        let number = match shown.known_by {
            KnownBy::Numbers => self.numbered.newest_holding(shown.within),
            KnownBy::Asking => {
                let mut unnumbered = self.with_text(transcript, shown).iter();
                let unnumbered = unnumbered.find(|number| covers(number)).copied();
                [self.whole, unnumbered].into_iter().flatten().min()
            }
        };
        number.map(|number| self.reads[number].1)
    }

    /// The reads without line numbers that may show a text: those that show its rarest whole line.
    fn with_text(&self, transcript: &Transcript<'_>, shown: Shown) -> &[usize] {
        let text = said(transcript, transcript.block(shown.block));
        // The first and the last line may be incomplete.
        let mut inner = cut_off(&text).0.split('\n');
        inner.next();
        inner.next_back();
        let reads = inner.map(|line| self.by_text.get(&hash(line)).map_or(&[][..], Vec::as_slice));
        let fewest = reads.min_by_key(|reads| reads.len());
        fewest.unwrap_or(&self.unnumbered)
    }
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
