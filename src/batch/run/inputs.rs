//! The inputs of a run as they are dealt out to its threads: from a list, or while folders are walked.
//!
//! Processes none.

use std::sync::{Mutex, PoisonError};

use crate::batch::budget::Budget;
use crate::batch::feed::{Feeding, feed};
use crate::batch::queue::{Dealt, Queue, QueuedInput};
use crate::batch::skipped::SkipReason;
use crate::batch::walking::StreamingWalk;
use crate::batch::{Found, Progress, Skipped, Targets};
use crate::error::Result;

/// All inputs of a run.
pub(super) struct Inputs<'i> {
    from: From<'i>,
    queue: Queue,
    skipped: Mutex<Skipped>,
}

/// Where inputs come from.
enum From<'i> {
    /// They are listed.
    List(&'i Found, &'i Targets),
    /// They are being found.
    Walk(&'i StreamingWalk),
}

/// What becomes of a file that was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// It is compacted.
    Input,
    /// It is not read.
    Skipped(SkipReason),
    /// It is the output of another input.
    Output,
}

/// Whether an input is the only one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum InputCount {
    /// It is the only one.
    None,
    /// There are, or may be, others.
    Others,
}

/// Inputs that are looked up. What is left of them goes back even if that panics: other threads wait for it.
struct Looking<'q> {
    queue: &'q Queue,
    left: Vec<QueuedInput>,
}

impl Drop for Looking<'_> {
    fn drop(&mut self) {
        self.queue.put_back(std::mem::take(&mut self.left));
    }
}

/// The size of an input, in bytes, as far as it is known.
pub(super) fn bytes_of((_, look): &QueuedInput) -> u64 {
    look.map_or(0, |look| look.seen.bytes)
}

impl<'i> Inputs<'i> {
    pub(super) fn listed(found: &'i Found, targets: &'i Targets) -> Self {
        Inputs::new(From::List(found, targets))
    }

    pub(super) fn walked(walking: &'i StreamingWalk) -> Self {
        Inputs::new(From::Walk(walking))
    }

    fn new(from: From<'i>) -> Self {
        Inputs {
            from,
            queue: Queue::default(),
            skipped: Mutex::default(),
        }
    }

    /// What was found, if that was known before.
    pub(super) fn found(&self) -> Option<&'i Found> {
        match self.from {
            From::List(found, _) => Some(found),
            From::Walk(_) => None,
        }
    }

    pub(super) fn company(&self) -> InputCount {
        match self.from {
            From::List(found, _) if found.sources.len() == 1 => InputCount::None,
            From::List(..) | From::Walk(_) => InputCount::Others,
        }
    }

    /// Whether a thread has to hand on the inputs while others process them.
    pub(super) fn feeding(&self) -> Feeding {
        match self.from {
            From::List(found, _) => Feeding::of(&found.sources),
            From::Walk(_) => Feeding::Meanwhile,
        }
    }

    /// Hands on all inputs; returns what a walk has found.
    ///
    /// # Errors
    /// Those of finding the inputs.
    pub(super) fn all(
        &self,
        (budget, progress): (&Budget, &dyn Progress),
    ) -> Result<Option<Found>> {
        let see = &mut |bytes| {
            budget.announce_size(bytes);
            progress.found(bytes);
        };
        let found = match self.from {
            From::List(found, _) => feed(&found.sources, &self.queue, see).map(|()| None),
            From::Walk(walking) => {
                let mut filler = self.queue.filler();
                let found = walking.each(&mut |source, look| {
                    let met = (source, look);
                    see(bytes_of(&met));
                    filler.put(met);
                });
                found.map(Some)
            }
        };
        progress.all_found();
        found
    }

    /// Tells how many inputs there are, or a walk will find.
    pub(super) fn count(&self, progress: &dyn Progress) {
        progress.counted(match self.from {
            From::List(found, _) => found.sources.len(),
            From::Walk(walking) => walking.count(),
        });
    }

    /// The next inputs to be processed: one, or several small ones; waits until there is one. They are looked up first: there may
    /// be none left among those that were found together. `None` if there are no more.
    pub(super) fn next(&self, is_left: &dyn Fn(&QueuedInput) -> bool) -> Option<Vec<QueuedInput>> {
        Some(match self.queue.next()? {
            Dealt::Largest(dealt) => dealt,
            Dealt::Found(found) => {
                let mut looking = Looking {
                    queue: &self.queue,
                    left: Vec::new(),
                };
                looking
                    .left
                    .extend(found.into_iter().filter(|met| is_left(met)));
                Vec::new()
            }
        })
    }

    /// Whether the inputs that are left need not be dealt out if the run was interrupted: what is left of the walk only counts
    /// them.
    pub(super) fn are_only_counted(&self) -> bool {
        match self.from {
            From::List(_, targets) => !targets.may_leave_out(),
            From::Walk(walking) => walking.has_only_inputs(),
        }
    }

    /// Deals out no more inputs.
    pub(super) fn close(&self) {
        self.queue.close();
    }

    /// What becomes of an input.
    ///
    /// # Errors
    /// If that cannot be looked up.
    pub(super) fn role(&self, (source, _): &QueuedInput) -> Result<Role> {
        Ok(match self.from {
            From::List(_, targets) => match targets.leaves_out(source.path())? {
                true => Role::Output,
                false => Role::Input,
            },
            From::Walk(walking) => {
                let why = walking.leaves_out(source.path());
                why.map_or(Role::Input, Role::Skipped)
            }
        })
    }

    /// Notes that a file that was found is not read.
    pub(super) fn skip(&self, (source, _): &QueuedInput, why: SkipReason) {
        let mut skipped = self.skipped.lock().unwrap_or_else(PoisonError::into_inner);
        skipped.count(source.path().to_owned(), why);
    }

    /// What was not read.
    pub(super) fn take_skipped(&self) -> Skipped {
        let mut skipped = self.skipped.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut *skipped)
    }
}
