//! Which of many texts hold a term (a line, a word): an inverted index by hashes.
//!
//! Terms with the same hash share a list, so a hit only says where to look. Designed for millions of terms that mostly occur once:
//! each takes one entry of 20 bytes and no heap allocation of its own.

use std::collections::hash_map::Entry;
use std::hash::BuildHasher;

use foldhash::fast::FixedState;

use crate::ids::IdMap;

/// For each term, the numbers of the texts that hold it, in the order in which they were added.
///
/// After 2^32 repetitions (a transcript of tens of gigabytes) further ones are not found.
#[derive(Debug, Default)]
pub(super) struct Postings {
    lists: IdMap<u32, List>,
    /// The second and later numbers of all lists.
    links: Vec<Link>,
}

#[derive(Debug, Clone, Copy, Default)]
struct List {
    first: u32,
    /// The count of numbers.
    count: u32,
    /// The links of the second and the last number, if there are two or more.
    second: u32,
    last: u32,
}

#[derive(Debug, Clone, Copy)]
struct Link {
    number: u32,
    next: u32,
}

impl Postings {
    /// Adds the terms of a text, whose number must be greater than all previous ones.
    pub(super) fn add<'t>(&mut self, terms: impl Iterator<Item = &'t str>, number: u32) {
        for term in terms {
            match self.lists.entry(hash(term)) {
                Entry::Vacant(entry) => {
                    entry.insert(List {
                        first: number,
                        count: 1,
                        ..List::default()
                    });
                }
                Entry::Occupied(mut entry) => push(entry.get_mut(), &mut self.links, number),
            }
        }
    }

    /// The texts that hold a rare one of these terms, a superset of those that hold all; `None` without a term. Stops at a term
    /// that at most one text holds, because each look-up in a large index is a cache miss.
    pub(super) fn holding_a_rare<'t>(
        &self,
        terms: impl Iterator<Item = &'t str>,
    ) -> Option<Holding<'_>> {
        let mut rarest: Option<List> = None;
        for term in terms {
            let list = self.lists.get(&hash(term)).copied().unwrap_or_default();
            if rarest.is_none_or(|rarest| list.count < rarest.count) {
                rarest = Some(list);
            }
            if list.count <= 1 {
                break;
            }
        }
        let list = rarest?;
        Some(Holding {
            links: &self.links,
            left: list.count,
            number: list.first,
            next: list.second,
        })
    }
}

/// Adds a number to a non-empty list, unless it is the last one.
fn push(list: &mut List, links: &mut Vec<Link>, number: u32) {
    let last = match list.count {
        1 => list.first,
        _ => links[list.last as usize].number,
    };
    let Ok(link) = u32::try_from(links.len()) else {
        return;
    };
    if last == number {
        return;
    }
    links.push(Link { number, next: 0 });
    match list.count {
        1 => list.second = link,
        _ => links[list.last as usize].next = link,
    }
    list.last = link;
    list.count += 1;
}

/// The numbers of one list.
#[derive(Debug)]
pub(super) struct Holding<'p> {
    links: &'p [Link],
    left: u32,
    number: u32,
    next: u32,
}

impl Iterator for Holding<'_> {
    type Item = u32;

    fn next(&mut self) -> Option<u32> {
        self.left = self.left.checked_sub(1)?;
        let number = self.number;
        if self.left > 0 {
            let link = self.links[self.next as usize];
            (self.number, self.next) = (link.number, link.next);
        }
        Some(number)
    }
}

fn hash(term: &str) -> u32 {
    FixedState::default().hash_one(term) as u32
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_texts_with_all_terms_are_among_those_with_a_rare_one(
            texts in proptest::collection::vec("[abc ]{0,8}", 0..12),
            wanted in "[abcd ]{0,5}",
        ) {
            let mut postings = Postings::default();
            for (number, text) in (0..).zip(&texts) {
                postings.add(text.split(' '), number);
            }
            let holding = |term: &str| -> Vec<u32> {
                let texts = (0..).zip(&texts);
                let holds = texts.filter(|(_, text)| text.split(' ').any(|other| other == term));
                holds.map(|(number, _)| number).collect()
            };
            let of_terms: Vec<Vec<u32>> = wanted.split(' ').map(holding).collect();
            let found: Vec<u32> = postings.holding_a_rare(wanted.split(' ')).into_iter().flatten().collect();
            prop_assert!(of_terms.contains(&found));
            prop_assert!(found.len() <= of_terms.iter().map(Vec::len).min().unwrap_or(0).max(1));
        }
    }
}
