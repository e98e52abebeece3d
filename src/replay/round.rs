//! One round of a policy's layers over a session as it is now.
//!
//! The session's bytes go through the pipeline, and what it did to them is done to the session, so that what was recorded
//! keeps its place in it.

use std::collections::{BTreeMap, BTreeSet};

use super::play::Player;
use super::window::Window;
use super::{Event, Verdict};
use crate::format::{Revision, Warnings};
use crate::outcome::{ActionKind, ConversationOutcome};
use crate::pipeline::{Input, Part, Pipeline};
use crate::plan::Keeping;
use crate::policy::SummaryWhen;
use crate::transcript::Presence;

/// What came of a round.
#[derive(Debug, Default)]
pub(super) struct Round {
    /// What happened, in the order of the layers.
    pub(super) events: Vec<Event>,
    /// What came of asking for a summary.
    pub(super) asked: Asked,
}

/// What came of asking for a summary.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Asked {
    /// Nobody was asked.
    #[default]
    Nobody,
    /// There is one.
    Answered,
    /// There is none by the one who was asked; what was done instead is an event.
    Failed,
}

impl Window<'_> {
    /// Runs the layers once.
    pub(super) fn round(
        &mut self,
        player: &Player<'_>,
        closed: Option<&str>,
        next: &mut usize,
    ) -> Round {
        let format = self.recording.format;
        let mut bytes = Vec::new();
        let mut present = Vec::new();
        for (number, line) in (0u32..).zip(self.transcript.lines()) {
            if line.presence != Presence::Dropped {
                bytes.extend_from_slice(self.transcript.line(number));
                bytes.push(b'\n');
                present.push(number);
            }
        }
        let input = Input {
            format,
            bytes: &bytes,
            first_line: 1,
            part: Part::File,
        };
        let mut policy = player.policy.clone();
        if closed.is_some() {
            policy.summary.when = SummaryWhen::Never;
        }
        let Ok(pipeline) = Pipeline::new(&policy, Keeping::Store) else {
            return Round::default();
        };
        let pipeline = pipeline.with_replies(player.replies.after(*next));
        let compacted = pipeline.compact(input, &mut Warnings::default());
        let Some(outcome) = compacted.conversations.first() else {
            return Round::default();
        };
        if compacted.is_changed() {
            let result = compacted.transcript();
            let mut new = BTreeMap::new();
            let mut dropped = BTreeSet::new();
            let mut inserted: BTreeMap<u32, Vec<Vec<u8>>> = BTreeMap::new();
            let edited: BTreeMap<u32, &[u8]> = result.edited().collect();
            let behind = self.transcript.lines().len() as u32;
            let mut mine = present.iter().copied();
            let mut waiting: Vec<Vec<u8>> = Vec::new();
            for (number, line) in (0u32..).zip(result.lines()) {
                if line.presence == Presence::Inserted {
                    waiting.push(result.line(number).to_vec());
                    continue;
                }
                let Some(own) = mine.next() else { break };
                if !waiting.is_empty() {
                    inserted.insert(own, std::mem::take(&mut waiting));
                }
                if line.presence == Presence::Dropped {
                    dropped.insert(own);
                } else if let Some(bytes) = edited.get(&number) {
                    new.insert(own, bytes.to_vec());
                }
            }
            if !waiting.is_empty() {
                inserted.insert(behind, waiting);
            }
            format.edit(
                &mut self.transcript,
                Revision {
                    new,
                    dropped: &dropped,
                    inserted,
                },
            );
        }
        let round = told(outcome);
        if let Some(summary) = &outcome.summary {
            *next += summary.attempts as usize;
        }
        round
    }
}

/// What a conversation's outcome says happened.
fn told(outcome: &ConversationOutcome) -> Round {
    let mut round = Round::default();
    for kind in [
        ActionKind::Demote,
        ActionKind::Clear,
        ActionKind::Offload,
        ActionKind::Summarize,
        ActionKind::Prune,
        ActionKind::Restore,
    ] {
        let actions = || outcome.actions.iter().filter(|action| action.kind == kind);
        let Some(first) = actions().next() else {
            continue;
        };
        let summarised = outcome
            .summary
            .as_ref()
            .filter(|_| kind == ActionKind::Summarize);
        let freed = actions().map(|a| a.tokens_before.saturating_sub(a.tokens_after));
        let others = actions().count() as u64 - 1;
        round.events.push(Event {
            layer: kind,
            result: Verdict::Made,
            count: summarised.map_or(others + 1, |summary| summary.messages),
            freed: freed.sum(),
            reason: match others {
                0 => first.reason.clone(),
                _ => format!("{} (and {others} more)", first.reason),
            },
        });
    }
    let is_made = round
        .events
        .iter()
        .any(|event| matches!(event.layer, ActionKind::Summarize | ActionKind::Prune));
    if let Some(summary) = &outcome.summary {
        round.asked = if summary.success {
            Asked::Answered
        } else {
            Asked::Failed
        };
        if !is_made {
            round.events.push(Event {
                layer: ActionKind::Summarize,
                result: Verdict::Failed,
                count: 0,
                freed: 0,
                reason: outcome.reason.clone(),
            });
        }
    }
    round
}
