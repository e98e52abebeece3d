//! The rows of a conversation: every message of the old one once, and what only the new one has.

use crate::facts::{MessageOrigin, is_restored_header};
use crate::policy::Policy;
use crate::text::printable;

use super::align::Alignment;
use super::changes::{changes, fate};
use super::pairing::{self, Pair};
use super::record::{RecordedActions, Records};
use super::side::{Key, Side, Window};
use super::{At, ConversationDiff, Fate, Row};

/// What the rows of a transcript are made from.
#[derive(Clone, Copy)]
pub(super) struct About<'d> {
    pub(super) before: &'d Side<'d>,
    pub(super) after: &'d Side<'d>,
    pub(super) policies: &'d [Policy],
    pub(super) told: &'d Records<'d>,
    /// The line number of the transcript, in a file with one transcript per line.
    pub(super) line: Option<u64>,
}

impl About<'_> {
    /// One conversation.
    pub(super) fn conversation(&self, pair: Pair) -> ConversationDiff {
        let old = pair.old.map(|number| self.before.window(number));
        let new = pair.new.map(|number| self.after.window(number));
        let id = old.or(new).map(|window| pairing::id(&window, self.line));
        let id = id.unwrap_or_default();
        let rows = match (old, new) {
            (Some(old), Some(new)) => self.rows(old, new, self.told.of(&id)),
            (Some(old), None) => {
                let told = self.told.of(&id);
                let rows = 0..old.tokens.len();
                rows.map(|at| gone(old, at, Fate::Dropped, &told)).collect()
            }
            (None, Some(new)) => (0..new.tokens.len())
                .map(|at| added(new, at, Fate::Inserted))
                .collect(),
            (None, None) => Vec::new(),
        };
        let there = |at: fn(&Row) -> Option<At>| rows.iter().filter_map(at).count() as u64;
        ConversationDiff {
            id,
            tokens_before: rows.iter().map(|row| row.tokens_before).sum(),
            tokens_after: rows.iter().map(|row| row.tokens_after).sum(),
            messages_before: there(|row| row.old),
            messages_after: there(|row| row.new),
            rows,
        }
    }

    fn rows(
        &self,
        before: Window<'_>,
        after: Window<'_>,
        mut told: RecordedActions<'_>,
    ) -> Vec<Row> {
        let alignment = aligned(before, after);
        let (olds, news) = (before.tokens.len(), after.tokens.len());
        let is_new = |at: &usize| alignment.old_of(*at).is_none();
        let is_summary = |at: &usize| is_new(at) && after.origins[*at] == MessageOrigin::Summary;
        let mut summaries: Vec<usize> = (0..news).filter(is_summary).collect();
        // If the policy that wrote the summary is not at hand, its text is not recognised; the record still says that there is one.
        if summaries.is_empty() && told.has_summary() {
            summaries.extend((0..news).find(is_new));
        }
        // For each new message, the next old message that stays.
        let mut next = vec![olds; news + 1];
        for at in (0..news).rev() {
            next[at] = alignment.old_of(at).unwrap_or(next[at + 1]);
        }
        let summarised = summaries.last().map_or(0, |last| next[*last]);
        let fate_of_gone = |at: usize| match at < summarised {
            true => Fate::Summarised,
            false => Fate::Dropped,
        };
        let mut rows = Vec::with_capacity(olds + summaries.len() * 2);
        let mut done = 0;
        for (at, next) in next.into_iter().enumerate() {
            // Replaced messages come before their replacement.
            rows.extend((done..next).map(|old| gone(before, old, fate_of_gone(old), &told)));
            done = next;
            if at == news {
                break;
            }
            if alignment.old_of(at) == Some(done) {
                rows.push(self.kept(before, after, (done, at), &mut told));
                done += 1;
                continue;
            }
            let fate = match after.origins[at] {
                _ if summaries.contains(&at) => Fate::Summary,
                MessageOrigin::Acknowledgement => Fate::Acknowledgement,
                MessageOrigin::Summary | MessageOrigin::Session => Fate::Inserted,
            };
            rows.push(added(after, at, fate));
        }
        rows
    }

    /// A message that both have.
    fn kept(
        &self,
        before: Window<'_>,
        after: Window<'_>,
        pair: (usize, usize),
        told: &mut RecordedActions<'_>,
    ) -> Row {
        let changes = changes(before, after, pair, self.policies, told);
        let (from, to) = pair;
        let row = row(before, from, fate(&changes));
        Row {
            old: Some(at(before, from)),
            new: Some(at(after, to)),
            tokens_before: before.tokens[from],
            tokens_after: after.tokens[to],
            reason: changes.iter().find_map(|change| change.reason.clone()),
            changes,
            ..row
        }
    }
}

/// Pairs the messages that are the same on both sides.
fn aligned(before: Window<'_>, after: Window<'_>) -> Alignment {
    let mut alignment = Alignment::new(before.tokens.len(), after.tokens.len());
    for key in [Key::Id, Key::Said, Key::Calls] {
        alignment.pass(&before.keys(key), &after.keys(key));
    }
    // The text may have changed (a secret was masked): if both sides have equally many unpaired messages with the same roles, they
    // belong together.
    let (olds, news) = (before.keys(Key::Role), after.keys(Key::Role));
    for gap in alignment.gaps() {
        let (old, new) = (&olds[gap.old.clone()], &news[gap.new.clone()]);
        if old == new && old.iter().all(Option::is_some) {
            gap.old
                .zip(gap.new)
                .for_each(|(old, new)| alignment.pair(old, new));
        }
    }
    alignment
}

/// A message that only the old conversation has.
fn gone(before: Window<'_>, number: usize, fate: Fate, told: &RecordedActions<'_>) -> Row {
    Row {
        old: Some(at(before, number)),
        tokens_before: before.tokens[number],
        reason: told.why_gone(fate),
        ..row(before, number, fate)
    }
}

/// A message that only the new conversation has.
fn added(after: Window<'_>, number: usize, fate: Fate) -> Row {
    let blocks = after
        .conversation
        .blocks(&after.conversation.messages[number])
        .iter();
    let texts = blocks.map(|block| after.transcript.block_text(after.transcript.block(*block)));
    let texts: Vec<_> = texts.filter(|text| !text.is_empty()).collect();
    let text = texts.join("\n");
    Row {
        new: Some(at(after, number)),
        tokens_after: after.tokens[number],
        restored: match fate {
            Fate::Summary => restored(&text),
            Fate::Acknowledgement | Fate::Inserted => Vec::new(),
            Fate::Kept | Fate::Cleared | Fate::Offloaded | Fate::Demoted => Vec::new(),
            Fate::Edited | Fate::Summarised | Fate::Dropped => Vec::new(),
        },
        text: Some(text),
        ..row(after, number, fate)
    }
}

/// The row of a message of either side.
fn row(of: Window<'_>, number: usize, fate: Fate) -> Row {
    let message = &of.conversation.messages[number];
    let mut tools: Vec<String> = Vec::new();
    for tool in of
        .conversation
        .blocks(message)
        .iter()
        .filter_map(|block| of.tool(*block))
    {
        if !tools.contains(&tool) {
            tools.push(tool);
        }
    }
    Row {
        fate,
        old: None,
        new: None,
        role: message.role,
        tools,
        tokens_before: 0,
        tokens_after: 0,
        reason: None,
        words: of.words(message),
        changes: Vec::new(),
        text: None,
        restored: Vec::new(),
    }
}

fn at(of: Window<'_>, number: usize) -> At {
    let line = of
        .conversation
        .first_line(&of.conversation.messages[number]);
    At {
        line: of.number(line),
        message: number as u64 + 1,
    }
}

/// The headers of the entries that were restored after a summary, without their brackets. Headers inside an entry's fenced content
/// are ignored.
fn restored(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        let header = line
            .strip_prefix('[')
            .and_then(|line| line.strip_suffix(']'));
        let fence = lines.peek().copied().unwrap_or_default();
        let is_fence = fence.len() >= 3 && fence.bytes().all(|b| b == b'`');
        let Some(header) = header.filter(|_| is_fence && is_restored_header(line)) else {
            continue;
        };
        found.push(printable(header).into_owned());
        lines.next();
        for inside in lines.by_ref() {
            if inside == fence {
                break;
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_in_a_restored_content_are_not_counted() {
        let text = "Summary\n[File restored: no.rs]\n\n[File restored: a.rs, lines 1-2]\n````\n[File restored: x]\n```\n````\n\n\
                    [To-dos restored]\n```\n- [pending] b\n```";
        assert_eq!(
            restored(text),
            ["File restored: a.rs, lines 1-2", "To-dos restored"]
        );
    }
}
