//! The outcomes of a run as its threads add them, and what ends the run early.
//!
//! Decides nothing about content.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::spool::Written;
use super::{Options, Outcomes};
use crate::error::{Error, ErrorKind, Result};
use crate::outcome::{Figures, Outcome};
use crate::store::finished::Elsewhere;

/// Collects the outcomes of all threads.
pub(super) struct Finishing {
    parts: Mutex<(Outcomes, Option<Error>)>,
    /// Whether outcomes go to disk, so that they are serialised before the lock is taken.
    are_spooled: AtomicBool,
}

impl Finishing {
    /// Begins with no outcomes, of which about as many as `expected` will come.
    pub(super) fn new(options: &Options, expected: u64) -> Self {
        let mut outcomes = Outcomes::new(&options.scratch());
        let begun = outcomes.expect(expected);
        Finishing {
            are_spooled: AtomicBool::new(outcomes.are_spooled()),
            parts: Mutex::new((outcomes, begun.err())),
        }
    }

    pub(super) fn are_spooled(&self) -> bool {
        self.are_spooled.load(Ordering::Relaxed)
    }

    pub(super) fn add(&self, finished: Result<Outcome>) {
        self.keep_fault(finished.and_then(|outcome| {
            if self.are_spooled() {
                let written = Written::of(outcome)?;
                return self.lock().0.push_written(written);
            }
            let outcomes = &mut self.lock().0;
            let added = outcomes.push(outcome);
            let are_spooled = outcomes.are_spooled();
            self.are_spooled.store(are_spooled, Ordering::Relaxed);
            added
        }));
    }

    /// Adds the outcome of an input that was noted.
    pub(super) fn add_noted(&self, outcome: Outcome, place: Elsewhere) {
        let outcomes = &mut self.lock().0;
        let added = outcomes.push_noted(outcome, place);
        let are_spooled = outcomes.are_spooled();
        self.are_spooled.store(are_spooled, Ordering::Relaxed);
        self.keep_fault(added);
    }

    /// Adds an outcome that is on the disk already.
    pub(super) fn add_elsewhere(&self, path: String, figures: Figures, place: &Elsewhere) {
        let added = self.lock().0.push_elsewhere(path, figures, place);
        self.keep_fault(added);
    }

    fn keep_fault(&self, added: Result<()>) {
        match added {
            // Interrupted before its output got its name.
            Err(error) if error.kind == ErrorKind::Interrupted => {}
            // A closed output, or a full disk.
            Err(error) => drop(self.lock().1.get_or_insert(error)),
            Ok(()) => {}
        }
    }

    fn lock(&self) -> MutexGuard<'_, (Outcomes, Option<Error>)> {
        self.parts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The outcomes, and the error of a closed output or a full disk, which ends the run once everything is in order.
    pub(super) fn into_parts(self) -> (Outcomes, Option<Error>) {
        let parts = self.parts.into_inner();
        parts.unwrap_or_else(PoisonError::into_inner)
    }
}
