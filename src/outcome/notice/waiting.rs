//! Counts the conversations of a run that wait for a model's summary, with one sentence per batch.
//!
//! PURE. Only counts outcomes; with a single such request, its own message is shown instead.

use std::collections::BTreeMap;

use crate::outcome::{Outcome, SummaryOutcome, WAITS_FOR};
use crate::policy::Source;
use crate::text::{count, thousands};

/// The conversations that wait.
#[derive(Debug, Default)]
pub(super) struct Waiting {
    /// The conversations for which a model was asked.
    asked: u64,
    /// The number of waiting conversations, keyed by the message about what they wait for.
    waiting: BTreeMap<String, u64>,
}

impl Waiting {
    /// Looks at an outcome.
    pub(super) fn see(&mut self, outcome: &Outcome) {
        let summaries = outcome.conversations.iter().flat_map(|c| &c.summary);
        let asked: Vec<&SummaryOutcome> = summaries
            .filter(|summary| summary.source != Source::Extractive.name())
            .collect();
        self.asked += asked.len() as u64;
        let mut pending = outcome.degraded.iter().filter_map(|one| {
            let is_pending = one.message.starts_with(WAITS_FOR);
            is_pending.then_some(one.message.as_str())
        });
        if let Some(message) = pending.next() {
            let is_waiting =
                |s: &&&SummaryOutcome| !s.success && s.error.is_none() && s.fallback.is_none();
            let waiting = asked.iter().filter(is_waiting).count() as u64;
            *self.waiting.entry(message.to_owned()).or_default() += waiting;
        }
    }

    /// `7 of 45 conversations wait for batch msgbatch_1: run the same command with --batch collect`; `None` if only one was
    /// requested.
    pub(super) fn sentence(&self, message: &str) -> Option<String> {
        let waiting = *self.waiting.get(message).filter(|waiting| **waiting > 0)?;
        let what = message.strip_prefix(WAITS_FOR)?;
        if self.asked < 2 {
            return None;
        }
        let wait = match waiting {
            1 => "waits",
            _ => "wait",
        };
        let asked = count(self.asked, "conversation");
        Some(format!(
            "{} of {asked} {wait} for {what}",
            thousands(waiting)
        ))
    }
}
