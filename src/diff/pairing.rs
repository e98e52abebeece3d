//! Which conversations of two transcripts are the same one.
//!
//! By their ids. A subagent's conversation is named after its first line, which a summary replaces: it is then found by its
//! remaining lines, or else by its position among the unpaired conversations.

use crate::facts::MessageOrigin;
use crate::ids::IdMap;
use crate::transcript::ConversationId;

use super::record::Records;
use super::side::{Side, Window};

/// The numbers of a conversation on both sides; at least one is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Pair {
    pub(super) old: Option<usize>,
    pub(super) new: Option<usize>,
}

/// The partner of each conversation, by its number, on either side.
struct Partners {
    new_of: Vec<Option<usize>>,
    old_of: Vec<Option<usize>>,
}

impl Partners {
    /// Pairs two conversations that have no partners yet.
    fn pair(&mut self, old: usize, new: usize) {
        if self.new_of[old].is_none() && self.old_of[new].is_none() {
            (self.new_of[old], self.old_of[new]) = (Some(new), Some(old));
        }
    }
}

/// Every conversation once, in the order of the old side; conversations that only the new side has come last.
pub(super) fn pairs(
    before: &Side<'_>,
    after: &Side<'_>,
    told: &Records<'_>,
    line: Option<u64>,
) -> Vec<Pair> {
    let olds: Vec<Window<'_>> = before.windows().collect();
    let news: Vec<Window<'_>> = after.windows().collect();
    let mut partners = Partners {
        new_of: vec![None; olds.len()],
        old_of: vec![None; news.len()],
    };
    let by_id: IdMap<String, usize> = {
        let ids = olds.iter().map(|old| old.conversation.id.to_string());
        ids.zip(0..).collect()
    };
    for (number, new) in news.iter().enumerate() {
        if let Some(old) = by_id.get(&new.conversation.id.to_string()) {
            partners.pair(*old, number);
        }
    }
    let mut by_line: IdMap<&[u8], usize> = IdMap::default();
    for (number, old) in olds.iter().enumerate() {
        for id in line_ids(old) {
            by_line.entry(id).or_insert(number);
        }
    }
    for (number, new) in news.iter().enumerate() {
        if let Some(old) = line_ids(new).find_map(|id| by_line.get(id)) {
            partners.pair(*old, number);
        }
    }
    // A conversation that was summarised as a whole has no lines left; one that was removed according to a record is excluded.
    let is_gone = |old: usize| told.is_gone(&id(&olds[old], line));
    let left = (0..olds.len()).filter(|old| partners.new_of[*old].is_none() && !is_gone(*old));
    let begins = |new: &usize| news[*new].origins.first() == Some(&MessageOrigin::Summary);
    let free = (0..news.len()).filter(|new| partners.old_of[*new].is_none() && begins(new));
    let rest: Vec<(usize, usize)> = left.zip(free).collect();
    for (old, new) in rest {
        partners.pair(old, new);
    }
    let added = (0..news.len()).filter(|new| partners.old_of[*new].is_none());
    let added = added.map(|new| Pair {
        old: None,
        new: Some(new),
    });
    let pairs = partners.new_of.iter().enumerate();
    let pairs = pairs.map(|(old, new)| Pair {
        old: Some(old),
        new: *new,
    });
    pairs.chain(added).collect()
}

/// The id of a conversation in a report; `line` is the line number in a file with one conversation per line.
pub(super) fn id(window: &Window<'_>, line: Option<u64>) -> String {
    match line {
        Some(line) => ConversationId::Line(line).to_string(),
        None => window.conversation.id.to_string(),
    }
}

/// The ids of the lines of a conversation.
fn line_ids<'s>(window: &Window<'s>) -> impl Iterator<Item = &'s [u8]> {
    let transcript = window.transcript;
    let lines = window.conversation.all_lines().iter();
    let ids = lines.filter_map(|line| {
        Some(transcript.bytes(*line, transcript.links().get(*line as usize)?.id))
    });
    ids.filter(|id| !id.is_empty())
}
