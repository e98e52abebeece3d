//! Later reads of one file, and a fast search for the newest one that covers an earlier read.
//!
//! Finds reads with line numbers by line range; others by a rare line of text, or by a rare word if the text is too short to have a
//! whole line.

use super::hints::Bare;
use super::postings::Postings;
use super::reads::{EarlierRead, KnownBy, Shown};
use super::{Lines, block_text};
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
    /// For each line of text, the reads of `unnumbered` that show it.
    by_line: Postings,
    /// The same for words; built only when searching for a text without a whole line.
    by_word: Postings,
    /// How many of `unnumbered` are in `by_word`.
    worded: usize,
}

impl<T> Default for LaterReads<T> {
    fn default() -> Self {
        LaterReads {
            reads: Vec::new(),
            numbered: Ranges::default(),
            whole: None,
            unnumbered: Vec::new(),
            by_line: Postings::default(),
            by_word: Postings::default(),
            worded: 0,
        }
    }
}

impl<T: Copy> LaterReads<T> {
    /// Adds a read, which must be older than all previous ones.
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
                let text = block_text(transcript, transcript.block(shown.block));
                let place = self.unnumbered.len() as u32;
                self.by_line.add(Bare::of(&text).text.split('\n'), place);
                self.unnumbered.push(number);
            }
        }
    }

    /// The newest read that covers an earlier one.
    pub fn newest_covering(&mut self, transcript: &Transcript<'_>, shown: Shown) -> Option<T> {
        let earlier = EarlierRead::new(transcript, shown);
        let number = match shown.known_by {
            KnownBy::Numbers => self.numbered.newest_holding(shown.within),
            KnownBy::Asking => {
                let text = block_text(transcript, transcript.block(shown.block));
                let text = Bare::of(&text).text;
                self.index_words(transcript, text);
                let covers = |number: &usize| self.reads[*number].0.covers(transcript, &earlier);
                let unnumbered = self.may_hold(text).find(covers);
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
        let all = (0..).zip(&self.unnumbered);
        for (place, number) in all.skip(self.worded) {
            let block = self.reads[*number].0.block;
            let text = block_text(transcript, transcript.block(block));
            self.by_word.add(words(Bare::of(&text).text), place);
        }
        self.worded = self.unnumbered.len();
    }

    /// The reads without line numbers that may show a text: those that contain a rare whole line or a rare word of it.
    fn may_hold(&self, text: &str) -> impl Iterator<Item = usize> {
        let by_line = self.by_line.holding_a_rare(inner_lines(text));
        let holding = by_line.or_else(|| self.by_word.holding_a_rare(inner_words(text)));
        let all = match holding {
            Some(_) => 0..0,
            None => 0..self.unnumbered.len(),
        };
        let places = holding.into_iter().flatten().map(|place| place as usize);
        places.chain(all).map(|place| self.unnumbered[place])
    }
}

/// The lines that are whole wherever the text occurs: the first and the last one may be parts of longer lines there.
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

/// Ranges of lines, with a search in logarithmic time for the first added range that contains a given one.
///
/// A Fenwick tree over the first lines. Each node lists those ranges below it that end later than all ranges added before; any
/// other range is contained in an earlier one.
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
    use crate::facts::reads;
    use crate::facts::tests::{ResultText, anthropic, in_main};

    /// Possible texts of the reads of one file: a few words and lines without numbers, some with the hint of pi, and numbered
    /// lines.
    fn said_by_reads() -> impl Strategy<Value = Vec<String>> {
        let line = "(a|bc|\"|é|a bc|x-a|)";
        let text = proptest::collection::vec(line, 1..6).prop_map(|lines| lines.join("\n"));
        let hinted = text
            .clone()
            .prop_map(|text| text + "\n\n[7 more lines in file. Use offset=9 to continue.]");
        let numbered = (1u32..4, 1u32..5).prop_map(|(first, lines)| {
            let lines = (first..first + lines).map(|n| format!("{n:6}\ta"));
            lines.collect::<Vec<_>>().join("\n")
        });
        let said = prop_oneof![6 => text, 1 => hinted, 1 => numbered];
        proptest::collection::vec(said, 1..9)
    }

    fn lines() -> impl Strategy<Value = Lines> {
        (0u64..12, proptest::option::of(0u64..12)).prop_map(|(first, more)| Lines {
            first,
            last: more.map(|more| first + more),
        })
    }

    proptest! {
        #[test]
        fn the_newest_read_that_covers_an_earlier_one_is_found(said_by_reads in said_by_reads()) {
            let calls: Vec<_> = said_by_reads
                .iter()
                .map(|said| ("Read", r#"{"file_path":"/a"}"#, ResultText::Fine(said)))
                .collect();
            let transcript = anthropic(&calls);
            let shown: Vec<Shown> = in_main(&transcript, reads)
                .iter()
                .filter_map(|read| read.shown(&block_text(&transcript, transcript.block(read.result.block))))
                .rev()
                .collect();
            // Empty texts do not count as reads.
            prop_assume!(!shown.is_empty());
            let mut later = LaterReads::default();
            for (number, shows) in shown.iter().enumerate() {
                let earlier = EarlierRead::new(&transcript, *shows);
                let covers = |later: &Shown| later.covers(&transcript, &earlier);
                let expected = shown[..number].iter().position(covers);
                prop_assert_eq!(later.newest_covering(&transcript, *shows), expected);
                later.add(&transcript, *shows, number);
            }
        }

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
