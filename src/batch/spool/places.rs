//! Where the entries on the disk are, in the order of the paths of their inputs.
//!
//! They are added in any order. A bounded number is held in memory: the rest is sorted in parts, which go to an unnamed file, and
//! the parts are merged into another one at the end. Knows nothing about the contents of a place.

use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use super::no_such;
use crate::store::folder::read_exact_at;
use crate::store::unnamed::{Part, merge, unnamed};

/// The estimated number of bytes held in memory before they are sorted and written.
const PART_BYTES: usize = 8 << 20;
/// The overhead of a place besides its path, in bytes: itself, its path's length, and what the allocator adds.
const BESIDES: usize = 80;
/// The number of places read at once.
pub(super) const PLACES_PER_READ: usize = 2_048;
/// The size of a place on disk, in bytes.
const SIZE: usize = 29;

/// Where an entry is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) offset: u64,
    /// The length of its JSON.
    pub(super) bytes: u32,
    /// The length of its exact figures, if its JSON has rounded ones.
    pub(super) exact: u32,
    /// The number of the other file that contains it, from 1; 0: the tape.
    pub(super) file: u16,
    /// The length of its error's hint, if there is one.
    pub(super) hint: u16,
    pub(super) says: Says,
    /// Its weight relative to others, in tokens.
    pub(super) weight: u64,
}

/// Whether an entry contains anything besides its figures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Says {
    Figures,
    More,
}

/// Places that are still to be sorted.
#[derive(Debug)]
pub(super) struct Placing {
    /// Where files go.
    folder: PathBuf,
    part: Vec<(Box<str>, Place)>,
    /// The approximate number of bytes that the part takes, and how many it may take.
    held: usize,
    most: usize,
    parts: Option<Parts>,
    len: usize,
}

/// Sorted parts on the disk, one behind the other.
#[derive(Debug)]
struct Parts {
    file: BufWriter<File>,
    /// Where each ends.
    ends: Vec<u64>,
}

/// Places in sorted order.
#[derive(Debug)]
pub(super) enum Places {
    /// A few, in memory.
    Held(Vec<Place>),
    /// Many, in a file: each is `SIZE` bytes long.
    Filed {
        file: File,
        len: usize,
        /// The places that were read last, and the index of the first of them.
        window: Mutex<(usize, Vec<Place>)>,
    },
}

impl Placing {
    /// Creates an empty collection. Its files go to `folder` if that exists, or else to the system's temporary folder.
    pub(super) fn new(folder: &Path) -> Self {
        Placing::with_most(folder, PART_BYTES)
    }

    fn with_most(folder: &Path, most: usize) -> Self {
        Placing {
            folder: folder.to_owned(),
            part: Vec::new(),
            held: 0,
            most,
            parts: None,
            len: 0,
        }
    }

    /// The number of places.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Adds the place of the entry of an input.
    ///
    /// # Errors
    /// If the disk is full.
    pub(super) fn add(&mut self, path: Box<str>, place: Place) -> io::Result<()> {
        self.len += 1;
        self.held += path.len() + BESIDES;
        self.part.push((path, place));
        match self.held > self.most {
            true => self.put(),
            false => Ok(()),
        }
    }

    /// Sorts the places held in memory, and writes them to disk.
    fn put(&mut self) -> io::Result<()> {
        let parts = match &mut self.parts {
            Some(parts) => parts,
            none => none.insert(Parts {
                file: unnamed(&self.folder)?,
                ends: Vec::new(),
            }),
        };
        sort(&mut self.part);
        let mut end = parts.ends.last().copied().unwrap_or(0);
        for (path, place) in self.part.drain(..) {
            let length = u32::try_from(path.len()).map_err(io::Error::other)?;
            parts.file.write_all(&length.to_le_bytes())?;
            parts.file.write_all(path.as_bytes())?;
            parts.file.write_all(&place.to_bytes())?;
            end += (size_of::<u32>() + path.len() + SIZE) as u64;
        }
        parts.ends.push(end);
        self.held = 0;
        Ok(())
    }

    /// All places, sorted by path. `last` is called with the places of each path together, in the order in which they were added,
    /// and may change them and their order.
    ///
    /// # Errors
    /// If the disk is full or cannot be read, and the errors of `last`.
    pub(super) fn sorted(mut self, last: Last<'_>) -> io::Result<Places> {
        if self.parts.is_none() {
            sort(&mut self.part);
            let mut places = Vec::with_capacity(self.len);
            let mut put = |place| {
                places.push(place);
                Ok(())
            };
            let mut together = Together::new(last, &mut put);
            for (path, place) in self.part {
                together.add(path.into(), place)?;
            }
            together.end()?;
            return Ok(Places::Held(places));
        }
        self.put()?;
        let mut file = unnamed(&self.folder)?;
        if let Some(Parts { file: parts, ends }) = self.parts {
            let parts = parts.into_inner().map_err(io::Error::from)?;
            let parts = Part::all(&parts, &ends).into_iter().enumerate();
            let mut put = |place: Place| file.write_all(&place.to_bytes());
            let mut together = Together::new(last, &mut put);
            merge(parts.map(entries), &mut |(path, _, place)| {
                together.add(path, Place::of_bytes(place))
            })?;
            together.end()?;
        }
        Ok(Places::Filed {
            file: file.into_inner().map_err(io::Error::from)?,
            len: self.len,
            window: Mutex::default(),
        })
    }
}

/// Called with the places of each path together.
pub(super) type Last<'l> = &'l mut dyn FnMut(&str, &mut [Place]) -> io::Result<()>;

/// Collects consecutive places with the same path: nearly always one.
struct Together<'t> {
    path: String,
    places: Vec<Place>,
    last: Last<'t>,
    put: &'t mut dyn FnMut(Place) -> io::Result<()>,
}

impl<'t> Together<'t> {
    fn new(last: Last<'t>, put: &'t mut dyn FnMut(Place) -> io::Result<()>) -> Self {
        Together {
            path: String::new(),
            places: Vec::new(),
            last,
            put,
        }
    }

    fn add(&mut self, path: String, place: Place) -> io::Result<()> {
        if path != self.path {
            self.end()?;
            self.path = path;
        }
        self.places.push(place);
        Ok(())
    }

    fn end(&mut self) -> io::Result<()> {
        if !self.places.is_empty() {
            (self.last)(&self.path, &mut self.places)?;
        }
        self.places.drain(..).try_for_each(&mut *self.put)
    }
}

/// The entries of a part: each with its path, the number of the part (its turn in the merge), and its place.
fn entries(
    (turn, mut part): (usize, BufReader<Part<'_>>),
) -> impl Iterator<Item = io::Result<(String, usize, [u8; SIZE])>> {
    let entry = move |part: &mut BufReader<Part<'_>>| {
        let mut length = [0; size_of::<u32>()];
        part.read_exact(&mut length)?;
        let length = u32::from_le_bytes(length);
        let mut path = vec![0; usize::try_from(length).map_err(io::Error::other)?];
        part.read_exact(&mut path)?;
        let mut place = [0; SIZE];
        part.read_exact(&mut place)?;
        let path = String::from_utf8(path).map_err(io::Error::other)?;
        Ok((path, turn, place))
    };
    std::iter::from_fn(move || match part.fill_buf() {
        Ok([]) => None,
        Ok(_) | Err(_) => Some(entry(&mut part)),
    })
}

/// Sorts in one thread: helper threads might be waiting for the caller.
fn sort(part: &mut [(Box<str>, Place)]) {
    part.sort_by(|a, b| a.0.cmp(&b.0));
}

impl Place {
    /// The number of bytes at this place, including what is not in reports.
    pub(super) fn whole(self) -> u64 {
        u64::from(self.bytes) + u64::from(self.exact) + u64::from(self.hint)
    }

    pub(super) fn to_bytes(self) -> [u8; SIZE] {
        let mut bytes = [0; SIZE];
        bytes[..8].copy_from_slice(&self.offset.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.weight.to_le_bytes());
        bytes[16..20].copy_from_slice(&self.bytes.to_le_bytes());
        bytes[20..24].copy_from_slice(&self.exact.to_le_bytes());
        bytes[24..26].copy_from_slice(&self.file.to_le_bytes());
        bytes[26..28].copy_from_slice(&self.hint.to_le_bytes());
        bytes[28] = match self.says {
            Says::Figures => 0,
            Says::More => 1,
        };
        bytes
    }

    fn of_bytes(bytes: [u8; SIZE]) -> Self {
        let [o0, o1, o2, o3, o4, o5, o6, o7, rest @ ..] = bytes;
        let [s0, s1, s2, s3, s4, s5, s6, s7, rest @ ..] = rest;
        let [b0, b1, b2, b3, rest @ ..] = rest;
        let [e0, e1, e2, e3, f0, f1, h0, h1, says] = rest;
        Place {
            offset: u64::from_le_bytes([o0, o1, o2, o3, o4, o5, o6, o7]),
            weight: u64::from_le_bytes([s0, s1, s2, s3, s4, s5, s6, s7]),
            bytes: u32::from_le_bytes([b0, b1, b2, b3]),
            exact: u32::from_le_bytes([e0, e1, e2, e3]),
            file: u16::from_le_bytes([f0, f1]),
            hint: u16::from_le_bytes([h0, h1]),
            says: match says {
                0 => Says::Figures,
                _ => Says::More,
            },
        }
    }
}

impl Places {
    /// The number of places.
    pub(super) fn len(&self) -> usize {
        match self {
            Places::Held(places) => places.len(),
            Places::Filed { len, .. } => *len,
        }
    }

    /// The place at this index in sorted order.
    ///
    /// # Errors
    /// If there is none, or the disk cannot be read.
    pub(super) fn get(&self, at: usize) -> io::Result<Place> {
        match self {
            Places::Held(places) => places.get(at).copied().ok_or_else(no_such),
            Places::Filed { file, len, window } => {
                // If another thread holds the window, reads without it instead of waiting.
                let Ok(mut window) = window.try_lock() else {
                    let one = read(file, at, at.saturating_add(1).min(*len))?;
                    return one.first().copied().ok_or_else(no_such);
                };
                let (begin, places) = &mut *window;
                let here = |begin: usize, places: &[Place]| {
                    let at = at.checked_sub(begin)?;
                    places.get(at).copied()
                };
                if let Some(place) = here(*begin, places) {
                    return Ok(place);
                }
                *places = read(file, at, at.saturating_add(PLACES_PER_READ).min(*len))?;
                *begin = at;
                here(*begin, places).ok_or_else(no_such)
            }
        }
    }

    /// The places from index `begin` up to, but not including, `end`.
    ///
    /// # Errors
    /// The errors of [`Places::get`].
    pub(super) fn range(&self, begin: usize, end: usize) -> io::Result<Vec<Place>> {
        match self {
            Places::Held(places) => {
                let here = places.get(begin..end).ok_or_else(no_such)?;
                Ok(here.to_vec())
            }
            Places::Filed { len, .. } if end > *len => Err(no_such()),
            Places::Filed { file, .. } => read(file, begin, end),
        }
    }
}

fn read(file: &File, begin: usize, end: usize) -> io::Result<Vec<Place>> {
    let mut bytes = vec![0; end.saturating_sub(begin) * SIZE];
    read_exact_at(file, &mut bytes, (begin * SIZE) as u64)?;
    let (places, _) = bytes.as_chunks();
    Ok(places.iter().copied().map(Place::of_bytes).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(n: u64) -> Place {
        Place {
            offset: n << 33,
            bytes: n as u32,
            exact: (n * n) as u32,
            file: (n % 3) as u16,
            hint: n as u16,
            says: if n.is_multiple_of(2) {
                Says::Figures
            } else {
                Says::More
            },
            weight: n.wrapping_mul(0x9e37_79b9_7f4a_7c15),
        }
    }

    #[test]
    fn parts_on_the_disk_are_in_the_order_of_one_in_memory() {
        let dir = tempfile::tempdir().unwrap();
        let sorted = |most: usize, count: u64| {
            let mut placing = Placing::with_most(dir.path(), most);
            for n in 0..count {
                // Some paths are there twice, and lengths differ.
                let path = format!("in/{}", (n * 7919 % count) / 2);
                placing.add(path.into(), place(n)).unwrap();
            }
            assert_eq!(placing.len() as u64, count);
            let mut seen = Vec::new();
            let places = placing.sorted(&mut |path, alike| {
                seen.push(path.to_owned());
                assert!(alike.len() <= 2);
                alike.iter_mut().for_each(|place| place.weight ^= 1);
                Ok(())
            });
            assert!(seen.is_sorted_by(|a, b| a < b));
            places.unwrap()
        };
        for count in [0, 1, 100, 9_000] {
            let held = sorted(usize::MAX, count);
            let all = held.range(0, held.len()).unwrap();
            assert_eq!(all.len() as u64, count);
            for most in [0, 1_000, 100_000] {
                let filed = sorted(most, count);
                assert_eq!(filed.len(), held.len());
                assert_eq!(filed.range(0, filed.len()).unwrap(), all);
                let spread = (0..filed.len()).map(|at| at * 4_001 % filed.len());
                for at in (0..filed.len()).chain(spread) {
                    assert_eq!(filed.get(at).unwrap(), all[at]);
                }
                for places in [&filed, &held] {
                    assert!(places.get(places.len()).is_err());
                    assert!(places.range(0, places.len() + 1).is_err());
                }
            }
        }
        assert_eq!(dir.path().read_dir().unwrap().count(), 0);
    }
}
