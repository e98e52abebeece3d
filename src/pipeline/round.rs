//! What a round may do, and what it has done.

use std::collections::BTreeSet;

use super::summaries::RoundSummaries;
use super::{Pipeline, Work};
use crate::ids::IdMap;
use crate::outcome::{Action, Degraded, DegradedKind, Warning, WarningKind};
use crate::plan;
use crate::settle::{Change, SummaryResult};
use crate::transcript::{ConversationId, Presence, Transcript};

/// What a live agent has decided besides its policy's triggers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Gates {
    /// Whether anything may be summarised.
    pub summaries: SummaryGate,
    /// Nothing is summarised if offloading has freed this many tokens in this round; `None` = no such limit.
    pub freed: Option<u64>,
}

/// Whether anything may be summarised.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SummaryGate {
    /// If the policy's trigger says so.
    Due,
    /// Yes, even below the policy's trigger.
    Forced,
    /// Only if the transcript itself asks for it, even below the policy's trigger.
    Asked,
    /// Not now.
    Never,
}

impl Gates {
    /// The policy alone decides.
    pub const OPEN: Gates = Gates {
        summaries: SummaryGate::Due,
        freed: None,
    };

    /// Whether anything may be summarised after offloading has freed `offloaded` tokens.
    pub(super) fn let_summarise(self, offloaded: u64) -> bool {
        let is_enough = self.freed.is_some_and(|freed| offloaded >= freed);
        self.summaries != SummaryGate::Never && !is_enough
    }
}

/// What a round has done. Conversations and messages are numbered as in the input.
#[derive(Debug, Default)]
pub struct Round {
    /// The results that were replaced.
    pub changes: Vec<Change>,
    /// The number of dead lines that were dropped.
    pub dropped: usize,
    /// The tokens that offloading freed before anything was summarised.
    pub offloaded: u64,
    /// The names in the store that the transcript no longer contains.
    pub released: Vec<String>,
    /// What was done, for the report, with the number of the conversation.
    pub(super) actions: Vec<(u32, Action)>,
    /// The outcomes of summarising.
    pub(super) summaries: RoundSummaries,
    /// What did not go to the store although the policy wants it there.
    pub(super) not_stored: NotStored,
}

/// What did not go to the store although the policy wants it there.
#[derive(Debug, Default)]
pub(super) struct NotStored {
    /// Whether results were to be offloaded, and there is no store.
    pub(super) offload: bool,
    /// The lines (from 0) of results that were to be demoted, and there is no store.
    pub(super) demote: Vec<u32>,
    /// The lines (from 0) of results that stay, and would have been demoted if they were only text.
    pub(super) not_only_text: Vec<u32>,
    /// The lines (from 0) of results that stay, and would have been offloaded if they were only text.
    pub(super) old_not_only_text: BTreeSet<u32>,
}

impl NotStored {
    /// Forgets the results that have left with a summary, and those that are oversize, too.
    pub(super) fn settle(&mut self, transcript: &Transcript<'_>) {
        let lines = &mut self.old_not_only_text;
        if lines.is_empty() {
            return;
        }
        let numbers = transcript.input_lines().into_iter().zip(transcript.lines());
        let left = numbers.filter(|(_, line)| line.presence == Presence::Dropped);
        let left = left.map(|(number, _)| number);
        for line in left.chain(self.not_only_text.iter().copied()) {
            lines.remove(&line);
        }
    }

    /// The step that had to be left out, if any.
    pub(super) fn degraded(&self) -> Option<Degraded> {
        self.offload.then(|| Degraded {
            kind: DegradedKind::NoStore,
            message: "the policy's offload step was left out, because there is no store".to_owned(),
        })
    }

    /// A warning for each output that was not moved to the store.
    pub(super) fn warnings(&self, first_line: u64) -> impl Iterator<Item = Warning> + '_ {
        const NO_STORE: &str = "there is none";
        const NOT_ONLY_TEXT: &str = "they are not only plain text";
        let warning = move |(kind, what, why), line: &u32| Warning {
            kind,
            line: Some(u64::from(*line) + first_line),
            message: format!("{what} tool outputs were not moved to the store, because {why}"),
        };
        let no_store = (WarningKind::NotDemoted, "oversize", NO_STORE);
        let mixed = |what| (WarningKind::NotOnlyText, what, NOT_ONLY_TEXT);
        let demote = self.demote.iter().map(move |line| warning(no_store, line));
        let large = self.not_only_text.iter();
        let large = large.map(move |line| warning(mixed("oversize"), line));
        let old = self.old_not_only_text.iter();
        let old = old.map(move |line| warning(mixed("old"), line));
        demote.chain(large).chain(old)
    }
}

impl Pipeline<'_> {
    /// Whether a round could change a transcript of one conversation, with `total` live tokens, if only text was added since a
    /// round that changed nothing.
    ///
    /// Called before each request of a live agent. Without new results, the layers that replace results would find nothing new;
    /// only token counts or the end of the last answer can make a difference.
    pub fn may_act(&self, work: &Work<'_, '_>, total: u64, gates: Gates) -> bool {
        let is_broken = || {
            let conversation = work.transcript.conversations.first();
            conversation.is_some_and(|conversation| {
                plan::broke_off(
                    work.input.format,
                    self.policy,
                    &work.transcript,
                    conversation,
                )
                .is_some()
            })
        };
        let may_summarise = match gates.summaries {
            SummaryGate::Never => false,
            SummaryGate::Asked => is_broken(),
            SummaryGate::Due => {
                plan::may_be_due(self.policy, total, &plan::Force::No) || is_broken()
            }
            SummaryGate::Forced => true,
        };
        may_summarise || plan::may_offload(self.policy, total)
    }

    /// Whether a round skips any conversation because of its kind.
    pub fn skips(&self, work: &Work<'_, '_>) -> bool {
        let mut conversations = work.transcript.conversations.iter();
        conversations.any(|c| plan::is_skipped(self.policy, &work.transcript, c))
    }
}

impl Round {
    /// Whether the round changed the transcript.
    pub fn is_changed(&self) -> bool {
        let is_summarised = self.summaries.summaries().next().is_some();
        !self.changes.is_empty() || self.dropped > 0 || is_summarised
    }

    /// Records changes and their actions. If a target changes a result that was changed before, the two become one.
    pub(super) fn add(&mut self, changes: Vec<Change>, actions: Vec<(u32, Action)>) {
        let is_again = changes
            .first()
            .is_some_and(|change| change.why.is_for_target());
        if !is_again {
            append(&mut self.actions, actions);
            append(&mut self.changes, changes);
            return;
        }
        let place =
            |(of, a): &(u32, Action)| (*of, a.line, a.message, a.tool.clone(), a.tokens_after);
        let mut known: IdMap<_, usize> = IdMap::default();
        for (at, earlier) in self.actions.iter().enumerate() {
            known.entry(place(earlier)).or_insert(at);
        }
        for (number, action) in actions {
            let wanted = (
                number,
                action.line,
                action.message,
                action.tool.clone(),
                action.tokens_before,
            );
            match known.get(&wanted) {
                Some(at) => {
                    let tokens_before = self.actions[*at].1.tokens_before;
                    self.actions[*at].1 = Action {
                        tokens_before,
                        ..action
                    };
                }
                None => self.actions.push((number, action)),
            }
        }
        let place = |c: &Change| (c.conversation, c.message, c.named_by, c.tokens_after);
        let mut known: IdMap<_, usize> = IdMap::default();
        for (at, earlier) in self.changes.iter().enumerate() {
            known.entry(place(earlier)).or_insert(at);
        }
        for change in changes {
            let wanted = (
                change.conversation,
                change.message,
                change.named_by,
                change.tokens_before,
            );
            match known.get(&wanted) {
                Some(at) => self.changes[*at].merge(change),
                None => self.changes.push(change),
            }
        }
    }

    /// The outcome for each conversation that was considered for a summary, with the reason.
    pub fn tried(&self) -> impl Iterator<Item = (&ConversationId, &str, &SummaryResult)> {
        let results = self.summaries.conversations.iter();
        results.map(|result| (&result.id, result.why.as_str(), &result.summary))
    }
}

/// Appends a list to another; an empty one becomes the new one, without copying.
pub(super) fn append<T>(to: &mut Vec<T>, mut new: Vec<T>) {
    match to.is_empty() {
        true => *to = new,
        false => to.append(&mut new),
    }
}
