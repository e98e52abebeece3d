//! What every rendering of a report on `compact` reads: its head, and its entries one by one, wherever they are stored.
//!
//! Holds no more of the entries at a time than a rendering shows at once.

use super::column::Column;
use super::groups::Grouped;
use super::run::Head;
use super::{CompactHeader, columns, times};
use crate::diff::Diff;
use crate::outcome::{Entries, Outcome, Totals};
use crate::report::cells::has_sizes;

/// A report as it is rendered.
#[derive(Clone, Copy)]
pub(super) struct View<'r> {
    pub(super) head: &'r Head<CompactHeader, Totals>,
    pub(super) entries: &'r dyn Entries,
    /// The fates of the messages of the only file, for a page.
    pub(super) diff: Option<&'r Diff>,
}

impl View<'_> {
    /// The columns shown for each input.
    pub(super) fn columns(&self) -> Vec<Column<Outcome>> {
        times::with_times(columns::columns(), self.head.timings())
    }
}

/// An input for grouping, if its sizes are meaningful.
pub(super) fn grouped(outcome: &Outcome) -> Option<Grouped<'_>> {
    has_sizes(outcome.status).then(|| Grouped {
        file: &outcome.file,
        tokens: [outcome.tokens_before(), outcome.tokens_after()],
    })
}
