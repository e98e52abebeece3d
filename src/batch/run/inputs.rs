//! The inputs of a run as they are dealt out to its threads: from a list, or while folders are walked.
//!
//! Processes none.

use std::cmp::Reverse;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::batch::budget::Budget;
use crate::batch::queue::{Dealt, Queue, QueuedInput};
use crate::batch::skipped::SkipReason;
use crate::batch::walking::{Role, StreamingWalk};
use crate::batch::{Found, Options, Progress, Skipped, Target, Targets};
use crate::error::Result;

/// All inputs of a run.
pub(super) enum Inputs<'i> {
    /// They are known.
    Listed {
        found: &'i Found,
        order: Vec<&'i Target<'i>>,
        next: AtomicUsize,
    },
    /// They are being found.
    Walked {
        walking: &'i StreamingWalk,
        queue: Queue,
        skipped: Mutex<Skipped>,
    },
}

/// One input.
pub(super) enum Input<'i> {
    Listed(&'i Target<'i>),
    Walked(QueuedInput),
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

impl Input<'_> {
    pub(super) fn path(&self) -> &Path {
        match self {
            Input::Listed(target) => target.input_path(),
            Input::Walked((source, _)) => source.path(),
        }
    }

    pub(super) fn bytes(&self) -> u64 {
        match self {
            Input::Listed(target) => target.bytes,
            Input::Walked((_, look)) => look.map_or(0, |look| look.seen.bytes),
        }
    }
}

impl<'i> Inputs<'i> {
    pub(super) fn listed(targets: &'i Targets<'i>, found: &'i Found) -> Self {
        let mut order: Vec<&Target> = targets.list.iter().collect();
        // The largest first, so that the last thread is not left with a large one.
        order.sort_by_key(|target| Reverse(target.bytes));
        Inputs::Listed {
            found,
            order,
            next: AtomicUsize::new(0),
        }
    }

    pub(super) fn walked(walking: &'i StreamingWalk) -> Self {
        Inputs::Walked {
            walking,
            queue: Queue::default(),
            skipped: Mutex::default(),
        }
    }

    /// The sizes of the inputs that are known.
    pub(super) fn sizes(&self) -> impl Iterator<Item = u64> {
        let known = match self {
            Inputs::Listed { order, .. } => order.as_slice(),
            Inputs::Walked { .. } => &[],
        };
        known.iter().map(|target| target.bytes)
    }

    /// What was found, if that was known before.
    pub(super) fn found(&self) -> Option<&'i Found> {
        match self {
            Inputs::Listed { found, .. } => Some(found),
            Inputs::Walked { .. } => None,
        }
    }

    pub(super) fn company(&self) -> InputCount {
        match self {
            Inputs::Listed { order, .. } if order.len() == 1 => InputCount::None,
            Inputs::Listed { .. } | Inputs::Walked { .. } => InputCount::Others,
        }
    }

    /// Finds the inputs, if they are not known yet; returns the rest of what was found.
    pub(super) fn walk<'w>(
        &'w self,
        before: Option<Found>,
        (budget, progress): (&'w Budget, &'w dyn Progress),
    ) -> Option<impl FnOnce() -> Result<Found> + Send + 'w> {
        let (walking, queue) = match self {
            Inputs::Listed { .. } => return None,
            Inputs::Walked { walking, queue, .. } => (walking, queue),
        };
        Some(move || {
            let mut filler = queue.filler();
            let found = walking.each(before, &mut |source, look| {
                let bytes = look.map_or(0, |look| look.seen.bytes);
                budget.announce_size(bytes);
                progress.found(bytes);
                filler.put((source, look));
            });
            progress.all_found();
            found
        })
    }

    /// Tells how many inputs a walk will find.
    pub(super) fn count(&self, progress: &dyn Progress) {
        match self {
            Inputs::Listed { order, .. } => progress.counted(order.len() as u64),
            Inputs::Walked { walking, .. } => progress.counted(walking.count()),
        }
    }

    /// The next inputs to be processed: one, or several small ones; waits until there is one. Those of a walk are looked up first:
    /// there may be none left among those that were found together. `None` if there are no more.
    pub(super) fn next(&self, is_left: &dyn Fn(&Input<'i>) -> bool) -> Option<Vec<Input<'i>>> {
        match self {
            Inputs::Listed { order, next, .. } => {
                let one = order.get(next.fetch_add(1, Ordering::Relaxed));
                one.map(|target| vec![Input::Listed(target)])
            }
            Inputs::Walked { queue, .. } => Some(match queue.next()? {
                Dealt::Largest(dealt) => dealt.into_iter().map(Input::Walked).collect(),
                Dealt::Found(found) => {
                    let mut looking = Looking {
                        queue,
                        left: Vec::new(),
                    };
                    for met in found {
                        let input = Input::Walked(met);
                        if let (true, Input::Walked(met)) = (is_left(&input), input) {
                            looking.left.push(met);
                        }
                    }
                    Vec::new()
                }
            }),
        }
    }

    /// Whether the inputs that are left need not be dealt out if the run was interrupted: a walk goes on, and counts them.
    pub(super) fn are_only_counted(&self) -> bool {
        match self {
            Inputs::Listed { .. } => true,
            Inputs::Walked { walking, .. } => walking.has_only_inputs(),
        }
    }

    /// Deals out no more inputs.
    pub(super) fn close(&self) {
        match self {
            Inputs::Listed { order, next, .. } => next.store(order.len(), Ordering::Relaxed),
            Inputs::Walked { queue, .. } => queue.close(),
        }
    }

    /// What becomes of an input.
    ///
    /// # Errors
    /// If that cannot be looked up.
    pub(super) fn role(&self, input: &Input<'_>) -> Result<Role> {
        match self {
            Inputs::Listed { .. } => Ok(Role::Input),
            Inputs::Walked { walking, .. } => walking.role(input.path()),
        }
    }

    /// Notes that a file that was found is not read.
    pub(super) fn skip(&self, input: &Input<'_>, why: SkipReason) {
        match self {
            Inputs::Listed { .. } => {}
            Inputs::Walked { skipped, .. } => {
                let mut skipped = skipped.lock().unwrap_or_else(PoisonError::into_inner);
                skipped.count(input.path().to_owned(), why);
            }
        }
    }

    /// What was not read.
    pub(super) fn take_skipped(&self) -> Skipped {
        match self {
            Inputs::Listed { .. } => Skipped::default(),
            Inputs::Walked { skipped, .. } => {
                let mut skipped = skipped.lock().unwrap_or_else(PoisonError::into_inner);
                std::mem::take(&mut *skipped)
            }
        }
    }

    /// Calls `work` with the target of an input; `None` if it has none.
    pub(super) fn on_target<T>(
        &self,
        input: &Input<'_>,
        (targets, options): (&Targets<'_>, &Options),
        work: impl FnOnce(&Target<'_>) -> T,
    ) -> Option<T> {
        match input {
            Input::Listed(target) => Some(work(target)),
            Input::Walked(met) => targets.of(met, options).as_ref().map(work),
        }
    }
}
