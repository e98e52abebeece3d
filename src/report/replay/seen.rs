//! What every rendering of a report on `replay` says about all inputs together, collected in one pass over them.
//!
//! Holds sums and the largest few, however many inputs there are.

use std::io;

use crate::outcome::{Entries, Examined, Find, Timings};
use crate::replay::{FileReplay, SessionReplay, Totals};
use crate::report::ranking::Largest;

/// A batch of up to this many inputs is shown in full; of a longer one, this many with the highest costs.
const FILES_SHOWN: usize = 20;
/// How many sessions have curves.
const CURVES: usize = 4;

/// What was seen of all inputs, in path order.
pub(super) struct Seen {
    /// The phases of all inputs together.
    pub(super) phases: Timings,
    /// The indices of the inputs with the highest costs, highest first; equal ones in path order.
    pub(super) files: Vec<usize>,
    /// How many rows there are: one for each session under each policy.
    pub(super) rows: usize,
    /// The sessions with the highest costs among those that have a curve, each with the path of its file.
    pub(super) curves: Vec<(String, SessionReplay)>,
}

impl Seen {
    /// Reads all entries and adds them up for policies of these names.
    ///
    /// # Errors
    /// If an entry cannot be read.
    pub(super) fn of(
        entries: &dyn Entries<Examined<FileReplay>>,
        policies: impl IntoIterator<Item = String>,
    ) -> io::Result<(Self, Totals)> {
        let mut totals = Totals::new(policies);
        let mut phases = Timings::default();
        let mut files = Largest::new(FILES_SHOWN);
        let mut curves = Largest::new(CURVES);
        let (mut at, mut rows) = (0, 0);
        entries.each(&mut |file| {
            totals.add(file);
            if let Some(timings) = &file.file.timings {
                phases += timings;
            }
            files.add(file.found.weight(), || at);
            at += 1;
            for session in &file.found.sessions {
                rows += session.policies.len();
                if has_curve(session) {
                    let shown = || (file.file.path.clone(), session.clone());
                    curves.add(session.whole.sent, shown);
                }
            }
            Ok(())
        })?;
        let seen = Seen {
            phases,
            files: files.into_list(),
            rows,
            curves: curves.into_list(),
        };
        Ok((seen, totals))
    }
}

fn has_curve(session: &SessionReplay) -> bool {
    // Versions that did not record request sizes wrote too few points for a curve.
    let is_measured = session.policies.iter().all(|p| !p.windows.is_empty());
    session.requests > 1 && is_measured
}
