//! The entries of a report as a run makes them: in memory while they are few, on the disk when they are many.
//!
//! Files on the disk have no names, so that nothing is left of them however the run ends. Decides nothing about content.

use std::borrow::Cow;
use std::fmt::Debug;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};

use serde::Serialize;

mod disk;
mod outcomes;
mod passes;
mod places;
mod shared;

use disk::{Filed, Spooled};
use places::Says;

use crate::error::Result;
use crate::outcome::{Entries, Examined, Find, Listed, Outcome, ReadBack};
use crate::report::in_turn;
use crate::store::finished::Elsewhere;

pub use crate::outcome::unread;

pub(super) use disk::Written;
pub use outcomes::Outcomes;
pub use passes::Passes;
pub(super) use shared::Shared;

/// How much memory entries may take before they go to disk: an estimate, in bytes.
const MOST_HELD: u64 = 32 << 20;
/// The number of entries that are always kept in memory.
const MIN_IN_MEMORY: usize = 50;
/// The estimated size of an entry without its parts, and of each part.
const ENTRY_BYTES: u64 = 3 << 10;
const PART_BYTES: u64 = 256;

/// An entry that can be kept on disk: its JSON contains everything except its exact figures and the hint of its error.
pub trait Kept: Listed + ReadBack + Send + Sync + Debug {
    /// What is summed up as entries come in, because it is needed more often than the entries are read.
    type Sums: Copy + Default + Send + Sync + Debug;

    /// Adds the entry to the sums.
    fn add_to(&self, sums: &mut Self::Sums);

    /// See [`Find::exact`].
    fn exact(&self) -> Vec<u8> {
        Vec::new()
    }

    /// See [`Find::set_exact`].
    fn set_exact(&mut self, exact: &[u8]) -> Option<()> {
        exact.is_empty().then_some(())
    }
}

impl<T> Kept for Examined<T>
where
    T: Find + Clone + Debug + Serialize + Send + Sync,
    Examined<T>: ReadBack,
{
    type Sums = ();

    fn add_to(&self, (): &mut ()) {}

    fn exact(&self) -> Vec<u8> {
        self.found.exact()
    }

    fn set_exact(&mut self, exact: &[u8]) -> Option<()> {
        self.found.set_exact(exact)
    }
}

/// Entries that are still to be sorted.
#[derive(Debug)]
pub struct Spool<E: Kept> {
    held: Vec<Held<E>>,
    weight: u64,
    most: u64,
    /// Where the file goes.
    folder: PathBuf,
    spooled: Option<Spooled<E>>,
}

/// An entry in memory, and where its JSON is on disk as well, if it is.
#[derive(Debug)]
struct Held<E> {
    entry: E,
    place: Option<Elsewhere>,
}

/// Entries sorted by the paths of their inputs, as spelled in reports; entries with the same path are sorted by their content, so
/// that the order does not depend on which was finished first.
#[derive(Debug)]
pub enum Sorted<E: Kept = Outcome> {
    /// A few, in memory.
    Held(Vec<E>),
    /// Many, on disk.
    Spooled(Box<Filed<E>>),
}

impl<E: Kept> Spool<E> {
    /// Creates an empty spool. Its file, if one is needed, goes to `folder` if that exists, or else to the system's temporary
    /// folder.
    pub fn new(folder: &Path) -> Self {
        Spool::with_most(folder, MOST_HELD)
    }

    fn with_most(folder: &Path, most: u64) -> Self {
        Spool {
            held: Vec::new(),
            weight: 0,
            most,
            folder: folder.to_owned(),
            spooled: None,
        }
    }

    /// The number of entries.
    pub fn len(&self) -> usize {
        self.held.len() + self.spooled.as_ref().map_or(0, Spooled::len)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether the entries are on disk, so that new ones should be added by [`Spool::push_written`].
    pub fn are_spooled(&self) -> bool {
        self.spooled.is_some()
    }

    /// Adds an entry.
    ///
    /// # Errors
    /// If it cannot be written to disk.
    pub fn push(&mut self, entry: E) -> Result<()> {
        self.push_held(Held { entry, place: None })
    }

    fn push_held(&mut self, held: Held<E>) -> Result<()> {
        if let Some(spooled) = &mut self.spooled {
            return spooled.push_held(held);
        }
        self.weight += ENTRY_BYTES + PART_BYTES * held.entry.parts() as u64;
        self.held.push(held);
        match self.weight > self.most && self.held.len() > MIN_IN_MEMORY {
            true => self.put_on_disk(),
            false => Ok(()),
        }
    }

    fn put_on_disk(&mut self) -> Result<()> {
        let mut spooled = Spooled::new(&self.folder)?;
        for held in std::mem::take(&mut self.held) {
            spooled.push_held(held)?;
        }
        self.spooled = Some(spooled);
        Ok(())
    }

    /// Adds an entry that is ready for the disk.
    ///
    /// # Errors
    /// If it cannot be written to disk.
    pub fn push_written(&mut self, written: Written<E>) -> Result<()> {
        match &mut self.spooled {
            Some(spooled) => spooled.push(&written),
            None => self.push(written.into_entry()),
        }
    }

    /// All entries, in the order of a report; `see` is called with the path of each in this order.
    ///
    /// # Errors
    /// If they cannot be written to disk.
    pub fn sorted(self, see: &mut dyn FnMut(&str)) -> Result<Sorted<E>> {
        Ok(match self.spooled {
            None => {
                let held = sorted(entries(self.held));
                held.iter().for_each(|entry| see(&entry.file().path));
                Sorted::Held(held)
            }
            Some(spooled) => {
                let mut amend = |path: &str, _: &dyn Fn() -> io::Result<E>| {
                    see(path);
                    Ok(None)
                };
                Sorted::Spooled(Box::new(spooled.sorted(&mut amend)?))
            }
        })
    }
}

/// The entries, wherever else they are.
fn entries<E>(held: Vec<Held<E>>) -> Vec<E> {
    held.into_iter().map(|held| held.entry).collect()
}

fn sorted<E: Kept>(mut held: Vec<E>) -> Vec<E> {
    held.sort_by(|a, b| a.file().path.cmp(&b.file().path));
    let alike = held.chunk_by_mut(|a, b| a.file().path == b.file().path);
    for alike in alike.filter(|alike| alike.len() > 1) {
        // An entry that cannot be serialised is never written.
        alike.sort_by_cached_key(|entry| serde_json::to_vec(entry).unwrap_or_default());
    }
    held
}

impl<E: Kept> Sorted<E> {
    /// All entries, in memory.
    ///
    /// # Errors
    /// If they cannot be read back from disk.
    pub fn into_vec(self) -> Result<Vec<E>> {
        match self {
            Sorted::Held(held) => Ok(held),
            Sorted::Spooled(spooled) => {
                let all = (0..spooled.len()).map(|at| spooled.get(at));
                all.collect::<io::Result<_>>().map_err(unread)
            }
        }
    }

    /// All entries in order, one after the other.
    fn into_held(self) -> Box<dyn Iterator<Item = io::Result<Held<E>>>>
    where
        E: 'static,
    {
        match self {
            Sorted::Held(held) => {
                let held = held.into_iter();
                Box::new(held.map(|entry| Ok(Held { entry, place: None })))
            }
            Sorted::Spooled(spooled) => {
                Box::new((0..spooled.len()).map(move |at| spooled.held(at)))
            }
        }
    }
}

impl<E: Kept> Entries<E> for Sorted<E> {
    fn len(&self) -> usize {
        match self {
            Sorted::Held(held) => held.len(),
            Sorted::Spooled(spooled) => spooled.len(),
        }
    }

    fn get(&self, at: usize) -> io::Result<Cow<'_, E>> {
        match self {
            Sorted::Held(held) => held.get(at).map(Cow::Borrowed).ok_or_else(no_such),
            Sorted::Spooled(spooled) => spooled.get(at).map(Cow::Owned),
        }
    }

    fn json(&self, at: usize) -> io::Result<Cow<'_, [u8]>> {
        match self {
            Sorted::Held(held) => {
                let entry = held.get(at).ok_or_else(no_such)?;
                Ok(Cow::Owned(serde_json::to_vec(entry)?))
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

    fn each(&self, show: &mut dyn FnMut(&E) -> io::Result<()>) -> io::Result<()> {
        match self {
            Sorted::Held(held) => held.iter().try_for_each(show),
            Sorted::Spooled(spooled) => in_turn(
                self,
                |places| spooled.several(places),
                &mut |several: &Vec<E>| several.iter().try_for_each(&mut *show),
            ),
        }
    }

    fn weight(&self, at: usize) -> io::Result<u64> {
        match self {
            Sorted::Held(held) => Ok(held.get(at).ok_or_else(no_such)?.weight()),
            Sorted::Spooled(spooled) => Ok(spooled.place(at)?.weight),
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
    io::Error::other("there is no such entry")
}

#[cfg(test)]
mod tests;
