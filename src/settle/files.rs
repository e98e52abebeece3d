//! Puts files back behind a summary, and says beforehand what room they take.
//!
//! PURE. The contents were gathered before; reads nothing.

use super::composer::Composer;
use super::draft::{Draft, ROUNDS, Writer};
use crate::outcome::Restored;
use crate::plan::{Cut, PutBack, Recent, Recents, Section};
use crate::policy::{Layer, SummaryWhen};

/// The most tokens between a summary and its files.
const BETWEEN: u64 = 4;

impl Composer<'_> {
    /// The tokens of the files that can be put back behind a summary of what is before `cut`, as far as `room` tokens hold them.
    pub(super) fn restorable(&self, cut: Cut, room: u64) -> u64 {
        if room == 0 || !self.subject.policy.has(Layer::Restore) {
            return 0;
        }
        let mut section = Section::new(self.subject.estimator, room);
        self.put_back(&mut section, cut);
        match section.text() {
            "" => 0,
            text => (self.tokens_of(text) + BETWEEN).min(room),
        }
    }

    /// Adds restored files to a draft, as far as there is room. They use up what the summary saves, but never bring the
    /// conversation over its trigger again.
    pub(super) fn with_files(&self, draft: Draft) -> (Vec<Restored>, Draft) {
        if !self.subject.policy.has(Layer::Restore) {
            return (Vec::new(), draft);
        }
        let baseline = self.baseline();
        let below = match (
            self.subject.policy.summary.when,
            self.subject.policy.threshold(),
        ) {
            (SummaryWhen::Auto | SummaryWhen::Never, Some(threshold)) => threshold.min(baseline),
            (SummaryWhen::Always, _) | (_, None) => baseline,
        };
        let cap = self.cap().map_or(u64::MAX, |cap| self.less_margin(cap));
        let limit = cap.min(below.saturating_sub(1));
        let mut room = limit.saturating_sub(draft.total);
        for _ in 0..ROUNDS {
            if room == 0 {
                break;
            }
            let mut section = Section::new(self.subject.estimator, room);
            let back = self.put_back(&mut section, draft.cut);
            if draft.writer == Writer::Model && !self.subject.policy.summary.must_keep {
                // The rows of the built-in summary contain these already.
                let from = draft.cut.first_kept as u32;
                section.put_back_extras(
                    self.subject.transcript,
                    self.subject.conversation,
                    self.subject.policy,
                    from,
                );
            }
            if section.text().is_empty() {
                break;
            }
            let text = format!("{}\n\n{}", draft.text, section.text());
            let total = self.total(draft.cut, &text);
            if total <= limit {
                let restored = back.into_iter().map(|back| Restored {
                    path: back.path,
                    tokens: back.tokens,
                    source: back.source,
                });
                return (
                    restored.collect(),
                    Draft {
                        text,
                        total,
                        ..draft
                    },
                );
            }
            room = room.saturating_sub(total - limit);
        }
        (Vec::new(), draft)
    }

    /// Puts the files into a section that the messages from `cut` on do not show.
    fn put_back(&self, section: &mut Section<'_>, cut: Cut) -> Vec<PutBack> {
        let settings = &self.subject.policy.restore;
        let from = cut.first_kept as u32;
        let is_replaced = |block| self.subject.replaced.contains(&block);
        let is_hidden =
            |recent: &&Recent| !settings.skip_visible || !recent.is_visible(from, is_replaced);
        let recents = self.recents.into_iter().flat_map(Recents::iter);
        section.put_back(recents.filter(is_hidden), settings)
    }
}
