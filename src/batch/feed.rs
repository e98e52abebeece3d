//! Hands the inputs of a list to a queue.
//!
//! Looks at each input, and reads none.

use super::list::SourceList;
use super::queue::{Queue, ROOM};
use super::snapshot::Snapshot;
use super::source::Source;
use crate::error::Result;
use crate::store::FileIdentity;

/// When a list is handed over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Feeding {
    /// Before any input is taken: the queue has room for all.
    Before,
    /// By a thread, while inputs are taken.
    Meanwhile,
}

impl Feeding {
    pub(super) fn of(list: &SourceList) -> Self {
        match list.len() <= ROOM as u64 {
            true => Feeding::Before,
            false => Feeding::Meanwhile,
        }
    }
}

/// A snapshot of an input, if one can be taken.
pub(super) fn look(source: &Source) -> Option<Snapshot> {
    match source {
        Source::Stdin => None,
        Source::File(file) => {
            let seen = file.path.metadata().ok()?;
            Some(Snapshot::now(FileIdentity::of_input(&file.path, &seen)))
        }
    }
}

/// Puts all inputs of a list into a queue; calls `see` with the size of each.
///
/// # Errors
/// If the list cannot be read.
pub(super) fn feed(list: &SourceList, queue: &Queue, see: &mut dyn FnMut(u64)) -> Result<()> {
    let mut filler = queue.filler();
    for source in list.iter() {
        let source = source?.into_owned();
        let look = look(&source);
        see(look.map_or(0, |look| look.seen.bytes));
        filler.put((source, look));
    }
    Ok(())
}
