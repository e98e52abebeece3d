//! Where a conversation is cut to be summarised: the messages before the cut are replaced, those after it are kept.
//!
//! PURE. The policy says how much is kept. The cut moves back where it would split what belongs together: a result and its
//! call, an answer's words and its thinking, the lines of one message. System messages are on neither side: they stay where
//! they are and are not counted. Summaries and acknowledgements of earlier compactions are never kept as messages.

use super::prune::prunable;
use crate::facts::MessageOrigin;
use crate::ids::{IdMap, IdSet};
use crate::policy::Summary;
use crate::transcript::{BlockKind, Conversation, Role, Transcript, Typed};

/// Where a conversation is cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cut {
    /// The first message that the policy asked to keep, from 0.
    pub requested: usize,
    /// The first message that is kept, from 0; the number of messages if none is.
    pub first_kept: usize,
    /// How many messages the cut moved back from `requested`, so that nothing is split.
    pub moved: u64,
}

/// Finds the cuts of one conversation.
#[derive(Debug)]
pub struct Cutter<'c> {
    transcript: &'c Transcript<'c>,
    conversation: &'c Conversation,
    origins: Vec<MessageOrigin>,
    /// The messages that count, in order: all but system messages and the summary of an earlier compaction at the start.
    counted: Vec<usize>,
    /// For each message, its place in the order of lines; see [`reach`].
    reach: Vec<(usize, usize)>,
    /// Blocks that pruning will remove: they do not hold messages together.
    pruned_blocks: IdSet<u32>,
}

impl<'c> Cutter<'c> {
    /// Creates a cutter for a conversation; `origins` gives the origin of each message.
    pub fn new(
        transcript: &'c Transcript<'c>,
        conversation: &'c Conversation,
        origins: Vec<MessageOrigin>,
    ) -> Self {
        let is_system = |n: &usize| conversation.messages[*n].role == Role::System;
        let counted = (0..conversation.messages.len())
            .filter(|n| !is_system(n))
            .skip_while(|n| origins[*n] != MessageOrigin::Session)
            .collect();
        Cutter {
            transcript,
            conversation,
            origins,
            counted,
            reach: reach(conversation),
            pruned_blocks: IdSet::default(),
        }
    }

    /// Where each message comes from.
    pub fn origins(&self) -> &[MessageOrigin] {
        &self.origins
    }

    /// A cutter for a conversation that is pruned afterwards: blocks that will be removed do not move a cut.
    pub fn pruned(&self) -> Cutter<'c> {
        Cutter {
            counted: self.counted.clone(),
            reach: self.reach.clone(),
            pruned_blocks: prunable(self.transcript, self.conversation),
            origins: self.origins.clone(),
            ..*self
        }
    }

    /// The cut that `keep` asks for; the rule that keeps most wins. `tokens` has the tokens of each message.
    pub fn by_policy(&self, keep: &Summary, tokens: &[u64]) -> Cut {
        self.by_policy_at(self.conversation.messages.len(), keep, tokens)
    }

    /// The cut that `keep` would have asked for if the conversation had ended before the message `end`; later messages are kept.
    pub fn by_policy_at(&self, end: usize, keep: &Summary, tokens: &[u64]) -> Cut {
        self.by_rules(end, keep, tokens, |n| {
            self.transcript.begins_turn(self.conversation, n)
        })
    }

    /// The cut that `keep` asks for if the conversation is pruned: then a user's words in the message of a removed result begin a
    /// turn. If `keep` keeps turns, its other rules are ignored: any other cut could leave an answer without its question at the
    /// beginning.
    pub fn by_pruned(&self, keep: &Summary, tokens: &[u64]) -> Cut {
        let end = self.conversation.messages.len();
        let by_turns = Summary {
            keep_messages: 0,
            keep_tokens: 0,
            ..keep.clone()
        };
        let keep = if keep.keep_turns > 0 { &by_turns } else { keep };
        self.by_rules(end, keep, tokens, |n| {
            let message = &self.conversation.messages[n];
            let stay = self.conversation.blocks(message).iter().copied();
            let stay: Vec<u32> = stay
                .filter(|block| !self.pruned_blocks.contains(block))
                .collect();
            let is_less = stay.len() < self.conversation.blocks(message).len();
            self.transcript.begins_turn(self.conversation, n)
                || is_less && self.transcript.is_typed(message.role, &stay) == Typed::Yes
        })
    }

    fn by_rules(
        &self,
        end: usize,
        keep: &Summary,
        tokens: &[u64],
        is_typed: impl Fn(usize) -> bool,
    ) -> Cut {
        let there = &self.counted[..self.counted.partition_point(|n| *n < end)];
        let requested = [
            by_messages(there, keep.keep_messages),
            self.by_turns(there, keep, is_typed),
            by_tokens(there, tokens, keep.keep_tokens),
        ];
        self.at(requested.into_iter().flatten().min().unwrap_or(end))
    }

    /// The cut that keeps the newest messages up to `limit` tokens, and the last one in any case.
    pub fn within(&self, limit: u64, tokens: &[u64]) -> Cut {
        let requested = by_tokens(&self.counted, tokens, limit.max(1));
        self.at(requested.unwrap_or(self.conversation.messages.len()))
    }

    /// The cut that keeps the newest messages up to `limit` tokens and splits nothing without being moved;
    /// [`within`](Cutter::within) if not even the last message allows such a cut.
    pub fn at_most(&self, limit: u64, tokens: &[u64]) -> Cut {
        let needs = self.needs();
        let (mut kept, mut earliest, mut best) = (0, needs.len(), None);
        for n in (0..needs.len()).rev() {
            kept += tokens[n];
            if kept > limit {
                break;
            }
            earliest = earliest.min(needs[n]);
            let is_counted = self.counted.binary_search(&n).is_ok();
            if earliest == n && is_counted && !self.continues_previous(n) {
                best = Some(n);
            }
        }
        best.map_or_else(|| self.within(limit, tokens), |n| self.at(n))
    }

    /// The cut that keeps least: the last answer and what follows, or the last message if there is no answer.
    pub fn least(&self) -> Cut {
        let last = self.counted.last().copied();
        let requested = self.last_answer(&self.counted).or(last);
        self.at(requested.unwrap_or(self.conversation.messages.len()))
    }

    /// The later of `cut` and the start of the last user or tool message.
    pub fn with_last_round_only(&self, cut: Cut) -> Cut {
        let is_sent = |n: &&usize| match self.conversation.messages[**n].role {
            Role::User | Role::Tool => true,
            Role::Assistant | Role::System => false,
        };
        match self.counted.iter().rev().find(is_sent) {
            Some(last) if *last > cut.first_kept => self.at(*last),
            Some(_) | None => cut,
        }
    }

    /// The cut before the last typed message, if no message follows it yet.
    pub fn pending(&self) -> Option<Cut> {
        let last = self.counted.last().copied()?;
        let is_typed = self.conversation.messages[last].typed == Typed::Yes;
        (is_typed && self.origins[last] == MessageOrigin::Session).then(|| self.at(last))
    }

    /// `cut`, or the cut before the last typed message if that keeps more.
    pub fn with_last_words(&self, cut: Cut) -> Cut {
        let is_typed = |n: &&usize| {
            self.conversation.messages[**n].typed == Typed::Yes
                && self.origins[**n] == MessageOrigin::Session
        };
        match self.counted.iter().rev().find(is_typed) {
            Some(last) if *last < cut.first_kept => self.at(*last),
            Some(_) | None => cut,
        }
    }

    /// `cut`, or, if it would begin with an answer or a result, the cut before the typed message that these belong to: without a
    /// summary before it, no conversation may begin with either.
    pub fn from_a_user(&self, cut: Cut) -> Cut {
        let message = self.conversation.messages.get(cut.first_kept);
        if message.is_none_or(|message| message.role == Role::User) {
            return cut;
        }
        let is_typed = |n: &&usize| {
            **n < cut.first_kept && self.transcript.begins_turn(self.conversation, **n)
        };
        let typed = self.counted.iter().rev().find(is_typed);
        typed.map_or(cut, |n| self.at(*n))
    }

    /// Whether any message before the cut is not a summary already.
    pub fn has_span(&self, cut: Cut) -> bool {
        let is_new = |n: &usize| *n < cut.first_kept && self.origins[*n] == MessageOrigin::Session;
        self.counted.iter().any(is_new)
    }

    fn at(&self, requested: usize) -> Cut {
        let first_kept = self.without_split(requested);
        let is_moved = |n: &&usize| (first_kept..requested).contains(*n);
        Cut {
            requested,
            first_kept,
            moved: self.counted.iter().filter(is_moved).count() as u64,
        }
    }

    /// Keeps the last n turns, or all if there are fewer. If n is 1 and there is only one turn, with no answer before it, keeps its last
    /// answer and what follows: otherwise nothing could be summarised. That does not hold if an earlier run has already removed turns, with a
    /// summary or, where the policy allows it, without one.
    fn by_turns(
        &self,
        there: &[usize],
        policy: &Summary,
        is_typed: impl Fn(usize) -> bool,
    ) -> Option<usize> {
        let keep = usize::try_from(policy.keep_turns).ok()?;
        if keep == 0 {
            return None;
        }
        let is_turn = |n: &usize| is_typed(*n) && self.origins[*n] == MessageOrigin::Session;
        let turns: Vec<usize> = there.iter().copied().filter(is_turn).collect();
        let may_be_compacted =
            self.origins.contains(&MessageOrigin::Summary) || policy.may_leave_last_turns();
        match turns[..] {
            [] if keep == 1 && !may_be_compacted => self.last_answer(there),
            // The turn may have no answer yet. What the agent did before it is old, as another turn would be.
            [turn] if keep == 1 && !may_be_compacted => {
                let before = &there[..there.partition_point(|n| *n < turn)];
                match self.last_answer(before) {
                    Some(_) => Some(turn),
                    None => self.last_answer(there).max(Some(turn)),
                }
            }
            // If there are exactly `keep` turns (more than one), none of them is old: what is before the first one stays with it.
            _ => match turns.len().checked_sub(keep) {
                Some(0) if keep > 1 => there.first().copied(),
                Some(at) => turns.get(at).copied(),
                None => there.first().copied(),
            },
        }
    }

    fn last_answer(&self, there: &[usize]) -> Option<usize> {
        let is_answer = |n: &usize| self.conversation.messages[*n].role == Role::Assistant;
        there.iter().copied().rfind(is_answer)
    }

    /// The nearest place at or before `requested` where a cut splits nothing.
    fn without_split(&self, requested: usize) -> usize {
        let first = self.counted.first().copied().unwrap_or(requested);
        let needs = self.needs();
        let mut first_kept = requested;
        let mut seen = self.conversation.messages.len();
        loop {
            let mut next = first_kept;
            while seen > next {
                seen -= 1;
                next = next.min(needs[seen]);
            }
            if self.continues_previous(next) {
                next = self.before(next);
            }
            if next >= first_kept || first_kept <= first {
                return first_kept.max(first.min(requested));
            }
            first_kept = next;
        }
    }

    /// For each message, the first one that must be kept with it: the message of the calls whose results it has.
    fn needs(&self) -> Vec<usize> {
        // The message of each call, by its id; if an id is missing or not unique, the last one before the result.
        let mut calls: IdMap<&[u8], usize> = IdMap::default();
        let mut needs: Vec<usize> = Vec::with_capacity(self.conversation.messages.len());
        for number in 0..self.conversation.messages.len() {
            let mut need = number;
            for id in self.ids(number, &[BlockKind::Result, BlockKind::Server]) {
                need = need.min(calls.get(id).copied().unwrap_or(number));
            }
            needs.push(need);
            let own = self.ids(number, &[BlockKind::Call, BlockKind::Server]);
            calls.extend(own.map(|id| (id, number)));
        }
        needs
    }

    /// Whether a message belongs to the one before it: the same answer's thinking is there, or their lines are interleaved.
    fn continues_previous(&self, number: usize) -> bool {
        let Some(message) = self.conversation.messages.get(number) else {
            return false;
        };
        let before = self.before(number);
        if before == number {
            return false;
        }
        let is_interleaved = self.reach[number - 1].0 > self.reach[number].1;
        let is_answer = |message: Role| message == Role::Assistant;
        let earlier = &self.conversation.messages[before];
        let thinks = |n: &u32| {
            let kind = self.transcript.block(*n).kind;
            let is_thinking = matches!(kind, BlockKind::Thinking | BlockKind::Redacted);
            is_thinking && !self.pruned_blocks.contains(n)
        };
        is_interleaved
            || is_answer(message.role)
                && is_answer(earlier.role)
                && self.conversation.blocks(earlier).iter().any(thinks)
    }

    /// The last message before `number` that counts, or `number` itself.
    fn before(&self, number: usize) -> usize {
        let at = self.counted.partition_point(|n| *n < number);
        at.checked_sub(1).map_or(number, |at| self.counted[at])
    }

    /// The call ids of a message's blocks of these kinds; "" for calls of an older form without ids.
    fn ids<'s>(
        &'s self,
        number: usize,
        kinds: &'static [BlockKind],
    ) -> impl Iterator<Item = &'c [u8]> + use<'c, 's> {
        let (transcript, conversation) = (self.transcript, self.conversation);
        let blocks = conversation.blocks(&conversation.messages[number]).iter();
        let blocks = blocks.filter(|b| !self.pruned_blocks.contains(b));
        let blocks = blocks.map(|b| transcript.block(*b));
        blocks
            .filter(|block| kinds.contains(&block.kind))
            .map(|block| transcript.bytes(block.line, block.call_id))
    }
}

/// Keeps the last `keep` messages.
fn by_messages(there: &[usize], keep: u64) -> Option<usize> {
    let keep = usize::try_from(keep).ok().filter(|keep| *keep > 0)?;
    there.get(there.len().saturating_sub(keep)).copied()
}

/// Keeps the newest messages up to `keep` tokens, and always the last one.
fn by_tokens(there: &[usize], tokens: &[u64], keep: u64) -> Option<usize> {
    let (last, others) = there.split_last().filter(|_| keep > 0)?;
    let mut left = keep.saturating_sub(tokens[*last]);
    let mut first = *last;
    for n in others.iter().rev() {
        if tokens[*n] > left {
            break;
        }
        left -= tokens[*n];
        first = *n;
    }
    Some(first)
}

/// For each message, the position of the last line of all messages up to it, and of the first line of all messages from it on, in
/// the order in which lines are linked. Messages of several lines may be interleaved.
fn reach(conversation: &Conversation) -> Vec<(usize, usize)> {
    let count = conversation.messages.len();
    let places: IdMap<u32, usize> = conversation.path.iter().copied().zip(0..).collect();
    let place = |line: &u32, otherwise| places.get(line).copied().unwrap_or(otherwise);
    let mut reach = vec![(0, usize::MAX); count];
    let mut last = 0;
    for (n, message) in conversation.messages.iter().enumerate() {
        let lines = conversation.lines(message).iter();
        last = lines.map(|line| place(line, 0)).fold(last, usize::max);
        reach[n].0 = last;
    }
    let mut first = usize::MAX;
    for (n, message) in conversation.messages.iter().enumerate().rev() {
        let lines = conversation.lines(message).iter();
        first = lines
            .map(|line| place(line, usize::MAX))
            .fold(first, usize::min);
        reach[n].1 = first;
    }
    reach
}

#[cfg(test)]
mod tests;
