//! Puts files back behind a finished summary, as far as there is room.
//!
//! PURE. Never shortens a summary to make room for them.

use super::composer::Composer;
use super::draft::{Draft, ROUNDS, Writer};
use crate::outcome::Restored;
use crate::plan::Section;
use crate::policy::{Layer, SummaryWhen};

impl Composer<'_> {
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
                // The built-in summary's rows already contain these.
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
}
