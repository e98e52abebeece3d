//! The paths of the outputs of a run, as sorted hashes in an unnamed file: whether two are the same, and whether a path is one.
//!
//! Holds a bounded number in memory. Looks at no output.

use std::fs::File;
use std::io::{self, BufRead, BufWriter, Write};
use std::path::{Path, PathBuf};

use crate::batch::find::{PlaceKey, place_key};
use crate::store::folder::read_exact_at;
use crate::store::unnamed::{Part, merge, unnamed};

/// How many are sorted in memory: 4 MiB.
const PART: usize = 1 << 18;
const SIZE: usize = size_of::<PlaceKey>();

/// Outputs that are still to be sorted.
#[derive(Debug)]
pub(super) struct Outputs {
    /// Where files go.
    folder: PathBuf,
    part: Vec<PlaceKey>,
    most: usize,
    parts: BufWriter<File>,
    /// Where each part ends.
    ends: Vec<u64>,
}

/// Sorted outputs, of which no two are the same.
#[derive(Debug)]
pub(super) struct SortedOutputs {
    file: File,
    len: u64,
}

impl Outputs {
    /// None yet. Files go to `folder` if that exists, or else to the system's temporary folder.
    pub(super) fn new(folder: &Path) -> io::Result<Self> {
        Outputs::with_most(folder, PART)
    }

    fn with_most(folder: &Path, most: usize) -> io::Result<Self> {
        Ok(Outputs {
            folder: folder.to_owned(),
            part: Vec::new(),
            most,
            parts: unnamed(folder)?,
            ends: Vec::new(),
        })
    }

    pub(super) fn add(&mut self, output: &Path) -> io::Result<()> {
        self.part.push(place_key(output));
        match self.part.len() >= self.most {
            true => self.put(),
            false => Ok(()),
        }
    }

    fn put(&mut self) -> io::Result<()> {
        self.part.sort_unstable();
        let end = self.ends.last().copied().unwrap_or(0);
        self.ends.push(end + (self.part.len() * SIZE) as u64);
        self.part
            .drain(..)
            .try_for_each(|key| self.parts.write_all(&key))
    }

    /// All of them; `None` if two are the same.
    pub(super) fn sorted(mut self) -> io::Result<Option<SortedOutputs>> {
        self.put()?;
        let parts = self.parts.into_inner().map_err(io::Error::from)?;
        let keys = Part::all(&parts, &self.ends).into_iter().map(keys);
        let mut all = unnamed(&self.folder)?;
        let (mut last, mut len, mut is_twice) = (None, 0, false);
        merge(keys, &mut |key: PlaceKey| {
            is_twice |= last.replace(key) == Some(key);
            len += 1;
            all.write_all(&key)
        })?;
        let file = all.into_inner().map_err(io::Error::from)?;
        Ok((!is_twice).then_some(SortedOutputs { file, len }))
    }
}

/// The hashes in a part.
fn keys(mut part: impl BufRead) -> impl Iterator<Item = io::Result<PlaceKey>> {
    let mut next = move || {
        let mut key = [0; SIZE];
        match part.fill_buf()?.is_empty() {
            true => Ok(None),
            false => part.read_exact(&mut key).map(|()| Some(key)),
        }
    };
    std::iter::from_fn(move || next().transpose())
}

impl SortedOutputs {
    /// Whether this is the path of one of them.
    pub(super) fn has(&self, path: &Path) -> io::Result<bool> {
        let wanted = place_key(path);
        let (mut begin, mut end) = (0, self.len);
        while begin < end {
            let middle = begin.midpoint(end);
            let mut key = [0; SIZE];
            read_exact_at(&self.file, &mut key, middle * SIZE as u64)?;
            match key.cmp(&wanted) {
                std::cmp::Ordering::Less => begin = middle + 1,
                std::cmp::Ordering::Equal => return Ok(true),
                std::cmp::Ordering::Greater => end = middle,
            }
        }
        Ok(false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_added_is_found_and_twice_the_same_is_noticed() {
        let place = tempfile::tempdir().unwrap();
        let path = |n: usize| PathBuf::from(format!("out/{n}.jsonl"));
        let sorted = |most: usize, numbers: &[usize]| {
            let mut outputs = Outputs::with_most(place.path(), most).unwrap();
            for n in numbers {
                outputs.add(&path(*n)).unwrap();
            }
            outputs.sorted().unwrap()
        };
        for count in [0, 1, 2, 100] {
            let all: Vec<usize> = (0..count).collect();
            for most in [1, 7, 100, 1_000] {
                let outputs = sorted(most, &all).unwrap();
                assert!(all.iter().all(|n| outputs.has(&path(*n)).unwrap()));
                assert!((count..count + 50).all(|n| !outputs.has(&path(n)).unwrap()));
                if let Some(last) = count.checked_sub(1) {
                    let twice: Vec<usize> = all.iter().copied().chain([last / 2]).collect();
                    assert!(sorted(most, &twice).is_none());
                }
            }
        }
        assert_eq!(place.path().read_dir().unwrap().count(), 0);
    }
}
