//! Settings that no input made use of: reported once, at the end of a run, when all outcomes are known.
//!
//! Settings that can be rejected before the first input are handled in `useless_flags.rs`.

use super::Context;
use crate::outcome::{DegradedKind, NoticeLevel, Notices, Outcome};
use crate::policy::{Effective, Need, Target};
use crate::text::thousands;

/// The kind of notices about settings without an effect.
const KIND: &str = "no_effect";

/// Keys that affect only summaries, each with what it needs of the policy.
const OF_SUMMARIES: [(&str, Need); 2] = [
    ("summary.instructions", Need::Summaries),
    ("restore.root", Need::Restored),
];

/// The settings in question, and what the outcomes seen so far say about them.
#[derive(Debug)]
pub(super) struct UnusedSettings<'e> {
    /// The settings that affect only summaries.
    of_summaries: Vec<String>,
    /// A target, with where it was set.
    target: Option<(&'e Target, String)>,
    inputs: u64,
    summaries: u64,
    not_due: Notices,
}

impl<'e> UnusedSettings<'e> {
    /// `None` if there are no settings that might have had no effect.
    pub(super) fn of(effective: &'e Effective) -> Option<Self> {
        let policy = &effective.policy;
        // A file may make settings for all inputs that only a few need.
        let set = |key: &str| {
            let origin = effective.origin_of(key);
            origin.filter(|origin| !origin.starts_with("file "))
        };
        let of_summaries = OF_SUMMARIES.iter().filter_map(|(key, need)| {
            let origin = set(key).filter(|_| need.missing(policy).is_none())?;
            Some(format!("{key} (from {origin})"))
        });
        let of_summaries: Vec<String> = of_summaries.collect();
        let mut targets = ["target.tokens", "target.percent"].into_iter();
        let target =
            targets.find_map(|key| Some((&policy.target, format!("{key} (from {})", set(key)?))));
        (!of_summaries.is_empty() || target.is_some()).then(|| UnusedSettings {
            of_summaries,
            target,
            inputs: 0,
            summaries: 0,
            not_due: Notices::default(),
        })
    }

    /// Accounts for an outcome.
    pub(super) fn see(&mut self, outcome: &Outcome) {
        self.inputs += u64::from(!outcome.conversations.is_empty());
        let mut asked = outcome.degraded.iter().map(|degraded| degraded.kind);
        let was_asked = asked.any(|kind| match kind {
            DegradedKind::SummaryFailed | DegradedKind::SummaryPending => true,
            DegradedKind::NoStore => false,
        });
        let mut conversations = outcome.conversations.iter();
        let has_summary = conversations.any(|conversation| conversation.summary.is_some());
        self.summaries += u64::from(was_asked || has_summary);
        let Some((target, set)) = &self.target else {
            return;
        };
        for conversation in &outcome.conversations {
            let asked = target.asked(conversation.tokens_before);
            let is_over = asked.is_some_and(|tokens| conversation.tokens_after > tokens);
            let Some(threshold) = conversation.threshold.filter(|_| is_over) else {
                continue;
            };
            if conversation.target.is_some() || conversation.summary.is_some() || was_asked {
                continue;
            }
            let message = format!(
                "below its trigger of {}, so {set} was not applied; it takes effect once a compaction is due",
                thousands(threshold)
            );
            let hint = Some("--target compacts at once, whatever the trigger is");
            let place = (outcome.file.path.as_str(), None);
            let level = NoticeLevel::Warning;
            self.not_due.add(level, KIND, &message, hint, place);
        }
    }

    /// Reports the settings that had no effect.
    pub(super) fn say(self, context: &Context) {
        if self.inputs > 0 && self.summaries == 0 {
            for what in &self.of_summaries {
                let message = format!("{what} had no effect: no summary was written");
                context.remark(KIND, &message, None);
            }
        }
        context.notices(self.not_due);
    }
}
