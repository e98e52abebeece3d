//! Leaves a large report alone if the last run of the same command has written the same one.
//!
//! What a report would be made of is known by a key, so that none of its entries need be read. Decides nothing about content.

use std::path::PathBuf;
use std::thread;
use std::time::Duration;

use super::Trust;
use crate::store::finished::Work;
use crate::store::folder::Durability;
use crate::store::{FileIdentity, OpenPath, Store};

/// A smaller report is written again at no cost worth mentioning.
const LARGE: u64 = 1 << 20;
/// Longer than the resolution of the system's file times: a report that is touched in the moment in which it was written looks
/// untouched. Once this has passed, that moment is over.
const MOMENT: Duration = Duration::from_millis(25);

/// What runs of the same command note about their reports.
#[derive(Debug, Default)]
pub struct ReportNotes(Option<Noting>);

#[derive(Debug)]
struct Noting {
    work: Work,
    root: PathBuf,
    trust: Trust,
}

impl ReportNotes {
    /// Those of a work in the store with this root.
    pub(super) fn of(work: Work, root: PathBuf, trust: Trust) -> Self {
        ReportNotes(Some(Noting { work, root, trust }))
    }

    /// Whether there is a report, not touched since a run wrote it, that was made of what `key` stands for.
    pub fn has(&self, report: &OpenPath, key: &str) -> bool {
        let is_there = || {
            let Noting { work, root, trust } = self.0.as_ref()?;
            let store = Store::new(root, Durability::Lazy);
            let written = store.written_report(work, report)?;
            let now = report.seen().ok()?;
            let is_still = *trust == Trust::Time && written.seen.is_still(now);
            Some(written.key == key && (is_still || written.is_untouched(now)))
        };
        is_there().unwrap_or(false)
    }

    /// Notes a report that was just written, and that has the identity `seen`. If it cannot be noted, the next run writes it again.
    pub fn note(&self, report: &OpenPath, key: &str, seen: FileIdentity) {
        let Some(Noting { work, root, .. }) = &self.0 else {
            return;
        };
        let store = Store::new(root, Durability::Lazy);
        if seen.bytes >= LARGE && store.exists().is_ok_and(|exists| exists) {
            thread::sleep(MOMENT);
            let _ = store.note_report(work, report, (key, seen));
        }
    }
}
