//! Words with braces, as the words that a shell makes of them: `a.rs{,.bak}` is `a.rs` and `a.rs.bak`.
//!
//! PURE. What it does not make, such as a range, stays a pattern.

use std::borrow::Cow;

use super::place::MOST;
use crate::facts::script::{ExpansionSite, Missing, Word, WordKind};

/// The words, each with braces as those that it stands for.
pub(super) fn expanded(words: &[Word]) -> Cow<'_, [Word]> {
    if words.iter().all(|word| first_braces(word).is_none()) {
        return Cow::Borrowed(words);
    }
    Cow::Owned(words.iter().flat_map(alternatives).collect())
}

/// What a word stands for; itself if that are too many.
fn alternatives(word: &Word) -> Vec<Word> {
    let mut all = vec![word.clone()];
    while let Some(at) = all.iter().position(|word| first_braces(word).is_some()) {
        let made = first_braces(&all[at]).map(|[open, close]| split(&all[at], open, close));
        all.splice(at..=at, made.unwrap_or_default());
        if all.len() > MOST {
            return vec![word.clone()];
        }
    }
    all
}

/// Where the first braces with several parts open and close.
fn first_braces(word: &Word) -> Option<[usize; 2]> {
    let text = &word.text;
    let opens = |gap: &&ExpansionSite| {
        gap.what == Missing::Pattern && text[gap.at..].starts_with('{') && gap.at < text.len()
    };
    word.gaps.iter().filter(opens).find_map(|gap| {
        let inside = &text[gap.at + 1..];
        let end = inside.find(['{', '}'])?;
        (inside[end..].starts_with('}') && inside[..end].contains(','))
            .then_some([gap.at, gap.at + 1 + end])
    })
}

/// The words that those braces make of a word.
fn split(word: &Word, open: usize, close: usize) -> Vec<Word> {
    let text = &word.text;
    let mut start = open + 1;
    let parts = text[start..close].split(',');
    parts
        .map(|part| {
            let (from, to) = (start, start + part.len());
            start = to + 1;
            let place = |at: usize| match at {
                at if at < open => Some(at),
                at if (from..=to).contains(&at) && at > open => Some(open + at - from),
                at if at > close => Some(open + part.len() + at - close - 1),
                _ => None,
            };
            let gaps = word.gaps.iter().filter(|gap| gap.at != open);
            let gaps: Vec<ExpansionSite> = gaps
                .filter_map(|gap| {
                    Some(ExpansionSite {
                        at: place(gap.at)?,
                        what: gap.what.clone(),
                    })
                })
                .collect();
            Word {
                text: [&text[..open], part, &text[close + 1..]].concat(),
                kind: match gaps.is_empty() {
                    true => WordKind::Literal,
                    false => WordKind::Expanded,
                },
                gaps,
            }
        })
        .collect()
}
