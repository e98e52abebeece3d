//! How many tokens a summary and its result may have.
//!
//! PURE. Arithmetic on sizes that are known before a draft is written; writes no text.

use super::composer::Composer;
use crate::plan::{Cut, Goal};
use crate::policy::{SummaryWhen, TargetKind, TooLarge};

/// The share of a summary's room that restored files may take, in percent. They contain less of what is needed next than the
/// summary does.
const FILES: u64 = 10;

/// 1/33 of a cap stays free if tokens are estimated: a summary is full of names, which take more tokens than the average text
/// that the estimate is fitted to.
const MARGIN: u64 = 33;

/// A summary that misses its aim must save at least 1/20 of the live tokens.
const WORTH_IT: u64 = 20;

impl Composer<'_> {
    /// The live tokens that a result must stay below: those of the current conversation, or those of the input if `summary.when` is
    /// "always" and the input is over the cap. Then clearing alone may have reached the cap, and the summary may use the room that
    /// is left to say what was cleared.
    pub(super) fn baseline(&self) -> u64 {
        let is_over = |cap| self.before > cap;
        match self.subject.policy.summary.when {
            SummaryWhen::Always if self.cap().is_some_and(is_over) => {
                self.before.max(self.subject.total())
            }
            SummaryWhen::Always | SummaryWhen::Auto | SummaryWhen::Never => self.subject.total(),
        }
    }

    /// The most live tokens that a result may have to reach the goal.
    pub(super) fn cap(&self) -> Option<u64> {
        self.subject.goal.map(|goal| goal.cap())
    }

    /// Whether the conversation is over an aim: a goal that may be missed for what the user typed and for the smallest summary.
    pub(super) fn is_over_aim(&self) -> bool {
        let is_over =
            |goal: Goal| goal.kind == TargetKind::Aim && self.subject.total() > goal.cap();
        self.subject.goal.is_some_and(is_over)
    }

    /// The most live tokens that a result may have: within the goal, and fewer than the baseline.
    pub(super) fn budget(&self) -> u64 {
        let cap = self.cap().unwrap_or(u64::MAX);
        cap.min(self.baseline().saturating_sub(1))
    }

    /// The same if an aim may be missed to keep the user's words: the result need only save enough to be worth it.
    pub(super) fn lenient_budget(&self) -> u64 {
        let baseline = self.baseline();
        match self.is_over_aim() {
            true => baseline.saturating_sub((baseline / WORTH_IT).max(1)),
            false => self.budget(),
        }
    }

    /// The size in tokens that a summary may always have, whatever the goal: for an aim, what its share gives, up to the size that
    /// the policy asks for.
    pub(super) fn min_size(&self, cut: Cut) -> u64 {
        let (policy, span) = (&self.subject.policy.summary, self.subject.span(cut));
        match self.is_over_aim() {
            true => policy.share_of(span).min(policy.size(span)),
            false => 0,
        }
    }

    /// The wanted size of the built-in summary, in tokens. If the policy fits summaries to a cap and the cap is too small for
    /// everything, this is what remains of `limit` after `others` (all other live tokens) and the restored files.
    pub(super) fn summary_size(&self, cut: Cut, limit: u64, others: impl FnOnce() -> u64) -> u64 {
        let asked = self.subject.policy.summary.size(self.subject.span(cut));
        let is_fitted = self.subject.policy.summary.too_large == TooLarge::Shrink;
        let cap = self.cap();
        if !is_fitted || cap.is_none_or(|cap| self.baseline() <= cap) {
            return asked;
        }
        let room = self.less_margin(limit).saturating_sub(others());
        let most = self.subject.policy.restore.tokens_total;
        let files = self.restorable(cut, most.min(room * FILES / 100));
        asked.min(room).max(room - files)
    }

    /// `cap` less a margin if tokens are estimated.
    pub(super) fn less_margin(&self, cap: u64) -> u64 {
        match self.subject.estimator.is_exact() {
            true => cap,
            false => cap - cap / MARGIN,
        }
    }
}
