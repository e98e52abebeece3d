//! Finds which elements of two sequences are the same, in their order.
//!
//! Elements are compared by keys, which are hashes; each further pass uses other keys on what the earlier ones have left unpaired.
//! Each pass is a patience diff: it pairs equal elements at both ends, then elements that occur once on either side, as far as they
//! are in the same order, and then repeats this between these pairs. The running time is that of a sort on all inputs, including
//! hostile ones. Never looks at contents.

use std::ops::Range;

use crate::ids::IdMap;

/// The depth to which gaps between anchors are searched; only contrived sequences need more than two or three rounds.
const MAX_DEPTH: u8 = 24;

/// Pairs of elements, in the same order on both sides.
#[derive(Debug)]
pub(super) struct Alignment {
    /// For each old element, the new one.
    new_of: Vec<Option<u32>>,
    /// For each new element, the old one.
    old_of: Vec<Option<u32>>,
}

/// A run of elements between two pairs that are not paired yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Gap {
    pub(super) old: Range<usize>,
    pub(super) new: Range<usize>,
}

impl Gap {
    fn is_open(&self) -> bool {
        !self.old.is_empty() && !self.new.is_empty()
    }
}

impl Alignment {
    /// An alignment without pairs between `old` and `new` elements.
    pub(super) fn new(old: usize, new: usize) -> Self {
        Alignment {
            new_of: vec![None; old],
            old_of: vec![None; new],
        }
    }

    /// The partner of an old element.
    pub(super) fn new_of(&self, old: usize) -> Option<usize> {
        self.new_of[old].map(|new| new as usize)
    }

    /// The partner of a new element.
    pub(super) fn old_of(&self, new: usize) -> Option<usize> {
        self.old_of[new].map(|old| old as usize)
    }

    /// Pairs two elements; the order of pairs must stay the same on both sides.
    pub(super) fn pair(&mut self, old: usize, new: usize) {
        self.new_of[old] = Some(new as u32);
        self.old_of[new] = Some(old as u32);
    }

    /// The unpaired elements between pairs, where at least one side has any.
    pub(super) fn gaps(&self) -> Vec<Gap> {
        let mut gaps = Vec::new();
        let (mut old, mut new) = (0, 0);
        let pairs = self.new_of.iter().enumerate();
        let pairs = pairs.filter_map(|(old, new)| Some((old, (*new)? as usize)));
        for (to_old, to_new) in pairs.chain([(self.new_of.len(), self.old_of.len())]) {
            let gap = Gap {
                old: old..to_old,
                new: new..to_new,
            };
            if !gap.old.is_empty() || !gap.new.is_empty() {
                gaps.push(gap);
            }
            (old, new) = (to_old + 1, to_new + 1);
        }
        gaps
    }

    /// Pairs elements with equal keys; elements without a key stay unpaired.
    pub(super) fn pass(&mut self, old: &[Option<u64>], new: &[Option<u64>]) {
        let mut open: Vec<(Gap, u8)> = self.gaps().into_iter().map(|gap| (gap, 0)).collect();
        while let Some((mut gap, depth)) = open.pop() {
            self.trim(&mut gap, old, new);
            if !gap.is_open() {
                continue;
            }
            let anchors = match depth {
                MAX_DEPTH.. => Vec::new(),
                _ => anchors(&gap, old, new),
            };
            if anchors.is_empty() {
                self.pair_repeated(&gap, old, new);
                continue;
            }
            let Gap { old: all, new: of } = gap;
            let (mut from_old, mut from_new) = (all.start, of.start);
            for (at, to) in anchors.into_iter().chain([(all.end, of.end)]) {
                let between = Gap {
                    old: from_old..at,
                    new: from_new..to,
                };
                if between.is_open() {
                    open.push((between, depth + 1));
                }
                if at < all.end {
                    self.pair(at, to);
                }
                (from_old, from_new) = (at + 1, to + 1);
            }
        }
    }

    /// Pairs equal elements at both ends of a gap.
    fn trim(&mut self, gap: &mut Gap, old: &[Option<u64>], new: &[Option<u64>]) {
        let same = |a: usize, b: usize| old[a].is_some() && old[a] == new[b];
        while gap.is_open() && same(gap.old.end - 1, gap.new.end - 1) {
            (gap.old.end, gap.new.end) = (gap.old.end - 1, gap.new.end - 1);
            self.pair(gap.old.end, gap.new.end);
        }
        while gap.is_open() && same(gap.old.start, gap.new.start) {
            self.pair(gap.old.start, gap.new.start);
            (gap.old.start, gap.new.start) = (gap.old.start + 1, gap.new.start + 1);
        }
    }

    /// Pairs elements that occur several times, starting from the end, because a compaction keeps the end.
    fn pair_repeated(&mut self, gap: &Gap, old: &[Option<u64>], new: &[Option<u64>]) {
        let mut places: IdMap<u64, Vec<usize>> = IdMap::default();
        for at in gap.old.clone() {
            if let Some(key) = old[at] {
                places.entry(key).or_default().push(at);
            }
        }
        let mut before = gap.old.end;
        for at in gap.new.clone().rev() {
            let places = new[at].and_then(|key| places.get(&key));
            let Some(places) = places else { continue };
            let earlier = places.partition_point(|place| *place < before);
            if let Some(place) = places[..earlier].last() {
                before = *place;
                self.pair(before, at);
            }
        }
    }
}

/// The elements that occur once on either side of a gap, as far as they are in the same order.
fn anchors(gap: &Gap, old: &[Option<u64>], new: &[Option<u64>]) -> Vec<(usize, usize)> {
    /// How often, and where, a key occurs on one side.
    #[derive(Clone, Copy)]
    enum Seen {
        Once(usize),
        Often,
    }
    let once = |range: &Range<usize>, keys: &[Option<u64>]| {
        let mut seen: IdMap<u64, Seen> = IdMap::default();
        for at in range.clone() {
            if let Some(key) = keys[at] {
                seen.entry(key)
                    .and_modify(|seen| *seen = Seen::Often)
                    .or_insert(Seen::Once(at));
            }
        }
        seen
    };
    let (olds, news) = (once(&gap.old, old), once(&gap.new, new));
    let pairs = gap.old.clone().filter_map(|at| {
        let key = old[at]?;
        match (olds.get(&key)?, news.get(&key)?) {
            (Seen::Once(_), Seen::Once(to)) => Some((at, *to)),
            (Seen::Once(_) | Seen::Often, _) => None,
        }
    });
    longest_in_order(&pairs.collect::<Vec<_>>())
}

/// The longest subsequence of `pairs`, which ascend on the left, that also ascends on the right.
fn longest_in_order(pairs: &[(usize, usize)]) -> Vec<(usize, usize)> {
    // For each length, the pair with the smallest right side that ends a subsequence of that length; and for each pair, its
    // predecessor.
    let mut ends: Vec<usize> = Vec::new();
    let mut before: Vec<Option<usize>> = Vec::with_capacity(pairs.len());
    for (number, (_, right)) in pairs.iter().enumerate() {
        let length = ends.partition_point(|end| pairs[*end].1 < *right);
        before.push(length.checked_sub(1).map(|shorter| ends[shorter]));
        match ends.get_mut(length) {
            Some(end) => *end = number,
            None => ends.push(number),
        }
    }
    let mut part = Vec::with_capacity(ends.len());
    let mut at = ends.last().copied();
    while let Some(number) = at {
        part.push(pairs[number]);
        at = before[number];
    }
    part.reverse();
    part
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Aligns letters; a dot has no key.
    fn aligned(old: &str, new: &str) -> String {
        let keys = |text: &str| -> Vec<Option<u64>> {
            let key = |c: char| (c != '.').then_some(u64::from(c));
            text.chars().map(key).collect()
        };
        let (olds, news) = (keys(old), keys(new));
        let mut alignment = Alignment::new(olds.len(), news.len());
        alignment.pass(&olds, &news);
        let pairs = (0..olds.len()).filter_map(|at| Some((at, alignment.new_of(at)?)));
        let mut last = None;
        let mut same = String::new();
        for (at, to) in pairs {
            assert!(last.is_none_or(|last| last < to), "{old} {new}");
            assert_eq!(alignment.old_of(to), Some(at));
            assert_eq!(olds[at], news[to]);
            last = Some(to);
            same.extend(old.chars().nth(at));
        }
        same
    }

    #[test]
    fn what_is_alike_is_paired_in_its_order() {
        assert_eq!(aligned("abcdef", "abcdef"), "abcdef");
        assert_eq!(aligned("sabcdef", "sXef"), "sef");
        assert_eq!(aligned("abc", "xyz"), "");
        assert_eq!(aligned("", "abc"), "");
        assert_eq!(aligned("a..b", "a..b"), "ab");
        // The block that counts as moved is the shorter one.
        assert_eq!(aligned("abcdexy", "xyabcde"), "abcde");
        // Repeated elements are paired from the end.
        assert_eq!(aligned("xoxoxo", "qxoq"), "xo");
    }

    #[test]
    fn a_pass_fills_the_gaps_of_the_one_before() {
        let mut alignment = Alignment::new(3, 3);
        let (a, b) = ([Some(1), None, Some(3)], [Some(1), None, Some(3)]);
        alignment.pass(&a, &b);
        assert_eq!(
            alignment.gaps(),
            [Gap {
                old: 1..2,
                new: 1..2
            }]
        );
        alignment.pass(&[None, Some(9), None], &[None, Some(9), None]);
        assert_eq!(alignment.gaps(), []);
    }

    #[test]
    fn long_sequences_of_the_same_and_reversed_ones_take_no_time() {
        const MANY: u64 = 100_000;
        let keys = |numbers: &mut dyn Iterator<Item = u64>| -> Vec<Option<u64>> {
            numbers.map(Some).collect()
        };
        let forward = keys(&mut (0..MANY));
        let backward = keys(&mut (0..MANY).rev());
        let same = keys(&mut (0..MANY).map(|n| n % 2));
        let twice = keys(&mut (0..MANY).map(|n| n * 7919 % (MANY / 2)));
        for (old, new) in [
            (&forward, &backward),
            (&same, &backward),
            (&twice, &same),
            (&twice, &backward),
        ] {
            let mut alignment = Alignment::new(old.len(), new.len());
            alignment.pass(old, new);
        }
    }

    proptest! {
        #[test]
        fn pairs_ascend_and_hold_the_kept_end(old in "[a-d.]{0,24}", cut in 0usize..24, new in "[a-d.]{0,4}") {
            aligned(&old, &new);
            // A summary in front of a kept tail.
            let kept = &old[cut.min(old.len())..];
            let same = aligned(&old, &format!("S{kept}"));
            prop_assert_eq!(same, kept.replace('.', ""));
        }
    }
}
