//! A sorted table of integer rows, searched by the first column, in memory or on disk.
//!
//! A few million rows are held in memory; if there are more, all are on disk, and a lookup reads a few of them. Knows nothing about
//! the meaning of the numbers.

use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Read, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};

use super::folder::read_exact_at;
use super::unnamed::{Part, merge, unnamed};

/// The maximum number of rows held in memory: 32 or 48 MiB.
const HELD: usize = 2 << 20;
/// The approximate number of rows examined per lookup, as a power of two.
const PROBE_BITS: u32 = 2;
/// The maximum number of leading bits used to narrow down a lookup: 8 MiB.
const MOST_BITS: u32 = 20;
/// Rows of a file that are read at once.
const ROWS_PER_READ: u64 = 128;

/// Rows that are still to be sorted.
#[derive(Debug)]
pub(super) struct Filling<const N: usize> {
    /// Where files go.
    folder: PathBuf,
    held: Vec<[u64; N]>,
    most: usize,
    parts: Option<Parts>,
}

/// Sorted parts on the disk, one behind the other.
#[derive(Debug)]
struct Parts {
    file: BufWriter<File>,
    /// Where each ends.
    ends: Vec<u64>,
}

/// Rows in sorted order: by their first number, then by the others. First numbers are evenly distributed, so that a row is found in
/// two steps, however large the table is.
#[derive(Debug)]
pub(super) struct Table<const N: usize> {
    rows: Rows<N>,
    /// For each value of the leading bits, where the rows whose first numbers have these bits begin; and the end of the last ones.
    begins: Vec<u64>,
    /// How many bits a number is shifted right to get its leading bits.
    shift: u32,
}

#[derive(Debug)]
enum Rows<const N: usize> {
    Held(Vec<[u64; N]>),
    /// One behind the other, as little-endian numbers.
    Filed(File),
}

impl<const N: usize> Filling<N> {
    /// Creates a table without rows. Its files go to `folder` if that exists, or else to the system's temporary folder.
    pub(super) fn new(folder: &Path) -> Self {
        Filling::with_most(folder, HELD)
    }

    fn with_most(folder: &Path, most: usize) -> Self {
        Filling {
            folder: folder.to_owned(),
            held: Vec::new(),
            most,
            parts: None,
        }
    }

    /// Adds a row.
    ///
    /// # Errors
    /// If the disk is full.
    pub(super) fn push(&mut self, row: [u64; N]) -> io::Result<()> {
        if self.held.len() >= self.most {
            self.put()?;
        }
        self.held.push(row);
        Ok(())
    }

    /// Sorts the rows held in memory, and writes them to disk.
    fn put(&mut self) -> io::Result<()> {
        let parts = match &mut self.parts {
            Some(parts) => parts,
            none => none.insert(Parts {
                file: unnamed(&self.folder)?,
                ends: Vec::new(),
            }),
        };
        self.held.sort_unstable();
        let begin = parts.ends.last().copied().unwrap_or(0);
        parts.ends.push(begin + bytes::<N>(self.held.len() as u64));
        for row in self.held.drain(..) {
            write(&mut parts.file, row)?;
        }
        Ok(())
    }

    /// The table of all rows.
    ///
    /// # Errors
    /// If the disk is full, or the rows cannot be read back.
    pub(super) fn finish(mut self) -> io::Result<Table<N>> {
        if self.parts.is_none() {
            self.held.sort_unstable();
            let mut begins = Begins::new(self.held.len() as u64);
            for row in &self.held {
                begins.count(row);
            }
            return Ok(begins.table(Rows::Held(self.held)));
        }
        self.put()?;
        self.held = Vec::new();
        let mut sorted = unnamed(&self.folder)?;
        let mut begins = Begins::new(0);
        if let Some(Parts { file, ends }) = self.parts {
            let file = file.into_inner().map_err(io::Error::from)?;
            begins = Begins::new(ends.last().copied().unwrap_or(0) / bytes::<N>(1));
            let parts = Part::all(&file, &ends).into_iter().map(of_part::<N>);
            merge(parts, &mut |row: [u64; N]| {
                begins.count(&row);
                write(&mut sorted, row)
            })?;
        }
        let sorted = sorted.into_inner().map_err(io::Error::from)?;
        Ok(begins.table(Rows::Filed(sorted)))
    }
}

/// The first position in `range` whose row's first number no longer satisfies `is`. Once few enough rows are left, they are read at
/// once.
fn partition<const N: usize>(
    file: &File,
    range: Range<u64>,
    is: &dyn Fn(u64) -> bool,
) -> io::Result<u64> {
    let Range { mut start, mut end } = range;
    while end - start > ROWS_PER_READ {
        let middle = start + (end - start) / 2;
        match is(read::<N>(file, middle..middle + 1)?[0][0]) {
            true => start = middle + 1,
            false => end = middle,
        }
    }
    let rows = read::<N>(file, start..end)?;
    Ok(start + rows.partition_point(|row| is(row[0])) as u64)
}

fn read<const N: usize>(file: &File, range: Range<u64>) -> io::Result<Vec<[u64; N]>> {
    let count = usize::try_from(range.end - range.start).map_err(io::Error::other)?;
    let mut rows = vec![[[0; size_of::<u64>()]; N]; count];
    let into = rows.as_flattened_mut().as_flattened_mut();
    read_exact_at(file, into, bytes::<N>(range.start))?;
    let rows = rows.into_iter();
    Ok(rows.map(|row| row.map(u64::from_le_bytes)).collect())
}

/// The size of rows in bytes.
fn bytes<const N: usize>(rows: u64) -> u64 {
    rows * (N * size_of::<u64>()) as u64
}

fn write<const N: usize>(file: &mut BufWriter<File>, row: [u64; N]) -> io::Result<()> {
    file.write_all(row.map(u64::to_le_bytes).as_flattened())
}

/// The rows of a part of a file.
fn of_part<const N: usize>(
    mut part: BufReader<Part<'_>>,
) -> impl Iterator<Item = io::Result<[u64; N]>> {
    std::iter::from_fn(move || {
        if part.fill_buf().is_ok_and(<[u8]>::is_empty) {
            return None;
        }
        let mut row = [[0; size_of::<u64>()]; N];
        let read = part.read_exact(row.as_flattened_mut());
        Some(read.map(|()| row.map(u64::from_le_bytes)))
    })
}

/// Counts the rows whose first numbers have the same leading bits.
struct Begins {
    counts: Vec<u64>,
    shift: u32,
}

impl Begins {
    /// Creates the counters for this many rows.
    fn new(rows: u64) -> Self {
        let bits = rows.checked_ilog2().unwrap_or(0).saturating_sub(PROBE_BITS);
        let bits = bits.min(MOST_BITS);
        Begins {
            counts: vec![0; (1 << bits) + 1],
            shift: u64::BITS - bits,
        }
    }

    fn count<const N: usize>(&mut self, row: &[u64; N]) {
        self.counts[slot(row[0], self.shift) + 1] += 1;
    }

    /// The table of these rows, all of which were counted.
    fn table<const N: usize>(self, rows: Rows<N>) -> Table<N> {
        let mut begins = self.counts;
        let mut sum = 0;
        for begin in &mut begins {
            sum += *begin;
            *begin = sum;
        }
        Table {
            rows,
            begins,
            shift: self.shift,
        }
    }
}

/// The first bits of a number.
fn slot(number: u64, shift: u32) -> usize {
    // Shifting by the full width leaves no bits.
    let slot = number.checked_shr(shift).unwrap_or(0);
    usize::try_from(slot).unwrap_or(usize::MAX)
}

impl<const N: usize> Default for Table<N> {
    fn default() -> Self {
        Begins::new(0).table(Rows::Held(Vec::new()))
    }
}

impl<const N: usize> Table<N> {
    /// The number of rows.
    pub(super) fn len(&self) -> u64 {
        self.begins.last().copied().unwrap_or(0)
    }

    /// The range of the rows with this first number. However many there are, only a bounded number is read.
    ///
    /// # Errors
    /// If they cannot be read back from disk.
    pub(super) fn of(&self, number: u64) -> io::Result<Range<u64>> {
        let slot = slot(number, self.shift);
        let (begin, end) = (self.begins[slot], self.begins[slot + 1]);
        match &self.rows {
            Rows::Held(rows) => {
                let rows = &rows[begin as usize..end as usize];
                let count = |is: &dyn Fn(u64) -> bool| rows.partition_point(|row| is(row[0]));
                let [before, with] = [count(&|n| n < number), count(&|n| n <= number)];
                Ok(begin + before as u64..begin + with as u64)
            }
            Rows::Filed(file) => {
                let first = |is: &dyn Fn(u64) -> bool| partition::<N>(file, begin..end, is);
                Ok(first(&|n| n < number)?..first(&|n| n <= number)?)
            }
        }
    }

    /// The row at this position in sorted order.
    ///
    /// # Errors
    /// If there is none, or it cannot be read back from disk.
    pub(super) fn row(&self, at: u64) -> io::Result<[u64; N]> {
        match &self.rows {
            Rows::Held(rows) => {
                let row = usize::try_from(at).ok().and_then(|at| rows.get(at));
                row.copied()
                    .ok_or_else(|| io::Error::from(io::ErrorKind::UnexpectedEof))
            }
            Rows::Filed(file) => Ok(read::<N>(file, at..at + 1)?[0]),
        }
    }

    /// All rows, in their order.
    pub(super) fn rows(&self) -> impl Iterator<Item = io::Result<[u64; N]>> {
        let (held, filed) = match &self.rows {
            Rows::Held(rows) => (Some(rows.iter().map(|row| Ok(*row))), None),
            Rows::Filed(file) => {
                let part = Part::of(file, 0, bytes::<N>(self.len()));
                (None, Some(of_part(part)))
            }
        };
        held.into_iter()
            .flatten()
            .chain(filed.into_iter().flatten())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_found_wherever_it_is() {
        let dir = tempfile::tempdir().unwrap();
        let spread = |n: u64| n.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        for n in [0, 1, 2, 17, 1_000] {
            let even: Vec<u64> = (0..n).map(spread).chain([7, 7, u64::MAX, 7]).collect();
            // Unlike actual keys, these are not evenly distributed.
            let low: Vec<u64> = (0..n).collect();
            let high: Vec<u64> = (0..n).map(|n| u64::MAX - 1_000 + n).collect();
            for numbers in [even, low, high] {
                let rows = numbers.iter().zip(0..).map(|(n, second)| [*n, second]);
                let mut sorted: Vec<[u64; 2]> = rows.clone().collect();
                sorted.sort();
                for most in [1, 3, 100, HELD] {
                    let mut filling = Filling::with_most(dir.path(), most);
                    for row in rows.clone() {
                        filling.push(row).unwrap();
                    }
                    let table = filling.finish().unwrap();
                    let is_held = matches!(table.rows, Rows::Held(_));
                    assert_eq!(is_held, numbers.len() <= most);
                    assert_eq!(table.len(), numbers.len() as u64);
                    assert!(table.rows().map(Result::unwrap).eq(sorted.iter().copied()));
                    let edges = [0, 1, 7, 8, 999, 1_000, u64::MAX / 2, u64::MAX - 1, u64::MAX];
                    for number in numbers.iter().copied().chain(edges) {
                        let found = table.of(number).unwrap();
                        let rows = found.map(|at| table.row(at).unwrap());
                        let expected = sorted.iter().filter(|row| row[0] == number);
                        assert!(rows.eq(expected.copied()), "{number}");
                    }
                }
            }
        }
        assert!(Table::<2>::default().of(7).unwrap().is_empty());
        assert_eq!(dir.path().read_dir().unwrap().count(), 0);
    }

    #[test]
    fn a_file_that_lost_its_end_is_an_error() {
        let dir = tempfile::tempdir().unwrap();
        let mut filling = Filling::with_most(dir.path(), 10);
        for n in 0..1_000_u64 {
            filling.push([n << 54, n]).unwrap();
        }
        let table = filling.finish().unwrap();
        if let Rows::Filed(file) = &table.rows {
            file.set_len(200).unwrap();
        }
        assert_eq!(table.of(1 << 54).unwrap(), 1..2);
        assert!(table.of(999 << 54).is_err());
        assert!(table.rows().any(|row| row.is_err()));
    }
}
