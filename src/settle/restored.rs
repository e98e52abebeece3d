//! Which files are put back behind a summary, and what room they take.
//!
//! PURE. Their contents have been gathered already; reads nothing, and writes no summary.

use super::composer::Composer;
use crate::plan::{Cut, Recent, Recents, RestoredEntry, Section};
use crate::policy::Layer;

/// The most tokens between a summary and its files.
const BETWEEN: u64 = 4;

impl Composer<'_> {
    /// The tokens of the files that can be put back behind a summary of the messages before `cut`, as far as they fit into `room`
    /// tokens.
    pub(super) fn restorable(&self, cut: Cut, room: u64) -> u64 {
        if room == 0 || !self.subject.policy.has(Layer::Restore) {
            return 0;
        }
        let estimator = self.subject.estimator;
        let mut section = Section::new(estimator, room);
        self.put_back(&mut section, cut);
        match section.text() {
            "" => 0,
            text => room.min(estimator.tokens(estimator.text(text)) + BETWEEN),
        }
    }

    /// Adds to a section the files that the messages from `cut` on do not show.
    pub(super) fn put_back(&self, section: &mut Section<'_>, cut: Cut) -> Vec<RestoredEntry> {
        let settings = &self.subject.policy.restore;
        let from = cut.first_kept as u32;
        let is_replaced = |block| self.subject.replaced.contains(&block);
        let is_hidden =
            |recent: &&Recent| !settings.skip_visible || !recent.is_visible(from, is_replaced);
        let recents = self.recents.into_iter().flat_map(Recents::iter);
        section.put_back(recents.filter(is_hidden), settings)
    }
}
