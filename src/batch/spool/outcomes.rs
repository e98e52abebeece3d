//! The outcomes of a run of `compact`: a spool that also knows their sums, outcomes that other files have already, and warnings
//! that come late.
//!
//! Decides nothing about content.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use super::places::{Place, Says};
use super::{Kept, MOST_HELD, Sorted, Spool, Written, sorted, unread};
use crate::batch::find::place_key;
use crate::error::Result;
use crate::outcome::{Entries, Exit, Figures, Outcome, Totals, Warning};
use crate::store::finished::Elsewhere;
use crate::store::folder::read_exact_at;

/// The outcomes of a run.
#[derive(Debug)]
pub struct Outcomes {
    spool: Spool<Outcome>,
    /// What is to be added to outcomes that are on the disk, by the paths of their inputs.
    late: BTreeMap<String, Vec<Warning>>,
}

/// What outcomes on the disk add up to.
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
    /// None yet. A file, if there is one, will be in `folder`, if that exists, or else where the system has such files.
    pub fn new(folder: &Path) -> Self {
        Outcomes::with_most(folder, MOST_HELD)
    }

    pub(super) fn with_most(folder: &Path, most: u64) -> Self {
        Outcomes {
            spool: Spool::with_most(folder, most),
            late: BTreeMap::new(),
        }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.spool.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.spool.is_empty()
    }

    /// Whether they are on the disk, so that [`Outcomes::push_written`] is the way to add one.
    pub fn are_spooled(&self) -> bool {
        self.spool.are_spooled()
    }

    /// Adds one.
    ///
    /// # Errors
    /// Where it cannot be written to the disk.
    pub fn push(&mut self, outcome: Outcome) -> Result<()> {
        self.spool.push(outcome)
    }

    /// Adds one that is ready for the disk.
    ///
    /// # Errors
    /// Where it cannot be written to the disk.
    pub fn push_written(&mut self, written: Written<Outcome>) -> Result<()> {
        self.spool.push_written(written)
    }

    /// Adds one that is on the disk already. `path` is that of its input.
    ///
    /// # Errors
    /// Where it cannot be read from there.
    pub fn push_elsewhere(
        &mut self,
        path: String,
        figures: Figures,
        place: &Elsewhere,
    ) -> Result<()> {
        if let Some(spooled) = &mut self.spool.spooled
            && let Some(file) = spooled.number_of(&place.file)
        {
            let place = Place {
                offset: place.offset,
                bytes: place.bytes,
                file,
                hint: 0,
                says: Says::more_if(figures.is_remarkable()),
                weight: figures.tokens_saved(),
            };
            spooled.sums.add(figures);
            return spooled.add(path.into(), place);
        }
        let mut json = vec![0; place.bytes as usize];
        read_exact_at(&place.file, &mut json, place.offset).map_err(unread)?;
        let outcome = serde_json::from_slice(&json).map_err(|e| unread(e.into()))?;
        self.push(outcome)
    }

    /// Adds a warning to that of an input.
    pub fn warn(&mut self, path: &str, warning: Warning) {
        if self.spool.are_spooled() {
            let late = self.late.entry(path.to_owned()).or_default();
            late.push(warning);
        } else if let Some(outcome) = self.spool.held.iter_mut().find(|o| o.file.path == path) {
            outcome.warnings.push(warning);
        }
    }

    /// All of them, in the order of a report.
    ///
    /// # Errors
    /// Where they cannot be written to the disk.
    pub fn sorted(mut self) -> Result<Sorted> {
        let Some(spooled) = self.spool.spooled else {
            return Ok(Sorted::Held(sorted(self.spool.held)));
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

    /// The places of those that have something by one name, together, in the order of paths; those without a name are left out.
    /// Holds some bytes for each, but no names.
    ///
    /// # Errors
    /// Where the disk does not give them back.
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
