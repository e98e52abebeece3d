//! Sorts any number of items: in memory while they are few, in parts of an unnamed file when they are many.
//!
//! Holds a bounded number in memory. Knows nothing about what it sorts.

use std::fs::File;
use std::io::{self, BufRead, BufWriter, Seek, Write};
use std::path::{Path, PathBuf};

use crate::store::unnamed::{Part, merged, unnamed};

/// How many bytes of items are sorted in memory.
const PART_BYTES: usize = 2 << 20;

/// What can be sorted.
pub(super) trait Item: Ord + Clone {
    /// What is needed to read one back.
    type Context: ?Sized;

    /// How much memory it takes, in bytes.
    fn memory(&self) -> usize;

    /// Writes it so that [`Item::read`] returns the same.
    fn write(&self, to: &mut dyn Write) -> io::Result<()>;

    /// Reads one that was written.
    fn read(from: &mut dyn BufRead, context: &Self::Context) -> io::Result<Self>;
}

impl<const N: usize> Item for [u8; N] {
    type Context = ();

    fn memory(&self) -> usize {
        N
    }

    fn write(&self, to: &mut dyn Write) -> io::Result<()> {
        to.write_all(self)
    }

    fn read(from: &mut dyn BufRead, (): &()) -> io::Result<Self> {
        let mut item = [0; N];
        from.read_exact(&mut item)?;
        Ok(item)
    }
}

/// Items that are still to be sorted.
#[derive(Debug)]
pub(super) struct Sorter<T> {
    /// Where the file goes.
    scratch: PathBuf,
    held: Vec<T>,
    memory: usize,
    most: usize,
    parts: Option<BufWriter<File>>,
    /// Where each part ends.
    ends: Vec<u64>,
}

/// Sorted items; equal ones follow each other in the order in which they were added.
#[derive(Debug)]
pub(super) enum SortedItems<T> {
    /// A few, in memory.
    Held(Vec<T>),
    /// Many, as sorted parts of a file, given the offset at which each of them ends.
    Parts(File, Vec<u64>),
}

impl<T: Item> Sorter<T> {
    /// None yet. A file, if one is needed, goes to `scratch` if that exists, or else to the system's temporary folder.
    pub(super) fn new(scratch: &Path) -> Self {
        Sorter::with_most(scratch, PART_BYTES)
    }

    /// The same with at most this many bytes in memory.
    pub(super) fn with_most(scratch: &Path, most: usize) -> Self {
        Sorter {
            scratch: scratch.to_owned(),
            held: Vec::new(),
            memory: 0,
            most,
            parts: None,
            ends: Vec::new(),
        }
    }

    /// Adds an item.
    pub(super) fn add(&mut self, item: T) -> io::Result<()> {
        self.memory += item.memory();
        self.held.push(item);
        match self.memory > self.most {
            true => self.put(),
            false => Ok(()),
        }
    }

    /// Writes what is held as one part.
    fn put(&mut self) -> io::Result<()> {
        let parts = match &mut self.parts {
            Some(parts) => parts,
            none => none.insert(unnamed(&self.scratch)?),
        };
        self.held.sort();
        self.held.drain(..).try_for_each(|item| item.write(parts))?;
        self.memory = 0;
        self.ends.push(parts.stream_position()?);
        Ok(())
    }

    /// All of them.
    pub(super) fn sorted(mut self) -> io::Result<SortedItems<T>> {
        if self.parts.is_some() {
            self.put()?;
        }
        match self.parts {
            None => {
                self.held.sort();
                Ok(SortedItems::Held(self.held))
            }
            Some(parts) => {
                let file = parts.into_inner().map_err(io::Error::from)?;
                Ok(SortedItems::Parts(file, self.ends))
            }
        }
    }
}

impl<T: Item> SortedItems<T> {
    /// The items in order.
    pub(super) fn iter<'s>(
        &'s self,
        context: &'s T::Context,
    ) -> io::Result<Box<dyn Iterator<Item = io::Result<T>> + 's>> {
        Ok(match self {
            SortedItems::Held(held) => Box::new(held.iter().cloned().map(Ok)),
            SortedItems::Parts(file, ends) => {
                let parts = Part::all(file, ends).into_iter();
                Box::new(merged(parts.map(|part| items(part, context)))?)
            }
        })
    }
}

/// The items in a part.
fn items<'c, T: Item>(
    mut part: impl BufRead + 'c,
    context: &'c T::Context,
) -> impl Iterator<Item = io::Result<T>> + 'c {
    let mut next = move || match part.fill_buf()?.is_empty() {
        true => Ok(None),
        false => T::read(&mut part, context).map(Some),
    };
    std::iter::from_fn(move || next().transpose())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_as_the_whole_and_leave_nothing() {
        let place = tempfile::tempdir().unwrap();
        for count in [0_u64, 1, 2, 100, 1_000] {
            let items = (0..count).map(|n| (n * 7_919 % 500).to_be_bytes());
            let mut expected: Vec<[u8; 8]> = items.clone().collect();
            expected.sort();
            for most in [1, 50, 100, 100_000] {
                let mut sorter = Sorter::with_most(place.path(), most);
                items.clone().for_each(|item| sorter.add(item).unwrap());
                let sorted = sorter.sorted().unwrap();
                let sorted: io::Result<Vec<[u8; 8]>> = sorted.iter(&()).unwrap().collect();
                assert_eq!(sorted.unwrap(), expected, "{count} by {most}");
            }
        }
        assert_eq!(place.path().read_dir().unwrap().count(), 0);
    }
}
