//! The outcomes of a run of `compact`: a spool that also maintains their sums, and accepts outcomes that are already in other files
//! and late warnings.
//!
//! Decides nothing about content.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use super::places::Says;
use super::{ENTRY_BYTES, Held, Kept, MOST_HELD, Sorted, Spool, Written, entries, sorted, unread};
use crate::batch::key_set::place_key;
use crate::error::Result;
use crate::outcome::{Entries, Exit, Figures, Outcome, Totals, Warning};
use crate::store::finished::Elsewhere;
use crate::store::folder::read_exact_at;

/// The outcomes of a run.
#[derive(Debug)]
pub struct Outcomes {
    spool: Spool<Outcome>,
    /// Warnings to be added to outcomes that are on disk, by the paths of their inputs.
    late: BTreeMap<String, Vec<Warning>>,
}

/// The sums of the outcomes on disk.
#[derive(Debug, Clone, Copy)]
pub struct Sums {
    totals: Totals,
    exit: Exit,
}

impl Default for Sums {
    fn default() -> Self {
        Sums {
            totals: Totals::default(),
            exit: Exit::Done,
        }
    }
}

impl Sums {
    fn add(&mut self, figures: Figures) {
        self.totals += figures;
        self.exit = self.exit.max(figures.exit());
    }
}

impl Kept for Outcome {
    type Sums = Sums;

    fn add_to(&self, sums: &mut Sums) {
        sums.add(Figures::of(self));
    }
}

impl Outcomes {
    /// Creates an empty collection. Its file, if one is needed, goes to `folder` if that exists, or else to the system's temporary
    /// folder.
    pub fn new(folder: &Path) -> Self {
        Outcomes::with_most(folder, MOST_HELD)
    }

    pub(super) fn with_most(folder: &Path, most: u64) -> Self {
        Outcomes {
            spool: Spool::with_most(folder, most),
            late: BTreeMap::new(),
        }
    }

    /// The number of outcomes.
    pub fn len(&self) -> usize {
        self.spool.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.spool.is_empty()
    }

    /// Whether the outcomes are on disk, so that new ones should be added by [`Outcomes::push_written`].
    pub fn are_spooled(&self) -> bool {
        self.spool.are_spooled()
    }

    /// Adds an outcome.
    ///
    /// # Errors
    /// If it cannot be written to disk.
    pub fn push(&mut self, outcome: Outcome) -> Result<()> {
        self.spool.push(outcome)
    }

    /// The same for an outcome whose JSON is on disk as well.
    ///
    /// # Errors
    /// If it cannot be written to disk.
    pub fn push_noted(&mut self, entry: Outcome, place: Elsewhere) -> Result<()> {
        let place = Some(place);
        self.push_held(Held { entry, place })
    }

    pub(super) fn push_held(&mut self, held: Held<Outcome>) -> Result<()> {
        self.spool.push_held(held)
    }

    /// Says that this many outcomes are to be expected: if they are too many for memory, none of them goes there first.
    ///
    /// # Errors
    /// If no file can be made for them.
    pub fn expect(&mut self, outcomes: u64) -> Result<()> {
        let weight = outcomes.saturating_mul(ENTRY_BYTES);
        match weight > self.spool.most && !self.are_spooled() {
            true => self.spool.put_on_disk(),
            false => Ok(()),
        }
    }

    /// Adds an outcome that is ready for the disk.
    ///
    /// # Errors
    /// If it cannot be written to disk.
    pub fn push_written(&mut self, written: Written<Outcome>) -> Result<()> {
        self.spool.push_written(written)
    }

    /// Adds an outcome that is already on disk. `path` is the path of its input.
    ///
    /// # Errors
    /// Where it cannot be read from there.
    pub fn push_elsewhere(
        &mut self,
        path: String,
        figures: Figures,
        place: &Elsewhere,
    ) -> Result<()> {
        let says = Says::more_if(figures.is_remarkable());
        if let Some(spooled) = &mut self.spool.spooled
            && let Some(place) = spooled.place_of(place, says, figures.tokens_saved())
        {
            spooled.sums.add(figures);
            return spooled.add(path.into(), place);
        }
        let mut json = vec![0; place.bytes as usize];
        read_exact_at(&place.file.file, &mut json, place.offset).map_err(unread)?;
        let outcome = serde_json::from_slice(&json).map_err(|e| unread(e.into()))?;
        self.push_noted(outcome, place.clone())
    }

    /// Adds a warning to the outcome of an input.
    pub fn warn(&mut self, path: &str, warning: Warning) {
        if self.spool.are_spooled() {
            let late = self.late.entry(path.to_owned()).or_default();
            late.push(warning);
        } else if let Some(held) = self.held(path) {
            held.entry.warnings.push(warning);
            // Its JSON elsewhere lacks the warning.
            held.place = None;
        }
    }

    fn held(&mut self, path: &str) -> Option<&mut Held<Outcome>> {
        let mut held = self.spool.held.iter_mut();
        held.find(|held| held.entry.file.path == path)
    }

    /// All outcomes, in the order of a report.
    ///
    /// # Errors
    /// If they cannot be written to disk.
    pub fn sorted(mut self) -> Result<Sorted> {
        let Some(spooled) = self.spool.spooled else {
            return Ok(Sorted::Held(sorted(entries(self.spool.held))));
        };
        let mut amend = |path: &str, read: &dyn Fn() -> io::Result<Outcome>| {
            let Some(warnings) = self.late.remove(path) else {
                return Ok(None);
            };
            let mut outcome = read()?;
            outcome.warnings.extend(warnings);
            Ok(Some(outcome))
        };
        Ok(Sorted::Spooled(Box::new(spooled.sorted(&mut amend)?)))
    }
}

impl Sorted {
    /// Their sums.
    pub fn totals(&self) -> Totals {
        match self {
            Sorted::Held(held) => Totals::of(held),
            Sorted::Spooled(spooled) => spooled.sums.totals,
        }
    }

    /// The exit code for all of them.
    pub fn exit(&self) -> Exit {
        match self {
            Sorted::Held(held) => Exit::of(held),
            Sorted::Spooled(spooled) => spooled.sums.exit,
        }
    }

    /// A hash that stands for the entries and their order, if they are on disk. What is noted is never changed, so the place of a note
    /// stands for the entry in it; only other entries are read.
    ///
    /// # Errors
    /// If they cannot be read back from disk.
    pub fn key(&self) -> io::Result<Option<String>> {
        match self {
            Sorted::Held(_) => Ok(None),
            Sorted::Spooled(spooled) => spooled.key().map(Some),
        }
    }

    /// Groups the positions of outcomes that have the same `name`, in path order; those without a name are left out. Holds a few
    /// bytes for each, but no names.
    ///
    /// # Errors
    /// If they cannot be read back from disk.
    pub fn together(
        &self,
        name: &dyn Fn(&Outcome) -> Option<PathBuf>,
    ) -> io::Result<impl Iterator<Item = Vec<usize>> + use<>> {
        let mut named = Vec::new();
        for (at, number) in (0..self.len()).zip(0_u32..) {
            if let Some(name) = name(&*self.get(at)?) {
                named.push((place_key(&name), number));
            }
        }
        named.sort_unstable();
        let mut groups: Vec<(u32, u32)> = Vec::with_capacity(named.len());
        for group in named.chunk_by(|a, b| a.0 == b.0) {
            groups.extend(group.iter().map(|(_, at)| (group[0].1, *at)));
        }
        groups.sort_unstable();
        let mut rest = groups.into_iter().peekable();
        Ok(std::iter::from_fn(move || {
            let (first, at) = rest.next()?;
            let mut group = vec![at as usize];
            while let Some((_, at)) = rest.next_if(|(other, _)| *other == first) {
                group.push(at as usize);
            }
            Some(group)
        }))
    }
}
