//! A set of paths, as hashes: in memory while they are few, sorted in an unnamed file when they are many.
//!
//! Looks at none of the paths.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use super::sorter::{SortedItems, Sorter};
use crate::store::folder::read_exact_at;
use crate::store::unnamed::unnamed;

const SIZE: usize = size_of::<PlaceKey>();

/// A hash that identifies a path: with millions of inputs, their paths would take too much memory.
pub(crate) type PlaceKey = [u8; 16];

/// The key of a path.
pub(crate) fn place_key(path: &Path) -> PlaceKey {
    let hash = blake3::hash(path.as_os_str().as_encoded_bytes());
    let mut key = [0; SIZE];
    key.copy_from_slice(&hash.as_bytes()[..SIZE]);
    key
}

/// The paths.
#[derive(Debug)]
pub struct KeySet(Keys);

#[derive(Debug)]
enum Keys {
    /// A few, sorted.
    Held(Vec<PlaceKey>),
    /// Many, sorted, and their number.
    OnDisk(File, u64),
}

impl KeySet {
    /// The paths with these keys. A file, if one is needed, goes to `scratch` if that exists.
    pub(super) fn of(keys: Sorter<PlaceKey>, scratch: &Path) -> io::Result<Self> {
        let sorted = keys.sorted()?;
        let file = match sorted {
            SortedItems::Held(mut held) => {
                held.dedup();
                return Ok(KeySet(Keys::Held(held)));
            }
            SortedItems::Parts(..) => unnamed(scratch)?,
        };
        KeySet::written(&sorted, file)
    }

    /// Those of these keys that were added more than once. A file, if one is needed, goes to `scratch` if that exists.
    pub(super) fn repeated(keys: Sorter<PlaceKey>, scratch: &Path) -> io::Result<Self> {
        let sorted = keys.sorted()?;
        let mut repeated = Sorter::new(scratch);
        let mut last = None;
        for key in sorted.iter(&())? {
            let key = key?;
            if last.replace(key) == Some(key) {
                repeated.add(key)?;
            }
        }
        KeySet::of(repeated, scratch)
    }

    fn written(sorted: &SortedItems<PlaceKey>, mut file: BufWriter<File>) -> io::Result<Self> {
        let (mut last, mut len) = (None, 0);
        for key in sorted.iter(&())? {
            let key = key?;
            if last.replace(key) != Some(key) {
                file.write_all(&key)?;
                len += 1;
            }
        }
        let file = file.into_inner().map_err(io::Error::from)?;
        Ok(KeySet(Keys::OnDisk(file, len)))
    }

    /// Whether there are none.
    pub(super) fn is_empty(&self) -> bool {
        match &self.0 {
            Keys::Held(held) => held.is_empty(),
            Keys::OnDisk(_, len) => *len == 0,
        }
    }

    /// Whether it contains a path.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn has(&self, path: &Path) -> io::Result<bool> {
        let wanted = place_key(path);
        let (file, len) = match &self.0 {
            Keys::Held(held) => return Ok(held.binary_search(&wanted).is_ok()),
            Keys::OnDisk(file, len) => (file, *len),
        };
        let (mut begin, mut end) = (0, len);
        while begin < end {
            let middle = begin.midpoint(end);
            let mut key = [0; SIZE];
            read_exact_at(file, &mut key, middle * SIZE as u64)?;
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
    use std::path::PathBuf;

    use super::*;

    #[test]
    fn what_was_added_is_found_and_nothing_else() {
        let place = tempfile::tempdir().unwrap();
        let path = |n: usize| PathBuf::from(format!("out/{n}.jsonl"));
        for count in [0, 1, 2, 100] {
            for most in [1, 100, 100_000] {
                let mut keys = Sorter::with_most(place.path(), most);
                for n in (0..count).chain(0..count / 2) {
                    keys.add(place_key(&path(n))).unwrap();
                }
                let set = KeySet::of(keys, place.path()).unwrap();
                assert!((0..count).all(|n| set.has(&path(n)).unwrap()));
                assert!((count..count + 50).all(|n| !set.has(&path(n)).unwrap()));
                assert_eq!(set.is_empty(), count == 0);
            }
        }
        assert_eq!(place.path().read_dir().unwrap().count(), 0);
    }

    #[test]
    fn what_was_added_more_than_once_is_known_apart() {
        let place = tempfile::tempdir().unwrap();
        let path = |n: usize| PathBuf::from(format!("{n}.jsonl"));
        for most in [1, 100, 100_000] {
            let mut keys = Sorter::with_most(place.path(), most);
            // Two times from 40 on, three times from 50 on.
            for n in (0..60).chain(40..60).chain(50..60) {
                keys.add(place_key(&path(n))).unwrap();
            }
            let repeated = KeySet::repeated(keys, place.path()).unwrap();
            for n in 0..70 {
                let is_repeated = (40..60).contains(&n);
                assert_eq!(repeated.has(&path(n)).unwrap(), is_repeated, "{n}");
            }
        }
        assert_eq!(place.path().read_dir().unwrap().count(), 0);
    }
}
