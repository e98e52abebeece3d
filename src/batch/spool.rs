//! The outcomes of a run: in memory while they are few, on the disk when they are many.
//!
//! Files on the disk have no names, so that nothing is left of them however the run ends. Decides nothing about content.

use std::borrow::Cow;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};

mod disk;
mod places;

use disk::{Filed, Spooled};
use places::{Place, Says};

use super::find::place_key;
use crate::error::{Error, ErrorKind, Result};
use crate::outcome::{Entries, Exit, Figures, Outcome, Totals, Warning};
use crate::store::finished::Elsewhere;
use crate::store::folder::read_exact_at;

pub(super) use disk::Written;

/// How much memory outcomes may take before they go to the disk, in bytes, as it is estimated.
const MOST_HELD: u64 = 32 << 20;
/// So many are in memory in any case.
const FEW: usize = 50;
/// The estimate for an outcome without its actions and warnings, and for each of these.
const AN_OUTCOME: u64 = 3 << 10;
const A_PART: u64 = 256;

/// The outcomes of a run.
#[derive(Debug)]
pub struct Outcomes {
    held: Vec<Outcome>,
    weight: u64,
    most: u64,
    /// Where the file goes.
    folder: PathBuf,
    spooled: Option<Spooled>,
}

/// The outcomes, sorted by the paths of their inputs.
#[derive(Debug)]
pub enum Sorted {
    /// Few.
    Held(Vec<Outcome>),
    /// Many.
    Spooled(Box<Filed>),
}

impl Outcomes {
    /// None yet. A file, if there is one, will be in `folder`, if that exists, or else where the system has such files.
    pub fn new(folder: &Path) -> Self {
        Outcomes::with_most(folder, MOST_HELD)
    }

    fn with_most(folder: &Path, most: u64) -> Self {
        Outcomes {
            held: Vec::new(),
            weight: 0,
            most,
            folder: folder.to_owned(),
            spooled: None,
        }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.held.len() + self.spooled.as_ref().map_or(0, Spooled::len)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether they are on the disk, so that [`Outcomes::push_written`] is the way to add one.
    pub fn are_spooled(&self) -> bool {
        self.spooled.is_some()
    }

    /// Adds one.
    ///
    /// # Errors
    /// Where it cannot be written to the disk.
    pub fn push(&mut self, outcome: Outcome) -> Result<()> {
        if let Some(spooled) = &mut self.spooled {
            return spooled.push(&Written::of(outcome)?);
        }
        self.weight += weight(&outcome);
        self.held.push(outcome);
        if self.weight > self.most && self.held.len() > FEW {
            let mut spooled = Spooled::new(&self.folder)?;
            for outcome in self.held.drain(..) {
                spooled.push(&Written::of(outcome)?)?;
            }
            self.held = Vec::new();
            self.spooled = Some(spooled);
        }
        Ok(())
    }

    /// Adds one that is ready for the disk.
    ///
    /// # Errors
    /// Where it cannot be written to the disk.
    pub fn push_written(&mut self, written: Written) -> Result<()> {
        match &mut self.spooled {
            Some(spooled) => spooled.push(&written),
            None => self.push(written.into_outcome()),
        }
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
        if let Some(spooled) = &mut self.spooled
            && let Some(file) = spooled.number_of(&place.file)
        {
            let place = Place {
                offset: place.offset,
                bytes: place.bytes,
                file,
                hint: 0,
                says: Says::of(&figures),
                saved: figures.tokens_saved(),
            };
            return spooled.add(path.into(), place, figures);
        }
        let mut json = vec![0; place.bytes as usize];
        read_exact_at(&place.file, &mut json, place.offset).map_err(unread)?;
        let outcome = serde_json::from_slice(&json).map_err(|e| unread(e.into()))?;
        self.push(outcome)
    }

    /// Adds a warning to that of an input.
    pub fn warn(&mut self, path: &str, warning: Warning) {
        if let Some(spooled) = &mut self.spooled {
            spooled.warn(path, warning);
        } else if let Some(outcome) = self.held.iter_mut().find(|o| o.file.path == path) {
            outcome.warnings.push(warning);
        }
    }

    /// All of them, in the order of a report.
    ///
    /// # Errors
    /// Where they cannot be written to the disk.
    pub fn sorted(self) -> Result<Sorted> {
        Ok(match self.spooled {
            None => {
                let mut held = self.held;
                held.sort_by(|a, b| a.file.path.cmp(&b.file.path));
                Sorted::Held(held)
            }
            Some(spooled) => Sorted::Spooled(Box::new(spooled.sorted()?)),
        })
    }
}

impl Sorted {
    /// All of them in memory.
    ///
    /// # Errors
    /// Where the disk does not give them back.
    pub fn into_vec(self) -> Result<Vec<Outcome>> {
        match self {
            Sorted::Held(held) => Ok(held),
            Sorted::Spooled(spooled) => {
                let all = (0..spooled.len()).map(|at| spooled.get(at));
                all.collect::<io::Result<_>>().map_err(unread)
            }
        }
    }

    /// Their sums.
    pub fn totals(&self) -> Totals {
        match self {
            Sorted::Held(held) => Totals::of(held),
            Sorted::Spooled(spooled) => spooled.totals(),
        }
    }

    /// The exit code for all of them.
    pub fn exit(&self) -> Exit {
        match self {
            Sorted::Held(held) => Exit::of(held),
            Sorted::Spooled(spooled) => spooled.exit(),
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

impl Entries for Sorted {
    fn len(&self) -> usize {
        match self {
            Sorted::Held(held) => held.len(),
            Sorted::Spooled(spooled) => spooled.len(),
        }
    }

    fn get(&self, at: usize) -> io::Result<Cow<'_, Outcome>> {
        match self {
            Sorted::Held(held) => held.get(at).map(Cow::Borrowed).ok_or_else(no_such),
            Sorted::Spooled(spooled) => spooled.get(at).map(Cow::Owned),
        }
    }

    fn json(&self, at: usize) -> io::Result<Cow<'_, [u8]>> {
        match self {
            Sorted::Held(held) => {
                let outcome = held.get(at).ok_or_else(no_such)?;
                Ok(Cow::Owned(serde_json::to_vec(outcome)?))
            }
            Sorted::Spooled(spooled) => spooled.json(at).map(Cow::Owned),
        }
    }

    fn bytes_on_disk(&self, at: usize) -> u64 {
        match self {
            Sorted::Held(_) => 0,
            Sorted::Spooled(spooled) => spooled.place(at).map_or(0, |place| place.bytes.into()),
        }
    }

    fn each_json(
        &self,
        places: Range<usize>,
        show: &mut dyn FnMut(usize, &[u8]),
    ) -> io::Result<()> {
        match self {
            Sorted::Held(_) => {
                for at in places {
                    show(at, &self.json(at)?);
                }
                Ok(())
            }
            Sorted::Spooled(spooled) => spooled.each(places, show),
        }
    }

    fn saved(&self, at: usize) -> io::Result<u64> {
        match self {
            Sorted::Held(held) => Ok(held.get(at).ok_or_else(no_such)?.tokens_saved()),
            Sorted::Spooled(spooled) => Ok(spooled.place(at)?.saved),
        }
    }

    fn is_remarkable(&self, at: usize) -> io::Result<bool> {
        match self {
            Sorted::Held(held) => Ok(held.get(at).ok_or_else(no_such)?.is_remarkable()),
            Sorted::Spooled(spooled) => Ok(spooled.place(at)?.says == Says::More),
        }
    }
}

fn no_such() -> io::Error {
    io::Error::other("there is no such outcome")
}

/// An outcome that the disk does not give back.
pub fn unread(error: io::Error) -> Error {
    Error::new(
        ErrorKind::Io,
        format!("an outcome cannot be read back from the disk: {error}"),
    )
}

/// About how much memory an outcome takes.
fn weight(outcome: &Outcome) -> u64 {
    let actions = outcome.conversations.iter().map(|c| c.actions.len()).sum();
    let parts: usize = [actions, outcome.conversations.len(), outcome.warnings.len()]
        .iter()
        .sum();
    AN_OUTCOME + A_PART * parts as u64
}

#[cfg(test)]
mod tests;
