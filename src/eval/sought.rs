//! Searches a text for many patterns in one pass.
//!
//! PURE. Reports which of them occur, not where.

use aho_corasick::AhoCorasick;

/// Texts to look for.
#[derive(Debug, Default)]
pub(super) struct PatternSet {
    texts: Vec<String>,
    /// `None` if there are too many for one automaton.
    automaton: Option<AhoCorasick>,
}

impl PatternSet {
    pub(super) fn new(texts: impl IntoIterator<Item = String>) -> PatternSet {
        let texts: Vec<String> = texts.into_iter().collect();
        let automaton = AhoCorasick::new(&texts).ok();
        PatternSet { texts, automaton }
    }

    /// The number of texts.
    pub(super) fn len(&self) -> usize {
        self.texts.len()
    }

    /// The texts, in order.
    pub(super) fn texts(&self) -> impl Iterator<Item = &str> {
        self.texts.iter().map(String::as_str)
    }

    /// Whether `text` contains each of them, in order.
    pub(super) fn found_in(&self, text: &[u8]) -> Vec<bool> {
        let mut found = vec![false; self.texts.len()];
        self.each_in(text, |number| found[number] = true);
        found
    }

    /// Calls `found` with the number (from 0) of each text that `text` contains, once or more.
    pub(super) fn each_in(&self, text: &[u8], mut found: impl FnMut(usize)) {
        match &self.automaton {
            Some(automaton) => automaton
                .find_overlapping_iter(text)
                .for_each(|place| found(place.pattern().as_usize())),
            None => {
                let is_in = |part: &String| memchr::memmem::find(text, part.as_bytes()).is_some();
                let numbers = (0..self.texts.len()).filter(|n| is_in(&self.texts[*n]));
                numbers.for_each(found);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_found_within_and_across_each_other() {
        let sought = PatternSet::new(["a.rs", "src/a.rs", "rs and", "b.rs", ""].map(str::to_owned));
        assert_eq!(
            sought.found_in(b"see src/a.rs and c"),
            [true, true, true, false, true]
        );
        assert_eq!(PatternSet::default().found_in(b"x"), [false; 0]);
    }
}
